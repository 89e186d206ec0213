// Shows and copies the values of one secret where their forms are.
import { all, make, one, quiet } from "./coffer.js";
import { Peek } from "./reveal.js";

for (const form of all("form.reveal")) {
	const name = form.dataset.name;
	const place = make("pre", { tabindex: 0, role: "region", "aria-label": name });
	const button = one("button", form);
	const words = { text: button.textContent, label: button.getAttribute("aria-label") };
	const peek = new Peek(form.dataset.at, name[0].toUpperCase() + name.slice(1), place, () => {
		const shown = peek.text !== null;
		button.textContent = shown ? "Hide" : words.text;
		if (words.label) {
			button.setAttribute("aria-label", shown ? `Hide ${name}` : words.label);
		}
	});
	form.addEventListener("submit", (event) => {
		event.preventDefault();
		peek.toggle();
	});
	const copy = quiet("Copy", `Copy ${name}`, async () => {
		if (await peek.copy()) {
			copy.textContent = "Copied";
			setTimeout(() => { copy.textContent = "Copy"; }, 2000);
		}
	});
	button.after(" ", copy);
	(form.closest(".choices") ?? form).after(place);
}
