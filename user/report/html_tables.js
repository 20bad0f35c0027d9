/* What was recorded. */

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
