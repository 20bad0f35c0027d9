/*
 * The steps of one process along an axis: durations with the pauses in them, each pause at its
 * place, memory of GPUs and of the process. Drawn by html_draw.js.
 */

class TimeLine extends View {
	constructor(parent, steps, pauses, detail) {
		super(parent, "Steps of " + steps.track.name +
			": arrows move the cursor, plus and minus zoom, Enter shows the step's pauses");
		this.steps = steps;
		this.pauses = pauses;
		this.detail = detail; /* a StepDetail */
		this.hint =
			"Point at a step, or focus the picture and use the arrow keys; drag to zoom; click a " +
			"step for its pauses.";
		this.axis = "step";
		this.span = Math.max(steps.end[steps.bins - 1] || 1, 1);
		this.gpuMemory = readGpuMemory(steps.track, steps.bins);
		this.curves = [
			{name: "GPU mem.", values: this.gpuMemory, colour: "gpu-memory"},
			{name: "RSS", values: steps.rss, colour: "rss"},
		].filter(curve => curve.values.some(value => !Number.isNaN(value)));
		this.scale = this.tallest() > 12 * steps.track.with.p50_ns / 1000 ? "log" :
			"linear";
		this.byTime = [pauses.start, pauses.end];
		this.byStep = [this.stepPlaces(pauses.start), this.stepPlaces(pauses.end)];
		this.gpus = readGpus(steps.track.gpus);
		this.gpusByTime = placeGpus(this.gpus, moments => moments);
		this.gpusByStep = placeGpus(this.gpus, moments => this.stepPlaces(moments));
		this.makeBar();
		this.start();
	}

	tallest() {
		return this.steps.max.reduce((most, value) => Math.max(most, value), 0);
	}

	makeBar() {
		makeChoice("Horizontal axis", [["step", "By step"], ["time", "By time"]], this.axis,
			this.bar,
			axis => this.setAxis(axis));
		makeChoice("Vertical axis", [["linear", "Linear"], ["log", "Log"]], this.scale,
			this.bar,
			scale => {
				this.scale = scale;
				this.resize();
			});
		this.zoomButtons(this.bar);
		this.zoomed = make("span", "zoomed", null, this.bar, {role: "status"});
	}

	/*
	 * Where moments lie on the axis of steps: within its step, or at the end of the step
	 * before.
	 */
	stepPlaces(moments) {
		const {start, end, bins, perBin} = this.steps;
		const places = new Float64Array(moments.length);
		let bin = 0;
		for (let i = 0; i < moments.length; i++) {
			const moment = moments[i];
			while (bin + 1 < bins && start[bin + 1] <= moment)
				bin++;
			while (bin > 0 &&
				start[bin] > moment) /* ends of pauses need not be in order */
				bin--;
			const part = (moment - start[bin]) / Math.max(1, end[bin] - start[bin]);
			places[i] = bin * perBin + Math.max(0, Math.min(1, part)) *
				this.steps.size(bin);
		}
		return places;
	}

	domain() {
		return this.axis === "step" ? [0, Math.max(1, this.steps.count)] :
			[Math.min(0, this.steps.start[0] || 0), this.span];
	}

	least() {
		return this.axis === "step" ? Math.min(this.steps.count, 4 * this.steps.perBin) :
			Math.min(this.span, 4 * this.steps.track.period_ns / 1000 *
			this.steps.perBin || 1);
	}

	height() {
		return 246 + gpuHeight(this.gpus) + this.curves.length * CURVE_HEIGHT;
	}

	ends() {
		return this.steps.bins ? [0, this.steps.bins - 1] : [-1, -1];
	}

	place(bin) {
		return this.axis === "step" ?
			[bin * this.steps.perBin, bin * this.steps.perBin + this.steps.size(bin)] :
			[this.steps.start[bin], this.steps.end[bin]];
	}

	/* The bin at @x of the axis, or the last before it. */
	binAt(x) {
		const bin = this.axis === "step" ? Math.floor(x / this.steps.perBin) :
			after(this.steps.start, x) - 1;
		return Math.max(0, Math.min(this.steps.bins - 1, bin));
	}

	/* Of the bins in one column the longest: it is the one that can be seen. */
	pick(px) {
		if (!this.steps.bins || px < this.area.left || px > this.area.left +
			this.area.width)
			return -1;
		return this.longest(this.binAt(this.at(px - 0.5)), this.binAt(this.at(px + 0.5)));
	}

	longest(first, last) {
		let best = first;
		for (let bin = first + 1; bin <= last; bin++)
			if (this.steps.max[bin] > this.steps.max[best])
				best = bin;
		return best;
	}

	/* One bin on, or where they are narrower than a pixel, one column. */
	move(bin, direction) {
		const px = (this.high - this.low) / this.area.width;
		const skip = Math.max(1, Math.round(px / this.steps.perBin));
		const last = this.steps.bins - 1;
		if (this.axis === "time" || skip === 1)
			return Math.max(0, Math.min(last, bin + direction));
		const from = bin + (direction > 0 ? 1 : -skip);
		return this.longest(Math.max(0, Math.min(last, from)),
			Math.max(0, Math.min(last, from + skip - 1)));
	}

	/* The next step that took half as long again as the median. */
	slow(bin, direction) {
		const limit = 1.5 * this.steps.track.with.p50_ns / 1000;
		for (let i = bin + direction; i >= 0 && i < this.steps.bins; i += direction)
			if (this.steps.max[i] >= limit)
				return i;
		return Math.max(0, bin);
	}

	setAxis(axis) {
		const first = this.binAt(this.low), last = this.binAt(this.high);
		const all = this.low <= this.domain()[0] && this.high >= this.domain()[1];
		this.axis = axis;
		const [low, high] = all ? this.domain() :
			[this.place(first)[0], this.place(last)[1]];
		this.show(low, high);
		this.resize();
	}

	/* Shows step @index with its neighbours and opens it. */
	goTo(index) {
		const bin = Math.floor(index / this.steps.perBin);
		const around = Math.max(30, 30 * this.steps.perBin);
		const [from, to] = this.place(bin);
		const wide = this.axis === "step" ? around : around *
			(to - from) / this.steps.size(bin);
		this.show(from - wide, to + wide);
		this.showItem(bin);
		this.open(bin);
		this.root.scrollIntoView({block: "nearest"});
	}

	open(bin) {
		this.detail.show(bin, index => this.showItem(index, true));
	}

	escape() {
		if (this.detail.shown())
			this.detail.hide();
		else
			super.escape();
	}

	/* [[what, figure, generation], …] of one bin. */
	facts(bin) {
		const s = this.steps, first = bin * s.perBin, size = s.size(bin);
		const facts = size === 1 ?
			[["step", count(first)], ["took", duration(1000 * s.max[bin])]] :
			[["steps", count(first) + "–" + count(first + size - 1)],
			["mean", duration(1000 * s.sum[bin] / size)],
			["slowest", count(s.maxAt[bin]) + ": " + duration(1000 * s.max[bin])]];
		if (s.pauses[bin])
			facts.push(["pauses", count(s.pauses[bin]) + ", " +
				duration(1000 * s.overlap[bin]),
				s.oldest(bin)],
			["lost", isTold(s.track) ? duration(1000 * s.cost[bin]) + " (" + s.track.source + ")" :
				"cannot be told"]);
		else
			facts.push(["pauses", "none"]);
		facts.push(...gpuFacts(this.gpus, s.start[bin], s.end[bin]));
		if (!Number.isNaN(this.gpuMemory[bin]))
			facts.push(["GPU memory", bytes(this.gpuMemory[bin])]);
		if (!Number.isNaN(s.rss[bin]))
			facts.push(["RSS", bytes(s.rss[bin])]);
		facts.push(["at", moment(s.start[bin])]);
		return facts;
	}

	draw() {
		const picture = new StepPicture(this);
		picture.draw();
		const [least, most] = this.domain(), whole = this.low <= least && this.high >= most;
		const shown = this.binAt(this.high) - this.binAt(this.low) + 1;
		this.zoomed.textContent = whole ? "" : "showing " + count(Math.min(this.steps.count,
			shown * this.steps.perBin)) + " of " + plural(this.steps.count, "step");
	}

	drawWhole(context, width, height) {
		drawOverview(context, this, width, height);
	}
}
