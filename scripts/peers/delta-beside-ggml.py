#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times the gated delta rule of tcbtune and of ggml on this CPU, in turns.

    scripts/peers/delta-beside-ggml.py TCBTUNE GGML [--db FILE] [--threads 1] [--rounds 3] [--seconds 1] OP:SHAPE...

GGML is a built tree of ggml of 2026 (cmake -B build -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF && cmake --build build),
which is not part of this project: delta_decode_f32:1x128x128,h32/16,b8, heads of as many keys as values.  FILE holds
sweeps; without one the op's default is timed.  Both sides use one process after the other in each round.  Prints, cold
and hot: microseconds of tcbtune's best, its share of the limit, microseconds of ggml_gated_delta_net behind the norms
of queries and keys, which tcbtune's op does itself, and alone, and how many times as long these take, medians over
the rounds.
"""
import re

import ggml_peer


def problem_of(text):
    op, shape = re.fullmatch(r"(delta_\w+_f32):(.+)", text).groups()
    m, n, k, heads, keys, sequences = re.fullmatch(r"(\d+)x(\d+)x(\d+),h(\d+)/(\d+)(?:,b(\d+))?", shape).groups()
    if n != k:
        raise SystemExit(f"{text}: ggml has heads of as many keys as values only")
    return op, shape, None, [m, n, heads, keys, sequences or "1"]


def main():
    args = ggml_peer.arguments(__doc__, 1, False)
    problems = map(problem_of, args.problem)
    for op, shape, threads, state, mine, share, ways in ggml_peer.in_turns(args, "ggml_delta", problems):
        text = ", ".join(f"ggml {way} {us:.0f} us ({us / mine:.2f} x as long)" for way, us in ways.items())
        print(f"{op} {shape} {threads} {state}: tcbtune {mine:.0f} us ({share:.2f} of the limit), {text}", flush=True)


if __name__ == "__main__":
    main()
