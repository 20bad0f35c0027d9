/* The longest pauses, with their way into the timeline, and what was recorded. */

/* Times in these columns are ns. */
function timeColumn(title, name, help) {
	return {title, help, value: row => row[name], text: row => duration(row[name])};
}

function countColumn(title, name, help) {
	const known = row => row[name] !== null && row[name] >= 0;
	return {title, help, value: row => known(row) ? row[name] : null,
		text: row => known(row) ? count(row[name]) : "-"};
}

/* Rows of the page's longest pauses as pauseRow() makes them, with what only these have. */
function longestRow(pause) {
	const known = n => n === null ? -1 : n;
	return {
		...pause, start: pause.start_ns, duration: pause.duration_ns, cost: pause.cost_ns,
		cause: causeOf(pause.cause, pause.reason), collected: known(pause.collected),
		before: known(pause.rss_start), behind: known(pause.rss_end),
		track: known(pause.track), step: known(pause.step),
		ttsp: pause.ttsp_ns === undefined ? -1 : known(pause.ttsp_ns),
	};
}

function stepColumn(lines) {
	const fill = function (row, td) {
		if (row.step < 0 || !lines[row.track])
			td.textContent = row.step >= 0 ? count(row.step) : row.track >= 0 ?
				"outside" : "-";
		else
			makeButton(count(row.step), "link", td, () =>
				lines[row.track].goTo(row.step),
				"Show step " + count(row.step) + " in the timeline");
	};
	return {title: "Step", value: row => row.step < 0 ? null : row.step, cell: fill};
}

function addLongest(parent, lines) {
	const rows = page.data.longest.map(longestRow), columns = pauseColumns();
	const known = n => n !== undefined && n !== null;
	if (!rows.length)
		return;
	if (rows.some(row => row.before >= 0 && row.behind >= 0))
		columns.push({title: "RSS", help: "Resident memory before and after", narrow: true,
			value: row => row.before < 0 ? null : row.behind - row.before,
			text: row => row.before < 0 || row.behind < 0 ? "-" :
				bytes(row.before) + " → " + bytes(row.behind)});
	if (rows.some(row => known(row.heap_after)))
		columns.push({title: "Heap", help: "In use before and after", narrow: true,
			value: row => row.facts ? row.heap_before - row.heap_after : null,
			text: row => row.facts ? heapChange(row.heap_before, row.heap_after) : "-"});
	if (new Set(rows.map(row => row.pid)).size > 1)
		columns.push({title: "Process", narrow: true, value: row => row.pid,
			text: row => String(row.pid)});
	if (rows.some(row => row.step >= 0))
		columns.push(stepColumn(lines));
	columns.push(triggerColumn());
	new Table(parent, columns, rows, {caption: "Longest pauses", shown: 10,
		unfold: makePause});
}

function addRecorded(parent) {
	const {recording, drops, left_out: left} = page.data;
	const title = make("h2", "", "What was recorded", parent, {id: "recorded-title"});
	parent.setAttribute("aria-labelledby", title.id);
	const list = make("dl", "facts", null, parent);
	const fact = (name, text) => {
		if (!text)
			return;
		const pair = make("div", "", null, list);
		make("dt", "", name, pair);
		make("dd", "", text, pair);
	};
	fact("Host", recording.host);
	fact("Begun", recording.wall_s > 86400 ? new Date(1000 *
		recording.wall_s).toLocaleString() : "");
	fact("Recorded", duration(recording.span_ns));
	fact("Lost", drops.length ? plural(drops.reduce((sum, drop) => sum + drop.count, 0),
		"event") + " (" +
		drops.map(drop => drop.cause).join(", ") + ")" : "nothing");
	fact("Boot", recording.boot_id);
	fact("gctrace", recording.version);
	fact("Held in this page", left.pauses ? "the longest " + count(page.held) +
		" pauses one by one; " +
		plural(left.pauses, "shorter one") + " (" + duration(left.pause_ns) +
		", the longest " +
		duration(left.max_ns) + ") in the sums only" : "every pause");
	if (page.data.track_count > page.data.tracks.length)
		fact("Left out", plural(page.data.track_count - page.data.tracks.length,
			"process") +
			" with steps: gctrace report has them");
	page.data.recorded.forEach(table => addTable(parent, table));
}
