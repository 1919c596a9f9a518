// Headers of the table become buttons that sort by their column; numbers by value.
const table = document.querySelector("table");
const heads = [...table.tHead.rows[1].cells];
const collator = new Intl.Collator("en", { numeric: true });

function sort(column) {
  const head = heads[column];
  const down = head.getAttribute("aria-sort") === "ascending";
  const text = (row) => row.cells[column].textContent;
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => (down ? -1 : 1) * collator.compare(text(a), text(b)));
  table.tBodies[0].append(...rows);
  heads.forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
}

heads.forEach((head, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  button.addEventListener("click", () => sort(column));
  head.append(button);
});
