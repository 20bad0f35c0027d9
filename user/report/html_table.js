/* Tables that sort by any column and unfold rows. In: rows of any kind and how to read them. */

/*
 * @columns: [{title, value(row) → number or string or null, text(row), cell(row, td), left, narrow,
 * help, known}, …]: value sorts; cell fills the cell, else text. @options: caption, known, sort (column),
 * ascending, shown (rows at first), unfold(row, into), unfolded (the first row is).
 */
class Table {
	constructor(parent, columns, rows, options) {
		this.columns = columns;
		this.rows = rows.slice();
		this.options = options;
		this.sort = options.sort || 0;
		this.ascending = Boolean(options.ascending);
		this.all = false;
		this.open = new Set(options.unfolded && rows.length ? [this.sorted()[0]] : []);
		this.root = make("div", "table", null, parent);
		const scroll = make("div", "scroll", null, this.root);
		const table = make("table", "", null, scroll);
		const caption = make("caption", "", null, table);
		make("span", "", options.caption, caption);
		if (options.known)
			makeSource(options.known, caption);
		this.makeHead(make("thead", "", null, table));
		this.body = make("tbody", "", null, table);
		this.rest = make("p", "note rest", null, this.root);
		this.more = makeButton("", "more", this.root, () => {
			this.all = !this.all;
			this.fill();
		});
		this.fill();
	}

	makeHead(head) {
		const row = make("tr", "", null, head);
		if (this.options.unfold)
			make("th", "fold", null, row, {scope: "col"}).appendChild(make("span",
				"unseen", "Details"));
		this.heads = this.columns.map((column, i) => {
			const th = make("th", this.classOf(column), null, row, {scope: "col"});
			const button = makeButton(column.title, "sort", th, () => this.sortBy(i));
			if (column.help)
				button.title = column.help;
			if (column.known && column.known !== this.options.known)
				makeSource(column.known, th);
			return th;
		});
	}

	classOf(column) {
		return (column.left ? "left" : "number") + (column.wide ? " wide" : "") +
			(column.narrow ? " spare" : "");
	}

	sortBy(i) {
		this.ascending = i === this.sort ? !this.ascending : Boolean(this.columns[i].left);
		this.sort = i;
		this.fill();
	}

	/* What is not known comes last either way. */
	sorted() {
		const value = this.columns[this.sort].value, sign = this.ascending ? 1 : -1;
		return this.rows.map(row => [value(row), row]).sort(([a], [b]) => {
			if (a === null || b === null)
				return (a === null) - (b === null);
			return sign * (a < b ? -1 : a > b ? 1 : 0);
		}).map(([, row]) => row);
	}

	fill() {
		const most = this.options.shown || 12, rows = this.sorted();
		this.body.replaceChildren();
		for (const row of this.all ? rows : rows.slice(0, most))
			this.addRow(row);
		this.heads.forEach((th, i) => th.setAttribute("aria-sort", i !== this.sort ?
			"none" :
			this.ascending ? "ascending" : "descending"));
		this.more.hidden = rows.length <= most;
		this.rest.hidden = this.all || rows.length <= most;
		this.rest.textContent = "… and " + count(rows.length - most) + " more.";
		this.more.textContent = this.all ? "Show " + most : "Show all " +
			count(rows.length);
	}

	addRow(row) {
		const tr = make("tr", "", null, this.body);
		if (this.options.unfold)
			this.addFold(row, tr);
		for (const column of this.columns) {
			const td = make("td", this.classOf(column), null, tr);
			if (column.cell)
				column.cell(row, td);
			else
				td.textContent = column.text ? column.text(row) : column.value(row);
		}
	}

	addFold(row, tr) {
		const below = make("tr", "below", null, this.body);
		const inside = make("td", "", null, below, {colspan: this.columns.length + 1});
		const show = open => {
			below.hidden = !open;
			button.setAttribute("aria-expanded", String(open));
			tr.classList.toggle("open", open);
			if (open && !inside.firstChild)
				this.options.unfold(row, inside);
		};
		const button = makeButton("", "fold", make("td", "fold", null, tr), () => {
			if (!this.open.delete(row))
				this.open.add(row);
			show(this.open.has(row));
		}, this.options.foldLabel || "Stack");
		tr.addEventListener("click", event => {
			if (!event.target.closest("button") && !String(window.getSelection()))
				button.click();
		});
		show(this.open.has(row));
	}
}

/*
 * How columns of a unit read what html_table.c wrote. A number may come as {value, words}; null: not known. Of a frame or
 * a stack a string says why there is none.
 */
const UNITS = {
	count, id: String, ns: duration, bytes, times: n => (n / 1000).toFixed(1) + " ×",
	bool: n => n ? "yes" : "no",
	moment: ns => moment(ns / 1000),
	real: (n, digits) => n.toFixed(digits), part: (n, digits) => (100 * n).toFixed(digits) + " %",
};

function frameColumn(column, frame) {
	const known = row => typeof row[column.key] === "number" ? frame(row[column.key]) : 0;
	return {
		left: true, value: row => known(row) ? frameOf(known(row)).name : null,
		cell: (row, td) => makeFrame(known(row), td,
			typeof row[column.key] === "string" ? row[column.key] : column.none),
	};
}

function numberColumn(column) {
	const value = row => typeof row[column.key] === "object" && row[column.key] ? row[column.key].value :
		row[column.key];
	return {value, text: row => value(row) === null ? column.none || "-" :
		row[column.key].words || UNITS[column.unit](value(row), column.digits || 0)};
}

/* A text with what belongs to it: another column's text under the pointer, another's key behind it. */
function textCell({key, none, code, tip, badge}, row, td) {
	if (code && row[key])
		make("code", "", row[key], td);
	else
		td.textContent = row[key] || none || "-";
	if (tip)
		td.title = row[tip] || "";
	if (badge && row[badge])
		make("span", "badge", badge, td);
}

/* A step, with its way into the timeline of its track: @line, or of several that which the row names. */
function stepCell(row, key, td, lines) {
	const step = row[key], line = Array.isArray(lines) ? lines[row.track] : lines;
	if (step === null)
		td.textContent = row.track === null ? "-" : "outside";
	else if (line)
		makeButton(count(step), "link", td, () => line.goTo(step),
			"Show step " + count(step) + " in the timeline");
	else
		td.textContent = count(step);
}

/* A model's column → one of Table's. */
function columnOf(column, line) {
	const {key, by, unit, title, help, known, wide, spare, trigger} = column;
	const common = {title, help, known, wide, narrow: spare};
	const byUnit = {
		text: () => ({left: true, value: row => row[by || key],
			cell: (row, td) => textCell(column, row, td)}),
		share: () => ({value: row => row[key] && row[key].part / (row[key].whole || 1),
			text: row => row[key] ? share(row[key].part, row[key].whole) : "-"}),
		class: () => ({left: true, value: row => row[key] && row[key].order,
			cell: (row, td) => row[key] ? makeClass(row[key].place, td, row[key].name) :
				td.textContent = "-"}),
		step: () => ({value: row => row[key], cell: (row, td) => stepCell(row, key, td, line)}),
		change: () => ({value: row => row[key] && row[key].before - row[key].after,
			text: row => row[key] ? bytes(row[key].before) + " → " + bytes(row[key].after) : "-"}),
		frame: () => frameColumn(column, id => id),
		stack: () => frameColumn(column, node => (trigger ? page.nodes.trigger : page.nodes.frame)[node]),
	};
	return {...common, ...(byUnit[unit] || (() => numberColumn(column)))()};
}

/* What a row unfolds: what is known of its @folded columns, its @stack, stacks of others. */
function unfoldRow(row, folded, stack, parent) {
	const facts = folded.filter(({unit, key, none}) => unit !== "stack" && (row[key] !== null || none));
	const list = facts.length && make("dl", "facts", null, parent);
	for (const column of facts) {
		const pair = make("div", "", null, list);
		make("dt", "", column.title, pair);
		make("dd", "", column.unit === "text" ? row[column.key] || column.none :
			numberColumn(column).text(row), pair);
	}
	makeStack(row[stack.key], parent);
	for (const {key, by} of folded.filter(({unit, key}) => unit === "stack" && row[key])) {
		make("p", "quiet", "Where " + row[by] + " was:", parent);
		makeStack(row[key], parent);
	}
}

/*
 * A table of the model with its notes; nothing of one without rows. A column without a title serves others. @line: the
 * timeline of the track that it is about, if there is one; or all of them, by track.
 */
function addTable(parent, table, line) {
	const columns = table.columns.filter(column => column.title && !column.folded);
	const folded = table.columns.filter(column => column.folded);
	const stack = columns.find(column => column.unit === "stack");
	const sort = columns.findIndex(column => column.key === table.sort);
	if (table.rows.length)
		new Table(parent, columns.map(column => columnOf(column, line)), table.rows, {
			caption: table.caption, known: table.known, sort: Math.max(0, sort), ascending: table.ascending,
			shown: table.shown,
			unfold: stack && ((row, into) => unfoldRow(row, folded, stack, into))});
	if (table.left_out)
		make("p", "note", "And " + count(table.left_out) + " more.", parent);
	table.notes.forEach(note => make("p", note.warning ? "note warn" : "note",
		note.warning || note, parent));
}

/* The one of @tables that has @key, if it has anything to show. */
function addTableOf(parent, tables, key, line) {
	tables.filter(table => table.key === key).forEach(table => addTable(parent, table, line));
}
