// What axe finds on this page, as a list of texts; what it cannot decide is put
// there, too, except for contrast below what lies over it, which flaws.js computes.
// What is folded is looked at as well: people unfold it.
(async () => {
	const folded = [...document.querySelectorAll("details:not([open])")];
	for (const d of folded) d.open = true;
	const { violations, incomplete } = await axe.run(document, { resultTypes: ["violations", "incomplete"], rules: { "target-size": { enabled: true } } });
	for (const d of folded) d.open = false;
	const told = (rules, words) => rules.flatMap((v) => v.nodes.map((n) => `${v.impact}: ${v.id} at ${n.target.join(" ")}${words}: ${n.failureSummary}`));
	return [...told(violations, ""), ...told(incomplete.filter((v) => v.id !== "color-contrast"), ", perhaps")];
})()
