"use strict";
// Rows open and close.
for (const b of document.querySelectorAll(".open")) {
  b.addEventListener("click", () => {
    const d = document.getElementById(b.getAttribute("aria-controls"));
    d.hidden = !d.hidden;
    b.setAttribute("aria-expanded", String(!d.hidden));
  });
}

// A column's button sorts by it; once more turns the order round. A segment's details go with it.
const table = document.getElementById("segments");
if (table) {
  // Ten rows say most of it; the rest is a key away. Without scripts all are there.
  const most = 10, all = document.getElementById("all");
  const cut = () => {
    if (!all.hidden) [...table.tBodies].forEach((body, i) => { body.hidden = i >= most; });
  };
  all.hidden = table.tBodies.length <= most + 2;
  all.addEventListener("click", () => {
    all.hidden = true;
    [...table.tBodies].forEach((body) => { body.hidden = false; });
  });
  cut();
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    button.addEventListener("click", () => {
      const number = button.dataset.kind === "number";
      const was = head.getAttribute("aria-sort");
      const down = was ? was === "ascending" : number;
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      // Segments of one function stay behind its row, and go where it goes.
      const value = (body) => body.rows[0].cells[column].dataset.value;
      const compared = number ? (a, b) => a - b : (a, b) => a.localeCompare(b);
      const order = (a, b) => compared(value(a), value(b)) * (down ? -1 : 1);
      const groups = new Map();
      for (const body of table.tBodies) {
        const of = body.dataset.group;
        groups.set(of, [...(groups.get(of) || []), body]);
      }
      const title = (g) => g.findIndex((body) => !body.id);
      for (const g of groups.values()) {
        const head = title(g) < 0 ? [] : g.splice(title(g), 1);
        g.sort(order).unshift(...head);
      }
      [...groups.values()]
        .sort((a, b) => order(a[0], b[0]))
        .forEach((g) => table.append(...g));
      cut();
    });
  });
}

// The timeline. A column of pixels shows the share of each kind of time in it, so that any number of spans can be drawn.
const box = document.getElementById("timeline");
if (box) {
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = box.querySelector("canvas");
  const under = document.getElementById("under");
  const LEFT = 96, MARKS = 26, AXIS = 24, GAP = 3;
  const kinds = ["working", "waiting", "in the runtime", "recovery or stopped"];
  const signs = { failure: ["✖", "--bad"], checkpoint: ["◆", "--good"] };
  let from = 0, to = data.end || 1;
  const rowHeight = () => (data.tracks.length > 24 ? 10 : 20);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // A colour for each kind of time, and for work one for each of the first segments.
  const fills = () => ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--wait", "--runtime", "--stolen"].map(colour);
  const fill = (piece) => (piece[2] === 0 ? piece[4] : 6 + piece[2]);

  function track(g, t, y, height, width, shown) {
    const scale = width / (to - from);
    const sums = new Map();
    let first = 0, last = t.pieces.length;
    while (first < last) {
      const middle = (first + last) >> 1;
      if (t.pieces[middle][0] + t.pieces[middle][1] < from) first = middle + 1; else last = middle;
    }
    for (let i = first; i < t.pieces.length; i++) {
      const p = t.pieces[i];
      if (p[0] > to) break;
      const a = Math.max(0, (p[0] - from) * scale), b = Math.min(width, (p[0] + p[1] - from) * scale);
      const f = fill(p), low = Math.floor(a), high = Math.ceil(b);
      if (high - low > 2) {
        g.fillStyle = shown[f];
        g.fillRect(LEFT + low + 1, y, high - low - 2, height);
      }
      for (const x of high - low > 2 ? [low, high - 1] : high - low === 2 ? [low, low + 1] : [low]) {
        const part = Math.min(b, x + 1) - Math.max(a, x);
        if (part <= 0) continue;
        let s = sums.get(x);
        if (!s) sums.set(x, (s = new Float64Array(10)));
        s[f] += part;
      }
    }
    for (const [x, s] of sums) {
      let at = y + height;
      for (let f = 0; f < 10; f++) {
        if (!s[f]) continue;
        const h = Math.min(1, s[f]) * height;
        g.fillStyle = shown[f];
        g.fillRect(LEFT + x, at - h, 1, h);
        at -= h;
      }
    }
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(50, box.clientWidth - LEFT - 12), height = rowHeight();
    const tall = MARKS + data.tracks.length * (height + GAP) + AXIS;
    canvas.width = box.clientWidth * ratio;
    canvas.height = tall * ratio;
    canvas.style.height = tall + "px";
    const g = canvas.getContext("2d"), ink = colour("--ink"), soft = colour("--soft"), line = colour("--line");
    g.scale(ratio, ratio);
    g.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    g.textBaseline = "middle";
    const shown = fills(), bottom = tall - AXIS;
    // Time below, in steps that read well.
    const rough = (to - from) / 8, power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    const unit = step >= 0.1 ? [1, "s"] : step >= 1e-4 ? [1e3, "ms"] : [1e6, "µs"];
    const digits = Math.max(0, -Math.floor(Math.log10(step * unit[0]) + 1e-9));
    g.textAlign = "center";
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      const x = LEFT + ((t - from) / (to - from)) * width;
      g.fillStyle = line;
      g.fillRect(x, MARKS, 1, bottom - MARKS);
      g.fillStyle = soft;
      g.fillText((t * unit[0]).toFixed(digits) + " " + unit[1], x, tall - AXIS / 2);
    }
    data.tracks.forEach((t, i) => {
      const y = MARKS + i * (height + GAP);
      g.fillStyle = ink;
      g.textAlign = "right";
      if (height >= 12 || i % 2 === 0) g.fillText(t.name, LEFT - 8, y + height / 2, LEFT - 12);
      track(g, t, y, height, width, shown);
    });
    g.textAlign = "center";
    // A failure and its recovery are often one pixel apart: the failure on top.
    const late = (m) => m[1] === "failure";
    for (const [at, kind] of [...data.marks].sort((a, b) => late(a) - late(b))) {
      if (at < from || at > to) continue;
      const x = LEFT + ((at - from) / (to - from)) * width;
      const [sign, name] = signs[kind] || ["↻", "--runtime"];
      g.fillStyle = colour(name);
      g.fillRect(x - 0.5, MARKS - 6, 1, bottom - MARKS + 6);
      g.font = "14px system-ui, 'DejaVu Sans', sans-serif";
      g.fillText(sign, x, MARKS / 2 - 1);
    }
  }

  function show(x, y) {
    const width = box.clientWidth - LEFT - 12;
    const at = from + ((x - LEFT) / width) * (to - from), near = ((to - from) / width) * 6;
    const mark = data.marks.find((m) => Math.abs(m[0] - at) < near);
    const t = data.tracks[Math.floor((y - MARKS) / (rowHeight() + GAP))];
    const p = t && t.pieces.find((p) => p[0] <= at && at < p[0] + p[1]);
    const said = [at.toFixed(6) + " s"];
    if (t) said.push(t.name);
    if (p) said.push(kinds[p[2]] + (p[3] >= 0 ? ", " + data.names[p[3]] : "") + ", " + (p[1] * 1e3).toFixed(3) + " ms");
    if (mark) said.push(mark[1] + (mark[2] ? ": " + mark[2] : ""));
    under.textContent = said.join(" · ");
  }

  function view(a, b) {
    const most = data.end || 1, length = Math.min(most, Math.max(b - a, 1e-7));
    from = Math.min(Math.max(0, a), most - length);
    to = from + length;
    draw();
  }
  const zoom = (factor, at) => view(at - (at - from) * factor, at + (to - at) * factor);
  const inside = (e) => {
    const r = box.getBoundingClientRect();
    return [e.clientX - r.left, e.clientY - r.top];
  };
  const time = (x) => from + ((x - LEFT) / (box.clientWidth - LEFT - 12)) * (to - from);
  let held = null;
  box.addEventListener("pointerdown", (e) => { held = [inside(e)[0], from, to]; box.setPointerCapture(e.pointerId); });
  box.addEventListener("pointerup", () => { held = null; });
  box.addEventListener("pointermove", (e) => {
    const [x, y] = inside(e);
    if (held) {
      const by = ((held[0] - x) / (box.clientWidth - LEFT - 12)) * (held[2] - held[1]);
      view(held[1] + by, held[2] + by);
    }
    show(x, y);
  });
  box.addEventListener("dblclick", (e) => zoom(0.4, time(inside(e)[0])));
  // The wheel alone scrolls the page, as everywhere.
  box.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.shiftKey) return;
    e.preventDefault();
    zoom((e.deltaY || e.deltaX) > 0 ? 1.25 : 0.8, time(inside(e)[0]));
  }, { passive: false });
  box.addEventListener("keydown", (e) => {
    const middle = (from + to) / 2, part = (to - from) / 8;
    const does = {
      "+": () => zoom(0.6, middle), "=": () => zoom(0.6, middle), "-": () => zoom(1.7, middle),
      "ArrowLeft": () => view(from - part, to - part), "ArrowRight": () => view(from + part, to + part),
      "0": () => view(0, data.end), "Home": () => view(0, to - from), "End": () => view(data.end - (to - from), data.end),
    }[e.key];
    if (!does) return;
    e.preventDefault();
    does();
    under.textContent = from.toFixed(6) + " s to " + to.toFixed(6) + " s";
  });
  window.addEventListener("resize", draw);
  for (const m of ["(prefers-color-scheme: dark)", "print"]) matchMedia(m).addEventListener("change", draw);
  draw();
}
