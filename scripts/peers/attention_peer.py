# SPDX-License-Identifier: MIT
"""What the peers of attention on a GPU share: shapes of tcbtune's, and the loop that times each way of a package."""
import argparse
import re
import statistics
import sys

import torch

from torch_timing import time_graph

L2_TIMES, COPIES_MOST, SECONDS = 4, 64, 0.03


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


def copies_of(s):
    size = 2 * s["b"] * s["n"] * s["kv"] * (s["k"] + (0 if s["latent"] else s["v"]))
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    return min(COPIES_MOST, max(2, -(-L2_TIMES * l2 // size)))


def main(doc, package, version, ways_of):
    """WAYS_OF(shape) gives {name: a function that takes a number of copies and returns the call of one copy}."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("shape", nargs="+")
    args = parser.parse_args()
    print(torch.cuda.get_device_name(0), package, version, flush=True)
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
                    print(f"{text} {package} {name}: {us:.2f} us", flush=True)
            except Exception as error:  # of a package that compiles what it runs: anything
                print(f"{text} {package} {name}: {type(error).__name__}: {' '.join(str(error).split())[-300:]}", flush=True)
    sys.exit(timed == 0)
