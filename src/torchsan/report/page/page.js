// What the page does beyond showing itself: findings sorted and filtered, curves looked at closer, light or dark.
// It reads the page it stands in, and nothing else: the page's policy lets no script run but this one, and nothing be fetched.
"use strict";
(() => {
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const one = (selector, inside = document) => inside.querySelector(selector);
  const number = (text) => (text === "" || isNaN(text) ? Infinity : Number(text));

  // ---- light or dark
  const scheme = one("#scheme");
  const isDark = () => (document.documentElement.dataset.scheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const nameScheme = () => { scheme.textContent = isDark() ? "Light" : "Dark"; };
  scheme.hidden = false;
  scheme.addEventListener("click", () => {
    document.documentElement.dataset.scheme = isDark() ? "light" : "dark";
    nameScheme();
  });
  nameScheme();

  // ---- findings: which, and in which order
  const tools = one("#tools");
  if (tools) {
    const cards = all("details.finding"), rows = all("table.findings tbody tr");
    const home = cards[0].parentNode, body = one("table.findings tbody");
    const severities = ["error", "warning", "note"];
    const keys = {
      found: (card) => [],
      severity: (card) => [severities.indexOf(card.dataset.severity)],
      place: (card) => [card.dataset.path, number(card.dataset.row)],
      code: (card) => [card.dataset.code],
      step: (card) => [number(card.dataset.step)],
      often: (card) => [-number(card.dataset.often)],
    };
    const order = (by) => cards
      .map((card, at) => ({ card, row: rows[at], key: [...keys[by](card), at] }))
      .sort((a, b) => {
        const at = a.key.findIndex((part, i) => part !== b.key[i]);
        return at < 0 ? 0 : a.key[at] < b.key[at] ? -1 : 1;
      });
    const apply = () => {
      const words = one("#words").value.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = new Set(all("input[name=severity]:checked", tools).map((box) => box.value));
      const rank = one("#rank") ? one("#rank").value : "";
      let shown = 0;
      for (const { card, row } of order(one("#order").value)) {
        const text = card.textContent.toLowerCase();
        const fits = wanted.has(card.dataset.severity) && words.every((word) => text.includes(word))
          && (rank === "" || card.dataset.ranks.split(" ").includes(rank));
        card.hidden = !fits;
        home.append(card);
        if (row) { row.hidden = !fits; body.append(row); }
        shown += fits;
      }
      for (const head of all("table.findings th[data-by]"))
        head.setAttribute("aria-sort", head.dataset.by === one("#order").value ? "ascending" : "none");
      one("#shown").textContent = shown === cards.length ? `all ${shown}` : `${shown} of ${cards.length}`;
    };
    tools.hidden = false;
    tools.addEventListener("input", apply);
    tools.addEventListener("submit", (event) => event.preventDefault());
    const nameFold = () => { one("#unfold").textContent = cards.every((card) => card.hidden || card.open) ? "Fold all" : "Unfold all"; };
    nameFold();
    one("#unfold").addEventListener("click", () => {
      const open = !cards.every((card) => card.hidden || card.open);
      for (const card of cards) card.open = open;
      nameFold();
    });
    for (const head of all("table.findings th[data-by]")) {
      const button = document.createElement("button");
      button.append(...head.childNodes);
      button.addEventListener("click", () => { one("#order").value = head.dataset.by; apply(); });
      head.append(button);
    }
    apply();
  }

  // ---- any other table of numbers: a click on a heading sorts, the next one turns that round
  for (const table of all("table.sortable")) {
    all("th", table).forEach((head, column) => {
      const button = document.createElement("button");
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        for (const other of all("th", table)) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", turn > 0 ? "ascending" : "descending");
        const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
        const rows = all("tbody tr", table).sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          return turn * (isNaN(x) || isNaN(y) ? x.localeCompare(y, undefined, { numeric: true }) : x - y);
        });
        one("tbody", table).append(...rows);
      });
    });
  }

  // ---- curves: all of them show the same steps
  const charts = all(".chart").map((frame) => {
    const svg = one("svg.plot", frame), area = one("svg.area", svg), data = svg.dataset;
    const [left, right, top, bottom] = data.area.split(" ").map(Number);
    return {
      frame, svg, left, right, top, bottom, first: Number(data.first), last: Number(data.last), low: Number(data.low),
      high: Number(data.high), logarithmic: data.scale === "log", steps: one("g.steps", svg), marks: all("g.marks > a", svg),
      curves: all("polyline, polygon", area).map((node) => ({ node, points: node.getAttribute("points").split(" ").map((p) => p.split(",").map(Number)) })),
      dots: all("circle", area).map((node) => ({ node, x: Number(node.getAttribute("cx")) })),
    };
  });
  if (!charts.length) return;
  const first = Math.min(...charts.map((chart) => chart.first)), last = Math.max(...charts.map((chart) => chart.last));
  let from = first, to = last;
  const SVG = "http://www.w3.org/2000/svg";
  const stepAt = (chart, x) => from + ((x - chart.left) / (chart.right - chart.left)) * (to - from);
  const place = (chart, step) => chart.left + ((step - from) / (to - from)) * (chart.right - chart.left);
  const own = (chart, x) => chart.first + ((x - chart.left) / (chart.right - chart.left)) * (chart.last - chart.first);

  const ticks = (chart) => {
    const span = to - from, unit = 10 ** Math.floor(Math.log10(span / 4));
    const each = Math.max(1, [1, 2, 5, 10].map((times) => unit * times).find((size) => span / size <= 5));
    chart.steps.replaceChildren();
    for (let step = Math.ceil(from / each) * each; step <= to; step += each) {
      const text = document.createElementNS(SVG, "text");
      text.setAttribute("class", "tick");
      text.setAttribute("x", place(chart, step).toFixed(1));
      text.setAttribute("y", chart.bottom + 18);
      text.setAttribute("text-anchor", "middle");
      text.textContent = Math.round(step).toLocaleString("en");
      chart.steps.append(text);
    }
  };
  const show = (begin, end) => {
    const least = Math.min(4, last - first), span = Math.min(Math.max(end - begin, least), last - first);
    from = Math.min(Math.max((begin + end - span) / 2, first), last - span);
    to = from + span;
    for (const chart of charts) {
      const moved = (x) => place(chart, own(chart, x)).toFixed(1);
      for (const { node, points } of chart.curves) node.setAttribute("points", points.map(([x, y]) => `${moved(x)},${y}`).join(" "));
      for (const { node, x } of chart.dots) node.setAttribute("cx", moved(x));
      for (const mark of chart.marks) {
        const step = Number(mark.dataset.step), x = place(chart, step).toFixed(1);
        mark.style.display = step < from || step > to ? "none" : "";
        one("line", mark).setAttribute("x1", x);
        one("line", mark).setAttribute("x2", x);
        one("text", mark).setAttribute("x", x);
      }
      ticks(chart);
      chart.frame.classList.toggle("closer", span < last - first);
    }
  };
  const closer = (times, at = (from + to) / 2) => show(at - (at - from) / times, at + (to - at) / times);
  const short = (value) => (value === 0 ? "0" : Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3 ? value.toExponential(2) : Number(value.toPrecision(4)).toString());

  for (const hint of all(".hint")) hint.hidden = false;
  for (const chart of charts) {
    const { frame, svg } = chart, said = one("output", frame);
    frame.tabIndex = 0;
    const across = (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      return Math.min(Math.max(x, chart.left), chart.right);
    };
    const tell = (x) => {
      const lines = chart.curves.filter(({ node }) => node.tagName === "polyline");
      const parts = [`step ${Math.round(stepAt(chart, x)).toLocaleString("en")}`];
      for (const { node, points } of lines) {
        const near = points.reduce((a, b) => (Math.abs(place(chart, own(chart, a[0])) - x) <= Math.abs(place(chart, own(chart, b[0])) - x) ? a : b));
        const share = (chart.bottom - near[1]) / (chart.bottom - chart.top);
        const value = chart.logarithmic ? chart.low * (chart.high / chart.low) ** share : chart.low + share * (chart.high - chart.low);
        parts.push(`${node.dataset.name} ${short(value)}`);
      }
      said.textContent = parts.join(", ");
    };
    let begin = null;
    const band = document.createElementNS(SVG, "rect");
    band.setAttribute("class", "chosen");
    band.setAttribute("y", chart.top);
    band.setAttribute("height", chart.bottom - chart.top);
    svg.addEventListener("pointerdown", (event) => {
      if (event.button || event.pointerType === "touch" || event.target.closest("a")) return;
      begin = across(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      const x = across(event);
      tell(x);
      if (begin === null) return;
      band.setAttribute("x", Math.min(begin, x));
      band.setAttribute("width", Math.abs(x - begin));
      svg.append(band);
    });
    svg.addEventListener("pointerleave", () => { said.textContent = ""; });
    svg.addEventListener("pointercancel", () => { begin = null; band.remove(); });
    svg.addEventListener("pointerup", (event) => {
      const end = across(event);
      if (begin !== null && Math.abs(end - begin) > 6) show(stepAt(chart, Math.min(begin, end)), stepAt(chart, Math.max(begin, end)));
      begin = null;
      band.remove();
    });
    svg.addEventListener("dblclick", () => show(first, last));
    frame.addEventListener("keydown", (event) => {
      const move = (to - from) / 8;
      const does = {
        "+": () => closer(1.5), "=": () => closer(1.5), "-": () => closer(1 / 1.5), ArrowLeft: () => show(from - move, to - move),
        ArrowRight: () => show(from + move, to + move), 0: () => show(first, last), Escape: () => show(first, last),
      }[event.key];
      if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      does();
    });
  }

  // ---- paper: everything unfolded, all steps
  addEventListener("beforeprint", () => {
    for (const part of all("details")) { part.dataset.was = part.open ? "1" : ""; part.open = true; }
    show(first, last);
  });
  addEventListener("afterprint", () => { for (const part of all("details")) part.open = part.dataset.was === "1"; });
})();
