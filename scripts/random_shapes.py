# SPDX-License-Identifier: MIT
"""Shapes of any op that nobody chose, for the drivers beside this file.

An op is an entry of `tcbtune ops --json`.  Sizes are tiny, odd, beside powers of two, unaligned and large; of the
words that the op takes (`tcbtune help shapes`) each is there or not.  Few are illegal: a K that is not a whole number of
blocks, a head of a size that the op does not have; those must be refused, not crash.
"""
import re
import typing


class Most(typing.NamedTuple):
    """What a shape may be at most."""
    m: int          # rows or tokens
    n: int          # columns, outputs or KV tokens
    k: int          # inputs
    elements: int   # of one operand


def draw_extent(rng, largest):
    """A size up to LARGEST: tiny, beside a power of two, a multiple of 32 or 256, or anything."""
    top = max(1, largest).bit_length() - 1
    kind = rng.randrange(5)
    if kind == 0:
        size = rng.randint(1, 40)
    elif kind == 1:
        size = (1 << rng.randint(0, top)) + rng.randint(-1, 1)
    elif kind == 2:
        size = 32 * rng.randint(1, max(1, largest // 32))
    elif kind == 3:
        size = 256 * rng.randint(1, max(1, largest // 256))
    else:
        size = int(2 ** rng.uniform(0, top + 1))
    return min(max(1, size), max(1, largest))


def draw_number(rng, bounds, n):
    """A number of a word: a small one, or any up to N."""
    number = rng.choice([1, 2, 3, 5, 7, 16, 30, 64, 256]) if rng.random() < 0.5 else draw_extent(rng, n)
    return min(max(bounds["least"], number), bounds["most"])


def draw_word(rng, word, n):
    """The text of WORD, an entry of an op's "words": with what its numbers are, of which each divides the one before."""
    if "types" in word:
        return word["word"] + rng.choice(word["types"])
    numbers = []
    for bounds in reversed(word["numbers"]):
        number = draw_number(rng, bounds, n)
        numbers.insert(0, number * max(1, min(rng.randint(1, 16), bounds["most"] // number)) if numbers else number)
    return word["word"] + "/".join(map(str, numbers))


def draw_values_word(rng, words, k):
    """V's width of WORDS, the words of an op with heads of K values: a part of K's head where V is of K's rows."""
    if "v" not in words or rng.random() < 0.6:
        return []
    step = 32 if k % 32 == 0 and rng.random() < 0.9 else 8  # blocks are of 32
    return [f"v{step * rng.randint(1, max(1, rng.choice([k, 576]) // step))}"]


def draw_words(rng, op, n, k):
    """(query heads, KV heads, sequences, words of the shape) for up to N KV tokens and heads of K values."""
    kv, sequences = rng.choice([1, 1, 2, 3, 4]), rng.choice([1, 1, 1, 2, 3, 5])
    heads = kv * rng.choice([1, 1, 2, 3, 4, 5, 7, 8, 16])
    words = [f"h{heads}/{kv}"] + ([f"b{sequences}"] if sequences > 1 else [])
    taken = {word["word"] for word in op["words"]}
    words += [draw_word(rng, word, n) for word in op["words"]
              if word["word"] not in ("h", "b", "rot", "v") and rng.random() < 0.4]
    if "prefix" in words and "causal" not in words:
        words.append("causal")
    words += draw_values_word(rng, taken, k)
    if "rot" in taken and rng.random() < 0.4:
        words.append(f"rot{8 * rng.randint(1, max(1, (k - 1) // 8))}")
    return heads, kv, sequences, words


def draw_head(rng, op):
    """The values of a head: of attention any multiple of 8 up to 576, most of 32."""
    if rng.random() < 0.05:
        return rng.randint(1, 600)
    if not op["name"].startswith("attention_"):
        return 32 * rng.randint(1, 8)
    if re.search(r"_q\d", op["name"]):  # blocks
        return 32 * rng.randint(1, rng.choice([8, 18]))
    return rng.choice([32 * rng.randint(1, 8), 32 * rng.randint(1, 18), 8 * rng.randint(1, 72), 72, 80, 88, 112, 576])


def draw_cache_shape(rng, op, most):
    """Of attention and of rope_append: a cache of N tokens."""
    name = op["name"]
    k = draw_head(rng, op)
    n = draw_extent(rng, most.n)
    heads, kv, sequences, words = draw_words(rng, op, n, k)
    wide = max([k] + [int(word[1:]) for word in words if re.fullmatch(r"v\d+", word)])
    n = min(n, max(1, most.elements // (sequences * kv * wide)))
    m = rng.choice([1, 1, 1, draw_extent(rng, 32)]) if "decode" in name else draw_extent(rng, most.m)
    m = min(m, max(1, most.elements // (sequences * heads * wide)), n if name.startswith("rope") else m)
    m = min(m, max(1, 2048 * most.elements // (sequences * heads * wide * n)))  # as much work as such a product
    return f"{m}x{n}x{k},{','.join(words)}"


def draw_state_shape(rng, op, most):
    """Of a recurrent op: states of N by K for each head, one for each token of each sequence."""
    k = 16 * rng.randint(1, 16) if rng.random() < 0.97 else rng.randint(1, 300)
    n = draw_extent(rng, most.n)
    heads, kv, sequences, words = draw_words(rng, op, n, k)
    n = min(n, max(1, most.elements // (sequences * heads * k)))
    m = rng.choice([1, 1, 1, rng.randint(1, 16)])
    m = min(m, max(1, most.elements // (sequences * heads * k * n)))
    return f"{m}x{n}x{k},{','.join(words)}"


def block_of(op):
    """Values of a block of OP's weights."""
    kinds = ((1, r"B?F\d+"), (64, "NVFP4"), (128, "FP8"), (32, r"Q[458]_[01]|MXFP4|IQ4_NL"))
    return next((values for values, kind in kinds if re.fullmatch(kind, op["weight_type"])), 256)


def draw_inputs(rng, op, largest):
    """A K of a product: most are whole blocks of its weights."""
    k = draw_extent(rng, largest)
    if not op["weight_type"] or rng.random() < 0.05:
        return k
    block = block_of(op)
    return max(block, k // block * block)


def draw_expert_words(rng, op):
    """The words of a mixture, and how many matrices its stack has."""
    experts = rng.choice([1, 2, 3, 5, 8, 16, 64])
    words = {w["word"]: draw_word(rng, w, 4) for w in op["words"] if w["word"] != "e" and rng.random() < 0.3}
    if "zipf" in words:
        words["zipf"] = f"zipf{rng.randint(1, 99) / 10}"
    spread = [word for word in ("zipf", "even", "one") if word in words]
    for word in spread[1:] if rng.random() < 0.95 else ():  # they exclude each other
        del words[word]
    shared = int(words["shared"].removeprefix("shared")) if "shared" in words else 0
    return [f"e{experts}/{rng.randint(1, min(experts, 8))}", *words.values()], experts + shared


def draw_expert_shape(rng, op, most):
    """Of a product of a mixture: the stack is the largest operand."""
    words, matrices = draw_expert_words(rng, op)
    k = draw_inputs(rng, op, min(most.k, most.elements // matrices))
    n = draw_extent(rng, max(1, min(most.n, most.elements // (matrices * k))))
    m = draw_extent(rng, max(1, min(most.m, most.elements // (8 * max(n, k)))))
    return f"{m}x{n}x{k},{','.join(words)}"


def draw_shape(rng, op, most):
    """A shape of OP, an entry of `tcbtune ops --json`."""
    if any(word["word"] == "e" for word in op["words"]):
        return draw_expert_shape(rng, op, most)
    if op["name"].startswith(("delta_", "ssd_", "short_conv_")):
        return draw_state_shape(rng, op, most)
    if any(word["word"] == "h" for word in op["words"]):
        return draw_cache_shape(rng, op, most)
    if op["shape_form"] == "MxNxU":
        experts = rng.randint(1, 4096)
        return f"{draw_extent(rng, min(most.m, most.elements // experts))}x{experts}x{rng.randint(1, min(experts, 256))}"
    if op["shape_form"] == "MxN":
        m = draw_extent(rng, min(most.elements, most.m))
        shape = f"{m}x{draw_extent(rng, min(most.elements // m, most.n))}"
        return shape + "".join(f",{draw_word(rng, word, 1)}" for word in op["words"] if rng.random() < 0.4)
    if op["name"].endswith("_matvec") and rng.random() < 0.9:
        m = rng.choice([1, rng.randint(1, 16)])
    else:
        m = draw_extent(rng, most.m)
    k = draw_inputs(rng, op, min(most.elements // m, most.k))
    n = draw_extent(rng, max(1, min(most.elements // m, most.elements // k, most.n)))
    return f"{m}x{n}x{k}" + "".join(f",{draw_word(rng, word, 1)}" for word in op["words"] if rng.random() < 0.4)
