# SPDX-License-Identifier: MIT
"""Text of a stranger's database and of file names: whatever the column, command and format, it drives no terminal, forges
no line and becomes no element of a page.

Each text column of each table gets, in its turn, what is hostile, behind what was there or instead of it, by turns;
then every command that reads databases runs, in every format that it has, and for one column in SLOW_ONE_IN those that
measure, too.  With TCB_INJECTION=all in the environment both ways and all commands for each column: about half an hour.
"""
import itertools
import json
import os
import re
import shutil
import sqlite3
import sys

from cli_support import SMALL, Cli

ALL, SLOW_ONE_IN = os.environ.get("TCB_INJECTION") == "all", 12
# A title, colours, an 8-bit control sequence, a line of its own, a carriage return, HTML, Markdown, CSV.
HOSTILE = "\x1b]0;owned\x07\x1b[31m\x9b2J\r\nFORGED line\n<img src=x onerror=alert(1)>|`</script>\u202e,\"=1+1"
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")
SHAPE = ["--op", "q4k_matvec", "--shape", "1x64x512", "--threads", "1"]


def slow_commands(db):
    on = ["--db", db]
    yield ["replay", db], "table"
    yield ["bench", *SHAPE, *on, "--budget", "0.2s", "--rotation", "1M"], "table"
    yield ["sweep", *SMALL, *on, "--max-trials", 1, "--budget", "0.5s"], "table"
    yield ["doctor", *on], "table"
    yield ["doctor", *on, "--json"], "json"


def commands(db, other, out):
    """Command lines, with the format of what they print."""
    on = ["--db", db]
    for form in ("table", "csv", "json", "md", "html"):
        yield ["report", *on, "--format", form], form
        yield ["report", *on, "--format", form, "--columns", "all", "--op", "q4k_matvec"], form
    for form in ("table", "md", "json"):
        yield ["compare", db, other, "--format", form], form
        yield ["compare", other, db, "--format", form], form
    for extra in ([], ["--json"], ["--explain"]):
        yield ["lookup", *SHAPE, *on, *extra], "json" if "--json" in extra else "table"
    yield ["lookup", "--op", "q4k_matvec", "--shape", "1x128x512", *on], "table"
    for command in (["history", *SHAPE[:4]], ["trial", "1"], ["devices"], ["db", "info"], ["db", "check"],
                    ["db", "diff", other],
                    ["db", "prune", "--dry-run"], ["db", "forget", "--dry-run", "--device", "cpu"]):
        for extra in ([], ["--json"]):
            yield [*command, *on, *extra], "json" if extra else "table"
    yield ["defaults", db], "table"
    yield ["space", *SHAPE[:4], "--count"], "table"
    yield ["db", "export", *on, "--json"], "json"
    yield ["db", "export", *on, "--format", "header"], "header"
    yield ["db", "merge", db, "--db", out], "table"


def unfit(text, form):
    """What of TEXT must not be there, or None."""
    if form == "json" and text:
        try:
            json.loads(text)  # escapes all by itself
        except ValueError:
            return "this is no JSON"
        return "a control character" if CONTROL.search(text.replace("\u202e", "")) else None
    found = CONTROL.search(text if form != "csv" else text.replace("\r\n", "\n"))
    if found:
        return f"the character {found.group()!r}"
    if re.search("^ *FORGED", text, re.M):
        return "a line of its own"
    if form == "csv" and re.search(r"\r(?!\n)", text):
        return "a carriage return"
    if form in ("md", "html") and "<img" in text:
        return "an element"
    if form == "html" and text.count("</script>") != len(re.findall("<script", text)):
        return "the end of a script"
    return None


def look(cli, what, args, form, failures):
    result = cli.run(*args, expect=None, cwd=cli.scratch)
    if result.returncode < 0 or result.returncode > 4:
        failures.append(f"{what}: {args[:2]} ended with {result.returncode}")
    for stream, text, kind in (("stdout", result.stdout, form), ("stderr", result.stderr, "table")):
        found = unfit(text, kind)
        if found:
            at = CONTROL.search(text) or re.search("FORGED|<img", text)
            around = text[max(0, at.start() - 60):at.end() + 40] if at else ""
            failures.append(f"{what}: {' '.join(map(str, args))}: {stream} has {found}: {around!r}")
            print(failures[-1], flush=True)


def text_columns(db):
    with sqlite3.connect(db) as sql:
        for (table,) in sql.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall():
            for _, name, kind, *_ in sql.execute(f"PRAGMA table_info({table})").fetchall():
                if kind == "TEXT" and sql.execute(f"SELECT count(*) FROM {table}").fetchone()[0]:
                    yield table, name


def inject(base, db, table, column, instead):
    for ending in ("", "-wal", "-shm", ".snapshot"):
        db.with_name(db.name + ending).unlink(missing_ok=True)
    shutil.copyfile(base, db)
    sql = sqlite3.connect(db)
    sql.execute("PRAGMA ignore_check_constraints = ON")
    before = "" if instead else f"coalesce({column}, '') || "
    sql.execute(f"UPDATE {table} SET {column} = {before} ? || hex(randomblob(4))", (HOSTILE,))  # many must be unique
    sql.commit()
    sql.close()


def columns(cli, base, failures):
    db, other, out = cli.scratch / "hostile.db", cli.scratch / "other.db", cli.scratch / "out.db"
    shutil.copyfile(base, other)
    known = list(text_columns(base))
    cli.check(len(known) >= 40, f"only {len(known)} text columns have rows: {known}")
    for number, ((table, column), instead) in enumerate(itertools.product(known, (False, True))):
        if not ALL and number // 2 % 2 != instead:
            continue
        inject(base, db, table, column, instead)
        before = len(failures)
        is_measured = not instead and (ALL or number // 4 % SLOW_ONE_IN == 0)
        for args, form in itertools.chain(commands(db, other, out), slow_commands(db) if is_measured else ()):
            out.unlink(missing_ok=True)
            look(cli, f"{table}.{column}", args, form, failures)
        cli.check(True, "")
        print(f"{table}.{column} {'instead' if instead else 'behind'}: {len(failures) - before} unfit", flush=True)


def names(cli, base, failures):
    """The same in the names of files and folders."""
    name = HOSTILE.replace("/", "")
    db = cli.scratch / (name + ".db")
    shutil.copyfile(base, db)
    for args, form in itertools.chain(commands(db, base, cli.scratch / "out.db"), slow_commands(db)):
        look(cli, "a name", args, form, failures)
    ptx = cli.scratch / (name + ".ptx")
    ptx.write_text(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { st.shared.u32 [0], 1; bar.sync 0; ret; }\n")
    for form in ("text", "gcc", "json", "sarif"):
        look(cli, "a name", ["ptx", "check", ptx, "--format", form], "json" if form in ("json", "sarif") else "table",
             failures)
    missing = cli.scratch / "no" / name
    for args in (["ptx", "check", missing], ["ptx", "run", missing, "--kernel", name], ["model", missing],
                 ["run", "--op", "q4k_matvec", "--weights", f"{missing}:x", "--x", missing, "--out", missing],
                 ["db", "import", missing], ["db", "info", "--db", missing], ["report", "--db", base, "--out", missing],
                 ["lookup", "--op", name, "--shape", name, "--db", base], ["sweep", "--op", "softmax", "--device", name],
                 ["replay", missing], ["compare", missing, missing], [name], ["report", name], ["report", f"--{name}"]):
        look(cli, "a name", args, "table", failures)
    cli.check(True, "")


def main():
    cli = Cli()
    cli.env["COLUMNS"] = "200"
    base = cli.scratch / "base.db"
    cli.run("sweep", *SMALL, "--db", base, "--max-trials", 3, "--budget", "4s", "--counters", "best")
    cli.run("sweep", "--op", "q4k_matvec", "--device", "sm_89", "--shape", "1x64x512", "--max-trials", 2, "--db", base)
    failures = []
    names(cli, base, failures)
    columns(cli, base, failures)
    for line in failures[:40]:
        print(line)
    cli.check(not failures, f"{len(failures)} outputs had what they must not have")
    cli.done()


if __name__ == "__main__":
    main()
