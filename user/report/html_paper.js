/*
 * The page on paper: light, of one width, nothing folded away. In: the browser's word that it is about to print, or has.
 * Out: the page redrawn for that, and put back.
 */

/* A4 within common margins, in px; canvases have so many dots to a px there. */
const PAPER = {high: 980, dots: 3};

const paper = {
	on: false,
	listeners: [], /* functions of whether it is paper now; they are called before all is drawn anew */

	get dots() {
		return this.on ? PAPER.dots : window.devicePixelRatio || 1;
	},

	/* Opens sections and rows that are closed, and closes them again. */
	unfold() {
		if (this.on) {
			this.closed = document.querySelectorAll("details:not([open])");
			this.folded = document.querySelectorAll("button.fold[aria-expanded=false]");
		}
		this.closed.forEach(details => details.open = this.on);
		this.folded.forEach(button => button.click());
	},

	set(on) {
		if (on === this.on)
			return;
		this.on = on;
		document.documentElement.toggleAttribute("data-paper", on);
		this.unfold();
		this.listeners.forEach(listener => listener(on));
		theme.refresh();
	},

	start() {
		window.addEventListener("beforeprint", () => this.set(true));
		window.addEventListener("afterprint", () => this.set(false));
	},
};
