#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times attention of tcbtune and of ggml on this CPU, in turns.

    scripts/peers/attention-beside-ggml.py TCBTUNE GGML [--db FILE] [--threads 1] [--rounds 3] [--seconds 1] OP:SHAPE[/CONTRACT]...

GGML is a built tree of ggml (cmake -B build -DGGML_NATIVE=ON -DGGML_LLAMAFILE=ON -DBUILD_SHARED_LIBS=OFF && cmake
--build build), which is not part of this project.  FILE holds sweeps; without one the op's default is timed.  Both
sides use one process after the other in each round, so that a machine that gets slower is slower for both.  Prints,
cold and hot: microseconds of tcbtune's best, its share of the read limit, microseconds of ggml's flash attention and
of its plain products with a softmax between them, and how many times as long these take, all medians over the rounds.
"""
import re

import ggml_peer

TYPES = {"f16": "f16", "bf16": "bf16", "q80": "q8_0", "q40": "q4_0"}


def problem_of(text):
    op, shape, contract = re.fullmatch(r"(\w+):([^/]+/\d+[^/]*)(?:/(\w+))?", text).groups()
    m, n, k, query, kv, words = re.fullmatch(r"(\d+)x(\d+)x(\d+),h(\d+)/(\d+)(,causal)?", shape).groups()
    return op, shape, contract, [TYPES[op.rsplit("_", 1)[1]], m, n, k, query, kv, "1" if words else "0"]


def main():
    args = ggml_peer.arguments(__doc__, 1, False)
    problems = map(problem_of, args.problem)
    for op, shape, threads, state, mine, share, ways in ggml_peer.in_turns(args, "ggml_attention", problems):
        text = ", ".join(f"ggml {way} {us:.0f} us ({us / mine:.2f} x as long)" for way, us in ways.items())
        print(f"{op} {shape} {threads} {state}: tcbtune {mine:.0f} us ({share:.2f} of the read limit), {text}", flush=True)


if __name__ == "__main__":
    main()
