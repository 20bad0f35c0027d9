/*
 * Lanes of GPUs below a timeline: in each column the part of its time in which a device was busy, idle, and idle because
 * of pauses. Where records are missing a lane is empty. In: "gpus", as html_gpu.c writes them.
 */

const GPU_LANE = {height: 18, gap: 6};

function readGpus(gpus) {
	return (gpus || []).map(gpu => {
		const {count, columns} = gpu.idle;
		const read = name => readColumn(columns[name], new Float64Array(count));
		const start = read("start_us"), length = read("duration_us");
		return {
			...gpu, count, start, length, pause: read("pause_us"),
			end: start.map((at, i) => at + length[i]),
			seen: [gpu.from_us, gpu.until_us],
			unknown: [gpu.unknown.map(span => span[0]), gpu.unknown.map(span => span[1])],
		};
	});
}

/* Of each bin of @track's steps, bytes; NaN: not known. */
function readGpuMemory(track, bins) {
	const memory = track.gpu_memory, values = new Float64Array(bins).fill(NaN);
	if (!memory)
		return values;
	return readColumn(memory.kib, values)
		.map(kib => kib < 0 ? NaN : (kib + memory.least_kib) * 1024);
}

function gpuHeight(lanes) {
	return lanes.length * (GPU_LANE.height + GPU_LANE.gap);
}

/*
 * Where the moments of a lane lie on an axis, found once: @place is what turns an array of ascending moments into one of
 * places.
 */
function placeGpus(lanes, place) {
	return lanes.map(lane => ({
		start: place(lane.start), end: place(lane.end), seen: place(lane.seen),
		unknown: lane.unknown.map(place),
	}));
}

/* Adds to each of @sums the part of its column that lies in [from, to), in columns, times @weight. */
function spreadOver(sums, from, to, weight) {
	const first = Math.max(0, from), last = Math.min(sums.length, to);
	for (let x = Math.floor(first); x < last; x++)
		sums[x] += (Math.min(last, x + 1) - Math.max(first, x)) * weight;
}

/* What @lane did in each column of @view: parts of the column. */
function gatherGpu(view, lane, places, count) {
	const array = () => new Float64Array(count);
	const known = array(), idle = array(), pause = array();
	const scale = count / (view.high - view.low);
	const column = place => (place - view.low) * scale;
	spreadOver(known, column(places.seen[0]), column(places.seen[1]), 1);
	places.unknown[0].forEach((from, i) =>
		spreadOver(known, column(from), column(places.unknown[1][i]), -1));
	const first = Math.max(0, after(places.start, view.low) - 1);
	for (let i = first; i < lane.count && places.start[i] <= view.high; i++) {
		const part = lane.length[i] ? Math.min(1, lane.pause[i] / lane.length[i]) : 0;
		const from = column(places.start[i]), to = column(places.end[i]);
		spreadOver(idle, from, to, 1);
		if (part)
			spreadOver(pause, from, to, part);
	}
	return {known, idle, pause};
}

/* @places: placeGpus() for the axis in use. */
function drawGpus(view, lanes, places, top) {
	const c = view.context, {left, width: inner} = view.area, columns = view.columns();
	const width = 1 / columns.ratio, {height, gap} = GPU_LANE;
	lanes.forEach((lane, index) => {
		const y = top + index * (height + gap);
		const parts = gatherGpu(view, lane, places[index], columns.count);
		const piece = (x, below, part, colour) => {
			const high = height * Math.max(0, Math.min(1, part));
			c.fillStyle = theme.colours[colour];
			c.fillRect(left + x * width, below - high, width, high);
			return below - high;
		};
		for (let x = 0; x < columns.count; x++) {
			const busy = parts.known[x] - parts.idle[x];
			let below = piece(x, y + height, busy, "gpu");
			below = piece(x, below, parts.idle[x] - parts.pause[x], "gpu-idle");
			piece(x, below, parts.pause[x], "gpu-pause");
		}
		c.fillStyle = theme.colours.grid;
		c.fillRect(left, y + height, inner, 1);
		c.fillStyle = theme.colours["ink-2"];
		c.textAlign = "right";
		c.textBaseline = "middle";
		c.fillText(lane.name.length > 9 ? lane.name.slice(0, 8) + "…" : lane.name, left - 6,
			y + height / 2);
	});
}

/* [[what, figure], …] of [from, to); of lanes that are whole. */
function gpuFacts(lanes, from, to) {
	return lanes.filter(lane => !lane.left_out).slice(0, 2).map(lane => {
		const covered = (low, high) => Math.max(0, Math.min(to, high) - Math.max(from, low));
		const missing = to - from - covered(...lane.seen) +
			lane.unknown[0].reduce((sum, low, i) => sum + covered(low, lane.unknown[1][i]), 0);
		let idle = 0, pause = 0;
		const first = Math.max(0, after(lane.start, from) - 1);
		for (let i = first; i < lane.count && lane.start[i] < to; i++) {
			const part = covered(lane.start[i], lane.end[i]);
			idle += part;
			pause += lane.length[i] ? part * lane.pause[i] / lane.length[i] : 0;
		}
		const what = missing > 1 ? "not known" : duration(1000 * idle) +
			(pause ? ", " + duration(1000 * pause) + " because of pauses" : "");
		return [lane.name + " idle", what];
	});
}

/* @memory: of a track, if it is known. @entry(className, text) adds one. */
function gpuLegend(lanes, memory, entry) {
	if (memory)
		entry("gpu-memory", "GPU memory at the end of a step" +
			(memory.total ? "" : ", from when its records begin"));
	if (!lanes.length)
		return;
	const source = " (" + lanes[0].source + ")";
	entry("gpu", "GPU busy" + source);
	entry("gpu-idle", "GPU idle");
	if (lanes.some(lane => lane.pause.some(value => value > 0)))
		entry("gpu-pause", "GPU idle because of a pause");
	const left = lanes.filter(lane => lane.left_out);
	if (left.length)
		entry("", "not drawn: idle times of up to " +
			duration(left.reduce((most, lane) => Math.max(most, lane.least_ns), 0)) + ", " +
			count(left.reduce((sum, lane) => sum + lane.left_out, 0)) + " of them, " +
			duration(left.reduce((sum, lane) => sum + lane.left_out_ns, 0)) + " in all");
}

/* @add(name, figure, note, known): a tile for what a track's GPU did in its steps, where that is known. */
function gpuTile(steps, add) {
	if (steps)
		add(steps.name + " idle in steps", share(steps.idle_ns, steps.time_ns),
			duration(steps.idle_ns) + " of " + duration(steps.time_ns) + ", " +
			duration(steps.pause_ns) + " because of pauses" +
			(steps.unknown ? ", not known of " + plural(steps.unknown, "step") : ""),
			steps.source);
}
