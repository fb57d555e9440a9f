#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small kernels that say what is to be found in them.

    test_judged.py --tcbtune PROGRAM [NAME...]

Each .ptx file here begins with comments: "// check: OPTIONS" for `tcbtune ptx check`, and lines "// expect: SEVERITY
RULE LINE" that tell all errors and warnings that there must be, or "// expect: nothing".  LINE may be *, and further
words must be in the message.
"""
import argparse
import glob
import json
import os
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def header(path):
    options, expected = [], []
    for line in open(path, encoding="utf-8"):
        if line.startswith("// check:"):
            options = shlex.split(line[len("// check:") :])
        elif line.startswith("// expect:"):
            expected.append(line[len("// expect:") :].split())
        elif not line.startswith("//"):
            break
    return options, [words for words in expected if words != ["nothing"]], bool(expected)


def fits(finding, words):
    lines = {finding["line"], *finding.get("lines", [])}
    return (
        finding["severity"] == words[0]
        and finding["rule"] == words[1]
        and (words[2] == "*" or int(words[2]) in lines)
        and all(word in finding["message"] for word in words[3:])
    )


def judge(program, path):
    """What is wrong, as lines of text."""
    options, expected, is_told = header(path)
    if not is_told:
        return ["it says nothing of what is expected"]
    env = dict(os.environ, TCBTUNE_ASSEMBLER="none")
    done = subprocess.run([program, "ptx", "check", path, "--json", *options], capture_output=True, env=env, check=False)
    if done.returncode not in (0, 4):
        return [f"exit status {done.returncode}: {done.stderr.decode()}"]
    found = [f for f in json.loads(done.stdout)["findings"] if f["severity"] != "advice"]
    wrong = [f"not found: {' '.join(words)}" for words in expected if not any(fits(f, words) for f in found)]
    return wrong + [
        f"found: line {f['line']}: {f['severity']}: {f['rule']}: {f['message']}"
        for f in found
        if not any(fits(f, words) for words in expected)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tcbtune", required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    paths = [os.path.join(HERE, n + ".ptx") for n in args.names] or sorted(glob.glob(os.path.join(HERE, "*.ptx")))
    failed = 0
    for path in paths:
        wrong = judge(args.tcbtune, path)
        failed += bool(wrong)
        for line in wrong:
            print(f"{os.path.basename(path)}: {line}")
    print(f"{len(paths)} kernels, {failed} judged wrong")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
