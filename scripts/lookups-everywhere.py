#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What lookups answer for shapes that nobody swept, and whether it is ever slower than the default.

    lookups-everywhere.py TCBTUNE DB [--device cpu] [--threads 1] [--count 200] [--measure 20] [--seed 1] [--ops REGEX]

Random shapes of all ops are looked up in DB: each must have a source and a reason.  MEASURE of them (those that are not
the default itself first) are benched against the op's default, paired and interleaved; over 1.00 the answer is slower.
"""
import argparse
import collections
import json
import random
import re
import sys

from lib.measuring import Failed, Table, call, call_json, of_state

OPS = ["q4k_matvec", "q6k_matvec", "q80_matvec", "q5k_matvec", "q4k_matmul", "q6k_matmul", "q80_matmul", "matmul_f32",
       "matmul_f16", "softmax", "rmsnorm", "layernorm", "reduce2d_sum", "reduce2d_max", "attention_decode_f16",
       "attention_decode_q80", "attention_prefill_f16", "rope_append_f16", "rope_append_q80"]
HEADS = ["h32/8", "h28/4", "h32/32", "h64/8", "h16/8"]  # of models


def cache_shape_of(op, rng, largest):
    """Batches of a server: sequences come and go, and grow."""
    heads, k, batch = rng.choice(HEADS), rng.choice([64, 128, 128]), rng.choice([1, 1, rng.randrange(1, 20)])
    m = rng.randrange(17, 2000) if "prefill" in op else rng.choice([1, 1, rng.randrange(1, 9)])
    n = rng.randrange(m, 8000)
    while m * n * k * batch * int(heads[1:3]) > largest:
        m, n, batch = (m + 1) // 2, (n + 1) // 2, (batch + 1) // 2
    words = [heads] + [f"b{batch}"] * (batch > 1) + ["causal"] * ("prefill" in op)
    return f"{m}x{n}x{k}," + ",".join(words)


def shape_of(op, rng, largest):
    """Near what models have and far from it: odd, tiny, unaligned."""
    if op.startswith(("attention", "rope")):
        return cache_shape_of(op, rng, largest)
    while True:
        n = rng.choice([rng.randrange(1, 300), 32 * rng.randrange(1, 450), rng.choice([4096, 5120, 14336, 11008])])
        k = 256 * rng.randrange(1, 57)
        if op.endswith("matvec"):
            m = 1
        elif op.endswith("matmul") or op.startswith("matmul"):
            m = rng.choice([rng.randrange(2, 40), rng.choice([8, 32, 128, 512]), rng.randrange(40, 700)])
        else:
            m, n, k = rng.choice([1, rng.randrange(1, 600), 512]), rng.randrange(1, 20000), 0
        if op.startswith("matmul"):
            k = rng.randrange(16, 4096)
        if m * n * max(k, 1) <= largest:
            return f"{m}x{n}x{k}" if k else f"{m}x{n}"


def bench(args, row):
    where = ["--op", row["op"], "--shape", row["shape"], "--device", args.device, "--db", args.db,
             "--geometry", row["geometry"], "--budget", args.budget, "--json"]
    if not args.device.startswith(("cuda", "sm_")):
        where += ["--threads", row["threads"], "--rotation", args.rotation]
    result = of_state(call_json([args.tcbtune, "bench", *where])["results"], row["state"])
    rows = {r["role"]: r for r in result["rows"]}
    mine = next(r for r in result["rows"] if r["geometry"] == row["geometry"])
    if "default" not in rows or rows["default"]["geometry"] == row["geometry"]:
        return None, mine
    default = rows["default"]
    # Each row's ratio is over the first row's time, which is the geometry that was given.
    return {key: 1 / default["over_first"][other] for key, other in (("median", "median"), ("lo", "hi"), ("hi", "lo"))}, mine


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tcbtune")
    parser.add_argument("db")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--measure", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", default="6s")
    parser.add_argument("--rotation", default="512M")
    parser.add_argument("--largest", type=float, default=4e9, help="m n k of a shape, at most")
    parser.add_argument("--ops", default="", help="only ops whose name holds this regular expression")
    args = parser.parse_args()
    ops = [op for op in OPS if re.search(args.ops, op)]
    rng = random.Random(args.seed)
    rows, sources, bad = [], collections.Counter(), 0
    for i in range(args.count):
        op = ops[i % len(ops)]
        shape, state = shape_of(op, rng, args.largest), rng.choice(["cold", "hot"])
        where = ["--op", op, "--shape", shape, "--state", state, "--device", args.device, "--db", args.db, "--json"]
        if args.threads:
            where += ["--threads", args.threads]
        try:
            said = json.loads(call([args.tcbtune, "lookup", *where]))
        except Failed as failed:
            print(f"REFUSED {op} {shape} {state}: {failed}")
            bad += 1
            continue
        if said["source"] == "none" or not said["reason"]:
            print(f"SILENT {op} {shape} {state}: {said}")
            bad += 1
        sources[said["source"]] += 1
        rows.append(dict(op=op, shape=shape, state=state, **{k: said[k] for k in ("geometry", "source", "reason", "threads")}))
    print(f"{args.count} shapes: {bad} without an answer; " + ", ".join(f"{n} {s}" for s, n in sources.most_common()))
    rng.shuffle(rows)
    rows.sort(key=lambda row: row["source"] == "default")
    measured = slower = 0
    table = Table(("answer/default", ">14.3f"), ("95 % interval", ">17"), ("us", ">10.2f"), (" problem, source: reason", ""))
    print(table.head())
    for row in rows:
        if measured >= args.measure:
            break
        ratio, mine = bench(args, row)
        what = f"{row['op']} {row['shape']} {row['state']}, {row['source']}: {row['reason']}"
        if ratio is None:
            print(table.line("is it", "", mine["ns"]["median"] / 1e3, " " + what), flush=True)
        else:
            slower += ratio["median"] > 1.03
            print(table.line(ratio["median"], f"[{ratio['lo']:7.3f},{ratio['hi']:7.3f}]", mine["ns"]["median"] / 1e3,
                             " " + what), flush=True)
        measured += 1
    print(f"{measured} measured, {slower} slower than the default by more than 3 %")
    sys.exit(1 if bad or slower else 0)


main()
