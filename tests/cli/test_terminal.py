# SPDX-License-Identifier: MIT
"""A sweep on a terminal: one line that is redrawn in place and fits the width, and Ctrl-C, which the terminal sends to
the worker process too."""
import fcntl
import json
import os
import pty
import re
import select
import struct
import termios
import time

import jsonschema

from cli_support import Cli, read_schema

COLUMNS = 72
LARGE = ["--op", "q4k_matvec", "--shape", "1x1024x2048", "--rotation", "16M", "--threads", "1"]


def on_terminal(cli, args, press=None, after_s=0):
    """Runs tcbtune with stderr on a terminal of its own; PRESS is typed after a while.  Exit status, stdout, stderr."""
    out = cli.scratch / "stdout"
    child, terminal = pty.fork()
    if child == 0:
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.execve(cli.program, [cli.program, *map(str, args)], cli.env)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    shown, start = b"", time.monotonic()
    while time.monotonic() - start < 100:
        if press and time.monotonic() - start > after_s:
            os.write(terminal, press)
            press = None
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break  # the other end is closed
        if not data:
            break
        shown += data
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), out.read_text(), shown.decode()


def main():
    cli = Cli()
    db = cli.scratch / "terminal.db"

    status, stdout, shown = on_terminal(cli, ["sweep", *LARGE, "--db", db, "--budget", "4s"])
    cli.check(status == 0, f"exit status {status}: {shown}")
    drawn = re.findall(r"\r\x1b\[K([^\r\n]+)", shown)
    cli.check(len(drawn) >= 3, f"the line was drawn {len(drawn)} times")
    for line in drawn:
        if not line.startswith("tcbtune: "):
            cli.check(len(line) < COLUMNS, f"{len(line)} columns: {line}")
    cli.check(any(re.search(r"screen \d+/\d+ \(\d+ %\)", line) for line in drawn), f"no count in {drawn[-1]}")
    scrolled = [line.split("\r\x1b[K")[-1] for line in shown.split("\r\n")[:-1]]
    cli.check(all(re.match("tcbtune: |    ", line) for line in scrolled), f"progress scrolled the terminal: {shown!r}")
    cli.check(all(len(line) <= COLUMNS for line in scrolled), f"a message is wider than {COLUMNS}: {scrolled}")
    cli.check("VERDICT" in stdout and "\x1b" not in stdout, "stdout is not the table alone")

    status, stdout, shown = on_terminal(cli, ["sweep", *LARGE, "--db", db, "--budget", "90s", "--json"], press=b"\x03",
                                        after_s=2)
    cli.check(status == 130, f"Ctrl-C: exit status {status}: {shown}")
    cli.check("the same command goes on from there" in re.sub(r"\s+", " ", shown), shown)
    document = json.loads(stdout)
    jsonschema.validate(document, read_schema(cli.schemas, "sweep"))
    cli.check(document["interrupted"] is True, "the JSON does not say that the sweep was interrupted")
    cli.sound(db)
    failed = cli.json("db", "info", "--db", db, schema="db-info")["trials_failed"]
    cli.check(failed == 0, f"Ctrl-C made {failed} candidates fail")
    cli.done()


if __name__ == "__main__":
    main()
