// A setting: its fields with their ranges, and the link that holds it. A link is a stranger's: each
// value is checked against its field, and what does not fit is left at the default.
"use strict";

const FIELDS = {
  graph: {
    choices: {
      ring: "Ring", chain: "Chain", complete: "Complete", star: "Star", torus: "Torus (grid)",
      exponential: "Exponential", random: "Random G(n, u)", own: "Own",
    },
  },
  n: { min: 2, max: 100, step: 1, initial: 10 },
  u: { min: 0, max: 1, step: 0.01, initial: 0.3 },
  coupling: {
    choices: { power: "φ_p (NGO)", linear: "Linear (p = 1)", capped: "φ_p, capped", implicit: "φ_p, implicit" },
  },
  p: { min: 0.5, max: 2, step: 0.01, initial: 0.6 },
  gamma: { min: 0.001, max: 2, step: 0.01, initial: 0.1, logarithmic: true },
  delay: { min: 0, max: 50, step: 1, initial: 0 },
  loss: { min: 0, max: 0.95, step: 0.01, initial: 0 },
  lr: { min: 0, max: 1, step: 0.01, initial: 0.1 },
  drift: { min: 0, max: 2, step: 0.01, initial: 0 },
  noise: { min: 0, max: 2, step: 0.01, initial: 0 },
  rounds: { min: 10, max: 2000, step: 10, initial: 300 },
  seed: { min: 0, max: 9999, step: 1, initial: 1 },
};

const LONGEST = 4000;
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Edges as bits of all pairs, six to a digit.
function packedEdges({ n, edges }) {
  const there = new Set(edges.map(([i, j]) => i * n + j));
  const bits = pairs(n).map(([i, j]) => +there.has(i * n + j));
  return each(Math.ceil(bits.length / 6))
    .map((k) => DIGITS[bits.slice(6 * k, 6 * k + 6).reduce((sum, bit, place) => sum + (bit << place), 0)])
    .join("");
}

function unpackedEdges(n, text) {
  const digits = digitsOf(text, Math.ceil((n * (n - 1)) / 12));
  return digits && pairs(n).filter((_, k) => (digits[Math.floor(k / 6)] >> (k % 6)) & 1);
}

// Places in the unit square, each coordinate in two digits.
function packedPlaces(places) {
  const number = (x) => Math.round(Math.min(Math.max(x, 0), 1) * 4095);
  return places.flat().map((x) => DIGITS[number(x) >> 6] + DIGITS[number(x) & 63]).join("");
}

function unpackedPlaces(n, text) {
  const digits = digitsOf(text, 4 * n);
  const number = (k) => (64 * digits[k] + digits[k + 1]) / 4095;
  return digits && each(n).map((i) => [number(4 * i), number(4 * i + 2)]);
}

// The values of so many digits; null if the text is not that.
function digitsOf(text, count) {
  const digits = [...text].map((letter) => DIGITS.indexOf(letter));
  return digits.length === count && !digits.includes(-1) ? digits : null;
}

// The value of a field that a text gives; null if it is none. Numbers outside the range are moved to its end.
function valueOf({ choices, min, max, step }, text) {
  if (choices) return Object.hasOwn(choices, text) ? text : null;
  if (!/^-?\d{1,9}(\.\d{1,12})?(e-?\d{1,2})?$/i.test(text)) return null;
  const value = Math.min(Math.max(Number(text), min), max);
  return step < 1 ? value : Math.round(value);
}

function defaults() {
  const initial = Object.entries(FIELDS).map(([name, field]) => [name, field.initial ?? Object.keys(field.choices)[0]]);
  return { ...Object.fromEntries(initial), edges: [], places: null, round: null };
}

// The setting of a fragment, and the names of what it gives that is left out.
function fromLink(fragment) {
  const setting = defaults();
  if (fragment.length > LONGEST) return { setting, refused: ["link"] };
  const given = new Map(), refused = [];
  for (const part of fragment.replace(/^#/, "").split("&")) {
    const [name, text] = [part.split("=", 1)[0], part.slice(part.indexOf("=") + 1)];
    if (part && !given.has(name)) given.set(name, text);
  }
  const take = (name, read) => {
    if (!given.has(name)) return;
    const value = read(given.get(name));
    if (value === null) refused.push(name);
    else setting[name] = value;
  };
  for (const [name, field] of Object.entries(FIELDS)) take(name, (text) => valueOf(field, text));
  take("round", (text) => valueOf({ min: 0, max: setting.rounds, step: 1 }, text));
  take("edges", (text) => unpackedEdges(setting.n, text));
  take("places", (text) => unpackedPlaces(setting.n, text));
  const known = Object.keys(setting);
  if ([...given.keys()].some((name) => !known.includes(name))) refused.push("unknown name");
  return { setting, refused };
}

// The fragment of a setting: what differs from the defaults.
function toLink(setting) {
  const initial = defaults();
  const parts = Object.keys(FIELDS)
    .filter((name) => setting[name] !== initial[name])
    .map((name) => `${name}=${typeof setting[name] === "number" ? +setting[name].toPrecision(9) : setting[name]}`);
  if (setting.graph === "own") parts.push(`edges=${packedEdges(setting)}`);
  if (setting.places) parts.push(`places=${packedPlaces(setting.places)}`);
  if (setting.round !== null) parts.push(`round=${setting.round}`);
  return parts.join("&");
}
