// Consensus in rounds, as in ngo.gossip, and what the theorems predict of it. Pure functions.
"use strict";

// Uniform numbers in (0, 1) by mulberry32: the same for the same seed and name.
function stream(seed, name) {
  let state = 2166136261 ^ seed;
  for (const letter of name) state = Math.imul(state ^ letter.charCodeAt(0), 16777619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
}

// n standard normal numbers (Box and Muller 1958).
function normals(next, n) {
  return Float64Array.from({ length: n }, () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()));
}

const each = (n) => Array.from({ length: n }, (_, i) => i);
const pairs = (n) => each(n).flatMap((i) => each(n - 1 - i).map((k) => [i, i + 1 + k]));

// The rows of a torus: the largest divisor of n up to its root.
function rowsOf(n) {
  let rows = Math.floor(Math.sqrt(n));
  while (n % rows) rows--;
  return rows;
}

// The edges of each graph, as pairs of workers; a random one is drawn once.
const GRAPHS = {
  ring: ({ n }) => each(n).map((i) => [i, (i + 1) % n]),
  chain: ({ n }) => each(n - 1).map((i) => [i, i + 1]),
  complete: ({ n }) => pairs(n),
  star: ({ n }) => each(n - 1).map((i) => [0, i + 1]),
  torus({ n }) {
    const columns = n / rowsOf(n);
    const right = each(n).map((i) => [i, i - (i % columns) + ((i + 1) % columns)]);
    return [...right, ...each(n).map((i) => [i, (i + columns) % n])];
  },
  exponential: ({ n }) =>
    each(Math.ceil(Math.log2(n))).flatMap((k) => each(n).map((i) => [i, (i + 2 ** k) % n])),
  random({ n, u, seed }) {
    const next = stream(seed, "graph");
    return pairs(n).filter(() => next() < u);
  },
  own: ({ edges }) => edges,
};

// Each edge once, as i < j, in order and without self-loops.
function simple(n, edges) {
  const keys = new Set(edges.filter(([i, j]) => i !== j).map(([i, j]) => Math.min(i, j) * n + Math.max(i, j)));
  return [...keys].sort((a, b) => a - b).map((key) => [Math.floor(key / n), key % n]);
}

// The network of a setting: its edges from i to j, and their Metropolis–Hastings weights.
function network(setting) {
  const { n } = setting;
  const edges = simple(n, GRAPHS[setting.graph](setting));
  const degrees = new Int32Array(n);
  for (const edge of edges) for (const i of edge) degrees[i]++;
  const weights = edges.map(([i, j]) => Math.min(1 / (1 + degrees[i]), 1 / (1 + degrees[j])));
  return { n, edges, weights: Float64Array.from(weights) };
}

// The number of a matching for each edge, greedily: in a matching a worker has one neighbour.
function matchings({ n, edges }) {
  const used = each(n).map(() => new Set());
  return edges.map(([i, j]) => {
    let number = 0;
    while (used[i].has(number) || used[j].has(number)) number++;
    used[i].add(number);
    used[j].add(number);
    return number;
  });
}

// What is drawn: the states at the start, the workers' gradients, and in each round their noise and
// a number for each link, which fails below the probability of a failure.
function drawn({ n, seed }, { edges }) {
  const [noise, links] = [stream(seed, "noise"), stream(seed, "links")];
  const gradients = normals(stream(seed, "drift"), n);
  const mean = gradients.reduce((sum, b) => sum + b) / n;
  return {
    start: normals(stream(seed, "states"), n),
    gradients: gradients.map((b) => b - mean),
    noise: () => normals(noise, n),
    links: () => Float64Array.from(edges, links),
  };
}

// The coupling, p and γ of a setting: linear gossip is φ_p at p = 1.
function lawOf({ coupling, p, gamma }) {
  if (coupling === "linear") return { coupling: "power", p: 1, gamma };
  return { coupling, p: coupling === "implicit" ? Math.min(p, 1) : p, gamma };
}

// |z|^e as ngo.gossip.phi computes it.
const power = (z, e) => (e === 0 ? 1 : e === 1 ? z : 2 ** (e * Math.log2(z)));

// v = u^q for the u ≥ 0 with u + c u^q = a: Newton's method from above, as in couplings.implicit.
function solved(a, c, q) {
  let v = Math.min(power(a, q), a / c);
  for (let k = 0; q > 0 && k < 10; k++) {
    const slope = v ** (1 / q - 1);
    v -= (slope * v + c * v - a) / (slope / q + c);
  }
  return Math.max(v, 0);
}

// The pull along an edge of weight w, by coupling, for a difference a > 0.
const PULLS = {
  power: (a, w, gamma, e) => gamma * w * power(a, e),
  capped: (a, w, gamma, e) => w * Math.min(gamma * power(a, e), a),
  implicit: (a, w, gamma, e) => gamma * w * solved(a, 2 * gamma * w, e),
};

// A round of gossip: x_i + γ Σ_j W_ij φ(y_j − y_i), y = at; edges of weight 0 have no pull.
function step(X, at, edges, weights, { coupling, p, gamma }) {
  const [next, pull, e] = [X.slice(), PULLS[coupling], 2 * p - 1];
  for (let k = 0; k < edges.length; k++) {
    const [i, j] = edges[k];
    const z = at[j] - at[i];
    if (weights[k] === 0 || z === 0) continue;
    const moved = Math.sign(z) * pull(Math.abs(z), weights[k], gamma, e);
    next[i] += moved;
    next[j] -= moved;
  }
  return next;
}

// The states of all rounds, the initial one first. In each round, workers take a step of length lr
// along their gradient, and then gossip with the half-step states of `delay` rounds ago; before
// the first round those are of the first. The implicit coupling takes a matching in each round.
function* trajectory(setting, net = network(setting), law = lawOf(setting)) {
  const { lr, drift, noise, loss, delay } = setting;
  const draws = drawn(setting, net);
  const numbers = law.coupling === "implicit" ? matchings(net) : null;
  const count = numbers ? Math.max(0, ...numbers) + 1 : 1;
  const sent = [];
  let X = draws.start;
  yield X;
  for (let t = 0; ; t++) {
    const noises = lr * noise ? draws.noise() : null;
    const half = X.map((x, i) => x - lr * (drift * draws.gradients[i] + (noises ? noise * noises[i] : 0)));
    sent.push(half);
    if (sent.length > delay + 1) sent.shift();
    const links = loss ? draws.links() : null;
    const weights = net.weights.map((w, k) => {
      if (links && links[k] < loss) return 0;
      return numbers ? (numbers[k] === t % count ? 0.5 : 0) : w;
    });
    X = step(half, sent[0], net.edges, weights, law);
    yield X;
  }
}

// The synchronization index V = Σᵢ (xᵢ − x̄)².
function indexOf(X) {
  let mean = 0, sum = 0;
  for (const x of X) mean += x / X.length;
  for (const x of X) sum += (x - mean) ** 2;
  return sum;
}

// Eigenvalues of a symmetric matrix, in order, and their vectors: Jacobi's method.
function eigen(matrix) {
  const A = matrix.map((row) => Float64Array.from(row)), n = A.length;
  const vectors = A.map((_, i) => Float64Array.from(A, (_, j) => +(i === j)));
  const off = () => A.reduce((sum, row, i) => row.reduce((s, a, j) => (i === j ? s : s + a * a), sum), 0);
  for (let sweep = 0; sweep < 30 && off() > 1e-26; sweep++)
    for (let i = 0; i < n; i++)
      for (let j = i + 1; j < n; j++) {
        if (Math.abs(A[i][j]) < 1e-18) continue;
        const theta = (A[j][j] - A[i][i]) / (2 * A[i][j]);
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const c = 1 / Math.hypot(t, 1), s = t * c;
        for (const row of A) {
          const x = row[i], y = row[j];
          row[i] = c * x - s * y;
          row[j] = s * x + c * y;
        }
        turn(A[i], A[j], c, s);
        turn(vectors[i], vectors[j], c, s);
      }
  const order = each(n).sort((a, b) => A[a][a] - A[b][b]);
  return { values: order.map((i) => A[i][i]), vectors: order.map((i) => vectors[i]) };
}

function turn(a, b, c, s) {
  for (let k = 0; k < a.length; k++) {
    const x = a[k], y = b[k];
    a[k] = c * x - s * y;
    b[k] = s * x + c * y;
  }
}

// The Laplacian D − W of edges with weights.
function laplacian({ n, edges }, weights) {
  const L = each(n).map(() => new Float64Array(n));
  edges.forEach(([i, j], k) => {
    L[i][i] += weights[k];
    L[j][j] += weights[k];
    L[i][j] -= weights[k];
    L[j][i] -= weights[k];
  });
  return L;
}

// T*, in rounds: c is 4 as the paper prints it, and 2 as the sum over edges gives (bounds.finite_time_bound).
function finiteTime(V0, net, weights, p, gamma, c) {
  const connectivity = eigen(laplacian(net, weights.map((w) => w ** (1 / p)))).values[1];
  return connectivity < 1e-12 ? Infinity : V0 ** (1 - p) / ((1 - p) * c * gamma * connectivity ** p);
}

// Λ_p, the largest Σ W_ij |y_i − y_j|^(2p) over Σy = 0, ‖y‖ = 1, by ascent (bounds.chatter_V).
function largestCycle(net, p, vectors) {
  const next = stream(0, "cycle");
  const starts = [...vectors.slice(-6), ...each(10).map(() => normals(next, net.n))];
  let largest = 0;
  for (let y of starts) {
    const mean = y.reduce((a, b) => a + b) / net.n;
    y = y.map((a) => a - mean);
    for (let k = 0, change = 1; k < 200 && change > 1e-9; k++) {
      const pull = step(new Float64Array(net.n), y, net.edges, net.weights, { coupling: "power", p, gamma: -1 });
      const norm = Math.hypot(...pull) || 1;
      change = 0;
      for (let i = 0; i < net.n; i++) change = Math.max(change, Math.abs(pull[i] / norm - y[i]));
      y = pull.map((a) => a / norm);
    }
    const sum = net.edges.reduce((s, [i, j], k) => s + net.weights[k] * Math.abs(y[i] - y[j]) ** (2 * p), 0);
    largest = Math.max(largest, sum);
  }
  return largest;
}

// What theory says of a setting, in rounds; null where it says nothing. Drift, noise and delay are
// left out; links that fail slow the flow as a smaller γ does.
function predictions(setting, net, V0) {
  const { coupling, p, gamma } = lawOf(setting);
  const { values, vectors } = eigen(laplacian(net, net.weights));
  const [second, largest] = [values[1], values[net.n - 1]];
  const sublinear = p >= 0.5 && p < 1 && net.edges.length > 0;
  const found = {
    second, largest, connected: second > 1e-9, bestGamma: null, delay: null, printed: null, sharp: null, floor: null,
  };
  if (largest > 0) {
    found.bestGamma = 2 / (second + largest);
    found.delay = (Math.PI / (2 * Math.asin(Math.min(1, (gamma * largest) / 2))) - 1) / 2;
  }
  if (sublinear && coupling !== "capped") {
    const numbers = coupling === "implicit" ? matchings(net) : null;
    const weights = numbers ? net.weights.map(() => 0.5 / (Math.max(...numbers) + 1)) : net.weights;
    found.sharp = finiteTime(V0, net, weights, p, gamma * (1 - setting.loss), 2);
    found.printed = found.sharp / 2;
  }
  if (sublinear && coupling === "power")
    found.floor = ((gamma * largestCycle(net, p, vectors)) / 2) ** (1 / (1 - p));
  return found;
}
