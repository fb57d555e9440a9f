#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the default geometry costs where shapes were swept: for each problem of a database its default against its best,
side by side (tcbtune bench).

    scripts/judge-defaults.py TCBTUNE DATABASE [--device cpu] [--threads N] [--rotation BYTES] [--op REGEX] [--budget 4s]
        [--out FILE] [--seconds N]
    scripts/judge-defaults.py TCBTUNE DATABASE... --stored sm_90 [--least 10] [--alike occ,stream] [--op REGEX]
        [--out FILE]

The database holds sweeps of shapes that the rules of defaults (docs/defaults.md) were not made of, by this machine.  The
loss that counts is that with cold caches, or a third of that with hot ones if that is more.  Prints a line for each
problem and the median and worst of each op.  With --out the lines of the problems go to FILE, and those that it has
are not measured again: after --seconds it stops, and the same command goes on.

With --stored nothing is measured: of all trials of that architecture in the databases (.xz and .gz, too) the one of today's
default over the best, at problems with --least of them, by families of ops.  One stands for the default, too, that differs
in words of --alike alone, which change little; problems without any are counted, and judged by nothing.  What is stored is
of the kernels of then, and today's rules and tables were made of some of it: see docs/defaults.md.

Exit: 0 the median is at most 10 % and the worst 30 %; 1 it is not; 2 wrong usage; 3 some problems are left.
"""
import argparse
import collections
import gzip
import json
import lzma
import pathlib
import re
import shutil
import statistics
import sys
import tempfile
import time
from concurrent import futures

from lib.measuring import Table, call, call_json, of_state

HOT_SHARE = 1 / 3
TOLD = 1.05  # problems that lose so much of what is stored are told one by one
TABLE = Table(("problem", "40"), ("cold %", ">8.1f"), ("hot %", ">8.1f"), ("loss %", ">8.1f"))


def loss_of(rows):
    """The default's time over the best's, minus 1; bench compares with the first row."""
    times = {row["role"]: row["over_first"]["median"] for row in rows}
    return times.get("default", 1.0) / times.get("best", 1.0) - 1


def known_in(path):
    """{problem: its line} of what an earlier call left."""
    lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
    return {" ".join(line.split()[:3]): line for line in lines}


def measure(args, problem):
    op, contract, shape = problem.split()
    words = ["--op", op, "--contract", contract, "--shape", shape, "--device", args.device, "--db", args.database[0]]
    words += ["--threads", args.threads] if args.threads else []
    words += ["--rotation", args.rotation] if args.rotation else []
    results = call_json([args.tcbtune, "bench", *words, "--budget", args.budget, "--json"])["results"]
    cold, hot = (loss_of(of_state(results, state)["rows"]) for state in ("cold", "hot"))
    loss = max(cold, HOT_SHARE * hot, 0)
    line = TABLE.line(problem, 100 * cold, 100 * hot, 100 * loss)
    if args.out:
        with open(args.out, "a", encoding="utf-8") as out:
            print(line, file=out)
    return line


# --- trials that are stored ---

class Stored:
    """A problem on a device, and what was measured there."""

    def __init__(self, family, op, contract, device, shape):
        self.family, self.op, self.contract, self.device, self.shape = family, op, contract, device, shape
        self.ns = {}  # of each geometry, by state

    def losses(self):
        """{geometry: its time over the best}; as src/cli/tune/default_cells.c counts."""
        best = {state: min((ns[state] for ns in self.ns.values() if ns[state] > 0), default=0) for state in ("cold", "hot")}
        found = {}
        for geometry, ns in self.ns.items():
            cold, hot = (ns[state] / best[state] if ns[state] > 0 else 1.0 for state in ("cold", "hot"))
            if ns["cold"] > 0 or not best["cold"]:
                found[geometry] = max(cold, 1 + HOT_SHARE * (hot - 1))
        return found

    def loss_of(self, geometry, without):
        """That of what stands for GEOMETRY, equal but for words WITHOUT; None: nothing does."""
        losses, wanted = self.losses(), essence(geometry, without)
        alike = sorted(loss for one, loss in losses.items() if essence(one, without) == wanted)
        return losses.get(geometry, alike[0] if alike else None)


def essence(geometry, without):
    return tuple(word for word in geometry.split(",") if word.split("=")[0] not in without)


def unpacked(path, folder, number):
    """PATH, or what is packed there, below FOLDER."""
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix)
    if not opener:
        return path
    out = folder / f"{number}.db"
    with opener(path, "rb") as packed, open(out, "wb") as plain:
        shutil.copyfileobj(packed, plain)
    return out


def read_stored(args):
    """The problems with enough trials that `tcbtune defaults --format features` knows."""
    problems = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        databases = [unpacked(path, folder, i) for i, path in enumerate(args.database)]
        features = folder / "features.txt"
        call([args.tcbtune, "defaults", "--arch", args.stored, "--format", "features", "--out", features, *databases], 600)
        with open(features, encoding="utf-8") as lines:
            next(lines)
            for line in lines:
                family, op, contract, _, device, shape, _, cold, hot, _, geometry = line.split("\t", 11)[:11]
                key = (family, op, contract, device, shape)
                if re.search(args.op, op):
                    problem = problems.setdefault(key, Stored(*key))
                    problem.ns[geometry] = {"cold": float(cold), "hot": float(hot)}
    return [problem for _, problem in sorted(problems.items()) if len(problem.ns) >= args.least]


def look_up(args, problem):
    """Today's default, and who says so."""
    with tempfile.TemporaryDirectory() as scratch:
        said = json.loads(call([args.tcbtune, "lookup", "--op", problem.op, "--contract", problem.contract, "--shape",
                                problem.shape, "--device", args.stored, "--db", f"{scratch}/none.db", "--json"], 60))
    by = "learning" if "the learned default" in said["reason"] else "rule" if "by rule" in said["reason"] else "the op"
    return said["geometry"], by


def judge_stored(args):
    """The table by families, and what loses or is not judged."""
    problems = read_stored(args)
    with futures.ThreadPoolExecutor(2) as pool:
        defaults = list(pool.map(lambda problem: look_up(args, problem), problems))
    losses, unknown, text = collections.defaultdict(list), collections.Counter(), ""
    for problem, (geometry, by) in zip(problems, defaults):
        loss = problem.loss_of(geometry, args.alike)
        name = f"{problem.op} {problem.contract} {problem.device} {problem.shape}"
        unknown[problem.family] += loss is None
        losses[problem.family] += [] if loss is None else [loss]
        if loss is None or loss >= TOLD:
            text += f"{name:76} {f'{loss:7.3f}' if loss else '      ?'} of {len(problem.ns):4}, {by}\n"
    summary = Table(("family", "26"), ("judged", ">7"), ("not", ">5"), ("median", ">7.3f"), ("p90", ">7.3f"), ("worst", ">7.3f"))
    table = summary.head() + "\n"
    rows = [*sorted(losses.items()), ("all", [loss for some in losses.values() for loss in some])]
    for family, some in rows:
        some = sorted(some)
        figures = [statistics.median(some), some[min(len(some) - 1, int(0.9 * len(some)))], some[-1]] if some else [float("nan")] * 3
        missing = unknown[family] if family != "all" else sum(unknown.values())
        table += summary.line(family, str(len(some)), str(missing), *figures) + "\n"
    print(table, end="")
    if args.out:
        args.out.write_text(table + "\n" + text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcbtune")
    parser.add_argument("database", nargs="+", type=pathlib.Path)
    parser.add_argument("--stored", metavar="ARCH", help="judge by what is stored of this architecture")
    parser.add_argument("--alike", type=lambda text: text.split(","), default=["occ", "stream"])
    parser.add_argument("--least", type=int, default=10, help="trials of a problem that is judged")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads")
    parser.add_argument("--rotation")
    parser.add_argument("--op", default="")
    parser.add_argument("--budget", default="4s")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    args = parser.parse_args()
    if args.stored:
        return judge_stored(args)
    if len(args.database) > 1:
        parser.error("one database, unless --stored")
    end = time.monotonic() + args.seconds
    best = call_json([args.tcbtune, "report", "--db", args.database[0], "--json"])["best"]
    problems = sorted({f"{row['op']} {row['contract']} {row['shape']['text']}" for row in best
                       if re.search(args.op, row["op"])})
    known = known_in(args.out)
    losses = {}
    print(TABLE.head())
    for problem in problems:
        if problem not in known and time.monotonic() > end:
            sys.exit(3)
        line = known.get(problem) or measure(args, problem)
        print(line, flush=True)
        losses.setdefault(problem.rsplit(" ", 1)[0], []).append(float(line.split()[-1]) / 100)
    for name, some in losses.items():
        print(f"{name:40} median {100 * statistics.median(some):5.1f} %, worst {100 * max(some):5.1f} %, {len(some)} shapes")
    every = [loss for some in losses.values() for loss in some]
    median, worst = statistics.median(every), max(every)
    print(f"{'all':40} median {100 * median:5.1f} %, worst {100 * worst:5.1f} %, {len(every)} shapes")
    sys.exit(0 if median <= 0.10 and worst <= 0.30 else 1)


if __name__ == "__main__":
    main()
