/*
 * Light and dark: what the system prefers until the reader chooses. Canvases read their colours
 * from the style.
 */

const theme = {
	colours: {},
	listeners: [],
	media: window.matchMedia("(prefers-color-scheme: dark)"),

	get dark() {
		const chosen = document.documentElement.dataset.theme;
		return chosen ? chosen === "dark" : this.media.matches;
	},

	/* After any change: colours again, then everybody who draws. */
	refresh() {
		const style = getComputedStyle(document.documentElement);
		for (const name of ["surface", "ink", "ink-2", "grid", "bar", "bar-pale", "line",
			"accent",
			"gen0", "gen1", "gen2", "gen3", "rss", "gpu", "gpu-memory", "gpu-idle", "gpu-pause",
			"cursor"])
			this.colours[name] = style.getPropertyValue("--" + name).trim();
		this.paintFlame();
		for (const listener of this.listeners)
			listener();
	},

	/* A flame graph is a document of its own: the toggle reaches it by its media rule. */
	paintFlame() {
		const chosen = paper.on ? "light" : document.documentElement.dataset.theme;
		const frames = Array.from(document.querySelectorAll("iframe"), frame => frame.contentDocument);
		for (const sheet of frames.flatMap(inside => inside ? Array.from(inside.styleSheets) : []))
			for (const rule of sheet.cssRules)
				if (rule.media && !rule.media.mediaText.includes("print"))
					rule.media.mediaText = !chosen ?
						"(prefers-color-scheme: dark)" :
						chosen === "dark" ? "all" : "not all";
	},

	choose(dark) {
		const same = dark === this.media.matches; /* then follow the system again */
		if (same)
			delete document.documentElement.dataset.theme;
		else
			document.documentElement.dataset.theme = dark ? "dark" : "light";
		this.refresh();
	},

	start(parent) {
		const button = makeButton("", "tool", parent, () => this.choose(!this.dark));
		const name = function () {
			button.textContent = theme.dark ? "☀ Light" : "☾ Dark";
			button.setAttribute("aria-label", theme.dark ? "Switch to the light theme" :
				"Switch to the dark theme");
		};
		this.listeners.push(name);
		this.media.addEventListener("change", () => this.refresh());
		this.refresh();
	},
};
