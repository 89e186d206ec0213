// Filters the rows of the matrix while somebody types, without asking the server.
import { all, one, say } from "./coffer.js";

const field = one(".search input");
const rows = all(".matrix tbody tr");

field?.addEventListener("input", () => {
	const part = field.value.trim().toUpperCase();
	let shown = 0;
	for (const row of rows) {
		row.hidden = !row.dataset.key.includes(part);
		shown += row.hidden ? 0 : 1;
	}
	say(`${shown} of ${rows.length} keys`);
});
