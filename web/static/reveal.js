// Shows and copies values that somebody asks for, and hides them again.
import { during } from "./busy.js";
import { ask, say } from "./coffer.js";

// How long a value stays on the page, in milliseconds.
const shownFor = 30_000;

// What shows a value at present. Nothing does any more on a page that was left, even
// if the browser keeps it to come back to.
const showing = new Set();
addEventListener("pagehide", () => showing.forEach((peek) => peek.hide()));

// The API counts reads of values by the minute, so they wait for each other.
let turn = Promise.resolve();

function read(at) {
	const mine = turn.then(() => ask("GET", `${at.slice(1)}/value`, undefined, { stay: true })).then((data) => data.value);
	turn = mine.catch(() => {});
	return mine;
}

// Peek is one value, which is at an address, and a place on the page to show it in.
export class Peek {
	#at;
	#name;
	#place;
	#changed;
	#text = null;
	#asking = null; // the answer that is waited for
	#timer;

	constructor(at, name, place, changed = () => {}) {
		[this.#at, this.#name, this.#place, this.#changed] = [at, name, place, changed];
		place.hidden = true;
	}

	// text is the value if it is on the page, or null.
	get text() {
		return this.#text;
	}

	// value is the value, asked for unless it is on the page. What goes wrong is
	// said in its place, and then there is none.
	async value() {
		if (this.#text !== null) {
			return this.#text;
		}
		try {
			this.#asking ??= during(read(this.#at), "Fetching the value.").finally(() => { this.#asking = null; });
			return await this.#asking;
		} catch (failure) {
			this.#tell(failure.status === 401 ? "Your session has ended. Sign in in another tab, then try again here." : failure.message);
			return null;
		}
	}

	async show() {
		const text = await this.value();
		if (text === null) {
			return;
		}
		this.#reveal(text);
		say(`${this.#name} is shown for half a minute.`);
	}

	hide() {
		clearTimeout(this.#timer);
		showing.delete(this);
		this.#text = null;
		this.#place.hidden = true;
		this.#place.textContent = "";
		this.#changed();
	}

	toggle() {
		return this.#text === null ? this.show() : this.hide();
	}

	// copy puts the value on the clipboard. To take it away from there again is in
	// nobody's power, so it says so.
	async copy() {
		const text = await this.value();
		if (text === null) {
			return;
		}
		try {
			await navigator.clipboard.writeText(text);
			say(`${this.#name} is copied. The clipboard keeps it until something else is copied.`);
			return true;
		} catch {
			// Over plain HTTP, browsers give pages no clipboard.
			this.#reveal(text);
			getSelection().selectAllChildren(this.#place);
			say(`The browser does not let this page copy. ${this.#name} is selected: copy it yourself.`);
			return false;
		}
	}

	#reveal(text) {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => this.hide(), shownFor);
		showing.add(this);
		this.#text = text;
		this.#put(text === "" ? "(empty)" : text, "value");
	}

	#put(text, kind) {
		this.#place.className = kind;
		this.#place.textContent = text;
		this.#place.hidden = false;
		this.#changed();
	}

	#tell(text) {
		clearTimeout(this.#timer);
		this.#text = null;
		this.#put(text, "wrong");
		say(text);
	}
}
