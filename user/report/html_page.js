/*
 * Puts the page together: one part for each process that trains, then tables; theme, keys, copying.
 */

const page = {data: null, nodes: null, held: 0};

function addTile(parent, name, figure, note, known) {
	const tile = make("div", "tile", null, parent);
	make("dt", "", name, tile);
	make("dd", "figure", figure, tile);
	if (note)
		make("dd", "aside", note, tile);
	if (known)
		makeSource(known, make("dd", "", null, tile));
}

/* Whether it is known what pauses made @track lose; if not, no figure of it says anything. */
function isTold(track) {
	return track.source !== "untold";
}

/* Of an incomplete recording times are lower bounds. */
function measured() {
	return page.data.recording.complete ? "measured" : "measured, at least";
}

function addTiles(parent, track) {
	const tiles = make("dl", "tiles", null, parent);
	const faster = (what, name) => addTile(tiles, what, duration(track.with[name]),
		isTold(track) ? duration(track.without[name]) + " without pauses (" + track.source + ")" : "",
		"measured");
	addTile(tiles, "Stopped in GC", share(track.overlap_ns, track.time_ns),
		duration(track.overlap_ns) + " of " + duration(track.time_ns), measured());
	if (isTold(track))
		addTile(tiles, "Lost", share(track.cost_ns, track.time_ns), duration(track.cost_ns) +
			(track.interval || ""), track.source);
	else
		addTile(tiles, "Lost", "cannot be told", track.untold);
	faster("Median step", "p50_ns");
	faster("p99 step", "p99_ns");
	faster("Worst step", "max_ns");
	if (track.outside)
		addTile(tiles, "Outside any step", duration(track.outside_ns),
			plural(track.outside, "pause") +
			(track.unseen ? ", " + track.unseen + " before steps could be seen" : ""),
			measured());
	if (track.worker_pauses)
		addTile(tiles, "In worker processes", duration(track.worker_ns),
			plural(track.worker_pauses, "pause") +
			"; waited for " + duration(track.worker_waited_ns), measured());
	gpuTile(track.gpu_steps, (...tile) => addTile(tiles, ...tile));
}

function addSignal(parent, track) {
	const line = make("p", "lead", plural(track.count, track.guess ? "interval" : "step"), parent);
	if (track.measured) {
		line.append(", marked by ");
		make("code", "", track.signal, line);
		if (track.per_step > 1 && !track.guess)
			line.append(", " + track.per_step + " marks a step");
	} else {
		line.append(": windows of time, not steps");
	}
	if (!track.guess)
		line.append("; period " + duration(track.period_ns) + " ± " +
			(100 * (track.variation || 0)).toFixed(1) + " %");
	line.append(", confidence " + (track.confidence || 0).toFixed(2) +
		(track.guess ? "." : track.measured ? "; measured." : "; inferred."));
	addTableOf(parent, track.tables, "about");
}

/* One colour and what it stands for; @known: how that is known, unless it was measured. */
function addKey(legend, className, text, known) {
	const item = make("span", "", null, legend);
	if (className)
		make("i", "swatch " + className, null, item, {"aria-hidden": "true"});
	item.append(text);
	if (known && known !== "measured")
		makeSource(known, item);
}

function addLegend(parent, steps, line) {
	const legend = make("p", "legend", null, parent);
	const entry = (className, text, known) => addKey(legend, className, text, known);
	entry("bar", "step without its pauses");
	for (let g = 0; g < GENERATIONS; g++)
		if (steps.byGeneration[g].some(value => value > 0))
			entry("gen" + g, className(g) + " pauses");
	if (steps.overlap.some((value, i) => value > steps.cost[i] + 0.03 * steps.max[i]))
		entry("absorbed", "pause time that was not lost", steps.track.source);
	entry("pale", "pale: the slowest step in a pixel; solid: their mean");
	entry("median", "median");
	gpuLegend(line.gpus, steps.track.gpu_memory, entry);
}

function addDistribution(parent, track) {
	const pair = make("div", "pair distribution", null, parent);
	const left = make("div", "", null, pair), right = make("div", "", null, pair);
	make("h3", "", isTold(track) ? "Step time with and without pauses" : "Step time", left);
	const legend = make("p", "legend", null, left);
	const drawn = [["gen2", "with pauses"], ["bar", "without what they cost", track.source]];
	for (const key of isTold(track) ? drawn : drawn.slice(0, 1))
		addKey(legend, ...key);
	new Histogram(left, track);
	addTableOf(right, track.tables, "figures");
}

function addTrack(parent, track, index, several) {
	const section = make(several ? "details" : "section", "track", null, parent);
	const holder = several ? make("summary", "", null, section) : section;
	section.open = index < 2;
	make("h2", "", (track.guess ? "What may be steps of " : "Steps of ") + track.name, holder);
	addSignal(section, track);
	if (track.guess)
		return null;
	addTiles(section, track);
	if (!track.count)
		return null;
	const steps = readSteps(track), pauses = readPauses(track.kept);
	page.held += pauses.count;
	const detail = new StepDetail(document.createDocumentFragment(), steps, pauses);
	const line = new TimeLine(section, steps, pauses, detail);
	addLegend(section, steps, line);
	section.appendChild(detail.root);
	addDistribution(section, track);
	addTableOf(section, track.tables, "worst", line);
	const goTo = line.goTo.bind(line);
	line.goTo = step => {
		section.open = true;
		line.resize();
		goTo(step);
	};
	return line;
}

/* The pauses of processes without steps. */
function addOthers(parent) {
	const {other, recording, note, tracks, summary} = page.data;
	const pauses = readPauses(other.kept);
	page.held += pauses.count;
	if (tracks.length && !pauses.count)
		return;
	const section = make("section", "track", null, parent);
	make("h2", "", tracks.length ? "Pauses of processes without steps" : "Pauses over time",
		section);
	if (tracks.length)
		make("p", "lead", plural(other.elsewhere, "pause") + ", " +
			duration(other.elsewhere_ns) +
			", charged to no step.", section);
	else
		make("p", "lead", note ? asSentence(note) : "There are no steps in this recording.", section);
	if (!pauses.count) {
		make("p", "note", summary.count ? "" : "There was no pause.", section);
		return;
	}
	const detail = new PauseDetail(document.createDocumentFragment());
	const line = new PauseLine(section, pauses, other.gpus, recording.span_ns / 1000, detail);
	const legend = make("p", "legend", null, section);
	for (let g = 0; g < GENERATIONS; g++)
		if (pauses.class.includes(g))
			makeClass(g, legend);
	gpuLegend(line.gpus, null, (className, text) => addKey(legend, className, text));
	section.appendChild(detail.root);
}

/* Not every page may use the clipboard: where this one may not, the line is selected instead. */
function addCopying() {
	for (const pre of document.querySelectorAll(".card pre")) {
		const button = makeButton("Copy", "copy", null, () => {
			const text = pre.querySelector("code").textContent;
			const done = () => button.textContent = "Copied";
			const select = () => {
				window.getSelection().selectAllChildren(pre.querySelector("code"));
				if (document.execCommand("copy"))
					done();
			};
			if (navigator.clipboard)
				navigator.clipboard.writeText(text).then(done, select);
			else
				select();
			setTimeout(() => button.textContent = "Copy", 2000);
		}, "Copy this line");
		pre.appendChild(button);
	}
}

const KEYS = [["← →", "move the cursor"], ["Home End", "first and last"],
	["n p", "next and previous slow step"],
	["+ − ↑ ↓", "zoom about the cursor"], ["Shift ← →, Page ↑ ↓", "pan"],
	["Enter", "show the step's pauses"],
	["Esc", "close them, then show everything"], ["0", "show everything"],
	["drag", "zoom into what is dragged over"],
	["Ctrl + wheel", "zoom"], ["t", "light or dark"], ["?", "this list"]];

function addKeys(parent) {
	const dialog = make("dialog", "keys", null, document.body,
		{"aria-labelledby": "keys-title"});
	make("h2", "", "Keys", dialog, {id: "keys-title"});
	make("p", "lead",
		"Tab goes from part to part; most keys work in a timeline that has the focus.",
		dialog);
	const list = make("dl", "", null, dialog);
	for (const [keys, what] of KEYS) {
		const dt = make("dt", "", null, list);
		keys.split(" ").forEach(key => make("kbd", "", key, dt));
		make("dd", "", what, list);
	}
	makeButton("Close", "", dialog, () => dialog.close());
	const show = () => dialog.open ? dialog.close() : dialog.showModal();
	makeButton("? Keys", "tool", parent, show);
	document.addEventListener("keydown", event => {
		if (event.ctrlKey || event.metaKey || event.altKey ||
			event.target.matches("input, textarea"))
			return;
		if (event.key === "?")
			show();
		else if (event.key === "t" && !dialog.open)
			theme.choose(!theme.dark);
	});
}

/*
 * A flame graph's frame is as high as its picture, within reason; its stacks begin at the bottom. On paper nothing scrolls:
 * there the picture is drawn as wide as its words need, and scaled to the frame.
 */
function fitFlame(frame) {
	const lay = (svg, wide) => {
		svg.removeAttribute("viewBox");
		svg.style.display = "block";
		svg.style.width = wide;
		svg.style.height = "";
		frame.contentWindow.dispatchEvent(new Event("resize"));
	};
	const fit = () => {
		const svg = frame.contentDocument && frame.contentDocument.querySelector("svg");
		const height = svg && Number(svg.getAttribute("height")), width = frame.clientWidth;
		if (!svg)
			return;
		if (paper.on) {
			const words = Array.from(svg.querySelectorAll(".line, .hint"), text => text.getBBox());
			const wide = Math.ceil(Math.max(width, width * height / PAPER.high,
				...words.map(box => box.x + box.width + 32)));
			lay(svg, wide + "px");
			svg.setAttribute("viewBox", "0 0 " + wide + " " + height);
			svg.style.width = "100%";
			svg.style.height = "100vh";
			frame.style.height = Math.ceil(width * height / wide) + 2 + "px";
		} else {
			lay(svg, "");
			frame.style.height = Math.min(height + 2, 640) + "px";
			frame.contentWindow.scrollTo(0, height);
		}
		theme.paintFlame();
	};
	frame.addEventListener("load", fit);
	paper.listeners.push(fit);
	fit();
}

function startReport(data, tools) {
	const tables = document.getElementById("tables");
	page.data = data;
	page.nodes = readNodes(data.nodes);
	addKeys(tools);
	addCopying();
	const tracks = document.getElementById("tracks"), several = page.data.tracks.length > 1;
	const lines = page.data.tracks.map((track, index) =>
		addTrack(tracks, track, index, several));
	addOthers(tracks);
	const section = make("section", "", null, tables, {"aria-labelledby": "tables-title"});
	if (page.data.summary.count)
		make("h2", "", "The pauses", section, {id: "tables-title"});
	addTable(section, page.data.triggers);
	page.data.longest.forEach(table => addTable(section, table, lines));
	page.data.tables.forEach(table => addTable(section, table));
	addRecorded(document.getElementById("recorded"));
}

function start() {
	const tools = document.getElementById("tools"), data = document.getElementById("data");
	theme.start(tools);
	paper.start();
	document.querySelectorAll("iframe").forEach(fitFlame);
	if (data) /* a page of differences is all markup */
		startReport(JSON.parse(data.textContent), tools);
	document.documentElement.dataset.readyMs = performance.now().toFixed(1);
}

start();
