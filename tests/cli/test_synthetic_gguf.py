# SPDX-License-Identifier: MIT
"""scripts/synthetic-gguf.py: its files are read, and products with its random weights are as large as the activations.

A product of K activations of size 1 with weights of size 1 / sqrt(K) has the standard deviation 1.  The control that
must fail is a file without data, whose products are 0.  Equal arguments must make equal files.
"""
import array
import math
import pathlib
import random
import subprocess
import sys

from cli_support import Cli

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "synthetic-gguf.py"
SIZES = ["--layers", "2", "--hidden", "512", "--heads", "4", "--kv-heads", "2", "--ffn", "1024", "--vocab", "512"]
OPS = {"q4k_matvec": "blk.0.attn_q", "q6k_matvec": "output", "q80_matvec": "blk.1.ffn_up", "q40_matvec": "blk.0.attn_k",
       "iq2xs_matvec": "blk.0.ffn_up", "iq3xxs_matvec": "blk.0.attn_output", "q2k_matvec": "token_embd",
       "q3k_matvec": "blk.0.attn_k", "iq3s_matvec": "blk.0.attn_k"}
TYPES = {"q80_matvec": ["--type", "Q8_0"], "q40_matvec": ["--type", "Q4_0"], "q3k_matvec": ["--type", "Q3_K"],
         "iq3s_matvec": ["--type", "IQ3_S"], **dict.fromkeys(("iq2xs_matvec", "iq3xxs_matvec", "q2k_matvec"),
                                                             ["--mix", "2bit"])}  # the others are in the usual mix


def write(path, *args):
    return subprocess.run([sys.executable, SCRIPT, path, *args], capture_output=True, text=True).returncode


def deviation(cli, op, model, tensor):
    """The root mean square of W x, x of chance with standard deviation 1."""
    rng, x, y = random.Random(7), cli.scratch / "x.f32", cli.scratch / "y.f32"
    x.write_bytes(array.array("f", [rng.gauss(0, 1) for _ in range(512)]).tobytes())
    cli.run("run", "--op", op, "--weights", f"{model}:{tensor}.weight", "--x", x, "--out", y, "--threads", "1")
    values = array.array("f")
    values.frombytes(y.read_bytes())
    return math.sqrt(sum(v * v for v in values) / len(values))


def main():
    cli = Cli()
    for op, tensor in OPS.items():
        model = cli.scratch / f"{op}.gguf"
        cli.check(write(model, "--data", *TYPES.get(op, []), *SIZES) == 0, f"{model} is not written")
        size = deviation(cli, op, model, tensor)
        print(f"{op}: {size:.3f}")
        cli.check(0.8 < size < 1.25, f"{op}: products have a standard deviation of {size}, not about 1")
    first, again, sparse = (cli.scratch / name for name in ("first.gguf", "again.gguf", "sparse.gguf"))
    for path in (first, again):
        write(path, "--data", *SIZES)
    cli.check(first.read_bytes() == again.read_bytes(), "equal arguments make different files")
    write(sparse, *SIZES)
    cli.check(sparse.stat().st_size == first.stat().st_size, "a sparse file is not as long as one with data")
    cli.check(deviation(cli, "q4k_matvec", sparse, "blk.0.attn_q") == 0, "weights that are not there are not 0")
    for wrong in (["--hidden", "100"], ["--vocab", "10"], ["--type", "Q9_K"], ["--mix", "9bit"]):
        cli.check(write(first, *wrong) == 2, f"{wrong} is accepted")
    cli.done()


if __name__ == "__main__":
    main()
