#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A picture (SVG, light and dark) of what a command prints in a terminal.

    terminal-picture.py OUT.svg COLUMNS COMMAND...

The command runs with COLUMNS columns; its text is shown below the line that ran it."""
import html
import os
import pathlib
import subprocess
import sys

WIDTH, HEIGHT, EDGE = 8.43, 18, 14
STYLE = """
  .ground { fill: #ffffff; stroke: #d0d7de } .text { fill: #1f2328 } .prompt { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; stroke: #30363d } .text { fill: #e6edf3 } .prompt { fill: #58a6ff }
  }
  text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre }
"""


def main():
    out, columns, command = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    said = subprocess.run(command, check=True, capture_output=True, text=True,
                          env={**os.environ, "COLUMNS": str(columns), "LC_ALL": "C.UTF-8"}).stdout
    shown = " ".join([pathlib.Path(command[0]).name, *command[1:]])
    lines = [f"$ {shown}", *said.rstrip("\n").split("\n")]
    width = 2 * EDGE + WIDTH * max(columns, *map(len, lines))
    height = 2 * EDGE + HEIGHT * len(lines)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}">',
             f"<title>{html.escape(shown)}</title>", f"<style>{STYLE}</style>",
             f'<rect class="ground" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1}" rx="8"/>']
    for number, line in enumerate(lines):
        kind = "text" if number else "prompt"
        parts.append(f'<text class="{kind}" x="{EDGE}" y="{EDGE + HEIGHT * number + 13}" xml:space="preserve">{html.escape(line)}</text>')
    out.write_text("\n".join([*parts, "</svg>", ""]))


main()
