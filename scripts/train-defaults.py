#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Learns which geometry is fast from stored trials and writes the table that the library asks (docs/defaults.md).

    scripts/train-defaults.py FEATURES --like OP --name FAMILY [--out TABLE.c] [--text REPORT]

FEATURES: what `tcbtune defaults DATABASE... --arch ARCH --format features` prints.  Of these, the trials of ops that
have the space of OP (--family says which) with --least rows or more.

What is learned is how much slower a geometry is than the best of its shape: trees that ask the same at all nodes of a
level (so that a leaf's number is the answers), each fitted to what the trees before have left over, in which shapes are
compared with themselves alone.  Judged: shapes are dealt to parts, each part judged by trees and geometries of the
others; of what was measured at a shape the one that is predicted to be the least, over the least.

Needs NumPy.  The same input makes the same table.
"""
import argparse
import collections
import pathlib
import re

import numpy as np

HOT_SHARE = 1 / 3  # as src/cli/tune/default_cells.c counts losses
DEPTH = 6
ONE = 16384
BINS = 32
JOIN_NONE, JOIN_CLUSTER, JOIN_LAST = 0, 1, 4  # enum tcb_join
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
        self.names = head[9:]
        rows = [line.split("\t") for line in lines[1:]]
        rows = [r for r in rows if re.fullmatch(family, r[0]) and int(r[4].split("x")[0]) >= least]
        self.arch = rows[0][2]
        self.shapes = [r[4] for r in rows]
        self.geometries = [r[8] for r in rows]
        self.x = np.array([[int(v) for v in r[9:]] for r in rows], np.int16)
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
        cache = {}
        self.of = []
        for text, x in zip(trials.geometries, trials.x):
            if text not in cache:
                tiles = numbers(text)
                cache[text] = tuple(int(x[column[f]]) if f in column else
                                    0 if f[0] == "macro" or f == ("midi", "k") else tiles[f] for f in self.fields)
            self.of.append(cache[text])

    def choose(self, trials, rows, most, unknown=1.5):
        """Those that lose the least over all shapes, each shape having the best of them; then, without these, again."""
        groups = np.unique(trials.group[rows])
        place = {g: i for i, g in enumerate(groups)}
        cells = collections.defaultdict(lambda: np.full(len(groups), unknown))
        for r in rows:
            cell = cells[self.of[r]]
            at = place[trials.group[r]]
            cell[at] = min(trials.loss[r], unknown)
        names = sorted(cells)
        table = np.array([cells[name] for name in names])
        table = np.minimum(table, unknown)
        chosen = []
        while len(chosen) < most:
            best = np.full(len(groups), unknown)
            before = len(chosen)
            while len(chosen) < most:
                gain = np.maximum(best - table, 0).sum(axis=1)
                gain[chosen] = -1
                at = int(gain.argmax())
                if gain[at] <= 1e-9:
                    break
                chosen.append(at)
                best = np.minimum(best, table[at])
            if len(chosen) == before:
                break
        return [names[i] for i in chosen]

    def vary(self, names, most):
        """NAMES, and after each those with other slices of k: they divide others, and fill other numbers of
        multiprocessors.  Of each contract, which layouts tell apart, MOST."""
        out, count = [], collections.Counter()
        at = {name: self.fields.index(name) for name in ("layout", "splitk", "join", "blocks")}
        for name in names:
            some = [name]
            for splitk, join in (1, JOIN_NONE), (2, JOIN_CLUSTER), (4, JOIN_CLUSTER), (8, JOIN_LAST):
                for blocks in sorted({0, name[at["blocks"]]}):
                    other = list(name)
                    other[at["splitk"]], other[at["blocks"]] = splitk, blocks
                    other[at["join"]] = join if splitk != name[at["splitk"]] else name[at["join"]]
                    some.append(tuple(other))
            for form in some:
                if form not in out and count[form[at["layout"]]] < most:
                    out.append(form)
                    count[form[at["layout"]]] += 1
        return out


# --- judgement ---

def figures(losses):
    losses = np.array(losses) - 1
    return f"median {100 * np.median(losses):5.1f} %, p90 {100 * np.quantile(losses, 0.9):5.1f} %, " \
           f"worst {100 * losses.max():6.1f} %, {len(losses)} shapes"


class Judged:
    """A group of trials that was left out: the least of all losses where it was predicted to be, of what is in a table."""

    def __init__(self, loss, among, of):
        self.loss, self.among, self.of = loss, among, of


def left_out(trials, forms, args):
    """{group: what is predicted to be the least loses there}, by trees and geometries without its shape."""
    shapes = sorted(set(trials.shapes))
    order = np.random.default_rng(args.seed).permutation(len(shapes))
    part = {shapes[s]: i % args.folds for i, s in enumerate(order)}
    parts = np.array([part[s] for s in trials.shapes])
    judged = {}
    for p in range(args.folds):
        train, held = parts != p, parts == p
        _, group = np.unique(trials.group[train], return_inverse=True)
        trees = learn(trials.x[train], trials.loss[train], group, args)
        score = predict(trees, trials.x)
        names = set(forms.choose(trials, np.flatnonzero(train), args.forms))
        for g in np.unique(trials.group[held]):
            rows = np.flatnonzero(trials.group == g)
            within = rows[[forms.of[r] in names for r in rows]]
            judged[g] = Judged(trials.loss[rows[score[rows].argmin()]],
                               trials.loss[within[score[within].argmin()]] if len(within) else np.nan, len(within))
    return judged


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
#include "kernels/learned.h"

/* clang-format off */

static const struct tcb_field fields[] = {{
{fill(fields)}}};

static const int16_t forms[] = {{
"""
    out += "".join("\t" + ", ".join(str(v) for v in name) + ",\n" for name in names)
    out += "};\n\nstatic const struct tcb_learned_tree trees[] = {\n"
    for levels, values in trees:
        out += "\t{ { " + ", ".join(str(f) for f, _ in levels) + " }, { " + ", ".join(str(b) for _, b in levels) + " }, {\n"
        out += fill([str(v) for v in values]) + "\t} },\n"
    out += "};\n\nstatic const struct tcb_learned_loss losses[] = {\n"
    for m, losses in ranges:
        losses = np.array(losses) - 1
        out += f"\t{{ {m}, {len(losses)}, {np.median(losses):.3f}, {np.quantile(losses, 0.9):.3f}, {losses.max():.3f} }},\n"
    out += f"""}};

const struct tcb_learned tcb_learned_{label} = {{
\t"{args.like}", "{trials.arch}", {{ {', '.join(str(v) for v in least)} }}, {{ {', '.join(str(v) for v in most)} }},
\tsizeof losses / sizeof *losses, losses, sizeof fields / sizeof *fields, fields,
\t{len(names)}, forms, sizeof trees / sizeof *trees, trees,
}};
"""
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", type=pathlib.Path)
    parser.add_argument("--family", default=r"[a-z0-9]+(?<!experts)_matmul", help="ops, as a regular expression")
    parser.add_argument("--like", default="q4k_matmul", help="one of them that the table names")
    parser.add_argument("--name", default="quant_matmul", help="of the family, in the table's name")
    parser.add_argument("--least", type=int, default=9, help="rows of a shape")
    parser.add_argument("--out", type=pathlib.Path, help="the C source")
    parser.add_argument("--text", type=pathlib.Path, help="what was judged, a line for each problem")
    parser.add_argument("--judged-least", type=int, default=30, help="trials of a problem that is judged")
    parser.add_argument("--folds", type=int, default=6, help="parts that are left out in turn")
    parser.add_argument("--forms", type=int, default=160, help="geometries in the table, at most")
    parser.add_argument("--variants", type=int, default=110, help="of these with other slices, of each contract")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rate", type=float, default=0.15)
    parser.add_argument("--columns", type=float, default=0.3, help="share of the features that a tree may ask")
    parser.add_argument("--ridge", type=float, default=3.0)
    parser.add_argument("--clip", type=float, default=4.0, help="worse losses count as this")
    parser.add_argument("--near", type=float, default=0.1, help="weight of the slowest")
    parser.add_argument("--scale", type=float, default=0.4, help="of the weights' decay with the logarithm of the loss")
    parser.add_argument("--evenness", type=float, default=0.5, help="1: problems count the same, 0: trials do")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    trials = Trials(args.features, args.family, args.least, args.seed)
    forms = Forms(trials)
    judged = left_out(trials, forms, args)
    text, ranges = "", []
    kept = {g: j for g, j in judged.items() if trials.count[g] >= args.judged_least}
    for g in sorted(kept, key=lambda g: trials.keys[g]):
        j = kept[g]
        among = f"{100 * (j.among - 1):6.1f} % of {j.of}" if j.of else "     ?"
        text += f"{' '.join(trials.keys[g]):64} {100 * (j.loss - 1):6.1f} % of {trials.count[g]:5}, in the table {among}\n"
    for name, low, high in ("all", 0, 1 << 30), ("m <= 64", 0, 64), ("m > 64", 65, 1 << 30):
        some = [j for g, j in kept.items() if low <= int(trials.keys[g][3].split("x")[0]) <= high]
        text += f"{name:8} of all that was measured      {figures([j.loss for j in some])}\n"
        text += f"{name:8} of what is in the table too   {figures([j.among for j in some if j.of >= 3])}\n"
        if name != "all":
            ranges.append((high if high < 1 << 30 else 0, [j.loss for j in some]))
    print(text, end="")
    if args.text:
        args.text.write_text(text, encoding="utf-8")
    if args.out:
        trees = learn(trials.x, trials.loss, trials.group, args)
        names = forms.vary(forms.choose(trials, np.arange(len(trials.x)), args.forms), args.variants)
        args.out.write_text(print_table(trials, forms, names, trees, ranges, args), encoding="utf-8")


if __name__ == "__main__":
    main()
