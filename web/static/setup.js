// Comfort for the first run: nothing here is needed.

import { all, one, say } from "./coffer.js";
import "./drop.js";

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
