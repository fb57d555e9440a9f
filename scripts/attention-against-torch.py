#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attention on a GPU beside PyTorch's backends, in one run: sweeps, benches what was found, times PyTorch, one table.

    scripts/attention-against-torch.py TCBTUNE --out DIR [--op attention_decode_f16]... [--contract C] [--device cuda:0]
        [--sweep 12s] [--bench 4s] [--cross] [--rounds 5] SHAPE...

For each op and shape `tcbtune sweep` goes on with DIR/tuning.db for the budget --sweep (0s: what is there will do), and
`tcbtune bench` measures its best geometry, cold, beside the default one and a loop that only reads the same bytes.
PyTorch (scripts/peers/attention_torch.py) has f16 K and V whatever the op; where a shape has words that it does not
know, or there is no PyTorch, its columns are empty.  Of its layouts the faster one counts.  With --cross there is a
second table: what one shape's best geometry costs on the others, where it is another.  "of read, pdl": of the read
with programmatic dependent launch, where calls overlap.  DIR gets table.md, bench.jsonl, torch.txt and the database.

Exit: 0; 1 a command failed, and its last words are on standard error; 2 wrong usage.
"""
import argparse
import json
import pathlib
import subprocess
import sys

PEERS = ("cudnn", "flash")
HEAD = ["op", "contract", "shape", "µs", "read µs", "of read", "of read, pdl", "default µs", "cuDNN µs", "flash µs",
        "cuDNN / ours", "flash / ours"]


def call(command):
    run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.stderr.write(f"{' '.join(map(str, command))}: exit {run.returncode}: {run.stderr[-800:]}\n")
        sys.exit(1)
    return run.stdout


def time_peers(args):
    """{shape: {backend: µs}}"""
    peer = pathlib.Path(__file__).resolve().parent / "peers" / "attention_torch.py"
    run = subprocess.run([sys.executable, str(peer), "--rounds", str(args.rounds), *args.shape], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    (args.out / "torch.txt").write_text(run.stdout)
    if run.returncode != 0:
        print(f"no figures of PyTorch: {run.stdout.strip().splitlines()[-1]}", file=sys.stderr)
    times = {}
    for line in run.stdout.splitlines():
        name, _, value = line.partition(": ")
        words = name.split()
        if len(words) == 3 and value.endswith(" us"):
            of_shape = times.setdefault(words[0], {})
            of_shape[words[1]] = min(float(value[:-3]), of_shape.get(words[1], float("inf")))
    return run.stdout.splitlines()[0] if run.returncode == 0 else "", times


def words_of(args, op, shape):
    words = ["--op", op, "--shape", shape, "--device", args.device, "--db", args.out / "tuning.db"]
    return words + (["--contract", args.contract] if args.contract else [])


def measure(args, op, shape):
    """The result of `tcbtune bench` with cold caches."""
    cross = ["--cross"] if args.cross else []
    words = [*words_of(args, op, shape), *cross, "--budget", args.bench, "--json"]
    bench = json.loads(call([args.tcbtune, "bench", *words]))
    with open(args.out / "bench.jsonl", "a", encoding="utf-8") as out:
        out.write(json.dumps(bench) + "\n")
    return next(r for r in bench["results"] if r["state"] == "cold")


def microseconds(interval):
    return interval["median"] / 1000 if interval else None


def show(value, form=".2f"):
    return "" if value is None else format(value, form)


def row_of(result, peers):
    rows = {row["role"]: row for row in result["rows"]}
    best = rows.get("best") or result["rows"][0]
    us, limit = microseconds(best["ns"]), microseconds(result["limit_ns"])
    times = [peers.get(name) for name in PEERS]
    of_read = [show(result[of] and result[of]["median"], ".3f") for of in ("of_limit", "of_overlap")]
    return [result["op"], result["contract"], result["shape"]["text"], show(us), show(limit), *of_read,
            show(microseconds(rows.get("default", best)["ns"])), *map(show, times),
            *(show(us and time and time / us) for time in times)]


def cross_rows(result):
    """Of other shapes' best geometries here: their time over the best's."""
    return [[result["op"], result["contract"], result["shape"]["text"], row["role"],
             show(row["over_first"]["median"], ".3f"), row["geometry"]]
            for row in result["rows"] if row["role"].startswith("of ") and row["over_first"]]


def table(head, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcbtune")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--op", action="append")
    parser.add_argument("--contract")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--sweep", default="12s")
    parser.add_argument("--bench", default="4s")
    parser.add_argument("--cross", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("shape", nargs="+")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "bench.jsonl").unlink(missing_ok=True)
    problems = [(op, shape) for op in args.op or ["attention_decode_f16"] for shape in args.shape]
    for problem in problems if not args.sweep.startswith("0") else []:
        call([args.tcbtune, "sweep", *words_of(args, *problem), "--budget", args.sweep, "--counters", "none"])
    version, peers = time_peers(args)
    results = [measure(args, *problem) for problem in problems]
    text = version + "\n\n" if version else ""
    text += table(HEAD, [row_of(result, peers.get(shape, {})) for result, (_, shape) in zip(results, problems)])
    if args.cross:
        text += "\n" + table(["op", "contract", "shape", "with the best", "x best here", "geometry"],
                             [row for result in results for row in cross_rows(result)])
    (args.out / "table.md").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
