/* Numbers → the words and elements that a reader sees. Durations here are nanoseconds. */

/* Four significant digits and the unit that suits, as format_duration() in C. */
function duration(ns) {
	const units = [[999950000, 1e9, "s"], [999950, 1e6, "ms"], [1000, 1e3, "µs"]];
	for (const [from, factor, unit] of units)
		if (ns >= from) {
			const value = ns / factor;
			const decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 :
				value < 999.95 ? 1 : 0;
			return value.toFixed(decimals) + " " + unit;
		}
	return Math.round(ns) + " ns";
}

/* For an axis: no more digits than the tick needs. */
function tickDuration(us) {
	if (us >= 1e6)
		return Number((us / 1e6).toPrecision(3)) + " s";
	if (us >= 1000)
		return Number((us / 1000).toPrecision(3)) + " ms";
	return Number(us.toPrecision(3)) + " µs";
}

function count(n) {
	return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

function plural(n, one, many) {
	return count(n) + " " + (n === 1 ? one : many || one + "s");
}

function asSentence(text) {
	return text[0].toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");
}

function bytes(n) {
	if (n < 0)
		return "−" + bytes(-n);
	const units = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
	for (const [factor, unit] of units)
		if (n >= factor)
			return Number((n / factor).toPrecision(4)) + " " + unit;
	return n + " B";
}

/* "4.1 %", as verdict_share() in C. */
function share(part, whole) {
	const percent = whole ? 100 * part / whole : 0;
	if (!whole)
		return "-";
	if (!part)
		return "0 %";
	return percent < 0.005 ? "<0.01 %" : percent.toFixed(percent < 1 ? 2 : 1) + " %";
}

/* "+12.345 s" from the start of the recording. */
function moment(us) {
	const s = Math.abs(us) / 1e6, sign = us < 0 ? "−" : "+";
	const two = n => String(n).padStart(2, "0");
	if (s < 120)
		return sign + s.toFixed(3) + " s";
	const rest = (s % 60).toFixed(1).padStart(4, "0"), minutes = Math.floor(s / 60);
	return sign + (minutes < 120 ? minutes + ":" + rest :
		Math.floor(minutes / 60) + ":" + two(minutes % 60) + ":" + rest);
}

/* What a pause of class @place is called; -1 is the last, none of the others. */
function className(place) {
	return page.data.classes[place < 0 ? GENERATIONS - 1 : place];
}

/* An element; @attributes are never from the data. */
function make(tag, className, text, parent, attributes) {
	const element = document.createElement(tag);
	if (className)
		element.className = className;
	if (text !== undefined && text !== null)
		element.textContent = text;
	for (const key in attributes || {})
		element.setAttribute(key, attributes[key]);
	if (parent)
		parent.appendChild(element);
	return element;
}

function makeButton(text, className, parent, onClick, label) {
	const button = make("button", className, text, parent, {type: "button"});
	if (label) {
		button.setAttribute("aria-label", label);
		button.title = label;
	}
	button.addEventListener("click", onClick);
	return button;
}

/* Buttons of which one is pressed: [[value, text], …]. */
function makeChoice(label, choices, chosen, parent, onChoose) {
	const group = make("div", "choice", null, parent, {role: "group", "aria-label": label});
	const buttons = choices.map(([value, text]) =>
		makeButton(text, "", group, () => choose(value)));
	const show = value => buttons.forEach((button, i) =>
		button.setAttribute("aria-pressed", String(choices[i][0] === value)));
	const choose = function (value) {
		show(value);
		onChoose(value);
	};
	show(chosen);
	return {group, choose};
}

/* How figures are known, beside them: "measured", "estimated", "cannot be told" and the like. */
function makeSource(known, parent) {
	return make("i", "source", known, parent);
}

/* The chip that stands for a class wherever one is named; @name: what it is called otherwise. */
function makeClass(place, parent, name) {
	const chip = make("span", "generation", null, parent);
	make("i", "swatch gen" + (place < 0 ? GENERATIONS - 1 : place), null, chip, {"aria-hidden": "true"});
	make("span", "", name || className(place), chip);
	return chip;
}
