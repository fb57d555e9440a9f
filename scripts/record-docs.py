#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pictures and transcripts of the README and the how-tos, made again by the commands that they name.

    record-docs.py TCBTUNE            records all of them: pictures, screenshots (with chromium), docs/wgsl.md with the kernels
                                      beside it, and docs/first-ten-minutes.md
    record-docs.py TCBTUNE NAME...    only these, as report.svg
    record-docs.py TCBTUNE --check    changes nothing: exit 1 and a line for each that no longer holds

RECORDS is the list.  A picture of a command shows what that command prints today of a database in results/, figures aside:
the same header, the same rows and verdicts, the same words below.  A screenshot shows a page that has its headings today.
docs/first-ten-minutes.md has a check of its own (scripts/first-ten-minutes.py; the test cli.first_steps)."""
import argparse
import gzip
import html
import json
import lzma
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
MINUTES = "first-ten-minutes.md"
KERNELS = "wgsl.md"
DRAWINGS = {"tiles-cpu.svg", "tiles-gpu.svg", "candidate.svg"}  # of ideas: no command printed what they show


class Record(NamedTuple):
    picture: str   # below docs/pictures/
    page: str      # that names the command
    database: str  # below results/, packed; the command has it as h200.db
    command: str
    columns: int = 0            # of the terminal; 0: a screenshot of the page report.html that the command writes
    headings: tuple = ()        # that a screenshot shows, or its page tells of


RECORDS = [
    Record("report.svg", "docs/how-to/tune-a-model.md", "h200/2026-11-23/runtime/model.db.xz",
           "tcbtune report --op q4k --verdict tuned --geometry none --db h200.db", columns=84),
    Record("html-report.png", "docs/how-to/read-a-report.md", "h200/2026-11-23/runtime/model.db.xz",
           "tcbtune report --format html --op q4k_matvec --shape 1x4096x14336 --state cold --out report.html --db h200.db",
           headings=("Limit, best, default and finalists", "All measured candidates", "Best so far", "Main effects",
                     "Candidates that reach the best")),
]


PAGE = """# Kernels in WGSL

One of each family of ops, as `tcbtune wgsl --op OP --out docs/wgsl` writes it for `wgpu:portable`, which is to say for any
device of WebGPU: the default geometry of the first default shape. Formats of weights and types of elements differ in how
values are read; what was tuned for a device differs in its geometry (`--device wgpu:0`).
[how-to/use-wgsl.md](how-to/use-wgsl.md) says how to use them. scripts/record-docs.py makes this page and the modules.

| op | what | shape | geometry | dispatches: workgroup, count |
|---|---|---|---|---|
ROWS

One of them, whole:

```wgsl
MODULE
```
"""


class Stage:
    """A folder in which commands run, with TCBTUNE on the path, one database, and nobody's own."""

    def __init__(self, tcbtune, folder):
        self.folder = pathlib.Path(folder)
        self.env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "TCBTUNE_DB")}
        self.env |= {"TCBTUNE_SYSTEM_DB": "", "HOME": folder, "XDG_DATA_HOME": folder, "LC_ALL": "C.UTF-8",
                     "PATH": f"{tcbtune.resolve().parent}:{os.environ['PATH']}"}

    def set_database(self, name):
        packed = ROOT / "results" / name
        unpack = lzma if packed.suffix == ".xz" else gzip
        (self.folder / "h200.db").write_bytes(unpack.decompress(packed.read_bytes()))

    def runs(self, command):
        return subprocess.run(shlex.split(command), cwd=self.folder, env=self.env, capture_output=True).returncode == 0

    def run(self, command, columns=80):
        done = subprocess.run(shlex.split(command), cwd=self.folder, env=self.env | {"COLUMNS": str(columns)},
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"record-docs.py: {command}: exit status {done.returncode}\n{done.stderr}")
        return done.stdout


def drawn(picture):
    """The lines of a picture that terminal-picture.py has made."""
    return [html.unescape(line) for line in re.findall(r"<text [^>]*>(.*)</text>", picture.read_text())]


def words(lines):
    """LINES without figures and blanks: what a reader takes for the way in which the program speaks today."""
    return [" ".join(re.sub(r"(?<![\w.])>?\d+(\.\d+)?(e[+-]?\d+)?(?![\w.])", "#", line).split()) for line in lines]


def family(op):
    """What OP's kernels are alike with: those of other formats and types, and of the same shape of work."""
    name = op["name"].split("_", 1)[1] if op["weight_type"] else op["name"]
    if re.match("reduce2d_|elementwise_", name):
        name = name.split("_")[0]
    return op["weight_type"] is not None, re.sub("_(f16|f32|bf16|q80)$", "", name)


def kernels(stage):
    """docs/wgsl.md and the modules below docs/wgsl/, by their paths below docs/: one kernel of each family of ops."""
    files, seen, rows = {}, set(), []
    for op in json.loads(stage.run("tcbtune ops --json"))["ops"]:
        command = f"tcbtune wgsl --op {op['name']} --db none.db"
        if family(op) in seen or not stage.runs(command):
            continue
        seen.add(family(op))
        stage.run(f"{command} --out wgsl")
        told = json.loads((stage.folder / "wgsl" / f"{op['name']}.json").read_text())
        path = f"wgsl/{told['file']}"
        files[path] = (stage.folder / path).read_text()
        launches = "<br>".join(f"`{launch['entry']}`: {launch['workgroup']}, {' x '.join(map(str, launch['dispatch']))}"
                               for launch in told["launches"])
        rows.append(f"| [{op['name']}]({path}) | {op['summary']} | {told['shape']['text']} | `{told['geometry']}` | {launches} |")
    files[KERNELS] = PAGE.replace("ROWS", "\n".join(rows)).replace("MODULE", files["wgsl/reduce2d_sum.wgsl"].rstrip("\n"))
    return files


def check_kernels(stage):
    made = kernels(stage)
    for path, text in made.items():
        file = ROOT / "docs" / path
        if not file.exists() or file.read_text() != text:
            yield f"docs/{path} is not what 'tcbtune wgsl' prints today"
    for file in (ROOT / "docs" / "wgsl").glob("*"):
        if f"wgsl/{file.name}" not in made:
            yield f"docs/wgsl/{file.name} is nobody's"


def make_kernels(stage):
    shutil.rmtree(ROOT / "docs" / "wgsl", ignore_errors=True)
    (ROOT / "docs" / "wgsl").mkdir()
    for path, text in kernels(stage).items():
        (ROOT / "docs" / path).write_text(text)
    print(f"docs/{KERNELS}")


def difference(shown, printed):
    """The first line of words that is not the same, for people; empty where none is."""
    shown, printed = words(shown), words(printed)
    for number in range(max(len(shown), len(printed))):
        pair = [lines[number] if number < len(lines) else "nothing" for lines in (shown, printed)]
        if pair[0] != pair[1]:
            return f"line {number + 1} shows '{pair[0]}', and the command prints '{pair[1]}'"
    return ""


def check_record(stage, record):
    picture = ROOT / "docs" / "pictures" / record.picture
    if record.command not in " ".join((ROOT / record.page).read_text().replace("\\\n", " ").split()):
        yield f"{record.page} does not name the command of {record.picture}: {record.command}"
    if not picture.exists():
        yield f"docs/pictures/{record.picture} is missing"
        return
    stage.set_database(record.database)
    printed = stage.run(record.command, record.columns or 80).rstrip("\n").split("\n")
    if record.columns:
        found = difference(drawn(picture), [f"$ {record.command}", *printed])
        if found:
            yield f"docs/pictures/{record.picture}: {found}"
        return
    text = (stage.folder / "report.html").read_text()
    for heading in record.headings:
        if heading not in text:
            yield f"docs/pictures/{record.picture} or {record.page} has '{heading}', which the report of today has not"


def check_pages():
    """Every picture is listed; no block shows a command with what it printed, unless it is in a list."""
    known = DRAWINGS | {record.picture for record in RECORDS}
    for page in PAGES:
        text = page.read_text()
        for name in re.findall(r"\((?:\.\./|docs/)pictures/([^)]+)\)", text):
            if name not in known:
                yield f"{page.relative_to(ROOT)}: picture {name} has no command in scripts/record-docs.py"
        for line in re.findall(r"^ +\$ (.*)$", text, re.M):
            yield f"{page.relative_to(ROOT)}: transcript of '{line}': scripts/record-docs.py makes none for this page"


def take_screenshot(stage, picture):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        sys.exit(f"record-docs.py: {picture.name} needs chromium (Debian: apt install chromium)")
    frame = stage.folder / "frame.html"  # which scrolls to the problem; of a page that does, chromium's picture is blank
    frame.write_text('<style>*{margin:0}</style><iframe src="report.html#r0" width=1200 height=835 style="border:0">')
    subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1200,835",
                    f"--screenshot={picture}", f"file://{frame}"], check=True, capture_output=True)


def make(stage, record):
    picture = ROOT / "docs" / "pictures" / record.picture
    stage.set_database(record.database)
    if record.columns:
        stage.run(f"{sys.executable} {ROOT}/scripts/terminal-picture.py {picture} {record.columns} {record.command}")
    else:
        stage.run(record.command)
        take_screenshot(stage, picture)
    print(f"docs/pictures/{record.picture}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("tcbtune", type=pathlib.Path)
    parser.add_argument("name", nargs="*", help="record only these files")
    parser.add_argument("--check", action="store_true", help="say what no longer holds, and change nothing")
    args = parser.parse_args()
    known = [MINUTES, KERNELS, *(record.picture for record in RECORDS)]
    if not set(args.name) <= set(known):
        parser.error(f"NAME is one of {', '.join(known)}")
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(args.tcbtune, folder)
        if args.check:
            found = [line for record in RECORDS for line in check_record(stage, record)] + [
                *check_pages(), *check_kernels(stage)]
            print(*found, sep="\n", end="\n" if found else "")
            sys.exit(1 if found else 0)
        for record in RECORDS:
            if not args.name or record.picture in args.name:
                make(stage, record)
        if not args.name or KERNELS in args.name:
            make_kernels(stage)
    if args.name and MINUTES not in args.name:
        return
    minutes = subprocess.run([sys.executable, ROOT / "scripts" / "first-ten-minutes.py", args.tcbtune], check=True,
                             capture_output=True, text=True).stdout
    (ROOT / "docs" / MINUTES).write_text(minutes)
    print(f"docs/{MINUTES}")


if __name__ == "__main__":
    main()
