#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times a kernel in CUDA C++ with CuPy, as nvbench does: shares nothing with what tcbtune measures with.

    scripts/peers/time_cuda.py SOURCE.cu --kernel gemm --block 16 --problem M=1024,N=1024,K=1024 [--samples 200] [--hot]

Cold, as nvbench's isolated measurement: before each call the L2 is written over, and two events are around the call alone,
which waits in the stream until both are queued, so that no launch's own time counts.  --hot: as its batched one, calls
one after another between two events.  Prints the nanoseconds of a call, one line a sample.
"""
import argparse
import pathlib

import cupy

L2_TIMES, CALLS_HOT, SPIN_CYCLES = 2, 20, 200000
SPIN = cupy.RawKernel("""
extern "C" __global__ void spin(long long cycles)
{
    const long long from = clock64();
    while (clock64() - from < cycles)
        ;
}""", "spin")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--kernel", default="gemm")
    parser.add_argument("--block", type=int, default=16)
    parser.add_argument("--problem", required=True)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--hot", action="store_true")
    options = parser.parse_args()
    sizes = {name: int(size) for name, size in (word.split("=") for word in options.problem.split(","))}
    defines = [f"-D{name}={size}" for name, size in {**sizes, "BLOCK": options.block}.items()]
    kernel = cupy.RawModule(code=options.source.read_text(), backend="nvrtc",
                            options=(*defines, f"-I{options.source.resolve().parent}")).get_function(options.kernel)
    m, n, k = sizes["M"], sizes["N"], sizes["K"]
    arrays = [cupy.random.uniform(-1, 1, count).astype(cupy.float32) for count in (m * k, k * n)]
    arrays.append(cupy.empty(m * n, cupy.float32))
    grid = (-(-n // options.block), -(-m // options.block))
    flushed = cupy.empty(L2_TIMES * cupy.cuda.Device().attributes["L2CacheSize"], cupy.uint8)
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    calls = CALLS_HOT if options.hot else 1
    for sample in range(-10, options.samples):
        if not options.hot:
            flushed.fill(sample & 255)
        SPIN((1,), (1,), (cupy.int64(SPIN_CYCLES),))
        start.record()
        for _ in range(calls):
            kernel(grid, (options.block, options.block), tuple(arrays))
        stop.record()
        stop.synchronize()
        if sample >= 0:
            print(f"{1e6 * cupy.cuda.get_elapsed_time(start, stop) / calls:.1f}")


main()
