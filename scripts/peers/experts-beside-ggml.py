#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times a mixture's product (MUL_MAT_ID) of tcbtune and ggml's own on this CPU, in turns.

    scripts/peers/experts-beside-ggml.py TCBTUNE GGML [--db FILE] [--threads 1,2] [--rounds 3] [--seconds 3] [OP:SHAPE]...

GGML is a built tree of ggml (cmake -B build -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF && cmake --build build), which is
not part of this project.  FILE holds sweeps; without one the op's default is timed.  Without problems these are Q4_K
with 8 of 128 experts of 2048 -> 768 and MXFP4 with 4 of 32 of 2880 -> 2880, of 1, 4, 32 and 512 tokens, whose experts
are equally popular (even), unequally (zipf1.0) or the same for all tokens (one).  Both sides have the same routings,
and other experts in each call, and use one process after the other in each round, so that a machine that gets slower
is slower for both.  Prints, cold and hot: microseconds of tcbtune's best, its share of the read limit, microseconds of
ggml's fastest way, and how many times as fast tcbtune is, all medians over the rounds.
"""
import re

import ggml_peer

LAYERS = (("q4k_experts_matmul", "768x2048,e128/8"), ("mxfp4_experts_matmul", "2880x2880,e32/4"))
USUAL = [f"{op}:{tokens}x{shape}{routing}" for op, shape in LAYERS for tokens in (1, 4, 32, 512)
         for routing in (",even", "", ",one") if tokens > 1 or not routing]


def problem_of(text):
    op, shape = re.fullmatch(r"(\w+_experts_matmul):(\S+)", text).groups()
    return op, shape, None, [ggml_peer.TYPES[op.split("_")[0]], shape]


def main():
    args = ggml_peer.arguments(__doc__, 3, False, USUAL)
    ggml_peer.print_products(args, "ggml_experts", map(problem_of, args.problem))


if __name__ == "__main__":
    main()
