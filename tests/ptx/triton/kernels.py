# SPDX-License-Identifier: MIT
"""Writes the PTX files of this folder, without debug information and comments: kernels.py FOLDER.

Needs Triton (3.9 wrote those that are here) and no GPU.
"""
import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(o, x, x_stride, o_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * x_stride + c, mask=c < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(o + row * o_stride + c, e / tl.sum(e, axis=0), mask=c < n)


@triton.jit
def layernorm(x, y, w, b, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < n
    v = tl.load(x + row * n + c, mask=m, other=0.0).to(tl.float32)
    d = tl.where(m, v - tl.sum(v, axis=0) / n, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    tl.store(y + row * n + c, (d * r * tl.load(w + c, mask=m) + tl.load(b + c, mask=m)).to(tl.float16), mask=m)


@triton.jit
def matmul(a, b, c, M, N, K, a_stride, b_stride, c_stride, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * a_stride + rk[None, :]
    pb = b + rk[:, None] * b_stride + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * b_stride
    tl.store(c + rm[:, None] * c_stride + rn[None, :], acc.to(tl.float16))


@triton.jit
def attention(q, k, v, o, scale, tokens, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    rn = tl.arange(0, BN)
    base = tl.program_id(1) * tokens * D
    query = tl.load(q + base + rm[:, None] * D + rd[None, :])
    most = tl.zeros([BM], dtype=tl.float32) - float("inf")
    total = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for s in range(0, tokens, BN):
        score = tl.dot(query, tl.load(k + base + (s + rn)[None, :] * D + rd[:, None])) * scale
        more = tl.maximum(most, tl.max(score, 1))
        p = tl.exp2(score - more[:, None])
        less = tl.exp2(most - more)
        total = total * less + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + base + (s + rn)[:, None] * D + rd[None, :]), acc * less[:, None])
        most = more
    tl.store(o + base + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(tl.float16))


HALF, REAL, WHOLE = "*fp16", "*fp32", "i32"
KERNELS = [
    (add, {"x": REAL, "y": REAL, "o": REAL, "n": WHOLE}, {"BLOCK": 1024}, 80),
    (softmax, {"o": REAL, "x": REAL, "x_stride": WHOLE, "o_stride": WHOLE, "n": WHOLE}, {"BLOCK": 1024}, 80),
    (layernorm, {"x": HALF, "y": HALF, "w": HALF, "b": HALF, "n": WHOLE, "eps": "fp32"}, {"BLOCK": 1024}, 80),
]
for sm in 80, 90:
    KERNELS += [
        (matmul, {"a": HALF, "b": HALF, "c": HALF, "M": WHOLE, "N": WHOLE, "K": WHOLE, "a_stride": WHOLE,
                  "b_stride": WHOLE, "c_stride": WHOLE}, {"BM": 64, "BN": 64, "BK": 32}, sm),
        (attention, {"q": HALF, "k": HALF, "v": HALF, "o": HALF, "scale": "fp32", "tokens": WHOLE},
         {"D": 64, "BM": 64, "BN": 64}, sm),
    ]


def bare(text):
    text = text.split("\t.section")[0].replace(", debug", "")
    text = re.sub(r"^\s*\.(loc|file)\s.*\n", "", text, flags=re.M)
    text = re.sub(r"^\$L__(tmp|func_\w+)\d*:\n", "", text, flags=re.M)
    return re.sub(r"\n\s*\n+", "\n", re.sub(r"\s*//.*$", "", text, flags=re.M)).strip() + "\n"


for kernel, signature, constants, sm in KERNELS:
    multiples = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(signature.values()) if t != "fp32"}
    source = ASTSource(fn=kernel, signature={**signature, **{k: "constexpr" for k in constants}},
                       constexprs=constants, attrs=multiples)
    made = triton.compile(source, target=GPUTarget("cuda", sm, 32), options={"num_warps": 4, "num_stages": 3})
    name = kernel.__name__ + ("" if sm == 80 else f"_sm{sm}")
    with open(f"{sys.argv[1]}/{name}.ptx", "w") as file:
        file.write(f"// What Triton made of {kernel.__name__}() of kernels.py for sm_{sm}\n" + bare(made.asm["ptx"]))
