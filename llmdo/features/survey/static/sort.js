"use strict";
const table = document.querySelector("table");
const body = table.tBodies[0];
const heads = [...table.tHead.rows[0].cells];

// A row without a cell in this column, or with an empty one, comes last in either order.
function keyOf(row, column) {
  const cell = row.cells[column];
  return cell ? (cell.dataset.key ?? cell.textContent) : "";
}

function sort(head) {
  const column = head.cellIndex;
  const falls = head.getAttribute("aria-sort") === "ascending";
  const rows = [...body.rows].sort((one, other) => {
    const [a, b] = [keyOf(one, column), keyOf(other, column)];
    if (!a || !b) return Number(!a) - Number(!b);
    return (falls ? -1 : 1) * a.localeCompare(b, "en", { numeric: true });
  });
  body.append(...rows);
  for (const each of heads) each.setAttribute("aria-sort", each === head ? (falls ? "descending" : "ascending") : "none");
  document.querySelector("#sorted").textContent =
    `Sorted by ${head.textContent.toLowerCase()}, ${falls ? "descending" : "ascending"}.`;
}

for (const head of heads) head.querySelector("button").addEventListener("click", () => sort(head));
