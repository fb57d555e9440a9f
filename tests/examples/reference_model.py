# SPDX-License-Identifier: MIT
"""The forward pass of the models that examples/engine decodes, in float64: a GGUF file and tokens in, logits out.

Written from the models' definitions, a whole sequence at once and without a cache, so that it shares nothing with what
it checks.  With rounds=True every product's activations are rounded to 8 bits as contract q8 has it (256 of them share
a scale where a block of the weights has as many values, else 32), so that its distance to the exact pass is what that
contract costs.
"""
import math
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from gguf_file import Gguf  # noqa: E402

F32, F16, Q4_0, Q8_0, Q4_K, Q6_K, BF16, MXFP4 = 0, 1, 2, 8, 12, 14, 30, 39
FP4 = numpy.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], numpy.float64)


def halves(data):
    return data.view(numpy.float16).astype(numpy.float64)


def nibbles(data):
    return numpy.concatenate([data & 15, data >> 4], axis=-1).astype(numpy.float64)


def k_scales(packed):
    """Of Q4_K: eight scales and eight minimums of 6 bits in 12 bytes."""
    low, high = packed[:, :4], packed[:, 4:8]
    mixed = packed[:, 8:]
    scales = numpy.concatenate([low & 63, mixed & 15 | low >> 6 << 4], axis=1)
    minimums = numpy.concatenate([high & 63, mixed >> 4 | high >> 6 << 4], axis=1)
    return scales.astype(numpy.float64), minimums.astype(numpy.float64)


def q4_0(block):
    return halves(block[:, :2]) * (nibbles(block[:, 2:]) - 8)


def q8_0(block):
    return halves(block[:, :2]) * block[:, 2:].view(numpy.int8)


def q4_k(block):
    scales, minimums = k_scales(block[:, 4:16])
    codes = nibbles(block[:, 16:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    values = (halves(block[:, :2]) * scales)[:, :, None] * codes - (halves(block[:, 2:4]) * minimums)[:, :, None]
    return values.reshape(-1, 256)


def q6_k(block):
    low, high = block[:, :128].reshape(-1, 2, 2, 32), block[:, 128:192].reshape(-1, 2, 32)
    codes = numpy.empty((len(block), 2, 4, 32))
    for part in range(4):
        four = low[:, :, part % 2] >> 4 * (part // 2) & 15
        codes[:, :, part] = (four | (high >> 2 * part & 3) << 4).astype(numpy.float64) - 32
    scales = block[:, 192:208].view(numpy.int8).astype(numpy.float64)
    return (halves(block[:, 208:]) * scales)[:, :, None].repeat(16, 2).reshape(-1, 256) * codes.reshape(-1, 256)


def mxfp4(block):
    return 2.0 ** (block[:, :1].astype(numpy.float64) - 128) * FP4[nibbles(block[:, 1:]).astype(int)]


# values of a block, its bytes, bytes to values
FORMATS = {Q4_0: (32, 18, q4_0), Q8_0: (32, 34, q8_0), Q4_K: (256, 144, q4_k), Q6_K: (256, 210, q6_k),
           MXFP4: (32, 17, mxfp4)}
FLOATS = {F32: numpy.float32, F16: numpy.float16}


class Weights:
    """A tensor: .values, the last dimension first in the file, and .group, how many activations share a scale."""

    def __init__(self, gguf, name):
        dims, kind, offset = gguf.tensors[name]
        count, at = math.prod(dims), gguf.base + offset
        if kind in FLOATS:
            self.group = 0
            values = numpy.frombuffer(gguf.data, FLOATS[kind], count, at).astype(numpy.float64)
        else:
            self.group, size, decode = FORMATS[kind]
            data = numpy.frombuffer(gguf.data, numpy.uint8, count // self.group * size, at)
            values = decode(data.reshape(-1, size))
        self.values = values.reshape(dims[::-1])


def rounded(x, group):
    """To 8 bits, a scale for each GROUP activations."""
    parts = x.reshape(*x.shape[:-1], -1, group)
    scale = numpy.abs(parts).max(-1, keepdims=True) / 127
    return (numpy.round(parts / numpy.where(scale == 0, 1, scale)) * scale).reshape(x.shape)


def softmax(x):
    x = numpy.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def silu(x):
    return x / (1 + numpy.exp(-x))


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


class Model:
    """ROUNDS: activations of products to 8 bits, KV_ROUNDS: K and V as a cache of Q8_0 has them; LOADED: the weights of
    another model of the same file."""

    def __init__(self, path, rounds=False, kv_rounds=False, loaded=None):
        self.gguf, self.rounds, self.kv_rounds = Gguf(path), rounds, kv_rounds
        self.architecture = self.gguf.keys["general.architecture"]
        self.is_gemma = self.architecture in ("gemma3", "gemma4")
        self.has_delta_nets = self.architecture in ("qwen3next", "qwen35", "qwen35moe")
        self.loaded = {} if loaded is None else loaded

    def key(self, name, otherwise=None):
        return self.gguf.keys.get(f"{self.architecture}.{name}", otherwise)

    def has(self, name):
        return name in self.gguf.tensors

    def weights(self, name):
        if name not in self.loaded:
            self.loaded[name] = Weights(self.gguf, name)
        return self.loaded[name]

    def product(self, weights, x):
        """x times the rows of WEIGHTS; an expert's are the matrix of its number."""
        if self.rounds and weights.group:
            x = rounded(x, weights.group)
        return numpy.einsum("ti,ji->tj", x, weights.values)  # the BLAS that Debian has takes three times as long

    def norm(self, name, x):
        """NAME of its weights; None: without."""
        epsilon = self.key("attention.layer_norm_rms_epsilon")
        x = x / numpy.sqrt((x * x).mean(-1, keepdims=True) + epsilon)
        return x * self.weights(name).values if name else x

    def window(self, layer):
        """At most so many tokens are seen from each of this layer, its own included."""
        size = self.key("attention.sliding_window", 1 << 30)
        sees_all = {"gpt-oss": layer % 2 == 1, "gemma3": layer % 6 == 5, "gemma4": layer % 6 == 5}.get(self.architecture, False)
        return 1 << 30 if sees_all else size

    def frequencies(self, layer, head):
        """Angles that a token adds, and what cos and sin are multiplied with."""
        base, factor = self.key("rope.freq_base", 10000.0), self.key("rope.scaling.factor", 1.0)
        is_near = self.is_gemma and self.window(layer) < 1 << 30
        if is_near:
            base, factor = self.key("rope.freq_base_swa", 10000.0), 1.0
        plain = base ** (-2 * numpy.arange(head // 2) / head)
        if self.has("rope_freqs.weight") and not is_near:
            plain = plain / self.weights("rope_freqs.weight").values
        if self.key("rope.scaling.type") != "yarn":
            return plain / factor, 1.0
        # Peng et al. 2023: what turns fast while training stays, what turns less than once is interpolated.
        place = numpy.arange(head // 2)
        low, high = (head * math.log(self.key("rope.scaling.original_context_length") / (beta * 2 * math.pi)) /
                     (2 * math.log(base)) for beta in (32, 1))
        low, high = max(math.floor(low), 0), min(math.ceil(high), head - 1)
        ramp = numpy.clip((place - low) / max(high - low, 0.001), 0, 1)
        return plain * (1 - ramp) + plain / factor * ramp, 1 + 0.1 * math.log(factor)

    def rotate(self, x, layer):
        """Values of each head of each token, or the first of them: pairs of neighbours for llama, else half so many apart."""
        count = min(self.key("rope.dimension_count"), x.shape[-1]) if self.has_delta_nets else x.shape[-1]
        angles, scale = self.frequencies(layer, count)
        angles = numpy.arange(len(x))[:, None, None] * angles
        cos, sin = scale * numpy.cos(angles), scale * numpy.sin(angles)
        turned = numpy.array(x)
        one, two = ((slice(0, count, 2), slice(1, count, 2)) if self.architecture == "llama" else
                    (slice(0, count // 2), slice(count // 2, count)))
        turned[..., one] = x[..., one] * cos - x[..., two] * sin
        turned[..., two] = x[..., two] * cos + x[..., one] * sin
        return turned

    def projected(self, at, part, x, heads):
        y = self.biased(at, f"attn_{part}", x).reshape(len(x), heads, -1)
        return self.norm(f"{at}attn_{part}_norm.weight", y) if self.has(f"{at}attn_{part}_norm.weight") else y

    def biased(self, at, part, x):
        y = self.product(self.weights(f"{at}{part}.weight"), x)
        return y + self.weights(f"{at}{part}.bias").values if self.has(f"{at}{part}.bias") else y

    def attention(self, at, layer, x):
        heads, kv_heads = self.key("attention.head_count"), self.key("attention.head_count_kv")
        kv_heads = kv_heads[layer] if isinstance(kv_heads, list) else kv_heads
        q = self.biased(at, "attn_q", x).reshape(len(x), heads, -1)
        gate = None
        if self.has_delta_nets:
            q, gate = q[..., :q.shape[-1] // 2], q[..., q.shape[-1] // 2:]
        if self.has(at + "attn_q_norm.weight"):
            q = self.norm(at + "attn_q_norm.weight", q)
        q = self.rotate(q, layer)
        k = self.rotate(self.projected(at, "k", x, kv_heads), layer)
        if self.has(at + "attn_v.weight"):
            v = self.projected(at, "v", x, kv_heads)
        else:
            v = self.biased(at, "attn_k", x).reshape(len(x), kv_heads, -1)
        if self.architecture == "gemma4":
            v = self.norm(None, v)
        if self.kv_rounds:
            k, v = rounded(k, 32), rounded(v, 32)
        k, v = k.repeat(heads // kv_heads, 1), v.repeat(heads // kv_heads, 1)
        scores = numpy.einsum("qhd,khd->hqk", q, k) / (1 if self.architecture == "gemma4" else math.sqrt(q.shape[-1]))
        distance = numpy.arange(len(x))[:, None] - numpy.arange(len(x))[None, :]
        scores[:, (distance < 0) | (distance >= self.window(layer))] = -numpy.inf
        if self.has(at + "attn_sinks.weight"):
            sinks = self.weights(at + "attn_sinks.weight").values[:, None, None].repeat(len(x), 1)
            shares = softmax(numpy.concatenate([scores, sinks], -1))[..., :-1]
        else:
            shares = softmax(scores)
        seen = numpy.einsum("hqk,khd->qhd", shares, v)
        if gate is not None:
            seen = seen * sigmoid(gate)
        return self.biased(at, "attn_output", seen.reshape(len(x), -1))

    def decay(self, at, alpha):
        return self.weights(at + "ssm_a").values * numpy.log1p(numpy.exp(alpha + self.weights(at + "ssm_dt.bias").values))

    def delta_net(self, at, x):
        """Yang et al. 2024, one token after another: S = exp(g) S + beta (v - (exp(g) S)' k) k, y = S' q."""
        heads, groups, size = (self.key(f"ssm.{name}") for name in ("time_step_rank", "group_count", "state_size"))
        mixed = self.biased(at, "attn_qkv", x)
        taps = self.weights(at + "ssm_conv1d.weight").values
        padded = numpy.concatenate([numpy.zeros((taps.shape[1] - 1, mixed.shape[1])), mixed])
        mixed = silu(sum(padded[tap:tap + len(x)] * taps[:, tap] for tap in range(taps.shape[1])))
        q, k, v = (part.reshape(len(x), -1, size) for part in numpy.split(mixed, [groups * size, 2 * groups * size], axis=1))
        q, k = (part / numpy.sqrt((part * part).sum(-1, keepdims=True) + 1e-6) for part in (q, k))
        if self.has(at + "ssm_ba.weight"):
            both = self.biased(at, "ssm_ba", x).reshape(len(x), groups, 2, heads // groups)
            beta, alpha = both[:, :, 0].reshape(len(x), heads), both[:, :, 1].reshape(len(x), heads)
            group_of = numpy.arange(heads) // (heads // groups)
        else:
            beta, alpha = self.biased(at, "ssm_beta", x), self.biased(at, "ssm_alpha", x)
            group_of = numpy.arange(heads) % groups
        q, k = q[:, group_of] / math.sqrt(size), k[:, group_of]
        decay = self.decay(at, alpha)
        state, y = numpy.zeros((heads, size, size)), numpy.empty_like(v)  # of a head: keys, values
        for token in range(len(x)):
            state *= numpy.exp(decay[token])[:, None, None]
            error = sigmoid(beta[token])[:, None] * (v[token] - numpy.einsum("hkv,hk->hv", state, k[token]))
            state += k[token][:, :, None] * error[:, None]
            y[token] = numpy.einsum("hkv,hk->hv", state, q[token])
        gate = silu(self.biased(at, "attn_gate", x))
        return self.biased(at, "ssm_out", self.norm(at + "ssm_norm.weight", y).reshape(len(x), -1) * gate)

    def gate(self, gate, up):
        if self.architecture == "gpt-oss":
            gate, up = numpy.minimum(gate, 7), numpy.clip(up, -7, 7)
            return (up + 1) * gate / (1 + numpy.exp(-1.702 * gate))
        if self.is_gemma:
            return gate * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate ** 3))) / 2 * up
        return silu(gate) * up

    def feed_forward(self, at, x, before):
        if not self.has(at + "ffn_gate_inp.weight"):
            return self.dense(at, x)
        if self.architecture == "gemma4":
            return self.beside_dense(at, x, before)
        return self.experts(at, self.biased(at, "ffn_gate_inp", x), x)

    def beside_dense(self, at, x, before):
        """Gemma 4: a dense part and experts, which see BEFORE, what X is the norm of, by norms of their own."""
        dense = self.dense(at, x)
        scores = self.norm(None, before) * self.weights(at + "ffn_gate_inp.scale").values / math.sqrt(x.shape[-1])
        routed = self.experts(at, self.biased(at, "ffn_gate_inp", scores), self.norm(at + "pre_ffw_norm_2.weight", before))
        return self.norm(at + "post_ffw_norm_1.weight", dense) + self.norm(at + "post_ffw_norm_2.weight", routed)

    def dense(self, at, x):
        return self.biased(at, "ffn_down", self.gate(self.biased(at, "ffn_gate", x), self.biased(at, "ffn_up", x)))

    def experts(self, at, scores, x):
        out = numpy.zeros_like(x)
        if self.has(at + "ffn_up_shexp.weight"):
            share = sigmoid(x @ self.weights(at + "ffn_gate_inp_shexp.weight").values)[:, None]
            gate, up = (self.biased(at, f"ffn_{part}_shexp", x) for part in ("gate", "up"))
            out += share * self.biased(at, "ffn_down_shexp", self.gate(gate, up))
        for token, row in enumerate(scores):
            chosen = numpy.argsort(-row)[:self.key("expert_used_count")]
            for expert, share in zip(chosen, softmax(row[chosen])):
                if self.has(at + "ffn_gate_up_exps.weight"):
                    gate, up = numpy.split(self.of_expert(at, "gate_up", expert, x[token]), 2)
                    share = share * self.weights(at + "ffn_down_exps.scale").values[expert]
                else:
                    gate, up = (self.of_expert(at, part, expert, x[token]) for part in ("gate", "up"))
                out[token] += share * self.of_expert(at, "down", expert, self.gate(gate, up))
        return out

    def of_expert(self, at, part, expert, x):
        """A product with one matrix of a stack."""
        weights = self.weights(f"{at}ffn_{part}_exps.weight")
        y = numpy.einsum("ji,i->j", weights.values[expert],
                         rounded(x, weights.group) if self.rounds and weights.group else x)
        return y + self.weights(f"{at}ffn_{part}_exps.bias").values[expert] if self.has(f"{at}ffn_{part}_exps.bias") else y

    def logits(self, tokens):
        """Of each token's successor: as many rows as tokens."""
        x = self.weights("token_embd.weight").values[tokens]
        if self.is_gemma:
            x = x * math.sqrt(x.shape[-1])
        before = "post_attention_norm" if self.architecture == "gpt-oss" or self.has_delta_nets else "ffn_norm"
        for layer in range(self.key("block_count")):
            at = f"blk.{layer}."
            y = self.norm(at + "attn_norm.weight", x)
            y = self.delta_net(at, y) if self.has(at + "ssm_out.weight") else self.attention(at, layer, y)
            x = x + (self.norm(at + "post_attention_norm.weight", y) if self.is_gemma else y)
            y = self.feed_forward(at, self.norm(f"{at}{before}.weight", x), x)
            x = x + (self.norm(at + "post_ffw_norm.weight", y) if self.is_gemma else y)
            if self.has(at + "layer_output_scale.weight"):
                x = x * self.weights(at + "layer_output_scale.weight").values
        table = "output.weight" if self.has("output.weight") else "token_embd.weight"
        logits, cap = self.product(self.weights(table), self.norm("output_norm.weight", x)), self.key("final_logit_softcapping")
        return cap * numpy.tanh(logits / cap) if cap else logits
