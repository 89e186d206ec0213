// The bar with the changes that are not saved, the table that shows them, and how
// they are saved.
import { ask, make, one, quiet, say } from "./coffer.js";
import { masked } from "./draft.js";
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
				make("button", { type: "button", click: () => this.#save() }, "Save")));
		if (this.#draft.empty) {
			this.#dialog.close();
		} else if (this.#dialog.open) {
			this.#fill();
		}
	}

	#show() {
		this.#secret = true;
		this.#problems.replaceChildren();
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
			make("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Changes" }, make("table", {},
				make("caption", { class: "visually-hidden" }, "Changes that are not saved"),
				make("thead", {}, make("tr", {}, ...["Key", "Environment", "Old value", "New value", ""].map((text) => make("th", { scope: "col" }, text || make("span", { class: "visually-hidden" }, "Take back"))))),
				make("tbody", {}, ...this.#draft.changes.map((change) => this.#line(change))))),
			make("div", { class: "choices" },
				make("button", { type: "button", click: () => this.#save() }, "Save"),
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
		const secret = one(`tr[data-key="${key}"] td[data-environment="${environment}"]`, this.#table)?.dataset.secret;
		const name = `${key} in ${environment}`;
		const old = make("td", {}, secret ? "" : make("span", { class: "badge bad" }, "missing"));
		if (secret) {
			const place = make("pre", { tabindex: 0, role: "region", "aria-label": `Old value of ${name}` });
			const show = quiet("Show", `Show the old value of ${name}`, () => peek.toggle());
			const peek = new Peek(`${this.#table.dataset.at}/secrets/${secret}`, name, place, () => {
				show.textContent = peek.text !== null ? "Hide" : "Show";
			});
			old.append(masked("x"), " ", show, place);
		}
		return make("tr", {},
			make("th", { scope: "row" }, make("code", {}, key)),
			make("td", {}, environment),
			old,
			make("td", {}, this.#secret || value === "" ? masked(value) : make("pre", { class: "value", tabindex: 0, role: "region", "aria-label": `New value of ${name}` }, value)),
			make("td", {}, quiet("Take back", `Take the change of ${name} back`, () => {
				this.#draft.drop(environment, key);
				this.#changed();
				one("[data-toggle]", this.#dialog)?.focus();
			})));
	}

	// #save pushes each environment that has changes. What could not be saved stays in
	// the draft, with the reason.
	async #save() {
		if (this.#busy) {
			return;
		}
		this.#busy = true;
		const problems = [];
		const done = [];
		for (const environment of this.#draft.environments) {
			try {
				const pushed = await ask("POST", "secrets/push", this.#draft.push(this.#table.dataset.vault, environment, this.#revisions.get(environment)), { stay: true });
				this.#revisions.set(environment, pushed.revision);
				for (const { key } of this.#draft.changes.filter((change) => change.environment === environment)) {
					this.#draft.drop(environment, key);
				}
				done.push(pushed.message);
			} catch (failure) {
				problems.push(this.#problem(environment, failure));
			}
		}
		this.#busy = false;
		if (problems.length === 0) {
			this.#leave(`Saved. ${done.join("; ")}.`);
			return;
		}
		this.#changed();
		this.#problems.replaceChildren(...problems);
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
	// stored meanwhile.
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
		section.append(make("button", { type: "button", click: () => {
			for (const choice of choices) {
				if (one("input:checked", choice).value === "theirs") {
					this.#draft.drop(environment, choice.dataset.key);
				}
			}
			this.#revisions.set(environment, currentRevision);
			if (this.#draft.empty) {
				this.#leave("Nothing was saved: the values of somebody else stay.");
				return;
			}
			this.#changed();
			this.#save();
		} }, "Save again"));
		return section;
	}
}
