// Filters the rows of the matrix while somebody types, without asking the server, and
// lets cells be shown, copied and edited where they are.
import { all, one, say } from "./coffer.js";
import { prepare } from "./cells.js";

const field = one(".search input");

field?.addEventListener("input", () => {
	const part = field.value.trim().toUpperCase();
	const rows = all(".matrix tbody tr");
	let shown = 0;
	for (const row of rows) {
		row.hidden = !row.dataset.key.includes(part);
		shown += row.hidden ? 0 : 1;
	}
	say(`${shown} of ${rows.length} keys`);
});

const table = one(".matrix table");
if (table) {
	prepare(table);
}
