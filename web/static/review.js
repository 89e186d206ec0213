// The bar with the changes that are not saved, the table that shows them, and how
// they are saved.
import { begin } from "./busy.js";
import { ask, make, one, quiet, say } from "./coffer.js";
import { masked } from "./draft.js";
import { about, cellOf } from "./grid.js";
import { Peek } from "./reveal.js";

export class Review {
	left = false; // on the way to a fresh page, with nothing to lose
	#table;
	#draft;
	#changed;
	#revisions = new Map(); // of environments, when the page was made
	#bar = make("section", { class: "bar", "aria-label": "Changes that are not saved", hidden: true });
	#problems = make("div", { class: "problems" });
	#dialog = make("dialog", { class: "review", "aria-labelledby": "review" });
	#secret; // whether new values are masked
	#answers = []; // to conflicts: each does what was chosen
	#busy = false;

	constructor(table, draft, changed) {
		[this.#table, this.#draft, this.#changed] = [table, draft, changed];
		for (const th of table.querySelectorAll("th[data-revision]")) {
			this.#revisions.set(th.dataset.environment, Number(th.dataset.revision));
		}
		this.#dialog.addEventListener("close", () => this.#dialog.replaceChildren());
		one("main").append(this.#bar, this.#dialog);
		if (history.state?.said) {
			one("main").prepend(make("p", { class: "notice", role: "status" }, history.state.said));
			history.replaceState(null, "");
		}
	}

	// update shows what there is to save.
	update() {
		this.#bar.hidden = this.#draft.empty;
		this.#bar.replaceChildren(
			make("p", { role: "status" }, this.#draft.summary),
			make("div", { class: "choices" },
				make("button", { type: "button", class: "quiet", click: () => this.#show() }, "Review"),
				make("button", { type: "button", click: (event) => this.#save(event.currentTarget) }, "Save")));
		if (this.#draft.empty) {
			this.#answers = [];
			this.#problems.replaceChildren();
			this.#dialog.close();
		} else if (this.#dialog.open) {
			this.#fill();
		}
	}

	#show() {
		this.#secret = true;
		this.#fill();
		this.#dialog.showModal();
	}

	#fill() {
		const toggle = quiet(this.#secret ? "Show new values" : "Mask new values", undefined, () => {
			this.#secret = !this.#secret;
			this.#fill();
			one("[data-toggle]", this.#dialog).focus();
		});
		toggle.dataset.toggle = "";
		this.#dialog.replaceChildren(
			make("h2", { id: "review" }, this.#draft.summary),
			this.#problems,
			make("ul", { class: "rows" }, ...this.#draft.changes.map((change) => this.#line(change))),
			make("div", { class: "choices" },
				make("button", { type: "button", click: (event) => this.#save(event.currentTarget) }, this.#problems.hasChildNodes() ? "Save again" : "Save"),
				toggle,
				quiet("Discard all", undefined, () => {
					if (confirm("Discard all changes that are not saved?")) {
						this.#draft.clear();
						this.#changed();
					}
				}),
				quiet("Close", undefined, () => this.#dialog.close())));
	}

	#line({ environment, key, value }) {
		const cell = cellOf(this.#table, key, environment);
		const secret = cell && about(cell).secret;
		const name = `${key} in ${environment}`;
		return make("li", {},
			make("h3", {}, make("code", {}, key), ` in ${environment}`),
			make("dl", {},
				make("dt", {}, "Old value"), secret ? this.#old(secret, name) : make("dd", {}, make("span", { class: "badge bad" }, "missing")),
				make("dt", {}, "New value"), make("dd", {}, this.#secret || value === "" ? masked(value) : make("pre", { class: "value", tabindex: 0, role: "region", "aria-label": `New value of ${name}` }, value))),
			quiet("Take back", `Take back the change of ${name}`, () => {
				this.#draft.drop(environment, key);
				this.#changed();
				one("[data-toggle]", this.#dialog)?.focus();
			}));
	}

	#old(secret, name) {
		const place = make("pre", { tabindex: 0, role: "region", "aria-label": `Old value of ${name}` });
		const mask = make("span", {}, masked("x"), " ");
		const show = quiet("Show", `Show the old value of ${name}`, () => peek.toggle());
		const peek = new Peek(`${this.#table.dataset.at}/secrets/${secret}`, name, place, () => {
			show.textContent = peek.text !== null ? "Hide" : "Show";
			mask.hidden = peek.text !== null;
			show.setAttribute("aria-label", `${show.textContent} the old value of ${name}`);
		});
		return make("dd", {}, mask, show, place);
	}

	// #save pushes each environment that has changes. What could not be saved stays in
	// the draft, with the reason.
	async #save(button) {
		if (this.#busy) {
			return;
		}
		for (const answer of this.#answers.splice(0)) {
			answer();
		}
		if (this.#draft.empty) {
			this.#leave("Nothing was saved: what somebody else stored stays.");
			return;
		}
		this.#busy = true;
		const end = begin("Saving.", button);
		const problems = [];
		const done = [];
		for (const environment of this.#draft.environments) {
			const push = this.#draft.push(this.#table.dataset.vault, environment, this.#revisions.get(environment));
			try {
				const pushed = await ask("POST", "secrets/push", push, { stay: true });
				this.#revisions.set(environment, pushed.revision);
				this.#draft.saved(push);
				done.push(pushed.message);
			} catch (failure) {
				problems.push(this.#problem(environment, failure));
			}
		}
		this.#busy = false;
		end();
		if (this.#draft.empty) {
			this.#leave(`Saved. ${done.join("; ")}.`);
			return;
		}
		this.#problems.replaceChildren(...problems);
		this.#changed();
		if (!this.#dialog.open) {
			this.#secret = true;
			this.#fill();
			this.#dialog.showModal();
		}
		say("Not everything is saved.");
	}

	// #leave shows the page as it is now at the server, with what was done.
	#leave(said) {
		this.left = true;
		history.replaceState({ said }, "");
		location.reload();
	}

	#problem(environment, failure) {
		if (failure.status === 409 && failure.answer.conflictKeys) {
			return this.#conflict(environment, failure.answer);
		}
		if (failure.status === 401) {
			return make("p", { class: "problem", role: "alert" },
				"Your session has ended. What you typed stays here while this page is open: ",
				make("a", { href: one(".brand").href, target: "_blank", rel: "noopener" }, "sign in in another tab"),
				", then come back and save again.");
		}
		return make("p", { class: "problem", role: "alert" }, `${environment}: ${failure.message}`);
	}

	// #conflict lets somebody choose between what they typed and what somebody else has
	// stored meanwhile. What they chose is done when they save again.
	#conflict(environment, { currentRevision, conflictKeys }) {
		const { both, others } = this.#draft.clash(environment, conflictKeys);
		const choices = both.map((key) => {
			const name = `choice-${environment}-${key}`;
			const option = (whose, text) => make("span", { class: "choice" },
				make("input", { type: "radio", name, id: `${name}-${whose}`, value: whose, checked: whose === "theirs" }),
				make("label", { for: `${name}-${whose}` }, text));
			return make("fieldset", { "data-key": key }, make("legend", {}, make("code", {}, key)), option("theirs", "Leave theirs"), option("mine", "Store mine"));
		});
		const section = make("section", { class: "warning", role: "alert" },
			make("p", {}, `Somebody else changed ${environment} meanwhile.${both.length ? " These keys are among your changes. Theirs and yours both stay as versions if you store yours:" : " None of your changes is about the same key."}`),
			...choices);
		if (others.length) {
			section.append(make("p", {}, `Changed besides: ${others.join(", ")}.`));
		}
		this.#answers.push(() => {
			for (const choice of choices) {
				if (one("input:checked", choice).value === "theirs") {
					this.#draft.drop(environment, choice.dataset.key);
				}
			}
			// What was changed here only after this was said has to be asked about, too.
			if (this.#draft.clash(environment, others).both.length === 0) {
				this.#revisions.set(environment, currentRevision);
			}
		});
		return section;
	}
}
