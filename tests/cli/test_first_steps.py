# SPDX-License-Identifier: MIT
"""A newcomer's first commands end as they should, within 80 columns; and docs/first-ten-minutes.md shows these commands with
these words, which scripts/first-ten-minutes.py has, and what they printed as they print it today: help and messages word for
word, tables with the same columns and with verdicts that there are."""
import pathlib
import re
import subprocess
import sys

from cli_support import Cli

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT, PAGE = ROOT / "scripts" / "first-ten-minutes.py", ROOT / "docs" / "first-ten-minutes.md"


def told(page):
    """Prose and commands of a page, without what was printed and measured."""
    lines = [line for line in page.splitlines() if line and (line.startswith("    $ ") or not line.startswith("    "))]
    return [line.split(" minutes.", 1)[1] if line.startswith("All of it took") else line for line in lines]


# What these print is the same on every machine, figures and paths aside.
FIXED = ("tcbtune help", "tcbtune sweep --op q4k_matvek", "tcbtune swep", "tcbtune sweep --op q4k_matvec --shape 1x4096x4000",
         "tcbtune report --op rmsnorm", "tcbtune report --format html")


def printed(page):
    """What each command of a page has printed: its lines."""
    out, lines = {}, None
    for line in page.splitlines():
        if line.startswith("    $ "):
            lines = out.setdefault(line[6:], [])
        elif not line.startswith("    ") and line:
            lines = None
        elif lines is not None and line:
            lines.append(line[4:])
    return out


def is_header(line):
    """Capitals first, as no sentence has them."""
    words = line.split()
    return (len(words) > 2 and re.fullmatch("[A-Z]{2,}", words[0]) and ":" not in line
            and not any(re.fullmatch("[a-z]{6,}", word) for word in words))


def columns(lines):
    """The titles of the columns of the tables among LINES."""
    return {title for line in lines if is_header(line) for title in re.split(" {2,}", line)}


def verdicts(lines):
    """The last words of the rows below a header that ends with VERDICT."""
    found, inside = set(), False
    for line in lines:
        inside = line.endswith(" VERDICT") or (inside and bool(line))
        if inside and "  " in line.strip() and not line.startswith(" ") and not line.endswith(" VERDICT"):
            found.add(line.split()[-1])
    return found


def check_printed(cli, page, today):
    """Of each command of PAGE what it printed against TODAY; a line for each that is no longer so."""
    then, now = printed(page), printed(today)
    program = pathlib.Path(cli.program).read_bytes()
    known = set(re.search(r"\((all\|stale\b[\w|]+)\)", cli.run("help", "report").stdout).group(1).split("|"))
    for command, lines in then.items():
        same = re.sub(r"\d+", "#", "\n".join(lines)) == re.sub(r"\d+", "#", "\n".join(now.get(command, [])))
        if command.startswith(FIXED) and not same:
            yield f"$ {command}: prints something else today"
        # Of a table that there is not here, or that is too wide for one line of header, the program has the titles.
        text = "\n".join(now.get(command, []))
        gone = {title for title in columns(lines) if title not in text and title.encode() not in program}
        new = {title for title in columns(now.get(command, [])) if title not in "\n".join(lines)}
        if gone or new:
            yield f"$ {command}: columns that are gone {gone}, that are new {new}"
        if not verdicts(lines) <= known:
            yield f"$ {command}: {verdicts(lines) - known} is not among the verdicts"


def main():
    cli = Cli()
    quick = subprocess.run([sys.executable, SCRIPT, cli.program, "--budget", "2"], capture_output=True, text=True)
    cli.check(quick.returncode == 0, f"{quick.stderr}{quick.stdout[-1500:]}")
    cli.check(told(quick.stdout) == told(PAGE.read_text()),
              f"{PAGE.name} has other commands or words: scripts/{SCRIPT.name} tcbtune > docs/{PAGE.name}")
    page = PAGE.read_text()
    wrong = list(check_printed(cli, page, quick.stdout))
    cli.check(not wrong, "\n".join([*wrong, f"scripts/record-docs.py TCBTUNE {PAGE.name} records it again"]))
    # A page that shows another message, another column or a verdict that there is not is noticed.
    for old, new in (("unknown command", "no command"), ("% LIMIT", "% PEAK"), ("  tuned\n", "  perfect\n")):
        cli.check(old in page and list(check_printed(cli, page.replace(old, new), quick.stdout)), f"{new} is believed")
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
