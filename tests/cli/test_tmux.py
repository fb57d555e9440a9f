# SPDX-License-Identifier: MIT
"""What a person sees in a terminal of 80x24 and one of 140x40: nothing wraps in a table, progress keeps what is left, and
colors are there for who wants them."""
import os
import re
import shutil
import subprocess
import sys
import time

from cli_support import Cli

LARGE = ["--op", "q4k_matvec", "--shape", "1x1024x2048", "--rotation", "16M", "--threads", "1"]
SIZES = {"80x24": (80, 24), "140x40": (140, 40)}


class Terminal:
    """One tmux server with one pane."""

    def __init__(self, cli, name, size):
        self.cli, self.socket, self.runs = cli, str(cli.scratch / f"tmux-{name}"), 0
        self.env = {**cli.env, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        self.tmux("-f", os.devnull, "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "sh")

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *words], env=self.env, capture_output=True, text=True,
                              timeout=60, check=False)
        self.cli.check(done.returncode == 0, f"tmux {' '.join(words)}: {done.stderr}")
        return done.stdout

    def type(self, text):
        self.tmux("send-keys", "-l", text)
        self.tmux("send-keys", "Enter")

    def see(self, *how):
        """The pane with its history: lines as they are shown."""
        return self.tmux("capture-pane", "-p", "-S", "-400", *how).rstrip("\n")

    def wait_for(self, pattern, *how, limit_s=60):
        limit = time.monotonic() + limit_s
        while not re.search(pattern, self.see(*how), re.M):
            self.cli.check(time.monotonic() < limit, f"no line like {pattern}:\n{self.see(*how)}")
            time.sleep(0.1)
        return self.see(*how)

    def run(self, *words):
        """Runs tcbtune on a clean screen and waits for its end."""
        self.tmux("clear-history")
        self.runs += 1  # what an earlier one left on the screen is no end of this one
        self.type("clear; " + " ".join(map(str, (self.cli.program, *words))) + f"; echo END{self.runs}:$?")
        return self.wait_for(rf"^END{self.runs}:\d+$")

    def close(self):
        self.tmux("kill-server")


def check_report(cli, terminal, size, db):
    shown = terminal.run("report", "--db", db)
    joined = terminal.see("-J")
    rows = [line for line in joined.splitlines() if re.match(r"OP +|(q4k_matvec|rmsnorm) +\w+ +\d+x", line)]
    cli.check(len(rows) >= 5, f"no table:\n{shown}")
    for row in rows:
        cli.check(len(row.rstrip()) <= size[0], f"{len(row)} columns of {size[0]}: {row}")
    cli.check("VERDICT" in rows[0] and ("TRIED" in rows[0]) == (size[0] > 100), rows[0])
    colored = terminal.see("-e")
    cli.check(re.search("\x1b\\[3[0-9]mthin", colored), f"no color:\n{colored}")
    terminal.run("report", "--db", db, "|", "cat")
    cli.check("\x1b[3" not in terminal.see("-e"), "color in a pipe")
    terminal.type("export NO_COLOR=1")
    terminal.run("report", "--db", db)
    cli.check("\x1b[3" not in terminal.see("-e"), "color in spite of NO_COLOR")
    terminal.type("unset NO_COLOR")


def check_progress(cli, terminal, size):
    terminal.tmux("clear-history")
    terminal.type(" ".join(map(str, ("clear;", cli.program, "sweep", *LARGE, "--budget", "6s", "--db",
                                     cli.scratch / f"progress{size[0]}.db", "; echo END:$?"))))
    shown = terminal.wait_for(r"left \| q4k_matvec .*: screen \d+/\d+ \(\d+ %\)")
    for line in shown.splitlines():
        if " left | " in line:
            cli.check(len(line) < size[0], f"{len(line)} columns of {size[0]}: {line}")
    terminal.wait_for(r"^END:0$")


def main():
    if not shutil.which("tmux"):
        print("SKIPPED: tmux is not installed")
        sys.exit(77)
    cli = Cli()
    db = cli.scratch / "seen.db"
    for op, shape in (("q4k_matvec", "1x1024x2048"), ("rmsnorm", "4x1000")):
        cli.run("sweep", "--op", op, "--shape", shape, "--rotation", "8M", "--threads", 1, "--max-trials", 3, "--budget",
                "5s", "--db", db)
    for name, size in SIZES.items():
        terminal = Terminal(cli, name, size)
        try:
            check_report(cli, terminal, size, db)
            check_progress(cli, terminal, size)
        finally:
            terminal.close()
    cli.done()


if __name__ == "__main__":
    main()
