# SPDX-License-Identifier: MIT
"""examples/engine: its logits are those of a forward pass in float64 (reference_model.py), of prompts and of what follows.

    test_engine.py ENGINE SCRATCH [FOLDER OF THE FAKE DRIVER]

Models are of chance (scripts/synthetic-gguf.py), small, one of each architecture.  Weights of F32 hold the engine to
what f32 arithmetic and a cache of f16 cost, TIGHT of a row's length.  Quantised ones hold it to 1.5 times what rounding
activations to 8 bits costs in the reference itself.  The control is the reference without positions, which must
be farther from the engine than either bound.

On the fake GPU each model is run in three ways, of which an emulator takes long for each: one of them, by turns, where
TCB_TEST_PART is 1, another where it is 2 (tests/instrumented.h), which has models on processors left out.
"""
import os
import pathlib
import struct
import subprocess
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import reference_model  # noqa: E402

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/synthetic-gguf.py"
SIZES = ["--data", "--layers", "2", "--hidden", "256", "--heads", "4", "--kv-heads", "2", "--ffn", "512", "--vocab", "512"]
MIXTURE = ["--experts", "8", "--experts-used", "3", "--ffn", "256"]
MODELS = {"llama": [], "llama-tied": ["--tied"], "qwen2": [], "qwen3": ["--head-dim", "128"], "qwen3moe": MIXTURE,
          "qwen3next": [*MIXTURE, "--layers", "4", "--head-dim", "128"],
          "qwen35": ["--layers", "4", "--head-dim", "256"],
          "qwen35moe": [*MIXTURE, "--layers", "4", "--head-dim", "128"],
          "gemma3": ["--window", "16", "--layers", "7", "--tied", "--vocab", "509"],
          "gemma4": ["--window", "16", "--layers", "7", "--tied"],
          "gemma4-moe": ["--experts", "8", "--experts-used", "3", "--window", "16", "--tied"],
          "gpt-oss": [*MIXTURE, "--window", "16"]}
KINDS = {"qwen3moe": ("Q8_0", None), "gemma4-moe": ("Q8_0", None), "qwen3next": ("Q8_0", None), "qwen35moe": ("Q8_0", None), "gpt-oss": ("Q8_0", "MXFP4")}  # experts' weights are of formats with codes
PROMPT = [1] + [(7 * i * i + 11 * i) % 500 for i in range(44)]
GENERATED = 6
TIGHT, TIMES = 2e-3, 1.5
PART = int(os.environ.get("TCB_TEST_PART", "0"))


def distance(ours, theirs, is_mixture):
    """The largest relative difference of a row.  Of a mixture the middle one: where two experts are as good, any rounding
    takes the other one, and the row is another then."""
    rows = numpy.linalg.norm(ours - theirs, axis=1) / numpy.linalg.norm(theirs, axis=1)
    return numpy.median(rows) if is_mixture else rows.max()


def run(engine, model, scratch, prompt, generated, *options, environment=None):
    """Tokens that it generates, and the logits of all that it saw."""
    logits = scratch / "logits.f32"
    command = [engine, model, "--prompt", ",".join(map(str, prompt)), "--generate", str(generated), "--logits", logits,
               *options]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    if done.returncode:
        sys.exit(f"{model.name}: {done.stderr}")
    tokens = [int(line) for line in done.stdout.split()]
    return tokens, numpy.fromfile(logits, numpy.float32).astype(numpy.float64).reshape(len(prompt) + generated - 1, -1)


class WithoutPositions(reference_model.Model):
    """The control: every token is at the first position, and recurrent layers forget nothing."""

    def rotate(self, x, layer):
        return x

    def decay(self, at, alpha):
        return 0 * alpha


class Case:
    """A model of chance, and what is right of it."""

    def __init__(self, scratch, name, kind):
        self.path = scratch / f"{name}-{kind or 'mix'}.gguf"
        subprocess.run([sys.executable, SCRIPT, self.path, *SIZES, *MODELS[name], "--architecture", name.removesuffix("-tied").removesuffix("-moe"), *(["--type", kind] if kind else [])],
                       check=True, stdout=subprocess.DEVNULL)
        self.exact, self.known, self.offences = reference_model.Model(self.path), {}, []
        self.is_mixture = "--experts" in MODELS[name]

    def distance(self, ours, theirs):
        return distance(ours, theirs, self.is_mixture)

    def judge(self, prompt, options, tokens, ours, times=TIMES, **rounds):
        """Appends what is wrong with OURS, the logits of PROMPT and TOKENS."""
        if [int(i) for i in ours[len(prompt) - 1:].argmax(1)] != tokens:
            self.offences.append(f"{self.path.name}: tokens are not those of the largest logits")
        seen = tuple(prompt + tokens[:-1])
        key = seen, *rounds
        if key not in self.known:
            truth = self.exact.logits(list(seen))
            cost = self.distance(reference_model.Model(self.path, rounds=True, loaded=self.exact.loaded, **rounds).logits(list(seen)), truth)
            self.known[key] = (truth, max(TIGHT, times * cost),
                                self.distance(ours, WithoutPositions(self.path, loaded=self.exact.loaded).logits(list(seen))))
        truth, bound, control = self.known[key]
        off = self.distance(ours, truth)
        print(f"{self.path.name} {' '.join(options)}: {off:.2e} off, bound {bound:.2e}, control {control:.2e}")
        if not off <= bound:
            self.offences.append(f"{self.path.name} {options}: logits are {off:.2e} of their length off, {bound:.2e} is allowed")
        if not control > bound:
            self.offences.append(f"{self.path.name}: the control passes")


def check(engine, scratch, name, kind):
    """Offences of one model on a CPU."""
    case = Case(scratch, name, kind)
    for options in (["--threads", "2"], ["--threads", "1", "--batch", "7"], ["--threads", "1", "--batch", "1"]):
        case.judge(PROMPT, options, *run(engine, case.path, scratch, PROMPT, GENERATED, *options))
    return case.offences


def check_gpu(engine, scratch, number, name, kind, fake):
    """The same on the fake GPU, whose driver emulates the kernels: few tokens, more of them at once than MatVecs take.
    Offsets of Q4_K are multiplied with sums of activations that are not rounded, as ggml does on GPUs, so that roundings
    of codes are not centred: twice the cost.  It has a real card's shared memory.  NUMBER: the model's.
    """
    case, prompt = Case(scratch, name, kind), PROMPT[:12]
    environment = {"LD_LIBRARY_PATH": fake, "FAKE_CUDA": "90:shared=227", "TCBTUNE_ASSEMBLER": "none"}
    ways = (["--batch", "3"], {}), (["--kv", "q80"], {"kv_rounds": True}), (["--batch", "1", "--times", "1"], {})
    for options, rounds in [ways[(number + PART) % 3]] if PART else ways:
        case.judge(prompt, [*options, "--device", "gpu"],
                   *run(engine, case.path, scratch, prompt, 2, *options, "--device", "gpu", environment=environment),
                   times=TIMES if kind else 2 * TIMES, **rounds)
    return case.offences


def refused(engine, scratch):
    """Files that are damaged, and options that are wrong: one line that says so, and no crash."""
    good = scratch / "llama-mix.gguf"
    data, offences, bad = good.read_bytes(), [], scratch / "bad.gguf"
    key = b"embedding_length_per_layer_input" + struct.pack("<I", 4)  # of a u32
    small = (scratch / "gemma4-mix.gguf").read_bytes().replace(key + struct.pack("<I", 0), key + struct.pack("<I", 256))
    for what, content in (("E2B", small), ("truncated", data[:len(data) // 2]), ("not a GGUF", b"GGML" + data[4:]), ("", b""),
                          ("'xlama'", data.replace(b"llama", b"xlama", 1)), ("attn_q", data.replace(b"attn_q.w", b"attn_x.w"))):
        bad.write_bytes(content)
        done = subprocess.run([engine, bad, "--prompt", "1"], capture_output=True, text=True)
        if done.returncode != 1 or what not in done.stderr or not done.stderr.startswith(pathlib.Path(engine).name + ": "):
            offences.append(f"a file that {what or 'is empty'}: exit {done.returncode}, {done.stderr!r}")
    for what, options in (("vocabulary", ["--prompt", "100000"]), ("whole number", ["--threads", "x"]), ("usage", []),
                          ("context", ["--context", "3"]), ("NVIDIA", ["--device", "gpu"])):
        done = subprocess.run([engine, good, "--prompt", "1,2,3,4", *options][:None if options else 2],
                              capture_output=True, text=True, env={"LD_LIBRARY_PATH": "/nowhere"})
        if done.returncode != 1 or what not in done.stderr:
            if what != "NVIDIA" or done.returncode:  # a machine that has one
                offences.append(f"{options}: exit {done.returncode}, {done.stderr!r}")
    return offences


def main():
    engine, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
    scratch.mkdir(parents=True, exist_ok=True)
    names = os.environ.get("ENGINE_MODELS", "").split() or MODELS
    offences = [offence for name in (names if PART != 2 else ()) for kind in KINDS.get(name, ("F32", None))
                for offence in check(engine, scratch, name, kind)]
    for fake in sys.argv[3:]:
        for number, (name, kind) in enumerate((("llama", "F32"), ("llama", "Q8_0"), ("llama", None), ("qwen2", None), ("qwen3", "Q8_0"),
                           ("qwen3moe", "Q8_0"), ("gpt-oss", "Q8_0"), ("qwen35", "Q8_0"), ("gemma3", "Q8_0"),
                           ("gemma4-moe", "Q8_0"))):
            offences += check_gpu(engine, scratch, number, name, kind, fake)
    if PART != 2:
        offences += refused(engine, scratch)
    for offence in offences:
        print(f"FAILED: {offence}")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
