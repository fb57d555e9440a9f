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
import flashinfer
import torch

import attention_peer
from attention_peer import normal

PAGE = 64
WORKSPACE = 256 << 20


def ints(values):
    return torch.tensor(values, device="cuda", dtype=torch.int32)


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


if __name__ == "__main__":
    attention_peer.main(__doc__, "flashinfer", flashinfer.__version__, ways_of)
