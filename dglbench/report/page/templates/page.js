// What is long is packed into the page: figures and tables are unpacked when it opens, a file when
// it is asked for (a browser that cannot saves it as a .csv.gz), the chart's data by the chart.
function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64.trim()), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}

// Make the tables, pickers and links of a part of the page work.
function enliven(root) {
  // Sort a table by a click (or Enter) on a column's heading; empty cells stay last.
  for (const table of root.querySelectorAll("table")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const numeric = head.classList.contains("num");
        const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
        const rows = [...body.rows].sort((a, b) => {
          const [x, y] = [key(a), key(b)];
          if (x === "" || y === "") return (x === "") - (y === "");
          const order = numeric ? x - y : x.localeCompare(y, "en", { numeric: true });
          return up ? order : -order;
        });
        body.append(...rows);
      });
    });
  }

  // Show one block of a table that has many; without scripts, and in print, all are there.
  for (const blocks of root.querySelectorAll(".blocks")) {
    const parts = [...blocks.querySelectorAll(":scope > .block")];
    if (parts.length < 2) continue;
    const label = document.createElement("label");
    const select = document.createElement("select");
    label.className = "picker";
    label.append(`${blocks.dataset.what} `, select);
    parts.forEach((part, at) => select.append(new Option(part.dataset.title, at)));
    // All tables open on the setting that the chart opens on.
    select.value = Math.max(0, parts.findIndex((part) => part.dataset.title === document.body.dataset.opening));
    const show = () => parts.forEach((part, at) => part.classList.toggle("away", at !== Number(select.value)));
    select.addEventListener("change", show);
    blocks.prepend(label);
    blocks.classList.add("picked");
    show();
  }

  for (const link of root.querySelectorAll("a[data-packed]")) {
    if (!("DecompressionStream" in window)) continue;
    link.addEventListener("click", async (event) => {
      if (link.href.startsWith("blob:")) return;
      event.preventDefault();
      const text = await unpack(link.href.split(",")[1]).text();
      link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      link.download = link.download.replace(/\.gz$/, "");
      link.click();
    });
  }
}
enliven(document);
for (const part of document.querySelectorAll("[data-folded]")) {
  unpack(part.dataset.folded).text().then((html) => {
    part.innerHTML = html;
    part.removeAttribute("data-folded");
    enliven(part);
  });
}

// Keep the rows that hold every word of the search box.
for (const box of document.querySelectorAll("input[data-search]")) {
  const count = document.getElementById(`${box.dataset.search}-found`);
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...(document.getElementById(box.dataset.search)?.tBodies[0].rows ?? [])];
    let kept = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      kept += !row.hidden;
    }
    count.textContent = `${kept} of ${rows.length} runs`;
  });
}

// On a narrow screen a figure is shown whole, and on request so large that its type can be read.
for (const button of document.querySelectorAll("button[data-enlarge]")) {
  button.addEventListener("click", () => {
    const large = document.getElementById(button.dataset.enlarge).classList.toggle("large");
    button.setAttribute("aria-pressed", String(large));
  });
}

// A figure is in the page once; its download is made of the image when it is asked for, without
// the rules that repaint it on a dark page.
for (const link of document.querySelectorAll("a[data-figure]")) {
  link.addEventListener("click", () => {
    const bytes = Uint8Array.from(atob(document.getElementById(link.dataset.figure).src.split(",")[1]), (c) => c.charCodeAt(0));
    const svg = new TextDecoder().decode(bytes).replace(/<style>@media.*?<\/style>/s, "");
    link.href = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  });
}

for (const image of document.querySelectorAll("img[data-packed]")) {
  unpack(image.dataset.packed).blob().then((blob) => {
    const reader = new FileReader();
    reader.onload = () => { image.src = reader.result; delete image.dataset.packed; };
    reader.readAsDataURL(new Blob([blob], { type: "image/svg+xml" }));
  });
}
