#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The plug-in in an unmodified llama.cpp server from PyPI, on small synthetic models that this test makes: a dense one, one
whose table of tokens is its output, too, and a mixture of experts.

Log-probabilities of a prompt and of a generated token are near the host's own, with one thread and with two, and the
plug-in's counters say that it computed every product and all attention.
"""
import argparse
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "integrations/ggml"))
from wheel_host import Host, differences  # noqa: E402

LAYERS, VOCABULARY = 2, 600
# Options of each model (by the seed of the tied one its next tokens are whole words: of half a character the server tells
# no probabilities), and products of one of its graphs and layers, beside the output; a mixture's router is one.
# Of the mixture's seeds one at whose prompts no two experts are about as likely, else another rounding takes the other.
MODELS = {"dense": ([], 7), "tied": (["--tied", "--seed", "2"], 7), "mixture": (["--experts", "8", "--experts-used", "2", "--seed", "2"], 8)}
EXPERTS = 3  # of them, those of a mixture's layer
# The prompts are of lengths that no tile divides; ggml's own repacked and plain kernels differ by 0.01 and 0.05 here.
PROMPTS = (1, 2, 7, 33, 100)
MEAN, LARGEST = 0.03, 0.15


def model(work, name):
    path = work / f"ggml_wheel_{name}.gguf"
    subprocess.run([sys.executable, str(ROOT / "scripts/synthetic-gguf.py"), str(path), "--data", "--layers", str(LAYERS),
                    "--hidden", "512", "--heads", "8", "--kv-heads", "4", "--ffn", "1024", "--vocab", str(VOCABULARY),
                    *MODELS[name][0]], check=True, stdout=subprocess.DEVNULL)
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


def try_model(args, name):
    path, products = model(args.work, name), MODELS[name][1] * LAYERS + 1
    host = Host(args.wheels, path)
    own = {length: host.log_probabilities([1] + [300 + 7 * i % 250 for i in range(length - 1)], VOCABULARY)
           for length in PROMPTS}
    host.close()
    for threads in (1, 2):
        log = args.work / f"ggml_wheel_{name}_{threads}.log"
        with open(log, "w") as out:
            host = Host(args.wheels, path, args.plugin, threads, log=out)
            check(host, own, PROMPTS)
            before = host.counters()
            host.complete([1, 300, 301], 4)
            after = host.counters()
            host.close()
        # A prompt of three and four tokens, the last of which may not be evaluated.
        graphs = (4, 5)
        done = {what: after[what] - before[what] for what in ("products", "experts", "attention", "left")}
        experts = EXPERTS * LAYERS if name == "mixture" else 0
        assert any(done == {"products": n * products, "experts": n * experts, "attention": n * LAYERS, "left": 0}
                   for n in graphs), f"{name}: {done} computed, not {products}, {experts} and {LAYERS} of each graph"
        assert after["packed"] >= products and after["refused"] == after["unpacked"] == 0, after
        said = [line for line in log.read_text().splitlines() if line.startswith("tcbtune for ggml: ")]
        assert len(said) == 1 and "in ggml 0.26.0" in said[0] and "OpenMP" in said[0], said
    print(f"passed: {products} products of each graph of the {name} model were computed by the plug-in")


def main():
    parser = argparse.ArgumentParser()
    for name in ("plugin", "wheels", "work"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    args = parser.parse_args()
    if not (args.wheels / "xllamacpp").is_dir():
        print("SKIPPED: the wheel is not here; scripts/fetch-ggml-hosts.sh fetches it")
        sys.exit(77)
    # Also those that are slower than the host's: what is tried must not depend on how busy the machine is.
    os.environ["TCBTUNE_ALL_FORMATS"] = "1"
    for name in MODELS:
        try_model(args, name)


if __name__ == "__main__":
    main()
