// Says that something is being done when it takes longer than a second, and keeps
// forms from being sent twice meanwhile. Every page has this.

const patience = 1000;

// The server answers within half a minute, so a form that still waits by then was
// stopped, and can be sent again.
const longest = 30_000;

// The region is there before it says anything: otherwise it is not read out.
const region = document.createElement("p");
region.className = "busy";
region.setAttribute("role", "status");
const shown = new Set();

const show = () => { region.textContent = [...shown].at(-1)?.text ?? ""; };

// begin waits for something, which a button may have started, and returns what ends
// the waiting.
export function begin(text, button) {
	const mine = { text: `${text} This can take a few seconds.` };
	// Over a dialog, nothing can be seen but what is in it.
	(document.querySelector("dialog[open]") ?? document.body).append(region);
	button?.setAttribute("aria-disabled", "true");
	const timer = setTimeout(() => {
		shown.add(mine);
		show();
	}, patience);
	return () => {
		clearTimeout(timer);
		shown.delete(mine);
		show();
		button?.removeAttribute("aria-disabled");
	};
}

// during waits for a promise.
export function during(promise, text) {
	return promise.finally(begin(text));
}

// What ends the waiting of forms that were sent.
const waiting = new Map();

function release(form) {
	waiting.get(form)?.();
	waiting.delete(form);
}

// A button that is disabled would not be sent with its form, and would lose the
// keyboard. So it only says that it is, and the form is not sent a second time.
addEventListener("submit", (event) => {
	const form = event.target;
	// The answer to a download leaves this page as it is and tells it nothing.
	if (event.defaultPrevented || form.dataset.download !== undefined) {
		return;
	}
	if (waiting.has(form)) {
		event.preventDefault();
		return;
	}
	const end = begin(form.dataset.busy ?? "Working.", event.submitter);
	const timer = setTimeout(() => release(form), longest);
	form.setAttribute("aria-busy", "true");
	waiting.set(form, () => {
		clearTimeout(timer);
		form.removeAttribute("aria-busy");
		end();
	});
});

// Somebody came back to this page, or decided to stay.
const releaseAll = () => [...waiting.keys()].forEach(release);
addEventListener("pageshow", releaseAll);
globalThis.navigation?.addEventListener("navigateerror", releaseAll);
