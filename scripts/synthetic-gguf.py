#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a model that nobody trained: the shapes, names and formats of a real one, weights of chance or none.

    scripts/synthetic-gguf.py OUT.gguf [--data] [--layers 32] [--hidden 4096] [--heads 32] [--kv-heads 8]
        [--head-dim HIDDEN/HEADS] [--ffn 14336] [--vocab 128256] [--experts 0] [--experts-used 2] [--tied]
        [--type TYPE | --mix 2bit] [--context 2048] [--seed 1] [--window 0] [--architecture llama]

The defaults are Llama 3 8B.  Weights are in the mix that llama.cpp calls Q4_K_M: Q4_K, with Q6_K for the output and, in
half of the layers, for attn_v and ffn_down; where K is not a multiple of 256 they are Q8_0.  --type gives all of them one
type instead, --mix 2bit a mix of IQ2_XS, IQ3_XXS, Q2_K, Q3_K, Q4_K and Q6_K.  --tied leaves output.weight out; --experts
makes each layer a mixture.  --architecture also has what else layers of qwen2, qwen3, qwen3moe, qwen3next, qwen35, qwen35moe,
gpt-oss, gemma3 and gemma4 have (norms of q and k, gates, biases, sinks, norms behind attention and feed-forward, a shared
expert, of gemma4 experts that are half as wide as the dense part beside them, and in three of four layers a gated delta
net, of as many heads of keys as there are heads, twice as many of values and half their size), and --window the size of
their windows; any other name has the tensors of llama.

Without --data the file is sparse: as long as a real one, but of weights it holds only the norms, and takes some
kilobytes of disk.  That does for 'tcbtune model'.  With --data norms are about 1, biases and sinks small, and every weight is a valid random block, drawn so that
y = W x is about as large as x, and the model runs in llama.cpp: its vocabulary is <unk>, <s>, </s>, the 256 bytes, and
made-up words up to --vocab.  Equal arguments make equal files.

Exit: 0 written; 2 wrong usage.
"""
import argparse
import math
import random
import struct
import sys

ALIGNMENT = 32
CHUNK = 1 << 16  # blocks that are drawn at once
# ggml's number, values of a block, bytes of a block
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144),
         "Q6_K": (14, 256, 210), "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "IQ2_XS": (17, 256, 74),
         "IQ3_XXS": (18, 256, 98), "IQ3_S": (21, 256, 110), "MXFP4": (39, 32, 17)}
# Of blocks that may hold any bytes beside their scales: where d is, and the standard deviation of values for d = 1, of
# Q2_K with dmin, which is behind d, of 1.5.
ANY_BYTES = {"Q2_K": (80, 13.7), "Q3_K": (108, 43.3), "IQ2_XS": (0, 58.2), "IQ3_XXS": (0, 143.6), "IQ3_S": (0, 137.6)}
# As the 2-bit files that are downloaded most: few bits for what is large, more for what matters.
MIXES = {"2bit": {"token_embd": "Q2_K", "attn_q": "IQ2_XS", "attn_k": "IQ2_XS", "attn_v": "Q4_K", "attn_output": "IQ3_XXS",
                  "ffn_gate": "IQ2_XS", "ffn_up": "IQ2_XS", "ffn_down": "Q3_K", "output": "Q6_K"}}
# Numbers of enum llama_ftype, which other programs show.
FILE_TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q8_0": 7, "Q6_K": 18}
Q4_K_M = 15
UNKNOWN, CONTROL, BYTE, NORMAL = 2, 3, 6, 1  # token types


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


VALUES = {"u32": (4, lambda v: struct.pack("<I", v)), "i32": (5, lambda v: struct.pack("<i", v)),
          "f32": (6, lambda v: struct.pack("<f", v)), "bool": (7, lambda v: struct.pack("<?", v)),
          "string": (8, string)}


def value(key, kind, payload):
    """One key of the metadata; a list is an array of KIND."""
    number, pack = VALUES[kind]
    if not isinstance(payload, list):
        return string(key) + struct.pack("<I", number) + pack(payload)
    return string(key) + struct.pack("<IIQ", 9, number, len(payload)) + b"".join(pack(item) for item in payload)


def vocabulary(size):
    """Texts, scores and types of SIZE tokens."""
    tokens = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
    tokens += [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
    tokens += [(f"\u2581w{i}", NORMAL) for i in range(len(tokens), size)]
    return [text for text, _ in tokens], [-float(i) for i in range(size)], [kind for _, kind in tokens]


def metadata(args):
    """All keys, encoded, and how many."""
    texts, scores, kinds = vocabulary(args.vocab)
    file_type = FILE_TYPES.get(args.type, Q4_K_M)
    keys = [
        ("general.architecture", "string", args.architecture), ("general.name", "string", "synthetic"),
        ("general.file_type", "u32", file_type), ("general.quantization_version", "u32", 2),
        ("general.alignment", "u32", ALIGNMENT), ("llama.vocab_size", "u32", args.vocab),
        ("llama.block_count", "u32", args.layers), ("llama.context_length", "u32", args.context),
        ("llama.embedding_length", "u32", args.hidden), ("llama.feed_forward_length", "u32", args.ffn),
        ("llama.attention.head_count", "u32", args.heads), ("llama.attention.head_count_kv", "u32", args.kv_heads),
        ("llama.attention.key_length", "u32", args.head_dim), ("llama.attention.value_length", "u32", args.head_dim),
        ("llama.attention.layer_norm_rms_epsilon", "f32", 1e-5),
        ("llama.rope.dimension_count", "u32", args.head_dim), ("llama.rope.freq_base", "f32", 10000.0),
        ("tokenizer.ggml.model", "string", "llama"), ("tokenizer.ggml.tokens", "string", texts),
        ("tokenizer.ggml.scores", "f32", scores), ("tokenizer.ggml.token_type", "i32", kinds),
        ("tokenizer.ggml.bos_token_id", "u32", 1), ("tokenizer.ggml.eos_token_id", "u32", 2),
        ("tokenizer.ggml.unknown_token_id", "u32", 0), ("tokenizer.ggml.add_bos_token", "bool", True),
    ]
    if args.experts:
        keys += [("llama.expert_count", "u32", args.experts), ("llama.expert_used_count", "u32", args.experts_used)]
    if args.experts and args.architecture in ("qwen3moe", "gpt-oss", "gemma4"):
        keys += [("llama.expert_feed_forward_length", "u32", expert_ffn(args))]
    if has_delta_nets(args):
        keys = [key for key in keys if key[0] != "llama.rope.dimension_count"]
        sizes = {"rope.dimension_count": args.head_dim // 4, "full_attention_interval": 4, "ssm.conv_kernel": 4,
                 "ssm.state_size": args.head_dim // 2, "ssm.group_count": args.heads, "ssm.time_step_rank": 2 * args.heads,
                 "ssm.inner_size": args.heads * args.head_dim}
        if args.experts:
            sizes |= {"expert_feed_forward_length": args.ffn, "expert_shared_feed_forward_length": args.ffn}
        keys += [(f"llama.{name}", "u32", size) for name, size in sizes.items()]
        if args.architecture != "qwen3next":
            angles = args.head_dim // 8
            keys += [("llama.rope.dimension_sections", "i32", [angles - 2 * (angles // 3)] + 2 * [angles // 3] + [0])]
    if args.architecture == "gpt-oss":
        keys += [("llama.rope.scaling.type", "string", "yarn"), ("llama.rope.scaling.factor", "f32", 32.0),
                 ("llama.rope.scaling.original_context_length", "u32", 4096)]
    if args.window:
        keys += [("llama.attention.sliding_window", "u32", args.window)]
    if args.architecture == "gemma4":
        near = [not sees_all(args, layer) for layer in range(args.layers)]
        sizes = {"attention.key_length": 2 * args.head_dim, "attention.value_length": 2 * args.head_dim,
                 "attention.key_length_swa": args.head_dim, "attention.value_length_swa": args.head_dim,
                 "rope.dimension_count": 2 * args.head_dim, "rope.dimension_count_swa": args.head_dim,
                 "embedding_length_per_layer_input": 0,
                 "attention.head_count_kv": [args.kv_heads if is_near else max(args.kv_heads // 2, 1) for is_near in near]}
        keys = [key for key in keys if key[0].removeprefix("llama.") not in sizes]
        keys += [(f"llama.{name}", "u32", size) for name, size in sizes.items()]
        keys += [("llama.attention.sliding_window_pattern", "bool", near), ("llama.rope.freq_base_swa", "f32", 5000.0),
                 ("llama.final_logit_softcapping", "f32", 5.0)]
    named = [(key.replace("llama.", args.architecture + "."), *rest) for key, *rest in keys]
    return b"".join(value(*key) for key in named), len(named)


def has_delta_nets(args):
    return args.architecture in ("qwen3next", "qwen35", "qwen35moe")


def expert_ffn(args):
    return args.ffn // 2 if args.architecture == "gemma4" else args.ffn


def sees_all(args, layer):
    """Has LAYER of Gemma 4 no window, but heads twice as large, half as many of K, and no weights for V?"""
    return args.architecture == "gemma4" and layer % 6 == 5


def has_more_bits(layer, layers):
    """Which layers have attn_v and ffn_down in Q6_K: use_more_bits of llama.cpp."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


def tensors(args):
    """(name, type, dims from the contiguous one on) of each tensor, in llama.cpp's order."""
    experts = args.experts

    def weight(name, k, n, wide=False, stack=()):
        kind = args.type or ("Q8_0" if k % 256 else "Q6_K" if wide else "Q4_K")
        if args.mix:
            kind = MIXES[args.mix][name.split(".")[-1].removesuffix("_exps")]
        return name + ".weight", kind, (k, n, *stack)

    def vector(name, size=args.hidden, *stack):
        return name, "F32", (size, *stack)

    def norm(name):
        return vector(name + ".weight")

    named, has_deltas = args.architecture, has_delta_nets(args)

    def delta_net(at):
        keys, values = args.heads * args.head_dim // 2, args.heads * args.head_dim
        yield weight(at + "attn_qkv", args.hidden, 2 * keys + values, wide)
        yield weight(at + "attn_gate", args.hidden, values)
        yield at + "ssm_conv1d.weight", "F32", (4, 2 * keys + values)
        yield vector(at + "ssm_dt.bias", 2 * args.heads)
        yield vector(at + "ssm_a", 2 * args.heads)
        if named == "qwen3next":
            yield weight(at + "ssm_ba", args.hidden, 4 * args.heads)
        else:
            yield from (weight(f"{at}ssm_{part}", args.hidden, 2 * args.heads) for part in ("beta", "alpha"))
        yield vector(at + "ssm_norm.weight", args.head_dim // 2)
        yield weight(at + "ssm_out", values, args.hidden)

    def shared_expert(at):
        yield vector(at + "ffn_gate_inp_shexp.weight")
        yield from (weight(f"{at}ffn_{part}_shexp", args.hidden, args.ffn) for part in ("gate", "up"))
        yield weight(at + "ffn_down_shexp", args.ffn, args.hidden, wide)

    def beside_dense(at):
        wide_ffn = expert_ffn(args)
        yield vector(at + "ffn_gate_inp.scale")
        yield from (norm(f"{at}{name}") for name in ("pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2"))
        yield weight(at + "ffn_gate_up_exps", args.hidden, 2 * wide_ffn, stack=(experts,))
        yield vector(at + "ffn_down_exps.scale", experts)
        yield weight(at + "ffn_down_exps", wide_ffn, args.hidden, wide, (experts,))

    has_biases, is_oai, is_gemma = named in ("qwen2", "gpt-oss"), named == "gpt-oss", named in ("gemma3", "gemma4")
    yield weight("token_embd", args.hidden, args.vocab, args.tied)
    if named == "gemma4":
        yield vector("rope_freqs.weight", args.head_dim)
    for layer in range(args.layers):
        at, wide, is_whole = f"blk.{layer}.", has_more_bits(layer, args.layers), sees_all(args, layer)
        head, kv_heads = (2 * args.head_dim, max(args.kv_heads // 2, 1)) if is_whole else (args.head_dim, args.kv_heads)
        q, kv = args.heads * head, kv_heads * head
        yield norm(at + "attn_norm")
        is_delta_net = has_deltas and layer % 4 != 3
        if is_delta_net:
            yield from delta_net(at)
        else:
            yield weight(at + "attn_q", args.hidden, q * (2 if has_deltas else 1))
            yield weight(at + "attn_k", args.hidden, kv)
            if not is_whole:
                yield weight(at + "attn_v", args.hidden, kv, wide)
            yield weight(at + "attn_output", q, args.hidden)
        if has_biases:
            yield from (vector(f"{at}attn_{part}.bias", size) for part, size in (("q", q), ("k", kv), ("v", kv)))
        if is_oai:
            yield vector(at + "attn_output.bias")
            yield vector(at + "attn_sinks.weight", args.heads)
        if named in ("qwen3", "qwen3moe", "gemma3", "gemma4") or has_deltas and not is_delta_net:
            yield from (vector(f"{at}attn_{part}_norm.weight", head) for part in "qk")
        if is_oai or is_gemma or has_deltas:
            yield norm(at + "post_attention_norm")
        if not is_oai and not has_deltas:
            yield norm(at + "ffn_norm")
        if is_gemma:
            yield norm(at + "post_ffw_norm")
        if named == "gemma4":
            yield vector(at + "layer_output_scale.weight", 1)
        if experts:
            yield at + "ffn_gate_inp.weight", "F32", (args.hidden, experts)
        if experts and is_oai:
            yield vector(at + "ffn_gate_inp.bias", experts)
            yield from (vector(f"{at}ffn_{part}_exps.bias", size, experts)
                        for part, size in (("gate", args.ffn), ("up", args.ffn), ("down", args.hidden)))
        if experts and has_deltas:
            yield from shared_expert(at)
        is_beside = experts and named == "gemma4"
        if is_beside:
            yield from beside_dense(at)
        end, stack = ("_exps", (experts,)) if experts and not is_beside else ("", ())
        yield weight(at + "ffn_gate" + end, args.hidden, args.ffn, stack=stack)
        yield weight(at + "ffn_up" + end, args.hidden, args.ffn, stack=stack)
        yield weight(at + "ffn_down" + end, args.ffn, args.hidden, wide, stack)
    yield norm("output_norm")
    if not args.tied:
        yield weight("output", args.hidden, args.vocab, True)


def half(number):
    return struct.pack("<e", number)


# Bytes of chance to bytes that a block may have: the top bit of four and of two 6-bit scales set, so that each is 32 to
# 63; a signed scale of 16 to 31 either way.
K_SCALES = bytes(b | 0xA0 for b in range(256))
SIGNED_SCALES = bytes((16 + b % 16 if b < 128 else -16 - b % 16) & 0xFF for b in range(256))


def blocks(kind, count, k, rng):
    """COUNT random blocks whose values have the standard deviation 1 / sqrt(K)."""
    size, root = TYPES[kind][2], math.sqrt(k)
    if kind in ("F32", "F16"):
        scale, form = math.sqrt(3 / k), "f" if kind == "F32" else "e"  # uniform in +-scale
        return struct.pack(f"<{count}{form}", *(rng.uniform(-scale, scale) for _ in range(count)))
    data = bytearray(rng.randbytes(count * size))

    def put(at, field):
        for i, byte in enumerate(field):
            data[at + i::size] = bytes([byte]) * count

    def through(first, end, table):
        for at in range(first, end):
            data[at::size] = data[at::size].translate(table)

    # The divisors are the standard deviation of a code and the root mean square of a scale.
    if kind == "Q4_K":
        put(0, half(1 / (4.61 * 48 * root)) + half(7.5 / (4.61 * 48 * root)))
        through(4, 12, K_SCALES)
    elif kind == "Q6_K":
        through(192, 208, SIGNED_SCALES)
        put(208, half(1 / (18.5 * 24 * root)))
    elif kind == "MXFP4":
        put(0, bytes([128 + round(math.log2(1 / (5.85 * root)))]))  # a power of two
    elif kind in ANY_BYTES:
        at, deviation = ANY_BYTES[kind]
        put(at, half(1 / (deviation * root)) + (half(1.5 / (deviation * root)) if kind == "Q2_K" else b""))
    else:
        put(0, half(1 / ((4.61 if kind == "Q4_0" else 73.9) * root)))
    return bytes(data)


def vector_values(name, count, named, rng):
    """Norms are about 1, q's of gemma4, whose scores are not divided, as much smaller; decays are below 0, all else is about
    0."""
    if name.endswith("ssm_a"):
        return [-rng.uniform(0.05, 1) for _ in range(count)]
    if name.endswith(("norm.weight", "scale.weight", "rope_freqs.weight", ".scale", "_1.weight", "_2.weight")):
        size = 1 / math.sqrt(count) if named == "gemma4" and "attn_q_norm" in name else 1
        return [size * rng.uniform(0.75, 1.25) for _ in range(count)]
    return [rng.uniform(-0.5, 0.5) for _ in range(count)]


def write_tensor(out, name, kind, dims, args, rng, vector_rng):
    """The data of one tensor; a matrix without data is a hole."""
    count = math.prod(dims) // TYPES[kind][1]
    has_data, is_vector = args.data, len(dims) == 1 or name.endswith(".bias")
    if is_vector and has_data:
        out.write(struct.pack(f"<{count}f", *vector_values(name, count, args.architecture, vector_rng)))
    elif is_vector:
        out.write(struct.pack("<f", float("norm" in name or name.endswith(".scale"))) * count)
    elif not has_data:
        out.seek(count * TYPES[kind][2], 1)
    else:
        for first in range(0, count, CHUNK):
            out.write(blocks(kind, min(CHUNK, count - first), dims[0], rng))
    out.seek(-out.tell() % ALIGNMENT, 1)


def write(args):
    rng, vector_rng = random.Random(args.seed), random.Random(args.seed + 1)
    table, offset, listed = b"", 0, list(tensors(args))
    for name, kind, dims in listed:
        number, values, size = TYPES[kind]
        table += string(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, number, offset)
        offset += math.prod(dims) // values * size
        offset += -offset % ALIGNMENT
    keys, key_count = metadata(args)
    with open(args.out, "wb") as out:
        out.write(b"GGUF" + struct.pack("<IQQ", 3, len(listed), key_count) + keys + table)
        out.seek(-out.tell() % ALIGNMENT, 1)
        end = out.tell() + offset
        for name, kind, dims in listed:
            write_tensor(out, name, kind, dims, args, rng, vector_rng)
        out.truncate(end)
    return len(listed), end


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--data", action="store_true")
    for name, default in (("layers", 32), ("hidden", 4096), ("heads", 32), ("kv-heads", 8), ("head-dim", 0),
                          ("ffn", 14336), ("vocab", 128256), ("experts", 0), ("experts-used", 2), ("context", 2048),
                          ("seed", 1), ("window", 0)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--tied", action="store_true")
    parser.add_argument("--type", choices=TYPES)
    parser.add_argument("--mix", choices=MIXES)
    parser.add_argument("--architecture", default="llama")
    args = parser.parse_args(argv)
    args.head_dim = args.head_dim or args.hidden // args.heads
    if min(args.layers, args.hidden, args.heads, args.kv_heads, args.head_dim, args.ffn) < 1 or args.experts < 0:
        parser.error("sizes are 1 or more")
    if args.vocab < 259:
        parser.error("--vocab is 259 or more: three marks and the bytes")
    multiple = max(32, TYPES[args.type][1] if args.type else 256 if args.mix else 0)
    if any(k % multiple for k in (args.hidden, args.ffn, args.heads * args.head_dim, expert_ffn(args) if args.experts else 0)):
        parser.error(f"--hidden, --ffn and heads times --head-dim are multiples of {multiple}, a block of weights")
    return args


def main():
    args = parse(sys.argv[1:])
    count, size = write(args)
    print(f"{args.out}: {count} tensors, {size / 1e6:.1f} MB{'' if args.data else ', sparse'}")


if __name__ == "__main__":
    main()
