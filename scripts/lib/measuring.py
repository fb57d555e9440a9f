# SPDX-License-Identifier: MIT
"""What scripts that measure share: calling tcbtune, choosing from what it says, and tables."""
import json
import os
import re
import shlex
import subprocess
import sys


REFUSED = (2, 3)  # what tcbtune exits with where an op has no such shapes, or a device no kernels for them


class Failed(Exception):
    """A command that did not succeed, with its last words and its exit status."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status


def call(command, limit_s=None, processors=None):
    """What COMMAND printed on standard output, within LIMIT_S, on PROCESSORS."""
    words = [str(word) for word in command]
    pin = (lambda: os.sched_setaffinity(0, processors)) if processors else None
    try:
        run = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=limit_s, preexec_fn=pin)
    except subprocess.TimeoutExpired:
        raise Failed(f"{shlex.join(words)}: still running after {limit_s:.0f} s") from None
    if run.returncode != 0:
        raise Failed(f"{shlex.join(words)}: exit {run.returncode}: {run.stderr.strip()[-800:]}", run.returncode)
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
