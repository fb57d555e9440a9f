#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times PyTorch's softmax and norms on a GPU as `tcbtune bench` times its ops on rows.

    scripts/peers/rows_torch.py [--rounds 5] OP,MxN...

OP is softmax, rmsnorm or layernorm, of f32.  Rows and results lie in as many copies as exceed the L2 twice over; a CUDA
graph goes through them in turn, so that no call finds its own in the L2.  Prints, for each shape, the median and the
least of the microseconds of a call over the rounds.
"""
import argparse
import statistics

import torch

from torch_timing import time_graph

L2_TIMES, COPIES_MOST = 2, 64
SECONDS = 0.05  # of a replay
EPS = 1e-5


def measure(text, rounds):
    name, _, shape = text.partition(",")
    m, n = map(int, shape.split("x"))
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    copies = min(COPIES_MOST, max(2, -(-L2_TIMES * l2 // (8 * m * n))))
    x = [torch.randn((m, n), device="cuda") for _ in range(copies)]
    y = [torch.empty((m, n), device="cuda") for _ in range(copies)]
    weight, bias = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    functional = torch.nn.functional
    ops = {"softmax": lambda i: torch.softmax(x[i], 1, out=y[i]),
           "rmsnorm": lambda i: functional.rms_norm(x[i], (n,), weight, EPS),
           "layernorm": lambda i: functional.layer_norm(x[i], (n,), weight, bias, EPS)}
    times = time_graph(ops[name], copies, rounds, SECONDS)
    print(f"PyTorch {name} {m}x{n}: median {statistics.median(times):.2f} us, least {min(times):.2f} us, "
          f"{8e-3 * m * n / statistics.median(times):.0f} GB/s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("shape", nargs="+")
    args = parser.parse_args()
    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}, f32")
    for shape in args.shape:
        measure(shape, args.rounds)


if __name__ == "__main__":
    main()
