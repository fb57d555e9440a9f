# SPDX-License-Identifier: MIT
"""A newcomer's first commands end as they should, within 80 columns; and docs/first-ten-minutes.md shows these commands with
these words, which scripts/first-ten-minutes.py has."""
import pathlib
import subprocess
import sys

from cli_support import Cli

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT, PAGE = ROOT / "scripts" / "first-ten-minutes.py", ROOT / "docs" / "first-ten-minutes.md"


def told(page):
    """Prose and commands of a page, without what was printed and measured."""
    lines = [line for line in page.splitlines() if line and (line.startswith("    $ ") or not line.startswith("    "))]
    return [line.split(" minutes.", 1)[1] if line.startswith("All of it took") else line for line in lines]


def main():
    cli = Cli()
    quick = subprocess.run([sys.executable, SCRIPT, cli.program, "--budget", "2"], capture_output=True, text=True)
    cli.check(quick.returncode == 0, f"{quick.stderr}{quick.stdout[-1500:]}")
    cli.check(told(quick.stdout) == told(PAGE.read_text()),
              f"{PAGE.name} has other commands or words: scripts/{SCRIPT.name} tcbtune > docs/{PAGE.name}")
    # A command that ends otherwise than told is noticed.
    liar = cli.scratch / "tcbtune"
    liar.write_text("#!/bin/sh\nexit 0\n")
    liar.chmod(0o755)
    cli.check(subprocess.run([sys.executable, SCRIPT, liar], capture_output=True).returncode != 0, "a liar is believed")
    liar.write_text(f"#!/bin/sh\nprintf '%0{81}d\\n' 0\n")
    wide = subprocess.run([sys.executable, SCRIPT, liar], capture_output=True, text=True)
    cli.check("wider than 80 columns" in wide.stderr, f"a wide line is let through: {wide.stderr}")
    cli.done()


if __name__ == "__main__":
    main()
