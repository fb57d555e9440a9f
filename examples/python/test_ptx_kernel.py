# SPDX-License-Identifier: MIT
"""Tests of a CUDA kernel without a GPU: libtcbptx through ctypes.

    TCBPTX_LIBRARY=libtcbptx.so python3 test_ptx_kernel.py saxpy.ptx

pytest finds the functions by their names too (SAXPY_PTX names the file then).
"""
import ctypes
import os
import sys
from ctypes import POINTER, c_char, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p


class Error(ctypes.Structure):
    _fields_ = [("code", c_int), ("message", c_char * 512)]


class Launch(ctypes.Structure):
    _fields_ = [("grid", c_uint32 * 3), ("block", c_uint32 * 3), ("cluster", c_uint32 * 3),
                ("dynamic_shared", c_uint32), ("cooperative", c_uint32), ("threads", c_uint32),
                ("order", c_uint64), ("step_limit", c_uint64)]


class Finding(ctypes.Structure):
    _fields_ = [("severity", c_int), ("rule", c_char_p), ("message", c_char_p), ("line", c_uint32),
                ("file", c_char_p), ("source_line", c_uint32), ("where", c_char_p)]


class Counts(ctypes.Structure):
    _fields_ = [("line", c_uint32)] + [(name, c_uint64) for name in (
        "warps", "threads", "requests", "wavefronts", "wavefronts_least", "sectors", "sectors_least", "divergent")]


SEE = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Finding))
lib = ctypes.CDLL(os.environ.get("TCBPTX_LIBRARY", "libtcbptx.so.0"))
lib.tcbptx_load.argtypes = [c_char_p, c_char_p, c_size_t, POINTER(c_void_p), POINTER(Error)]
lib.tcbptx_unload.argtypes = [c_void_p]
lib.tcbptx_prepare.argtypes = [c_void_p, c_char_p, POINTER(c_void_p), POINTER(Error)]
lib.tcbptx_close.argtypes = [c_void_p]
lib.tcbptx_argument.argtypes = [c_void_p, c_char_p, c_uint64, POINTER(Error)]
lib.tcbptx_memory.argtypes = [c_void_p, ctypes.c_uint, POINTER(c_size_t)]
lib.tcbptx_memory.restype = c_void_p
lib.tcbptx_launch.argtypes = [c_void_p, POINTER(Launch), SEE, c_void_p, POINTER(Error)]
lib.tcbptx_count.argtypes = [c_void_p, POINTER(Counts), c_size_t]
lib.tcbptx_count.restype = c_size_t


def call(function, *arguments):
    error = Error()
    if function(*arguments, ctypes.byref(error)):
        raise ValueError(error.message.decode())


class Kernel:
    """One kernel of a file, with its arguments in the words of `tcbtune ptx run --arg`."""

    def __init__(self, path, name, *arguments, seed=1):
        text = open(path, "rb").read()
        self.module, self.run = c_void_p(), c_void_p()
        call(lib.tcbptx_load, path.encode(), text, len(text), ctypes.byref(self.module))
        call(lib.tcbptx_prepare, self.module, name.encode(), ctypes.byref(self.run))
        for argument in arguments:
            call(lib.tcbptx_argument, self.run, argument.encode(), seed)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.tcbptx_close(self.run)
        lib.tcbptx_unload(self.module)

    def launch(self, grid, block, order=1):
        """Returns the findings: (rule, line) of each."""
        found = []
        see = SEE(lambda _, finding: found.append((finding.contents.rule.decode(), finding.contents.line)))
        launch = Launch((c_uint32 * 3)(*grid), (c_uint32 * 3)(*block), order=order)
        call(lib.tcbptx_launch, self.run, ctypes.byref(launch), see, None)
        return found

    def memory(self, index, type_):
        size = c_size_t()
        at = lib.tcbptx_memory(self.run, index, ctypes.byref(size))
        return (type_ * (size.value // ctypes.sizeof(type_))).from_address(at)

    def counts(self):
        rows = (Counts * lib.tcbptx_count(self.run, None, 0))()
        lib.tcbptx_count(self.run, rows, len(rows))
        return rows


PATH = os.environ.get("SAXPY_PTX", sys.argv[-1])


def saxpy(n):
    return Kernel(PATH, "saxpy", "buf:f32[1000]:ro=iota", "buf:f32[1000]=1", "f32=2", f"u32={n}")


def test_result():
    with saxpy(1000) as kernel:
        assert kernel.launch((8, 1, 1), (128, 1, 1)) == []
        assert list(kernel.memory(1, ctypes.c_float)) == [2.0 * i + 1 for i in range(1000)]


def test_accesses_are_coalesced():
    with saxpy(1000) as kernel:
        kernel.launch((8, 1, 1), (128, 1, 1))
        total = kernel.counts()[0]
        assert total.sectors == total.sectors_least == 375


def test_wrong_length_is_found():
    with saxpy(1001) as kernel:
        assert [rule for rule, _ in kernel.launch((8, 1, 1), (128, 1, 1))] == ["out-of-bounds"]


def test_wrong_type_is_refused():
    try:
        Kernel(PATH, "saxpy", "u32=1")
    except ValueError as error:
        assert "parameter 'x' is .u64" in str(error)
    else:
        raise AssertionError("an integer was taken for a pointer")


if __name__ == "__main__":
    for name, function in list(globals().items()):
        if name.startswith("test_"):
            function()
            print(name, "passed")
