# SPDX-License-Identifier: MIT
"""Runs kernels by `tcbtune ptx run` with launches and arguments drawn at random, for want of a reference only to see that
nothing breaks: it ends in time with a known status, sanitizers (of a build that has them) are silent, and three threads
leave the memory, counts and findings that one leaves.  Prints each command that breaks this, and how many ran.

    random_runs.py TCBTUNE SECONDS SEED FILE.ptx...
"""
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)")
PARAMETER = re.compile(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr[^,]*?\s)?([\w$]+)(?:\[(\d+)\])?\s*$")
TYPES = ("u8", "s8", "u16", "f16", "bf16", "u32", "s32", "f32", "u64", "s64", "f64")
SECONDS_MAX = 240
STATUSES = (0, 2, 4)  # done; refused; findings


def kernels(paths):
    """(file, kernel, [(type, bytes)]) of all files."""
    found = []
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = re.sub(r"//[^\n]*", "", file.read())
        for name, parameters in ENTRY.findall(text):
            parts = [PARAMETER.search(part.strip()) for part in parameters.split(",") if part.strip()]
            if all(parts):
                found.append((path, name, [(part[2], int(part[4] or 0)) for part in parts]))
    return found


def argument(rng, kind, size, at, count):
    """A word for --arg, and whether its memory can be saved."""
    if size == 128 and rng.random() < 0.7:
        kind = rng.choice(("f16", "bf16", "f32", "u8"))
        wide, high = 8 * rng.randint(1, 32), rng.randint(1, 128)
        box = f"{min(wide, rng.choice((8, 16, 32, 64)))}x{min(high, rng.choice((1, 8, 16, 64)))}"
        return f"tmap:{kind}[{wide}x{high}]:box={box}=random", True
    if size:
        return f"b8[{size}]=" + rng.choice(("zero", "hex:" + rng.randbytes(size).hex())), False
    if kind in ("u64", "b64", "s64") and rng.random() < 0.9:
        kind = rng.choice(TYPES)
        fill = rng.choice(("random", "zero", "iota", "1", "random:0:10"))
        writable = at == 0 or rng.random() < 0.7
        return f"buf:{kind}[{count}]{'' if writable else ':ro'}={fill}", True
    if kind in ("f16", "f32", "f64", "bf16"):
        return f"{kind}={rng.choice((0, 1, -1.5, 1e9))}", False
    value = rng.choice((0, 1, 2, 3, 7, 32, 100, 256, rng.randint(0, 2 * count)))
    return f"{kind}={min(value, 127) if kind.endswith('8') else value}", False


def command(rng, path, name, parameters):
    """The command without --threads and --out, and the arguments whose memory is saved."""
    block = rng.choice(("32", "64", "128", "256", "32x8", "16x16", "8x4x2", str(rng.randint(1, 1024))))
    grid = rng.choice(("1", "2", "3", "8", "2x2", "4x3x2", "40", str(rng.randint(1, 100))))
    words = ["ptx", "run", path, "--kernel", name, "--block", block, "--grid", grid, "--json",
             "--step-limit", str(rng.choice((1000, 30000, 200000))), "--seed", str(rng.randint(0, 1 << 40))]
    count = rng.choice((1, 64, 1000, 4096, 100000, 100000, 100000))
    if rng.random() < 0.2:
        words += ["--order", "ascending"]
    if rng.random() < 0.15:
        words += ["--cluster", rng.choice(("1", "2", "4", "2x2", "3"))]
    if rng.random() < 0.1:
        words.append("--cooperative")
    if rng.random() < 0.5:
        words += ["--dynamic-shared", str(rng.choice((0, 4, 1024, 16384, 49152, 200000, rng.randint(0, 65536))))]
    saved = []
    for at, (kind, size) in enumerate(parameters):
        word, is_memory = argument(rng, kind, size, at, count)
        words += ["--arg", word]
        if is_memory:
            saved.append(at)
    return words, saved


def run(tcbtune, words, saved, threads, folder):
    """(what broke or None, the status, what it printed without the time, the saved memory)"""
    out = [f"--out={at}={folder}/{threads}.{at}" for at in saved]
    try:
        done = subprocess.run([tcbtune, *words, "--threads", str(threads), *out], capture_output=True, text=True,
                              timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return f"no end in {SECONDS_MAX} s", None, None, None
    if done.returncode not in STATUSES or "Sanitizer" in done.stderr or "runtime error" in done.stderr:
        return f"status {done.returncode}: {done.stderr[-3000:]}", done.returncode, None, None
    printed = done.stdout
    if done.returncode != 2 and printed:
        printed = json.loads(printed)
        printed.pop("seconds", None)
    memory = []
    for at in saved:
        try:
            with open(f"{folder}/{threads}.{at}", "rb") as file:
                memory.append(file.read())
            os.remove(f"{folder}/{threads}.{at}")
        except FileNotFoundError:
            memory.append(None)
    return None, done.returncode, repr(printed) + done.stderr, memory


def main():
    tcbtune, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    files = collections.defaultdict(list)
    for row in kernels(sys.argv[4:]):
        files[row[0]].append(row)
    statuses = collections.Counter()
    commands = broken = 0
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            row = rng.choice(files[rng.choice(list(files))])
            words, saved = command(rng, *row)
            one = run(tcbtune, words, saved, 1, folder)
            three = run(tcbtune, words, saved, 3, folder)
            commands += 2
            statuses[one[1]] += 1
            what = one[0] or three[0]
            if not what and one != three:
                what = "three threads leave something else than one: " + ", ".join(
                    name for name, a, b in zip(("status", "text", "memory"), one[1:], three[1:]) if a != b)
            if what:
                broken += 1
                print("BROKEN:", " ".join(f"'{word}'" for word in words), "\n ", what, flush=True)
    print(f"{commands} commands on {sum(map(len, files.values()))} kernels of {len(files)} files: {broken} broken; "
          + ", ".join(f"status {status}: {count}" for status, count in sorted(statuses.items(), key=str)))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
