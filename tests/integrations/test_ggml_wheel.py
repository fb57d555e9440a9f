#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The plug-in in an unmodified llama.cpp server from PyPI, on a small synthetic model that this test makes.

Log-probabilities of a prompt and of a generated token are near the host's own, with one thread and with two, and the
plug-in's counters say that it computed every product.
"""
import argparse
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "integrations/ggml"))
from wheel_host import Host, differences  # noqa: E402

LAYERS, VOCABULARY = 2, 600
PRODUCTS = 7 * LAYERS + 1  # of one graph
# The prompts are of lengths that no tile divides; ggml's own repacked and plain kernels differ by 0.01 and 0.05 here.
PROMPTS = (1, 2, 7, 33, 100)
MEAN, LARGEST = 0.03, 0.15


def model(work):
    path = work / "ggml_wheel.gguf"
    subprocess.run([sys.executable, str(ROOT / "scripts/synthetic-gguf.py"), str(path), "--data", "--layers", str(LAYERS),
                    "--hidden", "512", "--heads", "8", "--kv-heads", "4", "--ffn", "1024", "--vocab", str(VOCABULARY)],
                   check=True, stdout=subprocess.DEVNULL)
    return path


def check(host, own, prompts):
    for length in prompts:
        tokens = [1] + [300 + 7 * i % 250 for i in range(length - 1)]
        want, got = own[length], host.log_probabilities(tokens, VOCABULARY)
        assert len(got) == VOCABULARY and all(value is not None and math.isfinite(value) for value in got.values()), \
            f"{length} tokens: not a distribution"
        mean, largest = differences(want, got)
        print(f"{length} tokens: log-probabilities differ by {mean:.4f} in the mean, {largest:.4f} at most")
        assert mean <= MEAN and largest <= LARGEST, f"{length} tokens: too far from the host's own"


def main():
    parser = argparse.ArgumentParser()
    for name in ("plugin", "wheels", "work"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    args = parser.parse_args()
    if not (args.wheels / "xllamacpp").is_dir():
        print("SKIPPED: the wheel is not here; scripts/fetch-ggml-hosts.sh fetches it")
        sys.exit(77)
    path = model(args.work)
    host = Host(args.wheels, path)
    own = {length: host.log_probabilities([1] + [300 + 7 * i % 250 for i in range(length - 1)], VOCABULARY)
           for length in PROMPTS}
    host.close()
    for threads in (1, 2):
        log = args.work / f"ggml_wheel_{threads}.log"
        with open(log, "w") as out:
            host = Host(args.wheels, path, args.plugin, threads, log=out)
            check(host, own, PROMPTS)
            before = host.counters()
            host.complete([1, 300, 301], 4)
            after = host.counters()
            host.close()
        done = after["products"] - before["products"]
        # A prompt of three and four tokens, the last of which may not be evaluated.
        assert done in (4 * PRODUCTS, 5 * PRODUCTS), f"{done} products computed, not {4 * PRODUCTS}"
        assert after["packed"] == PRODUCTS and after["refused"] == 0, after
        said = [line for line in log.read_text().splitlines() if line.startswith("tcbtune for ggml: ")]
        assert len(said) == 1 and "in ggml 0.26.0" in said[0] and "OpenMP" in said[0], said
    print(f"passed: {PRODUCTS} products of each graph were computed by the plug-in")


if __name__ == "__main__":
    main()
