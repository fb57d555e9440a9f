#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/ptx/assemble/assemble_seed.c: the LTO-IR of one variable, as NVRTC compiles it.

    scripts/make-seed.py libnvrtc.so.12 > src/ptx/assemble/assemble_seed.c

nvJitLink reads LTO-IR of its own version and of older ones, so the library should be an old one: that of 12.4 is the
first whose output is small (pip download --no-deps nvidia-cuda-nvrtc-cu12==12.4.127, a zip file with the library in it).
"""
import ctypes
import sys

SOURCE = b"__device__ int tcbtune_seed;\n"
HEAD = """/* SPDX-License-Identifier: MIT
 *
 * The LTO-IR of "__device__ int tcbtune_seed;", written by scripts/make-seed.py
 * with NVRTC %d.%d: what nvJitLink must be given before it compiles PTX as a
 * whole program (assemble_nvjitlink.c).
 */
#include "ptx/assemble/assemble_private.h"

const unsigned char tcb_nvjitlink_seed[] = {
"""


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rtc = ctypes.CDLL(sys.argv[1])
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    major, minor = ctypes.c_int(), ctypes.c_int()
    options = (ctypes.c_char_p * 2)(b"-arch=compute_75", b"-dlto")
    rtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    if (
        rtc.nvrtcCreateProgram(ctypes.byref(program), SOURCE, b"seed", 0, None, None)
        or rtc.nvrtcCompileProgram(program, 2, options)
        or rtc.nvrtcGetLTOIRSize(program, ctypes.byref(size))
    ):
        sys.exit("NVRTC compiles nothing")
    data = ctypes.create_string_buffer(size.value)
    if rtc.nvrtcGetLTOIR(program, data):
        sys.exit("NVRTC gives no LTO-IR")
    print(HEAD % (major.value, minor.value), end="")
    for at in range(0, size.value, 18):
        print("\t" + " ".join("0x%02x," % byte for byte in data.raw[at : at + 18]))
    print("};\nconst size_t tcb_nvjitlink_seed_bytes = sizeof tcb_nvjitlink_seed;")


main()
