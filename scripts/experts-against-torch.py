#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Products of a mixture of experts on a GPU beside PyTorch's, in one run: sweeps what is named, one table.

    scripts/experts-against-torch.py TCBTUNE --out DIR [--device cuda:0] [--sweep 6s] [--most 3] [--no-peers]
        [OP:SHAPE]...

For each op and shape, contract f16, `tcbtune sweep` goes on with DIR/tuning.db for the budget --sweep (0s: what is there
will do).  The table has the fastest geometry's time with cold caches, that of reading the bytes of the experts that are
used, their quotient, and the operations in a second; below it the --most fastest that were tried.  PyTorch
(scripts/peers/experts_torch.py) has bf16 weights, so that it reads 3.6 times as many bytes as Q4_K.

Without OP:SHAPE both layers that are most in use: 128 experts of which 8 are used, 2048 -> 768, Q4_K, and 32 of which 4
are, 2880 -> 2880, MXFP4; at 1, 4, 32 and 512 tokens; the fused forms at 32; and the plain product at 512 to compare
with.

What fails is left out of the table; its last words are on standard error, and the rest goes on.

Exit: 0; 1 a command failed; 2 wrong usage.
"""
import argparse
import csv
import pathlib
import sqlite3
import subprocess
import sys

from lib.measuring import Failed, Table, call

TOKENS = (1, 4, 32, 512)
LAYERS = [("q4k", "{}x768x2048,e128/8"), ("mxfp4", "{}x2880x2880,e32/4")]
FUSED = ["q4k_experts_swiglu_matmul:32x768x2048,e128/8", "q4k_experts_sum_matmul:32x2048x768,e128/8"]
PLAIN = ["q4k_matmul:512x4096x4096"]


def all_of_both_layers():
    """Few tokens as they mostly come; spread evenly, and all alike, where that says something else."""
    of = [f"{name}_experts_matmul:{shape.format(m)}" for name, shape in LAYERS for m in TOKENS]
    of += [f"q4k_experts_matmul:{LAYERS[0][1].format(m)},{spread}" for m, spread in ((32, "even"), (32, "one"), (512, "even"))]
    return of + FUSED + PLAIN


def operations(op, shape):
    """Of the products alone."""
    size, *words = shape.split(",")
    m, n, k = map(int, size.split("x"))
    used = next((int(word.split("/")[1]) for word in words if word[0] == "e" and "/" in word), 1)
    return 2 * m * n * k * used * (2 if "swiglu" in op else 1)


def sweep(args, op, shape):
    words = ["--op", op, "--shape", shape, "--contract", "f16", "--device", args.device, "--db", args.out / "tuning.db"]
    if args.sweep != "0s":
        call([args.tcbtune, "sweep", *words, "--budget", args.sweep, "--counters", "none"])


def rows_of(args, op, shape, most):
    """(ns, geometry) of the fastest trials with cold caches."""
    size, _, words = shape.partition(",")
    with sqlite3.connect(args.out / "tuning.db") as db:
        return db.execute(
            "SELECT m.median_ns, t.geometry FROM trial t JOIN sweep s ON s.id = t.sweep_id "
            "JOIN problem p ON p.id = s.problem_id JOIN measurement m ON m.trial_id = t.id "
            "WHERE p.op = ? AND p.m || 'x' || p.n || 'x' || p.k = ? AND p.words = ? AND t.outcome = 'ok' "
            "AND m.state = 'cold' AND m.median_ns > 0 ORDER BY m.median_ns LIMIT ?", (op, size, words, most)).fetchall()


def best_of(args, op, shape):
    """(ns, limit ns, geometry) of the winner with cold caches."""
    size, _, words = shape.partition(",")
    m, n, k = size.split("x")
    report = call([args.tcbtune, "report", "--db", args.out / "tuning.db", "--op", op, "--format", "csv"])
    for row in csv.DictReader(report.splitlines()):
        if (row["op"], row["m"], row["n"], row["k"], row["words"], row["state"]) == (op, m, n, k, words, "cold"):
            return float(row["ns"]), float(row["limit_ns"] or "nan"), row["geometry"]
    raise Failed(f"{op} {shape}: no result")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tcbtune", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--sweep", default="6s")
    parser.add_argument("--most", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("what", nargs="*")
    args = parser.parse_intermixed_args()
    args.out.mkdir(parents=True, exist_ok=True)
    failed, tried = 0, []
    table = Table(("op", "<26"), ("shape", "<26"), ("us", ">9.2f"), ("read us", ">9.2f"), ("of read", ">8.3f"),
                  ("TFLOP/s", ">8.1f"))
    print(table.head())
    what = [one.partition(":")[::2] for one in args.what or all_of_both_layers()]
    for op, shape in what:
        try:
            sweep(args, op, shape)
            ns, limit, geometry = best_of(args, op, shape)
        except Failed as error:
            print(error, file=sys.stderr, flush=True)
            failed += 1
            continue
        print(table.line(op, shape, ns / 1e3, limit / 1e3, limit / ns, operations(op, shape) / ns / 1e3), flush=True)
        tried += [f"{op} {shape} {geometry}"]
        tried += [f"    {trial_ns / 1e3:9.2f} us {trial}" for trial_ns, trial in rows_of(args, op, shape, args.most)]
    print("\n".join(["", *tried]), flush=True)
    shapes = list(dict.fromkeys(shape for op, shape in what if op.endswith("experts_matmul")))
    if shapes and not args.no_peers:
        peer = pathlib.Path(__file__).resolve().parent / "peers" / "experts_torch.py"
        failed += subprocess.run([sys.executable, str(peer), *shapes]).returncode != 0
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
