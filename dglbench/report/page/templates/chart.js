// The interactive chart: rows, scales and colours are filled into the specification, and again
// whenever a control or the reader's colour scheme changes.
(async () => {
  const holder = document.getElementById("chart");
  if (!holder) return;
  const stored = document.getElementById("chart-data");
  const data = stored.type === "application/gzip"
    ? await unpack(stored.textContent).json()
    : JSON.parse(stored.textContent);
  const spec = JSON.parse(document.getElementById("chart-spec").textContent);
  const control = (name) => document.getElementById(`chart-${name}`);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const boxes = [...document.querySelectorAll("#chart-methods input")];

  data.settings.forEach((setting, at) => control("setting").append(new Option(setting.title, at)));
  control("setting").value = data.opening;

  function fillSeeds() {
    const { seeds } = data.settings[control("setting").value];
    control("seed").replaceChildren(...seeds.map(({ seed }, at) => new Option(seed, at)));
    control("seed").closest("label").hidden = seeds.length < 2;
  }

  function rowsOf(unit, x) {
    const rows = [];
    for (const [method, curve] of Object.entries(unit.curves)) {
      if (!boxes.find((box) => box.value === method)?.checked) continue;
      const { label } = data.methods[method];
      if (x === "restarts") {
        // Best of r against the seconds of all r runs, a marker at r = 1, 2, 4, 8, …
        const { r, seconds, best, most } = unit.restarts[method];
        r.forEach((count, at) => rows.push({
          // The best of more than half the repeats is no estimate: there the line is thin.
          method, label, r: count, x: seconds[at], seconds: seconds[at],
          best: count <= most ? best[at] : null, raw: best[at], low: null, high: null, epoch: 1,
          selected: count <= most && Number.isInteger(Math.log2(count)),
        }));
        continue;
      }
      curve.epoch.forEach((epoch, at) => rows.push({
        method, label, epoch, x: curve[x][at],
        seconds: curve.seconds[at], solves: curve.solves[at], best: curve.best[at],
        raw: curve.raw[at], selected: epoch === curve.selected,
        low: curve.low?.[at] ?? curve.best[at], high: curve.high?.[at] ?? curve.best[at],
      }));
    }
    return rows;
  }

  // From the lowest regret to a little above the start: a fall from scratch would hide the rest.
  function domain(rows, start) {
    const ends = {};
    for (const row of rows) ends[row.method] = row.best ?? row.raw;
    const levels = Object.values(ends);
    const low = Math.min(...rows.map((row) => row.best ?? row.raw), start ?? Infinity);
    const reach = start === null ? Infinity : start + Math.max(start - low, 0.1 * start);
    const top = Math.max(...levels.filter((level) => level <= reach), start ?? -Infinity, low);
    const span = Math.max(top - low, 0.02 * top, 1e-4);
    return [Math.max(low - 0.06 * span, 0), top + 0.12 * span];
  }

  async function draw() {
    const unit = data.settings[control("setting").value].seeds[control("seed").value || 0];
    const x = control("x").value;
    let rows = rowsOf(unit, x);
    const log = { x: control("log-x").checked, y: control("log-y").checked };
    const positive = rows.map((row) => row.x).filter((value) => value > 0);
    const least = positive.length ? Math.min(...positive) : 1;
    if (log.x) {
      // Where nothing was spent yet there is no logarithm: such a start stands at the left edge.
      const floor = x !== "solves"
        ? Math.min(...rows.filter((row) => row.epoch > 0 && row.x > 0).map((row) => row.x)) / 2
        : least / 3;
      rows = rows.map((row) => ({ ...row, x: Math.max(row.x, floor) }));
    }
    const names = Object.keys(data.methods);
    const shade = dark.matches ? "dark" : "light";
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--soft").trim();
    const line = getComputedStyle(document.documentElement).getPropertyValue("--line").trim();
    const full = structuredClone(spec);
    const [low, top] = domain(rows, unit.start);
    const title = {
      seconds: "training time, seconds",
      solves: "solver calls in training",
      restarts: "training time of all r runs, seconds",
    }[x];
    if (x === "restarts") {
      for (const layer of full.layer) {
        if (layer.mark.interpolate) layer.mark.interpolate = "linear";
        if (layer.mark.tooltip) layer.mark.tooltip = { expr: spec.usermeta.restarts };
      }
    }
    full.datasets = { start: unit.start === null ? [] : [{ start: unit.start }] };
    full.data = { values: rows };
    for (const layer of full.layer) {
      const { encoding } = layer;
      encoding.y.scale = { domain: [low, top], nice: false, ...(log.y ? { type: "log", domain: [Math.max(low, 1e-5), top] } : { zero: false }) };
      if (!encoding.x) { layer.mark.color = ink; continue; }
      encoding.x.scale = { type: log.x ? "log" : "linear", nice: false };
      encoding.x.title = title;
      encoding.x.axis = { format: "~g", tickCount: 6, labelOverlap: true };
      encoding.color.scale = { domain: names, range: names.map((name) => data.methods[name][shade]) };
      if (encoding.shape) encoding.shape.scale = { domain: names, range: names.map((name) => data.methods[name].shape) };
    }
    full.config = {
      font: "system-ui, sans-serif", view: { stroke: line }, background: null,
      axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500 },
    };
    full.description = `Test regret against ${title}, ${unit.title}: one line for each of ${rows.length ? new Set(rows.map((row) => row.label)).size : 0} methods.`;
    const result = await vegaEmbed(holder, full, { actions: false, renderer: "svg", tooltip: { theme: shade } });
    holder.setAttribute("role", "figure");
    holder.setAttribute("aria-label", full.description);
    holder.dataset.drawn = String(Number(holder.dataset.drawn || 0) + 1);
    holder.view = result.view;
    control("note").hidden = unit.ranked;
  }

  control("setting").addEventListener("change", () => { fillSeeds(); draw(); });
  for (const name of ["seed", "x", "log-x", "log-y"]) control(name).addEventListener("change", draw);
  boxes.forEach((box) => box.addEventListener("change", draw));
  control("all").addEventListener("click", () => {
    const every = boxes.every((box) => box.checked);
    boxes.forEach((box) => { box.checked = !every; });
    draw();
  });
  dark.addEventListener("change", draw);
  fillSeeds();
  draw();
})();
