#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attention on a GPU beside PyTorch's backends, in one run: sweeps, benches what was found, times PyTorch, one table.

    scripts/attention-against-torch.py TCBTUNE --out DIR [--op attention_decode_f16]... [--contract C] [--device cuda:0]
        [--sweep 12s] [--bench 4s] [--cross] [--knob KEY=VALUE,...]... [--rounds 5] [--turns 1] [--flashinfer SHAPE]...
        SHAPE|OP:SHAPE...
    scripts/attention-against-torch.py TCBTUNE --out DIR --plan [--sweep 6s] [--bench 3s]

For each op and shape `tcbtune sweep` goes on with DIR/tuning.db for the budget --sweep (0s: what is there will do), and
`tcbtune bench` measures its best geometry, cold, beside the default one and a loop that only reads the same bytes.
OP:SHAPE is for that op only.  PyTorch (scripts/peers/attention_torch.py) has f16 K and V whatever the op; where a shape
has words that it does not know, or there is no PyTorch, its columns are empty.  Of its layouts the faster one counts.
FlashInfer (scripts/peers/attention_flashinfer.py), of whose ways the fastest counts, is timed at shapes that are named.
All that is timed is timed --turns times, the benches after the peers, and the table has medians.  With --cross there is
a second table: what one shape's best geometry costs on the others, where it is another.  "of read, pdl": of the read
with programmatic dependent launch, where calls overlap.  DIR gets table.md, bench.jsonl, torch.txt, flashinfer.txt and
the database.

--knob group=0,256 adds a table of values of a knob (rows=0,1: whether warps share a piece of KV, midi.m above micro.m;
exp=none,2: none where it is left out): for each the fastest geometry measured that has it, and the shape's best with
only that changed where it is legal, benched together; the faster of the two, over the best.  An op without the knob has
no rows there.

--plan does all that a session with a GPU has to time of attention, each part in a folder of DIR: decode of f16 and
q8_0 KV at 1K to 64K with the values of group, 32 query tokens with rows, prefill of both at 512 to 8192 with prep, exp,
and mma alone beside wgmma (isa), and ragged batches with sched.  The budgets are those of one shape.

What fails is left out of the tables; its last words are on standard error, and the rest goes on.

Exit: 0; 1 a command failed; 2 wrong usage.
"""
import argparse
import itertools
import json
import pathlib
import re
import sqlite3
import statistics
import subprocess
import sys

from lib.measuring import Failed, call, of_state

PEERS = ("cudnn", "flash", "flashinfer")
OPTIONAL = ("exp", "sched") # knobs that may be left out: "none"
HEAD = ["op", "contract", "shape", "µs", "read µs", "of read", "of read, pdl", "default µs", "cuDNN µs", "flash µs",
        "FlashInfer µs", "cuDNN / ours", "flash / ours", "FlashInfer / ours"]


GIVEN_MOST = 6  # `tcbtune bench` takes as many geometries


def each(items, do):
    """[(item, do(item))] of those that did not fail, and how many did."""
    done, failed = [], 0
    for item in items:
        try:
            done.append((item, do(item)))
        except Failed as error:
            print(error, file=sys.stderr, flush=True)
            failed += 1
    return done, failed


def run_peer(args, script, shapes, log):
    """The first line that a peer prints, and {shape: {name: µs}}; of a name's ways the fastest."""
    peer = pathlib.Path(__file__).resolve().parent / "peers" / script
    run = subprocess.run([sys.executable, str(peer), "--rounds", str(args.rounds), *shapes], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    with open(args.out / log, "a", encoding="utf-8") as out:
        out.write(run.stdout)
    if run.returncode != 0:
        print(f"no figures of {script}: {(run.stdout.strip().splitlines() or [''])[-1]}", file=sys.stderr)
    times = {}
    for line in run.stdout.splitlines():
        name, _, value = line.partition(": ")
        words = name.split()
        if len(words) == 3 and value.endswith(" us"):
            of_shape = times.setdefault(words[0], {})
            of_shape[words[1]] = min(float(value[:-3]), of_shape.get(words[1], float("inf")))
    return next(iter(run.stdout.splitlines()), "") if run.returncode == 0 else "", times


def time_peers(args, shapes):
    """What peers say that they are, and {shape: {peer: µs}}."""
    version, times = run_peer(args, "attention_torch.py", shapes, "torch.txt")
    if not args.flashinfer:
        return version, times
    other, more = run_peer(args, "attention_flashinfer.py", args.flashinfer, "flashinfer.txt")
    for shape, of_shape in more.items():
        times.setdefault(shape, {}).update(of_shape)
    return " ".join(filter(None, (version, other))), times


def contract_words(args):
    return ["--contract", args.contract] if args.contract else []


def words_of(args, op, shape):
    words = ["--op", op, "--shape", shape, "--device", args.device, "--db", args.out / "tuning.db"]
    return words + contract_words(args)


def measure(args, op, shape):
    """The result of `tcbtune bench` with cold caches."""
    cross = ["--cross"] if args.cross else []
    words = [*words_of(args, op, shape), *cross, "--budget", args.bench, "--json"]
    bench = json.loads(call([args.tcbtune, "bench", *words]))
    with open(args.out / "bench.jsonl", "a", encoding="utf-8") as out:
        out.write(json.dumps(bench) + "\n")
    return of_state(bench["results"], "cold")


def microseconds(interval):
    return interval["median"] / 1000 if interval else None


def show(value, form=".2f"):
    return "" if value is None else format(value, form)


def median_of(values):
    there = [value for value in values if value]
    return statistics.median(there) if there else None


def row_of(turns):
    """Of a problem's (result of bench, µs of peers) in each turn."""
    figures, result = [], turns[0][0]
    for bench, peers in turns:
        rows = {row["role"]: row for row in bench["rows"]}
        best = rows.get("best") or bench["rows"][0]
        of_read = [bench[of] and bench[of]["median"] for of in ("of_limit", "of_overlap")]
        us = microseconds(best["ns"])
        times = [peers.get(name) for name in PEERS]
        figures.append([us, microseconds(bench["limit_ns"]), *of_read, microseconds(rows.get("default", best)["ns"]),
                        *times, *(us and time and time / us for time in times)])
    medians = [median_of(column) for column in zip(*figures)]
    forms = [".2f", ".2f", ".3f", ".3f"] + [".2f"] * (len(medians) - 4)
    return [result["op"], result["contract"], result["shape"]["text"], *map(show, medians, forms)]


def cross_rows(result):
    """Of other shapes' best geometries here: their time over the best's."""
    return [[result["op"], result["contract"], result["shape"]["text"], row["role"],
             show(row["over_first"]["median"], ".3f"), row["geometry"]]
            for row in result["rows"] if row["role"].startswith("of ") and row["over_first"]]


def parse_knob(text):
    key, _, values = text.partition("=")
    if not key or not values:
        raise argparse.ArgumentTypeError("KEY=VALUE,... is wanted")
    return key, values.split(",")


def tiles_m(geometry):
    """micro.m and midi.m."""
    return [int(re.search(rf"{level}=(\d+)x", geometry).group(1)) for level in ("micro", "midi")]


def value_of(geometry, key):
    """What GEOMETRY has of a knob; None: nothing.  Knob "rows": 1 where warps share a piece of KV."""
    if key == "rows":
        micro, midi = tiles_m(geometry)
        return str(int(midi > micro))
    found = re.search(rf"(?:^|,){key}=([^,]+)", geometry)
    return found.group(1) if found else "none" if key in OPTIONAL else None


def fastest_tried(args, op, shape, key, value):
    """The geometry with VALUE whose cold median is the least of all trials; None: none was tried."""
    size, _, words = shape.partition(",")
    with sqlite3.connect(args.out / "tuning.db") as db:
        rows = db.execute(
            "SELECT t.geometry FROM trial t JOIN sweep s ON s.id = t.sweep_id JOIN problem p ON p.id = s.problem_id "
            "JOIN measurement m ON m.trial_id = t.id WHERE p.op = ? AND p.m || 'x' || p.n || 'x' || p.k = ? "
            "AND p.words = ? AND (? IS NULL OR p.contract = ?) AND t.outcome = 'ok' AND m.state = 'cold' "
            "AND m.median_ns > 0 ORDER BY m.median_ns", (op, size, words, args.contract, args.contract)).fetchall()
    return next((geometry for geometry, in rows if value_of(geometry, key) == value), None)


def legal(args, op, shape, geometry):
    """The canonical text of GEOMETRY; None: it is not legal."""
    words = ["space", "--op", op, "--shape", shape, "--device", args.device, "--explain", geometry, "--any-size",
             "--json"]
    run = subprocess.run([str(word) for word in [args.tcbtune, *words, *contract_words(args)]], capture_output=True,
                         text=True)
    explanation = json.loads(run.stdout)["explanation"] if run.returncode == 0 else {"legal": False}
    return explanation["geometry"] if explanation["legal"] else None


def prefill_by_mma(args, op, shape):
    """Geometries of attention_prefill with mma, which the default space leaves out where there is wgmma."""
    m, n, k = map(int, shape.split(",")[0].split("x"))
    def whole(size, tile):
        return tile << (-(-size // tile) - 1).bit_length()
    prep = ",prep=launch" if op.endswith("q80") else ""
    for rows, kv, occ in ((64, 64, 1), (64, 64, 2), (64, 32, 2), (128, 64, 1), (128, 32, 1)):
        text = (f"macro={whole(m, rows)}x{whole(n, kv)}x{k},midi={rows}x{kv}x{k},micro=16x{kv}x{k},isa=mma,stages=2"
                f"{prep},blocks=0,pdl={int(bool(prep))},occ={occ},heads=1,turns=0")
        if legal(args, op, shape, text):
            yield text


def with_value(args, op, shape, geometry, key, value):
    """GEOMETRY with another value of a knob, if that is a legal one; None: it is not."""
    if key == "rows" or value_of(geometry, key) in (None, value):
        return None
    change = {key: value}
    if (key, value) == ("sched", "streamk"): # what goes with it
        change |= {"blocks": value_of(geometry, "occ"), "splitk": "1", "cluster": "1", "join": "last"}
    elif key == "sched" and "decode" in op: # and without it
        change |= {"blocks": "none", "join": "none"}
    for name, word in change.items():
        geometry = re.sub(rf",{name}=[^,]+", "", geometry)
        is_out = word == "none" and name in (*OPTIONAL, "blocks")
        geometry += "" if is_out else f",{name}={word}"
    return legal(args, op, shape, geometry)


def beside(args, op, shape, best, others):
    """BEST and OTHERS in turns: geometry, time over BEST's, time.  What the assembler spills is left out."""
    while True:
        words = [word for geometry in [best, *others] for word in ("--geometry", geometry)]
        try:
            bench = json.loads(call([args.tcbtune, "bench", *words_of(args, op, shape), *words, "--budget", args.bench,
                                     "--json"]))
        except Failed as error:
            spilled = [geometry for geometry in others if f"geometry {geometry} cannot be measured" in str(error)]
            if not spilled:
                raise
            others = [geometry for geometry in others if geometry not in spilled]
            continue
        cold = of_state(bench["results"], "cold")
        times = {row["geometry"]: row["ns"] for row in cold["rows"]}
        return [(geometry, ns["median"] / times[best]["median"], ns) for geometry, ns in times.items()
                if geometry == best or geometry in others]


def knob_rows(args, op, shape, best, key, values):
    """For each value: the fastest of its geometries over the best, in turns with it."""
    of_value = {}
    for value in values:
        tried = fastest_tried(args, op, shape, key, value)
        changed = with_value(args, op, shape, best, key, value)
        of_value[value] = {geometry for geometry in (tried, changed) if geometry}
    if key == "isa" and "prefill" in op and "mma" in of_value:
        room = GIVEN_MOST - 1 - sum(map(len, of_value.values()))
        of_value["mma"] |= set(itertools.islice(prefill_by_mma(args, op, shape), max(0, room)))
    others = sorted({geometry for geometries in of_value.values() for geometry in geometries} - {best})
    if value_of(best, key) is None or not others:
        return []
    times = {}
    for i in range(0, len(others), GIVEN_MOST - 1):
        for geometry, over_best, ns in beside(args, op, shape, best, others[i:i + GIVEN_MOST - 1]):
            times[geometry] = (over_best, ns)
    rows = []
    for value, geometries in of_value.items():
        own = geometries | ({best} if value_of(best, key) == value else set())
        found = [(times[geometry][0], geometry) for geometry in own if geometry in times]
        if not found:
            rows.append([op, shape, f"{key}={value}", "", "", "none that was tried or is legal and does not spill"])
            continue
        over_best, geometry = min(found)
        us = microseconds(times[geometry][1])
        rows.append([op, shape, f"{key}={value}", show(us), show(over_best, ".3f"), geometry])
    return rows


def best_of(result):
    return next((row["geometry"] for row in result["rows"] if row["role"] == "best"), result["rows"][0]["geometry"])


def plan(args):
    """Parts of --plan: folder, ops, shapes, knobs."""
    decode, prefill = ["attention_decode_f16", "attention_decode_q80"], ["attention_prefill_f16",
                                                                        "attention_prefill_q80"]
    lengths = [f"1x{n}x128,h32/8" for n in (1024, 4096, 16384, 65536)]
    squares = [f"{n}x{n}x128,h32/8,causal" for n in (512, 2048, 4096, 8192)]
    return [("decode", decode, lengths, ["group=0,256"]), ("decode-32", decode, ["32x16384x128,h32/8"], ["rows=0,1"]),
            ("prefill", prefill, squares, ["prep=launch,warps", "isa=wgmma,mma", "exp=none,1,2,4"]),
            ("prefill-64", prefill, ["4096x4096x64,h32/8,causal"], ["exp=none,1,2,4"]),
            ("decode-ragged", decode, [f"1x16384x128,h32/8,b{b},ragged" for b in (4, 16)], ["sched=none,streamk"]),
            ("prefill-ragged", prefill, ["2048x2048x128,h32/8,b8,ragged", "1024x8192x128,h32/8,b4,causal,ragged"],
             ["sched=none,dynamic"])]


def table(head, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def problems_of(args):
    """(op, shape) of what is asked for."""
    named = [re.fullmatch(r"(?:(attention_\w+):)?(.+)", shape).groups() for shape in args.shape]
    every = args.op or ["attention_decode_f16"]
    return [(op, shape) for op in every for own, shape in named if not own] + [pair for pair in named if pair[0]]


def take_turns(args, problems):
    """What peers say that they are, [(problem, [(bench, peers' µs) in each turn])], and how many benches failed."""
    turns, failed, version = {}, 0, ""
    for _ in range(args.turns):
        version, peers = time_peers(args, list(dict.fromkeys(shape for _, shape in problems)))
        results, lost = each(problems, lambda problem: measure(args, *problem))
        failed += lost
        for problem, result in results:
            turns.setdefault(problem, []).append((result, peers.get(problem[1], {})))
    return version, [(problem, turns[problem]) for problem in problems if problem in turns], failed


def run_part(args):
    args.out.mkdir(parents=True, exist_ok=True)
    for name in ("bench.jsonl", "torch.txt", "flashinfer.txt"):
        (args.out / name).unlink(missing_ok=True)
    problems = problems_of(args)
    swept = problems if not args.sweep.startswith("0") else []
    failed = each(swept, lambda problem: call([args.tcbtune, "sweep", *words_of(args, *problem), "--budget", args.sweep,
                                               "--counters", "none"]))[1]
    version, turns, lost = take_turns(args, problems)
    failed += lost
    results = [(problem, of_problem[-1][0]) for problem, of_problem in turns]
    texts = [version + "\n"] if version else []
    texts.append(table(HEAD, [row_of(of_problem) for _, of_problem in turns]))
    if args.cross:
        texts.append(table(["op", "contract", "shape", "with the best", "x best here", "geometry"],
                           [row for _, result in results for row in cross_rows(result)]))
    print("\n".join(texts), flush=True)
    for key, values in args.knob:
        of_knob, lost = each(results, lambda pair: knob_rows(args, *pair[0], best_of(pair[1]), key, values))
        failed += lost
        texts.append(table(["op", "shape", "knob", "µs", "x best", "geometry"],
                           [row for _, rows in of_knob for row in rows]))
        print(texts[-1], flush=True)
    (args.out / "table.md").write_text("\n".join(texts))
    return int(failed > 0)


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
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--flashinfer", action="append", default=[])
    parser.add_argument("--knob", action="append", type=parse_knob, default=[])
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("shape", nargs="*")
    args = parser.parse_intermixed_args()
    if args.plan == bool(args.shape):
        parser.error("shapes are wanted, or --plan alone")
    if not args.plan:
        return run_part(args)
    worst = 0
    for folder, ops, shapes, knobs in plan(args):
        print(f"## {folder}\n", flush=True)
        part = argparse.Namespace(**{**vars(args), "out": args.out / folder, "op": ops, "shape": shapes,
                                     "knob": [parse_knob(knob) for knob in knobs]})
        worst = max(worst, run_part(part))
        print(flush=True)
    return worst


if __name__ == "__main__":
    sys.exit(main())
