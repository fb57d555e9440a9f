# SPDX-License-Identifier: MIT
"""Softmax, a quantised product and attention on NumPy arrays, held against NumPy's own arithmetic.

    TCBRT_LIBRARY=.../libtcbrt.so.0 python3 with_numpy.py [DATABASE]
"""
import sys

import numpy as np

import tcbrt


def softmax(rt, pool):
    x = np.random.default_rng(1).standard_normal((33, 1001), dtype=np.float32)
    y = np.full_like(x, np.nan)
    plan = rt.plan("softmax", *x.shape)
    plan.execute([x, y], pool)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return plan, np.abs(y - e / e.sum(axis=1, keepdims=True)).max()


def quantised_product(rt, pool):
    """Q8_0: 32 values are a half, their scale, and 32 signed bytes."""
    rng, n, k = np.random.default_rng(2), 500, 640
    codes = rng.integers(-127, 128, (n, k // 32, 32), dtype=np.int8)
    scales = (0.01 * rng.random((n, k // 32, 1)) + 0.001).astype(np.float16)
    weights = np.concatenate([scales.view(np.uint8).reshape(n, k // 32, 2), codes.view(np.uint8)], axis=2)
    x = rng.standard_normal(k, dtype=np.float32)
    y = np.full(n, np.nan, dtype=np.float32)
    plan = rt.plan("q80_matvec", 1, n, k)
    plan.execute([plan.pack(np.ascontiguousarray(weights)), x, y], pool)
    exact = (codes * scales.astype(np.float64)).reshape(n, k)
    return plan, (np.abs(y - exact @ x) / (np.abs(exact) @ np.abs(x))).max()


def fp8_product(rt, pool):
    """E4M3 with a scale for 128 x 128 values, as DeepSeek's models have it."""
    rng, n, k = np.random.default_rng(4), 300, 640
    codes = rng.integers(0, 127, (n, k), dtype=np.uint8) | rng.integers(0, 2, (n, k), dtype=np.uint8) << 7
    scales = (1e-4 * rng.random((-(-n // 128), k // 128)) + 1e-4).astype(np.float32)
    exponent, mantissa = codes >> 3 & 15, (codes & 7).astype(np.float64)
    sizes = np.where(exponent == 0, mantissa / 8 * 2.0**-6, (1 + mantissa / 8) * 2.0 ** (exponent.astype(int) - 7))
    exact = np.where(codes & 128, -sizes, sizes) * np.repeat(np.repeat(scales.astype(np.float64), 128, 0)[:n], 128, 1)
    x = rng.standard_normal(k, dtype=np.float32)
    y = np.full(n, np.nan, dtype=np.float32)
    plan = rt.plan("fp8_matvec", 1, n, k)
    plan.execute([plan.pack(tcbrt.fp8_blocks(codes, scales)), x, y], pool)
    return plan, (np.abs(y - exact @ x) / (np.abs(exact) @ np.abs(x))).max()


def attention(rt, pool):
    """A token of two sequences of 300 and 17 tokens; four query heads share a KV head."""
    rng, tokens, head, group, kv, lengths = np.random.default_rng(3), 300, 128, 4, 2, np.array([300, 17], dtype=np.int32)
    q = rng.standard_normal((2, kv * group, head)).astype(np.float16)
    k, v = (rng.standard_normal((2, tokens, kv, head)).astype(np.float16) for _ in range(2))
    out = np.full_like(q, np.nan)
    plan = rt.plan("attention_decode_f16", 1, tokens, head, words="h8/2,b2")
    plan.execute([q, k, v, lengths, out], pool)
    worst = 0
    for b, length in enumerate(lengths):
        for h in range(kv * group):
            scores = k[b, :length, h // group].astype(np.float64) @ q[b, h].astype(np.float64) / head**0.5
            weights = np.exp(scores - scores.max())
            y = weights @ v[b, :length, h // group].astype(np.float64) / weights.sum()
            worst = max(worst, np.abs(out[b, h] - y).max())
    return plan, worst


def main():
    rt, pool = tcbrt.Runtime(sys.argv[1] if len(sys.argv) > 1 else None), tcbrt.Pool(2)
    failed = False
    for run, limit in ((softmax, 1e-6), (quantised_product, 0.01), (fp8_product, 1e-6), (attention, 0.002)):
        plan, error = run(rt, pool)
        failed |= not error < limit
        print(f"{run.__name__}: {plan.kernel} ({plan.source}: {plan.reason}), error {error:.2g}")
    return failed


sys.exit(main())
