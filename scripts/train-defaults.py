#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Learns which geometry is fast from stored trials and writes the table that the library asks (docs/defaults.md).

    scripts/train-defaults.py FEATURES --after _matmul --name FAMILY [--text REPORT] [--sample TRIALS]
        [--out TABLE.c --spaces FILE --tcbtune PROGRAM]

FEATURES: what `tcbtune defaults DATABASE... --arch ARCH --format features` prints.  Of these, the trials of ops that are
called FORMAT and AFTER, at shapes of --least rows or more.  The table's geometries are what is predicted to be the
least in whole spaces, of random problems: FILE has these, and is made with PROGRAM where it is not there.

What is learned is how much slower a geometry is than the best of its shape: trees that ask the same at all nodes of a
level (so that a leaf's number is the answers), each fitted to what the trees before have left over, in which shapes are
compared with themselves alone.  Judged: shapes are dealt to parts, each part judged by trees and geometries of the
others; of what was measured at a shape the one that is predicted to be the least, over the least.

Needs NumPy.  The same input makes the same table.
"""
import argparse
import collections
import math
import pathlib
import random
import re
import subprocess

import numpy as np

HOT_SHARE = 1 / 3  # as src/cli/tune/default_cells.c counts losses
DEPTH = 6
ONE = 16384
BINS = 32
SAMPLE_PROBLEMS, SAMPLE_BEST, SAMPLE_OTHERS = 12, 6, 18
FIRST_COLUMN = 9  # of a line: before it what a trial is and took, from it on features
FAR = 0.5  # logarithm of a loss from which on a geometry is as good as none
BEST_KEPT, OTHERS_KEPT = 250, 350  # a few problems of thousands would be all that counts


def over_best(times, group):
    """Times over the least of their group; 1 where none was measured, infinite where one was not."""
    best = np.full(group.max() + 1, np.inf)
    np.minimum.at(best, group, np.where(times > 0, times, np.inf))
    best = best[group]
    return np.where(np.isinf(best), 1.0, np.where(times > 0, times / best, np.inf))


def thinned(loss, group, seed):
    """Which trials are kept: of a problem the BEST_KEPT best, and of the others as many as OTHERS_KEPT."""
    rng = np.random.default_rng(seed)
    kept = np.ones(len(loss), bool)
    for g in range(group.max() + 1):
        rows = np.flatnonzero(group == g)
        others = rows[np.argsort(loss[rows], kind="stable")[BEST_KEPT:]]
        kept[rng.permutation(others)[OTHERS_KEPT:]] = False
    return kept


class Trials:
    """The lines of FEATURES as arrays."""

    def __init__(self, path, family, least, seed):
        lines = path.read_text(encoding="utf-8").splitlines()
        head = lines[0].split("\t")
        self.names = head[FIRST_COLUMN:]
        rows = [line.split("\t") for line in lines[1:]]
        rows = [r for r in rows if re.fullmatch(family, r[0]) and int(r[4].split("x")[0]) >= least]
        self.arch = rows[0][2]
        self.shapes = [r[4] for r in rows]
        self.geometries = [r[8] for r in rows]
        self.x = np.array([[int(v) for v in r[FIRST_COLUMN:]] for r in rows], np.int16)
        cold, hot = np.array([float(r[6]) for r in rows]), np.array([float(r[7]) for r in rows])
        groups = {}
        self.group = np.array([groups.setdefault((r[0], r[1], r[3], r[4]), len(groups)) for r in rows])
        self.keys = list(groups)
        self.loss = np.maximum(over_best(cold, self.group), 1 + HOT_SHARE * (over_best(hot, self.group) - 1))
        kept = thinned(self.loss, self.group, seed)
        self.x, self.loss, self.group = self.x[kept], self.loss[kept], self.group[kept]
        self.shapes = [shape for shape, keep in zip(self.shapes, kept) if keep]
        self.geometries = [geometry for geometry, keep in zip(self.geometries, kept) if keep]
        self.count = np.bincount(self.group)


# --- trees ---

class Bins:
    """Features as numbers of the bins between bounds."""

    def __init__(self, x):
        self.used, self.bounds = [], []
        for f in range(x.shape[1]):
            values = np.unique(x[:, f])
            if len(values) < 2:
                continue
            middles = (values[:-1].astype(np.int32) + values[1:].astype(np.int32)) >> 1
            if len(middles) > BINS - 1:
                at = np.quantile(x[:, f], np.linspace(0, 1, BINS + 1)[1:-1], method="lower").astype(np.int32)
                middles = np.unique(at)
                middles = middles[middles < values[-1]]
            self.used.append(f)
            self.bounds.append(middles.astype(np.int16))

    def of(self, x):
        return [np.searchsorted(b, x[:, f], side="left").astype(np.int32) for f, b in zip(self.used, self.bounds)]


def centred(values, weights, group, total):
    mean = np.bincount(group, values * weights, len(total)) / total
    return values - mean[group]


def grow(bins, binned, residual, weights, columns, ridge):
    """One tree: for each level the feature and bound that leave the least, over all leaves."""
    leaf = np.zeros(len(residual), np.int32)
    wr = weights * residual
    levels = []
    for depth in range(DEPTH):
        best = (-1.0, None, None)
        for c in columns:
            width = len(bins.bounds[c]) + 1
            at = leaf * width + binned[c]
            g = np.bincount(at, wr, width << depth).reshape(-1, width).cumsum(axis=1)
            h = np.bincount(at, weights, width << depth).reshape(-1, width).cumsum(axis=1)
            left_g, left_h = g[:, :-1], h[:, :-1]
            right_g, right_h = g[:, -1:] - left_g, h[:, -1:] - left_h
            gain = (left_g ** 2 / (left_h + ridge) + right_g ** 2 / (right_h + ridge)).sum(axis=0)
            b = int(gain.argmax())
            if gain[b] > best[0]:
                best = (float(gain[b]), c, b)
        _, c, b = best
        levels.append((bins.used[c], int(bins.bounds[c][b])))
        leaf |= (binned[c] > b).astype(np.int32) << depth
    g = np.bincount(leaf, wr, 1 << DEPTH)
    h = np.bincount(leaf, weights, 1 << DEPTH)
    return levels, leaf, g / (h + ridge)


def learn(x, loss, group, args):
    """Trees with whole numbers in their leaves."""
    rng = np.random.default_rng(args.seed)
    target = np.minimum(np.log(loss), np.log(args.clip))
    count = np.bincount(group)
    weights = (args.near + np.exp(-target / args.scale)) * (1.0 / count[group]) ** args.evenness
    weights *= len(weights) / weights.sum()
    total = np.bincount(group, weights)
    bins = Bins(x)
    binned = bins.of(x)
    predicted = np.zeros(len(x))
    trees = []
    for _ in range(args.trees):
        residual = centred(target - predicted, weights, group, total)
        columns = np.sort(rng.permutation(len(bins.used))[:max(1, int(args.columns * len(bins.used)))])
        levels, leaf, values = grow(bins, binned, residual, weights, columns, args.ridge)
        whole = np.clip(np.round(args.rate * values * ONE), -32768, 32767).astype(np.int32)
        trees.append((levels, whole))
        predicted += whole[leaf] / ONE
    return trees


def predict(trees, x):
    total = np.zeros(len(x), np.int64)
    for levels, values in trees:
        leaf = np.zeros(len(x), np.int32)
        for depth, (feature, bound) in enumerate(levels):
            leaf |= (x[:, feature] > bound).astype(np.int32) << depth
        total += values[leaf]
    return total


# --- geometries ---

WORDS = ["isa", "layout"]  # first, since most forms are not of a space for these
# The smallest first, since the others are multiples of it.
TILES = [("micro", d) for d in "mn"] + [("midi", d) for d in "mnk"] + [("macro", d) for d in "mnk"]


def numbers(geometry):
    """The text of a geometry as {("midi", "m"): 64, "warps": "8", ...}."""
    out = {}
    for word in geometry.split(","):
        key, value = word.split("=")
        if key in ("macro", "midi", "micro"):
            out.update(((key, d), int(v)) for d, v in zip("mnk", value.split("x")))
        else:
            out[key] = value
    return out


class Forms:
    """Geometries without what follows from the shape: tiles that are as large as it are 0."""

    def __init__(self, trials):
        knobs = set()
        first_knob = trials.names.index("isa")
        for text in set(trials.geometries):
            knobs.update(key for key in numbers(text) if isinstance(key, str))
        self.knobs = [name for name in trials.names[first_knob:] if name in knobs and name not in WORDS]
        self.fields = WORDS + TILES + self.knobs
        column = {name: first_knob + trials.names[first_knob:].index(name) for name in WORDS + self.knobs}
        self.column = column

    def form_of(self, geometry, x):
        tiles = numbers(geometry)
        return tuple(int(x[self.column[f]]) if f in self.column else
                     0 if f[0] == "macro" or f == ("midi", "k") else tiles[f] for f in self.fields)


def cover(losses, problems, most):
    """Of {form: [(problem, loss)]} the forms of which each problem's best loses the least, summed over PROBLEMS."""
    names = sorted(losses)
    rows = [(np.array([p for p, _ in losses[name]]), np.array([loss for _, loss in losses[name]])) for name in names]
    best = np.full(problems, FAR)
    chosen = []
    while len(chosen) < most:
        gains = [np.maximum(best[at] - loss, 0).sum() for at, loss in rows]
        at = int(np.argmax(gains))
        if gains[at] <= 1e-3:
            break
        chosen.append(names[at])
        best[rows[at][0]] = np.minimum(best[rows[at][0]], rows[at][1])
    print(f"{len(chosen)} geometries for {problems} spaces: {100 * best.mean():.1f} % over the least prediction, "
          f"the worst {100 * best.max():.1f} %")
    return chosen


def draw_size(rng, least, most, multiple):
    return max(multiple, round(2 ** rng.uniform(math.log2(least), math.log2(most)) / multiple) * multiple)


def draw_spaces(path, trials, args):
    """Writes the lines of the spaces of random problems: formats in turn, sizes of models and others."""
    rng = random.Random(args.seed)
    ops = sorted({key[0] for key in trials.keys})
    done = 0
    with open(path, "w", encoding="utf-8") as out:
        while done < args.problems:
            m = draw_size(rng, args.least, 2048, 1) if rng.random() < 0.6 else 2 ** rng.randrange(4, 12)
            n = draw_size(rng, 1024, 20480, 256 if rng.random() < 0.5 else 1)
            k = draw_size(rng, 1024, 16384, 256 if rng.random() < 0.7 else 1024)
            words = ["--op", ops[done // 2 % len(ops)], "--contract", ("f16", "q8")[done % 2], "--device", trials.arch,
                     "--shape", f"{m}x{n}x{k}"]
            run = subprocess.run([args.tcbtune, "space", *words, "--features"], capture_output=True, text=True)
            done += 1
            if run.returncode == 0:
                head, lines = run.stdout.split("\n", 1)
                out.write(lines if out.tell() else head + "\n" + lines)


class Spaces:
    """The lines of `tcbtune space --features` of many problems."""

    def __init__(self, path):
        self.contracts, self.geometries, problems, place, x = [], [], {}, [], []
        with open(path, encoding="utf-8") as lines:
            next(lines)
            for line in lines:
                words = line.rstrip("\n").split("\t", FIRST_COLUMN)
                self.contracts.append(words[1])
                self.geometries.append(words[8])
                place.append(problems.setdefault((words[0], words[1], words[4]), len(problems)))
                x.append(np.array(words[FIRST_COLUMN].split("\t"), np.int16))
        self.contracts, self.place, self.x = np.array(self.contracts), np.array(place), np.array(x)


def distil(spaces, trees, forms, contract, most):
    """Forms that are predicted to be near the least of whole spaces, of CONTRACT.  One that is near nowhere is of no use."""
    losses = collections.defaultdict(list)
    score = predict(trees, spaces.x) / ONE
    least = np.full(spaces.place.max() + 1, np.inf)
    np.minimum.at(least, spaces.place, score)
    problems, place = np.unique(spaces.place[spaces.contracts == contract], return_inverse=True)
    rows = np.flatnonzero(spaces.contracts == contract)
    for r, p in zip(rows, place):
        loss = score[r] - least[spaces.place[r]]
        if loss < FAR:
            losses[forms.form_of(spaces.geometries[r], spaces.x[r])].append((p, loss))
    return cover(losses, len(problems), most)


# --- judgement ---

def figures(losses):
    losses = np.array(losses) - 1
    return f"median {100 * np.median(losses):5.1f} %, p90 {100 * np.quantile(losses, 0.9):5.1f} %, " \
           f"worst {100 * losses.max():6.1f} %, {len(losses)} shapes"


def left_out(trials, args):
    """{group: what that loses there which is predicted to be the least}, by trees without its shape."""
    shapes = sorted(set(trials.shapes))
    order = np.random.default_rng(args.seed).permutation(len(shapes))
    part = {shapes[s]: i % args.folds for i, s in enumerate(order)}
    parts = np.array([part[s] for s in trials.shapes])
    losses = {}
    for p in range(args.folds):
        train, held = parts != p, parts == p
        _, group = np.unique(trials.group[train], return_inverse=True)
        trees = learn(trials.x[train], trials.loss[train], group, args)
        score = predict(trees, trials.x)
        for g in np.unique(trials.group[held]):
            rows = np.flatnonzero(trials.group == g)
            losses[g] = trials.loss[rows[score[rows].argmin()]]
    return losses


# --- the table ---

LEVELS = {"macro": "TCB_MACRO", "midi": "TCB_MIDI", "micro": "TCB_MICRO"}


def fill(values, width=118):
    """Values with commas between, in lines."""
    lines, line = [], "\t"
    for value in values:
        if len(line) + len(value) + 2 > width:
            lines.append(line.rstrip())
            line = "\t"
        line += value + ", "
    return "\n".join(lines + [line.rstrip()]) + "\n"


def reach(trials, least):
    """What is 4 times smaller or larger than all that was measured is too far; of rows only what was learned from."""
    sizes = np.array([[int(v) for v in shape.split(",")[0].split("x")] for shape, count in
                      zip((key[3] for key in trials.keys), trials.count) if count >= 20])
    return (least, *np.maximum(sizes.min(axis=0)[1:] // 4, 1)), tuple(4 * sizes.max(axis=0))


def print_table(trials, forms, names, trees, ranges, args):
    label = f"{trials.arch}_{args.name}".replace("-", "_")
    least, most = reach(trials, args.least)
    fields = [f"{{ TCB_AXIS_KNOB, TCB_KNOB_{f.upper()} }}" if isinstance(f, str) else
              f"{{ TCB_AXIS_TILE_{f[1].upper()}, {LEVELS[f[0]]} }}" for f in forms.fields]
    out = f"""/* SPDX-License-Identifier: MIT
 *
 * Written by scripts/train-defaults.py from {len(trials.x)} trials of {len(trials.keys)} problems; not edited by hand.
 * Of shapes that were left out: results/defaults/learned_{label}.txt
 */
#include "kernels/defaults/learned.h"

/* clang-format off */

static const struct tcb_field fields[] = {{
{fill(fields)}}};

static const int16_t forms[] = {{
"""
    out += "".join("\t" + ", ".join(str(v) for v in name) + ",\n" for name in names)
    out += "};\n\nstatic const struct tcb_learned_tree trees[] = {\n"
    for levels, values in trees:
        parts = [f for f, _ in levels], [b for _, b in levels], values
        out += "\t{ " + ", ".join("{ " + ", ".join(str(v) for v in part) + " }" for part in parts) + " },\n"
    out += "};\n\nstatic const struct tcb_learned_loss losses[] = {\n"
    for m, losses in ranges:
        losses = np.array(losses) - 1
        out += f"\t{{ {m}, {len(losses)}, {losses.mean():.3f}, {np.quantile(losses, 0.9):.3f}, {losses.max():.3f} }},\n"
    out += f"""}};

const struct tcb_learned tcb_learned_{label} = {{
\t"{args.after}", "{trials.arch}", {{ {', '.join(str(v) for v in least)} }}, {{ {', '.join(str(v) for v in most)} }},
\tsizeof losses / sizeof *losses, losses, sizeof fields / sizeof *fields, fields,
\t{len(names)}, forms, sizeof trees / sizeof *trees, trees,
}};
"""
    return out


def sample(trials, args):
    """Some trials of some problems, for tests: the best few of each and others."""
    rng = np.random.default_rng(args.seed)
    groups = [g for g in range(len(trials.keys)) if trials.count[g] >= 60]
    out = ""
    for g in sorted(rng.permutation(groups)[:SAMPLE_PROBLEMS], key=lambda g: trials.keys[g]):
        rows = np.flatnonzero(trials.group == g)
        rows = rows[np.argsort(trials.loss[rows], kind="stable")]
        some = [*rows[:SAMPLE_BEST], *rng.permutation(rows[SAMPLE_BEST:])[:SAMPLE_OTHERS]]
        op, contract, _, shape = trials.keys[g]
        out += "".join(f"{op} {contract} {shape} {trials.loss[r]:.3f} {trials.geometries[r]}\n" for r in some)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", type=pathlib.Path)
    parser.add_argument("--after", default="_matmul", help="what follows the format in the names of the family's ops")
    parser.add_argument("--name", default="quant_matmul", help="of the family, in the table's name")
    parser.add_argument("--least", type=int, default=9, help="rows of a shape")
    parser.add_argument("--out", type=pathlib.Path, help="the C source")
    parser.add_argument("--text", type=pathlib.Path, help="what was judged, a line for each problem")
    parser.add_argument("--sample", type=pathlib.Path, help="some of the trials, for the table's test")
    parser.add_argument("--judged-least", type=int, default=30, help="trials of a problem that is judged")
    parser.add_argument("--folds", type=int, default=6, help="parts that are left out in turn")
    parser.add_argument("--spaces", type=pathlib.Path, help="lines of `tcbtune space --features` of many problems")
    parser.add_argument("--tcbtune", default="tcbtune", help="the program that enumerates them")
    parser.add_argument("--problems", type=int, default=360, help="of which it does")
    parser.add_argument("--forms", type=int, default=110, help="geometries of a contract in the table, at most")
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--rate", type=float, default=0.15)
    parser.add_argument("--columns", type=float, default=0.3, help="share of the features that a tree may ask")
    parser.add_argument("--ridge", type=float, default=3.0)
    parser.add_argument("--clip", type=float, default=4.0, help="worse losses count as this")
    parser.add_argument("--near", type=float, default=0.1, help="weight of the slowest")
    parser.add_argument("--scale", type=float, default=0.4, help="of the weights' decay with the logarithm of the loss")
    parser.add_argument("--evenness", type=float, default=0.5, help="1: problems count the same, 0: trials do")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    trials = Trials(args.features, f"[a-z0-9]+{args.after}", args.least, args.seed)
    forms = Forms(trials)
    judged = {g: loss for g, loss in left_out(trials, args).items() if trials.count[g] >= args.judged_least}
    text, ranges = "", []
    for g in sorted(judged, key=lambda g: trials.keys[g]):
        text += f"{' '.join(trials.keys[g]):64} {100 * (judged[g] - 1):6.1f} % of {trials.count[g]:5}\n"
    for name, low, high in ("all", 0, 1 << 30), ("m <= 64", 0, 64), ("m > 64", 65, 1 << 30):
        some = [loss for g, loss in judged.items() if low <= int(trials.keys[g][3].split("x")[0]) <= high]
        text += f"{name:8} {figures(some)}\n"
        if name != "all":
            ranges.append((high if high < 1 << 30 else 0, some))
    print(text, end="")
    if args.text:
        args.text.write_text(text, encoding="utf-8")
    if args.sample:
        args.sample.write_text(sample(trials, args), encoding="utf-8")
    if args.out:
        trees = learn(trials.x, trials.loss, trials.group, args)
        if not args.spaces.exists():
            draw_spaces(args.spaces, trials, args)
        spaces = Spaces(args.spaces)
        names = [name for contract in ("f16", "q8") for name in distil(spaces, trees, forms, contract, args.forms)]
        args.out.write_text(print_table(trials, forms, names, trees, ranges, args), encoding="utf-8")


if __name__ == "__main__":
    main()
