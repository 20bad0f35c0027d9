/* One step or one pause looked at closely: its pauses at their place in it, and their stacks. */

/* The frame with page id @id as a reader needs it, or null. */
function frameOf(id) {
	const frame = page.data.frames[id];
	if (!frame)
		return null;
	const [name, file, line, lang] = frame, path = page.data.strings[file] || "";
	return {
		name: page.data.strings[name] || "[unknown]", path, line, mark: lang === 5,
		base: path.slice(path.lastIndexOf("/", path.length - 2) + 1),
	};
}

function placeOf(frame) {
	return frame.base ? frame.base + (frame.line ? ":" + frame.line : "") : "";
}

/* "Trainer.step train.py:41", the place quieter than the name. */
function makeFrame(id, parent, none) {
	const frame = frameOf(id);
	const span = make("span", "frame", null, parent);
	if (!frame) {
		make("span", "quiet", none || "no stack taken", span);
		return span;
	}
	make("span", frame.mark ? "name mark" : "name", frame.name, span);
	make("span", "place", placeOf(frame), span);
	const place = frame.path + (frame.line ? ":" + frame.line : "");
	span.title = frame.name + (frame.path ? "\n" + place : "");
	return span;
}

/* Innermost first; the line that stands for the stack is marked. */
function makeStack(node, parent) {
	const {parent: up, frame, trigger} = page.nodes, stands = trigger[node];
	if (!node) {
		make("p", "quiet",
			"No stack on this page: it was not taken, as for short pauses " +
			"(--stack-min), or left out for lack of room.", parent);
		return;
	}
	const list = make("ol", "stack", null, parent);
	let marked = false;
	for (let at = node; at; at = up[at]) {
		const item = make("li", !marked && frame[at] === stands ? "stands" : "", null,
			list);
		marked = marked || frame[at] === stands;
		makeFrame(frame[at], item);
	}
}

/* Why a pause was: in its runtime's own words, else by the number of its cause. */
function causeOf(cause, reason) {
	return reason ? page.data.strings[reason] : page.data.causes[cause];
}

/* Row @i of what readPauses() gave, as the tables take it. Times in ns. */
function pauseRow(pauses, i) {
	return {
		start: 1000 * pauses.start[i], duration: 1000 * (pauses.end[i] - pauses.start[i]),
		cost: 1000 * pauses.cost[i], collected: pauses.collected[i], stack: pauses.stack[i],
		pid: pauses.pid[i], ttsp: pauses.ttsp[i] < 0 ? -1 : 1000 * pauses.ttsp[i],
		class: pauses.class[i], worker: pauses.worker[i] > 0, slept: pauses.slept[i] > 0,
		cause: causeOf(pauses.cause[i], pauses.reason[i]), explained: pauses.reason[i] > 0,
	};
}

/* Of rows with .ttsp in ns, UNKNOWN -1. */
function reachColumn() {
	return {title: "Reach", help: "Time to safepoint: until all threads stood still", narrow: true,
		value: row => row.ttsp < 0 ? null : row.ttsp,
		text: row => row.ttsp < 0 ? "-" : duration(row.ttsp)};
}

/* The columns of the pauses of a step of @track. */
function pauseColumns(track) {
	return [
		{title: "Duration", value: row => row.duration,
			text: row => duration(row.duration)},
		{title: page.data.by_class ? "GC" : "Generation", left: true,
			value: row => row.class < GENERATIONS - 1 ? row.class : -1,
			cell: (row, td) => makeClass(row.class, td)},
		{title: page.data.by_class ? "Reason" : "Cause", left: true, narrow: true, value: row => row.cause,
			text: row => row.cause + (row.slept ? ", slept" : "") +
			(row.worker ? ", in a worker" : "")},
		...isTold(track) ? [{title: "Lost",
		help: "Its part of what the loop lost to pauses", known: track.source,
			value: row => row.cost, text: row => duration(row.cost)}] : [],
		...page.data.reach ? [reachColumn()] : [],
		...page.data.by_class ? [] : [{title: "Collected", help: "Objects freed", narrow: true,
			value: row => row.collected < 0 ? null : row.collected,
			text: row => row.collected < 0 ? "-" : count(row.collected)}],
		{title: "At", value: row => row.start, text: row => moment(row.start / 1000)},
	];
}

function triggerColumn() {
	const frame = row => page.nodes.trigger[row.stack];
	return {title: "Triggered in", left: true, wide: true,
		value: row => frame(row) ? frameOf(frame(row)).name : null,
		cell: (row, td) => makeFrame(frame(row), td)};
}

/* What a PauseLine opens. */
class PauseDetail {
	constructor(parent) {
		this.root = make("section", "detail", null, parent,
			{"aria-label": "The chosen pause"});
		this.root.hidden = true;
	}

	show(pauses, i) {
		const row = pauseRow(pauses, i);
		this.root.replaceChildren();
		this.root.hidden = false;
		const head = make("div", "detail-head", null, this.root);
		make("h3", "", "Pause of " + duration(row.duration) + " at " +
			moment(row.start / 1000), head);
		makeButton("×", "close", head, () => this.root.hidden = true, "Close");
		const line = make("p", "", null, this.root);
		makeClass(row.class, line);
		if (row.explained)
			line.append(" · " + row.cause + (row.ttsp < 0 ? "" : " · reached in " + duration(row.ttsp)));
		makeStack(row.stack, this.root);
	}
}

/* What a TimeLine opens. */
class StepDetail {
	constructor(parent, steps, pauses) {
		this.steps = steps;
		this.pauses = pauses;
		this.root = make("section", "detail", null, parent,
			{"aria-label": "The chosen step", "aria-live": "polite"});
		this.root.hidden = true;
	}

	shown() {
		return !this.root.hidden;
	}

	hide() {
		this.root.hidden = true;
	}

	/* The kept pauses that lie in @bin. */
	pausesIn(bin) {
		const rows = [], from = this.steps.start[bin], to = this.steps.end[bin];
		const p = this.pauses;
		for (let i = after(p.start, to) - 1; i >= 0; i--) {
			if (p.end[i] > from && p.start[i] < to)
				rows.push(pauseRow(p, i));
			if (p.start[i] < from - this.longest())
				break;
		}
		return rows;
	}

	longest() {
		if (this.longestPause === undefined) {
			this.longestPause = 0;
			for (let i = 0; i < this.pauses.count; i++)
				this.longestPause = Math.max(this.longestPause,
					this.pauses.end[i] - this.pauses.start[i]);
		}
		return this.longestPause;
	}

	show(bin, goTo) {
		const s = this.steps, size = s.size(bin), first = bin * s.perBin;
		const rows = this.pausesIn(bin);
		this.root.replaceChildren();
		this.root.hidden = false;
		const head = make("div", "detail-head", null, this.root);
		make("h3", "", size === 1 ? "Step " + count(first) :
			"Steps " + count(first) + " to " + count(first + size - 1), head);
		const move = (text, label, to) => makeButton(text, "", head, () => {
			goTo(to);
			this.show(to, goTo);
		}, label).disabled = to < 0 || to >= s.bins;
		move("‹", "The step before", bin - 1);
		move("›", "The step after", bin + 1);
		makeButton("×", "close", head, () => this.hide(), "Close");
		make("p", "", this.sentence(bin), this.root);
		if (rows.length) {
			this.drawStrip(bin, rows);
			this.addTable(rows);
		}
		if (s.pauses[bin] > rows.filter(row => !row.worker).length)
			make("p", "note", count(s.pauses[bin]) +
				" pauses lie in it; the page holds the longest " +
				count(page.held) + " of the recording one by one, " +
				count(rows.length) +
				" of these.", this.root);
	}

	sentence(bin) {
		const s = this.steps, size = s.size(bin), overlap = 1000 * s.overlap[bin];
		const took = size === 1 ? "It took " + duration(1000 * s.max[bin]) :
			"They took " + duration(1000 * s.sum[bin]) + ", the slowest (" +
			count(s.maxAt[bin]) + ") " +
			duration(1000 * s.max[bin]);
		if (!s.pauses[bin])
			return took + "; no pause lies in it: whatever made it slow, GC did not.";
		return took + ", " + duration(overlap) + " (" + share(overlap, 1000 * s.sum[bin]) +
			") of it in " +
			plural(s.pauses[bin], "pause") + (!isTold(s.track) ?
			"; how much was lost cannot be told." :
			"; without, " + (size === 1 ? "it" : "they") +
			" would have taken about " + duration(1000 * Math.max(0, s.sum[bin] - s.cost[bin])) +
			" (" + s.track.source + ").");
	}

	/* The step as a bar, its pauses where they were. */
	drawStrip(bin, rows) {
		const from = 1000 * this.steps.start[bin];
		const span = Math.max(1, 1000 * this.steps.end[bin] - from);
		const strip = make("div", "strip", null, this.root, {"aria-hidden": "true"});
		const longest = rows.slice().sort((a, b) => b.duration - a.duration).slice(0, 500);
		for (const row of longest) {
			const piece = make("i", "gen" + row.class, null, strip);
			const left = Math.max(0, (row.start - from) / span);
			piece.style.left = 100 * left + "%";
			piece.style.width = 100 * Math.min(1 - left,
				(row.start + row.duration - from) / span - left) + "%";
		}
	}

	addTable(rows) {
		new Table(this.root, [...pauseColumns(this.steps.track), triggerColumn()], rows,
			{caption: "Its pauses", known: "measured",
			unfold: (row, into) => makeStack(row.stack, into), unfolded: true,
			shown: 8});
	}
}
