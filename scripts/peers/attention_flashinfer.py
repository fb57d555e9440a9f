#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times FlashInfer's attention on a GPU as `tcbtune bench` times its kernels.

    scripts/peers/attention_flashinfer.py [--rounds 5] [--compile-only] SHAPE...

SHAPE is tcbtune's: 1x4096x128,h32/8[,b4], 2048x2048x192,h128/128,v128,causal, 1x16384x576,h128/1,v512,vk (absorbed MLA)
or 1x4096x64,h64/8,w128,causal,sinks; f16, one length for all sequences.  K and V lie in as many copies as exceed the L2
four times over; a CUDA graph goes through them in turn.  Prints, for each shape and backend, the median of the
microseconds of a call over the rounds: fa2 and fa3 of the wrapper that the shape is for, planned beforehand, with pages
of 64 tokens for decode and none for prompts.  FlashInfer (PyPI's flashinfer-python) compiles its kernels with the CUDA
toolkit that is there; --compile-only does no more, so that shapes can be compiled side by side.

Exit: 0; 1 nothing could be timed.
"""
import argparse
import re
import statistics
import sys

import flashinfer
import torch

from torch_timing import time_graph

L2_TIMES, COPIES_MOST, SECONDS = 4, 64, 0.03
PAGE = 64
WORKSPACE = 256 << 20


def parse(text):
    m, n, k = map(int, re.match(r"(\d+)x(\d+)x(\d+)", text).groups())
    words = text.split(",")[1:]
    unknown = [w for w in words if not re.fullmatch(r"h\d+/\d+|b\d+|causal|w\d+|v\d+|vk|sinks", w)]
    if unknown:
        raise ValueError(f"not measured: unknown here: {' '.join(unknown)}")

    def number(letter, default):
        return next((int(w[len(letter):]) for w in words if re.fullmatch(letter + r"\d+", w)), default)
    query, kv = map(int, re.search(r",h(\d+)/(\d+)", text).groups())
    return {"m": m, "n": n, "k": k, "v": number("v", k), "query": query, "kv": kv, "b": number("b", 1),
            "window": number("w", 0) - 1, "causal": "causal" in words, "latent": "vk" in words, "sinks": "sinks" in words}


def normal(*shape):
    return torch.randn(shape, device="cuda", dtype=torch.float16)


def ints(values):
    return torch.tensor(values, device="cuda", dtype=torch.int32)


def copies_of(s):
    size = 2 * s["b"] * s["n"] * s["kv"] * (s["k"] + (0 if s["latent"] else s["v"]))
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    return min(COPIES_MOST, max(2, -(-L2_TIMES * l2 // size)))


def workspace():
    return torch.empty(WORKSPACE, dtype=torch.uint8, device="cuda")


def latent(s, backend, copies):
    """Multi-head latent attention with absorbed projections: V is the first values of K."""
    rope = s["k"] - s["v"]
    pages = -(-s["n"] // PAGE)
    wrapper = flashinfer.mla.BatchMLAPagedAttentionWrapper(workspace(), backend=backend)
    wrapper.plan(ints([s["m"] * i for i in range(s["b"] + 1)]), ints([pages * i for i in range(s["b"] + 1)]),
                 ints(list(range(s["b"] * pages))), ints([s["n"]] * s["b"]), s["query"], s["v"], rope, PAGE, s["causal"],
                 s["k"] ** -0.5, torch.float16, torch.float16)
    q, q_rope = normal(s["b"] * s["m"], s["query"], s["v"]), normal(s["b"] * s["m"], s["query"], rope)
    out = torch.empty_like(q)
    # A page's latent and rotated parts are rows of one buffer, as engines keep them.
    cache = [normal(s["b"] * pages, PAGE, s["k"]) for _ in range(copies)]
    return lambda i: wrapper.run(q, q_rope, cache[i][..., :s["v"]], cache[i][..., s["v"]:], out=out)


def paged(s, backend, copies):
    """One or a few query tokens against pages."""
    pages = -(-s["n"] // PAGE)
    first, all_pages = ints([pages * i for i in range(s["b"] + 1)]), ints(list(range(s["b"] * pages)))
    last = ints([(s["n"] - 1) % PAGE + 1] * s["b"])
    q = normal(s["b"] * s["m"], s["query"], s["k"])
    cache = [(normal(s["b"] * pages, PAGE, s["kv"], s["k"]), normal(s["b"] * pages, PAGE, s["kv"], s["v"]))
             for _ in range(copies)]
    rows = ints([s["m"] * i for i in range(s["b"] + 1)])
    common = {"causal": s["causal"], "window_left": s["window"], "q_data_type": torch.float16, "kv_data_type": torch.float16}
    if s["sinks"]:
        wrapper = flashinfer.BatchAttentionWithAttentionSinkWrapper(
            workspace(), backend=backend, q_data_type=torch.float16, kv_data_type=torch.float16, head_dim_qk=s["k"],
            head_dim_vo=s["v"], window_left=s["window"])
        sink = torch.randn(s["query"], device="cuda")
        wrapper.plan(rows, first, all_pages, last, s["query"], s["kv"], s["k"], PAGE, **common)
        return lambda i: wrapper.run(q, cache[i], sink, s["k"] ** -0.5)
    wrapper = flashinfer.BatchPrefillWithPagedKVCacheWrapper(workspace(), backend=backend)
    wrapper.plan(rows, first, all_pages, last, s["query"], s["kv"], s["k"], PAGE, head_dim_vo=s["v"], **common)
    return lambda i: wrapper.run(q, cache[i])


def decode(s, tensor_cores, copies):
    """The wrapper for one query token."""
    pages = -(-s["n"] // PAGE)
    q = normal(s["b"], s["query"], s["k"])
    cache = [(normal(s["b"] * pages, PAGE, s["kv"], s["k"]), normal(s["b"] * pages, PAGE, s["kv"], s["v"]))
             for _ in range(copies)]
    wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace(), use_tensor_cores=tensor_cores)
    wrapper.plan(ints([pages * i for i in range(s["b"] + 1)]), ints(list(range(s["b"] * pages))),
                 ints([(s["n"] - 1) % PAGE + 1] * s["b"]), s["query"], s["kv"], s["k"], PAGE, window_left=s["window"],
                 q_data_type=torch.float16, kv_data_type=torch.float16)
    return lambda i: wrapper.run(q, cache[i])


def prompt(s, backend, copies):
    """Many query tokens, K and V of all sequences one after another."""
    wrapper = flashinfer.BatchPrefillWithRaggedKVCacheWrapper(workspace(), backend=backend)
    wrapper.plan(ints([s["m"] * i for i in range(s["b"] + 1)]), ints([s["n"] * i for i in range(s["b"] + 1)]), s["query"],
                 s["kv"], s["k"], s["v"], causal=s["causal"], window_left=s["window"], q_data_type=torch.float16,
                 kv_data_type=torch.float16)
    q = normal(s["b"] * s["m"], s["query"], s["k"])
    cache = [(normal(s["b"] * s["n"], s["kv"], s["k"]), normal(s["b"] * s["n"], s["kv"], s["v"])) for _ in range(copies)]
    return lambda i: wrapper.run(q, *cache[i])


def ways_of(s):
    if s["latent"]:
        return {"mla-fa2": lambda c: latent(s, "fa2", c), "mla-fa3": lambda c: latent(s, "fa3", c)}
    if s["m"] > 8 and not s["sinks"]:
        return {"fa2": lambda c: prompt(s, "fa2", c), "fa3": lambda c: prompt(s, "fa3", c)}
    ways = {"paged-fa2": lambda c: paged(s, "fa2", c), "paged-fa3": lambda c: paged(s, "fa3", c)}
    if s["m"] == 1 and not s["sinks"] and s["k"] == s["v"]:
        ways |= {"decode": lambda c: decode(s, False, c), "decode-tensor-cores": lambda c: decode(s, True, c)}
    return ways


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("shape", nargs="+")
    args = parser.parse_args()
    print(torch.cuda.get_device_name(0), "FlashInfer", flashinfer.__version__, flush=True)
    timed = 0
    for text in args.shape:
        try:
            s = parse(text)
        except ValueError as error:
            print(f"{text}: {error}", flush=True)
            continue
        for name, make in ways_of(s).items():
            try:
                copies = 1 if args.compile_only else copies_of(s)
                run = make(copies)
                run(0)
                timed += 1
                if not args.compile_only:
                    us = statistics.median(time_graph(run, copies, args.rounds, SECONDS))
                    print(f"{text} flashinfer {name}: {us:.2f} us", flush=True)
            except Exception as error:  # of a package that compiles what it runs: anything
                print(f"{text} flashinfer {name}: {type(error).__name__}: {' '.join(str(error).split())[-300:]}", flush=True)
    sys.exit(timed == 0)


if __name__ == "__main__":
    main()
