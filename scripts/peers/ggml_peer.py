# SPDX-License-Identifier: MIT
"""What the scripts share that time tcbtune and ggml in turns: arguments, ggml's program, both sides' times."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

NAME = pathlib.Path(sys.argv[0]).name


def arguments(text, seconds, needs_db):
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("tcbtune")
    parser.add_argument("ggml", type=pathlib.Path)
    parser.add_argument("--db", required=needs_db)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("problem", nargs="+")
    return parser.parse_args()


def build(ggml, name, where):
    """Compiles NAME.c beside this file with GGML's archives."""
    archives = sorted(map(str, ggml.glob("build/src/**/*.a")))
    if not archives:
        sys.exit(f"{NAME}: no build/src/*.a below {ggml}: build it as the first lines of this script say")
    program = where / name
    source = pathlib.Path(__file__).with_name(f"{name}.c")
    subprocess.run(["cc", "-O2", f"-I{ggml / 'include'}", str(source), "-o", str(program), "-Wl,--start-group",
                    *archives, "-Wl,--end-group", "-lstdc++", "-lgomp", "-lpthread", "-ldl", "-lm"], check=True)
    return program


def ours(args, op, shape, contract, nothing):
    """{state: (microseconds, share of the read limit)}; NOTHING: a database that is not there."""
    command = [args.tcbtune, "bench", "--op", op, "--shape", shape, "--db", args.db or str(nothing), "--threads",
               str(args.threads), "--budget", f"{2 * args.seconds}s", "--json"]
    if contract:
        command += ["--contract", contract]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{NAME}: {' '.join(command)}: {run.stderr.strip()}")
    return {r["state"]: (r["rows"][0]["ns"]["median"] / 1000, r["of_limit"]["median"])
            for r in json.loads(run.stdout)["results"]}


def theirs(args, program, *words):
    """{way: (cold, hot)} in microseconds."""
    lines = subprocess.run([program, *words, str(args.threads), str(args.seconds)], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    return {way: (float(cold), float(hot)) for way, cold, hot in (line.split() for line in lines if line)}


def in_turns(args, name, problems):
    """For (OP, SHAPE, CONTRACT, WORDS of program NAME) in PROBLEMS and each state: (op, shape, "1 thread" and so on,
    state, our microseconds, our share of the limit, {way: microseconds}), medians over the rounds."""
    threads = f"{args.threads} thread{'s' if args.threads > 1 else ''}"
    with tempfile.TemporaryDirectory() as scratch:
        program = build(args.ggml, name, pathlib.Path(scratch))
        for op, shape, contract, words in problems:
            rounds = [(ours(args, op, shape, contract, pathlib.Path(scratch) / "none.db"),
                       theirs(args, program, *words)) for _ in range(args.rounds)]
            for index, state in enumerate(("cold", "hot")):
                yield (op, shape, threads, state, statistics.median(o[state][0] for o, _ in rounds),
                       statistics.median(o[state][1] for o, _ in rounds),
                       {w: statistics.median(t[w][index] for _, t in rounds) for w in rounds[0][1]})
