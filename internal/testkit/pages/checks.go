//go:build system

package pages

// The checks are expressions that list what is wrong with the page shown.

// LowContrast lists texts whose colour has a contrast under 4.5 (WCAG 2 AA)
// against the nearest opaque ground, large ones under 3.
const LowContrast = `(() => {
  const rgb = (s) => { const m = s.match(/[\d.]+/g).map(Number); return { c: m.slice(0, 3), a: m.length > 3 ? m[3] : 1 }; };
  const lum = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ratio = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const ground = (e) => { for (; e; e = e.parentElement) { const b = rgb(getComputedStyle(e).backgroundColor); if (b.a === 1) return b.c; } return [255, 255, 255]; };
  const shut = [...document.querySelectorAll("details:not([open])")];
  for (const d of shut) d.open = true;
  const bad = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode()); ) {
    const e = n.parentElement;
    if (!n.data.trim() || e.closest("script, style, title, desc, .quiet, noscript") || !e.getClientRects().length) continue;
    const s = getComputedStyle(e), svg = e.closest("svg");
    let under = ground(e);
    if (e.matches("text.cpu")) { // its cell is the last rectangle drawn before it
      let cell = e.previousElementSibling;
      while (!cell.matches("rect")) cell = cell.previousElementSibling;
      under = rgb(getComputedStyle(cell).fill).c;
    }
    const r = ratio(rgb(svg ? s.fill : s.color).c, under);
    const large = parseFloat(s.fontSize) >= 24 || (parseFloat(s.fontSize) >= 18.66 && s.fontWeight >= 600);
    if (r < (large ? 3 : 4.5)) bad.add(r.toFixed(2) + " " + (e.getAttribute("class") || e.tagName) + ": " + n.data.trim().slice(0, 30));
  }
  for (const d of shut) d.open = false;
  return [...bad].slice(0, 12);
})()`

// Overflowing lists what sticks out of a page that must not scroll sideways.
const Overflowing = `(() => {
  const w = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= w) return [];
  const out = ["page is " + document.documentElement.scrollWidth + " wide in " + w];
  for (const e of document.querySelectorAll("body *")) {
    if (e.getBoundingClientRect().right > w + 1 && !e.closest(".scroll, .canvas, .quiet")) out.push(e.tagName + "." + e.getAttribute("class"));
  }
  return out.slice(0, 8);
})()`

// Overlaps lists texts of one picture that cover each other by more than a pixel.
const Overlaps = `(() => {
  const bad = [];
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")].map((e) => ({ t: e.textContent, r: e.getBoundingClientRect() })).filter((x) => x.r.width > 0);
    const frame = svg.getBoundingClientRect();
    texts.forEach((a, i) => {
      if (a.r.left < frame.left - 1 || a.r.right > frame.right + 1 || a.r.bottom > frame.bottom + 1) bad.push("outside: " + a.t);
      for (const b of texts.slice(i + 1)) {
        const w = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left);
        const h = Math.min(a.r.bottom, b.r.bottom) - Math.max(a.r.top, b.r.top);
        if (w > 1 && h > 3) bad.push(a.t + " / " + b.t);
      }
    });
  }
  return bad.slice(0, 10);
})()`
