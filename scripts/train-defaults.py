#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Learns which geometry is fast from stored trials and writes the table that the library asks (docs/defaults.md).

    scripts/train-defaults.py FEATURES --family NAME [--carried CARRIED] [--bench FILE] [--tcbtune PROGRAM]
        [--text REPORT] [--sample TRIALS] [--out TABLE.c]

FEATURES and CARRIED: what `tcbtune defaults DATABASE... --arch ARCH --format features` and `--format carried` print.  Of
these, what is of the family: ops whose geometries are of the same space.  FILE: lines of `tcbtune bench --json`, whose
times count, too.  The table's geometries are those that were good at some problem and are predicted to be near the least
of all such at others.

What is learned is how much slower a geometry is than the best of its shape: trees that ask the same at all nodes of a
level (so that a leaf's number is the answers), each fitted to what the trees before have left over, in which shapes are
compared with themselves alone.  Judged: shapes are dealt to parts, each part judged by trees of the others; of what was
measured at a shape the one that is predicted to be the least, over the least.  Beside it what the default without the
table loses, where that was measured, and how both do together: the default stays unless another is predicted to take so
much less.  That margin is the one of --margins that loses the least in the judgement.

Needs NumPy.  The same input makes the same table.
"""
import argparse
import collections
import json
import lzma
import math
import pathlib
import re
import subprocess
import sys

import numpy as np

HOT_SHARE = 1 / 3  # as src/cli/tune/default_cells.c counts losses
DEPTH = 6
ONE = 16384
GOOD = 1.3  # as src/cli/tune/default_features.c
BINS = 32
SAMPLE_PROBLEMS, SAMPLE_BEST, SAMPLE_OTHERS = 12, 6, 18
FIRST_COLUMN = 11  # of a line: before it what a trial is and took, from it on features
FIRST = 8  # trials that a sweep begins with, as TCB_STARTS_LEARNED
FAILED = 10  # at most so much is lost where a mean is taken
FAR = 0.5  # logarithm of a loss from which on a geometry is as good as none
BEST_KEPT, OTHERS_KEPT = 250, 350  # a few problems of thousands would be all that counts
CONTRACTS = ("f32", "f16", "q8")  # enum tcb_contract


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


class Line:
    """A line of FEATURES: what was tried, and what it took."""

    def __init__(self, text):
        words = text.split("\t", FIRST_COLUMN)
        self.family, self.op, self.contract, self.arch, self.device, self.shape = words[:6]
        self.cold, self.hot, self.default, self.geometry = float(words[7]), float(words[8]), int(words[9]), words[10]
        self.numbers = words[11]

    def features(self):
        return np.array(self.numbers.split("\t"), np.int16)


def bench_lines(path, args, device):
    """What `tcbtune bench --json` found, as lines; and of each of its problems the lines of the whole space."""
    lines, spaces = [], []
    with lzma.open(path, "rt", encoding="utf-8") as results:
        for result in (json.loads(line) for line in results if line.startswith("{")):
            ns = collections.defaultdict(dict)
            for one in result["results"]:
                problem = (one["op"], one["contract"], one["shape"]["text"])
                for row in one["rows"]:
                    ns[problem, row["geometry"]][one["state"]] = row["ns"]["median"]
            for op, contract, shape in {problem for problem, _ in ns}:
                words = ["--op", op, "--contract", contract, "--device", result["device"], "--shape", shape]
                run = subprocess.run([args.tcbtune, "space", *words, "--features"], capture_output=True, text=True)
                spaces.append([Line(row) for row in run.stdout.splitlines()[1:]])
                for line in spaces[-1]:
                    found = ns.get(((op, contract, shape), line.geometry))
                    if found:
                        line.cold, line.hot, line.device = found["cold"], found["hot"], device
                        lines.append(line)
    return lines, spaces


class Trials:
    """The lines of one family as arrays."""

    def __init__(self, args):
        with open(args.features, encoding="utf-8") as text:
            self.names = next(text).rstrip("\n").split("\t")[FIRST_COLUMN:]
            lines = [Line(line.rstrip("\n")) for line in text if line.startswith(args.family + "\t")]
        self.spaces = []
        for path in args.bench:
            more, spaces = bench_lines(path, args, lines[0].device)
            lines += [line for line in more if line.family == args.family]
            self.spaces += [space for space in spaces if space and space[0].family == args.family]
        lines = [line for line in lines if args.least <= int(line.shape.split("x")[0]) and
                 re.fullmatch(args.contracts, line.contract)]
        if not lines:
            sys.exit(f"{args.features} has no trials of {args.family}")
        lines = list({(line.op, line.contract, line.device, line.shape, line.geometry): line for line in lines}.values())
        self.arch = lines[0].arch
        x = np.array([line.features() for line in lines])
        threads = x[:, self.names.index("threads_all")]
        groups = {}
        group = np.array([groups.setdefault((line.op, line.contract, line.device, line.shape, str(t)), len(groups))
                          for line, t in zip(lines, threads)])
        self.keys = list(groups)
        cold, hot = np.array([line.cold for line in lines]), np.array([line.hot for line in lines])
        loss = np.maximum(over_best(cold, group), 1 + HOT_SHARE * (over_best(hot, group) - 1))
        self.default = np.array([line.default for line in lines])
        kept = np.flatnonzero(thinned(loss, group, args.seed) | (self.default > 0))
        self.x, self.loss, self.group, self.default = x[kept], loss[kept], group[kept], self.default[kept]
        self.shapes = [lines[i].shape for i in kept]
        self.geometries = [lines[i].geometry for i in kept]
        self.contracts = sorted({line.contract for line in lines}, key=CONTRACTS.index)
        self.count = np.bincount(self.group, minlength=len(self.keys))

    def default_of(self, rows):
        """Which of ROWS, all of a problem, is what the default is without a table; None: it was not measured."""
        of_rule, of_op = rows[self.default[rows] == 2], rows[self.default[rows] == 1]
        return of_rule[0] if len(of_rule) else of_op[0] if len(of_op) else None


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


def sizes_of(shape):
    sizes = [int(v) for v in shape.split(",")[0].split("x")]
    return dict(zip("mnk", sizes + [0] * (3 - len(sizes))))


class Forms:
    """Geometries without what follows from the shape: tiles that are as large as it are 0."""

    def __init__(self, trials):
        knobs = set()
        first_knob = trials.names.index("isa")
        for text in set(trials.geometries):
            knobs.update(key for key in numbers(text) if isinstance(key, str))
        self.knobs = [name for name in trials.names[first_knob:] if name in knobs and name not in WORDS]
        self.fields = WORDS + TILES + self.knobs
        self.column = {name: first_knob + trials.names[first_knob:].index(name) for name in WORDS + self.knobs}

    def tile_of(self, field, value, size):
        level, d = field
        if size and value >= size and (level == "macro" or (level == "midi" and d == "k")):
            return 0
        return value

    def form_of(self, shape, geometry, x):
        tiles, sizes = numbers(geometry), sizes_of(shape)
        return tuple(int(x[self.column[f]]) if f in self.column else self.tile_of(f, tiles[f], sizes[f[1]])
                     for f in self.fields)


def cover(losses, problems, most):
    """Of {form: [(problem, loss)]} MOST forms: those of which each problem's best loses the least, summed over PROBLEMS,
    then as many again of the others, for problems where the first are not legal, and so on."""
    left = {form: (np.array([p for p, _ in rows]), np.array([loss for _, loss in rows])) for form, rows in losses.items()}
    chosen, first = [], ""
    while len(chosen) < most and left:
        best = np.full(problems, FAR)
        before = len(chosen)
        while len(chosen) < most:
            names = sorted(left)
            gains = [np.maximum(best[left[name][0]] - left[name][1], 0).sum() for name in names]
            at = int(np.argmax(gains)) if gains else 0
            if not gains or gains[at] <= 1e-3:
                break
            chosen.append(names[at])
            where, loss = left.pop(names[at])
            best[where] = np.minimum(best[where], loss)
        first = first or f"{len(chosen)} that lose {100 * best.mean():.1f} %, at most {100 * best.max():.1f} %"
        if len(chosen) == before:
            break
    print(f"{len(chosen)} geometries for {problems} problems; {first}")
    return chosen


def distil(trials, trees, forms, args):
    """Forms that are predicted to be near the least of all at each problem, of each contract so many."""
    losses = {contract: collections.defaultdict(list) for contract in trials.contracts}
    problems = dict.fromkeys(trials.contracts, 0)

    # What was benched is in no database, so that it was not carried to others.
    good = {forms.form_of(shape, geometry, x) for shape, geometry, x, loss in
            zip(trials.shapes, trials.geometries, trials.x, trials.loss) if loss <= GOOD}

    def add(lines):
        x = np.array([line.features() for line in lines])
        score = predict(trees, x) / ONE
        contract = lines[0].contract
        for loss, line, numbers_of_it in zip(score - score.min(), lines, x):
            if loss < FAR:
                losses[contract][forms.form_of(line.shape, line.geometry, numbers_of_it)].append((problems[contract], loss))
        problems[contract] += 1

    lines, last = [], None
    with open(args.carried, encoding="utf-8") as text:
        next(text)
        for row in text:
            line = Line(row.rstrip("\n"))
            problem = (line.op, line.contract, line.device, line.shape)
            if lines and problem != last:
                add(lines)
                lines = []
            last = problem
            if line.contract in losses and args.least <= sizes_of(line.shape)["m"]:
                lines.append(line)
    if lines:
        add(lines)
    for space in trials.spaces:
        add([line for line in space if forms.form_of(line.shape, line.geometry, line.features()) in good])
    chosen = []
    for contract in trials.contracts:
        chosen += cover(losses[contract], problems[contract], args.forms)
    return list(dict.fromkeys(chosen))


# --- judgement ---

def figures(losses):
    losses = np.array(losses) - 1
    if not len(losses):
        return "none"
    return f"median {100 * np.median(losses):5.1f} %, p90 {100 * np.quantile(losses, 0.9):5.1f} %, " \
           f"worst {100 * losses.max():6.1f} %, {len(losses)} problems"


def best_of_chance(losses):
    """What is expected of the least of FIRST of LOSSES, drawn at random."""
    ways = [math.comb(len(losses) - 1 - i, FIRST - 1) for i in range(len(losses))]
    return float(np.minimum(np.sort(losses), FAILED) @ (np.array(ways) / sum(ways)))


class Judged:
    """Of a problem, by trees without its shape."""

    def __init__(self, trials, rows, score):
        best, default = rows[score[rows].argmin()], trials.default_of(rows)
        self.loss = trials.loss[best]
        self.of_eight = trials.loss[rows[np.argsort(score[rows], kind="stable")[:FIRST]]].min()
        self.of_chance = best_of_chance(trials.loss[rows])
        self.default = None if default is None else trials.loss[default]
        self.gain = None if default is None else score[default] - score[best]

    def together(self, margin):
        """What is lost where the default stays, unless the best is predicted to take so much less."""
        return self.loss if self.default is None or self.gain >= margin else self.default


def left_out(trials, args):
    """{group: what is lost there} by trees without its shape."""
    shapes = sorted(set(trials.shapes))
    order = np.random.default_rng(args.seed).permutation(len(shapes))
    part = {shapes[s]: i % args.folds for i, s in enumerate(order)}
    parts = np.array([part[s] for s in trials.shapes])
    judged = {}
    for p in range(args.folds):
        train, held = parts != p, parts == p
        if not held.any() or not train.any():
            continue
        _, group = np.unique(trials.group[train], return_inverse=True)
        trees = learn(trials.x[train], trials.loss[train], group, args)
        score = predict(trees, trials.x) / ONE
        for g in np.unique(trials.group[held]):
            if trials.count[g] >= args.judged_least:
                judged[g] = Judged(trials, np.flatnonzero(trials.group == g), score)
    return judged


def choose_margin(judged, margins):
    """The one by which the least is lost: by the mean logarithm and the worst tenth."""
    def lost(margin):
        losses = np.sort(np.log([j.together(margin) for j in judged]))
        return losses.mean() + losses[int(0.9 * len(losses)):].mean()
    return min(margins, key=lost)


def judge(trials, args):
    """The report, the margin, and of ranges of m what is lost."""
    judged = left_out(trials, args)
    margin = choose_margin(list(judged.values()), args.margins)
    text, ranges = "", []
    for g in sorted(judged, key=lambda g: trials.keys[g]):
        one = judged[g]
        default = "      ?" if one.default is None else f"{100 * (one.default - 1):7.1f}"
        text += f"{' '.join(trials.keys[g]):72} {100 * (one.together(margin) - 1):6.1f} %, default {default} % of " \
                f"{trials.count[g]:5}\n"
    both = [one for one in judged.values() if one.default is not None]
    for name, low, high in ("all", 0, 1 << 30), ("m <= 64", 0, 64), ("m > 64", 65, 1 << 30):
        some = [j.together(margin) for g, j in judged.items() if low <= int(trials.keys[g][3].split("x")[0]) <= high]
        text += f"{name:36} {figures(some)}\n"
        if name != "all" and some:
            ranges.append((high if high < 1 << 30 else 0, some))
    text += f"{'best of the eight least':36} {figures([one.of_eight for one in judged.values()])}\n"
    text += f"{'best of eight at random':36} {figures([one.of_chance for one in judged.values()])}\n"
    text += f"{'where the default was measured':36} {figures([one.together(margin) for one in both])}\n"
    text += f"{'  the default':36} {figures([one.default for one in both])}\n"
    text += f"the default stays unless another takes {100 * margin:.0f} % less\n"
    return text, margin, ranges


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
    """What is 4 times smaller or larger than all that was measured is too far; of rows only what was learned from.  More
    columns are more blocks of the same, and vocabularies have many: 16 times as many are not too far."""
    sizes = np.array([list(sizes_of(key[3]).values()) for key, count in zip(trials.keys, trials.count) if count >= 5])
    low = np.maximum([max(v // 4, 1) if v else 0 for v in sizes.min(axis=0)], (least, 0, 0))
    return tuple(low), tuple(sizes.max(axis=0) * (4, 16, 4))


def words_of(trials):
    """TCB_WORD_ names of all words that were learned from, as the sum of their bits."""
    said = {word for key in trials.keys for word in re.findall(r"[a-z]+", ",".join(key[3].split(",")[1:]))}
    names = {"h": ("QUERY", "KV", "SEQUENCES"), "b": ("SEQUENCES",), "p": ("PAGE",), "w": ("WINDOW",), "c": ("CAP",),
             "e": ("EXPERTS", "USED", "SKEW", "EVEN"), "zipf": ("SKEW",), "rot": ("ROTATED",), "v": ("VALUES",),
             "vk": ("VIEW",), "x": ("X_TYPE",), "xf": ("X_TYPE",), "xbf": ("X_TYPE",), "yf": ("Y_TYPE",), "ybf": ("Y_TYPE",)}
    words = sorted({name for word in said for name in names.get(word, (word.upper(),))})
    return " | ".join(f"UINT64_C(1) << TCB_WORD_{name}" for name in words) or "0"


def print_table(trials, forms, names, trees, margin, ranges, args):
    label = f"{trials.arch}_{args.family}".replace("-", "_")
    least, most = reach(trials, args.least)
    if ranges[-1][0]:
        ranges = [*ranges[:-1], (0, ranges[-1][1])]
    fields = [f"{{ TCB_AXIS_KNOB, TCB_KNOB_{f.upper()} }}" if isinstance(f, str) else
              f"{{ TCB_AXIS_TILE_{f[1].upper()}, {LEVELS[f[0]]} }}" for f in forms.fields]
    contracts = " | ".join(f"1u << TCB_CONTRACT_{contract.upper()}" for contract in trials.contracts)
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
\t.family = "{args.family}",
\t.arch = "{trials.arch}",
\t.contracts = {contracts},
\t.words = {words_of(trials)},
\t.margin = {round(margin * ONE)},
\t.least = {{ {', '.join(str(v) for v in least)} }},
\t.most = {{ {', '.join(str(v) for v in most)} }},
\t.loss_count = sizeof losses / sizeof *losses,
\t.losses = losses,
\t.field_count = sizeof fields / sizeof *fields,
\t.fields = fields,
\t.form_count = {len(names)},
\t.forms = forms,
\t.tree_count = sizeof trees / sizeof *trees,
\t.trees = trees,
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
        op, contract, _, shape, _ = trials.keys[g]
        out += "".join(f"{op} {contract} {shape} {trials.loss[r]:.3f} {trials.geometries[r]}\n" for r in some)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", type=pathlib.Path)
    parser.add_argument("--family", required=True, help="as the first column has it")
    parser.add_argument("--contracts", default=".*", help="a regular expression of those that are learned")
    parser.add_argument("--least", type=int, default=1, help="rows of a shape")
    parser.add_argument("--bench", type=pathlib.Path, action="append", default=[], help="lines of `tcbtune bench --json`, .xz")
    parser.add_argument("--out", type=pathlib.Path, help="the C source")
    parser.add_argument("--text", type=pathlib.Path, help="what was judged, a line for each problem")
    parser.add_argument("--sample", type=pathlib.Path, help="some of the trials, for the table's test")
    parser.add_argument("--judged-least", type=int, default=15, help="trials of a problem that is judged")
    parser.add_argument("--folds", type=int, default=6, help="parts that are left out in turn")
    parser.add_argument("--carried", type=pathlib.Path, help="lines of `tcbtune defaults --format carried`")
    parser.add_argument("--tcbtune", default="tcbtune", help="the program that says features of what bench measured")
    parser.add_argument("--forms", type=int, default=80, help="geometries of a contract in the table, at most")
    parser.add_argument("--margins", type=lambda text: [float(v) for v in text.split(",")], default=[0.0, 0.03, 0.06, 0.1, 0.15])
    parser.add_argument("--trees", type=int, default=400)
    parser.add_argument("--rate", type=float, default=0.08)
    parser.add_argument("--columns", type=float, default=0.3, help="share of the features that a tree may ask")
    parser.add_argument("--ridge", type=float, default=3.0)
    parser.add_argument("--clip", type=float, default=4.0, help="worse losses count as this")
    parser.add_argument("--near", type=float, default=0.02, help="weight of the slowest")
    parser.add_argument("--scale", type=float, default=0.15, help="of the weights' decay with the logarithm of the loss")
    parser.add_argument("--evenness", type=float, default=0.5, help="1: problems count the same, 0: trials do")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    trials = Trials(args)
    text, margin, ranges = judge(trials, args)
    print(text, end="")
    if args.text:
        args.text.write_text(text, encoding="utf-8")
    if args.sample:
        args.sample.write_text(sample(trials, args), encoding="utf-8")
    if args.out:
        forms = Forms(trials)
        trees = learn(trials.x, trials.loss, trials.group, args)
        names = distil(trials, trees, forms, args)
        args.out.write_text(print_table(trials, forms, names, trees, margin, ranges, args), encoding="utf-8")


if __name__ == "__main__":
    main()
