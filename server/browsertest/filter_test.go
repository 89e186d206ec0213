package browsertest

import (
	"fmt"
	"testing"
)

// filtering types texts into the search field, one after the other. It tells how many
// milliseconds each takes until there is a frame for it on the screen, and until all
// rows are there that the text leaves; a quiet frame, for which nothing changed, comes
// before each.
const filtering = `(async (texts) => {
	const field = document.querySelector(".search input");
	const start = () => {
		const began = performance.now();
		return () => new Promise((shown) => {
			const painted = new MessageChannel();
			painted.port1.onmessage = () => shown(performance.now() - began);
			requestAnimationFrame(() => painted.port2.postMessage(null));
		});
	};
	const rows = () => [...document.querySelectorAll("tbody tr")].filter((row) => row.checkVisibility());
	const measured = [];
	for (const text of texts) {
		await start()();
		const quiet = await start()();
		const frame = start();
		field.value = text;
		field.dispatchEvent(new InputEvent("input", { bubbles: true }));
		const first = await frame();
		let whole = first;
		while (!document.getElementById("said").textContent.startsWith(rows().length + " of ")) {
			whole = await frame();
		}
		measured.push({ text, rows: rows().length, first, whole, quiet });
	}
	return measured;
})(["0", "01", "012", "0123", "012", "01", "0", ""])`

// TestALongMatrixIsFiltered says how long that takes; it judges what is shown.
func TestALongMatrixIsFiltered(t *testing.T) {
	_, b := matrix(t)
	b.asks("POST", "/v1/vaults/ann/api/environments", map[string]any{"name": "preview"})
	for i, environment := range []string{"development", "staging", "production", "preview"} {
		values := make(map[string]string)
		for k := range 500 {
			values[fmt.Sprintf("SERVICE_SETTING_%04d", k)] = fmt.Sprintf("a value of an ordinary length, %d", k*i%3)
		}
		b.pushes(environment, values)
	}
	b.open("/vaults/ann/api?q=setting")
	want := map[string]int{"": 500, "0": 500, "01": 114, "012": 11, "0123": 1}
	for range 3 {
		for _, s := range evaluate[[]struct {
			Text                string
			Rows                int
			First, Whole, Quiet float64
		}](b, filtering) {
			if s.Rows != want[s.Text] {
				t.Errorf("%q leaves %d rows, want %d", s.Text, s.Rows, want[s.Text])
			}
			t.Logf("%-6q %3d rows: first frame %5.1f ms, all %5.1f ms, a quiet frame %4.1f ms", s.Text, s.Rows, s.First, s.Whole, s.Quiet)
		}
	}
}
