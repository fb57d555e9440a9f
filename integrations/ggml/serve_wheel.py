#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One llama.cpp server of the wheel xllamacpp, with or without the plug-in, for a test or a benchmark that drives it.

    serve_wheel.py MODEL.gguf [--plugin libggml-tcbtune.so] [--threads N] [--context 1024] [--plain]

Reads requests of the server's completion endpoint as lines of JSON, writes the answers as lines of JSON; the first line
says how long loading took and how much memory the process has.  {"counters": true} answers with the plug-in's counters.
--plain tells the host not to repack weights for its own kernels.
"""
import argparse
import ctypes
import json
import os
import resource
import sys
import time


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--plugin")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--plain", action="store_true")
    return parser.parse_args()


def counters(plugin):
    library = ctypes.CDLL(plugin)
    library.tcbtune_ggml_counter.restype = ctypes.c_ulonglong
    return {name: library.tcbtune_ggml_counter(name.encode())
            for name in ("graphs", "products", "experts", "rows", "attention", "left", "tokens", "compute_ns", "packed",
                         "pack_ns", "unpacked", "refused")}


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def main():
    args = parse()
    # Libraries write to standard output at times: answers go to a copy of it.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    import xllamacpp
    from xllamacpp import xllamacpp as native

    if args.plugin:
        os.environ["GGML_BACKEND_PATH"] = args.plugin
        ctypes.CDLL(native.__file__).ggml_backend_load_all()
    params = xllamacpp.CommonParams()
    params.model.path = args.model
    params.n_ctx = args.context
    params.n_parallel = 1
    params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = args.threads
    params.no_extra_bufts = args.plain
    began = time.monotonic()
    server = xllamacpp.Server(params)
    print(json.dumps({"load_s": time.monotonic() - began, "resident": resident()}), file=out)
    for line in sys.stdin:
        request = json.loads(line)
        if "counters" in request:
            answer = counters(args.plugin)
        else:
            answer = server.handle_completions(request)
        print(json.dumps(answer), file=out)


if __name__ == "__main__":
    main()
