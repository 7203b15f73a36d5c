// Draws the lanes in DATA on a canvas: wheel or + and - zoom, drag or arrows move, 0 shows everything.
(function () {
  "use strict";
  const canvas = document.getElementById("lanes"), note = document.getElementById("note");
  const LEFT = 150, RIGHT = 14, TOP = 8, LANE = 24, AXIS = 40;
  let lo = DATA.start, hi = DATA.end, grabbed = null;
  const lanes = DATA.lanes;
  let y = TOP;
  lanes.forEach(function (lane, i) {
    if (i > 0 && lane.group !== lanes[i - 1].group) y += 10;
    lane.y = y; y += LANE;
  });
  const height = y + AXIS;
  canvas.style.height = height + "px";

  function width() { return canvas.clientWidth; }
  function x(t) { return LEFT + (t - lo) / (hi - lo) * (width() - LEFT - RIGHT); }
  function time(px) { return lo + (px - LEFT) / (width() - LEFT - RIGHT) * (hi - lo); }

  function draw() {
    const dense = window.devicePixelRatio || 1, c = canvas.getContext("2d");
    canvas.width = width() * dense; canvas.height = height * dense;
    c.setTransform(dense, 0, 0, dense, 0, 0);
    c.fillStyle = "#FFFFFF"; c.fillRect(0, 0, width(), height);
    axis(c);
    lanes.forEach(function (lane, i) {
      const names = i === 0 || lane.group !== lanes[i - 1].group;
      c.textBaseline = "middle"; c.textAlign = "left"; c.fillStyle = "#222222";
      if (names) { c.font = "bold 12px sans-serif"; c.fillText(lane.group, 4, lane.y + LANE / 2); }
      c.font = "12px sans-serif"; c.textAlign = "right"; c.fillText(lane.pipe, LEFT - 6, lane.y + LANE / 2);
      c.save(); c.beginPath(); c.rect(LEFT, 0, width() - LEFT - RIGHT, height); c.clip();
      lane.rects.forEach(function (r) {
        if (r[1] < lo || r[0] > hi) return;
        const left = x(r[0]), wide = Math.max(1, x(r[1]) - left), tall = (LANE - 4) * Math.max(0.1, r[6]);
        c.fillStyle = r[2] % 2 ? lane.light : lane.dark;
        c.fillRect(left, lane.y + LANE - 2 - tall, wide > 3 ? wide - 0.5 : wide, tall);
        if (r[5] === 1 && r[6] === 1 && wide > 24) label(c, lane, r, left, wide);
      });
      c.restore();
    });
  }

  function label(c, lane, r, left, wide) {
    const from = Math.max(left, LEFT), to = Math.min(left + wide, width() - RIGHT), name = DATA.ops[r[3]] || "", tile = "#" + r[2];
    c.font = "11px sans-serif"; c.textAlign = "center";
    const words = [name + " " + tile, name, tile].find(function (w) { return c.measureText(w).width < to - from - 6; });
    c.fillStyle = r[2] % 2 ? lane.onLight : lane.onDark;
    if (words) c.fillText(words, (from + to) / 2, lane.y + LANE / 2);
  }

  function axis(c) {
    const raw = (hi - lo) / 8, power = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 5, 10].map(function (k) { return k * power; }).find(function (s) { return s >= raw; });
    const places = Math.max(0, -Math.floor(Math.log10(step / 1000) + 1e-9));
    c.font = "12px sans-serif"; c.textAlign = "center"; c.textBaseline = "top";
    for (let t = Math.ceil(lo / step) * step; t <= hi; t += step) {
      c.strokeStyle = "#E6E6E6"; c.beginPath(); c.moveTo(x(t), 0); c.lineTo(x(t), y + 4); c.stroke();
      c.fillStyle = "#222222"; c.fillText((t / 1000).toFixed(places), x(t), y + 6);
    }
    c.fillStyle = "#6E6E6E"; c.fillText("time in us after the kernel body starts", (LEFT + width()) / 2, y + 22);
  }

  function show(a, b) {
    const least = 1, whole = DATA.end - DATA.start, span = Math.min(whole, Math.max(least, b - a));
    const middle = (a + b) / 2;
    lo = Math.max(DATA.start, Math.min(DATA.end - span, middle - span / 2)); hi = lo + span;
    draw();
  }
  function zoom(factor, at) { show(at - (at - lo) * factor, at + (hi - at) * factor); }

  canvas.addEventListener("wheel", function (e) { e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : 0.8, time(e.offsetX)); }, { passive: false });
  canvas.addEventListener("mousedown", function (e) { grabbed = [e.offsetX, lo, hi]; });
  window.addEventListener("mouseup", function () { grabbed = null; });
  canvas.addEventListener("mousemove", function (e) {
    if (grabbed) {
      const d = (e.offsetX - grabbed[0]) / (width() - LEFT - RIGHT) * (grabbed[2] - grabbed[1]);
      show(grabbed[1] - d, grabbed[2] - d);
      return;
    }
    const t = time(e.offsetX), lane = lanes.find(function (l) { return e.offsetY >= l.y && e.offsetY < l.y + LANE; });
    const r = lane && lane.rects.find(function (q) { return t >= q[0] && t <= q[1]; });
    note.textContent = !r ? DATA.help : lane.group + " " + lane.pipe + ": " +
      (r[5] > 1 ? r[5] + " instructions, " + Math.round(100 * r[6]) + " % in use" : (DATA.ops[r[3]] || "?") + " line " + r[4] + ", tile " + r[2]) +
      ", " + (r[0] / 1000).toFixed(3) + " to " + (r[1] / 1000).toFixed(3) + " us";
  });
  document.addEventListener("keydown", function (e) {
    const middle = (lo + hi) / 2, step = (hi - lo) / 8;
    if (e.key === "+" || e.key === "=") zoom(0.7, middle);
    else if (e.key === "-") zoom(1 / 0.7, middle);
    else if (e.key === "ArrowLeft") show(lo - step, hi - step);
    else if (e.key === "ArrowRight") show(lo + step, hi + step);
    else if (e.key === "0") show(DATA.start, DATA.end);
  });
  window.addEventListener("resize", draw);
  draw();
})();
