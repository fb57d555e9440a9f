# SPDX-License-Identifier: MIT
"""The kernels of this folder on a GPU, by the CUDA driver: the same launches, data and references as in the emulator.

    run_on_gpu.py [--device N] [--defects] [KERNEL...]

Prints a line for each kernel.  With --defects the forms with a planted defect run too, each in a process of its own,
and what shows of it is told.  Needs Python and the driver only.  Exit: 0, 1 when a result is not as the reference,
77 without a GPU.
"""
import argparse
import ctypes
import os
import random
import subprocess
import sys
import time
from ctypes import c_char_p, c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p

from whole_kernels import FOLDER, KERNELS, Memory, pack, unpack

SKIPPED = 77
MAJOR, MINOR, DYNAMIC_SHARED = 75, 76, 8
TENSOR_TYPES = {"u8": 0, "u32": 2, "s32": 3, "u64": 4, "f16": 6, "f32": 7}
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
NEEDS = {"stencil_tma": (9, 0), "gemm_wgmma": (9, 0)}


class Driver:
    def __init__(self, device):
        try:
            self.lib = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise LookupError("no CUDA driver here") from None
        handle, context, value = c_int(), c_void_p(), c_int()
        if self.lib.cuInit(0) or self.lib.cuDeviceGet(ctypes.byref(handle), device):
            raise LookupError("no GPU here")
        name = ctypes.create_string_buffer(128)
        self.call("cuDeviceGetName", name, 128, handle)
        self.name = name.value.decode()
        self.capability = ()
        for attribute in (MAJOR, MINOR):
            self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, handle)
            self.capability += (value.value,)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        function = getattr(self.lib, name)
        status = function(*arguments)
        if status:
            text = c_char_p()
            self.lib.cuGetErrorName(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")

    def load(self, path, name):
        module, function = c_void_p(), c_void_p()
        with open(path, "rb") as file:
            text = file.read() + b"\0"
        log = ctypes.create_string_buffer(8192)
        options = (c_int * 2)(5, 6)  # the log of errors, and its size
        values = (c_void_p * 2)(ctypes.cast(log, c_void_p), len(log))
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), text, 2, options, values)
        except RuntimeError as error:
            raise RuntimeError(f"{error}: {log.value.decode(errors='replace')}") from None
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return module, function

    def put(self, data):
        address = c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), c_size_t(len(data)))
        self.call("cuMemcpyHtoD_v2", address, data, c_size_t(len(data)))
        return address

    def get(self, address, count):
        data = ctypes.create_string_buffer(count)
        self.call("cuMemcpyDtoH_v2", data, address, c_size_t(count))
        return data.raw

    def tensor_map(self, a, address):
        """128 bytes at a multiple of 64, and what keeps them."""
        room = ctypes.create_string_buffer(192)
        at = -(-ctypes.addressof(room) // 64) * 64
        rank, size = len(a.extent), len(pack(a.type, [0]))
        strides, stride = [], size
        for extent in a.extent[:-1]:
            stride *= extent
            strides.append(stride)
        self.call("cuTensorMapEncodeTiled", c_void_p(at), TENSOR_TYPES[a.type], c_uint32(rank), c_void_p(address.value),
                  (c_uint64 * rank)(*a.extent), (c_uint64 * rank)(*strides), (c_uint32 * rank)(*a.box),
                  (c_uint32 * rank)(*[1] * rank), 0, SWIZZLES[a.swizzle], 0, 0)
        return at, room

    def launch(self, kernel, function, parameters):
        if kernel.dynamic_shared:
            self.call("cuFuncSetAttribute", function, DYNAMIC_SHARED, kernel.dynamic_shared)
        shape = [c_uint(value) for size in (kernel.grid, kernel.block) for value in (*size, 1, 1)[:3]]
        shared = c_uint(kernel.dynamic_shared)
        if kernel.cooperative:
            self.call("cuLaunchCooperativeKernel", function, *shape, shared, c_void_p(), parameters)
        else:
            self.call("cuLaunchKernel", function, *shape, shared, c_void_p(), parameters, c_void_p())
        self.call("cuCtxSynchronize")


def elements(a):
    if a.fill == "zero":
        return [0] * a.count
    if a.fill == "iota":
        return list(range(a.count))
    if a.fill == "random":
        draw = random.Random(a.count)
        return [draw.randrange(256) if a.type == "u8" else draw.randrange(-64, 64) / 64 for _ in range(a.count)]
    return a.fill


def run(driver, kernel, suffix):
    """What each argument's memory held before and holds after."""
    _, function = driver.load(os.path.join(FOLDER, kernel.name + suffix + ".ptx"), kernel.name)
    inputs, addresses, keep, pointers = {}, {}, [], []
    for index, a in enumerate(kernel.arguments):
        if isinstance(a, Memory):
            inputs[index] = elements(a)
            addresses[index] = driver.put(pack(a.type, inputs[index]))
            value = addresses[index]
            if a.box:
                at, room = driver.tensor_map(a, value)
                keep.append(room)
                pointers.append(at)
                continue
        else:
            value = c_int(a.value)
        keep.append(value)
        pointers.append(ctypes.addressof(value))
    driver.launch(kernel, function, (c_void_p * len(pointers))(*pointers))
    outputs = {index: unpack(kernel.arguments[index].type,
                             driver.get(address, len(pack(kernel.arguments[index].type, inputs[index]))))
               for index, address in addresses.items()}
    return inputs, outputs


def judge(kernel, inputs, outputs):
    """Elements compared, the greatest difference as --tolerance has it, and what is wrong."""
    compared, worst = 0, 0
    wrong = kernel.judge(inputs, outputs) if kernel.judge else None
    for index, a in enumerate(kernel.arguments):
        if not isinstance(a, Memory) or not a.wanted:
            continue
        wanted = unpack(a.type, pack(a.type, a.wanted(inputs)))
        differences = [abs(got - value) / (1 + abs(value)) for got, value in zip(outputs[index], wanted)]
        bad = [i for i, (got, value) in enumerate(zip(outputs[index], wanted))
               if not (got == value or differences[i] <= a.tolerance)]
        compared += len(wanted)
        worst = max([worst, *(d for d in differences if d == d)])
        if bad:
            wrong = (f"argument {index}: {len(bad)} of {len(wanted)} elements differ; [{bad[0]}] is "
                     f"{outputs[index][bad[0]]}, not {wanted[bad[0]]}")
    return compared, worst, wrong


def run_right(driver, kernels):
    failures = 0
    for kernel in kernels:
        needs = NEEDS.get(kernel.name, (8, 0))
        if driver.capability < needs or (kernel.name == "gemm_wgmma" and driver.capability != needs):
            print(f"{kernel.name}: skipped: compute capability {needs[0]}.{needs[1]} is needed")
            continue
        start = time.monotonic()
        compared, worst, wrong = judge(kernel, *run(driver, kernel, ""))
        failures += wrong is not None
        print(f"{kernel.name}: {'FAIL: ' + wrong if wrong else 'ok'}: {compared} elements, greatest difference "
              f"{worst:.2g}, {time.monotonic() - start:.2f} s", flush=True)
    return failures


def run_defect(driver, kernel):
    _, _, wrong = judge(kernel, *run(driver, kernel, "_defect"))
    print("wrong: " + wrong if wrong else "nothing: the result is as the reference")


def run_defects(device, kernels):
    """A GPU that faults takes its process with it."""
    for kernel in kernels:
        command = [sys.executable, os.path.abspath(__file__), "--device", str(device), "--one-defect", kernel.name]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            told = (done.stdout.strip() or done.stderr.strip()).splitlines()[-1:]
        except subprocess.TimeoutExpired:
            told = ["no end in 60 s"]
        print(f"{kernel.name}, {kernel.rule} planted at line {kernel.source_line()}: the GPU shows "
              f"{told[0] if told else 'nothing at all'}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--defects", action="store_true")
    parser.add_argument("--one-defect", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("kernels", nargs="*")
    args = parser.parse_args()
    kernels = [kernel for kernel in KERNELS if not args.kernels or kernel.name in args.kernels]
    try:
        driver = Driver(args.device)
    except LookupError as error:
        print(f"SKIPPED: {error}")
        return SKIPPED
    if args.one_defect:
        run_defect(driver, kernels[0])
        return 0
    print(f"{driver.name}, compute capability {driver.capability[0]}.{driver.capability[1]}")
    failures = run_right(driver, kernels)
    if args.defects:
        run_defects(args.device, kernels)
    print(f"{failures} of {len(kernels)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
