// The filters of the table of claims. Without scripts, the whole table is there.
"use strict";
const form = document.getElementById("filter");
const rows = [...document.querySelectorAll("tr[data-verdict]")];
const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
const folded = document.getElementById("undecidable");

function show() {
  const words = form.elements.search.value.toLowerCase().split(/\s+/);
  const chosen = [...form.querySelectorAll("select")].filter((select) => select.value);
  let count = 0;
  for (const row of rows) {
    row.hidden = !(
      words.every((word) => texts.get(row).includes(word)) &&
      chosen.every(({ name, value }) => [row.dataset[name], ...row.dataset[name].split(" ")].includes(value))
    );
    count += !row.hidden;
  }
  if (folded) {
    const asked = chosen.length || form.elements.search.value;
    folded.open = !!asked && !!folded.querySelector("tr[data-verdict]:not([hidden])");
  }
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

// The playground is a page within this one: it opens at the setting that shows a claim.
for (const button of document.querySelectorAll("button[data-play]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const page = new Blob([JSON.parse(document.getElementById("playground").textContent)], { type: "text/html" });
    window.open(`${URL.createObjectURL(page)}#${button.dataset.play}`);
  });
}
