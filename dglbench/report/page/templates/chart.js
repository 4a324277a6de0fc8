// The interactive chart: rows, scales and colours are filled into the specification, and again
// whenever a control or the reader's colour scheme changes.
(async () => {
  const holder = document.getElementById("chart");
  if (!holder) return;
  const stored = document.getElementById("chart-data");
  const data = stored.type === "application/gzip"
    ? await unpack(stored.textContent).json()
    : JSON.parse(stored.textContent);
  const script = document.createElement("script");
  script.textContent = await unpack(document.getElementById("chart-runtime").textContent).text();
  document.head.append(script);
  const specs = JSON.parse(document.getElementById("chart-spec").textContent);
  const control = (name) => document.getElementById(`chart-${name}`);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const boxes = [...document.querySelectorAll("#chart-methods input")];
  const order = boxes.map((box) => box.value);
  const place = (name) => order.indexOf(data.methods[name].base);
  const names = Object.keys(data.methods).sort((a, b) => place(a) - place(b) || a.localeCompare(b));
  const qualifiers = [...new Set(names.map((name) => data.methods[name].with).filter(Boolean))];
  const DASHES = [[1, 0], [7, 3], [2, 3], [8, 3, 2, 3], [4, 4]];

  data.settings.forEach((setting, at) => control("setting").append(new Option(setting.title, at)));
  control("setting").value = data.opening;
  control("x").value = data.view;
  for (const name of qualifiers) control("with").append(new Option(name, name));
  const withs = control("with").closest("label");
  withs.hidden = qualifiers.length < 2;
  if (qualifiers.every((words) => ["warm", "fresh"].includes(words))) withs.firstChild.textContent = "Start ";
  for (const box of boxes) control("lit").append(new Option(box.dataset.label, box.value));

  const setting = () => data.settings[control("setting").value];
  const unit = () => setting().seeds[control("seed").value || 0];

  function fillSeeds() {
    const { seeds } = setting();
    control("seed").replaceChildren(...seeds.map(({ seed }, at) => new Option(seed, at)));
    control("seed").closest("label").hidden = seeds.length < 2;
  }

  // Regrets of restarts and runs differ by factors; a curve against time is read by its height.
  function usualScale() {
    control("log-y").checked = ["restarts", "runs"].includes(control("x").value);
  }

  // Which of the methods that the view has: by their boxes, and by predictor.
  function shownOf(present) {
    const asked = names.filter((name) => present.includes(name) && boxes.find((box) => box.value === data.methods[name].base)?.checked);
    const wanted = control("with").value;
    if (qualifiers.length < 2 || wanted === "all") return asked;
    if (wanted !== "best") return asked.filter((name) => ["", wanted].includes(data.methods[name].with));
    const { val } = setting();
    const best = {};
    for (const name of asked) {
      const { base } = data.methods[name];
      if (!(base in best) || val[name] < val[best[base]]) best[base] = name;
    }
    return Object.values(best);
  }

  const isDim = (name) => control("lit").value !== "" && data.methods[name].base !== control("lit").value;
  const isPower = (count) => Number.isInteger(Math.log2(count));

  function rowsOf(view, x, shown) {
    const rows = [];
    for (const method of shown) {
      const same = { method, label: data.methods[method].label, dim: isDim(method), with: data.methods[method].with };
      if (x === "restarts") {
        // Best of r against the seconds of all r runs, a marker at r = 1, 2, 4, 8, …
        const { seconds, best, most, low, high } = view.restarts[method];
        seconds.forEach((time, at) => rows.push({
          // The best of more than half the repeats is no estimate: there the line is thin.
          ...same, r: at + 1, x: time, seconds: time, epoch: 1,
          best: at < most ? best[at] : null, raw: best[at],
          low: low?.[at] ?? null, high: high?.[at] ?? null,
          selected: at < most && isPower(at + 1),
        }));
        continue;
      }
      const curve = view.curves[method];
      curve.epoch.forEach((epoch, at) => rows.push({
        ...same, epoch, x: curve[x][at],
        seconds: curve.seconds[at], solves: curve.solves[at], best: curve.best[at],
        raw: curve.raw?.[at] ?? null, selected: epoch === curve.selected,
        low: curve.low?.[at] ?? null, high: curve.high?.[at] ?? null,
      }));
    }
    return rows;
  }

  function runsOf(view, shown) {
    const { runs } = setting();
    return shown.flatMap((method) => runs[method]
      .filter(({ seed }) => setting().seeds.length < 2 || view === setting().seeds[0] || seed === view.seed)
      .flatMap(({ seed, regrets, kept }) => regrets.map((best, at) => ({
        method, label: data.methods[method].label, dim: isDim(method), seed, best, kept: at === kept,
      }))));
  }

  // From the lowest regret to a little above the start: a fall from scratch would hide the rest.
  function domain(rows, starts, x) {
    const known = rows.filter((row) => (row.best ?? row.raw) !== null);
    if (!known.length) return [0, 1];
    const start = starts.length ? Math.min(...starts.map((each) => each.start)) : null;
    const ends = {};
    for (const row of known) if (x !== "restarts" || !(row.method in ends)) ends[row.method] = row.best ?? row.raw;
    const levels = Object.values(ends);
    const low = Math.min(...known.map((row) => row.best ?? row.raw), ...(x === "restarts" ? [] : [start ?? Infinity]));
    if (x === "restarts") {
      const top = Math.max(...levels);
      return [low / 1.25, Math.max(top * 1.25, low * 1.5, 1e-4)];
    }
    const reach = start === null ? Infinity : start + Math.max(start - low, 0.1 * start);
    const top = Math.max(...levels.filter((level) => level <= reach), start ?? -Infinity, low);
    const span = Math.max(top - low, 0.02 * top, 1e-4);
    return [Math.max(low - 0.06 * span, 0), top + 0.12 * span];
  }

  // Powers of ten, with steps between them where there are few: a log axis draws a line at each 1, 2, …, 9.
  function ticks(low, top) {
    const decades = Math.log10(top / low);
    if (decades < 0.8) {
      const rough = (top - low) / 5;
      const unit = 10 ** Math.floor(Math.log10(rough));
      const step = unit * [1, 2, 2.5, 5, 10].find((each) => each * unit >= rough);
      const first = Math.ceil(low / step);
      return Array.from({ length: Math.floor(top / step) - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(6)));
    }
    const steps = decades > 2.5 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5];
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(top); power++)
      for (const step of steps) {
        const tick = Number((step * 10 ** power).toPrecision(3));
        if (tick >= low && tick <= top) found.push(tick);
      }
    return found;
  }

  function looks() {
    const shade = dark.matches ? "dark" : "light";
    const paint = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const [ink, line] = [paint("--soft"), paint("--line")];
    return {
      shade, ink, line,
      color: { domain: names, range: names.map((name) => data.methods[name][shade]) },
      // The first predictor, and what has none, is drawn solid.
      dash: { domain: ["", ...qualifiers], range: [[1, 0], ...qualifiers.map((_, at) => DASHES[at % DASHES.length])] },
      shape: { domain: names, range: names.map((name) => data.methods[name].shape) },
      config: {
        font: "system-ui, sans-serif", view: { stroke: line }, background: null,
        axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500 },
      },
    };
  }

  const TITLES = {
    seconds: "training time, seconds",
    solves: "solver calls in training",
    restarts: "training time of all r runs, seconds",
    runs: "single runs",
  };

  function curvesSpec(view, x, shown, look) {
    let rows = rowsOf(view, x, shown);
    const log = { x: control("log-x").checked, y: control("log-y").checked };
    if (log.x) {
      // Where nothing was spent yet there is no logarithm: such a start stands at the left edge.
      const later = rows.filter((row) => row.x > 0 && (x === "solves" || row.epoch > 0)).map((row) => row.x);
      const floor = (later.length ? Math.min(...later) : 1) / (x === "restarts" ? 1 : x === "solves" ? 3 : 2);
      rows = rows.map((row) => ({ ...row, x: Math.max(row.x, floor) }));
    }
    const used = new Set(shown.map((name) => data.methods[name].with));
    const several = Object.keys(view.starts).length > 1;
    const starts = Object.entries(view.starts)
      .filter(([predictor]) => !several || [...used].some((words) => words.startsWith(predictor)))
      .map(([predictor, start]) => ({ start, label: several ? `warm start · ${predictor}` : "warm start" }));
    const full = structuredClone(specs.curves);
    const [low, top] = domain(rows, starts, x);
    const ends = rows.map((row) => row.x);
    full.datasets = { start: starts };
    full.data = { values: rows };
    for (const layer of full.layer) {
      if (x === "restarts") {
        if (layer.mark.interpolate) layer.mark.interpolate = "linear";
        if (layer.mark.tooltip) layer.mark.tooltip = { expr: specs.curves.usermeta.restarts };
      }
      const { encoding } = layer;
      encoding.y.scale = { domain: [low, top], nice: false, ...(log.y ? { type: "log", domain: [Math.max(low, 1e-5), top] } : { zero: false }) };
      if (encoding.y.axis) {
        if (x === "restarts") encoding.y.title = "expected test regret of best of r";
        if (log.y) encoding.y.axis.values = ticks(Math.max(low, 1e-5), top);
      }
      if (!encoding.x) { layer.mark.color = look.ink; continue; }
      encoding.x.scale = { type: log.x ? "log" : "linear", nice: false, padding: 12 };
      encoding.x.title = TITLES[x];
      encoding.x.axis = { format: "~g", tickCount: 6, labelOverlap: true };
      if (log.x) encoding.x.axis.values = ticks(Math.min(...ends) / 1.15, Math.max(...ends) * 1.15);
      encoding.color.scale = look.color;
      if (encoding.shape) encoding.shape.scale = look.shape;
      if (encoding.strokeDash) encoding.strokeDash.scale = look.dash;
    }
    return full;
  }

  function runsSpec(view, shown, look) {
    const full = structuredClone(specs.spread);
    const rows = runsOf(view, shown);
    const seeds = new Set(rows.map((row) => row.seed)).size;
    full.data = { values: rows };
    full.height = 60 + shown.length * Math.max(26, 9 * seeds);
    if (control("log-y").checked) {
      full.transform = [{ calculate: "max(datum.best, 1e-5)", as: "best" }];
      full.encoding.x.scale = { type: "log", nice: false, padding: 14 };
      const known = rows.map((row) => Math.max(row.best, 1e-5));
      if (known.length) full.encoding.x.axis.values = ticks(Math.min(...known) / 1.2, Math.max(...known) * 1.2);
    } else full.encoding.x.scale = { zero: false, padding: 14 };
    full.encoding.color.scale = look.color;
    return full;
  }

  async function draw() {
    const view = unit();
    const x = control("x").value;
    const look = looks();
    const shown = shownOf(Object.keys(x === "restarts" ? view.restarts : view.curves));
    const full = x === "runs" ? runsSpec(view, shown, look) : curvesSpec(view, x, shown, look);
    full.config = look.config;
    full.description = `Test regret against ${TITLES[x]}, ${view.title}: ${x === "runs" ? "one row" : "one line"} for each of ${shown.length} methods.`;
    const result = await vegaEmbed(holder, full, { actions: false, renderer: "svg", tooltip: { theme: look.shade } });
    holder.setAttribute("role", "figure");
    holder.setAttribute("aria-label", full.description);
    holder.dataset.drawn = String(Number(holder.dataset.drawn || 0) + 1);
    holder.view = result.view;
    control("note").hidden = view.ranked || x === "runs";
    control("log-x").closest("label").hidden = x === "runs";
    for (const words of document.querySelectorAll("[data-view]")) words.hidden = !words.dataset.view.split(" ").includes(x);
  }

  // The method that the reader picked out is marked in the tables too.
  function light() {
    for (const row of document.querySelectorAll("tr.lit")) row.classList.remove("lit");
    const lit = control("lit").value;
    for (const name of lit ? names.filter((each) => data.methods[each].base === lit) : [])
      for (const swatch of document.querySelectorAll(`tbody tr > :first-child .${CSS.escape(data.methods[name].swatch)}`))
        swatch.closest("tr").classList.add("lit");
  }

  control("setting").addEventListener("change", () => { fillSeeds(); draw(); });
  control("x").addEventListener("change", () => { usualScale(); draw(); });
  control("lit").addEventListener("change", () => { light(); draw(); });
  for (const name of ["seed", "with", "log-x", "log-y"]) control(name).addEventListener("change", draw);
  boxes.forEach((box) => box.addEventListener("change", draw));
  control("all").addEventListener("click", () => {
    const every = boxes.every((box) => box.checked);
    boxes.forEach((box) => { box.checked = !every; });
    draw();
  });
  dark.addEventListener("change", draw);
  usualScale();
  fillSeeds();
  draw();
})();
