#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tcbtune judge makes of the planted cheats and of the honest kernels of tests/fixtures/judge, as a table, and its
times beside those of a program that shares nothing with it (tests/cli/time_kernel.c), in turns.

    scripts/judge-table.py build/ci/src/cli/tcbtune [--no-cases] [--rounds 10]
    scripts/judge-table.py build/ci/src/cli/tcbtune --cuda [--arg WORD]...

With --cuda the kernels in CUDA C++, on a GPU, and their times beside those of scripts/peers/time_cuda.py (CuPy, nvbench's
method), 512x512x512.

Exits with 1 if a cheat was accepted, an honest kernel refused, or the time that a twentieth of the batches stays below
(on a GPU: the median, hot) is off by 2 % or more.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cli"))
import judge_cases  # noqa: E402

FOLDER = ROOT / "tests" / "fixtures" / "judge"
SIZES = {"M": 96, "N": 128, "K": 160}
CUDA_SIZE = 512
# Where loops begin is worth tens of percent to some kernels; that is not what is compared.
ALIGNED = ["-O2", "-falign-functions=64", "-falign-loops=64"]
TIMED = ["plain", "blocked", "intrinsics", "transposed"]


def cases(results):
    """Prints a row for each; how many are not as they should be."""
    bad = {True: 0, False: 0}
    print(f"{'kernel':34} {'exit':>4}  {'rule':10} why")
    for kernel, is_cheat, status, document, said in results:
        rule = document["rule"] or ("-" if status == 0 else "slow") if document else "?"
        why = document["reason"] or said.strip() if document else said.strip()
        bad[is_cheat] += document is None or (status == 0) == is_cheat
        speed = (document or {}).get("speed")
        if speed and status == 0:
            why = f"{speed['ratio']['median']:.3g} times as fast, {speed['ns']['median'] / 1e3:.4g} us"
        print(f"{kernel:34} {status:4}  {rule:10} {why[:110]}")
    cheats = sum(is_cheat for _, is_cheat, *_ in results)
    print(f"{cheats} cheats, {bad[True]} accepted; {len(results) - cheats} honest kernels, {bad[False]} refused")
    return bad[True] + bad[False]


def compile_with(folder, name, *words):
    """FOLDER / NAME, compiled with the sizes defined unless it is there."""
    if not (folder / name).exists():
        subprocess.run([os.environ.get("CC", "cc"), *words, *[f"-D{size}={value}" for size, value in SIZES.items()],
                        "-o", folder / name], check=True)
    return folder / name


def independent(kernel, folder, copies):
    """Nanoseconds of a call of KERNEL by the other program, of each batch."""
    library = compile_with(folder, f"{kernel}.so", "-O3", "-march=native", *ALIGNED, "-DSTEP=8", "-shared", "-fPIC",
                           FOLDER / f"honest/{kernel}.c")
    program = compile_with(folder, "time_kernel", "-O2", ROOT / "tests/cli/time_kernel.c")
    ran = subprocess.run([program, library, str(copies), "30"], check=True, capture_output=True, text=True)
    return [float(line) for line in ran.stdout.split()]


def judged(program, kernel, folder):
    """What the judge says of KERNEL's speed; it is compared with itself, so that neither waits for a slower one."""
    source = FOLDER / f"honest/{kernel}.c"
    problem = json.loads((FOLDER / "problem.json").read_text())
    problem["KernelSpecification"].update(KernelFile=str(source), CompilerOptions=ALIGNED)
    (folder / f"{kernel}.json").write_text(json.dumps(problem))
    result = subprocess.run(
        [program, "judge", source, "--against", folder / f"{kernel}.json", "--json", "--budget", "1s", "--problem",
         ",".join(f"{name}={size}" for name, size in SIZES.items())], check=True, capture_output=True, text=True)
    return json.loads(result.stdout)["speed"]


def quantile(values, share):
    return sorted(values)[int(share * len(values))]


def times(program, rounds):
    """Prints each kernel's time by both; how many are off by 2 % or more."""
    off = 0
    cpu = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpu})
    print(f"\nmicroseconds of a call by the judge and by the other program, and their ratios; {rounds} runs of each in "
          f"turns, CPU {cpu}\n{'kernel':12} {'batches':>8} {'least':>16} {'ratio':>7} {'a twentieth':>18} {'ratio':>7} "
          f"{'median':>18} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for kernel in TIMED:
            ours, other = [], []
            for _ in range(rounds):
                speed = judged(program, kernel, folder)
                ours += [ns for pair in speed["samples_ns"] for ns in pair]  # both are of this kernel
                other += independent(kernel, folder, speed["calls_per_batch"])
            row = f"{kernel:12} {len(ours):4}/{len(other):3}"
            ratios = []
            for share in (0, 0.05, 0.5):
                a, b = quantile(ours, share), quantile(other, share)
                ratios.append(a / b)
                row += f" {a / 1e3:8.2f} {b / 1e3:8.2f} {a / b:7.4f}"
            # What else runs on the machine only makes batches longer: a twentieth of them has met the least of it.
            off += abs(ratios[1] - 1) >= 0.02
            print(row, flush=True)
    return off


def cuda_times(program, rounds):
    """As times(), of kernels on a GPU.  Cold, nvbench's isolated calls are each between two events, which cost some
    microseconds, and find an L2 full of lines to be written back; its batches, hot, are what is held to 2 %."""
    off = 0
    problem = ",".join(f"{name}={CUDA_SIZE}" for name in "MNK")
    print(f"\nmicroseconds of a call by the judge and by nvbench's method; {rounds} runs of each in turns, {problem}\n"
          f"{'kernel':12} {'state':5} {'samples':>9} {'medians':>18} {'ratio':>7}")
    for path in sorted((FOLDER / "cuda" / "honest").iterdir()):
        for state in ("hot", "cold"):
            ours, other = [], []
            for _ in range(rounds):
                judged = subprocess.run([program, "judge", path, "--against", FOLDER / "cuda" / "problem.json", "--json",
                                         "--budget", "1s", "--problem", problem, "--state", state],
                                        capture_output=True, text=True)
                ours += [pair[0] for pair in json.loads(judged.stdout)["speed"]["samples_ns"]]
                ran = subprocess.run([ROOT / "scripts/peers/time_cuda.py", path, "--problem", problem,
                                      *(["--hot"] if state == "hot" else [])], check=True, capture_output=True, text=True)
                other += [float(line) for line in ran.stdout.split()]
            a, b = quantile(ours, 0.5), quantile(other, 0.5)
            off += state == "hot" and abs(a / b - 1) >= 0.02
            print(f"{path.stem:12} {state:5} {len(ours):4}/{len(other):4} {a / 1e3:8.1f} {b / 1e3:8.1f} {a / b:7.4f}",
                  flush=True)
    return off


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcbtune")
    parser.add_argument("--no-cases", action="store_true", help="times only")
    parser.add_argument("--cuda", action="store_true", help="the kernels in CUDA C++, on a GPU")
    parser.add_argument("--arg", action="append", default=[], help="a word for tcbtune judge, as in --arg=--budget=1s")
    parser.add_argument("--rounds", type=int, default=10, help="of times, in turns (default: 10)")
    args = parser.parse_args()
    if args.cuda:
        bad = 0 if args.no_cases else cases(judge_cases.run_cuda(args.tcbtune, FOLDER, args.arg))
        return 1 if bad + cuda_times(args.tcbtune, args.rounds) else 0
    bad = 0 if args.no_cases else cases(judge_cases.run_all(args.tcbtune, FOLDER))
    return 1 if bad + times(args.tcbtune, args.rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
