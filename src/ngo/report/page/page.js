// The filters of the table of claims. Without scripts, the whole table is there.
"use strict";
const form = document.getElementById("filter");
const rows = [...document.querySelectorAll("tr[data-topics]")];
const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
const folded = document.getElementById("undecidable");

function show() {
  const { search, verdict, mark = { value: "" }, topic } = form.elements;
  const words = search.value.toLowerCase().split(/\s+/);
  const asked = [search, verdict, mark, topic].some((field) => field.value);
  let count = 0;
  for (const row of rows) {
    row.hidden = !(
      words.every((word) => texts.get(row).includes(word)) &&
      (!verdict.value || row.dataset.verdict === verdict.value) &&
      (!mark.value || row.dataset.mark === mark.value) &&
      (!topic.value || row.dataset.topics.split(" ").includes(topic.value))
    );
    count += !row.hidden;
  }
  if (folded) folded.open = asked && !!folded.querySelector("tr[data-topics]:not([hidden])");
  document.getElementById("found").textContent = `${count} of ${rows.length} claims`;
}

// A link to a claim shows it, whatever is filtered or folded.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.hidden) {
    form.reset();
    show();
  }
  for (let each = target.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
  target.scrollIntoView();
}

form.hidden = false;
form.addEventListener("input", show);
form.addEventListener("reset", () => setTimeout(show));
form.addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", reveal);
show();
if (location.hash) reveal();
