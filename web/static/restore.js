// Shows how much of a backup has been sent. Without it the form does the same.
import { one, say } from "./coffer.js";

const form = one("[data-restore]");
const bar = one("#sent", form);
const button = one("button", form);

// show puts the page that was answered in the place of this one.
function show(answer) {
	const page = new DOMParser().parseFromString(answer, "text/html");
	document.title = page.title;
	one("main").replaceWith(one("main", page));
	one("h1").setAttribute("tabindex", "-1");
	one("h1").focus();
}

form.addEventListener("submit", (event) => {
	event.preventDefault();
	if (button.getAttribute("aria-disabled")) {
		return;
	}
	button.setAttribute("aria-disabled", "true");
	bar.hidden = one("label[for=sent]", form).hidden = false;
	const request = new XMLHttpRequest();
	request.upload.addEventListener("progress", ({ loaded, total }) => {
		bar.value = total ? (100 * loaded) / total : 0;
		if (total && loaded === total) {
			say("All of it is sent. It is being checked.");
		}
	});
	request.addEventListener("load", () => show(request.responseText));
	request.addEventListener("error", () => {
		button.removeAttribute("aria-disabled");
		say("The server cannot be reached, or gave up. Load the page again.");
	});
	request.open("POST", form.action);
	request.send(new FormData(form));
});
