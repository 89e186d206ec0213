// Comfort for the first run: nothing here is needed.

import { all, one } from "./coffer.js";
import "./copy.js";
import "./drop.js";

// The claim token comes behind the #, which no server sees. It leaves the address
// at once, so that the history of the browser does not keep it.
const claim = one("#claim");
const token = new URLSearchParams(location.hash.slice(1)).get("claim");
if (claim && token) {
	claim.value = token;
	history.replaceState(null, "", location.pathname);
}

for (const button of all("[data-print]")) {
	button.hidden = false;
	button.addEventListener("click", () => print());
}
