/*
 * A picture along one axis that is zoomed, panned and read out, by pointer and by keys alike. What
 * it shows is up to its subclasses: TimeLine in html_timeline.js, PauseLine in html_pauses.js.
 */

const CLICK_PX = 4; /* a pointer that moved less than this has clicked */
const REPEAT = 1.6; /* one key or button press zooms by this */

class View {
	/*
	 * Subclasses have: domain() → [low, high], least() → the narrowest span, height(), draw(),
	 * drawWhole(context, width, height), pick(px) → item or -1, place(item) → [from, to],
	 * facts(item) → [[what, figure, generation], …], open(item), move(item, direction) → item,
	 * ends() → [first item, last item], both < 0 if none; and .hint.
	 */
	constructor(parent, label) {
		this.root = make("div", "view", null, parent);
		this.bar = make("div", "controls", null, this.root);
		this.readout = make("div", "readout", null, this.root);
		this.plot = make("div", "plot", null, this.root, {tabindex: 0, role: "slider",
			"aria-label": label, "aria-orientation": "horizontal"});
		this.canvas = make("canvas", "", null, this.plot, {"aria-hidden": "true"});
		this.hair = make("div", "hair", null, this.plot, {hidden: ""});
		this.brush = make("div", "brush", null, this.plot, {hidden: ""});
		this.overview = make("div", "overview", null, this.root, {"aria-hidden": "true"});
		this.small = make("canvas", "", null, this.overview);
		this.window = make("div", "window", null, this.overview);
		this.item = -1; /* under the cursor */
		this.context = this.canvas.getContext("2d");
		this.area = {left: 70, right: 8, width: 0};
	}

	/* To be called once by the subclass when it can draw. */
	start() {
		[this.low, this.high] = this.domain();
		this.listenPointer();
		this.listenOverview();
		this.plot.addEventListener("keydown", event => this.onKey(event));
		this.plot.addEventListener("focus", () => this.item < 0 &&
			this.showItem(this.ends()[0]));
		new ResizeObserver(() => this.resize()).observe(this.plot);
		theme.listeners.push(() => this.resize());
		this.showItem(-1);
	}

	zoomButtons(parent) {
		const group = make("div", "choice", null, parent,
			{role: "group", "aria-label": "Zoom"});
		makeButton("−", "zoom-out", group, () => this.zoom(REPEAT), "Zoom out (key −)");
		makeButton("+", "zoom-in", group, () => this.zoom(1 / REPEAT), "Zoom in (key +)");
		makeButton("Whole", "whole", group, () => this.show(...this.domain()),
			"Show everything (key 0)");
	}

	static fit(canvas, width, height) {
		const ratio = paper.dots, context = canvas.getContext("2d");
		canvas.width = Math.max(1, Math.round(width * ratio));
		canvas.height = Math.max(1, Math.round(height * ratio));
		canvas.style.height = height + "px";
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.font = "12px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
		return context;
	}

	resize() {
		const width = this.plot.clientWidth;
		if (!width)
			return; /* in a closed section */
		this.area.left = width < 520 ? 66 : 70;
		this.area.width = Math.max(10, width - this.area.left - this.area.right);
		View.fit(this.canvas, width, this.height());
		this.drawWhole(View.fit(this.small, width, 36), width, 36);
		this.redraw(true);
	}

	/* Now, or once before the next frame. */
	redraw(now) {
		if (!this.area.width)
			return;
		if (!now) {
			this.waiting = this.waiting || requestAnimationFrame(() =>
				this.redraw(true));
			return;
		}
		cancelAnimationFrame(this.waiting);
		this.waiting = 0;
		const began = performance.now();
		this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
		this.draw();
		this.placeHair();
		this.placeWindow();
		this.plot.dataset.low = this.low;
		this.plot.dataset.high = this.high;
		this.plot.dataset.drawMs = (performance.now() - began).toFixed(2);
	}

	px(x) {
		return this.area.left + (x - this.low) / (this.high - this.low) * this.area.width;
	}

	at(px) {
		return this.low + (px - this.area.left) / this.area.width * (this.high - this.low);
	}

	/* Shows [low, high], as much of it as there is. */
	show(low, high) {
		const [least, most] = this.domain();
		const span = Math.min(most - least, Math.max(this.least(), high - low));
		const middle = (low + high) / 2;
		this.low = Math.max(least, Math.min(most - span, middle - span / 2));
		this.high = this.low + span;
		this.redraw();
	}

	/* About @x, which stays where it is: the cursor if it is in view, else the middle. */
	zoom(factor, x) {
		if (x === undefined) {
			const [from, to] = this.item < 0 ? [NaN, NaN] : this.place(this.item);
			x = (from + to) / 2;
			if (!(x >= this.low && x <= this.high))
				x = (this.low + this.high) / 2;
		}
		const [least, most] = this.domain();
		const span = Math.min(most - least, Math.max(this.least(), (this.high - this.low) *
			factor));
		const low = x - (x - this.low) / (this.high - this.low) * span;
		this.show(low, low + span);
	}

	pan(part) {
		const by = (this.high - this.low) * part;
		const [least, most] = this.domain();
		const low = Math.max(least, Math.min(most - (this.high - this.low), this.low + by));
		this.show(low, low + this.high - this.low);
	}

	/* Moves the cursor to @item, and with @follow the view with it. */
	showItem(item, follow) {
		this.item = item;
		this.readout.replaceChildren();
		this.describe(item, this.readout);
		const [first, last] = this.ends();
		this.plot.setAttribute("aria-valuemin", first < 0 ? 0 : first);
		this.plot.setAttribute("aria-valuemax", Math.max(0, last));
		this.plot.setAttribute("aria-valuenow", Math.max(0, item));
		this.plot.setAttribute("aria-valuetext", item < 0 ? "no cursor" : this.say(item));
		if (follow && item >= 0) {
			const [from, to] = this.place(item), span = this.high - this.low;
			if (from < this.low)
				this.show(from - span / 8, from - span / 8 + span);
			else if (to > this.high)
				this.show(to + span / 8 - span, to + span / 8);
		}
		this.placeHair();
	}

	describe(item, into) {
		if (item < 0)
			make("span", "hint", this.hint, into);
		for (const [what, figure, generation] of item < 0 ? [] : this.facts(item)) {
			const fact = make("span", "fact", null, into);
			make("span", "what", what + " ", fact);
			make("b", "", figure, fact);
			fact.append(" ");
			if (generation !== undefined)
				makeClass(generation, fact);
		}
	}

	say(item) {
		return this.facts(item).map(([what, figure, generation]) => what + " " + figure +
			(generation === undefined ? "" : ", " +
			className(generation))).join("; ");
	}

	placeHair() {
		const [from, to] = this.item < 0 ? [NaN, NaN] : this.place(this.item);
		const left = this.px(from), width = Math.max(1, this.px(to) - left);
		const outside = !(left + width >= this.area.left && left <= this.area.left +
			this.area.width);
		this.hair.hidden = outside;
		if (outside)
			return;
		const from_px = Math.max(this.area.left, left);
		this.hair.style.left = from_px + "px";
		this.hair.style.width =
			Math.min(left + width, this.area.left + this.area.width) - from_px + "px";
	}

	placeWindow() {
		const [least, most] = this.domain(), scale = this.area.width / (most - least || 1);
		this.window.style.left = this.area.left + (this.low - least) * scale + "px";
		this.window.style.width = Math.max(3, (this.high - this.low) * scale) + "px";
		this.window.classList.toggle("all", this.low <= least && this.high >= most);
	}

	localX(event, element) {
		return event.clientX - element.getBoundingClientRect().left;
	}

	listenPointer() {
		let from = null;
		this.plot.addEventListener("pointerdown", event => {
			if (event.button === 0) {
				from = this.localX(event, this.plot);
				this.plot.setPointerCapture(event.pointerId);
			}
		});
		this.plot.addEventListener("pointermove", event => {
			const x = this.localX(event, this.plot);
			if (from !== null && Math.abs(x - from) >= CLICK_PX)
				this.drawBrush(from, x);
			else
				this.showItem(this.pick(x));
		});
		this.plot.addEventListener("pointerup", event => {
			const x = this.localX(event, this.plot);
			this.brush.hidden = true;
			if (from !== null && Math.abs(x - from) >= CLICK_PX)
				this.show(this.at(Math.min(from, x)), this.at(Math.max(from, x)));
			else if (from !== null)
				this.openItem(this.pick(x));
			from = null;
		});
		this.plot.addEventListener("pointercancel", () => {
			from = null;
			this.brush.hidden = true;
		});
		this.plot.addEventListener("wheel", event => this.onWheel(event), {passive: false});
	}

	/*
	 * Scrolling the page stays what it is: only with Ctrl, or sideways, is the wheel for the
	 * picture.
	 */
	onWheel(event) {
		if (event.ctrlKey || event.metaKey)
			this.zoom(Math.pow(1.0015, event.deltaY),
				this.at(this.localX(event, this.plot)));
		else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
			this.pan((event.deltaX || event.deltaY) / this.area.width);
		else
			return;
		event.preventDefault();
	}

	drawBrush(from, to) {
		const low = Math.max(this.area.left, Math.min(from, to));
		const high = Math.min(this.area.left + this.area.width, Math.max(from, to));
		this.brush.hidden = false;
		this.brush.style.left = low + "px";
		this.brush.style.width = Math.max(0, high - low) + "px";
	}

	/* In the overview: dragging the window moves it, dragging elsewhere makes a new one. */
	listenOverview() {
		let from = null, held = null;
		const whole = px => {
			const [least, most] = this.domain();
			return least + (px - this.area.left) / this.area.width * (most - least);
		};
		this.overview.addEventListener("pointerdown", event => {
			from = whole(this.localX(event, this.overview));
			held = from >= this.low && from <= this.high &&
				!this.window.classList.contains("all") ? this.low : null;
			this.overview.setPointerCapture(event.pointerId);
		});
		this.overview.addEventListener("pointermove", event => {
			if (from === null)
				return;
			const x = whole(this.localX(event, this.overview));
			const span = this.high - this.low;
			const [least, most] = this.domain();
			if (held !== null) {
				const low = Math.max(least, Math.min(most - span, held + x - from));
				this.show(low, low + span);
			} else if (Math.abs(x - from) > (most - least) *
				CLICK_PX / this.area.width) {
				this.show(Math.min(from, x), Math.max(from, x));
			}
		});
		for (const end of ["pointerup", "pointercancel"])
			this.overview.addEventListener(end, () => from = null);
	}

	openItem(item) {
		if (item >= 0) {
			this.showItem(item);
			this.open(item);
		}
	}

	onKey(event) {
		const [first, last] = this.ends(), left = event.key === "ArrowLeft";
		if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.plot)
			return;
		if (event.shiftKey && (left || event.key === "ArrowRight"))
			this.pan(left ? -0.25 : 0.25);
		else if (left || event.key === "ArrowRight")
			this.showItem(this.item < 0 ? first : this.move(this.item, left ? -1 : 1),
				true);
		else if (event.key === "+" || event.key === "=" || event.key === "ArrowUp")
			this.zoom(1 / REPEAT);
		else if (event.key === "-" || event.key === "ArrowDown")
			this.zoom(REPEAT);
		else if (event.key === "PageUp" || event.key === "PageDown")
			this.pan(event.key === "PageUp" ? -0.9 : 0.9);
		else if (event.key === "Home" || event.key === "End")
			this.showItem(event.key === "Home" ? first : last, true);
		else if (event.key === "0")
			this.show(...this.domain());
		else if (event.key === "Enter" || event.key === " ")
			this.openItem(this.item);
		else if (event.key === "n" || event.key === "p")
			this.showItem(this.slow(this.item, event.key === "n" ? 1 : -1), true);
		else if (event.key === "Escape")
			this.escape();
		else
			return;
		event.preventDefault();
	}

	/* The next item worth a look; subclasses may know better. */
	slow(item, direction) {
		return this.move(item, direction);
	}

	escape() {
		this.show(...this.domain());
	}

	/* The first device column of the area and how many there are: subclasses draw one by one. */
	columns() {
		const ratio = paper.dots;
		return {ratio, count: Math.max(1, Math.floor(this.area.width * ratio))};
	}
}
