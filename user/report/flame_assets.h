/* flame_style.css and flame_script.js as strings, made at build time by flame_embed.py. */
#pragma once

extern const char flame_style[], flame_script[];
/* "sha256-…" of a newline and the text: as they stand in the SVG. */
extern const char flame_style_hash[], flame_script_hash[];
