# SPDX-License-Identifier: MIT
"""PTX of numba: with_numba.py OUT [--only TEXT].  Needs numba-cuda with the toolkit's wheels, and no GPU.

Kernels of the kind that people write in Python, each compiled as numba does by itself, with lines of the source, and
for its debugger, for several targets.  Beside each FILE.ptx is FILE.ptx.launches with the block that the kernel was
written for.  What fails leaves FILE.bad with the reason.
"""
import argparse
import collections
import math
import pathlib
import traceback

from numba import cuda, float32, int32, types

MODES = {"": {}, ".line": {"lineinfo": True}, ".debug": {"debug": True, "opt": False}}
TARGETS = ((7, 5), (8, 0), (9, 0))
TILE = 16


def saxpy(y, x, a):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def strided(y, x):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = math.sqrt(abs(x[i])) + math.sin(x[i])


def tiled_product(a, b, c):
    sa = cuda.shared.array((TILE, TILE), dtype=float32)
    sb = cuda.shared.array((TILE, TILE), dtype=float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    acc = float32(0.0)
    for i in range((a.shape[1] + TILE - 1) // TILE):
        sa[ty, tx] = 0
        sb[ty, tx] = 0
        if y < a.shape[0] and tx + i * TILE < a.shape[1]:
            sa[ty, tx] = a[y, tx + i * TILE]
        if x < b.shape[1] and ty + i * TILE < b.shape[0]:
            sb[ty, tx] = b[ty + i * TILE, x]
        cuda.syncthreads()
        for j in range(TILE):
            acc += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = acc


def block_sum(x, out):
    part = cuda.shared.array(256, dtype=float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    d = 128
    while d > 0:
        if t < d:
            part[t] += part[t + d]
        cuda.syncthreads()
        d //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])


def warp_sum(x, out):
    i = cuda.grid(1)
    v = x[i] if i < x.size else float32(0)
    for d in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, d)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, v)


def histogram(x, bins):
    local = cuda.shared.array(256, dtype=int32)
    t = cuda.threadIdx.x
    local[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(local, x[i] & 255, 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, local[t])


def scan_of_block(x, y):
    line = cuda.shared.array(512, dtype=float32)
    t = cuda.threadIdx.x
    now = 0
    line[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    d = 1
    while d < 256:
        now = 256 - now
        before = 256 - now
        line[now + t] = line[before + t] + (line[before + t - d] if t >= d else 0)
        cuda.syncthreads()
        d *= 2
    y[cuda.grid(1)] = line[now + t]


def transposed(x, y):
    tile = cuda.shared.array((32, 33), dtype=float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 32 + ty
    for k in range(0, 32, 8):
        if row + k < x.shape[0] and column < x.shape[1]:
            tile[ty + k, tx] = x[row + k, column]
    cuda.syncthreads()
    column, row = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
    for k in range(0, 32, 8):
        if row + k < y.shape[0] and column < y.shape[1]:
            y[row + k, column] = tile[tx, ty + k]


def smoothed(x, y):
    row = cuda.shared.array(130, dtype=float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        row[t + 1] = x[i]
        if t == 0:
            row[0] = x[max(i - 1, 0)]
        if t == cuda.blockDim.x - 1 or i == x.size - 1:
            row[t + 2] = x[min(i + 1, x.size - 1)]
    cuda.syncthreads()
    if i < x.size:
        y[i] = (row[t] + row[t + 1] + row[t + 2]) / 3


def mandelbrot(image, rounds):
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        c = complex(x / image.shape[1] * 3 - 2, y / image.shape[0] * 2 - 1)
        z = 0j
        n = 0
        while n < rounds and z.real * z.real + z.imag * z.imag < 4:
            z = z * z + c
            n += 1
        image[y, x] = n


def four_nearest(x, y):
    best = cuda.local.array(4, dtype=float32)
    for k in range(4):
        best[k] = math.inf
    i = cuda.grid(1)
    if i < x.size:
        for j in range(x.size):
            d = abs(x[i] - x[j])
            for k in range(4):
                if d < best[k]:
                    d, best[k] = best[k], d
        for k in range(4):
            y[i, k] = best[k]


def dynamic_rows(x, y, n):
    row = cuda.shared.array(0, dtype=float32)
    t = cuda.threadIdx.x
    for c in range(t, n, cuda.blockDim.x):
        row[c] = x[cuda.blockIdx.x, c]
    cuda.syncthreads()
    for c in range(t, n, cuda.blockDim.x):
        y[cuda.blockIdx.x, c] = row[n - 1 - c]


def under_lock(x, total, lock):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        total[0] += x[cuda.blockIdx.x]
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


def divided(a, b, c):
    i = cuda.grid(1)
    if i < c.size and b[i] != 0:
        c[i] = a[i] // b[i] + a[i] % b[i]


def compacted(x, y, count):
    i = cuda.grid(1)
    keep = i < x.size and x[i] > 0
    lanes = cuda.ballot_sync(0xFFFFFFFF, keep)
    base = 0
    if cuda.laneid == 0:
        base = cuda.atomic.add(count, 0, cuda.popc(lanes))
    base = cuda.shfl_sync(0xFFFFFFFF, base, 0)
    if keep:
        y[base + cuda.popc(lanes & ((1 << cuda.laneid) - 1))] = x[i]


REAL, DOUBLE, WHOLE = types.float32[::1], types.float64[::1], types.int32[::1]
PLANE = types.float32[:, ::1]
KERNELS = [
    (saxpy, (REAL, REAL, types.float32), "128"),
    (strided, (DOUBLE, DOUBLE), "256"),
    (tiled_product, (PLANE, PLANE, PLANE), "16x16"),
    (block_sum, (REAL, REAL), "256"),
    (warp_sum, (REAL, REAL), "128"),
    (histogram, (WHOLE, WHOLE), "256"),
    (scan_of_block, (REAL, REAL), "256"),
    (transposed, (PLANE, PLANE), "32x8"),
    (smoothed, (REAL, REAL), "128"),
    (mandelbrot, (types.int32[:, ::1], types.int32), "16x16"),
    (four_nearest, (REAL, PLANE), "64"),
    (dynamic_rows, (PLANE, PLANE, types.int32), "128 16K"),
    (under_lock, (REAL, REAL, WHOLE), "32"),
    (divided, (WHOLE, WHOLE, WHOLE), "256"),
    (compacted, (REAL, REAL, WHOLE), "256"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    counts = collections.Counter()
    for kernel, signature, launch in KERNELS:
        for mode, options in MODES.items():
            for capability in TARGETS if mode != ".line" else TARGETS[1:2]:
                path = args.out / f"numba_{kernel.__name__}.sm_{capability[0]}{capability[1]}{mode}.ptx"
                bad = path.with_suffix(".ptx.bad")
                if args.only not in path.name or path.exists() or bad.exists():
                    continue
                try:
                    text, _ = cuda.compile_ptx(kernel, signature, cc=capability, **options)
                except Exception:
                    bad.write_text(traceback.format_exc())
                    counts["bad"] += 1
                    continue
                path.write_text(text if isinstance(text, str) else text.decode())
                path.with_suffix(".ptx.launches").write_text(f"{launch} *\n")
                counts["made"] += 1
    print("numba:", ", ".join(f"{counts[k]} {k}" for k in sorted(counts)) or "nothing to do")


main()
