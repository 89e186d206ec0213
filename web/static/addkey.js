// Adds a key to the changes, in several environments at once.
import { all, make, one, quiet } from "./coffer.js";
import { validKey } from "./draft.js";
import { rowOf } from "./grid.js";

export function addSecret(table, draft, changed) {
	const link = one("#add");
	link?.addEventListener("click", (event) => {
		if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) {
			return;
		}
		event.preventDefault();
		open(table, draft, changed);
	});
}

function open(table, draft, changed) {
	const key = make("input", { id: "new-key", class: "typed", maxlength: 256, autocomplete: "off", autocapitalize: "characters", spellcheck: "false", required: true, "aria-describedby": "new-wrong" });
	const value = make("textarea", { id: "new-value", rows: 4, autocomplete: "off", autocapitalize: "none", autocorrect: "off", spellcheck: "false" });
	const columns = all("th[data-revision]", table);
	const boxes = columns.map((th) => make("input", { type: "checkbox", id: `new-in-${th.dataset.environment}`, value: th.dataset.environment }));
	const wrong = make("p", { class: "wrong", id: "new-wrong", role: "alert" });
	const form = make("form", { class: "stack", method: "dialog" },
		make("label", { for: key.id }, "Key"), key,
		make("label", { for: value.id }, "Value"), value,
		make("fieldset", {}, make("legend", {}, "In which environments"),
			...boxes.map((box, i) => make("div", { class: "choice" }, box, make("label", { for: box.id }, ...columns[i].cloneNode(true).childNodes)))),
		wrong,
		make("div", { class: "choices" },
			make("button", { type: "submit" }, "Keep"),
			quiet("Cancel", undefined, () => dialog.close())));
	const dialog = make("dialog", { "aria-labelledby": "new-title" }, make("h2", { id: "new-title" }, "Add a secret"), form);
	form.addEventListener("submit", (event) => {
		event.preventDefault();
		const at = boxes.filter((box) => box.checked).map((box) => box.value);
		const name = key.value.trim();
		if (!validKey(name)) {
			wrong.textContent = "A key starts with A-Z and uses A-Z, 0-9 and _, at most 256 characters.";
			key.focus();
			return;
		}
		if (at.length === 0) {
			wrong.textContent = "Tick the environments that the value is for.";
			boxes[0].focus();
			return;
		}
		row(table, name);
		for (const environment of at) {
			draft.put(environment, name, value.value);
		}
		dialog.close();
		changed();
	});
	dialog.addEventListener("close", () => dialog.remove());
	document.body.append(dialog);
	dialog.showModal();
}

// row is the one of a key. A new key gets one at the top, with cells like those of the
// server.
function row(table, key) {
	const there = rowOf(table, key);
	if (there) {
		there.hidden = false;
		return;
	}
	const made = make("tr", { "data-key": key }, make("th", { scope: "row" }, make("code", {}, key)));
	for (const th of all("thead th", table).slice(1)) {
		const { environment, revision } = th.dataset;
		const badge = make("span", { class: "badge bad" }, "missing");
		const href = `${location.pathname}/secrets/set?${new URLSearchParams({ environment, key })}`;
		made.append(make("td", {},
			revision !== undefined ? make("a", { class: "cell", href, "aria-label": `${key} in ${environment}: missing, set it` }, badge) : badge));
	}
	one("tbody", table).prepend(made);
}
