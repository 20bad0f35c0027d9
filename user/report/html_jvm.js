/* The facts of one pause: those of a safepoint, and those of any other runtime. */

/* What a page's recording has beside or instead of CPython: 0 no JVM, 1 only JVMs, 2 both. */
function jvms() {
	return page.data.jvm;
}

function threadName(name, tid) {
	return name ? name + " (" + tid + ")" : "thread " + tid;
}

/* "512 MiB → 98 MiB" */
function heapChange({heap_before: before, heap_after: after}) {
	const known = n => n === null ? "?" : bytes(n);
	return before === null && after === null ? "-" : known(before) + " → " + known(after);
}

/* What a runtime says of its pauses in figures: [{name, unit, value}, …]. */
function makeFacts(facts, parent) {
	const list = make("dl", "facts", null, parent);
	for (const {name, unit, value} of facts) {
		const pair = make("div", "", null, list);
		make("dt", "", name, pair);
		make("dd", "", UNITS[unit](value), pair);
	}
}

/* Everything that is known of one safepoint, above its stacks. */
function makeSafepoint(facts, parent) {
	const list = make("dl", "facts", null, parent);
	const fact = (name, text) => {
		const pair = make("div", "", null, list);
		make("dt", "", name, pair);
		make("dd", "", text, pair);
	};
	const time = (name, ns) => ns !== null && fact(name, duration(ns));
	fact("Operation", page.data.strings[facts.operation] || "not known");
	if (facts.young > 0 || facts.full > 0)
		fact("Collections", [[facts.young, "young"], [facts.full, "full"]].filter(([n]) => n > 0)
			.map(([n, word]) => n + " " + word).join(", "));
	time("Reaching", facts.ttsp_ns);
	time("Cleanup", facts.cleanup_ns);
	time("At the safepoint", facts.core_ns);
	time("Leaving", facts.leave_ns);
	if (facts.heap_before !== null || facts.heap_after !== null)
		fact("Heap", heapChange(facts));
	if (facts.tid)
		fact("Asked for by", threadName(facts.thread, facts.tid));
	if (facts.late_tid !== null)
		fact("Late", threadName(facts.late_thread, facts.late_tid));
	if (!facts.exact)
		fact("Times", "of probes, not of HotSpot's own clock");
}

/* What a row of a table of pauses unfolds. */
function makePause(row, parent) {
	const facts = row.safepoint;
	if (facts)
		makeSafepoint(facts, parent);
	else if (row.facts)
		makeFacts(row.facts, parent);
	makeStack(row.stack, parent);
	if (facts && facts.late_stack) {
		make("p", "quiet", "Where " + threadName(facts.late_thread, facts.late_tid) + " was:", parent);
		makeStack(facts.late_stack, parent);
	}
}

/* Of rows with .ttsp in ns, UNKNOWN -1. */
function reachColumn() {
	return {title: "Reach", help: "Time to safepoint: until all threads stood still", narrow: true,
		value: row => row.ttsp < 0 ? null : row.ttsp,
		text: row => row.ttsp < 0 ? "-" : duration(row.ttsp)};
}
