#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times a quantised product of tcbtune and ggml's own on this CPU, in turns.

    scripts/peers/beside-ggml.py TCBTUNE GGML --db FILE [--threads 1] [--rounds 3] [--seconds 3] OP:SHAPE[/CONTRACT]...

GGML is a built tree of ggml (cmake -B build -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF && cmake --build build), which is
not part of this project.  FILE holds the sweeps of the ops.  Both sides use one process after the other in each round,
so that a machine that gets slower is slower for both.  Prints, cold and hot: microseconds of tcbtune's best, of ggml's
fastest way, and how many times as fast tcbtune is, all medians over the rounds; the share of the read limit is
tcbtune's.
"""
import re

import ggml_peer


def problem_of(text):
    op, shape, contract = re.fullmatch(r"(\w+):(\d+x\d+x\d+)(?:/(\w+))?", text).groups()
    m, n, k = shape.split("x")
    return op, shape, contract, [ggml_peer.TYPES[op.split("_")[0]], n, k, m]


def main():
    args = ggml_peer.arguments(__doc__, 3, True)
    ggml_peer.print_products(args, "ggml_product", map(problem_of, args.problem))


if __name__ == "__main__":
    main()
