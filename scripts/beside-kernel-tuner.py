#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tcbtune and Kernel Tuner on the same kernels, spaces, device and seconds: candidates per second, and what they found.

    scripts/beside-kernel-tuner.py [--tcbtune PROGRAM] [--seconds 20] [--seeds 5] [--strategy genetic_algorithm]
                                   [--kernels sgemm convolution gemm]

The kernels are those of scripts/peers/kernel-tuner, for a GPU (sgemm, convolution), and examples/kernel-files/gemm-c, in
C on one thread of the processor (gemm).  What the two found with a seed is measured once more by one 'tcbtune bench', in
turns, so that the last columns do not depend on how either of them measures.  Needs Kernel Tuner, for a GPU with CuPy:
pip install kernel_tuner==1.5.0 cupy-cuda13x.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import scipy.signal

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
import measuring

HERE = pathlib.Path(__file__).resolve().parent
PATHS = {"sgemm": HERE / "peers/kernel-tuner/sgemm.json",
         "convolution": HERE / "peers/kernel-tuner/convolution.json",
         "gemm": HERE.parent / "examples/kernel-files/gemm-c/gemm.json"}
# What Kernel Tuner calls of a kernel in C returns how long it took, in milliseconds.  (It would write extern "C" itself.)
TIMED = """
#include <time.h>
float timed(const float *a, const float *b, float *c)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    NAME(a, b, c);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return 1e3f * (float)(to.tv_sec - from.tv_sec) + 1e-6f * (float)(to.tv_nsec - from.tv_nsec);
}
"""


class Kernel:
    """A kernel file, and what is right of its outputs for inputs of this script's own."""

    def __init__(self, name):
        self.name, self.path = name, PATHS[name]
        document = json.loads(self.path.read_text())
        self.op = document["tcbtune"]["Name"]
        self.sizes = document["tcbtune"]["Problem"]
        self.specification = document["KernelSpecification"]
        self.parameters = {p["Name"]: json.loads(p["Values"])
                           for p in document["ConfigurationSpace"]["TuningParameters"]}
        self.conditions = [self.with_sizes(c["Expression"]) for c in document["ConfigurationSpace"]["Conditions"]]
        defines = "".join(f"#define {key} {value}\n" for key, value in self.sizes.items())
        source = (self.path.parent / self.specification["KernelFile"]).read_text()
        self.is_c = self.specification["Language"] == "C"
        self.source = defines + source + (TIMED.replace("NAME", name) if self.is_c else "")
        self.state = "hot" if self.is_c else "cold"  # Kernel Tuner calls on one set of operands
        self.device = ["--device", "cpu", "--threads", "1"] if self.is_c else ["--device", "cuda:0"]

    def with_sizes(self, expression):
        for key, value in self.sizes.items():
            expression = re.sub(rf"\b{key}\b", str(value), expression)
        return expression

    def arguments(self, draw):
        return [draw.uniform(-1, 1, eval(self.with_sizes(a["Size"]))).astype(numpy.float32)
                for a in self.specification["Arguments"]]

    def right(self, arrays):
        first, second = (array.astype(numpy.float64) for array in arrays[:2])
        if self.name != "convolution":
            found = first.reshape(self.sizes["M"], -1) @ second.reshape(self.sizes["K"], -1)
        else:
            found = scipy.signal.fftconvolve(first.reshape(self.sizes["HEIGHT"] + 16, -1),
                                             second.reshape(17, 17)[::-1, ::-1], "valid")
        return [None, None, found.astype(numpy.float32).ravel()]


def theirs(kernel, seconds, seed, strategy, folder):
    """Configurations tried, seconds that it took and the best configuration of Kernel Tuner."""
    import kernel_tuner
    arrays = kernel.arguments(numpy.random.default_rng(seed))
    right = kernel.right(arrays)
    if kernel.is_c:
        source = pathlib.Path(folder) / "timed.c"
        source.write_text('/* extern "C" */\n' + kernel.source)
        how = {"kernel_name": "timed", "kernel_source": str(source), "problem_size": 1, "lang": "C", "compiler": "cc",
               "compiler_options": ["-O3", "-march=native"]}
    else:
        blocks = [kernel.with_sizes(kernel.specification["GlobalSize"][d]).split(" // ", 1) for d in "XY"]
        how = {"kernel_name": kernel.name, "kernel_source": kernel.source, "lang": "CUPY",
               "problem_size": tuple(int(size) for size, _ in blocks), "grid_div_x": [blocks[0][1]],
               "grid_div_y": [blocks[1][1]]}
    start = time.monotonic()
    results, _ = kernel_tuner.tune_kernel(
        arguments=arrays, tune_params=kernel.parameters, restrictions=kernel.conditions, answer=right, atol=1e-2,
        strategy=strategy, strategy_options={"time_limit": seconds, "max_fevals": 10**6}, quiet=True, seed=seed, **how)
    took = time.monotonic() - start
    best = min((r for r in results if isinstance(r.get("time"), float)), key=lambda r: r["time"])
    tried = {tuple(result[name] for name in kernel.parameters) for result in results}  # some it asks for again
    return len(tried), took, {name: int(best[name]) for name in kernel.parameters}


def ours(kernel, tcbtune, seconds, seed, database):
    """The same of a sweep, the best as a geometry.  It begins with nothing compiled."""
    cache = {**os.environ, "XDG_CACHE_HOME": str(pathlib.Path(database).parent / "cache")}
    start = time.monotonic()
    run = subprocess.run([tcbtune, "sweep", "--kernel", kernel.path, "--op", kernel.op, *kernel.device, "--budget",
                          f"{seconds}s", "--until-stable", "none", "--seed", str(seed), "--db", database],
                         capture_output=True, text=True, env=cache)
    took = time.monotonic() - start
    tried = re.search(r"(\d+) of \d+ candidates tried", run.stderr)
    if run.returncode != 0 or not tried:
        sys.exit(f"the sweep of {kernel.op} failed: {run.stderr[-800:]}")
    rows = measuring.call_json([tcbtune, "report", "--kernel", kernel.path, "--op", kernel.op, "--db", database,
                                "--json"])
    return int(tried[1]), took, measuring.of_state(rows["best"], kernel.state)["geometry"]


def as_geometry(kernel, tcbtune, configuration):
    """CONFIGURATION in the words of 'tcbtune space', found in its list."""
    words = {name.lower() + ("_" if name.lower() == "unroll" else ""): value for name, value in configuration.items()}
    listed = measuring.call([tcbtune, "space", "--kernel", kernel.path, "--op", kernel.op, *kernel.device])
    for line in listed.splitlines():
        found = dict(word.split("=", 1) for word in line.split(",") if "=" in word)
        if all(found.get(name) == str(value) for name, value in words.items()):
            return line.split()[0]
    sys.exit(f"{kernel.op}: 'tcbtune space' has no {words}")


def compare(kernel, options, seed, table):
    with tempfile.TemporaryDirectory() as folder:
        their_tried, their_s, configuration = theirs(kernel, options.seconds, seed, options.strategy, folder)
        our_tried, our_s, geometry = ours(kernel, options.tcbtune, options.seconds, seed, f"{folder}/t.db")
        other = as_geometry(kernel, options.tcbtune, configuration)
        words = [options.tcbtune, "bench", "--kernel", kernel.path, "--op", kernel.op, *kernel.device, "--budget",
                 f"{options.bench_seconds}s", "--db", f"{folder}/t.db", "--json", "--geometry", geometry]
        if other != geometry:
            words += ["--geometry", other]
        rows = measuring.of_state(measuring.call_json(words)["results"], kernel.state)["rows"]
        us = {row["geometry"]: row["ns"]["median"] / 1e3 for row in reversed(rows) if row.get("ns")}
    gain = us[other] / us[geometry]
    print(table.line(kernel.name, seed, their_tried, their_tried / their_s, our_tried, our_tried / our_s,
                     our_tried / our_s / (their_tried / their_s), us[other], us[geometry], gain), flush=True)
    return our_tried / our_s / (their_tried / their_s), gain


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tcbtune", default="tcbtune")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--bench-seconds", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--strategy", default="genetic_algorithm", help="of Kernel Tuner")
    parser.add_argument("--kernels", nargs="+", choices=PATHS, default=["sgemm", "convolution"])
    options = parser.parse_args()
    table = measuring.Table(("kernel", "<12"), ("seed", ">4d"), ("KT tried", ">8d"), ("per s", ">6.1f"),
                            ("ours tried", ">10d"), ("per s", ">6.1f"), ("ratio", ">6.1f"), ("KT's best us", ">12.1f"),
                            ("ours us", ">8.1f"), ("gain", ">6.3f"))
    print(table.head())
    for name in options.kernels:
        kernel = Kernel(name)
        found = [compare(kernel, options, seed, table) for seed in range(1, options.seeds + 1)]
        rates, gains = zip(*found)
        print(f"{name}: candidates per second {statistics.median(rates):.1f} times Kernel Tuner's (median); what it "
              f"found takes {statistics.median(gains):.3f} of our time (median), {min(gains):.3f} at least")


main()
