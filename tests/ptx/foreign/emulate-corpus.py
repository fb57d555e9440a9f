#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many kernels of a folder of PTX files the emulator can run, and for want of what it cannot run the others.

    emulate-corpus.py LIBTCBPTX FOLDER
"""
import collections
import ctypes
import pathlib
import re
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_size_t, c_uint, c_void_p


class Error(ctypes.Structure):
    _fields_ = [("code", c_int), ("message", c_char * 512)]


def main():
    lib = ctypes.CDLL(sys.argv[1])
    lib.tcbptx_load.argtypes = [c_char_p, c_char_p, c_size_t, POINTER(c_void_p), POINTER(Error)]
    lib.tcbptx_unload.argtypes = [c_void_p]
    lib.tcbptx_kernel.argtypes = [c_void_p, c_uint]
    lib.tcbptx_kernel.restype = c_char_p
    lib.tcbptx_prepare.argtypes = [c_void_p, c_char_p, POINTER(c_void_p), POINTER(Error)]
    lib.tcbptx_close.argtypes = [c_void_p]
    reasons, kernels = collections.Counter(), 0
    for path in sorted(pathlib.Path(sys.argv[2]).rglob("*.ptx")):
        text, module, error = path.read_bytes(), c_void_p(), Error()
        if lib.tcbptx_load(path.name.encode(), text, len(text), byref(module), byref(error)):
            reasons["the file: " + error.message.decode()] += 1
            continue
        index = 0
        while name := lib.tcbptx_kernel(module, index):
            index, run = index + 1, c_void_p()
            kernels += 1
            if lib.tcbptx_prepare(module, name, byref(run), byref(error)):
                reasons[re.sub(r"line \d+: ", "", error.message.decode())] += 1
            else:
                lib.tcbptx_close(run)
        lib.tcbptx_unload(module)
    print(f"{kernels - sum(reasons.values())} of {kernels} kernels can be run")
    for reason, count in reasons.most_common():
        print(f"{count:6} {reason}")


if __name__ == "__main__":
    main()
