#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times examples/engine and llama.cpp built for this machine, in turns, and compares both logits with a float64 pass.

    scripts/engine-against-llama.py ENGINE [--llama build/llama] [--source LLAMA.CPP] [--models build/models]
        [--only dense-8b,30b-a3b] [--threads 1,2] [--rounds 5] [--prompts 128,512] [--generate 32] [--cpu-time] [--logits]
        [--prepare]

ENGINE is the program examples/engine (tests/examples/example_engine of a build).  llama.cpp is --source, else that of
llama-cpp-python's newest source distribution (PyPI), which is fetched into --llama; it is built there once (minutes; cmake
and ninja), with its llama-bench (native/bin) for ggml-bench.py.  Models
are those of scripts/synthetic-gguf.py with the shapes of Llama 3.1 8B and Qwen3-30B-A3B, four layers each and the mix
Q4_K_M, so that 6 GB of memory do; they are made once.  Four layers of 32 or 48: a token's time is theirs and the output's,
and what a whole model's takes is not measured.  --prepare builds and makes all that and measures nothing, so that a run
on a quiet machine only measures: 10 minutes with --rounds 3.

Each process decodes one prompt and then --generate tokens; a round is each prompt with each program, in turns.  Figures are the
medians of the rounds, ratios those of the pairs within a round.  Both have their weights in pages of 2 MiB where the
kernel gives them (llama.cpp by glibc.malloc.hugetlb=1); how much that was is told.  --cpu-time counts tokens per second of processor
time of all threads, which a busy machine changes least; it is for one thread, since those that wait spin.

--logits compares, of small models of each architecture, with the float64 pass of tests/examples/reference_model.py (numpy).
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
SYNTHETIC = ROOT / "scripts/synthetic-gguf.py"
SHAPES = {"dense-8b": ["--layers", "4", "--vocab", "32000"],
          "30b-a3b": ["--architecture", "qwen3moe", "--layers", "4", "--hidden", "2048", "--heads", "32", "--kv-heads", "4",
                      "--head-dim", "128", "--ffn", "768", "--experts", "128", "--experts-used", "8", "--vocab", "32000"]}
SMALL = ["--layers", "4", "--hidden", "512", "--heads", "8", "--kv-heads", "2", "--ffn", "1024", "--vocab", "1000"]
SMALL_MODELS = {"llama": [], "qwen2": [], "qwen3": ["--head-dim", "128"], "gemma3": ["--window", "16", "--layers", "7", "--tied"],
                "gemma4": ["--window", "16", "--layers", "7", "--tied"],
                "qwen35": ["--head-dim", "128"],
                "qwen3next": ["--head-dim", "128", "--experts", "8", "--experts-used", "2", "--ffn", "256"],
                "qwen35moe": ["--head-dim", "128", "--experts", "8", "--experts-used", "2", "--ffn", "256"],
                "qwen3moe": ["--experts", "8", "--experts-used", "2", "--ffn", "256"],
                "gpt-oss": ["--experts", "8", "--experts-used", "2", "--ffn", "256", "--type", "MXFP4", "--window", "16"]}
HUGE_PAGES = "glibc.malloc.hugetlb=1"
PARTS = ("prompt", "generation")
OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DGGML_NATIVE=ON", "-DLLAMA_CURL=OFF",
           "-DLLAMA_OPENSSL=OFF", *(f"-DLLAMA_BUILD_{part}=OFF" for part in ("SERVER", "TESTS", "EXAMPLES")),
           f"-DCMAKE_CXX_FLAGS=-include {ROOT / 'scripts/peers/tile_config.h'}"]


def numbers(text):
    return [int(part) for part in text.split(",")]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", type=pathlib.Path)
    parser.add_argument("--llama", type=pathlib.Path, default=ROOT / "build/llama")
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path, default=ROOT / "build/models")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(SHAPES))
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompts", type=numbers, default=[128, 512])
    parser.add_argument("--generate", type=int, default=32)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--logits", action="store_true")
    parser.add_argument("--prepare", action="store_true")
    args = parser.parse_args()
    if not args.engine.is_file() or any(name not in SHAPES for name in args.only):
        parser.error(f"ENGINE is a program, and --only of {', '.join(SHAPES)}")
    return args


def run(*command, **more):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode:
        sys.exit(f"{command[0]}: {done.stderr.strip().splitlines()[-1]}")


def fetch_llama(folder):
    """The source of llama.cpp in FOLDER."""
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob("llama_cpp_python-*.tar.gz")):
        run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:", "--dest", folder,
            "llama-cpp-python")
    archive = sorted(folder.glob("llama_cpp_python-*.tar.gz"))[-1]
    source = folder / archive.name.removesuffix(".tar.gz") / "vendor/llama.cpp"
    if not source.is_dir():
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
    return source


def build_llama(folder, source):
    """SOURCE in FOLDER, and the program beside it that calls it."""
    libraries, program = folder / "native/bin", folder / "llama_decoder"
    if not (libraries / "libllama.so").exists():
        run("cmake", "-S", source, "-B", folder / "native", "-G", "Ninja", *OPTIONS)
        run("cmake", "--build", folder / "native", "--target", "llama", "llama-bench")
    run("cc", "-std=gnu17", "-O2", f"-I{source / 'include'}", f"-I{source / 'ggml/include'}",
        ROOT / "scripts/peers/llama_decoder.c", "-o", program, f"-L{libraries}", "-lllama", "-lggml", "-lggml-base",
        f"-Wl,-rpath,{libraries.resolve()}")
    return program


def make_model(folder, name, options):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.gguf"
    if not path.exists():
        run(sys.executable, SYNTHETIC, folder / "new.gguf", "--data", *options)
        (folder / "new.gguf").rename(path)
    return path


def write_prompt(folder, length):
    path = folder / f"prompt-{length}.txt"
    path.write_text(",".join(map(str, [1] + [300 + 37 * i % 20000 for i in range(length - 1)])))
    return path


def commands(args, llama, model, prompt, threads, generate, logits=None):
    """Of both programs."""
    return {"engine": [args.engine, model, "--prompt", f"@{prompt}", "--threads", threads, "--generate", generate,
                       *(["--logits", logits] if logits else [])],
            "llama.cpp": [llama, model, f"@{prompt}", threads, generate, *([logits] if logits else [])]}


def processor_s(process):
    """What all threads of PROCESS had so far."""
    tasks = pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def huge_share(process):
    """Of the memory that no file backs, how much is in pages of 2 MiB."""
    rollup = pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    found = {name: int(re.search(rf"^{name}:\s+(\d+)", rollup, re.M)[1]) for name in ("Anonymous", "AnonHugePages")}
    return found["AnonHugePages"] / max(found["Anonymous"], 1)


def measure(command, tokens):
    """Tokens per second of wall time and of processor time of each of PARTS; the share of huge pages."""
    environment = {**os.environ, "GLIBC_TUNABLES": HUGE_PAGES}
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env=environment)
    wall, spent, huge, said = {}, [], 0, []
    for line in process.stderr:
        said.append(line.strip())
        if (what := line.split()[0]) in ("loading", *PARTS):
            spent.append(processor_s(process) if what != "generation" or process.poll() is None else None)
            wall[what] = float(line.split()[1])
            huge = huge_share(process) if what == "loading" else huge
    if process.wait() or len(wall) != 3:
        sys.exit(f"{command[0]}: {said}")
    return wall, {part: tokens[part] / max(spent[i + 1] - spent[i], 1e-9) for i, part in enumerate(PARTS)}, huge


def time_model(args, llama, name, threads):
    model = make_model(args.models, name, SHAPES[name])
    rounds, huge = [], {}
    for i in range(args.rounds):
        taken = {}
        for length in args.prompts:
            pair = commands(args, llama, model, write_prompt(args.models, length), threads, args.generate)
            for program in sorted(pair, reverse=i % 2):
                wall, spent, huge[program] = measure(pair[program], {"prompt": length, "generation": args.generate - 1})
                for part in PARTS:
                    what = f"prompt {length}" if part == "prompt" else f"generation behind {length}"
                    taken[program, what] = (spent if args.cpu_time else wall)[part]
        rounds.append(taken)
    print(f"{name}, {threads} thread{'s' if threads > 1 else ''}; in pages of 2 MiB: "
          + ", ".join(f"{program} {100 * share:.0f} %" for program, share in huge.items()))
    for what in sorted({what for _, what in rounds[0]}, reverse=True):
        ours, theirs = ([taken[program, what] for taken in rounds] for program in ("engine", "llama.cpp"))
        ratios = sorted(mine / other for mine, other in zip(ours, theirs))
        print(f"  {what:22} {statistics.median(theirs):8.1f} {statistics.median(ours):8.1f}   "
              f"{statistics.median(ratios):.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)


def shares(args, name, threads):
    """Of each op, of a prompt and of generation."""
    model = make_model(args.models, name, SHAPES[name])
    command = [args.engine, model, "--prompt", f"@{write_prompt(args.models, max(args.prompts))}", "--threads", threads,
               "--generate", args.generate, "--times", 1]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    print(f"{name}, {threads} thread{'s' if threads > 1 else ''}: the engine's time, one op after another, of a prompt of "
          f"{max(args.prompts)} and of generation behind it")
    print("\n".join(line for line in done.stderr.splitlines() if re.match(r" +[\d.]+ %", line)))


def compare_logits(args, llama):
    """How far either is from the exact pass, as a part of a row's length, and what that is of a mixture's median row."""
    import numpy
    sys.path.insert(0, str(ROOT / "tests/examples"))
    import reference_model
    print("logits: distance from the float64 pass; rows are tokens, of mixtures the middle one counts, else the largest")
    prompt, logits, worst = args.models / "prompt-logits.txt", args.models / "logits.f32", 0
    prompt.write_text(",".join(map(str, [1] + [(7 * i * i + 11 * i) % 900 for i in range(63)])))
    tokens = numbers(prompt.read_text())
    for name, options in SMALL_MODELS.items():
        model = make_model(args.models, f"small-{name}", ["--architecture", name, *SMALL, *options])
        exact, off = reference_model.Model(model).logits(tokens), {}
        for program, command in commands(args, llama, model, prompt, 1, 1, logits).items():
            run(*command)
            rows = numpy.fromfile(logits, numpy.float32).astype(numpy.float64).reshape(len(tokens), -1)
            rows = numpy.linalg.norm(rows - exact, axis=1) / numpy.linalg.norm(exact, axis=1)
            off[program] = numpy.median(rows) if "--experts" in options else rows.max()
        worst = max(worst, off["engine"] / off["llama.cpp"])
        print(f"  {name:10} engine {off['engine']:.2e}, llama.cpp {off['llama.cpp']:.2e}: "
              f"{off['engine'] / off['llama.cpp']:.2f} x", flush=True)
    return worst


def main():
    args = parse()
    llama = build_llama(args.llama, args.source or fetch_llama(args.llama))
    for name in args.only if args.prepare else []:
        make_model(args.models, name, SHAPES[name])
    if args.prepare:
        return
    if args.logits:
        sys.exit(compare_logits(args, llama) > 1.5)
    print(f"tokens per second{' of processor time' if args.cpu_time else ''}: llama.cpp, engine, ratio; load average "
          f"{os.getloadavg()[0]:.1f}")
    for name in args.only:
        for threads in args.threads:
            time_model(args, llama, name, threads)
        shares(args, name, args.threads[0])


if __name__ == "__main__":
    main()
