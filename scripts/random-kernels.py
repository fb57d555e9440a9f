#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""GPU kernels that nobody chose: random ops, contracts, targets, shapes with words and legal geometries, each assembled,
analysed and run in the emulator against the op's reference.

    scripts/random-kernels.py TCBTUNE OUT [--op REGEX] [--target sm_90]... [--count 200] [--minutes N] [--seed 1]
        [--seconds 120] [--word bits] [--list]

A geometry is one of `tcbtune space`, or the default one; `tcbtune ptx --check` judges the kernel.  What is
wrong: an error among the findings, a wrong result, a spill of the default geometry, a signal, or more than --seconds.
OUT gets log.txt, a line for each case and what is to be typed to see it again.

--word: all shapes have it; of ops that take it.

--list draws only: OUT/list.txt gets a line "OP CONTRACT SHAPE [GEOMETRY]" for each, for `gpu_candidates pack --list`,
whose kernels a GPU runs (gpu-check.sh, GPU_CHECK_LISTED).

Exit: 0 all were right; 1 some were not, and are listed; 2 wrong usage.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import time

import random_shapes

TARGETS = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
LISTED = 20000  # geometries of a space that are drawn from
MOST = random_shapes.Most(m=150, n=400, k=1024, elements=1 << 19)
MOST_OF_ROWS = random_shapes.Most(m=40, n=5000, k=1, elements=1 << 18)


def run(words, seconds):
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace",
                              timeout=seconds)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        return "hangs", f"still running after {seconds} s"


def ops_of(args):
    """Entries of `tcbtune ops --json`."""
    code, text = run([args.tcbtune, "ops", "--json"], 60)
    if code != 0:
        sys.exit(f"random-kernels.py: {args.tcbtune} ops --json: exit {code}: {text[-300:]}")
    return [op for op in json.loads(text)["ops"] if re.search(args.op, op["name"]) and
            (not args.word or args.word in {word["word"] for word in op["words"]})]


def draw(args, rng, ops):
    op = rng.choice(ops)
    shape = random_shapes.draw_shape(rng, op, MOST_OF_ROWS if op["shape_form"] == "MxN" else MOST)
    if args.word and args.word not in shape.split(","):
        shape += f",{args.word}"
    words = ["--op", op["name"], "--contract", rng.choice(op["contracts"]), "--shape", shape]
    target = rng.choice(args.target or TARGETS)
    code, text = run([args.tcbtune, "space", *words, "--device", target], args.seconds)
    geometries = [line for line in text.splitlines() if line.startswith("macro=")][:LISTED]
    if code != 0 or not geometries:
        return None, text.strip().splitlines()[-1] if text.strip() else f"exit {code}"
    words += ["--target", target]
    if rng.random() < 0.8:
        words += ["--geometry", rng.choice(geometries) + rng.choice(["", "", ",passes=all"])]
    return words, ""


def judge(args, words):
    code, text = run([args.tcbtune, "ptx", *words, "--check"], args.seconds)
    if code != 0:
        lines = [line for line in text.splitlines() if "error" in line or "wrong" in line] or text.splitlines()[-1:]
        return f"exit {code}: {' / '.join(lines)[:300]}"
    if "emulated: right" not in text:
        return f"not emulated: {text.strip().splitlines()[-1][:200]}"
    if "--geometry" not in words and "spills" in text.replace("no spills", ""):
        return "the default geometry spills"
    return ""


def write_list(args, rng, ops):
    lines = []
    while len(lines) < args.count:
        words = draw(args, rng, ops)[0]
        if words:
            named = dict(zip(words[::2], words[1::2]))
            lines.append(" ".join(named[key] for key in ("--op", "--contract", "--shape", "--geometry") if key in named))
    (args.out / "list.txt").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcbtune")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--op", default="")
    parser.add_argument("--target", action="append")
    parser.add_argument("--word")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(args.seed)
    ops, done, left_out, wrong = ops_of(args), 0, 0, []
    if not ops:
        sys.exit(2)
    if args.list:
        return write_list(args, rng, ops)
    end = time.monotonic() + 60 * args.minutes if args.minutes else float("inf")
    with open(args.out / "log.txt", "w", encoding="utf-8") as log:
        while time.monotonic() < end and (args.minutes or done < args.count):
            words, why = draw(args, rng, ops)
            if not words:
                left_out += 1
                print(f"left out: {why}", file=log, flush=True)
                if left_out > 100 + 20 * done:
                    sys.exit(f"random-kernels.py: nothing but what is left out: {why}")
                continue
            done += 1
            said = judge(args, words)
            line = f"{'WRONG' if said else 'right'} ptx {' '.join(words)} --check{': ' + said if said else ''}"
            print(line, file=log, flush=True)
            if said:
                wrong.append(line)
                print(line, flush=True)
    print(f"{done} kernels, {left_out} draws without one, {len(wrong)} wrong; seed {args.seed}, {args.out / 'log.txt'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
