/* What the runtime of a pause says of it beside its times. */

function threadName(name, tid) {
	return name ? name + " (" + tid + ")" : "thread " + tid;
}

/* "512 MiB → 98 MiB" */
function heapChange(before, after) {
	const known = n => n === null ? "?" : bytes(n);
	return before === null && after === null ? "-" : known(before) + " → " + known(after);
}

/* A fact as text, by its unit. */
function factText(fact) {
	const {unit, value} = fact;
	if (unit === "string")
		return page.data.strings[value] || "not known";
	if (unit === "thread")
		return threadName(fact.thread, value);
	if (unit === "change")
		return heapChange(fact.before, fact.after);
	return unit === "text" ? value : UNITS[unit](value);
}

/* @facts: [{name, unit, value}, …] */
function makeFacts(facts, parent) {
	const list = make("dl", "facts", null, parent);
	for (const fact of facts) {
		const pair = make("div", "", null, list);
		make("dt", "", fact.name, pair);
		make("dd", "", factText(fact), pair);
	}
}

/* What a row of a table of pauses unfolds. */
function makePause(row, parent) {
	if (row.facts)
		makeFacts(row.facts, parent);
	makeStack(row.stack, parent);
	if (row.late_stack) {
		const late = row.facts.filter(({unit}) => unit === "thread").pop();
		make("p", "quiet", "Where " + factText(late) + " was:", parent);
		makeStack(row.late_stack, parent);
	}
}

/* Of rows with .ttsp in ns, UNKNOWN -1. */
function reachColumn() {
	return {title: "Reach", help: "Time to safepoint: until all threads stood still", narrow: true,
		value: row => row.ttsp < 0 ? null : row.ttsp,
		text: row => row.ttsp < 0 ? "-" : duration(row.ttsp)};
}
