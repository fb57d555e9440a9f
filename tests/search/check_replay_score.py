# SPDX-License-Identifier: MIT
"""The score of `tcbtune replay` is the auto-tuning community's (Willemsen et al., "A methodology for comparing optimization
algorithms for auto-tuning"): computed here from the definition alone, for the candidates that runs tried.

    check_replay_score.py REPLAY_TRACE [FILE.json[.gz] STRATEGY...]

Without a file, spaces are made here: of values that differ and that are alike, of failures, of prices that differ."""
import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile

MOMENTS = 1000


def known(path):
    """Of each configuration of a cache or T4 file its time (None: it failed) and what trying it took."""
    text = (gzip.open if path.suffix == ".gz" else open)(path, "rt").read()
    document = json.JSONDecoder(parse_constant=lambda word: None).raw_decode(text)[0]
    out = []
    if "cache" in document:
        parts = ["compile_time", "framework_time", "strategy_time", "verification_time", "benchmark_time"]
        for record in document["cache"].values():
            time = record["time"] if isinstance(record["time"], (int, float)) and record["time"] < 1e20 else None
            price = [record.get(part) or 0 for part in parts]
            out.append((time, sum(price) + (0 if record.get("benchmark_time") else sum(record.get("times", [])))))
        return out
    for result in document["results"]:
        times, value = result["times"], result["measurements"][0]["value"]
        price = sum(v for v in times.values() if isinstance(v, (int, float))) + sum(times.get("runtimes", []))
        is_valid = result["invalidity"] == "correct" and isinstance(value, (int, float)) and value < 1e20
        out.append((value if is_valid else None, price))
    return out


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def isotonic(points):
    """The function that never rises and is nearest to the points, at their x.  Whatever the order in which neighbours that
    rise are joined, the same comes out."""
    by_x = {}
    for x, y in points:
        by_x.setdefault(x, []).append(y)
    xs = sorted(by_x)
    blocks = [[sum(by_x[x]), len(by_x[x]), 1] for x in xs]  # sum, weight, number of x
    done = False
    while not done:  # any two neighbours that rise are one, until there are none
        done = True
        at = 0
        while at + 1 < len(blocks):
            a, b = blocks[at], blocks[at + 1]
            if a[0] * b[1] < b[0] * a[1]:
                blocks[at:at + 2] = [[a[0] + b[0], a[1] + b[1], a[2] + b[2]]]
                done = False
            else:
                at += 1
    ys = [total / weight for total, weight, count in blocks for _ in range(count)]
    return xs, ys


def interpolate(xs, ys, x):
    if x <= xs[0] or x >= xs[-1]:
        return ys[0] if x <= xs[0] else ys[-1]
    at = next(i for i in range(len(xs)) if xs[i] >= x)
    share = (x - xs[at - 1]) / (xs[at] - xs[at - 1])
    return ys[at - 1] + share * (ys[at] - ys[at - 1])


def score(space, runs):
    valid = sorted(time for time, _ in space if time is not None)
    failed = [price for time, price in space if time is None]
    count, optimum, middle = len(valid), valid[0], median(valid)
    worst_first = valid[::-1]

    def trials(part):
        target = optimum + (middle - optimum) * (1 - part)
        rank = next(i for i, value in enumerate(worst_first) if value <= target)
        return max(1, -(-rank // (count + 1 - rank)))

    typical = median([price for _, price in space])
    begin, end = trials(0.01) * typical, trials(0.95) * typical
    price = sum(p for t, p in space if t is not None) / count + (sum(failed) / len(space) if failed else 0)
    margin = 0.1 + 0.25 / trials(0.95)
    points = []
    for run in runs:
        clock, best = 0, None
        for index in run:
            time, took = space[index]
            clock += took
            if time is not None:
                best = time if best is None else min(best, time)
            if best is not None and begin * (1 - margin) <= clock <= end * (1 + margin):
                points.append((clock, valid.index(best)))
    xs, ys = isotonic(points)
    total = 0
    for at in range(MOMENTS):
        time = begin + (end - begin) * at / (MOMENTS - 1)
        tried = round(max(time / price, 1))
        base = worst_first[min(count - 1, round(tried * (count + 1) / (tried + 1)))]
        if base > optimum:
            total += (base - valid[round(interpolate(xs, ys, time))]) / (base - optimum)
    return total / MOMENTS


def compare(trace, path, strategy, repeats, seed):
    plain = path
    with tempfile.TemporaryDirectory() as folder:
        if path.suffix == ".gz":
            plain = pathlib.Path(folder) / path.stem
            plain.write_bytes(gzip.open(path).read())
        said = subprocess.run([trace, plain, strategy, str(repeats), str(seed)], check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in said.splitlines()]
    runs = [[int(index) for index in line[1:]] for line in lines if line[0] == "run"]
    theirs, ours = score(known(path), runs), float(lines[-1][1])
    print(f"{path.name} {strategy}: {len(runs)} runs, {ours:.6f}, from the definition {theirs:.6f}")
    return abs(theirs - ours) < 1e-6


def made(folder, number):
    """A space of 300 configurations, in a cache file."""
    draw = random.Random(number)
    cache = {}
    for x in range(20):
        for y in range(15):
            time = 1 + abs(x - 7) ** 2 * 0.3 + abs(y - 9) + draw.random()
            if number % 2:
                time = float(round(time))  # many are alike
            fails = draw.random() < 0.2
            cache[f"{x},{y}"] = {"x": x, "y": y, "time": "RuntimeFailedConfig" if fails else time,
                                 "compile_time": draw.uniform(50, 60 if number < 2 else 500), "benchmark_time": 0 if fails else 7}
    path = folder / f"made_{number}.json"
    path.write_text(json.dumps({"tune_params_keys": ["x", "y"], "cache": cache}))
    return path


def main():
    trace, repeats = sys.argv[1], 12
    if len(sys.argv) > 2:
        same = [compare(trace, pathlib.Path(sys.argv[2]), strategy, 25, 1) for strategy in sys.argv[3:]]
    else:
        with tempfile.TemporaryDirectory() as folder:
            same = [compare(trace, made(pathlib.Path(folder), number), strategy, repeats, number)
                    for number in range(4) for strategy in ("random", "hillclimb", "genetic")]
    sys.exit(0 if same and all(same) else "the score is not that of the definition")


main()
