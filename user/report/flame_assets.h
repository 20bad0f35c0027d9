/* flame_style.css and flame_script.js as strings, made at build time by flame_embed.py. */
#pragma once

extern const char flame_style[], flame_script[];
