#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The plug-in in the ggml of the wheel pywhispercpp, interface version 2: it is loaded, its device is listed, a backend
of it starts and ends, products of it are those of ggml's own CPU backend, and weights are given back.  The graphs are
made here, with ggml's functions: the wheel's own loader puts weights into buffers of GPUs and CPUs only (whisper.cpp,
make_buft_list), never into those of an accelerator."""
import argparse
import ctypes
import math
import pathlib
import random
import subprocess
import sys


def find(wheels, name):
    found = sorted((wheels / "pywhispercpp.libs").glob(name))
    assert len(found) == 1, f"{name}: {found}"
    return found[0]


class Parameters(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_size_t), ("memory", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


def returning_pointers(library, *names):
    for name in names:
        getattr(library, name).restype = ctypes.c_void_p


def context(base):
    return ctypes.c_void_p(base.ggml_init(Parameters(1 << 20, None, True)))


def tensor(base, ctx, kind, columns, rows):
    return ctypes.c_void_p(base.ggml_new_tensor_2d(ctx, kind, ctypes.c_int64(columns), ctypes.c_int64(rows)))


def put(base, to, data):
    base.ggml_backend_tensor_set(to, data, ctypes.c_size_t(0), ctypes.c_size_t(ctypes.sizeof(data)))


def get(base, of, out):
    base.ggml_backend_tensor_get(of, out, ctypes.c_size_t(0), ctypes.c_size_t(ctypes.sizeof(out)))
    return out


def product(base, kind, own, backend, cpu, tokens):
    """Weights of a KIND in the buffer type OWN and the same ones in the CPU's: one result each, and OWN's bytes."""
    rows, columns = 70, 512
    draw = random.Random(kind * 100 + tokens)
    values = (ctypes.c_float * (rows * columns))(*(draw.gauss(0, 1) for _ in range(rows * columns)))
    ours, theirs = context(base), context(base)
    weights, same = (tensor(base, ctx, kind, columns, rows) for ctx in (ours, theirs))
    stored = ctypes.create_string_buffer(base.ggml_nbytes(same))
    assert base.ggml_quantize_chunk(kind, values, stored, ctypes.c_int64(0), ctypes.c_int64(rows),
                                    ctypes.c_int64(columns), None) == len(stored)
    x = tensor(base, theirs, 0, columns, tokens)
    results = [ctypes.c_void_p(base.ggml_mul_mat(theirs, w, x)) for w in (weights, same)]
    graphs = [ctypes.c_void_p(base.ggml_new_graph(theirs)) for _ in results]
    buffers = [ctypes.c_void_p(base.ggml_backend_alloc_ctx_tensors_from_buft(ctx, buft))
               for ctx, buft in ((ours, own), (theirs, ctypes.c_void_p(base.ggml_backend_cpu_buffer_type())))]
    put(base, weights, stored)
    put(base, same, stored)
    put(base, x, (ctypes.c_float * (columns * tokens))(*(draw.gauss(0, 1) for _ in range(columns * tokens))))
    out = []
    for graph, result, by in zip(graphs, results, (backend, cpu)):
        base.ggml_build_forward_expand(graph, result)
        assert base.ggml_backend_graph_compute(by, graph) == 0
        out.append(list(get(base, result, (ctypes.c_float * (rows * tokens))())))
    back = get(base, weights, ctypes.create_string_buffer(len(stored)))
    assert back.raw == stored.raw, "weights are not given back as they were"
    for buffer in buffers:
        base.ggml_backend_buffer_free(buffer)
    for ctx in (ours, theirs):
        base.ggml_free(ctx)
    return out


def check_products(base, plugin, own, backend, cpu):
    returning_pointers(base, "ggml_init", "ggml_new_tensor_2d", "ggml_mul_mat", "ggml_new_graph",
                       "ggml_backend_alloc_ctx_tensors_from_buft")
    base.ggml_nbytes.restype = base.ggml_quantize_chunk.restype = ctypes.c_size_t
    for kind in (2, 8, 12, 14):  # Q4_0, Q8_0, Q4_K, Q6_K
        for tokens in (1, 5):
            got, expected = product(base, kind, own, backend, cpu, tokens)
            scale = math.sqrt(sum(v * v for v in expected) / len(expected))
            worst = max(abs(a - b) for a, b in zip(got, expected))
            assert worst < 0.03 * scale, f"format {kind}, {tokens} tokens: off by {worst} of {scale}"
    counter = ctypes.CDLL(str(plugin)).tcbtune_ggml_counter
    counter.restype = ctypes.c_ulonglong
    assert counter(b"products") == 8, "the plug-in was not asked"


def inside(plugin, wheels):
    """In a process of its own: what is printed is what the test looks at."""
    sys.path.insert(0, str(wheels))
    import _pywhispercpp  # noqa: F401  the program that is plugged into

    ggml = ctypes.CDLL(str(find(wheels, "libggml-????????.so.*")))
    base = ctypes.CDLL(str(find(wheels, "libggml-base-*.so.*")))
    returning_pointers(ggml, "ggml_backend_load", "ggml_backend_dev_by_name", "ggml_backend_reg_dev_get")
    returning_pointers(base, "ggml_backend_dev_init", "ggml_backend_get_default_buffer_type",
                       "ggml_backend_cpu_buffer_type", "ggml_backend_dev_buffer_type",
                       "ggml_backend_buft_alloc_buffer")
    base.ggml_backend_buffer_get_size.restype = ctypes.c_size_t
    assert ggml.ggml_backend_load(str(plugin).encode()), "not loaded"
    device = ggml.ggml_backend_dev_by_name(b"tcbtune")
    assert device, "no device"
    assert base.ggml_backend_dev_type(ctypes.c_void_p(device)) == 3, "not an accelerator"
    backend = base.ggml_backend_dev_init(ctypes.c_void_p(device), None)
    assert backend, "no backend"
    assert base.ggml_backend_get_default_buffer_type(ctypes.c_void_p(backend)) == base.ggml_backend_cpu_buffer_type()
    own = ctypes.c_void_p(base.ggml_backend_dev_buffer_type(ctypes.c_void_p(device)))
    assert not base.ggml_backend_buft_is_host(own)
    buffer = base.ggml_backend_buft_alloc_buffer(own, ctypes.c_size_t(1 << 20))
    assert base.ggml_backend_buffer_get_size(ctypes.c_void_p(buffer)) == 1 << 20
    base.ggml_backend_buffer_free(ctypes.c_void_p(buffer))
    returning_pointers(ggml, "ggml_backend_init_by_type")
    cpu = ctypes.c_void_p(ggml.ggml_backend_init_by_type(0, None))
    check_products(base, plugin, own, ctypes.c_void_p(backend), cpu)
    base.ggml_backend_free(cpu)
    base.ggml_backend_free(ctypes.c_void_p(backend))
    print("sound")


def main():
    parser = argparse.ArgumentParser()
    for name in ("plugin", "wheels", "work"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--inside", action="store_true")
    args = parser.parse_args()
    if args.inside:
        inside(args.plugin, args.wheels)
        return
    if not (args.wheels / "pywhispercpp.libs").is_dir():
        print("SKIPPED: the wheel is not here; scripts/fetch-ggml-hosts.sh fetches it")
        sys.exit(77)
    run = subprocess.run([sys.executable, *sys.argv, "--inside"], capture_output=True, text=True)
    print(run.stdout, run.stderr)
    assert run.returncode == 0 and "sound" in run.stdout
    assert "tcbtune for ggml: in ggml 0.13.1" in run.stderr and "OpenMP" in run.stderr


if __name__ == "__main__":
    main()
