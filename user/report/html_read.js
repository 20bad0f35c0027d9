/*
 * Makes the page of `gctrace report -f html` from the data block in it. The html_*.js are one
 * script; this first part reads the block. In: JSON, and in it numbers packed by html_pack.c. Out:
 * typed arrays; times are microseconds from the recording's start on unless a name says otherwise.
 * Strings are from other processes: they are only ever set as text, never parsed.
 */
"use strict";

const GENERATIONS = 4; /* classes, each with a colour; the last: none of the others, or not known */

class Reader {
	constructor(text) {
		const raw = atob(text);
		this.bytes = new Uint8Array(raw.length);
		for (let i = 0; i < raw.length; i++)
			this.bytes[i] = raw.charCodeAt(i);
		this.at = 0;
	}

	uint() {
		let value = 0, factor = 1, byte;
		do {
			byte = this.bytes[this.at++] || 0;
			value += (byte & 127) * factor;
			factor *= 128;
		} while (byte & 128);
		return value;
	}

	int() {
		const value = this.uint();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
}

function emptySteps(track) {
	const bins = Math.ceil(track.count / track.per_bin);
	const array = () => new Float64Array(bins);
	return {
		track, bins, count: track.count, perBin: track.per_bin,
		start: array(), end: array(), sum: array(), max: array(),
		maxAt: new Uint32Array(bins),
		overlap: array(), cost: array(), pauses: new Uint32Array(bins), rss: array(),
		byGeneration: Array.from({length: GENERATIONS}, array),
		maxOverlap: array(), maxCost: array(), maxGeneration: new Int8Array(bins),
		size(bin) {
			return Math.min(this.perBin, this.count - bin * this.perBin);
		},
		/* The oldest generation collected in @bin; -1: not known, or no pause. */
		oldest(bin) {
			return [2, 1, 0].find(g => this.byGeneration[g][bin] > 0) ?? -1;
		},
	};
}

/* The pauses of one bin, as put_pauses() in html_steps.c wrote them. */
function readBinPauses(reader, steps, bin, present) {
	const overlap = reader.uint();
	steps.overlap[bin] = overlap;
	steps.cost[bin] = overlap - reader.int();
	steps.pauses[bin] = reader.uint();
	const several = present & (present - 1);
	for (let g = 0; g < GENERATIONS; g++)
		if (present >> g & 1)
			steps.byGeneration[g][bin] = several ? reader.uint() : overlap;
	if (steps.perBin === 1) {
		steps.maxOverlap[bin] = overlap;
		steps.maxCost[bin] = steps.cost[bin];
		steps.maxGeneration[bin] = steps.oldest(bin);
		return;
	}
	steps.maxOverlap[bin] = reader.uint();
	steps.maxCost[bin] = steps.maxOverlap[bin] - reader.int();
	const generation = reader.uint() - 1;
	steps.maxGeneration[bin] = generation < 3 ? generation : -1;
}

function readSteps(track) {
	const PAUSED = 1 << 4, RSS = 1 << 5, RSS_SAME = 1 << 6;
	const steps = emptySteps(track), reader = new Reader(track.data);
	let end = 0, rss = 0;
	for (let bin = 0; bin < steps.bins; bin++) {
		const first = bin * steps.perBin;
		const start = end + reader.int(), sum = reader.uint();
		let extent = sum, max = sum, maxAt = first;
		if (steps.perBin > 1) {
			extent += reader.int();
			max = reader.uint();
			maxAt = first + reader.uint();
		}
		end = start + extent;
		steps.start[bin] = start;
		steps.end[bin] = end;
		steps.sum[bin] = sum;
		steps.max[bin] = max;
		steps.maxAt[bin] = maxAt;
		steps.maxGeneration[bin] = -1;
		const flags = reader.uint();
		if (flags & PAUSED)
			readBinPauses(reader, steps, bin, flags & 15);
		if (flags & RSS)
			rss += reader.int();
		steps.rss[bin] = flags & (RSS | RSS_SAME) ? rss * 1024 : NaN;
	}
	return steps;
}

/* A column as html_column() in html_pack.c wrote it, into @array; -1: not known. */
function readColumn(column, array) {
	const reader = new Reader(column.runs || column.plain);
	let at = 0, before = 0;
	while (at < array.length) {
		const value = reader.uint() - (column.known ? 1 : 0);
		for (let i = column.runs ? reader.uint() : 1; i > 0 && at < array.length; i--) {
			before = column.rising ? before + value : value;
			array[at++] = before;
		}
		if (reader.at >= reader.bytes.length)
			break;
	}
	return array;
}

/* Pauses one by one, by start: an array for each of their facts. */
function readPauses(kept) {
	const {columns, count} = kept;
	const read = (name, Kind = Float64Array) => readColumn(columns[name], new Kind(count));
	const start = read("start_us"), duration = read("duration_us");
	return {
		count, start, end: start.map((at, i) => at + duration[i]), cost: read("cost_us"),
		class: read("class", Uint8Array), cause: read("cause", Uint8Array),
		worker: read("worker", Uint8Array), slept: read("slept", Uint8Array),
		collected: read("collected"), pid: read("pid"), stack: read("stack", Uint32Array),
		reason: read("reason", Uint32Array), ttsp: read("ttsp_us"),
	};
}

/* The stack table: node 0 is the empty stack, frame 0 no frame. */
function readNodes(text) {
	const reader = new Reader(text), parent = [0], frame = [0], trigger = [0];
	while (reader.at < reader.bytes.length) {
		parent.push(parent.length - reader.uint());
		frame.push(reader.uint());
		trigger.push(reader.uint());
	}
	return {parent, frame, trigger};
}

/* The first index in sorted @array[0 … count) whose value is greater than @value. */
function after(array, value, count = array.length) {
	let low = 0, high = count;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (array[middle] <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
