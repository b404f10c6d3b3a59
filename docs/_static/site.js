// Boxes that scroll sideways are reached by the Tab key: those that do in this window.
"use strict";
const BOXES = "pre, .table-wrapper, .cell_output .output, .sig, math";

function reach() {
  for (const box of document.querySelectorAll(BOXES))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
}

window.addEventListener("load", reach);
window.addEventListener("resize", reach);
document.addEventListener("toggle", reach, true); // a box in <details> has no width before
