#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times products of a mixture of experts with PyTorch on a GPU, as `tcbtune bench` times its own.

    scripts/peers/experts_torch.py [--rounds 5] SHAPE...

SHAPE is tcbtune's, tokens x outputs x inputs and experts / used with how tokens spread: 32x768x2048,e128/8[,even|,one].
Weights are bf16, in as many copies as exceed the L2 twice over; a CUDA graph goes through them in turn.  Tokens are in
order of their experts already, which is left out of the time, as are ids.
  loop     a product of cuBLAS for each expert that has tokens
  grouped  torch._grouped_mm, where this PyTorch has it
Prints, for each shape and way, the median of the microseconds of a call over the rounds.
"""
import argparse
import random
import re
import statistics

import torch

from torch_timing import time_graph

L2_TIMES, COPIES_MOST = 2, 16
SECONDS = 0.03  # of a replay


def draw(tokens, experts, used, spread):
    """How many tokens each expert has: popularity of the r-th 1 / r, or all alike; a token uses none twice."""
    rng, counts = random.Random(1), [0] * experts
    weights = [1 if spread else 1 / (r + 1) for r in range(experts)]
    chosen = None
    for _ in range(tokens):
        if chosen is None or spread != "one":
            left, chosen = list(range(experts)), []
            for _ in range(used):
                e = rng.choices(left, [weights[i] for i in left])[0]
                left.remove(e)
                chosen.append(e)
        for e in chosen:
            counts[e] += 1
    return counts


def measure(text, rounds):
    tokens, n, k, experts, used, spread = re.fullmatch(r"(\d+)x(\d+)x(\d+),e(\d+)/(\d+)(?:,(even|one))?", text).groups()
    tokens, n, k, experts, used = map(int, (tokens, n, k, experts, used))
    counts = draw(tokens, experts, used, spread)
    touched = [e for e, count in enumerate(counts) if count]
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    copies = min(COPIES_MOST, max(2, -(-L2_TIMES * l2 // (2 * n * k * len(touched)))))
    x = torch.randn((tokens * used, k), device="cuda", dtype=torch.bfloat16)
    y = torch.empty((tokens * used, n), device="cuda", dtype=torch.bfloat16)
    # Copies are of the experts that are used only: those are what a call reads.
    weights = [torch.randn((len(touched), n, k), device="cuda", dtype=torch.bfloat16) for _ in range(copies)]
    ends = torch.tensor([counts[e] for e in touched], device="cuda").cumsum(0).to(torch.int32)
    first = [0, *ends.tolist()]

    def loop(copy):
        for i in range(len(touched)):
            torch.matmul(x[first[i]:first[i + 1]], weights[copy][i].t(), out=y[first[i]:first[i + 1]])

    ways = {"loop": loop}
    if hasattr(torch, "_grouped_mm"):
        ways["grouped"] = lambda copy: torch._grouped_mm(x, weights[copy].transpose(1, 2), offs=ends)
    for way, run in ways.items():
        try:
            print(f"{text} {way}: {statistics.median(time_graph(run, copies, rounds, SECONDS)):.2f} us", flush=True)
        except RuntimeError as error:
            print(f"{text} {way}: {str(error).splitlines()[0]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("shape", nargs="+")
    args = parser.parse_args()
    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}")
    for shape in args.shape:
        measure(shape, args.rounds)


if __name__ == "__main__":
    main()
