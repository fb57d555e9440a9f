# SPDX-License-Identifier: MIT
"""Runs the cases of one file against tcbtune, in order, in one scratch folder.

    run_cases.py --tcbtune PROGRAM --schemas DIR --fixtures DIR [--instrumented] FILE.case

A case is a block of lines `key: value`, started by `case:` and its name:

    case: an unknown op is refused with the nearest name
    run: tcbtune space --op q4k_matvek --count
    exit: 2
    stderr: unknown op 'q4k_matvek' \\(did you mean q4k_matvec\\?\\)

run      a bash line; $T is the scratch folder, $F the fixtures; required
setup    a bash line before it that must succeed (may be repeated)
exit     the expected exit status (0 if not given)
stdout   a regular expression that some line must match (may be repeated); stderr likewise
not      a regular expression that no line of stdout or stderr may match (may be repeated)
schema   the name of the JSON Schema that stdout must satisfy
after    a bash line that must succeed afterwards (may be repeated)
plain    why it is not run with a sanitizer (--instrumented): long, and what it runs has tests of its own there
lines    how many lines stderr has, without those that the machine is busy; 1 if the exit status is 1, 2 or 3: one clear line

A case that fails has nothing on stdout unless `stdout` or `schema` says so.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import jsonschema

from cli_support import read_schema

# What is said of the machine that the tests run on.
OTHERS = re.compile(r"the machine is busy: others have|: others have \d+ % of the processors' time")
REPEATED = {"setup", "stdout", "stderr", "not", "after"}
KEYS = REPEATED | {"case", "run", "exit", "schema", "plain", "lines"}
BROKEN = re.compile(r"Assertion|Sanitizer|runtime error|Segmentation|core dumped")


def parse(path):
    cases = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, _, value = line.partition(":")
        value = value.strip()
        if key not in KEYS or (key != "case" and not cases):
            sys.exit(f"{path}:{number}: unknown key '{key}'")
        if key == "case":
            cases.append({"case": value, "line": number, **{k: [] for k in REPEATED}})
        elif key in REPEATED:
            cases[-1][key].append(value)
        elif key in cases[-1]:
            sys.exit(f"{path}:{number}: '{key}' is given twice")
        else:
            cases[-1][key] = value
    for case in cases:
        if "run" not in case:
            sys.exit(f"{path}:{case['line']}: a case needs 'run'")
    return cases


def bash(line, env):
    return subprocess.run(["bash", "-c", line], env=env, capture_output=True, text=True, timeout=200)


def offences(case, result, schemas):
    expected = int(case.get("exit", 0))
    if result.returncode != expected:
        yield f"exit status {result.returncode}, expected {expected}"
    if BROKEN.search(result.stderr):
        yield "the program broke"
    for key, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        for pattern in case[key]:
            if not re.search(pattern, text, re.M):
                yield f"{key} has no line like: {pattern}"
    for pattern in case["not"]:
        if re.search(pattern, result.stdout + result.stderr, re.M):
            yield f"output has a line like: {pattern}"
    if "schema" in case:
        try:
            document = json.loads(result.stdout)
            jsonschema.validate(document, read_schema(schemas, case["schema"]))
        except (ValueError, jsonschema.ValidationError) as problem:
            yield f"JSON: {problem}"
    failed = expected in (1, 2, 3)
    lines = case.get("lines", "1" if failed else None)
    said = [line for line in result.stderr.splitlines() if not OTHERS.search(line)]
    if lines is not None and len(said) != int(lines):
        yield f"stderr has {len(said)} lines, expected {lines}"
    if failed and result.stderr and not result.stderr.splitlines()[-1].startswith("tcbtune: "):
        yield "the last line of stderr is not an error line"
    if failed and not case["stdout"] and "schema" not in case and result.stdout:
        yield "stdout is not empty"


def run(case, env, schemas):
    for line in case["setup"]:
        result = bash(line, env)
        if result.returncode:
            return [f"setup failed: {line}\n{result.stdout}{result.stderr}"], result
    result = bash(case["run"], env)
    found = list(offences(case, result, schemas))
    for line in case["after"]:
        after = bash(line, env)
        if after.returncode:
            found.append(f"afterwards failed: {line}\n{after.stdout}{after.stderr}")
    return found, result


def main():
    parser = argparse.ArgumentParser()
    for name in ("--tcbtune", "--schemas", "--fixtures"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--instrumented", action="store_true")
    parser.add_argument("file", type=pathlib.Path)
    args = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory(prefix="tcbtune-cli-") as scratch:
        env = {k: v for k, v in os.environ.items() if k not in ("TCBTUNE_DB", "XDG_DATA_HOME", "COLUMNS")}
        env["TCBTUNE_OTHERS"] = "ignore"  # tests run beside each other
        env["TCBTUNE_SYSTEM_DB"] = ""  # whatever is installed here
        env.update(T=scratch, F=str(args.fixtures), HOME=scratch,
                   PATH=f"{args.tcbtune.resolve().parent}:{env['PATH']}")
        # Root reads and writes everything: these cases need a process that may not.
        env["UNPRIVILEGED"] = ("setpriv --bounding-set=-dac_override,-dac_read_search" if os.geteuid() == 0 else "")
        cases = [case for case in parse(args.file) if not (args.instrumented and "plain" in case)]
        for case in cases:
            start = time.monotonic()
            found, result = run(case, env, args.schemas)
            print(f"{'FAILED' if found else 'ok'}: {case['case']} ({time.monotonic() - start:.1f} s)")
            if found:
                failures += 1
                print(f"  {case['run']}")
                for line in found:
                    print(f"  {line}")
                print(f"  --- stdout\n{result.stdout[:2000]}  --- stderr\n{result.stderr[:2000]}")
    print(f"{len(cases) - failures} of {len(cases)} cases passed")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
