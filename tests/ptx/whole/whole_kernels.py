# SPDX-License-Identifier: MIT
"""The ten kernels of this folder: how each is launched, on what data, and what it has to compute.

The references are written down here and know nothing of the emulator; test_whole.py
compares them with it, run_on_gpu.py with a GPU.
"""
import itertools
import math
import os
import random
import struct
from dataclasses import dataclass, field

FOLDER = os.path.dirname(os.path.abspath(__file__))
FORMAT = {"u8": "B", "u16": "H", "s32": "i", "u32": "I", "u64": "Q", "f16": "e", "f32": "f", "f64": "d"}


def pack(type_, values):
    return struct.pack(f"<{len(values)}{FORMAT[type_]}", *values)


def unpack(type_, data):
    return list(struct.unpack(f"<{len(data) // struct.calcsize(FORMAT[type_])}{FORMAT[type_]}", data))


@dataclass
class Memory:
    """A buffer, or with BOX what a tensor map is of (EXTENT then has the fastest dimension first)."""
    type: str
    extent: tuple
    fill: object = "zero"  # or "iota", "random", or the elements
    read_only: bool = False
    wanted: object = None  # the elements, as a function of all inputs; None: not compared so
    tolerance: float = 0
    box: tuple = ()
    swizzle: int = 0

    @property
    def count(self):
        return math.prod(self.extent)


@dataclass
class Scalar:
    type: str
    value: int


@dataclass
class Kernel:
    name: str
    grid: tuple
    block: tuple
    arguments: list
    rule: str  # what finds the planted defect, at the line of the source that says DEFECT
    judged: tuple = ()  # rules of `ptx check`, of which one names it too
    depends: tuple = ()  # rules that warn of the right kernel, rightly: its arguments decide
    judge: object = None  # told all inputs and outputs where elements have no fixed place; returns what is wrong
    dynamic_shared: int = 0
    cooperative: bool = False
    inputs: list = field(default_factory=list)

    def source_line(self):
        """Of the planted defect."""
        with open(os.path.join(FOLDER, self.name + ".cu"), encoding="utf-8") as file:
            lines = [number for number, line in enumerate(file, 1) if "// DEFECT:" in line]
        assert len(lines) == 1, self.name
        return lines[0]


def floats(seed, count):
    """Multiples of 1/64 in [-1, 1): f16 has them all, and f32 the sums of some thousand products."""
    draw = random.Random(seed)
    return [draw.randrange(-64, 64) / 64 for _ in range(count)]


def integers(seed, count, end):
    draw = random.Random(seed)
    return [draw.randrange(end) for _ in range(count)]


def product(a, b, m, n, k, b_is_transposed):
    rows = [a[i * k:(i + 1) * k] for i in range(m)]
    columns = [b[j * k:(j + 1) * k] if b_is_transposed else b[j::n] for j in range(n)]
    return [sum(map(float.__mul__, row, column)) for row in rows for column in columns]


def mean_of_neighbours(x, width, height):
    def at(row, column):
        return x[row * width + column] if 0 <= row < height and 0 <= column < width else 0

    return [(at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1)) / 4 for i in range(height) for j in range(width)]


def count_bytes(x):
    bins = [0] * 256
    for value in x:
        bins[value] += 1
    return bins


def judge_compacted(inputs, outputs):
    x = inputs[0]
    wanted = sorted(value for value in x if value % 3 == 0)
    kept, following, (head,) = outputs[1], outputs[3], outputs[4]
    if sorted(kept[:len(wanted)]) != wanted or any(kept[len(wanted):]):
        return "what was kept is not what divides by three"
    on_stack, at = [], head & 0xffffffff
    while at and len(on_stack) <= len(x):
        on_stack.append(at - 1)
        at = following[at - 1]
    if sorted(on_stack) != [i for i, value in enumerate(x) if value % 7 == 0] or head >> 32 != len(on_stack):
        return "what is on the stack is not what divides by seven"
    return None


def reduce(n=10007, blocks=7):
    return Kernel("reduce", (blocks,), (256,), [
        Memory("f32", (n,), "random", True),
        Memory("f32", (blocks,)),
        Memory("f32", (1,), wanted=lambda x: [math.fsum(x[0])], tolerance=1e-5),
        Scalar("s32", n)], "race", judged=("shared-race",))


def scan(n=2100, tile=512):
    blocks = -(-n // tile)
    return Kernel("scan", (blocks,), (tile,), [
        Memory("u32", (n,), integers("scan", n, 1 << 32), True),
        Memory("u32", (n,), wanted=lambda x: [value & 0xffffffff for value in itertools.accumulate(x[0])]),
        Memory("u64", (blocks,)),
        Memory("u32", (1,)),
        Scalar("s32", n)], "out-of-bounds")


def transpose(width=70, height=45):
    return Kernel("transpose", (3, 2), (32, 8), [
        Memory("f32", (height, width), "iota", True),
        Memory("f32", (width, height), wanted=lambda x: [x[0][i * width + j] for j in range(width) for i in range(height)]),
        Scalar("s32", width), Scalar("s32", height)], "unwritten-shared")


def histogram(n=5003):
    return Kernel("histogram", (3,), (192,), [
        Memory("u8", (n,), "random", True),
        Memory("u32", (256,), wanted=lambda x: count_bytes(x[0])),
        Scalar("s32", n)], "race")


def matmul_mma(m=100, n=72, k=90):
    return Kernel("matmul_mma", (2, 2), (128,), [
        Memory("f16", (m, k), floats("a", m * k), True),
        Memory("f16", (k, n), floats("b", k * n), True),
        Memory("f32", (m, n), wanted=lambda x: product(x[0], x[1], m, n, k, False)),
        Scalar("s32", m), Scalar("s32", n), Scalar("s32", k)], "misaligned", judged=("misaligned", "alignment-unproved"))


def pipeline(rows=5, n=2204):
    return Kernel("pipeline", (rows,), (128,), [
        Memory("f32", (rows, n), floats("rows", rows * n), True),
        Memory("f32", (n,), floats("weights", n), True),
        Memory("f32", (rows,), tolerance=1e-5, wanted=lambda x: product(x[0], x[1], rows, 1, n, True)),
        Scalar("s32", n)], "async-pending", depends=("alignment-unproved",))  # rows are aligned if N divides by four


def stencil_tma(width=100, height=50):
    return Kernel("stencil_tma", (4, 4), (32, 8), [
        Memory("f32", (width, height), floats("grid", width * height), True, box=(40, 18)),
        Memory("f32", (width, height), wanted=lambda x: mean_of_neighbours(x[0], width, height), box=(32, 16)),
    ], "proxy-fence")


def gemm_wgmma(m=100, n=150, k=328):
    return Kernel("gemm_wgmma", (3, 2), (160,), [
        Memory("f16", (k, m), floats("a", k * m), True, box=(64, 64), swizzle=128),
        Memory("f16", (k, n), floats("b", k * n), True, box=(64, 64), swizzle=128),
        Memory("f32", (m, n), wanted=lambda x: product(x[0], x[1], m, n, k, True)),
        Scalar("s32", m), Scalar("s32", n), Scalar("s32", k)], "race", dynamic_shared=3 * 2 * 64 * 64 * 2)


def normalise(n=2101, blocks=5):
    def wanted(x):
        length = math.sqrt(math.fsum(value * value for value in x[0]))
        return [value / length for value in x[0]]

    return Kernel("normalise", (blocks,), (192,), [
        Memory("f32", (n,), floats("vector", n), True),
        Memory("f32", (n,), wanted=wanted, tolerance=1e-5),
        Memory("f32", (blocks,)),
        Scalar("s32", n)], "race", cooperative=True)


def compact(n=1000):
    return Kernel("compact", (8,), (128,), [
        Memory("s32", (n,), integers("numbers", n, 100), True),
        Memory("s32", (n,)),
        Memory("u32", (1,), wanted=lambda x: [sum(value % 3 == 0 for value in x[0])]),
        Memory("s32", (n,)),
        Memory("u64", (1,)),
        Scalar("s32", n)], "shuffle-divergent", judge=judge_compacted)


KERNELS = [make() for make in (reduce, scan, transpose, histogram, matmul_mma, pipeline, stencil_tma, gemm_wgmma,
                               normalise, compact)]
