#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times FlashAttention 4 (flash-attn-4, CuTe DSL) on a GPU as `tcbtune bench` times its kernels.

    scripts/peers/attention_flash4.py [--rounds 5] [--compile-only] SHAPE...

SHAPE is tcbtune's: 1x4096x128,h32/8[,b4], 2048x2048x192,h128/128,v128,causal or 1x4096x64,h64/8,w128,causal,sinks; f16,
K and V contiguous with heads inside of tokens.  K and V lie in as many copies as exceed the L2 four times over; a CUDA
graph goes through them in turn.  Prints, for each shape, the median of the microseconds of a call over the rounds: with
the package's own choice of splits and with one ("whole").  The package compiles its kernels when they are first called.

Exit: 0; 1 nothing could be timed.
"""
import importlib.metadata

import torch
from flash_attn.cute.interface import flash_attn_func

import attention_peer
from attention_peer import normal


def call_of(s, splits, copies):
    q = normal(s["b"], s["m"], s["query"], s["k"])
    cache = [(normal(s["b"], s["n"], s["kv"], s["k"]), normal(s["b"], s["n"], s["kv"], s["v"])) for _ in range(copies)]
    window = (s["window"], 0) if s["window"] >= 0 else (None, None)
    sinks = torch.randn(s["query"], device="cuda", dtype=torch.bfloat16) if s["sinks"] else None

    def call(i):
        return flash_attn_func(q, *cache[i], softmax_scale=s["k"] ** -0.5, causal=s["causal"] and s["window"] < 0,
                               window_size=window, learnable_sink=sinks, num_splits=splits)
    return call


def ways_of(s):
    if s["latent"]:
        return {}
    return {"splits": lambda c: call_of(s, 0, c), "whole": lambda c: call_of(s, 1, c)}


if __name__ == "__main__":
    attention_peer.main(__doc__, "flash-attn-4", importlib.metadata.version("flash-attn-4"), ways_of)
