# SPDX-License-Identifier: MIT
"""PTX of Triton: with_triton.py OUT [--only TEXT] [--packages FOLDER].  Needs Triton and no GPU.

Compiled for several targets: the kernels of tests/ptx/triton/kernels.py, those below (what people write beside
products and norms: scans, sorts, histograms, locks, persistent loops, descriptors, scaled and narrow products), and those of Python files
below FOLDER, of which the @triton.jit functions are taken and their parameters' types guessed from names and use.
Each kernel is compiled in a process of its own.  What fails leaves OUT/FILE.bad with the reason.
"""
import argparse
import ast
import collections
import importlib.util
import os
import pathlib
import signal
import sys
import tempfile
import time
import traceback

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import ASTSource

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = (80, 90, 100, 120)
LIMIT = 120


@triton.jit
def running_sum(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + c, mask=c < n, other=0.0)
    tl.store(y + row * n + c, tl.cumsum(v, axis=0), mask=c < n)


@triton.jit
def combine(a, b, c, d):
    return c * a, c * b + d


@triton.jit
def linear_recurrence(decay, x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = row * n + tl.arange(0, BLOCK)
    m = tl.arange(0, BLOCK) < n
    a = tl.load(decay + c, mask=m, other=1.0)
    b = tl.load(x + c, mask=m, other=0.0)
    _, h = tl.associative_scan((a, b), 0, combine)
    tl.store(y + c, h, mask=m)


@triton.jit
def sorted_rows(x, y, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + c, tl.sort(tl.load(x + c)))


@triton.jit
def counted(x, bins, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.histogram(tl.load(x + c, mask=c < n, other=0), BINS)
    tl.atomic_add(bins + tl.arange(0, BINS), h)


@triton.jit
def best_of_row(x, value, place, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + c, mask=c < n, other=-float("inf"))
    tl.store(value + row, tl.max(v, axis=0))
    tl.store(place + row, tl.argmax(v, axis=0))


@triton.jit
def turned(x, y, rows, columns, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    m = (r[:, None] < rows) & (c[None, :] < columns)
    v = tl.load(x + r[:, None] * columns + c[None, :], mask=m)
    tl.store(y + c[:, None] * rows + r[None, :], tl.trans(v), mask=tl.trans(m))


@triton.jit
def dropped(x, y, n, p, seed, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + c, mask=c < n)
    tl.store(y + c, tl.where(tl.rand(seed, c) > p, v / (1 - p), 0.0), mask=c < n)


@triton.jit
def gradient_under_lock(dy, part, lock, count, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """Partial sums of many rows under a spin lock each, as backward passes of norms keep them."""
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(dy + row * n + c, mask=c < n, other=0.0)
    mine = lock + row % GROUPS
    seen = count + row % GROUPS
    while tl.atomic_cas(mine, 0, 1) == 1:
        pass
    place = part + (row % GROUPS) * n + c
    if tl.load(seen) == 0:
        tl.atomic_xchg(seen, 1)
    else:
        v += tl.load(place, mask=c < n)
    tl.store(place, v, mask=c < n)
    tl.debug_barrier()
    tl.atomic_xchg(mine, 0)


@triton.jit
def split_along_k(a, b, c, K, a_stride, b_stride, c_stride, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                  SPLIT: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.program_id(2) * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK * SPLIT):
        left = tl.load(a + rm[:, None] * a_stride + (k + rk)[None, :], mask=(k + rk)[None, :] < K, other=0.0)
        right = tl.load(b + (k + rk)[:, None] * b_stride + rn[None, :], mask=(k + rk)[:, None] < K, other=0.0)
        acc = tl.dot(left, right, acc)
    tl.atomic_add(c + rm[:, None] * c_stride + rn[None, :], acc)


@triton.jit
def persistent_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, tl.num_programs(0)):
        rm = (tile // tiles_n * BM + tl.arange(0, BM)) % M
        rn = (tile % tiles_n * BN + tl.arange(0, BN)) % N
        rk = tl.arange(0, BK)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            left = tl.load(a + rm[:, None] * K + (k * BK + rk)[None, :], mask=(k * BK + rk)[None, :] < K, other=0.0)
            right = tl.load(b + (k * BK + rk)[:, None] * N + rn[None, :], mask=(k * BK + rk)[:, None] < K, other=0.0)
            acc = tl.dot(left, right, acc)
        sm = tile // tiles_n * BM + tl.arange(0, BM)
        sn = tile % tiles_n * BN + tl.arange(0, BN)
        tl.store(c + sm[:, None] * N + sn[None, :], acc.to(tl.float16), mask=(sm[:, None] < M) & (sn[None, :] < N))


@triton.jit
def described_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROLES: tl.constexpr):
    """Tensor descriptors made on the device; with ROLES its warps share the loop out between them."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=ROLES):
        acc = tl.dot(da.load([m, k]), db.load([k, n]), acc)
    dc.store([m, n], acc.to(tl.float16))


@triton.jit
def narrow_matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SUM: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(a + rm[:, None] * K + (k + rk)[None, :]), tl.load(b + rn[None, :] * K + (k + rk)[:, None]), acc)
    tl.store(c + rm[:, None] * 4096 + rn[None, :], acc)


@triton.jit
def scaled_matmul(a, sa, b, sb, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK // 2)
    rs = tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K // BK):
        left = tl.load(a + rm[:, None] * (K // 2) + (k * (BK // 2) + rk)[None, :])
        right = tl.load(b + rn[None, :] * (K // 2) + (k * (BK // 2) + rk)[:, None])
        scale_a = tl.load(sa + rm[:, None] * (K // 32) + (k * (BK // 32) + rs)[None, :])
        scale_b = tl.load(sb + rn[:, None] * (K // 32) + (k * (BK // 32) + rs)[None, :])
        acc = tl.dot_scaled(left, scale_a, "e2m1", right, scale_b, "e2m1", acc)
    tl.store(c + rm[:, None] * 4096 + rn[None, :], acc)


@triton.jit
def causal_attention(q, k, v, o, scale, tokens, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    first = tl.program_id(0) * BM
    rm = first + tl.arange(0, BM)
    rd = tl.arange(0, D)
    base = tl.program_id(1).to(tl.int64) * tokens * D
    query = tl.load(q + base + rm[:, None] * D + rd[None, :], mask=rm[:, None] < tokens, other=0.0)
    most = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for s in range(0, tl.minimum(first + BM, tokens), BN):
        rn = s + tl.arange(0, BN)
        key = tl.load(k + base + rn[None, :] * D + rd[:, None], mask=rn[None, :] < tokens, other=0.0)
        score = tl.where(rm[:, None] >= rn[None, :], tl.dot(query, key) * scale, -float("inf"))
        more = tl.maximum(most, tl.max(score, 1))
        p = tl.exp2(score - more[:, None])
        less = tl.exp2(most - more)
        total = total * less + tl.sum(p, 1)
        value = tl.load(v + base + rn[:, None] * D + rd[None, :], mask=rn[:, None] < tokens, other=0.0)
        acc = tl.dot(p.to(tl.float16), value, acc * less[:, None])
        most = more
    tl.store(o + base + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(tl.float16), mask=rm[:, None] < tokens)


@triton.jit
def picked(x, index, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * BLOCK + c)
    i = tl.load(index + row * BLOCK + c)
    tl.store(y + row * BLOCK + c, tl.gather(v, i, 0), mask=c < n)


HALF, REAL, WHOLE, CODE, BYTE, FP8 = "*fp16", "*fp32", "i32", "*i8", "*u8", "*fp8e4nv"
TILE = {"BM": 64, "BN": 64, "BK": 32}
# kernel, types, constants, options, targets
MINE = [
    (running_sum, [REAL, REAL, WHOLE], {"BLOCK": 1024}, {}, TARGETS),
    (linear_recurrence, [REAL, REAL, REAL, WHOLE], {"BLOCK": 512}, {}, TARGETS),
    (sorted_rows, [REAL, REAL], {"BLOCK": 256}, {}, TARGETS),
    (counted, ["*i32", "*i32", WHOLE], {"BLOCK": 1024, "BINS": 128}, {}, TARGETS),
    (best_of_row, [REAL, REAL, "*i32", WHOLE], {"BLOCK": 2048}, {"num_warps": 8}, TARGETS),
    (turned, [HALF, HALF, WHOLE, WHOLE], {"BR": 64, "BC": 64}, {}, TARGETS),
    (dropped, [REAL, REAL, WHOLE, "fp32", WHOLE], {"BLOCK": 1024}, {}, TARGETS),
    (gradient_under_lock, [REAL, REAL, "*i32", "*i32", WHOLE], {"GROUPS": 8, "BLOCK": 1024}, {}, TARGETS),
    (split_along_k, [HALF, HALF, REAL] + [WHOLE] * 4, {**TILE, "SPLIT": 4}, {}, TARGETS),
    (persistent_matmul, [HALF, HALF, HALF] + [WHOLE] * 3, {"BM": 128, "BN": 64, "BK": 64}, {"num_warps": 8}, TARGETS),
    (described_matmul, [HALF, HALF, HALF] + [WHOLE] * 3, {"BM": 128, "BN": 64, "BK": 64, "ROLES": False}, {}, (90, 100, 120)),
    (described_matmul, [HALF, HALF, HALF] + [WHOLE] * 3, {"BM": 128, "BN": 128, "BK": 64, "ROLES": True}, {}, (90, 100)),
    (narrow_matmul, [CODE, CODE, "*i32", WHOLE], {"BM": 64, "BN": 64, "BK": 64, "SUM": tl.int32}, {}, TARGETS),
    (narrow_matmul, [FP8, FP8, REAL, WHOLE], {"BM": 64, "BN": 64, "BK": 64, "SUM": tl.float32}, {}, (90, 100, 120)),
    (narrow_matmul, [REAL, REAL, REAL, WHOLE], {"BM": 64, "BN": 64, "BK": 32, "SUM": tl.float32}, {}, TARGETS),
    (scaled_matmul, [BYTE] * 4 + [REAL, WHOLE], {"BM": 128, "BN": 128, "BK": 128}, {}, (80, 90, 100, 120)),
    (causal_attention, [HALF] * 4 + ["fp32", WHOLE], {"D": 64, "BM": 64, "BN": 64}, {}, TARGETS),
    (causal_attention, [HALF] * 4 + ["fp32", WHOLE], {"D": 128, "BM": 128, "BN": 64}, {"num_warps": 8}, (90, 100)),
    (picked, [REAL, "*i32", REAL, WHOLE], {"BLOCK": 512}, {}, TARGETS),
]


def earlier_kernels():
    """The table of kernels.py, which would compile and write them where it is imported."""
    text = (HERE.parents[1] / "triton" / "kernels.py").read_text()
    folder = tempfile.mkdtemp(prefix="triton-")
    path = pathlib.Path(folder, "earlier_kernels.py")
    path.write_text(text[: text.index("def bare(")])
    module = load(path)
    seen = {}
    for kernel, types, constants, _ in module.KERNELS:
        seen[kernel.__name__] = (kernel, list(types.values()), constants, {}, TARGETS)
    return list(seen.values())


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_jit(node):
    return isinstance(node, ast.FunctionDef) and any(ast.unparse(d) in ("triton.jit", "jit") for d in node.decorator_list)


def is_needed(node):
    """What of a module the kernels need: imports of Triton and constants, without what needs another package."""
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] in ("triton", "math")
    if isinstance(node, ast.Import):
        return all(name.name.split(".")[0] in ("triton", "math") for name in node.names)
    return is_jit(node)


def pointers_of(function):
    """Parameters from which tl.load, tl.store and the like take their address."""
    found = set()
    for call in ast.walk(function):
        if not isinstance(call, ast.Call) or not call.args or not ast.unparse(call.func).startswith("tl."):
            continue
        if call.func.attr in ("load", "store", "make_block_ptr") or call.func.attr.startswith("atomic_"):
            address = call.args[0]
            while isinstance(address, ast.BinOp):
                address = address.left
            if isinstance(address, ast.Name):
                found.add(address.id)
    return found


REALS = ("eps", "scale", "alpha", "beta", "offset", "temperature", "softcap", "smoothing", "gamma", "_p", "weight_decay")
INDICES = ("index", "indices", "idx", "ids", "target", "label", "count", "start", "cu_seq", "offs", "embedding_indices")


def constant_of(name):
    """A size for what is named as one, 0 for a switch, None for what cannot be guessed: a stride."""
    low = name.lower()
    if low.startswith("stride") or low.endswith("stride"):
        return None
    if "eps" in low:
        return 1e-6
    if any(word in low for word in ("len", "num_", "dim", "size", "head", "hd", "n_cols", "per_")):
        return 1024 if "block_size" in low and not low.endswith(("_m", "_n", "_k")) else 64
    if name == low or low.startswith(("has_", "is_", "use_", "store_", "return_", "compute_")):
        return 0
    return 64 if "block" in low and low.endswith(("_m", "_n", "_k", "_h", "_d", "_t")) else 1024 if low == "block" else 16


def guess(function):
    """(types, constants) of a function that somebody else wrote."""
    types, constants, pointers = [], {}, pointers_of(function)
    for parameter in function.args.args:
        name, note = parameter.arg, ast.unparse(parameter.annotation) if parameter.annotation else ""
        low = name.lower()
        if "constexpr" in note:
            constants[name] = constant_of(name)
        elif low.endswith("_ptr") or name in pointers:
            types.append("*i32" if any(word in low for word in INDICES) else REAL)
        else:
            types.append("fp32" if low.endswith(REALS) else WHOLE)
    return types, constants


def foreign_kernels(folder):
    found = []
    made = pathlib.Path(tempfile.mkdtemp(prefix="triton-"))
    for path in sorted(pathlib.Path(folder).rglob("*.py")):
        text = path.read_text(errors="replace")
        if "@triton.jit" not in text or "ascend" in str(path):
            continue
        nodes = [node for node in ast.parse(text).body if is_needed(node)]
        for node in nodes:
            if is_jit(node):
                node.decorator_list = [d for d in node.decorator_list if ast.unparse(d) in ("triton.jit", "jit")]
        inner = made / (path.stem + "_of_package.py")
        inner.write_text("\n\n".join(ast.unparse(node) for node in nodes) + "\n")
        try:
            module = load(inner)
        except Exception as why:
            print(f"{path.name}: {why}", file=sys.stderr)
            continue
        called = {n.func.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        for node in nodes:
            types, constants = guess(node) if is_jit(node) and node.name not in called else ([], None)
            if constants is not None and None not in constants.values():
                found.append((getattr(module, node.name), types, constants, {}, (80, 90)))
    return found


def compile_one(path, kernel, types, constants, options, sm):
    names = [name for name in kernel.arg_names if name not in constants]
    signature = {name: "constexpr" if name in constants else types[names.index(name)] for name in kernel.arg_names}
    multiples = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(kernel.arg_names)
                 if signature[name].startswith("*") or signature[name] == WHOLE and name != "seed"}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=multiples)
    made = triton.compile(source, target=GPUTarget("cuda", sm, 32), options={"num_warps": 4, "num_stages": 3, **options})
    path.write_text(made.asm["ptx"])


def waited(child):
    """The status of a child that has LIMIT seconds."""
    for _ in range(LIMIT * 10):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--packages")
    args = parser.parse_args()
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="triton-"))
    # the text is all that is wanted, and assembling takes minutes for some
    CUDABackend.make_cubin = lambda *_: b""
    # a descriptor that a kernel makes is written to memory that the launcher has to give
    triton.set_allocator(lambda size, alignment, stream: None)
    table = earlier_kernels() + MINE + (foreign_kernels(args.packages) if args.packages else [])
    counts, taken = collections.Counter(), collections.Counter()
    for kernel, types, constants, options, targets in table:
        for sm in targets:
            name = f"{kernel.__name__}.sm_{sm}"
            taken[name] += 1
            path = args.out / f"triton_{name}{'' if taken[name] == 1 else f'.{taken[name]}'}.ptx"
            bad = path.with_suffix(".ptx.bad")
            if args.only not in path.name or path.exists() or bad.exists():
                continue
            child = os.fork()
            if child == 0:
                try:
                    compile_one(path, kernel, types, constants, options, sm)
                    os._exit(0)
                except BaseException:
                    bad.write_text(traceback.format_exc())
                    os._exit(1)
            status = waited(child)
            if not path.exists() and not bad.exists():
                bad.write_text(f"ended with status {status}\n")
            counts["bad" if bad.exists() else "made"] += 1
    print("Triton:", ", ".join(f"{counts[k]} {k}" for k in sorted(counts)) or "nothing to do")


main()
