# SPDX-License-Identifier: MIT
"""`tcbtune run` on a file that ggml wrote, for every instruction family of this machine and both contracts.

The results must lie within SPEC section 4's bound of the products that were summed in double: gamma(d) times the sum
of |w||x|, and for contract q8 what quantising a block of 256 activations to steps of max|x| / 127 can add.  The
weights for that second term are decoded here, independently of the program.  Controls that must fail: the results of
the next row, and the q8 results held to the f32 bound.
"""
import array
import struct
import sys

from cli_support import Cli, fail
from gguf_file import Gguf

TENSORS = {"blk.0.ffn_down.weight": "ffn_down.weight", "blk.1.ffn_up.weight": "ffn_up.weight"}
DEVICES = ["cpu:scalar", "cpu:avx2", "cpu:avx512", "cpu:avx512vnni"]


def block_sums(block):
    """The sum of |w| over the 256 values of a Q4_K block (SPEC section 3)."""
    d, dmin = struct.unpack_from("<ee", block)
    s, total = block[4:16], 0.0
    for j in range(8):
        if j < 4:
            scale, least = s[j] & 63, s[j + 4] & 63
        else:
            scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4
            least = (s[j + 4] >> 4) | (s[j] >> 6) << 4
        step, offset = d * scale, dmin * least
        run = block[16 + 32 * (j // 2):48 + 32 * (j // 2)]
        for byte in run:
            total += abs(step * (byte >> 4 if j & 1 else byte & 15) - offset)
    return total


def weight_sums(gguf, name):
    """For each row the sums of its blocks."""
    (k, n), kind, offset = gguf.tensors[name]
    if kind != 12:
        fail(f"{name} is no Q4_K tensor")
    start, per_row = gguf.base + offset, k // 256
    blocks = [block_sums(gguf.data[start + 144 * i:start + 144 * (i + 1)]) for i in range(n * per_row)]
    return n, k, [blocks[row * per_row:(row + 1) * per_row] for row in range(n)]


def numbers(path, code):
    values = array.array(code)
    values.frombytes(path.read_bytes())
    if sys.byteorder == "big":
        values.byteswap()
    return values


def worst(y, expected, allowed):
    if len(y) != len(expected):
        return float("inf")
    return max(abs(a - b) / limit if a == a else float("inf") for a, b, limit in zip(y, expected, allowed))


def bounds(stem, m, n, k, sums):
    """The allowed errors of contract f32, and the term that q8 adds."""
    x, magnitude = numbers(stem.with_name(stem.name + ".x.f32"), "f"), numbers(stem.with_name(stem.name + ".abs.f64"), "d")
    # The longest chain: one product and one sum a value, and the few roundings of a block's scales.
    chain = (k + 64) * 2.0 ** -24
    gamma = chain / (1 - chain)
    # Half a step, and the rounding of the step itself.
    steps = [max(abs(v) for v in x[i:i + 256]) / 127 * (0.5 + 127 * 2.0 ** -22) for i in range(0, m * k, 256)]
    per_row = k // 256
    extra = [sum(a * b for a, b in zip(sums[col], steps[row * per_row:(row + 1) * per_row]))
             for row in range(m) for col in range(n)]
    return [gamma * v + 1e-30 for v in magnitude], [gamma * e for e in extra], extra


def main():
    cli = Cli()
    model = cli.fixtures / "ggml_sample.gguf"
    gguf = Gguf(model)
    have = cli.run("devices").stdout
    missing = [d for d in DEVICES if d not in have]
    for name, short in TENSORS.items():
        n, k, sums = weight_sums(gguf, name)
        for m in (1, 5):
            stem = cli.fixtures / f"{short}_m{m}"
            expected = numbers(cli.fixtures / f"{short}_m{m}.y.f64", "d")
            exact, exact_extra, extra = bounds(stem, m, n, k, sums)
            allowed = {"f32": exact, "q8": [a + b + c for a, b, c in zip(exact, exact_extra, extra)]}
            for device in (d for d in DEVICES if d not in missing):
                for contract in ("f32", "q8"):
                    out = cli.scratch / "y.f32"
                    said = cli.run("run", "--op", "q4k_matvec", "--device", device, "--contract", contract, "--weights",
                                   f"{model}:{name}", "--x", f"{stem}.x.f32", "--out", out).stderr
                    y = numbers(out, "f")
                    ratio = worst(y, expected, allowed[contract])
                    print(f"{name} M={m} {device} {contract}: {ratio:.3f} of the bound")
                    cli.check(ratio <= 1, f"{name} M={m} {device} {contract}: {ratio} times the bound")
                    family = device.partition(":")[2]
                    cli.check(f"isa={family}," in said or family not in ("scalar",), f"{device} ran as: {said}")
                    cli.check(worst(y[1:] + y[:1], expected, allowed[contract]) > 1, "the control of shifted rows passed")
                    if contract == "q8":
                        cli.check(worst(y, expected, exact) > 1, "q8 results met the f32 bound: the control passed")
    cli.done()
    if missing:
        print(f"SKIPPED: this machine has no {', '.join(missing)}")
        sys.exit(77)


if __name__ == "__main__":
    main()
