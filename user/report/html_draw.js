/*
 * Draws what a TimeLine shows. Where steps are narrower than a pixel it draws their mean, and
 * behind it the slowest.
 */

/* px, from top to bottom */
const PANEL = {top: 8, steps: 188, gap: 6, lane: 10, curve: 62};
const CURVE_HEIGHT = PANEL.gap + 10 + PANEL.curve;

/* Round values for about @wanted ticks in [low, high]. */
function niceTicks(low, high, wanted) {
	const raw = (high - low) / Math.max(1, wanted);
	const power = Math.pow(10, Math.floor(Math.log10(raw)));
	const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= raw * 0.999);
	const ticks = [];
	for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step)
		ticks.push(Math.round(tick / step) * step);
	return ticks;
}

function logTicks(low, high) {
	const ticks = [], many = high / low > 300;
	for (let power = Math.pow(10, Math.floor(Math.log10(low))); power <= high; power *= 10)
		for (const n of many ? [1] : [1, 2, 5])
			if (n * power >= low && n * power <= high)
				ticks.push(n * power);
	return ticks;
}

/*
 * Durations of what is in view → px from the top of a panel; @usual of them keeps a quarter of its
 * height.
 */
function makeScale(kind, low, high, top, height, usual) {
	if (kind === "linear" || !(low > 0)) {
		const ticks = niceTicks(0, high, 4);
		const most = Math.max(high * 1.04, 1e-6);
		return {ticks, y: value => top + height * (1 - Math.min(1, value / most))};
	}
	const most = high * 1.15;
	const quarter = Math.pow((usual || low) / Math.pow(most, 0.25), 1 / 0.75);
	const least = Math.min(low * 0.8, quarter);
	const span = Math.log(most / least);
	return {ticks: logTicks(least, most), y: value => top + height *
		(1 - Math.max(0, Math.min(1, Math.log(Math.max(value, least) / least) / span)))};
}

/* Sums of the bins in view by device column. */
function gatherColumns(line, columns, first, last) {
	const s = line.steps, array = () => new Float64Array(columns.count);
	const sums = {
		size: array(), sum: array(), overlap: array(), cost: array(),
		byGeneration: Array.from({length: GENERATIONS}, array),
		slowest: new Int32Array(columns.count).fill(-1),
	};
	const scale = columns.count / (line.high - line.low);
	for (let bin = first; bin <= last; bin++) {
		const [from, to] = line.axis === "step" ?
			[bin * s.perBin, bin * s.perBin + s.perBin] :
			[s.start[bin], s.end[bin]];
		const column = Math.floor(((from + to) / 2 - line.low) * scale);
		if (column < 0 || column >= columns.count)
			continue;
		sums.size[column] += s.size(bin);
		sums.sum[column] += s.sum[bin];
		if (s.pauses[bin]) {
			sums.overlap[column] += s.overlap[bin];
			sums.cost[column] += s.cost[bin];
			for (let g = 0; g < GENERATIONS; g++)
				sums.byGeneration[g][column] += s.byGeneration[g][bin];
		}
		if (sums.slowest[column] < 0 || s.max[bin] > s.max[sums.slowest[column]])
			sums.slowest[column] = bin;
	}
	return sums;
}

class StepPicture {
	constructor(line) {
		this.line = line;
		this.steps = line.steps;
		this.c = line.context;
		this.area = line.area;
		this.first = line.steps.bins ? line.binAt(line.low) : 0;
		this.last = line.steps.bins ? line.binAt(line.high) : -1;
		this.columns = line.columns();
		this.lane = PANEL.top + PANEL.steps + PANEL.gap;
		this.gpus = this.lane + PANEL.lane + (line.gpus.length ? GPU_LANE.gap : 0);
		this.curves = this.lane + PANEL.lane + gpuHeight(line.gpus);
		this.bottom = this.curves + line.curves.length * CURVE_HEIGHT;
		/* Bars are drawn one by one while they are wider than two device pixels. */
		this.single = (this.last - this.first + 1) * 2 <= this.columns.count;
	}

	draw() {
		const [low, high] = this.range();
		this.scale = makeScale(this.line.scale, low, high, PANEL.top, PANEL.steps,
			Math.min(high, Math.max(low, this.steps.track.with.p50_ns / 1000)));
		this.drawGrid();
		if (this.single)
			this.drawBars();
		else
			this.drawColumns();
		this.drawMedian();
		this.drawLane();
		drawGpus(this.line, this.line.gpus, this.line.axis === "step" ? this.line.gpusByStep :
			this.line.gpusByTime, this.gpus);
		this.line.curves.forEach((curve, i) =>
			this.drawCurve(curve, this.curves + i * CURVE_HEIGHT + PANEL.gap + 10));
		this.drawAxis();
	}

	range() {
		let low = Infinity, high = 1;
		for (let bin = this.first; bin <= this.last; bin++) {
			const mean = this.steps.sum[bin] / this.steps.size(bin);
			high = Math.max(high, this.steps.max[bin]);
			low = Math.min(low, mean - this.steps.overlap[bin] / this.steps.size(bin));
		}
		return [Math.max(low, high / 1e5, 0.5), high];
	}

	drawGrid() {
		const {c, area} = this;
		c.textBaseline = "middle";
		c.textAlign = "right";
		let above = Infinity;
		for (const tick of this.scale.ticks) {
			const y = Math.round(this.scale.y(tick)) + 0.5;
			if (above - y < 14)
				continue;
			above = y;
			c.fillStyle = theme.colours.grid;
			c.fillRect(area.left, y - 0.5, area.width, 1);
			c.fillStyle = theme.colours["ink-2"];
			c.fillText(tick ? tickDuration(tick) : "0", area.left - 6, y);
		}
	}

	/* One bar from below: what is no pause, pauses that were not lost, pauses by generation. */
	stack(x, width, total, overlap, cost, byGeneration, oldest, pale) {
		const {c, scale} = this, floor = PANEL.top + PANEL.steps;
		let value = Math.max(0, total - overlap), y = scale.y(value);
		c.fillStyle = theme.colours[pale ? "bar-pale" : "bar"];
		c.fillRect(x, y, width, floor - y);
		if (!(overlap > 0))
			return;
		const absorbed = Math.max(0, overlap - cost);
		if (absorbed > 0)
			y = this.piece(x, width, y, value += absorbed, oldest, pale ? 0.2 : 0.4);
		const part = overlap > 0 ? (overlap - absorbed) / overlap : 0;
		for (let g = 0; g < GENERATIONS; g++)
			if (byGeneration[g] > 0)
				y = this.piece(x, width, y, value += byGeneration[g] * part, g,
					pale ? 0.42 : 1);
	}

	piece(x, width, below, value, generation, alpha) {
		const y = this.scale.y(value);
		this.c.globalAlpha = alpha;
		this.c.fillStyle = theme.colours["gen" + (generation < 0 ? 3 : generation)];
		this.c.fillRect(x, y, width, below - y);
		this.c.globalAlpha = 1;
		return y;
	}

	drawBars() {
		const s = this.steps, line = this.line, ratio = this.columns.ratio;
		const right = this.area.left + this.area.width;
		const parts = [0, 0, 0, 0];
		for (let bin = this.first; bin <= this.last; bin++) {
			const [from, to] = line.place(bin), size = s.size(bin);
			const x0 = Math.max(this.area.left,
				Math.round(line.px(from) * ratio) / ratio);
			const x1 = Math.min(right, Math.round(line.px(to) * ratio) / ratio);
			const gap = x1 - x0 > 4 ? 1 : x1 - x0 > 2 / ratio ? 1 / ratio : 0;
			const width = Math.max(1 / ratio, x1 - x0 - gap);
			if (x1 <= this.area.left || x0 >= right)
				continue;
			if (size > 1)
				this.drawSlowest(x0, width, bin);
			for (let g = 0; g < GENERATIONS; g++)
				parts[g] = s.byGeneration[g][bin] / size;
			this.stack(x0, width, s.sum[bin] / size, s.overlap[bin] / size,
				s.cost[bin] / size, parts,
				s.oldest(bin), false);
		}
	}

	drawSlowest(x, width, bin) {
		const s = this.steps, parts = [0, 0, 0, 0], g = s.maxGeneration[bin];
		parts[g < 0 ? 3 : g] = s.maxOverlap[bin];
		this.stack(x, width, s.max[bin], s.maxOverlap[bin], s.maxCost[bin], parts, g, true);
	}

	drawColumns() {
		const sums = gatherColumns(this.line, this.columns, this.first, this.last);
		const width = 1 / this.columns.ratio, parts = [0, 0, 0, 0];
		for (let column = 0; column < this.columns.count; column++)
			if (sums.slowest[column] >= 0)
				this.drawSlowest(this.area.left + column * width, width,
					sums.slowest[column]);
		for (let column = 0; column < this.columns.count; column++) {
			const size = sums.size[column];
			if (!size)
				continue;
			for (let g = 0; g < GENERATIONS; g++)
				parts[g] = sums.byGeneration[g][column] / size;
			const oldest = parts[2] ? 2 : parts[1] ? 1 : parts[0] ? 0 : 3;
			this.stack(this.area.left + column * width, width, sums.sum[column] / size,
				sums.overlap[column] / size, sums.cost[column] / size, parts,
				oldest, false);
		}
	}

	drawMedian() {
		const {c, area} = this, median = this.steps.track.with.p50_ns / 1000;
		const y = Math.round(this.scale.y(median)) + 0.5;
		if (!median || y <= PANEL.top)
			return;
		c.strokeStyle = theme.colours.ink;
		c.globalAlpha = 0.55;
		c.lineWidth = 1;
		c.setLineDash([2, 4]);
		c.beginPath();
		c.moveTo(area.left, y);
		c.lineTo(area.left + area.width, y);
		c.stroke();
		c.setLineDash([]);
		c.globalAlpha = 1;
	}

	/* Every pause at its place; of several in one column the oldest generation. */
	drawLane() {
		const {c, area, line, columns} = this, pauses = line.pauses;
		const [from, to] = line.axis === "step" ? line.byStep : line.byTime;
		const rank = [1, 2, 3, 0], lane = new Int8Array(columns.count).fill(-1);
		const scale = columns.count / (line.high - line.low);
		c.fillStyle = theme.colours.grid;
		c.fillRect(area.left, this.lane, area.width, PANEL.lane);
		const first = Math.max(0, after(from, line.low) - 1);
		for (let i = first; i < pauses.count && from[i] <= line.high; i++) {
			const g = pauses.class[i];
			const last = Math.min(columns.count - 1,
				Math.floor((to[i] - line.low) * scale));
			let x = Math.max(0, Math.floor((from[i] - line.low) * scale));
			for (; x <= last; x++)
				if (lane[x] < 0 || rank[g] > rank[lane[x]])
					lane[x] = g;
		}
		for (let x = 0, end; x < columns.count; x = end) {
			for (end = x + 1; end < columns.count && lane[end] === lane[x]; end++)
				;
			if (lane[x] < 0)
				continue;
			c.fillStyle = theme.colours["gen" + lane[x]];
			c.fillRect(area.left + x / columns.ratio, this.lane,
				(end - x) / columns.ratio, PANEL.lane);
		}
		this.label("pauses", this.lane + PANEL.lane / 2);
	}

	label(text, y) {
		this.c.fillStyle = theme.colours["ink-2"];
		this.c.textAlign = "right";
		this.c.textBaseline = "middle";
		this.c.fillText(text, this.area.left - 6, y);
	}

	/* The most in each column, between the least and the most in view. */
	drawCurve(curve, top) {
		const {line, columns} = this;
		const most = new Float64Array(columns.count).fill(NaN);
		let low = Infinity, high = -Infinity;
		const scale = columns.count / (line.high - line.low);
		for (let bin = this.first; bin <= this.last; bin++) {
			const value = curve.values[bin], [from, to] = line.place(bin);
			if (Number.isNaN(value))
				continue;
			low = Math.min(low, value);
			high = Math.max(high, value);
			const end = Math.min(columns.count - 1,
				Math.max(Math.floor((from - line.low) * scale),
				Math.ceil((to - line.low) * scale) - 1));
			let x = Math.max(0, Math.floor((from - line.low) * scale));
			for (; x <= end; x++)
				most[x] = Number.isNaN(most[x]) ? value : Math.max(most[x], value);
		}
		if (!(high >= low))
			return;
		const ripple = Math.max(Math.abs(low), Math.abs(high), 1) * 0.02;
		if (high - low < ripple) { /* which is not to look like a mountain */
			const middle = (high + low) / 2;
			[low, high] = [middle - ripple / 2, middle + ripple / 2];
		}
		const y = value => top + PANEL.curve * (1 - (value - low) / (high - low));
		this.strokeCurve(most, y, top, curve.colour);
		this.label(bytes(high), top + 4);
		this.label(curve.name, top + PANEL.curve / 2);
		this.label(bytes(low), top + PANEL.curve - 4);
	}

	strokeCurve(most, y, top, colour) {
		const {c, area, columns} = this, width = 1 / columns.ratio;
		c.fillStyle = theme.colours.grid;
		c.fillRect(area.left, top + PANEL.curve, area.width, 1);
		c.fillRect(area.left, top, area.width, 1);
		c.fillStyle = c.strokeStyle = theme.colours[colour];
		c.lineWidth = 1.5;
		c.beginPath();
		let drawing = false;
		for (let x = 0; x < columns.count; x++) {
			if (Number.isNaN(most[x])) {
				drawing = false;
				continue;
			}
			const at = area.left + (x + 0.5) * width;
			if (drawing)
				c.lineTo(at, y(most[x]));
			else
				c.moveTo(at, y(most[x]));
			drawing = true;
			c.globalAlpha = 0.14;
			c.fillRect(area.left + x * width, y(most[x]), width,
				top + PANEL.curve - y(most[x]));
			c.globalAlpha = 1;
		}
		c.stroke();
	}

	drawAxis() {
		const {c, area, line} = this, y = this.bottom + 6;
		const wanted = Math.max(2, Math.floor(area.width / 110));
		const steps = line.axis === "step";
		c.fillStyle = theme.colours["ink-2"];
		c.textBaseline = "top";
		for (const tick of niceTicks(line.low, line.high, wanted)) {
			if (steps && tick !== Math.round(tick))
				continue;
			const x = line.px(tick), text = steps ? count(tick) : moment(tick);
			const half = c.measureText(text).width / 2;
			c.fillRect(Math.round(x), y - 4, 1, 4);
			c.textAlign = "center";
			c.fillText(text, Math.max(half,
				Math.min(area.left + area.width + area.right - half, x)), y + 2);
		}
		c.textAlign = "right";
		c.fillText(steps ? "step" : "time", area.left - 14, y + 2);
	}
}

/* The longest step of each column over the whole recording. */
function drawOverview(context, line, width, height) {
	const s = line.steps, area = line.area, [low, high] = line.domain();
	const most = new Float64Array(Math.ceil(area.width));
	const owner = new Int32Array(most.length).fill(-1);
	let top = 1, least = Infinity;
	for (let bin = 0; bin < s.bins; bin++) {
		const [from, to] = line.place(bin).map(x => (x - low) / (high - low) * area.width);
		const first = Math.max(0, Math.min(most.length - 1, Math.floor(from)));
		const last = Math.min(most.length - 1, Math.max(first, Math.ceil(to) - 1));
		least = Math.min(least, s.sum[bin] / s.size(bin));
		top = Math.max(top, s.max[bin]);
		for (let x = first; x <= last; x++)
			if (s.max[bin] > most[x]) {
				most[x] = s.max[bin];
				owner[x] = bin;
			}
	}
	const scale = makeScale(line.scale, least, top, 3, height - 4,
		Math.min(top, Math.max(least, s.track.with.p50_ns / 1000)));
	context.clearRect(0, 0, width, height);
	for (let x = 0; x < most.length; x++) {
		if (owner[x] < 0)
			continue;
		const bin = owner[x], y = scale.y(most[x]);
		const base = scale.y(most[x] - s.maxOverlap[bin]);
		context.fillStyle = theme.colours.bar;
		context.fillRect(area.left + x, base, 1, height - 1 - base);
		if (s.maxOverlap[bin] > 0) {
			const g = s.maxGeneration[bin];
			context.fillStyle = theme.colours["gen" + (g < 0 ? 3 : g)];
			context.globalAlpha = 0.7;
			context.fillRect(area.left + x, y, 1, base - y);
			context.globalAlpha = 1;
		}
	}
}
