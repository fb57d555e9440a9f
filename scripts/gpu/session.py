#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is still to be shown on a GPU, in parts with time limits that go on where they ended.

    scripts/gpu/session.py BUNDLE OUT PART[=SECONDS]... [--device cuda:0[,cuda:1]] [--seed 1] [--python PYTHON] [--again] [--list]

BUNDLE: the folder gpu-check/ of a portable build (scripts/gpu-check.sh says how it is made).  A part is steps: commands
of a few seconds to minutes, each with a limit.  Steps that time something are dealt to the devices, others to the
processors.  OUT/PART has what each printed and done.txt, a line for each that ended; the same command leaves those out
(with --again only those that ended well), and --list only says what would run.  When a part's seconds are over nothing is
begun, what runs is ended with all that it started (it is done again next time), the part's summary is printed and
OUT/PART.tar.xz holds its folder.  So it is when the session itself is asked to end.  One call for each part, of at most
ten minutes, loses nothing when the machine goes.

  prepare    without a GPU, twice: the kernels of sanitize are drawn, then compiled                              (900 s)
  bits       differing results under the word bits, M = 1 to 512, 50 shapes of each op (test_rt_rt_bits_gpu)     (300 s)
  price      the word's price: sweeps with it and without, a bench beside the free winner                        (560 s)
  sanitize   200 random attention kernels, a process each, then under memcheck, racecheck, synccheck, initcheck  (560 s)
  random     60 problems at random, default against best (scripts/defaults-everywhere.py)                        (570 s)
  table      issue 35's products and rows: default and best, cuBLAS, Humming (also as batch-invariant), PyTorch  (570 s)
  engine     a token of an 8B Q4_K_M as one graph, products tuned, and the share of each op                      (400 s)
  attention  beside cuDNN, flash, FlashInfer, FlashAttention 4 (scripts/attention-against-torch.py)              (570 s)
  chain      what layers have between products: default and best, delta nets beside flash-linear-attention       (500 s)

Peers run with PYTHON (python3), which may lack them: their steps then fail, which is told.

Exit: 0 all steps ended well; 1 some did not, or found something wrong; 2 wrong usage; 3 some are left.
"""
import argparse
import os
import pathlib
import queue
import re
import shlex
import signal
import subprocess
import sys
import tarfile
import threading
import time
import typing

import parts

LIMITS = {"prepare": 900, "bits": 300, "price": 560, "sanitize": 560, "random": 570, "table": 570, "engine": 400, "attention": 570,
          "chain": 500}
GRACE_S = 10  # between asking a step to end and ending it
MARGIN_S = 40  # of what a step is told that it has: to end what it has begun
SUMMARY_LINES = 60
LEFT = 3  # what a step exits with that has to be done again: scripts/defaults-everywhere.py


class Done(typing.NamedTuple):
    """A line of done.txt."""
    name: str
    status: int
    seconds: float


def known_in(path):
    """{name: Done} of steps that need not be run again."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = (line.split("\t") for line in lines)
    return {row[0]: Done(row[0], int(row[1]), float(row[2])) for row in rows if len(row) == 3}


def visible(number):
    """What CUDA_VISIBLE_DEVICES says so that GPU NUMBER is the only one."""
    names = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return names[int(number)] if int(number) < len(names) else number


class Runner:
    """Steps of one part: on each device one at a time, of those that time nothing one for each processor."""

    def __init__(self, out, devices, end, again):
        self.out, self.devices, self.end = out, devices, end
        self.done = {name: done for name, done in known_in(out / "done.txt").items() if not (again and done.status)}
        self.left, self.lock, self.running = [], threading.Lock(), set()

    def run_one(self, step, device):
        """Runs STEP, unless there is no time for it, and writes down that it ended."""
        seconds = min(step.seconds, self.end - time.monotonic())
        if seconds <= 1:
            self.left.append(step.name)
            return
        start = time.monotonic()
        for path, text in step.files.items():
            path.write_text(text, encoding="utf-8")
        number = device.rpartition(":")[2]
        words = [str(word).replace(parts.NUMBER, number).replace(parts.SECONDS, str(max(1, int(seconds - MARGIN_S))))
                 for word in step.words]
        sees = {} if step.is_wide else {"CUDA_VISIBLE_DEVICES": visible(number)}
        with open(self.out / f"{step.name}.txt", "w", encoding="utf-8") as log:
            print("$", *words, file=log, flush=True)
            try:
                process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                           start_new_session=True, cwd=parts.ROOT, env={**os.environ, **sees, **step.environment})
            except OSError as error:
                print(error, file=log)
                self.write(step, 127, 0)
                return
            self.running.add(process.pid)
            status = self.wait(process, seconds)
            self.running.discard(process.pid)
        took = time.monotonic() - start
        is_over = not self.end or (status is None and seconds < step.seconds)  # the part's time, not the step's
        if status == LEFT or (is_over and status != 0):
            with self.lock:
                self.left.append(step.name)
        else:
            self.write(step, 124 if status is None else status, took)

    @staticmethod
    def wait(process, seconds):
        """PROCESS's exit status; None: it was ended, and with it all that it had started."""
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        for number, grace in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
            try:
                os.killpg(process.pid, number)  # its own session: its number is the group's
                process.wait(grace)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        try:
            os.killpg(process.pid, signal.SIGKILL)  # what outlived the first of the group
        except ProcessLookupError:
            pass
        return None

    def stop(self, *_):
        """Asked to end: so is all that runs, and nothing is begun any more."""
        self.end = 0
        for group in tuple(self.running):
            try:
                os.killpg(group, signal.SIGTERM)
            except ProcessLookupError:
                pass

    def write(self, step, status, seconds):
        with self.lock:
            self.done[step.name] = Done(step.name, status, seconds)
            with open(self.out / "done.txt", "a", encoding="utf-8") as out:
                print(step.name, status, f"{seconds:.1f}", sep="\t", file=out)

    def work(self, waiting, device):
        while True:
            try:
                step = waiting.get_nowait()
            except queue.Empty:
                return
            self.run_one(step, device)

    def run(self, steps):
        """Stages follow each other; within one all steps may run at once."""
        for stage in sorted({step.stage for step in steps}):
            waiting = {is_timed: queue.Queue() for is_timed in (True, False)}
            for step in steps:
                if step.stage == stage and step.name not in self.done:
                    waiting[step.is_timed].put(step)
            threads = [threading.Thread(target=self.work, args=(waiting[True], device)) for device in self.devices]
            processors = len(os.sched_getaffinity(0))
            threads += [threading.Thread(target=self.work, args=(waiting[False], self.devices[i % len(self.devices)]))
                        for i in range(max(1, processors - 1))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()


def pack(folder):
    """FOLDER as one file beside it; databases, which are large, compressed on their own before."""
    target = folder.parent / f"{folder.name}.tar.xz"
    with tarfile.open(target, "w:xz") as tar:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix not in (".kernels", ".gguf"):
                tar.add(path, path.relative_to(folder.parent))
    return target


def run_part(args, name, seconds):
    """The part's exit status."""
    folder = args.out / name
    steps = parts.PARTS[name](args, folder)
    if args.list:
        known = known_in(folder / "done.txt")
        for step in steps:
            print(f"{name}\t{step.stage}\t{'timed' if step.is_timed else 'beside others'}\t{step.seconds} s\t"
                  f"{'done' if step.name in known else 'to do'}\t{step.name}\t{shlex.join(map(str, step.words))}")
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    runner = Runner(folder, args.device.split(","), start + seconds, args.again)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, runner.stop)
    runner.run(steps)
    results = [runner.done[step.name] for step in steps if step.name in runner.done]
    failed = [done for done in results if done.status != 0]
    lines = [f"== {name}: {len(results)} of {len(steps)} steps ended, {len(failed)} not well, {len(runner.left)} left, "
             f"{time.monotonic() - start:.0f} s"]
    lines += parts.SUMMARIES[name](folder, steps, runner.done)
    (folder / "summary.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines[:SUMMARY_LINES]))
    print(f"{pack(folder).name} holds it all", flush=True)
    if not runner.end:
        sys.exit(LEFT)
    return 3 if runner.left or len(results) < len(steps) else int(bool(failed))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("part", nargs="+")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, help="kernels of sanitize (200), problems of random (60), shapes of bits (50)")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--again", action="store_true", help="steps that did not end well, too")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    args.bundle, args.out = args.bundle.resolve(), args.out.resolve()
    chosen = [re.fullmatch(r"([a-z]+)(?:=(\d+))?", part) for part in args.part]
    if not all(found and found[1] in LIMITS for found in chosen):
        parser.error(f"parts are {', '.join(LIMITS)}")
    if not (args.bundle / "tcbtune").exists():
        parser.error(f"no programs in {args.bundle}: the target gpu_check makes them")
    statuses = [run_part(args, found[1], int(found[2] or LIMITS[found[1]])) for found in chosen]
    return max(statuses) if 1 not in statuses else 1


if __name__ == "__main__":
    sys.exit(main())
