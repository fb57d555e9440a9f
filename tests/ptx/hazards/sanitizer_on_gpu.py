# SPDX-License-Identifier: MIT
"""The planted hazards under NVIDIA's compute-sanitizer on a GPU, for comparison with `ptx check` and `ptx run`.

    sanitizer_on_gpu.py OUT.tsv [--twin planted|mended] [--tools memcheck,racecheck,synccheck,initcheck] [--jobs N]
                        [--limit SECONDS] [--only TEXT]

Each case runs once in a process of its own with each tool, and once with none ("plain": does the GPU itself fault, or
find no end).  A tool has caught a case when it reports anything at all: what it says is not read.  A row of OUT for each
case and tool, as they end: class, name, tool, and the number of reports, "fault", "hangs" (beyond --limit), or "-".
Exit: 0, 77 without a GPU or the tool.
"""
import argparse
import concurrent.futures
import ctypes
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from ctypes import c_uint, c_void_p

import cases

sys.path.insert(0, str(cases.HERE.parent / "whole"))
from run_on_gpu import SKIPPED, Driver  # noqa: E402
from whole_kernels import Memory, pack  # noqa: E402

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
CLUSTER_DIMENSION = 4
ENDLESS = ("endless", "mbarrier", "named_barrier", "tensor_copy")
ARGUMENT = re.compile(r"(?:(buf|tmap):)?(\w+?)(?:\[([\dx]+)\])?((?::\w+(?:=\d[\dx]*)?)*)=(\S+)$")
SUMMARY = re.compile(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)")
RANGES = {"u8": (0, 255), "u16": (0, 65535), "u32": (0, 2**32 - 1), "s32": (-2**31, 2**31 - 1), "u64": (0, 2**64 - 1)}


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", c_uint * 16)]


class Config(ctypes.Structure):
    _fields_ = [("grid", c_uint * 3), ("block", c_uint * 3), ("shared", c_uint), ("stream", c_void_p),
                ("attributes", ctypes.POINTER(Attribute)), ("count", c_uint)]


def options(words):
    """--name value pairs, --arg as a list."""
    found = {"arg": []}
    for name, value in zip(words[::2], words[1::2]):
        if name == "--arg":
            found["arg"].append(value)
        else:
            found[name[2:]] = value
    return found


def dimensions(text):
    return ([int(word) for word in text.split("x")] + [1, 1])[:3]


def elements(type_, count, fill):
    draw = random.Random(count)
    kind, *bounds = fill.split(":")
    if kind == "zero":
        return [0] * count
    if kind == "iota":
        return list(range(count))
    assert kind == "random", fill
    if type_[0] == "f":
        low, high = map(float, bounds or (-1, 1))
        return [draw.uniform(low, high) for _ in range(count)]
    low, high = map(int, bounds or RANGES[type_])
    return [draw.randint(low, high) for _ in range(count)]


def parameter(driver, text):
    """An object that keeps the parameter's bytes, and their address."""
    kind, type_, extent, modifiers, value = ARGUMENT.match(text).groups()
    if not kind:
        scalar = ctypes.c_float(float(value)) if type_ == "f32" else c_uint(int(value) & 0xffffffff)
        return scalar, ctypes.addressof(scalar)
    sizes = tuple(int(word) for word in extent.split("x"))
    memory = Memory(type_, sizes)
    address = driver.put(pack(memory.type, elements(type_, memory.count, value)))
    if kind == "buf":
        return address, ctypes.addressof(address)
    named = dict(word.split("=") for word in modifiers.split(":") if "=" in word)
    memory.box = tuple(int(word) for word in named["box"].split("x"))
    memory.swizzle = int(named.get("swizzle", 0))
    at, room = driver.tensor_map(memory, address)
    return room, at


def launch(case, twin):
    driver = Driver(0)
    said = options(case.launch[twin] + case.run)
    _, function = driver.load(str(case.ptx(twin)), case.name)
    shared = int(said.get("dynamic-shared", 0))
    if shared:
        driver.call("cuFuncSetAttribute", function, 8, shared)
    kept = [parameter(driver, text) for text in said["arg"]]
    pointers = (c_void_p * len(kept))(*[at for _, at in kept])
    attribute = Attribute(CLUSTER_DIMENSION, 0, (c_uint * 16)(*dimensions(said.get("cluster", "1"))))
    config = Config((c_uint * 3)(*dimensions(said["grid"])), (c_uint * 3)(*dimensions(said["block"])), shared, None,
                    ctypes.pointer(attribute), 1 if "cluster" in said else 0)
    driver.call("cuLaunchKernelEx", ctypes.byref(config), function, pointers, c_void_p())
    driver.call("cuCtxSynchronize")


def ask(args, case, tool):
    """What the column of TOOL says."""
    command = [sys.executable, os.path.abspath(__file__), "-", "--twin", args.twin, "--one", case.name]
    if tool != "plain":
        command = ["compute-sanitizer", "--tool", tool, *command]
    # A session of its own: a kernel that finds no end would keep the GPU busy after the tool was killed alone.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          start_new_session=True) as process:
        try:
            text = process.communicate(timeout=args.limit)[0].strip()
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return "hangs"
    last = (text.splitlines() or [""])[-1]
    if tool == "plain":
        return "-" if process.returncode == 0 else "fault" if "CUDA_ERROR" in text else "FAILED " + last
    if not SUMMARY.search(text):
        return "FAILED " + last
    return str(sum(int(number) for number in SUMMARY.findall(text)) or "-")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--twin", default="planted", choices=cases.TWINS)
    parser.add_argument("--tools", default="plain," + ",".join(TOOLS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=30)
    parser.add_argument("--only", default="", help="a regular expression of class and name")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    everything = cases.read()
    if args.one:
        launch(next(case for case in everything if case.name == args.one), args.twin)
        return 0
    try:
        driver = Driver(0)
    except LookupError as error:
        print(f"SKIPPED: {error}")
        return SKIPPED
    if not shutil.which("compute-sanitizer"):
        print("SKIPPED: no compute-sanitizer on PATH")
        return SKIPPED
    version = subprocess.run(["compute-sanitizer", "--version"], stdout=subprocess.PIPE, text=True, check=False)
    print(f"{driver.name}; {version.stdout.strip().splitlines()[-1]}; twins: {args.twin}")
    tools = args.tools.split(",")
    everything = [case for case in everything if re.search(args.only, f"{case.group} {case.name}")]
    caught = {tool: set() for tool in tools}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, open(args.out, "w", encoding="utf-8") as out:
        print("class\tcase\ttool\ttold", file=out)
        everything.sort(key=lambda case: case.group in ENDLESS)  # they keep the GPU busy until their time is up
        asked = {pool.submit(ask, args, case, tool): (case, tool) for case in everything for tool in tools}
        for done in concurrent.futures.as_completed(asked):
            case, tool = asked[done]
            print(case.group, case.name, tool, done.result(), sep="\t", file=out, flush=True)
            if done.result().isdigit() or (tool == "plain" and done.result() in ("fault", "hangs")):
                caught[tool].add(case.name)
    for tool in tools:
        print(f"{tool}: {len(caught[tool])} of {len(everything)}")
    print(f"any tool: {len(set().union(*(names for tool, names in caught.items() if tool != 'plain')))} of {len(everything)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
