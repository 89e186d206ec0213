// Where things are in the matrix: a row has a key, a column an environment, and the
// cells in between say neither again.
import { one } from "./coffer.js";

const heads = (table) => [...table.tHead.rows[0].cells];

// about is which cell this is, and what can be done with it. A secret's page is named
// by the secret; where a key is missing, the link leads to where it can be set.
export function about(cell) {
	const { key } = cell.parentElement.dataset;
	const { environment, revision } = heads(cell.closest("table"))[cell.cellIndex].dataset;
	const page = one("a.cell", cell)?.pathname.split("/").pop();
	const secret = page === "set" ? undefined : page;
	return { key, environment, secret, writable: revision !== undefined, name: `${key} in ${environment}` };
}

// rowOf is the row of a key, and cellOf its cell in an environment, if there is one on
// this page.
export const rowOf = (table, key) => one(`tr[data-key="${key}"]`, table);
export const cellOf = (table, key, environment) =>
	rowOf(table, key)?.cells[heads(table).findIndex((head) => head.dataset.environment === environment)];
