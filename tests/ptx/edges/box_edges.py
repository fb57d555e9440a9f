# SPDX-License-Identifier: MIT
"""Boxes at the edges of a tensor and beyond: what is copied, what is filled or cut, and which coordinates are an illegal
instruction.  The PTX manual does not say the last; a GPU does, and the emulator has to say the same.

    box_edges.py --tcbtune TCBTUNE | --gpu DEVICE

Exit: 0, 1 when a point is not as it is written down here, 77 without a GPU (or with one that has no tensor copies).
"""
import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "..", "whole"))
from run_on_gpu import SKIPPED, Driver  # noqa: E402
from whole_kernels import Kernel, Memory, pack, unpack  # noqa: E402

PTX = os.path.join(FOLDER, "boxes.ptx")
WIDTH, HEIGHT, BOX = 64, 48, (32, 16)
POINTS = ((0, 0), (32, 2), (4, 0), (1, 0), (2, 3), (-1, -1), (62, 40), (-4, 2), (-28, 0), (-32, 0), (0, -2), (0, -16),
          (0, 40), (36, 0), (60, 40), (64, 0), (100, 0), (0, 48))


def is_illegal(op, x, y):
    """As seen on an NVIDIA H200 (sm_90, driver 580): rows of a box begin at multiples of 16 bytes, and what is written
    begins inside of the tensor or behind it."""
    return x * 4 % 16 != 0 or (op != "fetch" and (x < 0 or y < 0))


def wanted(op, x, y, before):
    """The elements afterwards: of the box that came, or of the tensor."""
    inside = {(r, c) for r in range(BOX[1]) for c in range(BOX[0]) if 0 <= x + c < WIDTH and 0 <= y + r < HEIGHT}
    if op == "fetch":
        return [before[(y + r) * WIDTH + x + c] if (r, c) in inside else 0.0 for r in range(BOX[1]) for c in range(BOX[0])]
    after = list(before)
    for r, c in inside:
        at = (y + r) * WIDTH + x + c
        after[at] = r * BOX[0] + c + 1.0 + (before[at] if op == "add" else 0)
    return after


def on_gpu(device, op, x, y):
    """Whether the result is right; RuntimeError when the GPU faults."""
    driver = Driver(device)
    tensor = Memory("f32", (WIDTH, HEIGHT), box=BOX)
    before = [float(i) for i in range(WIDTH * HEIGHT)]
    address, out = driver.put(pack("f32", before)), driver.put(bytes(4 * BOX[0] * BOX[1]))
    at, room = driver.tensor_map(tensor, address)
    _, function = driver.load(PTX, op)
    values = ([out] if op == "fetch" else []) + [ctypes.c_int(x), ctypes.c_int(y)]
    pointers = [at] + [ctypes.addressof(value) for value in values]
    driver.launch(Kernel(op, (1,), (128,), [], ""), function, (ctypes.c_void_p * len(pointers))(*pointers))
    del room
    where = out if op == "fetch" else address
    expected = wanted(op, x, y, before)
    return unpack("f32", driver.get(where, 4 * len(expected))) == expected


def ask_gpu(device, op, x, y):
    """A GPU that faults takes its process with it."""
    command = [sys.executable, os.path.abspath(__file__), "--gpu", str(device), "--point", f"{op},{x},{y}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    if "CUDA_ERROR_ILLEGAL_INSTRUCTION" in done.stderr:
        return "illegal"
    return done.stdout.strip() or (done.stderr.strip().splitlines() or ["nothing at all"])[-1]


def ask_emulator(tcbtune, op, x, y):
    before = [float(i) for i in range(WIDTH * HEIGHT)]
    with tempfile.TemporaryDirectory() as folder:
        saved = os.path.join(folder, "out")
        arguments = [f"tmap:f32[{WIDTH}x{HEIGHT}]:box={BOX[0]}x{BOX[1]}=iota"]
        arguments += [f"buf:f32[{BOX[0]}x{BOX[1]}]=zero"] if op == "fetch" else []
        command = [tcbtune, "ptx", "run", PTX, "--kernel", op, "--grid", "1", "--block", "128", "--json",
                   "--out", f"{1 if op == 'fetch' else 0}={saved}"]
        for argument in [*arguments, f"s32={x}", f"s32={y}"]:
            command += ["--arg", argument]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode not in (0, 4):
            return done.stderr.strip()
        findings = json.loads(done.stdout)["findings"]
        if findings:
            return "illegal" if "illegal instruction" in findings[0]["message"] else findings[0]["message"]
        with open(saved, "rb") as file:
            return "right" if unpack("f32", file.read()) == wanted(op, x, y, before) else "wrong"


def main():
    parser = argparse.ArgumentParser()
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--tcbtune")
    group.add_argument("--gpu", type=int)
    parser.add_argument("--point", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.point:
        op, x, y = args.point.split(",")
        print("right" if on_gpu(args.gpu, op, int(x), int(y)) else "wrong")
        return 0
    if args.tcbtune is None:
        try:
            driver = Driver(args.gpu)
        except LookupError as error:
            print(f"SKIPPED: {error}")
            return SKIPPED
        if driver.capability < (9, 0):
            print(f"SKIPPED: {driver.name} has no tensor copies")
            return SKIPPED
        print(driver.name)
    failures = 0
    for op in ("fetch", "put", "add"):
        for x, y in POINTS:
            told = ask_gpu(args.gpu, op, x, y) if args.tcbtune is None else ask_emulator(args.tcbtune, op, x, y)
            expected = "illegal" if is_illegal(op, x, y) else "right"
            failures += told != expected
            print(f"{op} {x},{y}: {told}" + ("" if told == expected else f", FAIL: {expected} was expected"), flush=True)
    print(f"{failures} of {3 * len(POINTS)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
