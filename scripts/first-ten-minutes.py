#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a newcomer sees in the first ten minutes, in a terminal of 80 columns: runs the commands of STEPS, in this order and
with an empty database, and prints a page with all that they print.

    first-ten-minutes.py TCBTUNE [--budget SECONDS]

docs/first-ten-minutes.md is such a page; a test compares its commands and its prose with those below, and fails on a line
of more than 80 columns or an exit status that is not the one expected here."""
import argparse
import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import time
from fcntl import ioctl
from termios import TIOCSWINSZ

COLUMNS, ROWS = 80, 24
BUDGET = 60
TITLE = f"""# The first ten minutes

`scripts/quickstart.sh` has built `tcbtune`, and it is on the `PATH`. All that follows was printed by
`scripts/first-ten-minutes.py` in a terminal of {COLUMNS} columns, with an empty database.
"""

# Words before the command, the command, its exit status.
STEPS = [
    ("What can it do?", "tcbtune help", 0),
    ("What can it use on this machine?", "tcbtune doctor", 0),
    ("A name that is nearly right is answered with the right one.",
     "tcbtune sweep --op q4k_matvek --shape 1x4096x4096", 2),
    ("How large is the search?", "tcbtune space --op q4k_matvec --shape 1x4096x4096 --count", 0),
    ("One candidate is not a search, and the verdict says so. The last lines say how to go on.",
     "tcbtune sweep --op q4k_matvec --shape 1x4096x4096 --max-trials 1", 0),
    ("A minute of search.", f"tcbtune sweep --op q4k_matvec --shape 1x4096x4096 --budget {BUDGET}s", 0),
    ("What was found, at any later time.", "tcbtune report", 0),
    ("What would a program get that asks libtcbrt for this shape, and why?",
     "tcbtune lookup --op q4k_matvec --shape 1x4096x4096 --explain", 0),
    ("And for a shape that nobody tuned?", "tcbtune lookup --op q4k_matvec --shape 1x11008x4096", 0),
    ("Is it true? The winner beside the default, plain C and the read limit, timed in turns.",
     "tcbtune bench --op q4k_matvec --shape 1x4096x4096", 0),
    ("What would a whole model need?", "tcbtune model --model llama-3-8b --plan", 0),
    ("A page with plots, for a browser.", "tcbtune report --format html --out report.html", 0),
    ("Something is misspelt.", "tcbtune swep --op q4k_matvec", 2),
    ("A shape that no kernel can have.", "tcbtune sweep --op q4k_matvec --shape 1x4096x4000", 2),
    ("Nothing is stored for this op.", "tcbtune report --op rmsnorm", 3),
]


def settled(raw):
    """What stays on a terminal on which RAW was written: progress is a line that is cleared and written again."""
    lines = [line.split("\r\x1b[K")[-1].rstrip() for line in raw.replace("\r\n", "\n").rstrip("\n").split("\n")]
    for line in lines:
        if "\x1b" in line or "\r" in line:
            raise SystemExit(f"first-ten-minutes.py: what this line looks like on a terminal is unknown: {line!r}")
    return lines


def on_terminal(command, folder, env):
    """The lines that COMMAND leaves on a terminal, and its exit status."""
    ours, theirs = pty.openpty()
    ioctl(ours, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    child = subprocess.Popen(["/bin/sh", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=theirs,
                             stderr=theirs)
    os.close(theirs)
    raw = b""
    try:
        while data := os.read(ours, 65536):
            raw += data
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    return settled(raw.decode()), child.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("tcbtune", type=pathlib.Path)
    parser.add_argument("--budget", type=int, default=BUDGET, help="seconds of the sweep (default %(default)s)")
    args = parser.parse_args()
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "TCBTUNE_DB", "TCBTUNE_SYSTEM_DB")}
    env |= {"TERM": "xterm", "NO_COLOR": "1", "LC_ALL": "C.UTF-8",
            "PATH": f"{args.tcbtune.resolve().parent}:{env['PATH']}"}
    start = time.monotonic()
    print(TITLE)
    with tempfile.TemporaryDirectory() as folder:
        # The database of the user who runs this is left alone.
        env |= {"HOME": folder, "XDG_DATA_HOME": folder, "XDG_CACHE_HOME": folder}
        for words, command, expected in STEPS:
            lines, status = on_terminal(command.replace(f"--budget {BUDGET}s", f"--budget {args.budget}s"), folder, env)
            lines = [line.replace(folder, "~/.local/share") for line in lines]
            print(f"{words}\n\n    $ {command}", *lines, sep="\n    ", end="\n\n")
            if status != expected:
                sys.exit(f"first-ten-minutes.py: {command}: exit status {status}, not {expected}")
            wide = [line for line in lines if len(line) > COLUMNS]
            if wide:
                sys.exit(f"first-ten-minutes.py: {command}: wider than {COLUMNS} columns: {wide[0]}")
    print(f"All of it took {(time.monotonic() - start) / 60:.1f} minutes. From here: [tune a model](how-to/tune-a-model.md), "
          "[read a report](how-to/read-a-report.md),\n[use it in a program](how-to/use-it-in-a-program.md).")


if __name__ == "__main__":
    main()
