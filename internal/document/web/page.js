"use strict";
(() => {
  const root = document.documentElement;
  const status = document.getElementById("status");
  for (const e of document.querySelectorAll(".js")) e.hidden = false;

  // Theme: the system's, unless chosen here or by the fragment #theme=dark. A file keeps
  // it in memory only, so that it leaves nothing behind; a server's pages share it.
  const shared = !document.getElementById("data");
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
  const fragment = () => {
    const m = /(?:^#|&)theme=(dark|light)\b/.exec(location.hash);
    if (m) root.dataset.theme = m[1];
    name();
  };
  if (shared && /^(dark|light)$/.test(localStorage.theme)) root.dataset.theme = localStorage.theme;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    if (shared) localStorage.theme = root.dataset.theme;
    name();
  });
  system.addEventListener("change", name);
  addEventListener("hashchange", fragment);
  fragment();

  // Sorting: each heading becomes a button; a cell's data-sort wins over its text.
  // What has no number stands last in both directions.
  const key = (row, i) => {
    const cell = row.cells[i];
    if (cell.dataset.sort !== undefined) return parseFloat(cell.dataset.sort);
    return cell.textContent.trim();
  };
  const order = (a, b, sign) => {
    const an = typeof a === "number", bn = typeof b === "number";
    if (an && bn) return sign * (a - b);
    if (an !== bn) return an ? -1 : 1;
    return sign * a.localeCompare(b, "en", { numeric: true });
  };
  const sort = (table, th, i) => {
    const sign = th.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, at) => ({ row, at, k: key(row, i) }));
    rows.sort((x, y) => order(x.k, y.k, sign) || x.at - y.at);
    body.append(...rows.map((r) => r.row));
    status.textContent = `sorted by ${th.textContent.trim()}, ${sign === 1 ? "ascending" : "descending"}`;
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((th, i) => {
      if (th.dataset.nosort !== undefined || table.tBodies[0].rows.length < 2) return;
      const b = document.createElement("button");
      b.type = "button";
      b.className = "sort";
      b.append(...th.childNodes);
      th.append(b);
      b.addEventListener("click", () => sort(table, th, i));
    });
  }

  // Commands: copied as they stand. A page from another host than this one has no clipboard, but may copy what is marked.
  document.addEventListener("click", async (e) => {
    const button = e.target.closest("button.copy");
    if (!button) return;
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      status.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code);
      status.textContent = document.execCommand("copy") ? "copied" : "marked: copy it with your keys";
    }
    button.textContent = status.textContent === "copied" ? "Copied" : "Marked";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });

  // Paper has no disclosure: everything but the facts is opened for printing.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("td details:not([open])")];
    for (const d of opened) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of opened) d.open = false; });

  // Download: large data are packed and put back here. A page of a server has none.
  document.getElementById("download")?.addEventListener("click", async () => {
    let data = JSON.parse(document.getElementById("data").textContent);
    if (data.gzip) {
      const bytes = Uint8Array.from(atob(data.gzip), (c) => c.charCodeAt(0));
      const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      data = JSON.parse(await new Response(plain).text());
    }
    const a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob([JSON.stringify(data, null, 2) + "\n"], { type: "application/json" }));
    a.download = "hostlab-report.json";
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
    status.textContent = "raw data saved";
  });
})();
