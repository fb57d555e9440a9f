#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs commands that nobody chose, legal and not, over databases that are sound, empty, of others, cut or damaged.

    scripts/random-commands.py TCBTUNE OUT [--count 300] [--minutes N] [--seed 1]

Each command must end by itself, by an exit status of tcbtune's, not by a signal; on failure it says why on standard
error, and on success it prints no sanitizer's report.  `db merge` that fails leaves its database as it was.  OUT gets
log.txt, with each command and what came of it.

Exit: 0 all did; 1 some did not, and are listed; 2 wrong usage.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import time

import random_shapes
from lib.driving import HANGS, drive

HANGS_S = 120
OPS = ["softmax", "reduce2d_sum", "reduce2d", "q4k_matvec", "q80_matmul", "matmul_f32", "rmsnorm", "all", "sofmax", "",
       "attention_decode_f16", "rope_append_f16", "rope_append_q80", "q4k_experts_matmul", "mxfp4_experts_swiglu_matmul",
       "q80_experts_sum_matmul", "attention_decode_q80q40", "attention_prefill_fp8q40", "delta_prefill_bf16",
       "ssd_decode_f32", "short_conv_prefill_f32", "topk", "route_f32", "iq2xxs_get_rows"]
SHAPES = ["4x1000", "1x1", "7x33", "1x64x256", "3x17x512", "1x64x500", "0x1", "1xx2", "99999999999x99999999999", "4x-1",
          "1x64x256x2", "1x64x64,h4/2", "1x64x64,h4/3", "1x64x64,h4/2,b0", "9x5x64,h1/1,causal,causal", "1x64x64,",
          "1x64x64,h99999999999/1,b99999999999", "5x40x32,h3/1,p7,ragged,w0", "",
          "3x17x256,e4/2", "3x17x256,e4/5", "3x17x256,e4/2,even,one", "1x64x256,e4096/256,shared64", "2x8x32,e3/2,shared0",
          "2x8x32,e3/2,bias,oai,bias", "9x5x256,e5/1,zipf10.0", "1x1x32,bias",
          "3x9x64,h4/2,causal,sinks,alibi,prefix", "3x9x64,h4/2,prefix", "1x9x576,h4/1,vk,v512", "1x9x64,h4/1,vk,v128",
          "3x16x256,xf16,ybf16,bias", "3x16x256,xf8", "3x16x256,add,xbf16,xf16", "2x5x9", "2x64x65537", "1x32x64,h3/2",
          "1x40x64,h4/2,rot64", "1x40x64,h4/2,rot72"]
DEVICES = ["cpu", "cpu:avx2", "cpu:scalar", "cpu:neon", "sm_75", "sm_90", "sm_12", "cuda:0", "cuda:all", "gpu", "all"]
VALUES = {
    "--op": OPS, "--shape": SHAPES, "--device": DEVICES,
    "--contract": ["f32", "auto", "auto:q8", "f16", "q8", "f8"], "--state": ["cold", "hot", "warm"],
    "--threads": ["1", "2", "0", "-1", "999999", "x"], "--seed": ["1", "0", "18446744073709551615", "-1", "1e9"],
    "--max-trials": ["1", "3", "0", "-5", "x"], "--until-stable": ["1", "0.1", "0", "-1", "nan", "1e400", "x"],
    "--target-ratio": ["1.1", "1", "0", "nan", "inf", "-2"], "--finalists": ["1", "4", "0", "1000000", "x"],
    "--effort": ["estimate", "quick", "fast"], "--starts": ["none", "stored", "model", "all", "some"],
    "--shard": ["1/2", "2/2", "3/2", "0/1", "auto", "auto/2", "1/0", "1/99999999999"],
    "--rotation": ["1M", "8M", "0", "-1", "99999999G", "x"], "--timeout": ["5s", "20s", "0s", "x"],
    "--strategy": ["auto", "random", "model", "line", "magic"], "--counters": ["none", "best", "all", "some"],
    "--repeats": ["1", "2", "0", "-1", "x"], "--format": ["table", "csv", "json", "md", "html", "text", "c-header"],
    "--explain": ["macro=1x1x1", "isa=avx2", "", "macro=4x1000x1,midi=4x1000x1,micro=1x8x1,isa=avx2,threads=1"],
    "--fail-over": ["3%", "5", "0", "-1%", "1e9", "much"],
    "--model": ["gpt-oss-20b", "list", "gpt-oss-20", ""], "--tokens": ["1", "1,4,32", "0", "1,,2", "99999999999"],
    "--target": ["sm_80", "sm_90", "sm_90a", "sm_9", "cpu"],
    "--geometry": ["macro=1x1x1", "macro=1x1x1,macro=1x1x1", "", "isa=mma,,"],
    "--worst": ["5", "20", "-1", "nan", "x"], "--least": ["1", "2", "0", "-1"], "--folds": ["2", "3", "1", "0", "100000"],
    "--arch": ["sm_90", "x86_64-avx2", "none"], "--budget": ["1s", "2s", "300ms", "0s", "-1s", "1e300s", "x"],
}
SWITCHES = ["--again", "--fresh", "--finals-only", "--allow-missing", "--any-size", "--measured-only", "--json", "--count",
            "--nonsense"]
# command -> options that it has; a few others are drawn, too
COMMANDS = {
    "sweep": ["--op", "--shape", "--device", "--contract", "--threads", "--seed", "--until-stable", "--target-ratio",
              "--finalists", "--starts", "--shard", "--timeout", "--strategy", "--counters", "--effort"],
    "report": ["--op", "--device", "--format"],
    "compare": ["--device", "--state", "--threads", "--format", "--fail-over"],
    "trial": ["--op"],
    "history": ["--op", "--shape", "--device", "--contract", "--state", "--threads", "--format"],
    "lookup": ["--op", "--shape", "--device", "--contract", "--state", "--threads"],
    "space": ["--op", "--shape", "--device", "--contract", "--threads", "--explain"],
    "replay": ["--strategy", "--repeats", "--starts", "--until-stable", "--seed"],
    "defaults": ["--op", "--arch", "--worst", "--least", "--folds", "--format"],
    "db": ["--op", "--format"],
    "bench": ["--op", "--shape", "--device", "--contract", "--threads"],
    "model": ["--model", "--tokens", "--device", "--contract", "--threads"],
    "ptx": ["--op", "--shape", "--contract", "--target"],
}
FORMATS = {"report": ["table", "csv", "json", "md", "html"], "compare": ["table", "md", "json"], "history": ["table", "json"],
           "defaults": ["text", "table", "features"], "db": ["c-header"]}
STORED = (("softmax", "4x1000"), ("reduce2d_sum", "7x33"), ("q4k_matvec", "1x64x256"),
          ("attention_decode_f16", "1x64x64,h4/2"), ("attention_decode_q80q40", "2x64x64,h4/2,causal,prefix,sinks,alibi"),
          ("q80_matmul", "3x33x64,bias,xf16,ybf16"), ("delta_decode_bf16", "2x32x32,h4/2,b2"),
          ("short_conv_decode_f32", "1x32x32,h4/2"), ("topk", "2x100x9"), ("route_f32", "3x16x4"),
          ("q4k_experts_swiglu_matmul", "3x16x256,e4/2,shared1,bias,oai"))  # in the sound database
WANTED = ("--op", "--shape", "--model", "--target")  # most commands that have these need them
MOST = random_shapes.Most(m=40, n=300, k=1024, elements=1 << 16)
TAKES_DB = ("sweep", "report", "trial", "history", "lookup", "db", "bench", "model")


def make_databases(tcbtune, folder):
    """Files by name: what others may hand over."""
    sound = folder / "sound.db"
    for op, shape in STORED:
        subprocess.run([tcbtune, "sweep", "--op", op, "--shape", shape, "--max-trials", "8", "--budget", "3s", "--threads",
                        "1", "--rotation", "8M", "--counters", "none", "--db", sound], check=True, capture_output=True)
    sqlite3.connect(sound).execute("PRAGMA journal_mode = DELETE").fetchall()
    whole = sound.read_bytes()
    (folder / "cut.db").write_bytes(whole[:len(whole) // 2])
    (folder / "empty.db").write_bytes(b"")
    (folder / "text.db").write_text("not a database\n" * 300)
    connection = sqlite3.connect(folder / "others.db")
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    shutil.copy(sound, folder / "newer.db")
    connection = sqlite3.connect(folder / "newer.db")
    connection.execute("PRAGMA user_version = 999")
    connection.commit()
    return whole


def damage(whole, rng):
    """Some bytes of WHOLE are others."""
    bytes_ = bytearray(whole)
    for _ in range(rng.choice([1, 1, 4, 40])):
        bytes_[rng.randrange(len(bytes_))] = rng.randrange(256)
    return bytes(bytes_)


def draw_problem(rng, ops):
    """(op's name, a shape of it): often one that is stored."""
    if rng.random() < 0.4:
        return rng.choice(STORED)
    op = rng.choice(ops)
    return op["name"], random_shapes.draw_shape(rng, op, MOST)


def draw(rng, folder, ops):
    files = [str(folder / f"{name}.db") for name in ("sound", "cut", "empty", "text", "others", "newer", "damaged", "none")]
    name = rng.choice(list(COMMANDS))
    command = [name]
    if name == "db":
        command.append(rng.choice(["info", "check", "merge", "export", "prune"]))
    if name in ("replay", "defaults") or command[-1] == "merge":
        command += rng.sample(files, rng.randint(1, 2))
    if name == "compare":
        command += rng.choices(files + [str(folder / "target.db")], weights=[8, 1, 1, 1, 1, 1, 8, 1, 8], k=2)
    options = [o for o in COMMANDS[name] if rng.random() < (0.95 if o in WANTED else 0.2)]
    if rng.random() < 0.05:
        options.append(rng.choice(list(VALUES)))
    if name == "db" and command[1] != "export" and rng.random() < 0.9:
        options = []
    op, shape = draw_problem(rng, ops)
    legal = {"--op": [op], "--shape": [shape], "--format": FORMATS.get(name)}
    for option in options:  # most commands should get far; the first two of VALUES are legal
        most = legal.get(option) or VALUES[option][:2]
        command += [option, rng.choice(most if rng.random() < 0.95 else VALUES[option])]
    command += [s for s in SWITCHES if rng.random() < 0.04]
    if name in ("sweep", "bench"):  # a second each for hundreds of ops is no hang
        command = ["reduce2d" if word == "all" and before == "--op" else word for before, word in zip(["", *command], command)]
    if name == "sweep":
        command += ["--max-trials", rng.choice(VALUES["--max-trials"][:2]), "--budget", "1s", "--rotation", "8M"]
    if name == "bench":
        command += ["--budget", "300ms", "--rotation", "8M"]
    if name == "model":
        command.append("--plan")
    if name == "ptx" and rng.random() < 0.3:
        command.append("--check")
    if name in TAKES_DB:
        command += ["--db", str(folder / "target.db") if rng.random() < 0.5 else rng.choice(files)]
    return command


def dump(db):
    """What DB holds, or its bytes where that cannot be said."""
    try:
        connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
        connection.text_factory = lambda b: b.decode(errors="replace")
        text = "\n".join(connection.iterdump())
        connection.close()
        return hashlib.sha256(text.encode(errors="replace")).hexdigest()
    except (sqlite3.Error, UnicodeDecodeError):
        return hashlib.sha256(db.read_bytes()).hexdigest()


def judge(tcbtune, command):
    """Runs COMMAND; its exit status, what it said, and what is wrong with that."""
    merged_into = pathlib.Path(command[-1]) if command[:2] == ["db", "merge"] else None
    if merged_into and not (merged_into.exists() and merged_into.stat().st_size):
        merged_into = None  # made before the files are looked at
    before = dump(merged_into) if merged_into else ""
    status, _, said, wrong = drive(tcbtune, command, HANGS_S)
    if status and status != HANGS and not wrong and merged_into and dump(merged_into) != before:
        wrong = "a merge that failed changed its database"
    return status, said, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tcbtune")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long, whatever the count; 0: never")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    shutil.rmtree(args.out / "files", ignore_errors=True)
    folder = args.out / "files"
    folder.mkdir(parents=True)
    try:
        whole = make_databases(args.tcbtune, folder)
        ops = json.loads(subprocess.run([args.tcbtune, "ops", "--json"], check=True, capture_output=True).stdout)["ops"]
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"random-commands.py: {args.tcbtune}: {error}; give a tcbtune program", file=sys.stderr)
        return 2
    rng, damage_rng = random.Random(args.seed), random.Random(args.seed + 1)  # a file's size must not change the commands
    end = time.monotonic() + 60 * args.minutes if args.minutes else float("inf")
    codes, failed = collections.Counter(), []
    with open(args.out / "log.txt", "w", encoding="utf-8") as log:
        for _ in range(args.count):
            if time.monotonic() > end:
                break
            (folder / "sound.db").write_bytes(whole)
            (folder / "damaged.db").write_bytes(damage(whole, damage_rng))
            command = draw(rng, folder, ops)
            code, said, wrong = judge(args.tcbtune, command)
            codes[(command[0], code)] += 1
            line = f"{code}\t{' '.join(command)}\t{said.splitlines()[-1:]}"
            print(line, file=log, flush=True)
            if wrong:
                failed.append(f"{wrong}: {line}")
    for (name, code), count in sorted(codes.items(), key=str):
        print(f"{name:10} exit {code}: {count}")
    print(f"{sum(codes.values())} commands, {len(failed)} failed")
    print("\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
