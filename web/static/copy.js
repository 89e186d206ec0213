// Copies a text of the page, or of a field. Without it, the text can be selected.
import { all, say } from "./coffer.js";

for (const button of all("[data-copy]")) {
	const words = button.textContent;
	const from = document.getElementById(button.dataset.copy);
	button.hidden = !navigator.clipboard;
	button.addEventListener("click", async () => {
		try {
			await navigator.clipboard.writeText((from.value ?? from.textContent).trim());
			button.textContent = "Copied";
			say("Copied.");
			setTimeout(() => (button.textContent = words), 3000);
		} catch {
			say("The browser does not let this page copy. Select the text and copy it.");
		}
	});
}
