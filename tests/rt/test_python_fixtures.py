# SPDX-License-Identifier: MIT
"""examples/python/tcbrt.py on the tensors of files that ggml and gguf-py wrote, against their products in double.

    test_python_fixtures.py SOURCE_DIR

Each tensor at one token and at five, with one thread and two, MatVec and MatMul, weights as each plan wants them.  The
control that must fail: the results of the row before.
"""
import array
import pathlib
import sys

SOURCE = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(SOURCE / "examples/python"), str(SOURCE / "tests/cli")]

import tcbrt  # noqa: E402
from gguf_file import Gguf  # noqa: E402

FIXTURES = SOURCE / "tests/fixtures"
OPS = {2: "q40", 8: "q80", 12: "q4k", 13: "q5k", 14: "q6k", 23: "iq4xs", 39: "mxfp4"}
# Activations of 8 bits, a scale for 32 or 256 of them: far less than this of the sum of magnitudes.
LIMIT = 0.01


def numbers(path, code):
    values = array.array(code)
    values.frombytes(path.read_bytes())
    return values


def worst(y, expected, magnitude):
    return max(abs(a - b) / m if a == a else float("inf") for a, b, m in zip(y, expected, magnitude))


def main():
    rt, pool, checked = tcbrt.Runtime(), tcbrt.Pool(2), 0
    for name in ("ggml_sample.gguf", "sample_mxfp4_iq4xs.gguf"):
        gguf = Gguf(FIXTURES / name)
        for tensor, ((k, n), kind, offset) in gguf.tensors.items():
            short = tensor.split(".", 2)[2]
            start = gguf.base + offset
            for m in (1, 5):
                stem = f"{short}_m{m}"
                x = numbers(FIXTURES / f"{stem}.x.f32", "f")
                expected = numbers(FIXTURES / f"{stem}.y.f64", "d")
                magnitude = numbers(FIXTURES / f"{stem}.abs.f64", "d")
                for op in (f"{OPS[kind]}_matvec", f"{OPS[kind]}_matmul"):
                    for threads in (1, 2):
                        plan = rt.plan(op, m, n, k, threads=threads)
                        size = plan.info.operand[plan.info.weights].bytes
                        y = array.array("f", [float("nan")]) * (m * n)
                        plan.execute([plan.pack(gguf.data[start:start + size]), x.buffer_info()[0],
                                      y.buffer_info()[0]], pool)
                        error = worst(y, expected, magnitude)
                        if not error <= LIMIT:
                            sys.exit(f"{tensor} {op} M={m} on {threads} threads with {plan.kernel}: {error}")
                        if worst(y[1:], expected, magnitude) <= LIMIT:
                            sys.exit(f"{tensor}: the results of other rows pass, too")
                        checked += 1
    try:
        rt.plan("q4k_matvec", 1, 100, 100)
    except tcbrt.Error as error:
        if "256" not in str(error):
            sys.exit(f"the refusal does not say what would do: {error}")
    else:
        sys.exit("K = 100 was planned for Q4_K")
    print(f"{checked} products are right")


main()
