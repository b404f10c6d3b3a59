// What a reader does: drags and keys on the graph, the buttons, the link.
"use strict";

function placed(event) {
  const box = graphSheet.canvas.getBoundingClientRect(), edge = 16;
  const [x, y] = [event.clientX - box.left - edge, event.clientY - box.top - edge];
  return [x / (box.width - 2 * edge), y / (box.height - 2 * edge)].map((a) => Math.min(Math.max(a, 0), 1));
}

function nearest(place) {
  const far = ([x, y]) => Math.hypot((x - place[0]) * graphSheet.width, (y - place[1]) * graphSheet.height);
  const i = each(setting.n).reduce((a, b) => (far(places[a]) <= far(places[b]) ? a : b));
  return far(places[i]) < 22 ? i : null;
}

function toggle(i, j) {
  if (i === j || i === null || j === null) return;
  const edge = [Math.min(i, j), Math.max(i, j)], without = net.edges.filter(([a, b]) => a !== edge[0] || b !== edge[1]);
  setting.edges = without.length < net.edges.length ? without : [...net.edges, edge].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  setting.places = places;
  setting.graph = "own";
  start();
}

function move(i, place) {
  places[i] = place.map((a) => Math.min(Math.max(a, 0), 1));
  setting.places = places;
  fresh = true;
  $("link").value = linked();
  request();
}

function choose(i) {
  chosen = i;
  const neighbours = net.edges.filter((edge) => edge.includes(i)).length;
  const pending = marked === null ? "" : `, from worker ${marked}`;
  $("selected").textContent = `worker ${i}, ${neighbours} neighbours${pending}`;
  request();
}

function connect(on) {
  connecting = on;
  $("move").setAttribute("aria-pressed", !on);
  $("connect").setAttribute("aria-pressed", on);
}

const canvas = graphSheet.canvas;
canvas.addEventListener("touchstart", (event) => nearest(placed(event.touches[0])) !== null && event.preventDefault(), { passive: false });
canvas.addEventListener("pointerdown", (event) => {
  const from = nearest(placed(event));
  if (from === null) return;
  canvas.setPointerCapture(event.pointerId);
  drag = { from, to: places[from] };
  choose(from);
});
canvas.addEventListener("pointermove", (event) => {
  if (!drag) return;
  if (connecting) drag.to = placed(event), request();
  else move(drag.from, (drag.to = placed(event)));
});
canvas.addEventListener("pointerup", (event) => {
  const dropped = drag;
  drag = null;
  if (dropped && connecting) toggle(dropped.from, nearest(placed(event)));
  request();
});
canvas.addEventListener("pointercancel", () => ((drag = null), request()));
const ARROWS = { ArrowLeft: [-0.02, 0], ArrowRight: [0.02, 0], ArrowUp: [0, -0.02], ArrowDown: [0, 0.02] };
canvas.addEventListener("keydown", (event) => {
  const key = event.key.toLowerCase(), { n } = setting;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in ARROWS) move(chosen, places[chosen].map((a, k) => a + ARROWS[event.key][k]));
  else if (key === "n") choose((chosen + 1) % n);
  else if (key === "p") choose((chosen + n - 1) % n);
  else if (key === "escape") marked = null;
  else if (key === "c" && marked === null) marked = chosen;
  else if (key === "c") toggle(marked, chosen), (marked = null);
  else return;
  choose(chosen);
  event.preventDefault();
});
for (const kind of ["focus", "blur"]) canvas.addEventListener(kind, request);
$("move").addEventListener("click", () => connect(false));
$("connect").addEventListener("click", () => connect(true));
$("round").addEventListener("input", () => jump(Number($("round").value)));
$("play").addEventListener("click", () => {
  if (!playing && time >= setting.rounds) time = 0;
  playing = !playing;
  setting.round = playing ? null : Math.floor(time);
  $("link").value = linked();
  before = performance.now();
  request();
});
$("copy").addEventListener("click", async () => {
  $("link").select();
  await navigator.clipboard?.writeText($("link").value).catch(() => {});
  $("copy").textContent = "Copied";
});
$("examples").addEventListener("click", (event) => event.target.dataset.link !== undefined && open(event.target.dataset.link));
window.addEventListener("hashchange", () => open(location.hash));
new ResizeObserver(request).observe(document.body);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => ((fresh = true), request()));
makeControls();
open(location.hash);
