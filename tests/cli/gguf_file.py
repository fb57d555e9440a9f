# SPDX-License-Identifier: MIT
"""As much of a GGUF reader as finds a tensor's bytes, written apart from the product's."""
import struct

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

FLOATS = {6: "<f", 12: "<d"}


class Gguf:
    """.keys; .tensors: name -> (dimensions, type, offset); .base: where offsets begin in .data."""

    def __init__(self, path):
        self.data, self.at = path.read_bytes(), 0
        if self.data[:4] != b"GGUF":
            raise ValueError(f"{path} is no GGUF file")
        self.at = 8
        tensors, pairs = self.take("<QQ")
        self.keys = {}
        for _ in range(pairs):
            key, kind = self.text(), self.take("<I")[0]
            self.keys[key] = self.value(kind)
        alignment = self.keys.get("general.alignment", 32)
        self.tensors = {}
        for _ in range(tensors):
            name = self.text()
            dims = self.take(f"<{self.take('<I')[0]}Q")
            self.tensors[name] = (dims, *self.take("<IQ"))
        self.base = (self.at + alignment - 1) // alignment * alignment

    def take(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def text(self):
        length = self.take("<Q")[0]
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            item, count = self.take("<IQ")
            return [self.value(item) for _ in range(count)]
        if kind in FLOATS:
            return self.take(FLOATS[kind])[0]
        self.at += SIZES[kind]
        return int.from_bytes(self.data[self.at - SIZES[kind]:self.at], "little")
