#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times cuBLAS (through PyTorch) on a GPU as `tcbtune bench` times its products.

    scripts/peers/matmul_torch.py [--rounds 5] [--type f16|bf16] SHAPE[,nt|nn]...

SHAPE is tcbtune's MxNxK: M rows or tokens, N columns or rows of weights.  nt (where nothing is said): weights in rows
along K, as a model file has them, y = x W^T, what the quantised products compute; nn: C = A B, what matmul_f16 does.
The weights lie in as many copies as exceed the L2 twice over; a CUDA graph goes through them in turn, so that no call
finds its own in the L2.
Prints, for each shape, the median and the least of the microseconds of a call over the rounds.
"""
import argparse
import statistics

import torch

from torch_timing import time_graph

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
L2_TIMES, COPIES_MOST = 2, 64
SECONDS = 0.05  # of a replay


def measure(text, rounds, dtype):
    text, _, layout = text.partition(",")
    m, n, k = map(int, text.split("x"))
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    copies = min(COPIES_MOST, max(2, -(-L2_TIMES * l2 // (2 * n * k))))
    x = torch.randn((m, k), device="cuda", dtype=dtype)
    weights = [torch.randn((n, k) if layout != "nn" else (k, n), device="cuda", dtype=dtype) for _ in range(copies)]
    y = torch.empty((m, n), device="cuda", dtype=dtype)

    def run(i):
        w = weights[i]
        torch.matmul(x, w if layout == "nn" else w.t(), out=y)

    times = time_graph(run, copies, rounds, SECONDS)
    print(f"cuBLAS {layout or 'nt'} {text}: median {statistics.median(times):.2f} us, least {min(times):.2f} us, "
          f"{2e-6 * m * n * k / statistics.median(times):.0f} TFLOP/s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--type", choices=TYPES, default="f16")
    parser.add_argument("shape", nargs="+")
    args = parser.parse_args()
    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}, {args.type}")
    for shape in args.shape:
        measure(shape, args.rounds, TYPES[args.type])


if __name__ == "__main__":
    main()
