#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Products of a mixture of experts on a GPU beside PyTorch's, in one run: benches geometries, one table.

    scripts/experts-against-torch.py TCBTUNE --out DIR [--device cuda:0] [--bench 3s] [--sweep 0s] [--no-peers]
        [OP:SHAPE[:CONTRACT]]...

For each op and shape `tcbtune bench` measures a few geometries with cold caches, beside the default one and a loop that
reads the bytes of the experts that are used: what few tokens want, one launch or two, and what many want.  With --sweep
`tcbtune sweep` goes on with DIR/tuning.db for that budget first, and its best is one of them.  The table has the
fastest, that read, their quotient, that with the operations' least time, bytes and operations in a second, and below each
row all of them.  PyTorch
(scripts/peers/experts_torch.py) has bf16 weights, so that it reads 3.6 times as many bytes as Q4_K; Humming
(scripts/peers/experts_humming.py), if this Python has it, has weights of 4 bits.

Without OP:SHAPE both layers that are most in use: 128 experts of which 8 are used, 2048 -> 768, Q4_K, and 32 of which 4
are, 2880 -> 2880, MXFP4; at 1, 4, 32 and 512 tokens; the fused forms at 32; and the plain product at 512 to compare
with.  The contract is f16 where none is said.

What fails is left out of the table; its last words are on standard error, and the rest goes on.

Exit: 0; 1 a command failed; 2 wrong usage.
"""
import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys

from lib.measuring import Failed, Table, call, geometry_words, of_state

TOKENS = (1, 4, 32, 512)
LAYERS = [("q4k", "{}x768x2048,e128/8"), ("mxfp4", "{}x2880x2880,e32/4")]
FUSED = ["q4k_experts_swiglu_matmul:32x768x2048,e128/8", "q4k_experts_sum_matmul:32x2048x768,e128/8"]
PLAIN = ["q4k_matmul:512x4096x4096"]
Q8 = ["q4k_experts_matmul:1x768x2048,e128/8:q8", "q4k_experts_matmul:32x768x2048,e128/8:q8"]
GIVEN_MOST = 6  # `tcbtune bench` takes as many geometries


def all_of_both_layers():
    """Few tokens as they mostly come; spread evenly, and all alike, where that says something else."""
    of = [f"{name}_experts_matmul:{shape.format(m)}" for name, shape in LAYERS for m in TOKENS]
    of += [f"q4k_experts_matmul:{LAYERS[0][1].format(m)},{spread}" for m, spread in ((32, "even"), (32, "one"), (512, "even"))]
    return of + FUSED + PLAIN + Q8


def operations(op, shape):
    """Of the products alone."""
    size, *words = shape.split(",")
    m, n, k = map(int, size.split("x"))
    used = next((int(word.split("/")[1]) for word in words if word[0] == "e" and "/" in word), 1)
    return 2 * m * n * k * used * (2 if "swiglu" in op else 1)


def whole(size):
    return 1 << (size - 1).bit_length()


def written(op, shape, contract, isa, rows, tokens, warps, ksplit, stages, blocks, prep):
    """The text of a geometry, legal or not."""
    m, n, k = map(int, shape.split(",")[0].split("x"))
    midi = rows * warps // ksplit // (4 if isa == "wgmma" else 1)
    inner = 256 if k % 256 == 0 else 32
    layout = "layout=g,group=256" if contract == "q8" else "layout=f"
    return (f"macro={max(whole(m), tokens)}x{max(whole(n), midi)}x{k},midi={tokens}x{midi}x{k},"
            f"micro={tokens}x{rows}x{inner},isa={isa},{layout},warps={warps},stages={stages},ksplit={ksplit},copy=async,"
            f"prep={prep},blocks={blocks},pdl=1,occ={blocks}")


# isa, rows, tokens, warps, ksplit, stages, blocks, prep
ONE = [("mma", 16, 8, 8, 4, 3, 2, "block"), ("mma", 16, 8, 4, 4, 4, 2, "block"), ("mma", 32, 8, 8, 4, 2, 2, "block"),
       ("mma", 16, 8, 4, 4, 2, 4, "launch"), ("mma", 32, 8, 8, 4, 2, 2, "launch"), ("mma", 16, 8, 8, 8, 3, 2, "block"),
       ("mma", 64, 8, 4, 2, 2, 2, "launch")]
FEW = [("mma", 32, 8, 8, 4, 2, 2, "launch"), ("mma", 64, 8, 4, 2, 2, 2, "launch"), ("mma", 32, 8, 8, 2, 2, 2, "launch"),
       ("mma", 32, 16, 8, 2, 2, 2, "launch"), ("mma", 16, 8, 8, 4, 3, 2, "launch"), ("mma", 32, 8, 8, 4, 2, 2, "block"),
       ("mma", 16, 8, 6, 3, 3, 2, "launch"), ("mma", 32, 8, 6, 3, 2, 2, "launch"), ("mma", 16, 8, 6, 3, 3, 2, "block"),
       ("mma", 32, 8, 12, 3, 2, 2, "launch")]
MANY = [("wgmma", 128, 64, 8, 1, 3, 1, "launch"), ("wgmma", 128, 32, 8, 1, 3, 1, "launch"),
        ("wgmma", 64, 32, 8, 1, 3, 2, "launch"), ("wgmma", 64, 64, 8, 1, 3, 1, "launch"),
        ("mma", 32, 32, 8, 1, 3, 2, "launch"), ("wgmma", 64, 64, 4, 1, 2, 2, "launch"),
        ("wgmma", 64, 128, 8, 1, 2, 1, "launch")]


def legal(args, words, geometry):
    """The canonical text of GEOMETRY; None: it is not legal."""
    run = subprocess.run([str(word) for word in [args.tcbtune, "space", *words, "--explain", geometry, "--any-size",
                                                 "--json"]], capture_output=True, text=True)
    explanation = json.loads(run.stdout)["explanation"] if run.returncode == 0 else {"legal": False}
    return explanation["geometry"] if explanation["legal"] else None


def bench(args, op, shape, contract):
    """Rows of `tcbtune bench` with cold caches, the bytes, and the nanoseconds of reading these and of the operations, if
    known: a short bench does without."""
    words = ["--op", op, "--shape", shape, "--contract", contract, "--device", args.device]
    known = [*words, "--db", args.out / "tuning.db"]
    if args.sweep != "0s" or "experts" not in op:
        call([args.tcbtune, "sweep", *known, "--budget", args.sweep if args.sweep != "0s" else "5s", "--counters", "none"])
    geometries = []
    if "experts" in op:
        tokens = int(shape.split("x")[0])
        kinds = MANY if tokens > 64 else FEW if tokens > 4 else ONE
        texts = [written(op, shape, contract, *kind) for kind in kinds]
        geometries = [text for text in (legal(args, words, text) for text in texts) if text][:GIVEN_MOST]
    result = json.loads(call([args.tcbtune, "bench", *known, *geometry_words(geometries), "--budget", args.bench,
                              "--json"]))
    with open(args.out / "bench.jsonl", "a", encoding="utf-8") as out:
        out.write(json.dumps(result) + "\n")
    cold = of_state(result["results"], "cold")
    nothing = {"median": float("nan")}
    return cold["rows"], cold["bytes"], (cold["limit_ns"] or nothing)["median"], (cold["compute_ns"] or nothing)["median"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tcbtune", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--bench", default="3s")
    parser.add_argument("--sweep", default="0s")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("what", nargs="*")
    args = parser.parse_intermixed_args()
    args.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    table = Table(("op", "<26"), ("shape", "<30"), ("us", ">9.2f"), ("read us", ">9.2f"), ("of read", ">8.3f"), ("of compute", ">10.3f"), ("TB/s", ">6.2f"),
                  ("TFLOP/s", ">8.1f"))
    print(table.head())
    what = [(one.split(":") + ["f16"])[:3] for one in args.what or all_of_both_layers()]
    for op, shape, contract in what:
        try:
            rows, size, limit, compute = bench(args, op, shape, contract)
        except Failed as error:
            print(error, file=sys.stderr, flush=True)
            failed += 1
            continue
        timed = sorted((row["ns"]["median"], row["role"], row["geometry"]) for row in rows
                       if row["geometry"] and row["role"] not in ("read", "scalar"))
        ns = timed[0][0]
        print(table.line(op, f"{shape} {contract}", ns / 1e3, limit / 1e3, limit / ns, compute / ns, size / ns / 1e3,
                         operations(op, shape) / ns / 1e3),
              flush=True)
        for t, role, text in timed:
            print(f"    {t / 1e3:9.2f} us {role} {text}", flush=True)
    shapes = list(dict.fromkeys(shape for op, shape, _ in what if op.endswith("experts_matmul")))
    if shapes and not args.no_peers:
        peers = pathlib.Path(__file__).resolve().parent / "peers"
        failed += subprocess.run([sys.executable, str(peers / "experts_torch.py"), *shapes]).returncode != 0
        if importlib.util.find_spec("humming"):
            failed += subprocess.run([sys.executable, str(peers / "experts_humming.py"), *shapes]).returncode != 0
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
