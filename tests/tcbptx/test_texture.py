# SPDX-License-Identifier: MIT
"""tex.1d, tex.2d and tex.3d through libtcbptx against what the CUDA programming guide says of them ("Texture Fetching"):
point and linear filtering, coordinates within and beyond the texture, elements of several types and channels.

    TCBPTX_LIBRARY=libtcbptx.so test_texture.py SOURCE_FOLDER
"""
import ctypes
import itertools
import math
import os
import random
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(sys.argv[1], "examples", "python"))
sys.argv[1:] = ["none"]
from test_ptx_kernel import Kernel  # noqa: E402

SIZES = {1: (7,), 2: (7, 5), 3: (7, 5, 3)}
FORMAT = {"u8": "B", "s8": "b", "u16": "H", "s16": "h", "u32": "I", "s32": "i", "f16": "e", "f32": "f"}
THREADS = 32


def text_of(rank, result, coordinate):
    """Thread i fetches at the i-th coordinates and stores four components."""
    names = [f"%c{i}" for i in range(rank)]
    given = names + [names[-1]] * (rank == 3)  # nvcc writes a fourth, which nobody reads
    loads = "".join(f"\tld.global.{coordinate} {name}, [%d2+{4 * i}];\n" for i, name in enumerate(names))
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry fetch(.param .u64 texture, .param .u64 at, .param .u64 out)
{{
	.reg .u64 %d<6>;
	.reg .u32 %t;
	.reg .{coordinate} %c<3>;
	.reg .{result} %v<4>;
	ld.param.u64 %d0, [texture];
	ld.param.u64 %d1, [at];
	ld.param.u64 %d3, [out];
	mov.u32 %t, %tid.x;
	mad.wide.u32 %d2, %t, 12, %d1;
	mad.wide.u32 %d4, %t, 16, %d3;
{loads}	tex.{rank}d.v4.{result}.{coordinate} {{%v0, %v1, %v2, %v3}}, [%d0, {{{", ".join(given)}}}];
	st.global.v4.{result} [%d4], {{%v0, %v1, %v2, %v3}};
	ret;
}}
"""


def share(type_, value):
    """An element as a real: small integers are shares of their largest value."""
    if type_[0] == "f":
        return value
    width = int(type_[1:])
    return value / (2 ** width - 1) if type_[0] == "u" else max(-1.0, value / (2 ** (width - 1) - 1))


def index_of(i, size, beyond):
    """Where the texture is read for the integer I; None: the border."""
    if 0 <= i < size:
        return i
    if beyond == "wrap":
        return i % size
    if beyond == "mirror":
        return i % size if (i // size) % 2 == 0 else size - 1 - i % size
    return None if beyond == "border" else min(max(i, 0), size - 1)


def element(data, channels, size, index, beyond):
    place, stride = 0, 1
    for i, extent in zip(index, size):
        i = index_of(i, extent, beyond)
        if i is None:
            return [0] * channels
        place, stride = place + i * stride, stride * extent
    return data[place * channels:(place + 1) * channels]


def fetch(data, type_, channels, size, at, beyond, linear, result):
    if not linear:
        values = element(data, channels, size, [math.floor(x) for x in at], beyond)
        return [share(type_, value) if result == "f32" else value for value in values]
    low = [math.floor(x - 0.5) for x in at]
    part = [math.floor((x - 0.5 - i) * 256 + 0.5) / 256 for x, i in zip(at, low)]
    total = [0.0] * channels
    for corner in itertools.product((0, 1), repeat=len(size)):
        weight = math.prod(p if c else 1 - p for p, c in zip(part, corner))
        values = element(data, channels, size, [i + c for i, c in zip(low, corner)], beyond)
        total = [s + weight * share(type_, value) for s, value in zip(total, values)]
    return total


def try_one(folder, draw, rank, type_, channels, beyond, linear, normalised, result, coordinate):
    size = SIZES[rank]
    count = math.prod(size) * channels
    if type_[0] == "f":
        data = [draw.randrange(-64, 64) / 16 for _ in range(count)]
    else:
        data = list(struct.unpack(f"<{count}{FORMAT[type_]}", draw.randbytes(count * int(type_[1:]) // 8)))
    if coordinate == "s32":
        places = [[draw.randrange(-2, extent + 2) for extent in size] for _ in range(THREADS)]
        exact = places
    else:  # sixty-fourths, and of a size that is divided by exactly when they are normalised
        exact = [[draw.randrange(-64 * extent, 128 * extent) / 64 for extent in size] for _ in range(THREADS)]
        places = [[struct.unpack("<f", struct.pack("<f", x / extent))[0] if normalised else x
                   for x, extent in zip(place, size)] for place in exact]
        if normalised:
            exact = [[x * extent for x, extent in zip(place, size)] for place in places]
    path = os.path.join(folder, "fetch.ptx")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text_of(rank, result, coordinate))
    options = f":{beyond}:channels={channels}" + ":linear" * linear + ":normalised" * normalised
    texture = f"tex:{type_}[{'x'.join(map(str, size))}]{options}=zero"
    with Kernel(path, "fetch", texture, f"buf:b32[{3 * THREADS}]=zero", f"buf:b32[{4 * THREADS}]=zero") as kernel:
        kernel.memory(0, ctypes.c_char)[:] = struct.pack(f"<{count}{FORMAT[type_]}", *data)
        flat = [x for place in places for x in (place + [0, 0])[:3]]
        kernel.memory(1, ctypes.c_char)[:] = struct.pack(f"<{3 * THREADS}{'i' if coordinate == 's32' else 'f'}", *flat)
        assert kernel.launch((1, 1, 1), (THREADS, 1, 1)) == []
        letter = FORMAT[result]
        got = struct.unpack(f"<{4 * THREADS}{letter}", bytes(kernel.memory(2, ctypes.c_char)))
    for i, at in enumerate(exact):
        wanted = fetch(data, type_, channels, size, at, beyond, linear, result)
        for value, right in zip(got[4 * i:4 * i + channels], wanted):
            assert abs(value - right) <= (1e-6 * (1 + abs(right)) if result == "f32" else 0), (
                rank, type_, channels, beyond, linear, normalised, at, got[4 * i:4 * i + 4], wanted)


def main():
    draw, tried = random.Random(3), 0
    with tempfile.TemporaryDirectory() as folder:
        for rank, type_, linear in itertools.product((1, 2, 3), ("f32", "f16", "u8", "s16"), (False, True)):
            for beyond, normalised in (("clamp", False), ("border", False), ("clamp", True), ("border", True),
                                       ("wrap", True), ("mirror", True)):
                try_one(folder, draw, rank, type_, draw.choice((1, 2, 4)), beyond, linear, normalised, "f32", "f32")
                tried += 1
        for type_, result in (("u32", "u32"), ("u8", "u32"), ("s16", "s32"), ("s32", "s32")):
            try_one(folder, draw, 2, type_, 4, "clamp", False, False, result, "f32")
            try_one(folder, draw, 1, type_, 1, "border", False, False, result, "s32")
            tried += 2
    print(f"{tried} textures")


main()
