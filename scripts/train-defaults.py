#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Learns which geometry is fast from stored trials and writes the table that the library asks (docs/defaults.md).

    scripts/train-defaults.py FEATURES --like OP --out TABLE.c [--text REPORT] [--rules RULES.json]

FEATURES: what `tcbtune defaults DATABASE... --arch ARCH --format features` prints.  Of these, the trials of ops that
have the space of OP (FMT_matmul for q4k_matmul) with --least rows or more.  RULES: what `tcbtune defaults
DATABASE... --arch ARCH --json` prints, whose rules are judged beside, each on shapes that it was not made of.

What is learned is how much slower a geometry is than the best of its shape: trees that ask the same at all nodes of a
level (so that a leaf's number is the answers), each fitted to what the trees before have left over, in which shapes are
compared with themselves alone.  Judged: shapes are dealt to parts, each part judged by trees and geometries of the
others; of what was measured at a shape the one that is predicted to be the least, over the least.

Needs NumPy.  The same input makes the same table.
"""
import argparse
import collections
import json
import pathlib
import re
import sys

import numpy as np

HOT_SHARE = 1 / 3  # as src/cli/tune/default_cells.c counts losses
DEPTH = 6
ONE = 16384
BINS = 32


class Trials:
    """The lines of FEATURES as arrays."""

    def __init__(self, path, family, least):
        lines = path.read_text(encoding="utf-8").splitlines()
        head = lines[0].split("\t")
        self.names = head[9:]
        rows = [line.split("\t") for line in lines[1:]]
        rows = [r for r in rows if re.fullmatch(family, r[0]) and int(r[4].split("x")[0]) >= least]
        self.arch = rows[0][2]
        self.ops = [r[0] for r in rows]
        self.contracts = [r[1] for r in rows]
        self.devices = [r[3] for r in rows]
        self.shapes = [r[4] for r in rows]
        self.geometries = [r[8] for r in rows]
        self.x = np.array([[int(v) for v in r[9:]] for r in rows], np.int16)
        cold, hot = np.array([float(r[6]) for r in rows]), np.array([float(r[7]) for r in rows])
        groups = {}
        self.group = np.array([groups.setdefault(key, len(groups)) for key in
                               zip(self.ops, self.contracts, self.devices, self.shapes)])
        self.keys = list(groups)
        self.loss = np.maximum(over_best(cold, self.group), 1 + HOT_SHARE * (over_best(hot, self.group) - 1))
        self.count = np.bincount(self.group)


def over_best(times, group):
    """Times over the least of their group; 1 where none was measured, infinite where one was not."""
    best = np.full(group.max() + 1, np.inf)
    np.minimum.at(best, group, np.where(times > 0, times, np.inf))
    best = best[group]
    return np.where(np.isinf(best), 1.0, np.where(times > 0, times / best, np.inf))


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


# --- judgement ---

def figures(losses):
    losses = np.array(losses) - 1
    return f"median {100 * np.median(losses):5.1f} %, p90 {100 * np.quantile(losses, 0.9):5.1f} %, " \
           f"worst {100 * losses.max():6.1f} %, {len(losses)} shapes"


def left_out(trials, args):
    """{group: the loss of what is predicted to be the least}, by trees without its shape."""
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", type=pathlib.Path)
    parser.add_argument("--family", default=r"[a-z0-9]+(?<!experts)_matmul")
    parser.add_argument("--least", type=int, default=9)
    parser.add_argument("--judged-least", type=int, default=30)
    parser.add_argument("--folds", type=int, default=8)
    parser.add_argument("--trees", type=int, default=150)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--columns", type=float, default=0.4)
    parser.add_argument("--ridge", type=float, default=3.0)
    parser.add_argument("--clip", type=float, default=4.0)
    parser.add_argument("--near", type=float, default=0.1)
    parser.add_argument("--scale", type=float, default=0.4)
    parser.add_argument("--evenness", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    trials = Trials(args.features, args.family, args.least)
    losses = left_out(trials, args)
    for name, low, high in ("all", 0, 1 << 30), ("m <= 64", 0, 64), ("more", 65, 1 << 30):
        some = [loss for g, loss in losses.items() if trials.count[g] >= args.judged_least and
                low <= int(trials.keys[g][3].split("x")[0]) <= high]
        print(f"{name:10} {figures(some)}")


if __name__ == "__main__":
    main()
