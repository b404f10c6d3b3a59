// The graph and the two charts on canvases.
"use strict";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const COLD = [33, 102, 200], MIDDLE = [128, 128, 128], WARM = [214, 96, 20];

// The colour of a state between the ends of a range.
function hue(x, [low, high]) {
  const place = Math.min(Math.max((x - low) / (high - low || 1), 0), 1);
  const [from, to, share] = place < 0.5 ? [COLD, MIDDLE, 2 * place] : [MIDDLE, WARM, 2 * place - 1];
  return `rgb(${from.map((a, k) => Math.round(a + (to[k] - a) * (Number.isFinite(share) ? share : 0)))})`;
}

// A canvas in CSS pixels, sharp on any screen, with a second layer of what changes rarely.
class Sheet {
  constructor(id) {
    this.canvas = document.getElementById(id);
    this.context = this.canvas.getContext("2d");
    this.layer = document.createElement("canvas");
    this.under = this.layer.getContext("2d");
  }
  // Whether the size has changed; then all is to be drawn again.
  fit() {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (this.width === width && this.height === height && this.ratio === ratio) return false;
    Object.assign(this, { width, height, ratio });
    for (const canvas of [this.canvas, this.layer]) {
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    return true;
  }
  clear(context = this.context) {
    context.clearRect(0, 0, this.width, this.height);
  }
  // The layer: faint, and in full up to the place x.
  show(x) {
    const { context } = this;
    context.globalAlpha = 0.25;
    context.drawImage(this.layer, 0, 0, this.width, this.height);
    context.globalAlpha = 1;
    context.save();
    context.beginPath();
    context.rect(0, 0, x, this.height);
    context.clip();
    context.drawImage(this.layer, 0, 0, this.width, this.height);
    context.restore();
  }
}

const LEFT = 46, RIGHT = 10, TOP = 10, BOTTOM = 22;

// A chart over rounds with an axis; `y` maps a value to a place.
class Chart extends Sheet {
  scale(rounds, low, high) {
    Object.assign(this, { rounds, low, high });
  }
  x(t) {
    return LEFT + ((this.width - LEFT - RIGHT) * t) / this.rounds;
  }
  y(value) {
    return TOP + ((this.height - TOP - BOTTOM) * (this.high - value)) / (this.high - this.low);
  }
  axes(ticks, label) {
    const { context, width, height } = this;
    context.font = "12px system-ui, sans-serif";
    context.lineWidth = 1;
    for (const value of ticks) {
      context.strokeStyle = colour("line");
      context.fillStyle = colour("faint");
      context.textAlign = "right";
      stroke(context, [LEFT, this.y(value)], [width - RIGHT, this.y(value)]);
      context.fillText(label(value), LEFT - 6, this.y(value) + 4);
    }
    context.textAlign = "center";
    for (let k = 0; k <= 4; k++) {
      const t = Math.round((this.rounds * k) / 4);
      context.textAlign = k === 4 ? "right" : "center";
      context.fillText(k === 4 ? `round ${t}` : t, this.x(t), height - 6);
    }
  }
  // A line that marks a round or a value, with its name.
  mark(name, from, to, at, align = "left") {
    const { context } = this;
    context.strokeStyle = context.fillStyle = colour("limit");
    context.lineWidth = 1.5;
    context.setLineDash([6, 4]);
    stroke(context, from, to);
    context.setLineDash([]);
    context.font = "600 13px system-ui, sans-serif";
    context.textAlign = align;
    context.fillText(name, ...at);
  }
  // T*, if it is within the rounds; its name is on the side with more room.
  deadline(t) {
    if (!(t <= this.rounds)) return;
    const x = this.x(t), right = x > this.width - 60;
    this.mark("T*", [x, TOP], [x, this.height - BOTTOM], [x + (right ? -5 : 5), this.height - BOTTOM - 6], right ? "right" : "left");
  }
  cursor(t) {
    this.context.strokeStyle = colour("ink");
    this.context.lineWidth = 1;
    stroke(this.context, [this.x(t), TOP], [this.x(t), this.height - BOTTOM]);
  }
}

function stroke(context, ...points) {
  context.beginPath();
  points.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}

// Adds the lines of the workers' states in rounds from … to to the layer.
function addStates(chart, states, from, to, range) {
  const { under } = chart;
  under.save();
  under.beginPath();
  under.rect(LEFT, TOP, chart.width - LEFT - RIGHT, chart.height - TOP - BOTTOM);
  under.clip();
  under.lineWidth = states[0].length > 30 ? 1 : 1.6;
  for (let i = 0; i < states[0].length; i++) {
    under.strokeStyle = hue(states[0][i], range);
    under.beginPath();
    for (let t = from; t <= to; t++) {
      const y = chart.y(states[t][i]);
      if (!Number.isFinite(y)) break;
      under.lineTo(chart.x(t), Math.min(Math.max(y, -1e4), 1e4));
    }
    under.stroke();
  }
  under.restore();
}

const LENS = 24;

// The last rounds before t, enlarged, where workers are too close to be told apart.
function drawLens(chart, states, t, range) {
  const last = t - (t % 2), first = last - LENS;
  if (first < 0 || chart.width < 300) return;
  const mean = states[last].reduce((a, b) => a + b) / states[last].length;
  let most = 1e-300;
  for (let s = first; s <= last; s++) for (const x of states[s]) most = Math.max(most, Math.abs(x - mean));
  const times = (0.7 * (chart.high - chart.low)) / (2 * most);
  if (!(times > 4) || !(times < 1e12)) return;
  const { context } = chart, width = Math.min(220, chart.width / 3), height = (chart.height - TOP - BOTTOM) * 0.42;
  const left = chart.width - RIGHT - width - 4;
  context.fillStyle = colour("paper");
  context.strokeStyle = colour("faint");
  context.lineWidth = 1;
  context.fillRect(left, TOP + 2, width, height);
  context.strokeRect(left, TOP + 2, width, height);
  for (let i = 0; i < states[0].length; i++) {
    context.strokeStyle = hue(states[0][i], range);
    context.beginPath();
    for (let s = first; s <= last; s++) {
      const y = TOP + 2 + height / 2 + 8 - ((states[s][i] - mean) / most) * (height / 2 - 14);
      context.lineTo(left + 4 + ((width - 8) * (s - first)) / LENS, y);
    }
    context.stroke();
  }
  context.fillStyle = colour("ink");
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "left";
  context.fillText(`last ${LENS} rounds, × ${times < 1e4 ? Math.round(times) : times.toExponential(0)}`, left + 6, TOP + 14);
}

const POWERS = [..."⁰¹²³⁴⁵⁶⁷⁸⁹"];
const tenTo = (k) => "10" + (k < 0 ? "⁻" : "") + [...String(Math.abs(k))].map((digit) => POWERS[digit]).join("");

// The curves of V on a logarithmic axis: each has `values`, the name of its colour, and a dash.
function drawIndex(chart, curves, t, { sharp, floor }) {
  const { context } = chart;
  chart.clear();
  const span = chart.high - chart.low, every = Math.ceil(span / 6);
  const ticks = each(Math.floor(span / every) + 1).map((k) => chart.high - k * every);
  chart.axes(ticks, tenTo);
  context.save();
  context.beginPath();
  context.rect(LEFT, TOP, chart.width - LEFT - RIGHT, chart.height - TOP - BOTTOM);
  context.clip();
  for (const { values, name, dash } of curves) {
    context.strokeStyle = colour(name);
    context.lineWidth = name === "own" ? 2.5 : 1.8;
    context.setLineDash(dash);
    for (const [alpha, to] of [[0.3, values.length - 1], [1, Math.min(t, values.length - 1)]]) {
      context.globalAlpha = alpha;
      context.beginPath();
      for (let s = 0; s <= to; s++) {
        const y = chart.y(Math.log10(Math.max(values[s], 1e-300)));
        if (!Number.isFinite(y)) break;
        context.lineTo(chart.x(s), y);
      }
      context.stroke();
    }
  }
  context.setLineDash([]);
  context.restore();
  chart.deadline(sharp ?? NaN);
  if (floor > 10 ** chart.low) {
    const y = chart.y(Math.log10(floor));
    chart.mark("chatter floor", [LEFT, y], [chart.width - RIGHT, y], [LEFT + 6, y - 6]);
  }
  chart.cursor(t);
}

// Where workers are in the unit square, by graph.
function placesOf({ graph, n }) {
  if (graph === "torus") {
    const rows = rowsOf(n), columns = n / rows;
    return each(n).map((i) => [((i % columns) + 0.5) / columns, (Math.floor(i / columns) + 0.5) / rows]);
  }
  const centre = graph === "star" ? 1 : 0, share = graph === "chain" ? 0.85 : 1;
  return each(n).map((i) => {
    const angle = (2 * Math.PI * share * (i - centre)) / (n - centre) - Math.PI / 2;
    return i < centre ? [0.5, 0.5] : [0.5 + 0.46 * Math.cos(angle), 0.5 + 0.46 * Math.sin(angle)];
  });
}

// The edges on the layer, then the workers in the colours of their states.
function drawGraph(sheet, { places, edges, states, range, chosen, marked, drag, fresh }) {
  const { context, under, width, height } = sheet, edge = 16;
  const at = ([x, y]) => [edge + x * (width - 2 * edge), edge + y * (height - 2 * edge)];
  if (fresh) {
    sheet.clear(under);
    under.strokeStyle = colour("edge");
    under.lineWidth = edges.length > 1000 ? 0.4 : 1.4;
    under.beginPath();
    for (const [i, j] of edges) {
      under.moveTo(...at(places[i]));
      under.lineTo(...at(places[j]));
    }
    under.stroke();
  }
  sheet.clear();
  context.drawImage(sheet.layer, 0, 0, width, height);
  context.strokeStyle = colour("ink");
  context.lineWidth = 2;
  if (drag) stroke(context, at(places[drag.from]), at(drag.to));
  const radius = states.length > 40 ? 6 : 9;
  places.forEach((place, i) => {
    context.fillStyle = hue(states[i], range);
    context.strokeStyle = colour(i === chosen ? "link" : "paper");
    context.lineWidth = i === chosen || i === marked ? 4 : 1.5;
    context.beginPath();
    context.arc(...at(place), radius, 0, 7);
    context.fill();
    context.stroke();
  });
}
