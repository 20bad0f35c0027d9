/*
 * How long steps take, with and without their pauses: two distributions laid on each other, both
 * axes logarithmic.
 */

/* px: a mark, the middle of its words below it, the least between two words, a row of all that */
const MARKS = {high: 12, text: 28, apart: 10, row: 40};

/*
 * Where words of @widths begin in [low, high] that are to have @middles, which rise: none lies on another. Those that are
 * too close stand side by side about the middle of their places.
 */
function spread(middles, widths, low, high, apart) {
	const groups = [], lefts = [];
	middles.forEach((middle, i) => {
		let from = i, wide = widths[i], sum = middle, left;
		const place = () => left = Math.max(low, Math.min(high - wide, sum / (i + 1 - from) - wide / 2));
		for (place(); groups.length && groups.at(-1).left + groups.at(-1).wide + apart > left; place()) {
			const before = groups.pop();
			from = before.from;
			sum += before.sum;
			wide += before.wide + apart;
		}
		groups.push({from, wide, sum, left});
	});
	groups.forEach(({from, left}, g) => {
		for (let i = from; i < (g + 1 < groups.length ? groups[g + 1].from : widths.length); i++) {
			lefts.push(left);
			left += widths[i] + apart;
		}
	});
	return lefts;
}

class Histogram {
	constructor(parent, track) {
		this.track = track;
		this.d = track.distribution;
		this.root = make("div", "view histogram", null, parent);
		this.readout = make("div", "readout", null, this.root);
		this.plot = make("div", "plot", null, this.root, {tabindex: 0, role: "slider",
			"aria-label": "Distribution of step durations: arrows read out its classes",
			"aria-valuemin": 0, "aria-valuemax": this.d.with.length - 1});
		this.canvas = make("canvas", "", null, this.plot, {"aria-hidden": "true"});
		this.hair = make("div", "hair", null, this.plot, {hidden: ""});
		this.plot.addEventListener("pointermove", event =>
			this.showClass(this.classAt(event.clientX -
			this.plot.getBoundingClientRect().left)));
		this.plot.addEventListener("keydown", event => this.onKey(event));
		new ResizeObserver(() => this.draw()).observe(this.plot);
		theme.listeners.push(() => this.draw());
		this.at = -1;
		this.showClass(-1);
	}

	/* The lower edge of class @i. */
	edge(i) {
		return this.d.low_ns * Math.pow(this.d.high_ns / this.d.low_ns,
			i / this.d.with.length);
	}

	px(ns) {
		const part = Math.log(Math.max(ns, this.d.low_ns) / this.d.low_ns);
		return this.left + this.width * part / Math.log(this.d.high_ns / this.d.low_ns);
	}

	classAt(px) {
		const i = Math.floor((px - this.left) / this.width * this.d.with.length);
		return i >= 0 && i < this.d.with.length ? i : -1;
	}

	/* The next class with any step in it. */
	next(i, direction) {
		for (let at = i + direction; at >= 0 && at < this.d.with.length; at += direction)
			if (this.d.with[at] || this.d.without[at])
				return at;
		return i;
	}

	onKey(event) {
		const last = this.d.with.length;
		const next = event.key === "ArrowRight" ? this.next(this.at, 1) :
			event.key === "ArrowLeft" ? this.next(this.at, -1) :
			event.key === "Home" ? this.next(-1, 1) : event.key === "End" ?
			this.next(last, -1) : null;
		if (next === null || event.ctrlKey || event.metaKey || event.altKey)
			return;
		this.showClass(next);
		event.preventDefault();
	}

	showClass(i) {
		this.at = i;
		this.hair.hidden = i < 0;
		this.readout.replaceChildren();
		const text = i < 0 ? "" : duration(this.edge(i)) + " to " +
			duration(this.edge(i + 1));
		if (i < 0) {
			make("span", "hint",
				"Both axes are logarithmic, so that a few slow steps show beside " +
				"many quick ones.", this.readout);
		} else {
			make("b", "", text, this.readout);
			make("span", "fact", plural(this.d.with[i], "step") + " with pauses",
				this.readout);
			if (isTold(this.track))
				make("span", "fact", count(this.d.without[i]) + " without", this.readout);
			this.hair.style.left = this.px(this.edge(i)) + "px";
			this.hair.style.width = Math.max(1, this.width / this.d.with.length) + "px";
		}
		this.plot.setAttribute("aria-valuenow", Math.max(0, i));
		this.plot.setAttribute("aria-valuetext", i < 0 ? "no cursor" : text + ": " +
			this.d.with[i] + " steps with pauses" +
			(isTold(this.track) ? ", " + this.d.without[i] + " without" : ""));
	}

	draw() {
		const width = this.plot.clientWidth, top = 10, height = 150;
		const whole = top + height + 26 + MARKS.row * (isTold(this.track) ? 2 : 1);
		if (!width)
			return;
		this.left = width < 520 ? 52 : 70;
		this.width = width - this.left - 10;
		const c = this.c = View.fit(this.canvas, width, whole);
		const most = Math.max(2, ...this.d.with, ...this.d.without);
		/* One step stands clear of the floor. */
		const part = n => n ? (Math.log(n) + 0.5) / (Math.log(most) + 0.6) : 0;
		const y = n => top + height * (1 - part(n));
		c.clearRect(0, 0, width, whole);
		this.hair.style.bottom = whole - top - height + "px";
		this.drawCounts(y, most);
		this.drawSteps(this.d.with, y, top + height, theme.colours.gen2, 0.55);
		if (isTold(this.track))
			this.drawSteps(this.d.without, y, top + height, theme.colours.bar, 1);
		this.drawOutline(this.d.with, y, theme.colours.gen2);
		this.drawDurations(top + height);
		this.drawMarks("with", this.track.with, top + height + 26, theme.colours.gen2);
		if (isTold(this.track))
			this.drawMarks("without", this.track.without, top + height + 26 + MARKS.row,
				theme.colours["ink-2"]);
		this.showClass(this.at);
	}

	drawCounts(y, most) {
		const c = this.c;
		c.textAlign = "right";
		c.textBaseline = "middle";
		for (let n = 1; n <= most; n *= 10) {
			c.fillStyle = theme.colours.grid;
			c.fillRect(this.left, Math.round(y(n)), this.width, 1);
			c.fillStyle = theme.colours["ink-2"];
			c.fillText(n >= 1e6 ? n / 1e6 + "M" : n >= 1e4 ? n / 1e3 + "k" : count(n),
				this.left - 6, y(n));
		}
	}

	drawSteps(counts, y, floor, colour, alpha) {
		const part = this.width / counts.length;
		this.c.fillStyle = colour;
		this.c.globalAlpha = alpha;
		counts.forEach((n, i) => n && this.c.fillRect(this.left + i * part, y(n),
			Math.max(1, part + 0.3),
			floor - y(n)));
		this.c.globalAlpha = 1;
	}

	drawOutline(counts, y, colour) {
		const part = this.width / counts.length, c = this.c;
		c.fillStyle = colour;
		counts.forEach((n, i) => n && c.fillRect(this.left + i * part, y(n) - 1,
			Math.max(1, part + 0.3), 2));
	}

	drawDurations(floor) {
		const c = this.c;
		c.fillStyle = theme.colours["ink-2"];
		c.textAlign = "center";
		c.textBaseline = "top";
		let taken = -Infinity;
		const decade = this.d.high_ns / this.d.low_ns;
		const ticks = decade > 3 ? logTicks(this.d.low_ns / 1000, this.d.high_ns / 1000) :
			niceTicks(this.d.low_ns / 1000, this.d.high_ns / 1000, 6);
		for (const tick of ticks) {
			const text = tickDuration(tick), x = this.px(tick * 1000);
			const half = c.measureText(text).width / 2;
			c.fillRect(Math.round(x), floor, 1, 4);
			if (x - half < taken + 8 || x + half > this.left + this.width + 10)
				continue;
			taken = x + half;
			c.fillText(text, x, floor + 7);
		}
	}

	/* p50, p95, p99 and the worst, each a mark at its place; below it what it is, led to where there is room. */
	drawMarks(name, steps, y, colour) {
		const c = this.c, right = this.left + this.width;
		const marks = [["p50", steps.p50_ns], ["p95", steps.p95_ns], ["p99", steps.p99_ns],
			["worst", steps.max_ns]];
		const wide = texts => texts.map(text => c.measureText(text).width);
		let texts = marks.map(([text, ns]) => text + " " + duration(ns)), widths = wide(texts);
		if (widths.reduce((sum, width) => sum + width + MARKS.apart, 0) > this.width) {
			texts = marks.map(([text]) => text);
			widths = wide(texts);
		}
		const lefts = spread(marks.map(([, ns]) => this.px(ns)), widths, this.left, right, MARKS.apart);
		c.textBaseline = "middle";
		c.textAlign = "right";
		c.fillStyle = theme.colours["ink-2"];
		c.fillText(name, this.left - 6, y + MARKS.high / 2);
		c.fillStyle = theme.colours.grid;
		c.fillRect(this.left, y + MARKS.high / 2, this.width, 1);
		c.textAlign = "left";
		c.strokeStyle = colour;
		c.lineWidth = 1;
		texts.forEach((text, i) => {
			const x = this.px(marks[i][1]);
			c.fillStyle = colour;
			c.fillRect(Math.round(x) - 1, y, 2, MARKS.high);
			c.beginPath();
			c.moveTo(x, y + MARKS.high);
			c.lineTo(lefts[i] + widths[i] / 2, y + MARKS.text - 7);
			c.stroke();
			c.fillStyle = theme.colours["ink-2"];
			c.fillText(text, lefts[i], y + MARKS.text);
		});
	}
}
