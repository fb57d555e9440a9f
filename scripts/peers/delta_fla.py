#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times flash-linear-attention's gated delta rule on a GPU as `tcbtune bench` times ours.

    scripts/peers/delta_fla.py [--rounds 5] SHAPE...

SHAPE is tcbtune's: tokens x value width x key width, heads / heads of keys, and sequences: 1x128x128,h32/16,b8.  Up to 8
tokens the recurrent kernel, more by chunks; queries, keys and values in bf16, gates and states in f32; all come in as
many copies as exceed the L2 four times over, and once more in one copy, hot; a CUDA graph goes through them in turn.
Prints, for each shape, the median of the microseconds of a call over the rounds.  Needs fla-core and einops.
"""
import argparse
import re
import statistics

import torch
from fla.ops.gated_delta_rule import chunk_gated_delta_rule, fused_recurrent_gated_delta_rule

from torch_timing import time_graph

L2_TIMES, COPIES_MOST, SECONDS, FEW = 4, 64, 0.03, 8


def measure(text, rounds):
    m, n, k, heads, keys, b = re.fullmatch(r"(\d+)x(\d+)x(\d+),h(\d+)/(\d+)(?:,b(\d+))?", text).groups()
    m, n, k, heads, keys, b = map(int, (m, n, k, heads, keys, b or 1))
    rule = fused_recurrent_gated_delta_rule if m <= FEW else chunk_gated_delta_rule
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    inputs_bytes = b * (2 * m * (2 * keys * k + heads * n) + 4 * heads * (k * n + 2 * m))
    copies = min(COPIES_MOST, max(2, -(-L2_TIMES * l2 // inputs_bytes)))

    def normal(*shape, dtype=torch.bfloat16):
        return torch.randn(shape, device="cuda", dtype=dtype)
    inputs = [(normal(b, m, keys, k), normal(b, m, keys, k), normal(b, m, heads, n),
               -torch.rand((b, m, heads), device="cuda"), torch.rand((b, m, heads), device="cuda"),
               normal(b, heads, k, n, dtype=torch.float32)) for _ in range(copies)]

    def run(i):
        q, key, v, g, beta, state = inputs[i]
        with torch.no_grad():
            rule(q, key, v, g=g, beta=beta, initial_state=state, output_final_state=True, use_qk_l2norm_in_kernel=True)
    cold, hot = (statistics.median(time_graph(run, c, rounds, SECONDS)) for c in (copies, 1))
    print(f"{text} fla: {cold:.2f} us cold, {hot:.2f} us hot", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("shape", nargs="+")
    args = parser.parse_args()
    print(torch.cuda.get_device_name(0), "PyTorch", torch.__version__)
    for text in args.shape:
        try:
            measure(text, args.rounds)
        except Exception as error:  # of a package that compiles what it runs: anything
            print(f"{text} fla: {type(error).__name__}: {' '.join(str(error).split())[-300:]}", flush=True)


if __name__ == "__main__":
    main()
