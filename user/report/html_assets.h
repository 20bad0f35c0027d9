/* html_style.css and the html_*.js as strings, made at build time by flame_embed.py. */
#pragma once

extern const char html_style[], html_script[];
/* "sha256-…" of a newline and the text: as they stand in the page. */
extern const char html_style_hash[], html_script_hash[];
