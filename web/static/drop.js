// Takes files that are dropped on a form.
import { all, one, say } from "./coffer.js";

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
