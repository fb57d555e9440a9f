#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tokens per second of llama.cpp's server (the wheel of fetch-ggml-hosts.sh) with the plug-in for ggml and without.

    ggml-bench.py MODEL.gguf --plugin libggml-tcbtune.so [--threads 1,2] [--rounds 5] [--prompts 128,512]
        [--generate 32] [--depth N] [--wheels build/ggml-hosts] [--native LLAMA-BENCH [--only-native]] [--db tuning.db]
        [--own-pool] [--own-attention] [--huge-pages] [--cpu-time] [--log-probabilities]

--depth adds generation behind a prompt of N tokens, in the servers.

All servers stay loaded and are asked in turn, round after round; figures are the medians of the rounds, ratios those of
the pairs within a round.  --native adds llama.cpp built for this machine: its llama-bench, with the same round's
prompts and tokens, without the plug-in and with it; --only-native leaves out all that are the wheel's.  --db adds
the plug-in with that tuning database; without it there is none.
--own-pool adds the plug-in with threads of its own instead of the host's, --own-attention the plug-in where the host's
attention is its own.  --huge-pages tells how much of the plug-in's
gain its pages of 2 MiB are: it adds the wheel in a process whose malloc asks for such (glibc.malloc.hugetlb=1), as then
llama-bench has it, too, and the plug-in in one that is denied them (prctl).  --cpu-time counts tokens per second of processor time of all threads, which a
busy machine changes least (of llama-bench by what more repetitions take); it is for one thread, since those that
wait spin.  A prompt of 4 or 8 tokens is what speculation verifies.  --log-probabilities
compares distributions over the vocabulary: the host's own repacked kernels with its plain ones, and the plug-in's with
both.

For one thread run it under taskset; the figures of two threads want two idle processors.
"""
import argparse
import ctypes
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "integrations/ggml"))
from wheel_host import Host, differences  # noqa: E402

NOWHERE = "/nowhere/tuning.db"
HUGE_PAGES = "glibc.malloc.hugetlb=1"  # for what malloc gives, which is where ggml's repacked weights are
PR_SET_THP_DISABLE = 41  # linux/prctl.h


def numbers(text):
    return [int(part) for part in text.split(",")]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompts", type=numbers, default=[128, 512])
    parser.add_argument("--generate", type=int, default=32)
    parser.add_argument("--depth", type=int, default=0)
    parser.add_argument("--wheels", default=str(ROOT / "build/ggml-hosts"))
    parser.add_argument("--native")
    parser.add_argument("--db")
    parser.add_argument("--only-native", action="store_true")
    parser.add_argument("--own-pool", action="store_true")
    parser.add_argument("--own-attention", action="store_true")
    parser.add_argument("--huge-pages", action="store_true")
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--log-probabilities", action="store_true")
    args = parser.parse_args()
    if args.only_native and not args.native:
        parser.error("--only-native wants --native LLAMA-BENCH")
    for path, told in ((args.model, ""), (args.plugin, ""), (args.wheels, "; scripts/fetch-ggml-hosts.sh fetches them")):
        if not os.path.exists(path) and not (args.only_native and path == args.wheels):
            parser.error(f"{path} is not there{told}")
    return args


def prompt(length):
    return [1] + [300 + 37 * i % 20000 for i in range(length - 1)]


def deny_huge_pages(is_denied):
    """To this process and those that it starts from now on."""
    if ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, int(is_denied), 0, 0, 0):
        sys.exit("prctl(PR_SET_THP_DISABLE) is refused here: leave out --huge-pages")


class Served:
    def __init__(self, args, threads, plugin=None, db=NOWHERE):
        os.environ["TCBTUNE_DB"] = db
        self.args = args
        self.host = Host(args.wheels, args.model, plugin, threads, context=max(*args.prompts, args.depth) + args.generate + 256)
        self.plugin = plugin

    def measure(self):
        """{what: (tokens per second, share of the time in the plug-in's products)}"""
        out = {}
        for length in self.args.prompts:
            out[f"prompt {length}"] = self.time(length, 1, "prompt_per_second", "prompt_ms")
        out["generation"] = self.time(1, self.args.generate, "predicted_per_second", "predicted_ms")
        if self.args.depth:
            out[f"generation behind {self.args.depth}"] = self.time_behind(self.args.depth, self.args.generate)
        return out

    def time_behind(self, length, count):
        """Of processor time: what more tokens than one take."""
        spent = []
        for tokens in (1, 1 + count):
            before = self.processor_s()
            timings = self.host.complete(prompt(length), tokens)["timings"]
            spent.append(self.processor_s() - before)
        return count / (spent[1] - spent[0]) if self.args.cpu_time else timings["predicted_per_second"], None

    def time(self, length, count, rate, spent):
        before = self.host.counters()["compute_ns"] if self.plugin else 0
        spent_before = self.processor_s()
        timings = self.host.complete(prompt(length), count)["timings"]
        spent_s = self.processor_s() - spent_before
        after = self.host.counters()["compute_ns"] if self.plugin else 0
        if self.args.cpu_time:
            return max(length, count) / spent_s, None
        return timings[rate], (after - before) / 1e6 / timings[spent] if self.plugin else None

    def processor_s(self):
        """What all threads of the server have had so far."""
        tasks = pathlib.Path(f"/proc/{self.host.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def close(self):
        self.host.close()


class Native:
    """Loads the model at each call; llama-bench does not count that."""

    def __init__(self, args, threads, plugin=None):
        self.args, self.threads = args, threads
        self.environment = {name: value for name, value in os.environ.items() if name != "GGML_BACKEND_PATH"}
        self.environment.update({"TCBTUNE_DB": NOWHERE, "TCBTUNE_QUIET": "1"})
        if args.huge_pages:
            self.environment["GLIBC_TUNABLES"] = HUGE_PAGES
        if plugin:
            self.environment["GGML_BACKEND_PATH"] = plugin

    def run(self, prompts, generate, repetitions):
        """llama-bench's answer, and the processor time that all of it took."""
        command = [self.args.native, "-m", self.args.model, "-t", str(self.threads), "-r", str(repetitions), "-o", "json",
                   "-p", ",".join(map(str, prompts)), "-n", str(generate)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             env=self.environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return json.loads(run.stdout), sum(getattr(after, part) - getattr(before, part)
                                           for part in ("ru_utime", "ru_stime"))

    def measure(self):
        if self.args.cpu_time:
            out = {f"prompt {length}": (self.by_processor([length], 0, length), None) for length in self.args.prompts}
            return {**out, "generation": (self.by_processor([0], self.args.generate, self.args.generate), None)}
        return {f"prompt {test['n_prompt']}" if test["n_prompt"] else "generation": (test["avg_ts"], None)
                for test in self.run(self.args.prompts, self.args.generate, 1)[0]}

    def by_processor(self, prompts, generate, tokens):
        """What more repetitions take: so many that loading, which is in both, scatters by less."""
        more = max(1, (1024 if prompts[0] else 64) // tokens)
        return more * tokens / (self.run(prompts, generate, 1 + more)[1] - self.run(prompts, generate, 1)[1])

    def close(self):
        pass


def make_servers(args, threads):
    """Both by name: without the plug-in, and with it."""
    peers, ours = {}, {}
    if not args.only_native:
        peers["wheel"], ours["plug-in"] = Served(args, threads), Served(args, threads, args.plugin)
    if args.native:
        peers["native"] = Native(args, threads)
        ours["native, plug-in"] = Native(args, threads, str(pathlib.Path(args.plugin).resolve()))
    if args.only_native:
        return peers, ours
    if args.huge_pages:
        os.environ["GLIBC_TUNABLES"] = HUGE_PAGES
        peers["wheel, 2 MiB"] = Served(args, threads)
        del os.environ["GLIBC_TUNABLES"]
        deny_huge_pages(True)
        ours["plug-in, 4 KiB"] = Served(args, threads, args.plugin)
        deny_huge_pages(False)
    if args.db:
        ours["plug-in, tuned"] = Served(args, threads, args.plugin, args.db)
    if args.own_pool:
        os.environ["TCBTUNE_OWN_POOL"] = "1"
        ours["plug-in, pool"] = Served(args, threads, args.plugin)
        del os.environ["TCBTUNE_OWN_POOL"]
    if args.own_attention:
        os.environ["TCBTUNE_NO_ATTENTION"] = "1"
        ours["own attention"] = Served(args, threads, args.plugin)
        del os.environ["TCBTUNE_NO_ATTENTION"]
    return peers, ours


def bench(args, threads):
    peers, ours = make_servers(args, threads)
    everyone = {**peers, **ours}
    for name, one in everyone.items():
        if isinstance(one, Served):
            loaded = one.host.loaded
            print(f"  {name}: loaded in {loaded['load_s']:.2f} s, {loaded['resident'] / 1e6:.0f} MB resident")
    rounds = []
    for i in range(args.rounds + 1):
        order = list(everyone) if i % 2 else list(everyone)[::-1]
        taken = {name: everyone[name].measure() for name in order}
        rounds += [taken] if i else []  # the first warms up
    for what in rounds[0][next(iter(peers))]:
        print(f"  {what}, tokens per second")
        for name in (name for name in everyone if what in rounds[0][name]):
            rates = [taken[name][what][0] for taken in rounds]
            line = f"    {name:15} {statistics.median(rates):8.1f}"
            shares = [taken[name][what][1] for taken in rounds]
            if shares[0] is not None:
                line += f"   {100 * statistics.median(shares):3.0f} % of the time in its products"
            for peer in (peer for peer in peers if name in ours and what in rounds[0][peer]):
                ratios = sorted(taken[name][what][0] / taken[peer][what][0] for taken in rounds)
                line += f"   {statistics.median(ratios):.2f} x {peer} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
            print(line)
    for one in everyone.values():
        one.close()


def compare(args):
    """Distributions after prompts of several lengths."""
    lengths, taken = (5, 33, 128, 300, 900), {}
    for name, options in (("repacked", {}), ("plain", {"plain": True}), ("plug-in", {"plugin": args.plugin})):
        os.environ["TCBTUNE_DB"] = args.db or NOWHERE
        host = Host(args.wheels, args.model, **options)
        taken[name] = [host.log_probabilities(prompt(length), 20000) for length in lengths]
        host.close()
    print("log-probabilities: mean and largest difference")
    for one, other in (("repacked", "plain"), ("plug-in", "plain"), ("plug-in", "repacked")):
        pairs = [differences({k: v for k, v in a.items() if k in b}, b)
                 for a, b in zip(taken[one], taken[other])]
        print(f"  {one} and {other}: {statistics.mean(m for m, _ in pairs):.4f}, {max(l for _, l in pairs):.4f}")


def main():
    args = parse()
    if args.log_probabilities:
        compare(args)
    for threads in args.threads:
        print(f"{threads} thread{'s' if threads > 1 else ''}")
        bench(args, threads)


if __name__ == "__main__":
    main()
