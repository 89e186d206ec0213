// Shows how far the syncs have come that run, and reads the page again when one has
// ended.
import { all, ask, one } from "./coffer.js";

const pause = 2000;

for (const place of all("[data-run]")) {
	const look = async () => {
		try {
			const job = await ask("GET", `integrations/jobs/${place.dataset.run}`, undefined);
			if (job.status !== "running") {
				location.reload();
				return;
			}
			const { done, total } = job.progress;
			one("progress", place).value = done;
			one("span", place).textContent = `${done} of ${total} ${total === 1 ? "change" : "changes"} done`;
		} catch {
			// It may answer the next time; until then the page says what was last known.
		}
		setTimeout(look, pause);
	};
	setTimeout(look, pause);
}
