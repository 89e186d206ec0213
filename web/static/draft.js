// What somebody has changed and not saved yet. It knows nothing of pages, and keeps
// what it is given in memory only: closing the page is the end of it.

const count = (n, one) => (n === 1 ? `1 ${one}` : `${n} ${one}s`);

export const validKey = (text) => /^[A-Z][A-Z0-9_]{0,255}$/.test(text);

// masked stands for a value, whose length it does not tell.
export const masked = (text) => (text === "" ? "(empty)" : "••••••••");

// A Draft is new values, by environment and key.
export class Draft {
	#values = new Map();

	put(environment, key, value) {
		if (!this.#values.has(environment)) {
			this.#values.set(environment, new Map());
		}
		this.#values.get(environment).set(key, value);
	}

	// get is the new value, or undefined.
	get(environment, key) {
		return this.#values.get(environment)?.get(key);
	}

	drop(environment, key) {
		const keys = this.#values.get(environment);
		keys?.delete(key);
		if (keys?.size === 0) {
			this.#values.delete(environment);
		}
	}

	clear() {
		this.#values.clear();
	}

	get empty() {
		return this.#values.size === 0;
	}

	get environments() {
		return [...this.#values.keys()];
	}

	// changes are all of them, by key and then by environment as they came.
	get changes() {
		return this.environments
			.flatMap((environment) => [...this.#values.get(environment)].map(([key, value]) => ({ environment, key, value })))
			.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
	}

	get summary() {
		return `${count(this.changes.length, "change")} in ${count(this.#values.size, "environment")}`;
	}

	// push is the request that saves an environment, unless it is past a revision.
	push(vault, environment, revision) {
		return {
			repoFullName: vault, environment, mode: "merge", baseRevision: revision,
			secrets: Object.fromEntries(this.#values.get(environment)),
		};
	}

	// saved forgets what a push stored, but for what was changed again meanwhile.
	saved({ environment, secrets }) {
		for (const [key, value] of Object.entries(secrets)) {
			if (this.get(environment, key) === value) {
				this.drop(environment, key);
			}
		}
	}

	// clash sorts keys that somebody else changed in an environment: those that are in
	// the draft, too, and the others.
	clash(environment, keys) {
		const mine = (key) => this.get(environment, key) !== undefined;
		return { both: keys.filter(mine), others: keys.filter((key) => !mine(key)) };
	}
}
