#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ops that are fused with their neighbours against the sum of their parts, each at its best geometry.

    scripts/fused-against-parts.py [--device cpu] [--threads 1] [--shape 1x4096x4096 ...] [--sweep 10s] [--rounds 3]
    scripts/fused-against-parts.py --op rope_append_q80 [--contract f32] [--shape 512x2048x128,h32/8 ...] ...

Sweeps every op that is needed (--sweep none: what the database knows, else defaults), then benches them in turn, round
after round, so that a drift of the machine meets all of them.  For a shape MxNxK of format F:

    F_rmsnorm_matvec         against  rmsnorm MxK + F_matvec MxNxK
    F_swiglu_matvec          against  F_matvec MxNxK twice, or F_matvec Mx2NxK once, whichever is faster
    F_rmsnorm_swiglu_matvec  against  rmsnorm MxK + the same

On a CPU the fused ops and the MatVec of their shape have the same geometries, and each is measured with those that won
for any of them, so that a sweep's luck favours none.  Weights are cold.  What rmsnorm reads is hot, as it is behind
the op that wrote it, and no pass is counted for silu(gate) * up, which the parts would need too (--pass-us adds one
that was measured elsewhere): both favour the parts.
On a CPU the gain is less than what other pages of memory make of the same kernel, so bench_fused of tests/kernels,
which calls all on the same weights in turn, says more.

--op rope_append_*: in one pass (parts=1) against separate kernels (parts=4: q rotated; k rotated, to memory; from there
to the cache, quantised if it has blocks; v to the cache), call by call in turn, with one geometry but for that, the
best of a sweep of the former.

Prints the median over the rounds of microseconds, of ratios parts / fused (above 1: fused is faster) with the least and
the greatest, and of the fused op's time over the time to read its bytes (of rope_append to copy them).
"""
import argparse
import statistics

from lib.measuring import Table, call_json, geometry_words

KINDS = ("rmsnorm_matvec", "swiglu_matvec", "rmsnorm_swiglu_matvec")
TABLE = Table(("op", "28"), ("shape", "14"), ("fused us", ">9.2f"), ("parts us", ">9.2f"), ("ratio", ">8.3f"), ("", "16"),
              ("of read", ">8.3f"))


def run(options, command, *args):
    words = [options.tcbtune, command, "--device", options.device, "--db", options.db, *args]
    if options.device.startswith("cpu"):
        words += ["--threads", str(options.threads)]
    return call_json(words)


def best(options, op, shape):
    return run(options, "lookup", "--op", op, "--shape", shape, "--json")["geometry"]


def bench(options, op, shape, geometries):
    """By cache state: microseconds of the fastest row but the scalar one, and of reading the bytes; its geometry."""
    report = run(options, "bench", "--op", op, "--shape", shape, "--budget", options.budget, "--json", *geometry_words(geometries))
    times = {}
    for result in report["results"]:
        row = min((r for r in result["rows"] if r["role"] != "scalar"), key=lambda r: r["ns"]["median"])
        limit = result["limit_ns"]["median"] / 1000 if result.get("limit_ns") else None
        times[result["state"]] = (row["ns"]["median"] / 1000, limit, row["geometry"])
    return times


def compare(options, shape):
    m, n, k = map(int, shape.split("x"))
    matvec, norm = f"{options.format}_matvec", ("rmsnorm", f"{m}x{k}")
    one, two = (matvec, shape), (matvec, f"{m}x{2 * n}x{k}")
    fused = [(f"{options.format}_{kind}", shape) for kind in KINDS]
    problems = [norm, one, two, *fused]
    if options.sweep != "none":
        for op, its_shape in problems:
            run(options, "sweep", "--op", op, "--shape", its_shape, "--budget", options.sweep, "--counters", "none",
                "--json")
    # On a CPU the fused ops have the MatVec's geometries: all of them are given those that won for any.
    shared = sorted({best(options, *problem) for problem in (one, *fused)}) if options.device.startswith("cpu") else []
    rows = {problem: [] for problem in fused}
    geometry = {}
    for number in range(options.rounds):
        order = problems if number % 2 == 0 else problems[::-1]
        times = {problem: bench(options, *problem, shared if problem in (one, *fused) else []) for problem in order}
        pair = min(2 * times[one]["cold"][0], times[two]["cold"][0]) + options.pass_us
        before = times[norm]["hot"][0]
        for problem, parts in zip(fused, (before + times[one]["cold"][0], pair, before + pair)):
            own, limit, geometry[problem] = times[problem]["cold"]
            rows[problem].append((own, parts, parts / own, own / limit if limit else float("nan")))
    for problem, of_rounds in rows.items():
        print_row(problem[0], shape, of_rounds)
        if options.geometry:
            print(f"    {geometry[problem]}")


def compare_parts(options, shape):
    """An op with the knob parts, in both cache states."""
    words = ["--op", options.op, "--shape", shape, "--json"]
    words += ["--contract", options.contract] if options.contract else []
    if options.sweep != "none":
        run(options, "sweep", *words, "--budget", options.sweep, "--counters", "none")
    whole = run(options, "lookup", *words)["geometry"]
    rows = {}
    for _ in range(options.rounds):
        report = run(options, "bench", *words, "--budget", options.budget, "--geometry", whole, "--geometry",
                     whole.replace("parts=1", "parts=4"))
        for result in report["results"]:
            own, parts = (next(r for r in result["rows"] if r["geometry"] == whole.replace("parts=1", f"parts={n}"))
                          for n in (1, 4))
            own_us, parts_us = own["ns"]["median"] / 1000, parts["ns"]["median"] / 1000
            limit = result["limit_ns"]["median"] / 1000 if result.get("limit_ns") else float("nan")
            ratio = parts["over_first"]["median"] / own["over_first"]["median"]  # paired, unlike the medians
            rows.setdefault(result["state"], []).append((own_us, parts_us, ratio, own_us / limit))
    for state, of_rounds in rows.items():
        print_row(f"{options.op}, {state}", shape, of_rounds)
    if options.geometry:
        print(f"    {whole}")


def print_row(name, shape, of_rounds):
    own, parts, ratio, read = zip(*of_rounds)
    print(TABLE.line(name, shape, statistics.median(own), statistics.median(parts), statistics.median(ratio),
                     f"[{min(ratio):.3f}, {max(ratio):.3f}]", statistics.median(read)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tcbtune", default="build/release/src/cli/tcbtune")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--db", default="fused.db")
    parser.add_argument("--format", default="q4k")
    parser.add_argument("--op", metavar="rope_append_*", help="in place of the MatVecs")
    parser.add_argument("--contract", help="of --op")
    parser.add_argument("--shape", action="append", metavar="MxNxK")
    parser.add_argument("--sweep", default="10s", metavar="TIME", help="budget for each op and shape, or none")
    parser.add_argument("--budget", default="4s", metavar="TIME", help="of a bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pass-us", type=float, default=0, metavar="US", help="of a pass for silu(gate) * up")
    parser.add_argument("--geometry", action="store_true", help="print what the fused ops ran with")
    options = parser.parse_args()
    threads = f", {options.threads} thread(s)" if options.device.startswith("cpu") else ""
    what = f"{options.op} {options.contract or ''}".strip() if options.op else f"{options.format}, weights cold"
    print(f"{options.device}{threads}, {what}, {options.rounds} rounds")
    print(TABLE.head())
    usual = ["512x2048x128,h32/8", "1x64x128,h32/8,b64"] if options.op else ["1x4096x4096", "1x14336x4096"]
    for shape in options.shape or usual:
        (compare_parts if options.op else compare)(options, shape)


if __name__ == "__main__":
    main()
