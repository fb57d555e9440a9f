#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times PyTorch's attention backends on a GPU as `tcbtune bench` times its kernels.

    scripts/peers/attention_torch.py [--rounds 5] SHAPE...

SHAPE is tcbtune's: 1x4096x128,h32/8 or 2048x2048x128,h32/8,causal; f16, contiguous, one length for all sequences.  K
and V lie in as many copies as exceed the L2 four times over; a CUDA graph goes through them in turn, so that no call
finds its own in the L2.  Prints, for each shape and backend, the median of the microseconds of a call over the rounds,
for K and V with heads outside of tokens (bhsd) and inside (bshd, as an engine's cache has them).
"""
import argparse
import re
import statistics
import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
L2_TIMES, CALLS_LEAST, COPIES_MOST = 4, 16, 64


def parse(text):
    unknown = [word for word in text.split(",")[1:] if not re.fullmatch(r"h\d+/\d+|b\d+|v\d+|causal", word)]
    if unknown:
        raise ValueError(f"not measured: these backends know nothing of {' '.join(unknown)}")
    m, n, k = map(int, re.match(r"(\d+)x(\d+)x(\d+)", text).groups())
    query, kv = map(int, re.search(r",h(\d+)/(\d+)", text).groups())
    b, v = re.search(r",b(\d+)", text), re.search(r",v(\d+)", text)
    return m, n, k, int(v.group(1)) if v else k, query, kv, int(b.group(1)) if b else 1, ",causal" in text


def time_graph(run, copies, rounds):
    calls = max(CALLS_LEAST, copies)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for i in range(3):
            run(i % copies)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(calls):
            run(i % copies)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for _ in range(rounds * 4):
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / calls)
    return statistics.median(times[rounds:])


def measure(text, rounds):
    m, n, k, v, query, kv, b, causal = parse(text)
    kv_bytes = 2 * b * n * kv * (k + v)
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    copies = min(COPIES_MOST, max(2, -(-L2_TIMES * l2 // kv_bytes)))
    for inside in (False, True):
        def tensor(heads, tokens, width=k):
            shape = (b, tokens, heads, width) if inside else (b, heads, tokens, width)
            t = torch.randn(shape, device="cuda", dtype=torch.float16)
            return t.transpose(1, 2) if inside else t
        q = tensor(query, m)
        keys = [(tensor(kv, n), tensor(kv, n, v)) for _ in range(copies)]
        for name, backend in BACKENDS.items():
            def run(i):
                with sdpa_kernel(backend):
                    return scaled_dot_product_attention(q, *keys[i], is_causal=causal, enable_gqa=query != kv)
            try:
                us = time_graph(run, copies, rounds)
                print(f"{text} {name} {'bshd' if inside else 'bhsd'}: {us:.2f} us", flush=True)
            except RuntimeError as err:
                print(f"{text} {name} {'bshd' if inside else 'bhsd'}: {str(err).splitlines()[0]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    warnings.simplefilter("ignore")  # why a backend is not used: the error that follows says so, too
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("shape", nargs="+")
    args = parser.parse_args()
    print(torch.cuda.get_device_name(0), "PyTorch", torch.__version__, "cuDNN", torch.backends.cudnn.version())
    for text in args.shape:
        try:
            measure(text, args.rounds)
        except ValueError as err:
            print(f"{text}: {err}", flush=True)


if __name__ == "__main__":
    main()
