// Comfort for the first run: nothing here is needed.

import { all, one, say } from "./coffer.js";

// The claim token comes behind the #, which no server sees. It leaves the address
// at once, so that the history of the browser does not keep it.
const claim = one("#claim");
const token = new URLSearchParams(location.hash.slice(1)).get("claim");
if (claim && token) {
	claim.value = token;
	history.replaceState(null, "", location.pathname);
}

for (const button of all("[data-copy]")) {
	const from = document.getElementById(button.dataset.copy);
	button.hidden = !navigator.clipboard;
	button.addEventListener("click", async () => {
		try {
			await navigator.clipboard.writeText((from.value ?? from.textContent).trim());
			button.textContent = "Copied";
			say("Copied.");
		} catch {
			say("The browser does not let this page copy. Select the text and copy it.");
		}
	});
}

for (const button of all("[data-print]")) {
	button.hidden = false;
	button.addEventListener("click", () => print());
}

// A file that is dropped anywhere on the form is the file that was chosen.
for (const form of all("[data-drop]")) {
	const field = one("input[type=file]", form);
	form.addEventListener("dragover", (event) => {
		event.preventDefault();
		form.classList.add("over");
	});
	form.addEventListener("dragleave", () => form.classList.remove("over"));
	form.addEventListener("drop", (event) => {
		event.preventDefault();
		form.classList.remove("over");
		if (event.dataTransfer.files.length === 1) {
			field.files = event.dataTransfer.files;
			const details = field.closest("details");
			if (details) {
				details.open = true;
			}
			say(`${field.files[0].name} is chosen.`);
			one("button[value=look]", form).click();
		}
	});
}
