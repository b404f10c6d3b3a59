// The controls, the run and the animation.
"use strict";

const $ = (id) => document.getElementById(id);
const LABELS = {
  graph: "Graph", n: "Workers n", u: "Edge probability u", coupling: "Coupling", p: "Exponent p", gamma: "Rate γ",
  delay: "Delay τ (rounds)", loss: "Failing links", lr: "Step length η", drift: "Gradients differ by",
  noise: "Gradient noise", rounds: "Rounds", seed: "Random draw",
};
const GROUPS = {
  gossip: ["graph", "n", "u", "coupling", "p", "gamma"],
  disturbed: ["delay", "loss", "lr", "drift", "noise"],
  run: ["rounds", "seed"],
};
const SECONDS = 10; // a whole run
const BUDGET = 5; // milliseconds of a frame for rounds to come

const graphSheet = new Sheet("graph"), statesChart = new Chart("states"), indexChart = new Chart("index");
let setting, net, runs, range, theory, told, places, fresh;
let time = 0, playing = false, before = 0, requested = 0, drawnTo = 0;
let chosen = 0, marked = null, drag = null, connecting = false, waiting;

// Numbers as a reader wants them.
function told3(x) {
  if (x === null || !Number.isFinite(x)) return "–";
  if (x !== 0 && (Math.abs(x) < 0.001 || Math.abs(x) >= 1e5)) {
    const power = Math.floor(Math.log10(Math.abs(x)));
    return `${(x / 10 ** power).toFixed(1)} · ${tenTo(power)}`;
  }
  return String(+x.toPrecision(3));
}

function makeControls() {
  for (const [group, names] of Object.entries(GROUPS))
    for (const name of names) {
      const field = FIELDS[name], label = document.createElement("label"), text = document.createElement("span");
      const control = document.createElement(field.choices ? "select" : "input");
      label.className = "field";
      text.textContent = LABELS[name];
      control.id = `of-${name}`;
      if (field.choices) for (const [value, words] of Object.entries(field.choices)) control.add(new Option(words, value));
      else {
        control.type = "range";
        const ends = field.logarithmic ? [Math.log10(field.min), Math.log10(field.max)] : [field.min, field.max];
        Object.assign(control, { min: ends[0], max: ends[1], step: field.logarithmic ? "any" : field.step });
      }
      label.append(text, control);
      if (!field.choices) label.append(document.createElement("output"));
      control.addEventListener("input", () => change(name, control));
      $(group).append(label);
    }
}

function change(name, control) {
  const { choices, logarithmic } = FIELDS[name];
  let value = choices ? control.value : Number(control.value);
  if (logarithmic) value = +(10 ** value).toPrecision(3);
  if (name === "graph" && value === "own") setting.edges = net.edges;
  setting[name] = value;
  setting.edges = setting.edges.filter(([i, j]) => i < setting.n && j < setting.n);
  if (["graph", "n"].includes(name)) setting.places = null;
  start();
}

function showControls() {
  for (const [name, field] of Object.entries(FIELDS)) {
    const control = $(`of-${name}`), value = setting[name];
    control.value = field.logarithmic ? Math.log10(value) : value;
    const text = Number.isInteger(value) ? String(value) : told3(value);
    if (!field.choices) {
      control.nextElementSibling.textContent = text;
      control.setAttribute("aria-valuetext", text);
    }
  }
  $("of-p").disabled = setting.coupling === "linear";
  $("of-u").closest("label").hidden = setting.graph !== "random";
}

// A run from round 0 with the present setting; the time stays unless `again`.
function start(again = true) {
  net = network(setting);
  places = setting.places ?? placesOf(setting);
  fresh = true;
  chosen = Math.min(chosen, setting.n - 1);
  marked = drag = told = null;
  const { gamma } = setting, law = (gamma) => ({ coupling: "power", p: 1, gamma });
  const begun = (law) => ({ rounds: trajectory(setting, net, law), states: [], values: [] });
  runs = { own: begun(lawOf(setting)), same: begun(law(gamma)), best: null };
  theory = { sharp: null, floor: null };
  advance(runs.own);
  const first = runs.own.states[0];
  range = [Math.min(...first), Math.max(...first)];
  clearTimeout(waiting);
  waiting = setTimeout(predict, setting.n > 40 ? 250 : 0);
  if (again) {
    setting.round = null;
    time = 0;
    playing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!playing) time = setting.rounds;
  }
  $("round").max = setting.rounds;
  drawnTo = -1;
  showControls();
  request();
}

// What theory says, and the run of linear gossip at its best γ.
function predict() {
  theory = predictions(setting, net, runs.own.values[0]);
  const { bestGamma } = theory;
  const law = { coupling: "power", p: 1, gamma: bestGamma };
  if (bestGamma) runs.best = { rounds: trajectory(setting, net, law), states: null, values: [] };
  const rows = [
    ["T*: consensus by round (continuous time)", theory.sharp],
    ["T* as the paper prints it, half of that", theory.printed],
    ["Chatter floor of V", theory.floor],
    ["Best γ of linear gossip, 2/(λ₂ + λₙ)", bestGamma],
    ["Delay that linear gossip tolerates at this γ", theory.delay],
    ["λ₂ and λₙ of the graph", null],
  ];
  $("theory").replaceChildren(
    ...rows.map(([name, value]) => {
      const row = document.createElement("tr"), cell = document.createElement("th");
      cell.scope = "row";
      cell.textContent = name;
      const both = `${told3(theory.second)} and ${told3(theory.largest)}`;
      row.append(cell);
      row.insertCell().textContent = name.startsWith("λ") ? both : value === Infinity ? "never: not connected" : told3(value);
      return row;
    }),
  );
  $("link").value = linked();
  history.replaceState(null, "", "#" + toLink(setting));
  told = null;
  request();
}

const linked = () => location.href.split("#")[0] + "#" + toLink(setting);

function advance(run) {
  const X = run.rounds.next().value;
  run.states?.push(X);
  run.values.push(indexOf(X));
}

// Rounds to come, as many as fit into a frame's budget. Whether some are left.
function compute() {
  const end = performance.now() + BUDGET;
  for (const run of Object.values(runs).filter(Boolean))
    while (run.values.length <= setting.rounds) {
      advance(run);
      if (performance.now() > end) return true;
    }
  return false;
}

// The first round from which V stays at or below a level; null if there is none.
function reached(values, level) {
  let t = values.length;
  while (t > 0 && values[t - 1] <= level) t--;
  return t < values.length ? t : null;
}

// What happened, in a sentence.
function conclude() {
  const { own, same, best } = runs, V0 = own.values[0];
  const level = Math.max(2 * (theory.floor ?? 0), 1e-6 * V0);
  const after = (values) => {
    const t = reached(values, level);
    return t === null ? `not within ${setting.rounds} rounds` : `from round ${t} on`;
  };
  const about = theory.floor > 5e-7 * V0 ? "twice the chatter floor" : "a millionth of the start";
  const { sharp } = theory;
  const by = Number.isFinite(sharp) && sharp !== null ? ` (T* is ${told3(sharp)})` : "";
  $("says").textContent =
    `V stays below ${told3(level)}, ${about}: in this setting ${after(own.values)}${by}; ` +
    `linear gossip at the same γ ${after(same.values)}` + (best ? `, at its best γ ${after(best.values)}.` : ".");
  statesChart.canvas.setAttribute("aria-label", `States of ${setting.n} workers by round`);
  indexChart.canvas.setAttribute("aria-label", `V by round, from ${told3(V0)} to ${told3(own.values.at(-1))}`);
}

function frame(now) {
  requested = 0;
  const more = compute(), { own, same, best } = runs, last = own.values.length - 1;
  if (playing) {
    time = Math.min(time + (Math.min(now - before, 100) / 1000) * (setting.rounds / SECONDS), last);
    if (time >= setting.rounds) playing = false;
  }
  before = now;
  const t = Math.min(Math.floor(time), last);
  const resized = [graphSheet, statesChart, indexChart].map((sheet) => sheet.fit());
  drawGraph(graphSheet, {
    places, edges: net.edges, states: steady(own.states, t), range, chosen: document.activeElement === $("graph") ? chosen : null,
    marked, drag, fresh: fresh || resized[0],
  });
  fresh = false;
  drawCharts(t, last, resized[1], [
    { values: same.values, name: "same", dash: [8, 5] },
    ...(best ? [{ values: best.values, name: "best", dash: [2, 4] }] : []),
    { values: own.values, name: "own", dash: [] },
  ]);
  $("round").value = t;
  $("now").textContent = `round ${t} · V = ${told3(own.values[t])}`;
  $("play").textContent = playing ? "Pause" : time >= setting.rounds ? "Replay" : "Play";
  if (!more && !told && best !== null) conclude(), (told = true);
  if (more || playing) request();
}

// Colours are those of the mean of two rounds: what alternates does not flicker.
const steady = (states, t) => (t ? states[t].map((x, i) => (x + states[t - 1][i]) / 2) : states[0]);

function drawCharts(t, last, resized, curves) {
  const { own } = runs, room = 0.06 * (range[1] - range[0] || 1);
  statesChart.scale(setting.rounds, range[0] - room, range[1] + room);
  if (resized || drawnTo < 0) {
    statesChart.clear(statesChart.under);
    drawnTo = 0;
  }
  if (drawnTo < last) addStates(statesChart, own.states, drawnTo, last, range);
  drawnTo = last;
  statesChart.clear();
  const span = range[1] - range[0], every = span > 4 ? 2 : span > 1 ? 1 : 0.5;
  const ticks = each(21).map((k) => (k - 10) * every).filter((x) => x > range[0] && x < range[1]);
  statesChart.axes(ticks, (x) => String(x).replace("-", "−"));
  statesChart.show(statesChart.x(t));
  statesChart.deadline(theory.sharp ?? NaN);
  statesChart.cursor(t);
  drawLens(statesChart, own.states, t, range);
  const finite = own.values.filter((V) => V > 0 && V < 1e12), top = Math.ceil(Math.log10(Math.max(...finite)));
  const least = Math.min(...finite, theory.floor ?? 1) / 10;
  indexChart.scale(setting.rounds, Math.max(Math.floor(Math.log10(least)), top - 16), top);
  drawIndex(indexChart, curves, t, theory);
}

function request() {
  if (!requested) requested = requestAnimationFrame(frame);
}

function open(fragment) {
  const read = fromLink(fragment);
  setting = read.setting;
  $("refused").textContent = read.refused.length ? `Left out, as the link gives no allowed value: ${read.refused.join(", ")}.` : "";
  const { round } = setting;
  start();
  if (round !== null) jump(round);
}

function jump(t) {
  playing = false;
  setting.round = time = t;
  $("link").value = linked();
  request();
}
