# SPDX-License-Identifier: MIT
"""Runs tcbtune judge on the kernels of fixtures/judge: what must not be accepted, and what must."""
import concurrent.futures
import itertools
import json
import os
import queue
import subprocess

# What each cheat is found by: the rules one of which must be named, and the exit status.
CHEATS = {
    "zeros": ({"values"}, 4), "nothing": ({"values"}, 4), "by_pointer": ({"cached"}, 5), "by_output": ({"cached"}, 5),
    "by_samples": ({"cached"}, 5), "again": ({"cached"}, 5), "stale": ({"cached"}, 5),
    "deferred_thread": ({"values", "threads"}, None), "thread_left": ({"threads"}, 5),
    "thread_in_constructor": ({"threads"}, 5), "behind": ({"deferred", "cached", "timed"}, 5),
    "ahead": ({"ahead", "cached"}, 5), "when_timed": ({"cached", "timed", "values"}, None),
    "after_fifty": ({"timed", "cached"}, 5), "one_size": ({"size"}, 4), "writes_input": ({"forbidden"}, 5),
    "opens_input": ({"values"}, 4), "writes_behind": ({"outside"}, 5), "writes_before": ({"outside"}, 5),
    "patches_clock": ({None}, 6), "half": ({"values"}, 4), "nan": ({"values"}, 4), "infinity": ({"values"}, 4),
    "part_of_k": ({"values"}, 4), "one_value": ({"values"}, 4), "small_left_out": ({"values"}, 4),
    "forks": ({"forbidden"}, 5), "keeps_a_file": ({"forbidden"}, 5), "reads_others": ({"forbidden"}, 5),
    "opens_memory": ({"forbidden"}, 5), "connects": ({"forbidden"}, 5), "handles_signals": ({"forbidden"}, 5),
    "alarm": ({"forbidden"}, 5), "exits": ({"forbidden"}, 5), "aborts": ({"forbidden"}, 5), "crashes": ({"crash"}, 4),
    "hangs": ({"hang"}, 4), "jumps": ({"cached", "values", "crash", "hang"}, None), "says_so": ({"values"}, 4),
    # On a busy machine the judge looks only when it has ended: then it gained nothing, and is not fast enough.
    "answers_itself": ({"cached", "values", "timed", "deferred", None}, None), "takes_priority": ({"forbidden"}, 5),
    "starts_a_program": ({"forbidden"}, 5), "does_not_compile": ({"compile"}, 4),
}
# The same of kernels in CUDA C++, for a GPU.
CUDA_CHEATS = {
    "zeros": {"values"}, "nothing": {"values"}, "by_pointer": {"cached"}, "by_output": {"cached"},
    "by_sample": {"cached"}, "stale": {"cached"}, "after_fifty": {"cached", "timed", "races"},
    "behind": {"values", "cached"}, "one_size": {"size", "values"}, "writes_input": {"inputs"},
    "writes_behind": {"outside"}, "writes_before": {"outside"}, "half": {"values"}, "nan": {"values"},
    "part_of_k": {"values"}, "one_value": {"values"}, "race": {"values", "races", "cached"}, "crashes": {"crash"},
    "traps": {"crash"}, "looks_around": {"values", "crash"}, "slow": {None}, "does_not_compile": {"compile"},
    "hangs": {"hang"},
}
# Slow ones are not fast enough: all are asked to be faster than what they are compared with.
AT_LEAST = "1.3"


def judge(program, env, folder, kernel, *args, cpus=None):
    """The exit status, what was printed, and what was said; on the processors CPUS."""
    words = [program, "judge", str(folder / kernel), "--budget", "100ms", "--json", *args]
    if not kernel.endswith(".json"):
        words += ["--against", str(folder / "problem.json")]
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=100,
                          preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None)


def changed(folder, scratch, name, **changes):
    """FOLDER's problem with other values, as NAME in SCRATCH; a key is a path, as in tcbtune__Problem."""
    document = json.loads((folder / "problem.json").read_text())
    for path, value in changes.items():
        at = document
        *above, last = path.split("__")
        for key in above:
            at = at[int(key)] if key.isdigit() else at[key]
        at[int(last) if last.isdigit() else last] = value
        if value is None:
            del at[last]
    for source in ("reference.c", "product.h"):
        (scratch / source).write_text((folder / source).read_text())
    (scratch / name).write_text(json.dumps(document))
    return scratch / name


def cases(folder):
    """(path below FOLDER, is a cheat) of all."""
    cheats = sorted(path.name for path in (folder / "cheats").iterdir())
    honest = sorted(path.name for path in (folder / "honest").iterdir() if path.stem != "openmp")
    return [(f"cheats/{name}", True) for name in cheats] + [(f"honest/{name}", False) for name in honest] + \
        [("honest/openmp.json", False)]


def run_all(program, folder, env=None, jobs=2, seed=None, part=slice(None)):
    """(path, is a cheat, exit status, document or None, what was said) of each case, or of the PART of them."""
    env = dict(env or os.environ)

    cpus = queue.SimpleQueue()
    for cpu in itertools.islice(itertools.cycle(sorted(os.sched_getaffinity(0))), jobs):
        cpus.put(cpu)

    def run(case):
        kernel, is_cheat = case
        args = ["--at-least", AT_LEAST] if is_cheat else []
        args += ["--timeout", "1s"] if kernel == "cheats/hangs.c" else []
        if kernel.endswith("openmp.json"):
            args += ["--threads", "2", "--against", str(folder / "problem.json")]
        if seed:
            args += ["--seed", str(seed)]
        cpu = cpus.get()  # a processor of its own for each
        result = judge(program, env, folder, kernel, *args,
                       cpus=None if kernel.endswith("openmp.json") else {cpu})
        cpus.put(cpu)
        try:
            document = json.loads(result.stdout)
        except ValueError:
            document = None
        return kernel, is_cheat, result.returncode, document, result.stderr

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(run, cases(folder)[part]))


def run_cuda(program, folder, args):
    """The same of FOLDER/cuda, one after the other; ARGS: for each of them."""
    results = []
    for part in ("cheats", "honest"):
        for path in sorted((folder / "cuda" / part).iterdir()):
            words = [program, "judge", str(path), "--against", str(folder / "cuda" / "problem.json"), "--json", *args]
            words += ["--at-least", AT_LEAST] if part == "cheats" else []
            words += ["--timeout", "5s"] if path.stem == "hangs" else []
            result = subprocess.run(words, capture_output=True, text=True, timeout=300)
            document = json.loads(result.stdout) if result.stdout.startswith("{") else None
            results.append((f"cuda/{part}/{path.name}", part == "cheats", result.returncode, document, result.stderr))
    return results
