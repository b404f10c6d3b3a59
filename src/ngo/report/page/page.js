// Search, and the filters of the table of claims. Without scripts, the whole page is there.
"use strict";
const form = document.getElementById("filter");
const rows = [...document.querySelectorAll("tr[data-verdict]")];
const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
const folded = document.getElementById("undecidable");

const split = (input) => input.value.toLowerCase().split(/\s+/).filter(Boolean);

// Links to the parts of the page that have all words.
const search = document.getElementById("search");
const MOST = 30;
const parts = [...document.querySelectorAll(".answer, .topic, tr[id], article, #assumptions, #provenance")].map(
  (part) => ({ part, text: part.textContent.toLowerCase() })
);

function find() {
  const words = split(search.elements.words);
  const found = words.length ? parts.filter(({ text }) => words.every((word) => text.includes(word))) : [];
  search.querySelector("ul").replaceChildren(...found.slice(0, MOST).map(({ part }) => {
    const link = Object.assign(document.createElement("a"), { href: `#${part.id}` });
    link.textContent = part.querySelector("h2, h3, h4, summary, a, td").textContent.replace("↑", "").trim();
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
  const more = found.length > MOST ? `, the first ${MOST}` : "";
  search.querySelector("output").textContent = words.length ? `${found.length} found${more}` : "";
}

function show() {
  const words = split(form.elements.search);
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

// What to use when: the chosen setting is a row of the first table and a column of the second.
const setting = document.querySelector("#setting select");

function choose() {
  const other = (k) => k > 0 && setting.selectedIndex > 0 && k !== setting.selectedIndex;
  for (const table of setting ? document.querySelectorAll("table.when, table.matrix") : []) {
    [...table.rows].forEach((row, k) => {
      if (table.matches(".when")) row.hidden = other(k);
      else [...row.cells].forEach((cell, column) => { cell.hidden = other(column); });
    });
  }
}

if (setting) {
  setting.form.hidden = false;
  setting.addEventListener("input", choose);
}

// A link to a claim shows it, whatever is filtered or folded.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.hidden) {
    form.reset();
    setting?.form.reset();
    show();
    choose();
  }
  for (let each = target.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
  target.scrollIntoView();
}

form.hidden = search.hidden = false;
search.addEventListener("input", find);
search.addEventListener("submit", (event) => event.preventDefault());
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
