#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times Humming's quantised products on a GPU, as `tcbtune bench` times its own.

    scripts/peers/matmul_humming.py [--rounds 5] [--weights int4|int8|mxfp4]... [--invariant] SHAPE...

SHAPE is tcbtune's MxNxK.  Humming is as in experts_humming.py, whose weights these are; int8 is what Q8_0 is.  --invariant:
its configuration for results that do not depend on M, what tcbtune's word bits asks for.  Weights lie in as many copies
as exceed the L2 twice over; a CUDA graph goes through them in turn.  Prints, for each shape and type of weights, the
median of the microseconds of a call over the rounds, and how far the first row is from PyTorch's product, as a share of
its largest value.

Exit: 0; 1 something failed.
"""
import argparse
import copy
import statistics
import sys

import torch
from humming.layer import HummingLayer
from humming.tune import get_heuristics_config

from experts_humming import PAD, WEIGHTS
from experts_torch import COPIES_MOST, L2_TIMES, SECONDS
from torch_timing import time_graph

KINDS = {**WEIGHTS, "int8": {"dtype": "int8", "group_size": 32}}
BITS = {"int8": 8}


def measure(text, kind, args):
    m, n, k = map(int, text.split("x"))
    layer = HummingLayer(shape_n=n, shape_k=k, weight_config=dict(KINDS[kind]), pad_n_to_multiple=PAD, pad_k_to_multiple=PAD,
                         torch_dtype=torch.bfloat16).cuda()
    weights = torch.randn((n, k), device="cuda", dtype=torch.bfloat16)
    layer.load_from_unquantized(weights)
    layer.transform()
    tuning = get_heuristics_config(layer.humming_config, shape_m=m, gemm_type="dense", use_batch_invariant=args.invariant)
    x = torch.randn((m, k), device="cuda", dtype=torch.bfloat16)
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    copies = min(COPIES_MOST, max(2, -(-L2_TIMES * l2 // (n * k * BITS.get(kind, 4) // 8))))
    layers = [layer] + [copy.deepcopy(layer) for _ in range(copies - 1)]

    def run(i, outputs=None):
        return layers[i](x, outputs=outputs, compute_config={"gemm_type": "dense"}, tuning_config=tuning)

    out = run(0)
    first = x[0].float() @ weights.float().t()
    error = ((out[0, :n].float() - first).abs().max() / first.abs().max()).item()
    time = statistics.median(time_graph(lambda i: run(i, out), copies, args.rounds, SECONDS))
    print(f"{text} {kind}{' invariant' if args.invariant else ''}: {time:.2f} us, off by {error:.3f}, "
          f"block {tuning['block_shape']}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--weights", choices=KINDS, action="append")
    parser.add_argument("--invariant", action="store_true")
    parser.add_argument("shape", nargs="+")
    args = parser.parse_args()
    failed = 0
    for shape in args.shape:
        for kind in args.weights or ("int4", "int8"):
            try:
                measure(shape, kind, args)
            except Exception as error:  # of a package that compiles what it runs: anything
                print(f"{shape} {kind}: {type(error).__name__}: {str(error)[-600:]}", flush=True)
                failed = 1
    sys.exit(failed)


if __name__ == "__main__":
    main()
