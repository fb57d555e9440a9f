#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Registers of `tcbtune ptx check` against `ptxas -v`, kernel by kernel, for every PTX file of a folder.

    scripts/ptx-registers.py [--tcbtune PROGRAM] [--flags=FLAGS] [--assemblers LIST] [--out FOLDER] CORPUS

For each file below CORPUS (a name may end in .sm_90a.ptx; else its own .target counts) ptxas is run by itself with
FLAGS, and `ptx check --ptxas-options=FLAGS` with each assembler of LIST: what they say of registers, spills, stack,
shared memory and barriers must be the same.  The estimate is that of a run without an assembler, and flags do not
concern it: its error is told without them only.

Files are split in two halves by a hash of their names without the target: the estimate's numbers were fitted to the
half "fitted", so that the half "judged" is what counts.  A table is printed; with --out it is written there too
(table.md), with one line per kernel (kernels.tsv).
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

FIELDS = ("registers", "barriers", "spill_store_bytes", "spill_load_bytes", "stack_bytes", "shared_bytes")
ENTRY = re.compile(
    r"Compiling entry function '(?P<name>[^']*)'.*\n"
    r"(?:.*warning.*\n)*.*Function properties for (?P=name)\n"
    r"\D*(?P<stack_bytes>\d+) bytes stack frame, (?P<spill_store_bytes>\d+) bytes spill stores, "
    r"(?P<spill_load_bytes>\d+) bytes spill loads\n"
    r".*Used (?P<registers>\d+) registers(?:, used (?P<barriers>\d+) barriers)?"
    r"(?:.*?, (?P<shared_bytes>\d+) bytes smem)?"
)


def target_of(path):
    named = re.search(r"\.(sm_\d+[af]?)\.ptx$", path.name)
    own = named or re.search(r"^\.target\s+(sm_\d+[af]?)", path.read_text(errors="replace"), re.M)
    return own.group(1)


def by_ptxas(path, target, flags):
    run = subprocess.run(
        ["ptxas", "-v", f"-arch={target}", *flags.split(), path, "-o", "/dev/null"],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        return None
    return {m["name"]: {f: int(m[f] or 0) for f in FIELDS} for m in ENTRY.finditer(run.stdout + run.stderr)}


def by_tcbtune(program, path, target, flags, assembler):
    run = subprocess.run(
        [program, "ptx", "check", path, f"--target={target}", "--json", *([f"--ptxas-options={flags}"] if flags else [])],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TCBTUNE_ASSEMBLER": assembler},
    )
    try:
        return {row["name"]: row for row in json.loads(run.stdout)["kernels"]}
    except ValueError:
        return {}


def source_of(corpus, path):
    """The folder, or what a flat corpus has in front of the first underscore."""
    inside = path.relative_to(corpus)
    return inside.parts[0] if len(inside.parts) > 1 else path.name.split("_")[0]


def half_of(path):
    stem = re.sub(r"(\.sm_\d+[af]?)?\.ptx$", "", path.name)
    return "judged" if hashlib.sha1(stem.encode()).digest()[0] % 2 else "fitted"


def read_file(args, path):
    target = target_of(path)
    wanted = by_ptxas(path, target, args.flags)
    if not wanted:
        return path, []
    told = {a: by_tcbtune(args.tcbtune, path, target, args.flags, a) for a in args.assemblers}
    estimates = by_tcbtune(args.tcbtune, path, target, "", "none")
    rows = []
    for name, figures in wanted.items():
        row = {"source": source_of(args.corpus, path), "half": half_of(path), "file": path.name, "target": target}
        row.update(kernel=name, ptxas=figures["registers"], estimate=None)
        if name in estimates:
            row["estimate"] = estimates[name]["register_estimate"]
        for a in args.assemblers:
            found = (told[a].get(name) or {}).get("assembler")
            row[a] = found and found["registers"]
            row[a + " equal"] = bool(found) and all(found[f] == figures[f] for f in FIELDS)
        rows.append(row)
    return path, rows


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def line_of(name, rows, assemblers):
    cells = [name, str(len({row["file"] for row in rows})), str(len(rows))]
    for a in assemblers:
        told = [row for row in rows if row[a] is not None]
        same = sum(row[a] == row["ptxas"] for row in told)
        cells.append(f"{same} of {len(told)} ({100 * same / len(told):.1f} %)" if told else "none told")
        cells.append(str(sum(row[a + " equal"] for row in told)))
    errors = [100 * (row["estimate"] / row["ptxas"] - 1) for row in rows if row["estimate"]]
    if errors:
        cells.append(f"{statistics.median(errors):+.0f} %")
        cells += [f"{percentile(errors, share):+.0f} %" for share in (0.05, 0.25, 0.75, 0.95)]
        cells.append(f"{statistics.fmean(abs(e) for e in errors):.1f} %")
    return "| " + " | ".join(cells) + " |"


def table_of(rows, args):
    head = ["source", "files", "kernels"]
    for a in args.assemblers:
        head += [f"registers equal by {a}", "all figures equal"]
    head += ["estimate: median error", "p5", "p25", "p75", "p95", "mean of the absolute"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["source"]].append(row)
    lines += [line_of(name, groups[name], args.assemblers) for name in sorted(groups)]
    for half in ("fitted", "judged"):
        some = [row for row in rows if row["half"] == half]
        if some:
            lines.append(line_of(f"the half {half}", some, args.assemblers))
    lines.append(line_of("all", rows, args.assemblers))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tcbtune", default="tcbtune")
    parser.add_argument("--flags", default="", help="of ptxas, separated by spaces")
    parser.add_argument("--assemblers", default="ptxas,nvjitlink", type=lambda text: [a for a in text.split(",") if a])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("corpus", type=pathlib.Path)
    args = parser.parse_args()
    os.environ["PATH"] += ":/usr/local/cuda/bin"
    if not shutil.which("ptxas"):
        sys.exit("no ptxas here")
    paths = sorted(args.corpus.rglob("*.ptx"))
    rows, refused = [], 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for _, found in pool.map(lambda path: read_file(args, path), paths):
            rows += found
            refused += not found
    if not rows:
        sys.exit(f"no kernel in {len(paths)} files")
    unread = sum(row["estimate"] is None for row in rows)
    text = f"{len(paths)} files, {refused} of them without a kernel that ptxas takes; {len(rows)} kernels"
    text += f", {unread} of them not read by tcbtune" + (f"; ptxas {args.flags}" if args.flags else "") + "\n\n"
    text += table_of(rows, args)
    print(text, end="")
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "table.md").write_text(text)
        names = list(rows[0])
        with open(args.out / "kernels.tsv", "w", encoding="utf-8") as out:
            print("\t".join(names), file=out)
            for row in rows:
                print("\t".join(str(row[name])[:80] for name in names), file=out)


main()
