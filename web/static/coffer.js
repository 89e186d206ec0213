// What the modules of our pages share.
import "./busy.js";

// The API is beside the assets, whatever path a proxy serves us below.
const api = new URL("../v1/", import.meta.url);

// ask sends a request to the API as whoever is signed in, and returns the data of
// the answer. An error carries the message that the server has for people. A session
// that has ended leads to the sign-in and back, unless there is something on the page
// that would be lost.
export async function ask(method, path, body, { stay = false } = {}) {
	const response = await fetch(new URL(path, api), {
		method,
		headers: body === undefined ? {} : { "Content-Type": "application/json" },
		body: body === undefined ? undefined : JSON.stringify(body),
	}).catch(() => {
		throw new Error("The server cannot be reached. Try again.");
	});
	if (response.status === 401 && !stay) {
		location.reload();
	}
	if (response.status === 204) {
		return null;
	}
	const answer = await response.json().catch(() => ({ detail: "The answer of the server cannot be read. Try again." }));
	if (!response.ok || answer.detail) {
		throw Object.assign(new Error(answer.detail), { status: response.status, fields: answer.errors ?? [], answer });
	}
	return answer.data;
}

// say has screen readers read a text, and shows it in the element with the id
// "said" where the page has one.
export function say(text) {
	let place = document.getElementById("said");
	if (!place) {
		place = document.createElement("p");
		place.id = "said";
		place.className = "visually-hidden";
		place.setAttribute("role", "status");
		document.body.append(place);
	}
	place.textContent = text;
}

// one is the first element that a selector finds, and all are all of them.
export const one = (selector, within = document) => within.querySelector(selector);
export const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// make builds an element. What it holds are texts and other elements, never markup.
export function make(tag, attributes = {}, ...content) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (name === "click") {
			made.addEventListener("click", value);
		} else if (value !== undefined && value !== false) {
			made.setAttribute(name, value === true ? "" : value);
		}
	}
	made.append(...content);
	return made;
}

// quiet is a button that does something on this page.
export const quiet = (text, label, click) => make("button", { type: "button", class: "quiet", "aria-label": label, click }, text);
