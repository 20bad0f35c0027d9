/* What only JVMs have: the facts of a safepoint, and tables of what they, stalls and phases add up to. */

const SAFEPOINT_KINDS = ["young", "concurrent step", "full", "not GC", "unknown"];

/* What a page's recording has beside or instead of CPython: 0 no JVM, 1 only JVMs, 2 both. */
function jvms() {
	return page.data.jvm || 0;
}

/* Arrays as html_safepoint_write() in html_jvm.c wrote them; ns and bytes, -1: not known. */
function safepointOf(row) {
	if (!row)
		return null;
	const [kind, operation, reason, ttsp, cleanup, core, leave, before, behind, young, full, exact, tid,
		thread, lateTid, lateThread, lateStack] = row;
	return {
		kind: SAFEPOINT_KINDS[kind], operation: page.data.strings[operation],
		reason: page.data.strings[reason], ttsp, cleanup, core, leave, before, behind, young, full,
		exact, tid, thread, lateTid, lateThread, lateStack,
	};
}

function threadName(name, tid) {
	return name ? name + " (" + tid + ")" : "thread " + tid;
}

/* "512 MiB → 98 MiB" */
function heapChange(before, behind) {
	const known = n => n < 0 ? "?" : bytes(n);
	return before < 0 && behind < 0 ? "-" : known(before) + " → " + known(behind);
}

/* Everything that is known of one safepoint, above its stacks. */
function makeSafepoint(facts, parent) {
	const list = make("dl", "facts", null, parent);
	const fact = (name, text) => {
		const pair = make("div", "", null, list);
		make("dt", "", name, pair);
		make("dd", "", text, pair);
	};
	const time = (name, ns) => ns >= 0 && fact(name, duration(ns));
	fact("Operation", facts.operation || "not known");
	if (facts.young > 0 || facts.full > 0)
		fact("Collections", [[facts.young, "young"], [facts.full, "full"]].filter(([n]) => n > 0)
			.map(([n, word]) => n + " " + word).join(", "));
	time("Reaching", facts.ttsp);
	time("Cleanup", facts.cleanup);
	time("At the safepoint", facts.core);
	time("Leaving", facts.leave);
	if (facts.before >= 0 || facts.behind >= 0)
		fact("Heap", heapChange(facts.before, facts.behind));
	if (facts.tid)
		fact("Asked for by", threadName(facts.thread, facts.tid));
	if (facts.lateTid >= 0)
		fact("Late", threadName(facts.lateThread, facts.lateTid));
	if (!facts.exact)
		fact("Times", "of probes, not of HotSpot's own clock");
}

/* What a row of a table of pauses unfolds. */
function makePause(row, parent) {
	const facts = row.safepoint;
	if (facts)
		makeSafepoint(facts, parent);
	makeStack(row.stack, parent);
	if (facts && facts.lateStack) {
		make("p", "quiet", "Where " + threadName(facts.lateThread, facts.lateTid) + " was:", parent);
		makeStack(facts.lateStack, parent);
	}
}

/* Of rows with .ttsp in ns, UNKNOWN -1. */
function reachColumn() {
	return {title: "Reach", help: "Time to safepoint: until all threads stood still", narrow: true,
		value: row => row.ttsp < 0 ? null : row.ttsp,
		text: row => row.ttsp < 0 ? "-" : duration(row.ttsp)};
}

/* Of rows that are arrays: [title, index] → columns. */
const sum = {
	count: (title, i) => ({title, value: row => row[i], text: row => count(row[i])}),
	known: (title, i) => ({title, narrow: true, value: row => row[i] < 0 ? null : row[i],
		text: row => row[i] < 0 ? "-" : count(row[i])}),
	time: (title, i, help) => ({title, help, value: row => row[i], text: row => duration(row[i])}),
	size: (title, i) => ({title, value: row => row[i] < 0 ? null : row[i],
		text: row => row[i] < 0 ? "-" : bytes(row[i])}),
	part: (title, i, whole, help) => ({title, help, narrow: true, value: row => row[i] / (whole(row) || 1),
		text: row => share(row[i], whole(row))}),
	name: (title, i) => ({title, left: true, value: row => page.data.strings[row[i]] || null,
		text: row => page.data.strings[row[i]] || "not known"}),
	word: (title, i) => ({title, left: true, value: row => row[i] || null, text: row => row[i] || "-"}),
};

function addOperations(parent, safepoints, traced) {
	new Table(parent, [
		sum.name("Operation", 0), sum.count("Safepoints", 1), sum.time("Total", 2),
		sum.part("of the time traced", 2, () => traced), {...sum.time("p50", 3), narrow: true},
		sum.time("p99", 4), sum.time("Longest", 5),
		sum.part("Reach", 6, row => row[7], "The part that went by before all threads stood still"),
	], safepoints.operations, {caption: "Safepoints by operation", sort: 2});
	if (safepoints.inexact)
		make("p", "note", "Of " + plural(safepoints.inexact, "safepoint") + " begin or length " +
			"are those of probes, not HotSpot's own: some microseconds off.", parent);
}

function addParts(parent, safepoints) {
	const names = ["Reaching (time to safepoint)", "Cleanup", "At the safepoint", "Leaving"];
	const rows = safepoints.parts.map((part, i) => [names[i], ...part]).filter(row => row[1]);
	if (rows.length)
		new Table(parent, [sum.word("Part", 0), sum.count("Known of", 1), sum.time("Total", 2),
			sum.part("of all", 2, () => safepoints.total_ns), sum.time("Longest", 3)],
		rows, {caption: "Where the time at safepoints went", sort: 2});
}

function addKinds(parent, safepoints, traced) {
	const rows = safepoints.by_kind.map((row, i) => [i, ...row]).filter(row => row[1]);
	new Table(parent, [
		{title: "Kind", left: true, value: row => row[0],
			cell: (row, td) => makeGeneration(row[0] < 3 ? row[0] : -1, td, SAFEPOINT_KINDS[row[0]])},
		sum.count("Safepoints", 1), sum.known("Young", 4), sum.known("Full", 5), sum.time("Total", 2),
		sum.part("of the time traced", 2, () => traced), sum.time("Longest", 3), sum.size("Freed", 6),
	], rows, {caption: "Collections (one safepoint may hold several)", sort: 4});
}

function addLate(parent, late) {
	if (late.length)
		new Table(parent, [
			sum.word("Thread", 0), {...sum.count("TID", 1), text: row => row[1], narrow: true},
			sum.count("Times", 3), sum.time("Reach", 4, "Times to safepoint that it made long"),
			sum.time("Longest", 5),
			{title: "Where", left: true, wide: true,
				value: row => row[6] ? frameOf(page.nodes.frame[row[6]]).name : null,
				cell: (row, td) => makeFrame(page.nodes.frame[row[6]], td)},
		], late, {caption: "Threads that safepoints had to wait for", sort: 3, shown: 10,
			unfold: (row, into) => makeStack(row[6], into)});
}

/* Arrays as put_caller() in html_jvm.c wrote them. */
function addExplicit(parent, callers) {
	const period = row => row[13] ? (row[14] ? "every " : "about every ") + duration(row[13]) : "-";
	if (!callers.length)
		return;
	new Table(parent, [
		{title: "Called by", left: true, wide: true, value: row => row[2] ? frameOf(row[2]).name : null,
			cell: (row, td) => makeFrame(row[2], td)},
		{title: "Because of", left: true, wide: true, value: row => row[3] ? frameOf(row[3]).name : null,
			cell: (row, td) => makeFrame(row[3], td)},
		{...sum.word("Thread", 1), text: row => (row[1] || "-") + (row[4] ? ", trains" : "")},
		sum.count("Calls", 5), {...sum.count("With a collection", 6), narrow: true},
		sum.time("Blocked", 9, "The caller, until it returned"),
		sum.time("Paused", 12, "Everybody, by what it caused"),
		{title: "Period", value: row => row[13] || null, text: period},
	], callers, {caption: "Who called System.gc()", sort: 5, shown: 10});
}

function addWaits(parent) {
	const {stalls, phases} = page.data;
	if (stalls.length)
		new Table(parent, [sum.word("Stall", 0), sum.count("Count", 1), sum.time("Total", 2),
			{...sum.time("p50", 3), narrow: true}, sum.time("p99", 4), sum.time("Longest", 5)],
		stalls, {caption: "Stalls: one thread waited for the collector; not stop-the-world, " +
			"in no total above", sort: 2});
	if (phases.length)
		new Table(parent, [sum.name("Phase", 0), sum.count("Count", 1), sum.time("Total", 2),
			sum.time("Longest", 3)],
		phases, {caption: "Concurrent phases: the program ran meanwhile; one may hold others", sort: 2});
}

function addSafepoints(parent) {
	const {safepoints, recording, explicit} = page.data;
	if (!jvms())
		return;
	if (page.data.gc_only !== undefined)
		make("p", "note", "Left out everywhere (--gc-only): " + plural(page.data.gc_only, "safepoint") +
			" in which nothing was collected.", parent);
	if (safepoints.count) {
		addOperations(parent, safepoints, recording.traced_ns);
		addParts(parent, safepoints);
		addKinds(parent, safepoints, recording.traced_ns);
		if (safepoints.causes.length)
			new Table(parent, [sum.name("Cause", 0), sum.count("Safepoints", 1), sum.time("Total", 2),
				sum.time("Longest", 3)], safepoints.causes, {caption: "Causes", sort: 2});
	}
	if (safepoints.heaps.length)
		new Table(parent, [{...sum.count("PID", 0), text: row => row[0]},
			{title: "After", left: true, value: row => row[1], text: row => SAFEPOINT_KINDS[row[1]]},
			sum.count("Collections", 2), sum.size("First", 3), sum.size("Median", 4),
			sum.size("Last", 5), sum.size("Most", 6)],
		safepoints.heaps, {caption: "Heap in use after collections", ascending: true});
	addLate(parent, safepoints.late);
	addExplicit(parent, explicit);
	addWaits(parent);
}
