# SPDX-License-Identifier: MIT
"""ggml's own functions, called from Python: a host of the plug-in that is nothing else, for any ggml as a library.

Graphs are made here, of one op (with weights in the plug-in's buffer), and held against the same op on ggml's CPU backend.
"""
import ctypes
import math
import os
import pathlib
import random
import sys

CPU, ACCELERATOR, F32, F16, I32 = 0, 3, 0, 1, 26
Q4_0, Q5_0, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4 = 2, 6, 8, 10, 11, 12, 13, 14, 20, 23, 39
FORMATS = (Q4_0, Q5_0, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4)
# Activations are quantised to 8 bits in other groups and roundings than ggml's.
TOLERANCE = 0.03  # of a result's root mean square


class Parameters(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_size_t), ("memory", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


class Caller:
    """Functions of LIBRARIES by name; what is not a number is a pointer, and results are pointers but for RESULTS."""

    RESULTS = {"ggml_version": ctypes.c_char_p, "ggml_nbytes": ctypes.c_size_t, "ggml_quantize_chunk": ctypes.c_size_t,
               "ggml_backend_dev_type": ctypes.c_int, "ggml_backend_buft_is_host": ctypes.c_bool,
               "ggml_backend_buffer_get_size": ctypes.c_size_t, "ggml_backend_graph_compute": ctypes.c_int,
               "ggml_backend_dev_supports_op": ctypes.c_bool, "ggml_type_name": ctypes.c_char_p}

    def __init__(self, *libraries):
        self.libraries = libraries

    def __getattr__(self, name):
        for library in self.libraries:
            if hasattr(library, name):
                function = getattr(library, name)
                function.restype = self.RESULTS.get(name, ctypes.c_void_p)
                return lambda *args: function(*(self.argument(arg) for arg in args))
        raise AttributeError(name)

    @staticmethod
    def argument(arg):
        return ctypes.c_int64(arg) if isinstance(arg, int) else arg

    def has(self, name):
        return any(hasattr(library, name) for library in self.libraries)


def pointer(address):
    return ctypes.c_void_p(address)


def open_wheel(folder, name):
    """ggml of an installed wheel, which is imported first, as its users do: xllamacpp or pywhispercpp in FOLDER.
    LookupError: it is older than backends that are loaded."""
    sys.path.insert(0, str(folder))
    folder = pathlib.Path(folder)
    if name == "xllamacpp":
        from xllamacpp import xllamacpp as native

        return Caller(ctypes.CDLL(native.__file__))
    import _pywhispercpp  # noqa: F401

    libraries = sorted((folder / "pywhispercpp.libs").glob("libggml-*.so*"))
    base = [path for path in libraries if path.name.startswith("libggml-base-")]
    rest = [path for path in libraries if not path.name.startswith(("libggml-base-", "libggml-cpu-"))]
    if len(base) != 1 or len(rest) != 1:
        raise LookupError("no ggml that loads backends")
    return Caller(ctypes.CDLL(str(rest[0])), ctypes.CDLL(str(base[0])))


def open_build(folder):
    """ggml as its own build leaves it: libggml.so and the libraries that it needs, somewhere below FOLDER."""
    found = {path.name: path for path in sorted(pathlib.Path(folder).rglob("libggml*.so"))}
    return Caller(*(ctypes.CDLL(str(found[name]), mode=ctypes.RTLD_GLOBAL)
                    for name in ("libggml-base.so", "libggml-cpu.so", "libggml.so")))


class Host:
    """A ggml with the plug-in loaded; .refused says whether it was not."""

    def __init__(self, ggml, plugin):
        os.environ["TCBTUNE_ALL_FORMATS"] = "1"  # those that are slower here, too
        self.ggml, self.plugin = ggml, str(plugin)
        self.version = ggml.ggml_version().decode() if ggml.has("ggml_version") else None
        self.refused = not ggml.ggml_backend_load(self.plugin.encode())
        if self.refused:
            return
        self.device = pointer(ggml.ggml_backend_dev_by_name(b"tcbtune"))
        self.own = pointer(ggml.ggml_backend_dev_buffer_type(self.device))
        self.backend = pointer(ggml.ggml_backend_dev_init(self.device, None))
        self.cpu = pointer(ggml.ggml_backend_init_by_type(CPU, None))

    def counter(self, name):
        function = ctypes.CDLL(self.plugin).tcbtune_ggml_counter
        function.restype = ctypes.c_ulonglong
        return function(name.encode())

    def close(self):
        self.ggml.ggml_backend_free(self.cpu)
        self.ggml.ggml_backend_free(self.backend)

    def context(self):
        return pointer(self.ggml.ggml_init(Parameters(1 << 20, None, True)))

    def tensor(self, context, kind, *counts):
        make = getattr(self.ggml, f"ggml_new_tensor_{len(counts)}d")
        return pointer(make(context, kind, *counts))

    def put(self, to, data):
        self.ggml.ggml_backend_tensor_set(to, data, 0, ctypes.sizeof(data))

    def get(self, of, out):
        self.ggml.ggml_backend_tensor_get(of, out, 0, ctypes.sizeof(out))
        return out

    def stored(self, kind, columns, rows, rng):
        """Random values in format KIND, as they are stored."""
        values = (ctypes.c_float * (rows * columns))(*(rng.gauss(0, 1) for _ in range(rows * columns)))
        context = self.context()
        out = ctypes.create_string_buffer(self.ggml.ggml_nbytes(self.tensor(context, kind, columns, rows)))
        assert self.ggml.ggml_quantize_chunk(kind, values, out, 0, rows, columns, None) == len(out)
        self.ggml.ggml_free(context)
        return out

    def compute(self, backend, context, result, inputs, count):
        """COUNT floats of RESULT, from INPUTS: tensors of CONTEXT and their data."""
        graph = pointer(self.ggml.ggml_new_graph(context))
        self.ggml.ggml_build_forward_expand(graph, result)
        buffer = pointer(self.ggml.ggml_backend_alloc_ctx_tensors_from_buft(
            context, pointer(self.ggml.ggml_backend_cpu_buffer_type())))
        for tensor, data in inputs:
            self.put(tensor, data)
        if backend is self.backend:
            assert self.ggml.ggml_backend_dev_supports_op(self.device, result), "the plug-in does not take it"
        assert self.ggml.ggml_backend_graph_compute(backend, graph) == 0
        out = list(self.get(result, (ctypes.c_float * count)()))
        self.ggml.ggml_backend_buffer_free(buffer)
        return out

    def both(self, kind, shape, make, count):
        """What the op gives that MAKE(context, weights) makes, by the plug-in and by the CPU: COUNT floats each."""
        rng, out = random.Random(kind * 1000 + math.prod(shape)), []
        bits = self.stored(kind, shape[0], math.prod(shape[1:]), rng)
        for buft, backend in ((self.own, self.backend),
                              (pointer(self.ggml.ggml_backend_cpu_buffer_type()), self.cpu)):
            weights_context, context = self.context(), self.context()
            weights = self.tensor(weights_context, kind, *shape)
            buffer = pointer(self.ggml.ggml_backend_alloc_ctx_tensors_from_buft(weights_context, buft))
            self.put(weights, bits)
            result, inputs = make(context, weights)
            out.append(self.compute(backend, context, result, inputs, count))
            back = self.get(weights, ctypes.create_string_buffer(len(bits)))
            assert back.raw == bits.raw, "weights are not given back as they were"
            self.ggml.ggml_backend_buffer_free(buffer)
            for one in (context, weights_context):
                self.ggml.ggml_free(one)
        return out

    def floats(self, count, seed):
        rng = random.Random(seed)
        return (ctypes.c_float * count)(*(rng.gauss(0, 1) for _ in range(count)))

    def product(self, kind, tokens, columns=512, rows=70):
        def make(context, weights):
            x = self.tensor(context, F32, columns, tokens)
            return (pointer(self.ggml.ggml_mul_mat(context, weights, x)), [(x, self.floats(columns * tokens, tokens))])

        return self.both(kind, (columns, rows), make, rows * tokens)

    def mixture(self, kind, tokens, columns=512, rows=48, experts=6, used=2):
        def make(context, weights):
            x = self.tensor(context, F32, columns, 1, tokens)
            ids = self.tensor(context, I32, used, tokens)
            result = self.ggml.ggml_mul_mat_id(context, weights, x, ids)
            routed = [(3 * t + 2 * u) % experts for t in range(tokens) for u in range(used)]
            return (pointer(result), [(x, self.floats(columns * tokens, tokens)),
                                      (ids, (ctypes.c_int32 * len(routed))(*routed))])

        return self.both(kind, (columns, rows, experts), make, rows * used * tokens)

    def rows(self, kind, columns=512, rows=70):
        wanted = (ctypes.c_int32 * 5)(69, 0, 17, 17, 32)

        def make(context, table):
            ids = self.tensor(context, I32, len(wanted))
            return pointer(self.ggml.ggml_get_rows(context, table, ids)), [(ids, wanted)]

        return self.both(kind, (columns, rows), make, columns * len(wanted))


    def attention(self, kind, sees, tokens=64, cells=128, head=64, heads=4, kv_heads=2):
        """What attention gives on a cache of KIND, by the plug-in and by the CPU, where token t sees cell c if SEES(t, c)."""
        rng, out = random.Random(kind), []
        k, v = (self.stored(kind, head, kv_heads * cells, rng) for _ in "kv")
        mask = (ctypes.c_uint16 * (tokens * cells))(*(0 if sees(t, c) else 0xFC00  # -inf in binary16
                                                      for t in range(tokens) for c in range(cells)))
        for backend in (self.backend, self.cpu):
            context = self.context()
            inputs = [(self.tensor(context, F32, head, heads, tokens), self.floats(head * heads * tokens, tokens)),
                      (self.tensor(context, kind, head, kv_heads, cells), k),
                      (self.tensor(context, kind, head, kv_heads, cells), v), (self.tensor(context, F16, cells, tokens), mask)]
            turned = [pointer(self.ggml.ggml_permute(context, tensor, 0, 2, 1, 3)) for tensor, _ in inputs[:3]]
            result = self.ggml.ggml_flash_attn_ext(context, *turned, inputs[3][0], ctypes.c_float(head ** -0.5),
                                                   ctypes.c_float(0), ctypes.c_float(0))
            out.append(self.compute(backend, context, pointer(result), inputs, head * heads * tokens))
            self.ggml.ggml_free(context)
        return out


def far(got, expected):
    """The largest difference, in root mean squares of what was expected."""
    scale = math.sqrt(sum(value * value for value in expected) / len(expected))
    return max(abs(a - b) for a, b in zip(got, expected)) / scale


def check(host, formats=FORMATS):
    """Every op of the plug-in in FORMATS, as far as the host knows them; returns how many were tried, or raises."""
    tried = 0
    for kind in formats:
        name = (host.ggml.ggml_type_name(kind) or b"").decode()
        if not name:
            continue
        trials = [(f"{name}, {tokens} tokens", TOLERANCE, host.product(kind, tokens)) for tokens in (1, 5)]
        trials.append((f"rows of {name}", 0, host.rows(kind)))
        if kind not in (Q5_0, Q2_K, Q3_K):
            trials += [(f"mixture of {name}, {tokens} tokens", TOLERANCE, host.mixture(kind, tokens))
                       for tokens in (1, 4)]
        for what, most, (got, expected) in trials:
            assert far(got, expected) <= most, f"{what}: off by {far(got, expected):.3f}"
        tried += len(trials)
    # ggml quantises queries, too, where K is quantised: each of many values is off by chance.
    for kind, name, most in ((F16, "f16", TOLERANCE), (Q8_0, "q8_0", 3 * TOLERANCE)):
        for what, sees in (("causal", lambda t, c: c <= t + 50), ("any", lambda t, c: (t + c) % 3)):
            off = far(*host.attention(kind, sees))
            assert off <= most, f"attention on {name}, {what} mask: off by {off:.3f}"
            tried += 1
    return tried
