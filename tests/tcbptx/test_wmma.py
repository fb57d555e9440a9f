# SPDX-License-Identifier: MIT
"""wmma.load, wmma.mma and wmma.store of all shapes, types and layouts against plain products, through libtcbptx.

    TCBPTX_LIBRARY=libtcbptx.so test_wmma.py SOURCE_FOLDER
"""
import ctypes
import itertools
import os
import random
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(sys.argv[1], "examples", "python"))
sys.argv[1:] = ["none"]
from test_ptx_kernel import Kernel  # noqa: E402

WIDE = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
# a, b, c, d; shapes; registers of A for each element that it has (f16 holds some several times)
CASES = [("f16", c, d, WIDE) for c in ("f16", "f32") for d in ("f16", "f32")]
CASES += [("bf16", "f32", "f32", WIDE), ("u8", "s32", "s32", WIDE), ("s8", "s32", "s32", WIDE),
          ("tf32", "f32", "f32", ((16, 16, 8),)), ("f64", "f64", "f64", ((8, 8, 4),)),
          ("u4", "s32", "s32", ((8, 8, 32),)), ("s4", "s32", "s32", ((8, 8, 32),)), ("b1", "s32", "s32", ((8, 8, 128),))]
BITS = {"f16": 16, "bf16": 16, "u8": 8, "s8": 8, "tf32": 32, "f64": 64, "u4": 4, "s4": 4, "b1": 1, "f32": 32, "s32": 32}
PAD = {"b1": 128, "u4": 32, "s4": 32}  # elements between rows and what comes next


def registers(type_, elements, is_factor):
    if type_ == "f16" and is_factor:
        return 8
    return max(1, elements * BITS[type_] // 32 // max(32, BITS[type_]))


def encode(type_, value):
    """The bits of an element."""
    if type_ == "f16":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    if type_ in ("bf16", "tf32", "f32"):
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        return bits >> 16 if type_ == "bf16" else bits
    if type_ == "f64":
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    return value & ((1 << BITS[type_]) - 1)


def decode(type_, bits):
    size = BITS[type_] // 8
    return struct.unpack({"f16": "<e", "f32": "<f", "f64": "<d", "s32": "<i"}[type_], bits.to_bytes(size, "little"))[0]


def lay_out(type_, matrix, by_columns):
    """The bytes of a matrix with gaps between its rows (or columns), and the elements from one to the next."""
    lines = [list(line) for line in zip(*matrix)] if by_columns else matrix
    stride = len(lines[0]) + PAD.get(type_, 8)
    number, bits = 0, BITS[type_]
    for i, line in enumerate(lines):
        for j, value in enumerate(line):
            number |= encode(type_, value) << (bits * (i * stride + j))
    return number.to_bytes(len(lines) * stride * bits // 8, "little"), stride


def text_of(ab, c, d, shape, layouts, strides):
    m, n, k = shape
    name, kinds = f"m{m}n{n}k{k}", {"a": (ab, m * k, True), "b": (ab, k * n, True), "c": (c, m * n, False), "d": (d, m * n, False)}
    regs = {which: [f"%{which}{i}" for i in range(registers(*kind))] for which, kind in kinds.items()}
    vector = {which: "{" + ", ".join(names) + "}" for which, names in regs.items()}
    types = f"{d}.{c}" if ab == "f16" else f"{d}.{ab}.{ab}.{c}"
    if ab == "f64":
        types = "f64.f64.f64.f64.rn"
    operation = "xor.popc." if ab == "b1" else ""
    lines = [".version 8.0", ".target sm_90", ".address_size 64",
             ".visible .entry product(" + ", ".join(f".param .u64 p{which}" for which in "abcd") + ") {"]
    for which, names in regs.items():
        width = 64 if kinds[which][0] == "f64" else 32
        lines.append("\t.reg " + (".f64 " if width == 64 else ".b32 ") + ", ".join(names) + ";")
    lines.append("\t.reg .u64 %p<4>;\n\t.reg .u32 %s<4>;")
    for i, which in enumerate("abcd"):
        lines.append(f"\tld.param.u64 %p{i}, [p{which}];\n\tmov.u32 %s{i}, {strides[i]};")
    for i, which in enumerate("abc"):
        lines.append(f"\twmma.load.{which}.sync.aligned.{layouts[i]}.{name}.global.{kinds[which][0]} {vector[which]}, [%p{i}], %s{i};")
    lines.append(f"\twmma.mma.{operation}sync.aligned.{layouts[0]}.{layouts[1]}.{name}.{types} {vector['d']}, {vector['a']}, "
                 f"{vector['b']}, {vector['c']};")
    lines.append(f"\twmma.store.d.sync.aligned.{layouts[3]}.{name}.global.{d} [%p3], {vector['d']}, %s3;\n\tret;\n}}")
    return "\n".join(lines) + "\n"


def draw(random_, type_):
    if type_ in ("u8", "u4", "b1"):
        return random_.randrange(1 << BITS[type_])
    if type_ in ("s8", "s4"):
        return random_.randrange(-(1 << (BITS[type_] - 1)), 1 << (BITS[type_] - 1))
    return random_.randrange(-8, 8) if type_ == "s32" else random_.randrange(-8, 8) / 4


def try_one(folder, random_, ab, c, d, shape, layouts):
    m, n, k = shape
    a, b, plus = ([[draw(random_, type_) for _ in range(columns)] for _ in range(rows)]
                  for type_, rows, columns in ((ab, m, k), (ab, k, n), (c, m, n)))
    if ab == "b1":
        wanted = [[plus[i][j] + sum(x != y[j] for x, y in zip(a[i], b)) for j in range(n)] for i in range(m)]
    else:
        wanted = [[plus[i][j] + sum(x * y[j] for x, y in zip(a[i], b)) for j in range(n)] for i in range(m)]
    images = [lay_out(type_, matrix, layout == "col")
              for type_, matrix, layout in zip((ab, ab, c), (a, b, plus), layouts)]
    result, stride = lay_out(d, [[0] * n for _ in range(m)], layouts[3] == "col")
    path = os.path.join(folder, "wmma.ptx")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text_of(ab, c, d, shape, layouts, [image[1] for image in images] + [stride]))
    arguments = [f"buf:b8[{len(image)}]:ro=zero" for image, _ in images] + [f"buf:b8[{len(result)}]=zero"]
    with Kernel(path, "product", *arguments) as kernel:
        for i, (image, _) in enumerate(images):
            kernel.memory(i, ctypes.c_char)[:] = image
        assert kernel.launch((1, 1, 1), (32, 1, 1)) == []
        got = bytes(kernel.memory(3, ctypes.c_char))
    size = BITS[d] // 8
    for i, j in itertools.product(range(m), range(n)):
        at = (j * stride + i if layouts[3] == "col" else i * stride + j) * size
        value = decode(d, int.from_bytes(got[at:at + size], "little"))
        assert value == wanted[i][j], (ab, c, d, shape, layouts, i, j, value, wanted[i][j])


def main():
    random_, tried = random.Random(5), 0
    with tempfile.TemporaryDirectory() as folder:
        for ab, c, d, shapes in CASES:
            both = ("row", "col")
            factors = [("row", "col")] if ab in PAD else itertools.product(both, both)
            for shape, (of_a, of_b), of_c, of_d in itertools.product(shapes, list(factors), both, both):
                try_one(folder, random_, ab, c, d, shape, (of_a, of_b, of_c, of_d))
                tried += 1
    print(f"{tried} products")


main()
