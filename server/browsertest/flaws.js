// What people would stumble over on this page, as a list of texts.
(() => {
	const found = [];
	const root = document.documentElement;
	const named = (e) => `<${e.tagName.toLowerCase()}> ${(e.innerText || e.id || "").trim().slice(0, 40)}`;
	const scrolls = (e) => e.parentElement && (["auto", "scroll"].includes(getComputedStyle(e.parentElement).overflowX) || scrolls(e.parentElement));
	const shown = (e) => e.getClientRects().length > 0 && e.getBoundingClientRect().left > -50;

	if (!root.lang) found.push("the page names no language");
	if (!document.title.endsWith(" · coffer")) found.push(`the title is ${document.title}`);

	const headings = [...document.querySelectorAll("h1, h2, h3, h4")];
	const tops = headings.filter((h) => h.tagName === "H1").length;
	if (tops !== 1) found.push(`there are ${tops} headings of the page`);
	headings.forEach((h, i) => {
		const before = i ? +headings[i - 1].tagName[1] : 0;
		if (+h.tagName[1] > before + 1) found.push(`h${h.tagName[1]} follows h${before}`);
	});

	for (const e of document.querySelectorAll("body *")) {
		const box = e.getBoundingClientRect();
		if (shown(e) && !scrolls(e) && box.right > root.clientWidth + 1) found.push(`${named(e)} sticks out to ${Math.round(box.right)}`);
	}
	if (root.scrollWidth > root.clientWidth) found.push(`the page sticks out to ${root.scrollWidth}`);

	for (const e of document.querySelectorAll("input:not([type=hidden], [hidden]), select, textarea")) {
		if (!e.labels.length && !e.getAttribute("aria-label")) found.push(`${named(e)} has no label`);
	}
	for (const e of document.querySelectorAll("button, a")) {
		if (!e.textContent.trim() && !e.getAttribute("aria-label")) found.push(`${named(e)} has no name`);
		const box = e.getBoundingClientRect();
		const inText = e.closest("p") && !e.classList.contains("button");
		if (shown(e) && !inText && (box.height < 24 || box.width < 24)) found.push(`${named(e)} is too small to hit: ${Math.round(box.width)}×${Math.round(box.height)}`);
	}

	// Contrast, by the rules of WCAG 2: 4.5 for text, 3 for large text.
	const numbers = (color) => (color.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
	const light = (color) => {
		const [r, g, b] = numbers(color).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const ground = (e) => {
		for (; e; e = e.parentElement) {
			const color = getComputedStyle(e).backgroundColor;
			const c = numbers(color);
			if (c.length < 4 || c[3] > 0) return color;
		}
		return "rgb(255, 255, 255)";
	};
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (const e of document.querySelectorAll("input[placeholder]")) {
		const [dark, bright] = [light(getComputedStyle(e, "::placeholder").color), light(ground(e))].sort((a, b) => a - b);
		const contrast = (bright + 0.05) / (dark + 0.05);
		if (contrast < 4.5) found.push(`the placeholder of ${named(e)} has a contrast of ${contrast.toFixed(2)}`);
	}
	while (texts.nextNode()) {
		const e = texts.currentNode.parentElement;
		if (!texts.currentNode.data.trim() || !shown(e)) continue;
		const style = getComputedStyle(e);
		const size = parseFloat(style.fontSize);
		const large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
		const [dark, bright] = [light(style.color), light(ground(e))].sort((a, b) => a - b);
		const contrast = (bright + 0.05) / (dark + 0.05);
		if (contrast < (large ? 3 : 4.5)) found.push(`${named(e)} has a contrast of ${contrast.toFixed(2)}`);
	}
	return found;
})()
