// Filters the rows of the matrix while somebody types, without asking the server, and
// lets cells be shown, copied and edited where they are.
import { all, one, say } from "./coffer.js";
import { prepare } from "./cells.js";

// How many rows come back at once, which is more than most windows have room for, and
// then with each frame. The next letter need not wait until all are laid out.
const [first, more] = [30, 60];

const field = one(".search input");
let frame; // in which more rows come back

field?.addEventListener("input", () => {
	const part = field.value.trim().toUpperCase();
	const fits = (row) => row.dataset.key.includes(part);
	const rows = all(".matrix tbody tr");
	const found = rows.filter(fits);
	for (const row of rows) {
		row.hidden ||= !fits(row);
	}
	cancelAnimationFrame(frame);
	show(found.filter((row) => row.hidden), first);
	say(`${found.length} of ${rows.length} keys`);
});

// show lets rows come back from the top, a number of them now.
function show(rows, now) {
	for (const row of rows.slice(0, now)) {
		row.hidden = false;
	}
	if (rows.length > now) {
		frame = requestAnimationFrame(() => show(rows.slice(now), more));
	}
}

const table = one(".matrix table");
if (table) {
	prepare(table);
}
