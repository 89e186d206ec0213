// What can be done with a cell of the matrix on the spot: show its value, copy it,
// and give it another one, which joins the changes to be saved.
import { all, make, one, quiet, say } from "./coffer.js";
import { Draft } from "./draft.js";
import { about, cellOf } from "./grid.js";
import { Peek } from "./reveal.js";
import { Review } from "./review.js";
import { addSecret } from "./addkey.js";

export function prepare(table) {
	new Cells(table);
}

class Cells {
	#table;
	#draft = new Draft();
	#review;
	#open = null; // the cell with the tools
	#peek = null; // of that cell
	#typing = null; // the field of that cell, while it is edited
	#started = ""; // what that field began with

	constructor(table) {
		this.#table = table;
		this.#review = new Review(table, this.#draft, () => this.#mark());
		table.addEventListener("click", (event) => this.#click(event));
		table.addEventListener("keydown", (event) => {
			if (event.key === "Escape" && this.#open) {
				this.#close(true);
			}
		});
		addEventListener("beforeunload", (event) => {
			if (!this.#review.left && (!this.#draft.empty || this.#typed())) {
				event.preventDefault();
			}
		});
		addSecret(table, this.#draft, () => this.#mark());
	}

	#click(event) {
		const link = event.target.closest("a.cell");
		if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) {
			return;
		}
		event.preventDefault();
		const cell = link.closest("td");
		if (cell === this.#open) {
			this.#close(true);
			return;
		}
		if (this.#typed()) {
			this.#keep();
		}
		this.#close(false);
		// With the keyboard, the rest of the keystroke would go to whatever has the focus
		// by then, and show the value or begin the new one with a line break.
		this.#show(cell, link, event.detail > 0);
	}

	#show(cell, link, byMouse) {
		const { key, environment, secret, writable, name } = about(cell);
		this.#open = cell;
		link.setAttribute("aria-expanded", "true");
		const tools = make("div", { class: "tools" });
		cell.append(tools);
		if (!secret) {
			this.#edit(cell, tools, byMouse);
			return;
		}
		const place = make("pre", { tabindex: 0, role: "region", "aria-label": `Value of ${name}` });
		const at = this.#table.dataset.at;
		const show = quiet("Show", `Show ${name}`, () => peek.toggle());
		const peek = new Peek(`${at}/secrets/${secret}`, name, place, () => {
			show.textContent = peek.text !== null ? "Hide" : "Show";
			show.setAttribute("aria-label", `${show.textContent} ${name}`);
		});
		this.#peek = peek;
		const copy = quiet("Copy", `Copy ${name}`, async () => {
			if (await peek.copy()) {
				copy.textContent = "Copied";
				setTimeout(() => { copy.textContent = "Copy"; }, 2000);
			}
		});
		const buttons = make("div", { class: "choices" }, show, copy);
		if (writable) {
			buttons.append(quiet("Edit", `Edit ${name}`, () => this.#edit(cell, tools)));
		}
		buttons.append(make("a", { class: "button quiet", href: link.href, "aria-label": `More about ${name}` }, "More"));
		tools.append(buttons, place);
	}

	#close(back) {
		const cell = this.#open;
		if (!cell) {
			return;
		}
		this.#peek?.hide();
		[this.#open, this.#peek, this.#typing] = [null, null, null];
		one(".tools", cell).remove();
		const link = one("a.cell", cell);
		link.removeAttribute("aria-expanded");
		if (back) {
			link.focus();
		}
	}

	// #edit puts a field for the new value into the place of the tools. The old one is
	// in there only if it is on the page already, or asked for.
	#edit(cell, tools, focus = true) {
		const { key, environment, secret, name } = about(cell);
		const mine = this.#draft.get(environment, key);
		const field = make("textarea", {
			rows: 3, "aria-label": `New value of ${name}`, placeholder: "New value",
			autocomplete: "off", autocapitalize: "none", autocorrect: "off", spellcheck: "false",
		});
		field.value = mine ?? this.#peek?.text ?? "";
		this.#started = field.value;
		const peek = this.#peek;
		const wrong = make("p");
		field.addEventListener("keydown", (event) => {
			if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
				this.#keep();
			}
		});
		const buttons = make("div", { class: "choices" },
			make("button", { type: "button", "aria-label": `Keep the new value of ${name}`, click: () => this.#keep() }, "Keep"),
			quiet("Cancel", `Cancel the change of ${name}`, () => this.#close(true)));
		if (secret && field.value === "") {
			const fill = quiet("Fill in the old value", `Fill in the old value of ${name}`, async () => {
				const old = await new Peek(`${this.#table.dataset.at}/secrets/${secret}`, name, wrong).value();
				if (old !== null && field.value === "") {
					field.value = this.#started = old;
					fill.remove();
					field.focus();
				}
			});
			buttons.append(fill);
		}
		if (mine !== undefined) {
			buttons.append(quiet("Take back", `Take back the change of ${name}`, () => {
				this.#draft.drop(environment, key);
				this.#close(true);
				this.#mark();
			}));
		}
		peek?.hide();
		this.#typing = field;
		tools.replaceChildren(field, buttons, wrong);
		if (focus) {
			field.focus();
		}
	}

	// #typed says whether there is something in the field that is nowhere else.
	#typed() {
		return this.#typing !== null && this.#typing.value !== this.#started;
	}

	// #keep takes what is typed into the changes.
	#keep() {
		const { key, environment, name } = about(this.#open);
		this.#draft.put(environment, key, this.#typing.value);
		this.#close(true);
		this.#mark();
		say(`${name} is changed, and not saved yet.`);
	}

	// #mark shows which cells are changed.
	#mark() {
		for (const mark of all(".mine", this.#table)) {
			mark.remove();
		}
		for (const { environment, key } of this.#draft.changes) {
			const cell = cellOf(this.#table, key, environment);
			if (cell) {
				one("a.cell", cell)?.after(" ", make("span", { class: "badge mine" }, "new value, not saved"));
			}
		}
		this.#review.update();
	}
}
