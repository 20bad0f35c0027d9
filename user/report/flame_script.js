/*
 * Makes the drawn flame graph interactive. In: the boxes of .frames, depth first, each with a title of two or
 * three lines (name, place or note, figures), and in <metadata> their depth and pause time in ns. Names are
 * only ever set as text, never parsed.
 */
"use strict";
(function () {
	const SVG = "http://www.w3.org/2000/svg";
	const XHTML = "http://www.w3.org/1999/xhtml";
	const MARGIN = 16, EDGED = 4; /* as in flame_svg.c */
	const svg = document.currentScript.closest("svg");
	const standalone = document.documentElement === svg;
	const picture = svg.querySelector(".frames");
	const head = svg.querySelector(".head");
	const height = Number(svg.getAttribute("height"));
	const boxes = [];
	let zoomed = null, current = null, width = 0, column = 7.2, tip = null, tipAt = null;
	let input, matched, reset;

	/* Four significant digits and the unit that suits, as format_duration() in C. */
	function duration(ns) {
		const units = [[999950000, 1e9, "s"], [999950, 1e6, "ms"], [1000, 1e3, "µs"]];
		for (const [from, factor, unit] of units)
			if (ns >= from) {
				const value = ns / factor;
				const decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
				return value.toFixed(decimals) + " " + unit;
			}
		return ns + " ns";
	}

	function share(part, whole) {
		const percent = whole ? 100 * part / whole : 0;
		return part && percent < 0.005 ? "<0.01 %" : percent.toFixed(2) + " %";
	}

	function make(space, name, parent, attributes) {
		const element = document.createElementNS(space, name);
		for (const key in attributes || {})
			element.setAttribute(key, attributes[key]);
		if (parent)
			parent.appendChild(element);
		return element;
	}

	function read() {
		const numbers = svg.querySelector("metadata").textContent.trim().split(/\s+/).map(Number);
		const path = []; /* by depth: the box last seen there */
		Array.from(picture.children).forEach(function (g, index) {
			const title = g.querySelector("title");
			const lines = title.textContent.split("\n");
			const box = {
				g, index, depth: numbers[2 * index], ns: numbers[2 * index + 1],
				rect: g.querySelector("rect"), label: g.querySelector("text"),
				name: lines[0], place: lines.length > 2 ? lines[1] : "",
				figures: lines[lines.length - 1], after: index + 1,
			};
			const call = /^(n\d|mark)\b/.test(g.getAttribute("class"));
			const file = box.place.slice(box.place.lastIndexOf("/", box.place.length - 2) + 1);
			box.parent = box.depth ? path[box.depth - 1] : null;
			box.start = box.next = box.parent ? box.parent.next : 0;
			if (box.parent)
				box.parent.next += box.ns;
			box.text = box.name + (call && file ? " (" + file + ")" : "");
			box.searched = (box.text + "\n" + (call ? box.place : "")).toLowerCase();
			for (let above = box.parent; above; above = above.parent)
				above.after = index + 1;
			path[box.depth] = box;
			title.remove(); /* the tooltip below takes its place */
			g.setAttribute("role", "button");
			g.setAttribute("tabindex", "-1");
			g.setAttribute("aria-label", lines.join(", "));
			g.gctraceBox = box;
			boxes.push(box);
		});
	}

	function wide(point) {
		return point >= 0x1100 && (point <= 0x115f || (point >= 0x2e80 && point <= 0xa4cf) ||
			(point >= 0xac00 && point <= 0xd7a3) || (point >= 0xf900 && point <= 0xfaff) ||
			(point >= 0xfe30 && point <= 0xfe6f) || (point >= 0xff00 && point <= 0xffe6) ||
			point >= 0x1f000);
	}

	function cut(text, columns) {
		let used = 0, at = 0, fits = 0;
		if (columns < 3)
			return "";
		for (const character of text) {
			used += wide(character.codePointAt(0)) ? 2 : 1;
			if (used > columns)
				return text.slice(0, fits) + "…";
			at += character.length;
			if (used < columns)
				fits = at;
		}
		return text;
	}

	function draw() {
		const from = zoomed.start, span = zoomed.ns || 1, passed = new Set();
		for (let above = zoomed.parent; above; above = above.parent)
			passed.add(above);
		for (const box of boxes) {
			const inside = box.index >= zoomed.index && box.index < zoomed.after;
			const left = inside ? (box.start - from) / span : 0;
			const part = inside ? box.ns / span : 1;
			box.shown = inside || passed.has(box);
			box.g.classList.toggle("off", !box.shown);
			box.g.classList.toggle("passed", passed.has(box));
			box.g.classList.toggle("edged", part * width >= EDGED);
			if (!box.shown)
				continue;
			box.rect.setAttribute("x", 100 * left + "%");
			box.rect.setAttribute("width", 100 * part + "%");
			write(box, left, cut(box.text, Math.floor((part * width - 6) / column)));
		}
		reset.hidden = zoomed === boxes[0];
	}

	function write(box, left, text) {
		if (!text) {
			if (box.label)
				box.label.remove();
			box.label = null;
			return;
		}
		if (!box.label)
			box.label = make(SVG, "text", box.g,
				{y: Number(box.rect.getAttribute("y")) + 13, dx: 4});
		box.label.setAttribute("x", 100 * left + "%");
		if (box.label.textContent !== text)
			box.label.textContent = text;
	}

	function zoom(box) {
		zoomed = box;
		hideTip();
		draw();
	}

	function focus(box) {
		if (current)
			current.g.setAttribute("tabindex", "-1");
		current = box;
		box.g.setAttribute("tabindex", "0");
		box.g.focus();
	}

	/* Time under matching boxes; what stands on a matching box is in it already. */
	function search(wanted) {
		let ns = 0, until = 0;
		wanted = wanted.trim().toLowerCase();
		svg.classList.toggle("searching", wanted !== "");
		for (const box of boxes) {
			const hit = wanted !== "" && box.searched.includes(wanted);
			box.g.classList.toggle("hit", hit);
			if (hit && box.index >= until) {
				ns += box.ns;
				until = box.after;
			}
		}
		matched.textContent = wanted === "" ? "" :
			"Matched: " + share(ns, boxes[0].ns) + " (" + duration(ns) + ")";
	}

	function showTip(box, x, y) {
		const bounds = svg.getBoundingClientRect();
		const name = make(XHTML, "b"), place = make(XHTML, "i"), figures = make(XHTML, "span");
		name.textContent = box.name;
		place.textContent = box.place;
		figures.textContent = box.figures;
		tip.replaceChildren(name, place, figures);
		if (zoomed !== boxes[0] && box.index >= zoomed.index)
			make(XHTML, "span", tip).textContent =
				share(box.ns, zoomed.ns) + " of the zoomed frame";
		tipAt.setAttribute("display", "inline");
		const size = tip.getBoundingClientRect();
		const left = Math.max(4, Math.min(x + 14, bounds.width - size.width - 8));
		const above = y + 18 + size.height > window.innerHeight;
		const top = Math.max(4, above ? y - size.height - 10 : y + 18);
		tipAt.setAttribute("x", left - Math.min(0, bounds.left));
		tipAt.setAttribute("y", top - bounds.top);
	}

	function hideTip() {
		tipAt.setAttribute("display", "none");
	}

	function boxOf(event) {
		const g = event.target.closest(".frames g");
		return g ? g.gctraceBox : null;
	}

	function neighbour(box, key) {
		const siblings = boxes.filter(other => other.shown && other.parent === box.parent);
		const at = siblings.indexOf(box);
		switch (key) {
		case "ArrowUp":
			return boxes.find(other => other.shown && other.parent === box);
		case "ArrowDown":
			return box.parent;
		case "ArrowLeft":
			return siblings[at - 1];
		case "ArrowRight":
			return siblings[at + 1];
		}
		return null;
	}

	function onFrameKey(event) {
		const box = boxOf(event);
		if (!box || event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (event.key === "Enter" || event.key === " ") {
			zoom(box);
			event.preventDefault();
		} else if (event.key.startsWith("Arrow")) {
			const next = neighbour(box, event.key);
			if (next)
				focus(next);
			event.preventDefault();
		}
	}

	function onKey(event) {
		const find = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f";
		const slash = event.key === "/" && event.target !== input;
		if (standalone && (find || slash)) {
			input.focus();
			input.select();
			event.preventDefault();
		} else if (event.key === "Escape") {
			if (input.value !== "") {
				input.value = "";
				search("");
			} else if (zoomed !== boxes[0]) {
				zoom(boxes[0]);
			}
			hideTip();
		}
	}

	function resize() {
		const all = Math.max(400, svg.getBoundingClientRect().width);
		width = all - 2 * MARGIN;
		picture.setAttribute("width", width);
		svg.querySelector(".heading").setAttribute("width", Math.max(100, width - 470));
		svg.querySelector(".tools-at").setAttribute("x", all - MARGIN - 460);
		draw();
	}

	/* The heading stays in view while a deep graph is scrolled. */
	function stick() {
		const scrolled = Math.max(0, -svg.getBoundingClientRect().top);
		head.setAttribute("transform", "translate(0," + scrolled + ")");
	}

	function addTools() {
		const at = make(SVG, "foreignObject", head,
			{class: "tools-at", y: 8, width: 460, height: 34});
		const tools = make(XHTML, "div", at, {class: "tools"});
		matched = make(XHTML, "span", tools, {class: "matched", role: "status"});
		input = make(XHTML, "input", tools, {type: "search", placeholder: "Search (Ctrl-F)",
			"aria-label": "Search functions, files and generations"});
		reset = make(XHTML, "button", tools, {type: "button", class: "reset"});
		reset.textContent = "Reset zoom";
		input.addEventListener("input", () => search(input.value));
		reset.addEventListener("click", () => zoom(boxes[0]));
		tipAt = make(SVG, "foreignObject", svg,
			{class: "tip-at", width: 560, height: 1, display: "none"});
		tip = make(XHTML, "div", tipAt, {class: "tip", role: "tooltip"});
	}

	function addKeys() {
		for (const key of svg.querySelectorAll(".key")) {
			const choose = function () {
				const same = input.value === key.getAttribute("data-search");
				input.value = same ? "" : key.getAttribute("data-search");
				search(input.value);
			};
			key.addEventListener("click", choose);
			key.addEventListener("keydown", event => event.key === "Enter" && choose());
			key.setAttribute("tabindex", "0");
			key.setAttribute("role", "button");
		}
	}

	function listen() {
		picture.addEventListener("click", function (event) {
			const box = boxOf(event);
			if (box)
				zoom(box);
		});
		picture.addEventListener("mousemove", function (event) {
			const box = boxOf(event);
			if (box)
				showTip(box, event.clientX, event.clientY);
			else
				hideTip();
		});
		picture.addEventListener("mouseleave", hideTip);
		picture.addEventListener("keydown", onFrameKey);
		picture.addEventListener("focusin", function (event) {
			const box = boxOf(event);
			const bounds = box && box.rect.getBoundingClientRect();
			if (box && box.g.matches(":focus-visible"))
				showTip(box, bounds.left, bounds.bottom - 14);
		});
		picture.addEventListener("focusout", hideTip);
		document.addEventListener("keydown", onKey);
		window.addEventListener("resize", resize);
		window.addEventListener("scroll", stick, {passive: true});
	}

	if (!picture || !picture.children.length)
		return;
	svg.removeAttribute("viewBox");
	svg.setAttribute("width", "100%");
	read();
	addTools();
	addKeys();
	zoomed = boxes[0];
	current = boxes[0];
	current.g.setAttribute("tabindex", "0");
	const probe = make(SVG, "text", picture);
	probe.textContent = "M".repeat(100);
	column = probe.getComputedTextLength() / 100 || column;
	probe.remove();
	resize();
	listen();
	if (standalone && height > window.innerHeight)
		window.scrollTo(0, height); /* stacks begin at the bottom */
})();
