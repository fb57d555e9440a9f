#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs commands on kernel files that nobody wrote: those of the examples, with a few things changed at random.

    scripts/random-kernel-files.py TCBTUNE OUT [--count 300] [--minutes N] [--seed 1]

Each command must end by itself, by an exit status of tcbtune's, not by a signal; on failure it says why on standard
error in few lines, and on success it prints no sanitizer's report.  OUT gets log.txt, with each command and what came of
it, and each file of those that went wrong.

Exit: 0 all did; 1 some did not, and are listed; 2 wrong usage.
"""
import argparse
import collections
import copy
import json
import os
import pathlib
import random
import re
import shutil
import sys
import time

from lib.driving import HANGS, drive

HANGS_S = 120
EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples/kernel-files"
FILES = {"gemm-c/gemm.json": ["M=64,N=64,K=64", "M=32,N=32,K=32"],
         "convolution-opencl/convolution.json": ["rows=32,columns=64", "rows=48,columns=16"],
         "transpose-wgsl/transpose.json": ["rows=37,columns=50", "rows=1,columns=1"],
         "gemm-cuda/gemm.json": ["M=64,N=64,K=64"]}
PROBLEMS = ["M=1,N=1,K=1", "M=0,N=1,K=1", "M=-1", "M=", "=3", "M=3,M=4", "X=1", "M=99999999999999999999", "M=1e3", "",
            "M=64,N=64", "rows=0,columns=0", "rows=18446744073709551615,columns=2", "a,b"]
EXPRESSIONS = ["1", "0", "-1", "M", "M * N", "M // 0", "M % 0", "1 / 0", "2 ** 64", "2 ** 9999", "1 << 70", "1 << -1", "M +",
               "(", "M if N else K", "x in (1, 2)", "'a'", "ProblemSize[0]", "ProblemSize[9]", "TILE_M", "NONE", "min()",
               "max(1, 2, 3)", "not M", "~M", "M and N or K", "1e400", "0x7fffffffffffffff + 1", "[1, 2]", "M == N == K",
               "(" * 300 + "1" + ")" * 300, "1" + " + 1" * 2000, "M*M*M*M*M*M*M*M*M*M", "float('nan')", "rows * columns",
               "TILE", "9223372036854775807 * 2", "1.5", "True", "None", ""]
VALUES = ["[1]", "[1, 2, 4]", "range(4)", "[]", "[1", "[0]", "[-1]", "[2147483648]", "['a', 'b']", "[1, 'a']", "[1.5, 2.5]",
          "range(0)", "range(1000000)", "[i for i in range(3)]", "[2**i for i in range(40)]", "[True, False]", "[1, 1]", 7,
          [1, 2], ["x", "y z"], None, {}, "[" + ", ".join(map(str, range(3000))) + "]", "[1e308 * 10]", ["-DX", "a;b", "`id`"]]
WORDS = ["", "x", "gemm", "gemm_plain", "none.c", "../gemm-c/gemm.c", "/dev/null", "/dev/zero", "C", "C++", "CUDA", "PTX",
         "WGSL", "OpenCL", "Fortran", "float", "float4", "half", "double", "int32", "uint8", "bool", "Vector", "Scalar",
         "Local", "ReadOnly", "WriteOnly", "ReadWrite", "Random", "Constant", "BinaryRaw", "a" * 5000, "é\x01", "%s%n",
         "\u0000", "a b", "softmax", "own_gemm"]
JUNK = [None, True, False, 0, -1, 1e308, 10**30, "", [], {}, [[]], {"Name": "x"}, [None], "text"]
DEVICES = ["cpu", "cpu:scalar", "opencl:0", "opencl:9", "wgpu:0", "cuda:0", "sm_90", "sm_75", "all", "none"]
STRATEGIES = ["auto", "random", "exhaustive", "line", "model", "magic", "exec:/bin/true", "exec:/bin/cat", "exec:/none"]
COMMANDS = ["space", "space", "sweep", "sweep", "sweep", "report", "lookup", "bench", "history", "ptx", "wgsl", "judge", "trial",
            "db", "replay"]


def places(node, found):
    """Every (container, key) of NODE."""
    for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []:
        found.append((node, key))
        places(node[key], found)
    return found


def perturbed(rng, text):
    """TEXT with one number or sign changed."""
    parts = re.split(r"(\d+|//|<=|==|[-+*%<])", text)
    places_ = [i for i in range(1, len(parts), 2)]
    if not places_:
        return text
    at = rng.choice(places_)
    parts[at] = str(rng.choice([0, 1, 2, 3, 8, 1000, 2**31, 2**62])) if parts[at].isdigit() else rng.choice(
        ["+", "-", "*", "//", "%", "<=", "==", "<", "**", "<<", "and", ","])
    return "".join(parts)


def new_value(rng, key, old):
    if isinstance(old, str) and rng.random() < 0.5:
        return perturbed(rng, old)
    name = key if isinstance(key, str) else ""
    if name in ("Expression", "Size", "Operations", "Bytes", "X", "Y", "Z", "FillValue"):
        return rng.choice(EXPRESSIONS + JUNK)
    if name in ("Values", "Default"):
        return rng.choice(VALUES + JUNK)
    if isinstance(old, str):
        return rng.choice(WORDS + EXPRESSIONS) if rng.random() < 0.8 else rng.choice(JUNK)
    if isinstance(old, (int, float)):
        return rng.choice([0, 1, -1, 2**31, 2**63, 1.5, 1e308, "4", None])
    return rng.choice(JUNK)


def mutate(rng, document):
    for _ in range(rng.choice([0, 1, 1, 1, 1, 1, 2, 3])):
        node, key = rng.choice(places(document, []))
        if isinstance(node[key], (dict, list)) and rng.random() < 0.8:
            continue
        how = rng.random()
        if how < 0.8:
            node[key] = new_value(rng, key, node[key])
        elif how < 0.85:
            del node[key]
        elif how < 0.9 and isinstance(node, list):
            node.insert(rng.randrange(len(node) + 1), copy.deepcopy(node[key]))
        elif isinstance(node, dict):
            node[rng.choice(["AnySize", "ProblemConditions", "SharedMemory", "GridDivX", "ProblemSize", "Tolerance", "Budget",
                             "CompilerOptions", "ReferenceArguments", "x", "Name"])] = rng.choice(
                                 JUNK + EXPRESSIONS + [["-O1"], ["-fopenmp"], ["-Wl,-z,now"], [1], ["M % 2 == 0"]])
    return document


def write_file(rng, folder, number):
    """A kernel file in FOLDER beside the sources of its example; its path and a problem."""
    name = rng.choice(list(FILES))
    path = folder / pathlib.Path(name).parent.name / f"{number}.json"
    shutil.copytree(EXAMPLES / pathlib.Path(name).parent.name, path.parent, dirs_exist_ok=True)
    text = json.dumps(mutate(rng, json.loads((EXAMPLES / name).read_text())))
    if rng.random() < 0.05:
        cut = rng.randrange(len(text))
        text = text[:cut] + rng.choice(["", "}", "\x00", "[" * 5000, "\""]) + text[cut + rng.randrange(3):]
    path.write_text(text)
    return path, rng.choice(FILES[name] if rng.random() < 0.9 else PROBLEMS)


def draw(rng, folder, number):
    path, problem = write_file(rng, folder, number)
    command = [rng.choice(COMMANDS)]
    if command[0] == "judge":
        command += [str(path), "--budget", "1s"] + (["--against", str(path)] if rng.random() < 0.3 else [])
    elif command[0] == "db":
        command += [rng.choice(["info", "check"])]
    elif command[0] == "replay":
        command += [str(folder / "own.db")]
    if command[0] not in ("judge", "db", "replay", "trial"):
        command += ["--kernel", str(path)]
    usual = {"gemm-c": "cpu", "convolution-opencl": "opencl:0", "transpose-wgsl": "wgpu:0", "gemm-cuda": "sm_90"}
    device = usual[path.parent.name] if rng.random() < 0.8 else rng.choice(DEVICES)
    if command[0] in ("space", "sweep", "bench", "lookup"):
        command += ["--device", device] + (["--threads", rng.choice(["1", "2", "0"])] if device == "cpu" else [])
    if command[0] in ("space", "sweep", "bench", "lookup", "judge") and rng.random() < 0.95:
        command += ["--problem", problem]
    if command[0] == "space":
        command += rng.choice([["--count"], [], ["--explain", rng.choice(["tile_m=1", "", "x=1,x=2", "macro=1x1x1"])]])
    if command[0] == "sweep":
        command += ["--max-trials", rng.choice(["1", "3"]), "--budget", rng.choice(["1s", "2s"]), "--rotation", "1M",
                    "--timeout", "2s"]
        command += ["--strategy", rng.choice(STRATEGIES)] if rng.random() < 0.3 else []
        command += ["--require", rng.choice(EXPRESSIONS)] if rng.random() < 0.1 else []
        command += ["--objective", rng.choice(["time", "energy", "edp", "x"])] if rng.random() < 0.1 else []
    if command[0] == "bench":
        command += ["--budget", "1s"]
    if command[0] == "ptx":
        command += ["--target", rng.choice(["sm_90", "sm_75"])]
    command += ["--json"] if rng.random() < 0.3 else []
    if command[0] in ("sweep", "report", "lookup", "bench", "history", "trial", "db"):
        command += ["--db", str(folder / "own.db")]
    return command, path


def judge(tcbtune, command, environment):
    """Runs COMMAND; its exit status, what it said, and what is wrong with that."""
    status, printed, said, wrong = drive(tcbtune, command, HANGS_S, environment)
    if status and status != HANGS and not wrong and len(said) > 4000:
        wrong = "a reason that nobody reads"
    elif "--json" in command and status == 0 and not wrong:
        try:
            json.loads(printed)
        except ValueError:
            wrong = "what it printed is not JSON"
    return status, said, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tcbtune")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long, whatever the count; 0: never")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "TCBTUNE_OTHERS": "ignore", "TCBTUNE_SYSTEM_DB": "",
                   "XDG_CACHE_HOME": str(args.out.resolve() / "cache")}
    ended, wrongs, start = collections.Counter(), [], time.monotonic()
    with open(args.out / "log.txt", "w", encoding="utf-8") as log:
        for number in range(args.count):
            if args.minutes and time.monotonic() - start > 60 * args.minutes:
                break
            command, path = draw(rng, args.out, number)
            status, said, wrong = judge(args.tcbtune, command, environment)
            ended[command[0], status] += 1
            print(f"{status} {' '.join(map(repr, command))}\n    {said[-600:]}", file=log, flush=True)
            if wrong:
                wrongs.append(f"{wrong}: {status} {' '.join(command)}: {said[-300:]}")
                print(f"    WRONG: {wrong}", file=log, flush=True)
            else:
                path.unlink()
    for (name, status), count in sorted(ended.items(), key=str):
        print(f"{name:8} exit {status}: {count}")
    for line in wrongs:
        print(f"WRONG: {line}")
    print(f"{sum(ended.values())} commands, {len(wrongs)} wrong")
    return 1 if wrongs else 0


sys.exit(main())
