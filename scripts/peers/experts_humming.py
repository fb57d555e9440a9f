#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times products of a mixture of experts with Humming's kernels on a GPU, as `tcbtune bench` times its own.

    scripts/peers/experts_humming.py [--rounds 5] SHAPE...

SHAPE is tcbtune's, tokens x outputs x inputs and experts / used with how tokens spread: 32x768x2048,e128/8[,even|,one].
Humming (PyPI's humming-kernels, the quantised products of vLLM) compiles a kernel a configuration with the CUDA toolkit
that is there.  Weights have 4 bits and a scale per 32, as Q4_K's (int4, scales of bf16, no minimums) or MXFP4's; the
configuration is the one that its own heuristics give.  Ids and the order of tokens are made before, so the time is that of
the product alone.  Weights come in as many copies as exceed the L2 twice over; a CUDA graph goes through them in turn.
Prints, for each shape and type of weights, the median of the microseconds of a call over the rounds, and the largest
difference from PyTorch's product of the dequantised weights for one expert, as a share of the largest value.

Exit: 0; 1 something failed.
"""
import argparse
import copy
import random
import re
import statistics
import sys
import traceback

import torch
from humming.layer import HummingLayer
from humming.testing.data import generate_moe_tensors
from humming.tune import get_heuristics_config

from experts_torch import COPIES_MOST, L2_TIMES, SECONDS
from torch_timing import time_graph

WEIGHTS = {"int4": {"dtype": "int4", "group_size": 32}, "mxfp4": {"dtype": "float4e2m1", "scale_dtype": "float8e8m0", "group_size": 32}}

PAD = 128  # what its tiles divide


def draw_ids(tokens, experts, used, spread):
    """Experts of each token, as experts_torch.py counts them."""
    rng, chosen, out = random.Random(1), None, []
    weights = [1 if spread else 1 / (r + 1) for r in range(experts)]
    for _ in range(tokens):
        if chosen is None or spread != "one":
            left, chosen = list(range(experts)), []
            for _ in range(used):
                e = rng.choices(left, [weights[i] for i in left])[0]
                left.remove(e)
                chosen.append(e)
        out.append(chosen)
    return torch.tensor(out, dtype=torch.int32, device="cuda")


def make_layer(kind, n, k, experts):
    layer = HummingLayer(shape_n=n, shape_k=k, num_experts=experts, weight_config=dict(WEIGHTS[kind]),
                         pad_n_to_multiple=PAD, pad_k_to_multiple=PAD, torch_dtype=torch.bfloat16).cuda()
    weights = torch.randn((experts, n, k), device="cuda", dtype=torch.bfloat16)
    layer.load_from_unquantized(weights)
    layer.transform()
    return layer, weights


def measure(text, kind, rounds):
    tokens, n, k, experts, used, spread = re.fullmatch(r"(\d+)x(\d+)x(\d+),e(\d+)/(\d+)(?:,(even|one))?", text).groups()
    tokens, n, k, experts, used = map(int, (tokens, n, k, experts, used))
    ids = draw_ids(tokens, experts, used, spread)
    layer, weights = make_layer(kind, n, k, experts)
    tuning = get_heuristics_config(layer.humming_config, shape_m=tokens * used, gemm_type="indexed")
    _, _, sorted_ids, expert_ids, padded = generate_moe_tensors(ids, experts, "indexed", tuning["block_shape"][0])
    x = torch.randn((tokens, k), device="cuda", dtype=torch.bfloat16)
    touched = len(ids.unique())
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    copies = min(COPIES_MOST, max(2, -(-L2_TIMES * l2 // (n * k * touched * 9 // 16))))
    layers = [layer] + [copy.deepcopy(layer) for _ in range(copies - 1)]

    def run(i, outputs=None):
        return layers[i](x, outputs=outputs, sorted_ids=sorted_ids, expert_ids=expert_ids, num_tokens_padded=padded, top_k=used,
                         compute_config={"gemm_type": "indexed"}, tuning_config=tuning)

    out = run(0)
    first = (x[0].float() @ weights[ids[0, 0]].float().t())
    error = ((out[0, :n].float() - first).abs().max() / first.abs().max()).item()
    time = statistics.median(time_graph(lambda i: run(i, out), copies, rounds, SECONDS))
    print(f"{text} {kind}: {time:.2f} us, off by {error:.3f}, block {tuning['block_shape']}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--weights", choices=WEIGHTS, action="append")
    parser.add_argument("shape", nargs="+")
    args = parser.parse_args()
    failed = 0
    for shape in args.shape:
        for kind in args.weights or WEIGHTS:
            try:
                measure(shape, kind, args.rounds)
            except Exception as error:  # of a package that compiles what it runs: anything
                print(f"{shape} {kind}: {type(error).__name__}: {str(error)[-600:]}", flush=True)
                traceback.print_exc()
                failed = 1
    sys.exit(failed)


if __name__ == "__main__":
    main()
