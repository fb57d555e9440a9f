# SPDX-License-Identifier: MIT
"""Problems of all ops and formats that nobody chose, from a seed: near what models have and far from it.

An op is an entry of `tcbtune ops --json`.  Kinds of ops come in turn, whatever the number of formats that each has.
"""
import collections
import math
import random
import re
import typing

import random_shapes
from lib.measuring import call_json

OFTEN = {"_matmul", "_matvec", "matmul"}  # come twice in each turn
SIZES = [768, 1024, 2048, 2560, 2880, 3072, 4096, 5120, 6144, 7168, 8192, 11008, 12288, 14336, 18432]  # of models
ROWS_MOST, MATVEC_MOST, ATTEMPTS = 4096, 8, 16


class Problem(typing.NamedTuple):
    op: str
    contract: str
    shape: str

    def words(self):
        return ["--op", self.op, "--contract", self.contract, "--shape", self.shape]

    def __str__(self):
        return " ".join(self)


def kind_of(op):
    """What differs by more than the format: "_experts_matmul" of q4k_experts_matmul, "attention_decode", "reduce2d"."""
    weights = (op["weight_type"] or "").lower().replace("_", "")
    if weights:
        return op["name"].removeprefix(weights)
    return re.match(r"attention_[a-z]+|[a-z0-9]+", op["name"])[0]


def kinds_of(tcbtune, ops=""):
    """{kind: its ops} of TCBTUNE's ops whose names hold the regular expression OPS."""
    kinds = collections.defaultdict(list)
    for op in call_json([tcbtune, "ops", "--json"])["ops"]:
        if re.search(ops, op["name"]):
            kinds[kind_of(op)].append(op)
    return kinds


def draw_rows(rng, most):
    return 1 << rng.randint(0, most.bit_length() - 1) if rng.random() < 0.5 else round(2 ** rng.uniform(0, math.log2(most)))


def draw_size(rng, multiple):
    """A model's, a multiple of 32 or any."""
    size = rng.choice([rng.choice(SIZES), rng.choice(SIZES), 32 * rng.randint(1, 450), rng.randint(1, 20000)])
    return max(multiple, size // multiple * multiple)


def draw_product(rng, op):
    m = draw_rows(rng, MATVEC_MOST if op["name"].endswith("_matvec") else ROWS_MOST)
    return f"{m}x{draw_size(rng, 1)}x{draw_size(rng, random_shapes.block_of(op) if op['weight_type'] else 1)}"


def work_of(shape):
    """What a shape takes, about: its sizes multiplied, by the heads and the sequences that its words say."""
    sizes, *words = shape.split(",")
    work = math.prod(int(size) for size in sizes.split("x"))
    for word in words:
        numbers = re.fullmatch(r"[hbe](\d+)(?:/(\d+))?", word)
        if numbers:
            work *= int(numbers[2] if word[0] == "e" else numbers[1])
    return work


def draw_shape(rng, op, largest):
    words = {word["word"] for word in op["words"]}
    is_product = op["shape_form"] == "MxNxK" and not words & {"h", "e"}
    n = 262144 if op["shape_form"] == "MxN" else 32768
    most = random_shapes.Most(m=ROWS_MOST, n=n, k=16384, elements=int(min(largest, 1 << 26)))
    while True:  # until it is no more work than that
        shape = draw_product(rng, op) if is_product else random_shapes.draw_shape(rng, op, most)
        if work_of(shape) <= largest:
            return shape


def draw_problems(seed, kinds, count, largest):
    """COUNT problems, kinds in turn.  Of each some that come after it where a device has no kernels for it."""
    deck, problems = [], []
    rng = random.Random(seed)
    for i in range(count):
        if not deck:
            deck = sorted([*kinds, *OFTEN & set(kinds)])
            rng.shuffle(deck)
        ops = kinds[deck.pop()]
        others = []
        for attempt in range(ATTEMPTS):
            own = random.Random(f"{seed} {i} {attempt}")
            op = own.choice(ops)
            others.append(Problem(op["name"], own.choice(op["contracts"]), draw_shape(own, op, largest)))
        problems.append(others)
    return problems
