// What the modules of our pages share.

// The API is beside the assets, whatever path a proxy serves us below.
const api = new URL("../v1/", import.meta.url);

// ask sends a request to the API as whoever is signed in, and returns the data of
// the answer. An error carries the message that the server has for people.
export async function ask(method, path, body) {
	const response = await fetch(new URL(path, api), {
		method,
		headers: body === undefined ? {} : { "Content-Type": "application/json" },
		body: body === undefined ? undefined : JSON.stringify(body),
	});
	if (response.status === 401) {
		location.reload(); // the session has ended: the page leads to the sign-in and back
	}
	if (response.status === 204) {
		return null;
	}
	const answer = await response.json();
	if (!response.ok) {
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
