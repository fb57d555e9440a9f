# SPDX-License-Identifier: MIT
"""What scripts that measure share: calling tcbtune, choosing from what it says, and tables."""
import json
import re
import shlex
import subprocess
import sys


class Failed(Exception):
    """A command that did not succeed, with its last words."""


def call(command):
    """What COMMAND printed on standard output."""
    words = [str(word) for word in command]
    run = subprocess.run(words, capture_output=True, text=True)
    if run.returncode != 0:
        raise Failed(f"{shlex.join(words)}: exit {run.returncode}: {run.stderr.strip()[-800:]}")
    return run.stdout


def call_json(command, may_fail=False):
    """The JSON that COMMAND prints.  Where it fails: None if it MAY_FAIL, else the end of this script."""
    try:
        return json.loads(call(command))
    except Failed as failed:
        return None if may_fail else sys.exit(str(failed))


def geometry_words(geometries):
    return [word for geometry in geometries for word in ("--geometry", geometry)]


def of_state(results, state):
    """Of the results of a bench the one with caches as STATE says."""
    return next(result for result in results if result["state"] == state)


class Table:
    """Lines of cells under one head.  A column is its title and a format specification: ("cold %", ">8.1f")."""

    def __init__(self, *columns):
        self.columns = columns
        self.widths = [re.match(r"[<>]?\d+", spec)[0] if re.match(r"[<>]?\d", spec) else "" for _, spec in columns]

    def head(self):
        return " ".join(format(title, width) for (title, _), width in zip(self.columns, self.widths)).rstrip()

    def line(self, *cells):
        """Texts stand in any column, as "-" for a number that is unknown."""
        return " ".join(format(cell, width if isinstance(cell, str) else spec)
                        for cell, (_, spec), width in zip(cells, self.columns, self.widths)).rstrip()
