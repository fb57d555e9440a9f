# SPDX-License-Identifier: MIT
"""The ten kernels of tests/ptx/whole through libtcbptx: results as the reference has them in several orders of warps,
memory filled by the caller, and the planted defects by callback.

    TCBPTX_LIBRARY=libtcbptx.so test_whole_kernels.py SOURCE_FOLDER
"""
import ctypes
import os
import sys

sys.path[:0] = [os.path.join(sys.argv[1], "tests", "ptx", "whole"), os.path.join(sys.argv[1], "examples", "python")]
sys.argv[1:] = ["none"]
from test_ptx_kernel import SEE, Kernel, Launch, call, lib  # noqa: E402
from whole_kernels import FOLDER, KERNELS, Memory, pack, unpack  # noqa: E402


def open_kernel(kernel, suffix):
    words = []
    for a in kernel.arguments:
        if not isinstance(a, Memory):
            words.append(f"{a.type}={a.value}")
            continue
        extent, fill = "x".join(map(str, a.extent)), a.fill if isinstance(a.fill, str) else "zero"
        box = f":box={'x'.join(map(str, a.box))}" + (f":swizzle={a.swizzle}" if a.swizzle else "") if a.box else ""
        words.append(f"{'tmap' if a.box else 'buf'}:{a.type}[{extent}]{box}{':ro' if a.read_only else ''}={fill}")
    return Kernel(os.path.join(FOLDER, kernel.name + suffix + ".ptx"), kernel.name, *words)


def memories(kernel, opened):
    return {index: opened.memory(index, ctypes.c_char) for index, a in enumerate(kernel.arguments) if isinstance(a, Memory)}


def launch(kernel, opened, order):
    """The findings: rule, and places in the source."""
    found = []

    def see(_, finding):
        f = finding.contents
        assert (f.where or b"").startswith(b"%s:%u" % (f.file or b"", f.source_line))
        found.append((f.rule.decode(), (f.where or b"").decode().split(", from ")))

    def three(values):
        return (ctypes.c_uint32 * 3)(*(*values, 1, 1)[:3])

    shape = Launch(three(kernel.grid), three(kernel.block), dynamic_shared=kernel.dynamic_shared,
                   cooperative=kernel.cooperative, order=order)
    call(lib.tcbptx_launch, opened.run, ctypes.byref(shape), SEE(see), None)
    return found


def run(kernel, suffix, order):
    with open_kernel(kernel, suffix) as opened:
        memory = memories(kernel, opened)
        for index, a in enumerate(kernel.arguments):
            if isinstance(a, Memory) and not isinstance(a.fill, str):
                memory[index][:] = pack(a.type, a.fill)
        inputs = {index: unpack(kernel.arguments[index].type, bytes(data)) for index, data in memory.items()}
        found = launch(kernel, opened, order)
        return inputs, {index: unpack(kernel.arguments[index].type, bytes(data)) for index, data in memory.items()}, found


def check(kernel):
    for order in (0, 1, 7):
        inputs, outputs, found = run(kernel, "", order)
        assert not found, (kernel.name, found)
        assert not kernel.judge or kernel.judge(inputs, outputs) is None
        for index, a in enumerate(kernel.arguments):
            if not isinstance(a, Memory) or not a.wanted:
                continue
            wanted = unpack(a.type, pack(a.type, a.wanted(inputs)))
            assert len(wanted) == len(outputs[index])
            bad = [(i, got, value) for i, (got, value) in enumerate(zip(outputs[index], wanted))
                   if not (got == value or abs(got - value) <= a.tolerance * (1 + abs(value)))]
            assert not bad, (kernel.name, order, index, bad[:3])
    found = run(kernel, "_defect", 1)[2]
    assert any(rule == kernel.rule and f"{kernel.name}.cu:{kernel.source_line()}" in where for rule, where in found), (
        kernel.name, found)
    print(kernel.name, "passed")


for one in KERNELS:
    check(one)
