# SPDX-License-Identifier: MIT
"""Planted hazards: what `ptx check` and `ptx run` find of each, and that they say nothing of the mended twins.

    test_hazards.py --tcbtune PROGRAM [--only TEXT | --few] [--table FILE] [--write | --exact] [--verbose] [--seed N]

cases.py says what a case is.  A hazard is caught when a finding, error or warning, is of one of the case's rules.  Of a
mended twin any error or warning is noise.  What is caught must not be less than expected.tsv says, and the noise not
more; with --exact it must be the same.  --write writes expected.tsv, --table the table by class, as in results.  --few, for a program that a sanitizer
makes slow to start, takes every fourth case and those that first show a rule: all that is ever told is told.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

import cases

EXPECTED = cases.HERE / "expected.tsv"
COLUMNS = ["case", "half", "check", "run", "line", "noise"]
ENV = dict(os.environ, TCBTUNE_ASSEMBLER="none")


def findings(program, words):
    """Errors and warnings that a command told; that it takes too long is one of its own."""
    try:
        done = subprocess.run([program, "ptx", *words, "--json"], env=ENV, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return [{"rule": "TIMEOUT", "message": "", "source": [], "line": 0, "severity": "error"}]
    if done.returncode not in (0, 4):
        sys.exit(f"FAILED: exit status {done.returncode} of {' '.join(words)}\n{done.stderr}")
    return [row for row in json.loads(done.stdout)["findings"] if row["severity"] != "advice"]


def commands(case, twin, seed):
    path = str(case.ptx(twin))
    return {"check": ["check", path, *case.launch[twin]], "run": ["run", path, *case.launch[twin], *case.run, "--seed", str(seed)]}


def places(case, row):
    """The lines of the case's source that a finding is about, through whatever was inlined."""
    frames = list(row.get("source") or [])
    for mention in row.get("mentions", []):
        frames += mention["source"]
    return {frame["line"] for frame in frames if pathlib.Path(frame["file"]).name == case.file}


def judge(program, case, seed):
    """One row of expected.tsv, and all that was told, for people."""
    told, caught, lines, noise = [], {"check": set(), "run": set()}, set(), set()
    for twin in cases.TWINS:
        for how, words in commands(case, twin, seed).items():
            for row in findings(program, words):
                told.append(f"    {twin} {how}: {row['severity']}: {row['rule']}: {row['message']} "
                            f"(line {row['line']}, source {sorted(places(case, row))})")
                if twin == "mended":
                    noise.add(f"{how}:{row['rule']}")
                elif row["rule"] in case.rules:
                    caught[how].add(row["rule"])
                    lines |= places(case, row) & case.blamed
    found = {how: ",".join(sorted(rules)) or "-" for how, rules in caught.items()}
    any_found = caught["check"] or caught["run"]
    line = "-" if not any_found else "named" if lines else "other"
    return [case.name, case.half, found["check"], found["run"], line, ",".join(sorted(noise)) or "-"], told


def table(everything, rows):
    """By class: cases, caught by which, findings that name a blamed line, twins that are not silent."""
    text = ["| class | cases | check | run | either | line named | noisy twins |", "|---|---:|---:|---:|---:|---:|---:|"]

    def line(name, group):
        check = sum(row[2] != "-" for row in group)
        run = sum(row[3] != "-" for row in group)
        either = sum(row[2] != "-" or row[3] != "-" for row in group)
        named = sum(row[4] == "named" for row in group)
        noisy = sum(row[5] != "-" for row in group)
        text.append(f"| {name} | {len(group)} | {check} | {run} | {either} | {named} | {noisy} |")

    groups = collections.defaultdict(list)
    for case, row in zip(everything, rows):
        groups[case.group].append(row)
    for name in sorted(groups):
        line(name.replace("_", " "), groups[name])
    for half in ("dev", "judge"):
        line(f"*half {half}*", [row for row in rows if row[1] == half])
    line("**all**", rows)
    missed = [f"`{row[0]}`" for row in rows if row[2] == "-" and row[3] == "-"]
    text += ["", f"Missed by both ({len(missed)}): {', '.join(missed) or 'none'}."]
    noisy = [f"`{row[0]}` ({row[5]})" for row in rows if row[5] != "-"]
    text += ["", f"Mended twins that are not silent ({len(noisy)}): {', '.join(noisy) or 'none'}."]
    return "\n".join(text) + "\n"


def is_worse(row, before):
    """Something is missed, or not named, or noisy that was not."""
    noise, noise_before = set(row[5].split(",")), set(before[5].split(","))
    return (row[2:4] == ["-", "-"] != before[2:4] or (before[2] != "-") > (row[2] != "-")
            or (before[3] != "-") > (row[3] != "-") or (before[4] == "named" != row[4]) or bool(noise - noise_before - {"-"}))


def few(everything, known):
    """Every fourth case, the first of each class, and whatever alone shows a rule of a command or a kind of noise."""
    kept, seen = [], set()
    for number, case in enumerate(everything):
        row = known.get(case.name, [""] * len(COLUMNS))
        shown = {("class", case.group), ("line", row[4])}
        shown |= {(column, word) for column in (2, 3, 5) for word in row[column].split(",")}
        if number % 4 == 0 or shown - seen:
            kept.append(case)
            seen |= shown
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tcbtune", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--seed", type=int, default=1, help="of the order of warps and of random data")
    args = parser.parse_args()
    program = str(pathlib.Path(args.tcbtune).resolve())
    everything = [case for case in cases.read() if args.only in f"{case.group} {case.name}"]
    known = {}
    if EXPECTED.exists():
        known = {line.split("\t")[0]: line.split("\t") for line in EXPECTED.read_text().splitlines()[1:]}
    if args.few:
        everything = few(everything, known)
    stale = [case.name for case in everything for twin in cases.TWINS if not case.is_current(twin)]
    if stale:
        sys.exit(f"FAILED: PTX of another source: {', '.join(sorted(set(stale)))}; run make.py")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        judged = list(pool.map(lambda case: judge(program, case, args.seed), everything))
    rows = [row for row, _ in judged]
    if args.verbose:
        for case, (row, told) in zip(everything, judged):
            print("\t".join(row), *told, sep="\n")
    if args.table:
        args.table.write_text(table(everything, rows))
    print(table(everything, rows))
    if args.write:
        known = {} if not args.only and not args.few else known
        known.update({row[0]: row for row in rows})
        text = "\n".join("\t".join(row) for row in [COLUMNS, *(known[name] for name in sorted(known))])
        EXPECTED.write_text(text + "\n")
        return
    changed = [row for row in rows if known.get(row[0]) != row]
    for row in changed:
        print("expected", *known.get(row[0], ["nothing"]), "\nfound   ", *row)
    bad = [row[0] for row in changed if args.exact or row[0] not in known or is_worse(row, known[row[0]])]
    gone = [] if args.only or args.few else sorted(set(known) - {row[0] for row in rows})
    if bad or gone:
        sys.exit(f"FAILED: {len(bad)} cases are not as expected.tsv says: {bad}; gone: {gone}")
    if not rows:
        sys.exit("FAILED: no case was judged")


main()
