/* Pauses over time, each by its length: what there is to see where a process has no steps. */

class PauseLine extends View {
	constructor(parent, pauses, gpus, span, detail) {
		super(parent, "Pauses over time: arrows move the cursor, plus and minus zoom, " +
			"Enter shows a pause's stack");
		this.pauses = pauses;
		this.gpus = readGpus(gpus);
		this.gpuPlaces = placeGpus(this.gpus, moments => moments);
		this.detail = detail; /* a PauseDetail */
		this.span = Math.max(1, span, pauses.end.reduce((most, end) => Math.max(most, end),
			0));
		this.longest = 0;
		for (let i = 0; i < pauses.count; i++)
			this.longest = Math.max(this.longest, pauses.end[i] - pauses.start[i]);
		this.hint =
			"Point at a pause, or focus the picture and use the arrow keys; drag to " +
			"zoom; click a pause for its stack.";
		this.zoomButtons(this.bar);
		this.start();
	}

	domain() {
		return [0, this.span];
	}

	least() {
		return Math.min(this.span, 1000);
	}

	height() {
		return 200 + gpuHeight(this.gpus);
	}

	ends() {
		return this.pauses.count ? [0, this.pauses.count - 1] : [-1, -1];
	}

	place(i) {
		return [this.pauses.start[i], this.pauses.end[i]];
	}

	length(i) {
		return this.pauses.end[i] - this.pauses.start[i];
	}

	/* The longest within a few pixels. */
	pick(px) {
		const from = after(this.pauses.start, this.at(px - 4));
		const to = after(this.pauses.start, this.at(px + 4));
		let best = -1;
		for (let i = Math.max(0, from - 1); i < to; i++)
			if (this.pauses.end[i] >= this.at(px - 4) &&
				(best < 0 || this.length(i) > this.length(best)))
				best = i;
		return best;
	}

	move(i, direction) {
		return Math.max(0, Math.min(this.pauses.count - 1, i + direction));
	}

	open(i) {
		this.detail.show(this.pauses, i);
	}

	facts(i) {
		const p = this.pauses, {cause, slept, ttsp} = pauseRow(p, i);
		const facts = [["pause", duration(1000 * this.length(i)),
			p.class[i]],
			["cause", cause + (slept ? ", slept" : "")]];
		if (ttsp >= 0)
			facts.push(["reach", duration(ttsp)]);
		if (p.collected[i] >= 0)
			facts.push(["collected", count(p.collected[i])]);
		if (p.pid[i])
			facts.push(["process", String(p.pid[i])]);
		facts.push(["at", moment(p.start[i])]);
		return facts;
	}

	draw() {
		const c = this.context, {left, width} = this.area, top = 8, height = 160;
		const columns = this.columns();
		let low = Infinity;
		for (let i = 0; i < this.pauses.count; i++)
			low = Math.min(low, this.length(i));
		const scale = makeScale("log", Math.max(1, low), Math.max(2, this.longest), top,
			height);
		let above = Infinity;
		c.textBaseline = "middle";
		c.textAlign = "right";
		for (const tick of scale.ticks) {
			const y = Math.round(scale.y(tick));
			if (above - y < 14)
				continue;
			above = y;
			c.fillStyle = theme.colours.grid;
			c.fillRect(left, y, width, 1);
			c.fillStyle = theme.colours["ink-2"];
			c.fillText(tickDuration(tick), left - 6, y);
		}
		for (const g of [3, 0, 1, 2])
			this.drawGeneration(g, scale, top + height, 1 / columns.ratio);
		drawGpus(this, this.gpus, this.gpuPlaces, top + height + GPU_LANE.gap);
		const floor = top + height + gpuHeight(this.gpus);
		c.fillStyle = theme.colours["ink-2"];
		c.textBaseline = "top";
		c.textAlign = "center";
		for (const tick of niceTicks(this.low, this.high,
			Math.max(2, Math.floor(width / 110)))) {
			const text = moment(tick), half = c.measureText(text).width / 2;
			c.fillRect(Math.round(this.px(tick)), floor + 1, 1, 4);
			c.fillText(text, Math.max(half,
				Math.min(left + width + this.area.right - half,
				this.px(tick))), floor + 8);
		}
	}

	drawGeneration(g, scale, floor, least) {
		const c = this.context, {left, width} = this.area, p = this.pauses;
		c.fillStyle = theme.colours["gen" + g];
		const first = Math.max(0, after(p.start, this.low) - 1);
		for (let i = first; i < p.count && p.start[i] <= this.high; i++) {
			if (p.class[i] !== g)
				continue;
			const x0 = Math.max(left, this.px(p.start[i]));
			const x1 = Math.min(left + width, Math.max(this.px(p.end[i]), x0 + least));
			const y = scale.y(this.length(i));
			if (x1 > x0)
				c.fillRect(x0, y, x1 - x0, floor - y);
		}
	}

	drawWhole(context, width, height) {
		const {left, width: inner} = this.area, p = this.pauses;
		const scale = makeScale("log", 1, Math.max(2, this.longest), 3, height - 4);
		context.clearRect(0, 0, width, height);
		for (let i = 0; i < p.count; i++) {
			const y = scale.y(this.length(i));
			context.fillStyle = theme.colours["gen" + p.class[i]];
			context.fillRect(left + p.start[i] / this.span * inner, y, 1,
				height - 1 - y);
		}
	}
}
