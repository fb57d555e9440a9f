# SPDX-License-Identifier: MIT
"""libtcbrt from Python, by ctypes: the part that plans and executes.  tcbrt.h is the manual.

    rt = tcbrt.Runtime()                       # or Runtime("tuning.db")
    plan = rt.plan("q4k_matvec", 1, 4096, 14336)
    packed = plan.pack(weights)                # weights as a GGUF file has them: bytes or an array
    plan.execute([packed, x, y])               # NumPy arrays, PyTorch's tensors, buffers; or addresses

Type, shape, order, size, place and writability of every operand but a bare address are held against the plan, and
Error says what is wrong with which; nothing is converted or copied behind your back.

The library is the one named by TCBRT_LIBRARY, else that of the Python package tcbtune, whose module rt this is, else
what the loader finds as libtcbrt.so.0.  With TCBRT_VERBOSE=1 in the environment it writes a line per plan.
"""
from __future__ import annotations

import collections
import ctypes as c
import math
import os
import pathlib
from typing import Any, Optional, Sequence

ALIGNMENT = 256


class Error(Exception):
    """What the library says went wrong; .code is one of enum tcbrt_code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message or f"libtcbrt code {code}")
        self.code = code


class _Error(c.Structure):
    _fields_ = [("code", c.c_int), ("message", c.c_char * 512), ("reserved", c.c_size_t * 2)]


class _Query(c.Structure):
    _fields_ = [("op", c.c_char_p), ("device", c.c_char_p), ("threads", c.c_uint), ("contract", c.c_int),
                ("state", c.c_int), ("m", c.c_size_t), ("n", c.c_size_t), ("k", c.c_size_t),
                ("layout", c.c_char_p), ("words", c.c_char_p), ("geometry", c.c_char_p), ("wgpu", c.c_void_p),
                ("reserved", c.c_size_t)]


class _Tuning(c.Structure):
    _fields_ = [("source", c.c_int), ("modelled", c.c_int), ("provisional", c.c_int), ("threads", c.c_uint),
                ("tiles", c.c_size_t * 9), ("knobs", c.c_int * 64), ("expected_ns", c.c_double),
                ("speedup", c.c_double), ("speedup_lo", c.c_double), ("tuned", c.c_size_t * 3),
                ("geometry", c.c_char * 1024), ("variant", c.c_char * 64), ("reason", c.c_char * 512),
                ("verdict", c.c_int), ("tuned_query_heads", c.c_uint), ("tuned_kv_heads", c.c_uint),
                ("tuned_sequences", c.c_uint), ("plain_ns", c.c_double), ("contract", c.c_int),
                ("reserved", c.c_uint * 1)]


class _Operand(c.Structure):
    _fields_ = [("name", c.c_char * 16), ("type", c.c_char * 8), ("role", c.c_int), ("rows", c.c_size_t),
                ("columns", c.c_size_t), ("bytes", c.c_size_t), ("alignment", c.c_size_t),
                ("packed_bytes", c.c_size_t), ("stride", c.c_size_t)]


class _Info(c.Structure):
    _fields_ = [("tuning", _Tuning), ("operand_count", c.c_size_t), ("operand", _Operand * 6),
                ("weights", c.c_int), ("output", c.c_int), ("packed_bytes", c.c_size_t), ("layout", c.c_char * 32),
                ("pack_rows", c.c_size_t), ("workspace_bytes", c.c_size_t), ("threads", c.c_uint),
                ("is_gpu", c.c_int), ("overlap_launches", c.c_size_t), ("reserved", c.c_size_t * 3)]


def _library() -> str:
    own = pathlib.Path(__file__).parent / "lib" / "libtcbrt.so.0"
    return os.environ.get("TCBRT_LIBRARY") or (str(own) if own.is_file() else own.name)


_lib = c.CDLL(_library())
_P, _S = c.c_void_p, c.c_size_t
for _name, _arguments in {
        "open": [c.c_char_p, _P, _P], "open_empty": [_P, _P], "plan_create": [_P, _P, _P, _P],
        "plan_info": [_P, _P], "plan_operand": [_P, _S, _P], "pack": [_P, _P, _P], "workspace_init": [_P, _P],
        "weights_alloc": [_S, _P, _P, _P], "pool_create": [c.c_uint, _P, _P],
        "execute": [_P, _P, _P, _P], "gpu_device": [c.c_char_p, _P],
        "gpu_load": [_P, _P, _P], "gpu_execute": [_P, _P, c.c_ulonglong, _P, c.c_uint]}.items():
    getattr(_lib, "tcbrt_" + _name).argtypes = _arguments
for _name in ("close", "plan_destroy", "pool_destroy", "gpu_unload", "weights_free"):
    getattr(_lib, "tcbrt_" + _name).argtypes, getattr(_lib, "tcbrt_" + _name).restype = [_P], None
_lib.tcbrt_fp8_bytes.argtypes, _lib.tcbrt_fp8_bytes.restype = [_S, _S], _S
_lib.tcbrt_fp8_blocks.argtypes = [_S, _S, _P, _P, _S, _S, _P, _P]
_lib.tcbrt_source_text.argtypes, _lib.tcbrt_source_text.restype = [c.c_int], c.c_char_p


def _make(function, *arguments):
    """The object that FUNCTION makes; its last two parameters are where it goes and the error."""
    out, err = c.c_void_p(), _Error()
    code = function(*arguments, c.byref(out), c.byref(err))
    if code:
        raise Error(code, err.message.decode())
    return out


USAGE = 2  # TCBRT_E_USAGE

# What is known of memory: TYPE as struct tcbrt_operand says it ("bytes" for untyped, else a name of its own), PLACE
# "cpu" or a device's name, WHAT a word for messages.
_Memory = collections.namedtuple("_Memory", "what address type shape size contiguous writable place")

_TYPES = {"f2": "f16", "f4": "f32", "f8": "float64", "i4": "i32", "u1": "bytes", "i1": "bytes"}
_TENSOR_TYPES = {"float16": "f16", "float32": "f32", "bfloat16": "bf16", "int32": "i32", "uint8": "bytes",
                 "int8": "bytes"}
# NumPy has no bf16 of its own: its bits in uint16.
_ACCEPTED = {"f32": ("f32",), "f16": ("f16",), "bf16": ("bf16", "uint16"), "i32": ("i32",), "blocks": ()}


class _Buffer(c.Structure):
    """Py_buffer, of which the address is read."""
    _fields_ = [("buf", c.c_void_p), ("obj", c.py_object), ("len", c.c_ssize_t), ("itemsize", c.c_ssize_t),
                ("readonly", c.c_int), ("ndim", c.c_int), ("format", c.c_char_p), ("shape", c.c_void_p),
                ("strides", c.c_void_p), ("suboffsets", c.c_void_p), ("internal", c.c_void_p)]


def _type_of(typestr):
    """"<f4" of an array interface as an operand's type."""
    order, kind, size = typestr[0], typestr[1], int(typestr[2:])
    if kind == "V":
        return "bytes"
    if order == ">":
        return f"big-endian {kind}{8 * size}"
    name = {"f": "float", "i": "int", "u": "uint", "c": "complex", "b": "bool"}.get(kind, kind)
    return _TYPES.get(kind + str(size), f"{name}{8 * size}" if kind != "b" else "bool")


def _of_interface(array, interface, place):
    shape, (address, is_read_only) = tuple(interface["shape"]), interface["data"]
    # ml_dtypes' bfloat16 calls itself two untyped bytes.
    kind = "bf16" if str(getattr(array, "dtype", "")) == "bfloat16" else _type_of(interface["typestr"])
    size, strides = math.prod(shape) * int(interface["typestr"][2:]), interface.get("strides")
    step, contiguous = int(interface["typestr"][2:]), True
    for extent, stride in zip(reversed(shape), reversed(strides or ())):
        contiguous &= extent == 1 or stride == step
        step *= extent
    return _Memory("array", address, kind, shape, size, contiguous or size == 0, not is_read_only, place)


def _of_tensor(tensor):
    kind = str(tensor.dtype).split(".")[-1]
    shape = tuple(tensor.shape)
    place = tensor.device.type if tensor.device.type == "cpu" else str(tensor.device)
    return _Memory("tensor", tensor.data_ptr(), _TENSOR_TYPES.get(kind, kind), shape,
                   math.prod(shape) * tensor.element_size(), tensor.is_contiguous(), True, place)


def _of_buffer(where):
    try:
        view = memoryview(where)
    except (TypeError, ValueError):
        raise Error(USAGE, f"{type(where).__name__} is not an array, a tensor, a buffer or an address") from None
    kind = {"f": "f32", "e": "f16", "d": "float64", "i": "i32"}.get(view.format.lstrip("@=<"), view.format)
    buffer = _Buffer()
    c.pythonapi.PyObject_GetBuffer(c.py_object(where), c.byref(buffer), 0x11C)  # PyBUF_FULL_RO
    address = buffer.buf or 0
    c.pythonapi.PyBuffer_Release(c.byref(buffer))
    return _Memory(type(where).__name__, address, "bytes" if view.itemsize == 1 else kind, tuple(view.shape),
                   view.nbytes, view.c_contiguous, not view.readonly, "cpu")


def _memory(where):
    """What WHERE is; None for a bare address, of which nothing is known."""
    if isinstance(where, int):
        return None
    if isinstance(where, (Aligned, Weights)):
        return _Memory(type(where).__name__, where.address, "bytes", (where.size,), where.size, True, True, "cpu")
    if hasattr(where, "data_ptr"):
        return _of_tensor(where)
    if hasattr(where, "__cuda_array_interface__"):
        return _of_interface(where, where.__cuda_array_interface__, "cuda")
    if hasattr(where, "__array_interface__"):
        return _of_interface(where, where.__array_interface__, "cpu")
    return _of_buffer(where)


def _has_shape(shape, rows, columns):
    """May SHAPE be that of ROWS rows of COLUMNS: (rows, columns), (rows, heads, head), flat?"""
    return len(shape) == 1 or any(math.prod(shape[:i]) == rows and math.prod(shape[i:]) == columns for i in range(len(shape) + 1))


def _wrong(memory, operand, size, is_packed):
    """What is wrong with MEMORY for OPERAND, or None."""
    kind, rows, columns = operand.type.decode(), operand.rows, operand.columns
    # Packed weights, stored blocks and caches of blocks are bytes.
    is_raw = is_packed or kind == "blocks"
    accepted = _ACCEPTED.get(kind, (kind,))
    if memory.type != "bytes" and memory.type not in accepted:
        return f"it is of type {memory.type}, and must be {'bytes (uint8)' if kind == 'blocks' else kind}"
    if not memory.contiguous:
        return f"it is not contiguous (a transposed or strided view of shape {memory.shape}): copy it first"
    if memory.size != size:
        return f"it has {memory.size} bytes (shape {memory.shape}), and must have {size}"
    if not is_raw and memory.type != "bytes" and not _has_shape(memory.shape, rows, columns):
        return f"its shape is {memory.shape}, and must be ({rows}, {columns}), row by row"
    if operand.role == 2 and not memory.writable:
        return "it is read-only, and the plan writes it"
    return None


def _operand_address(operands, index, where, place, packed=None):
    """The address of operand INDEX, or Error if it is not what the plan of OPERANDS reads or writes in PLACE."""
    operand = operands[index]
    is_packed = operand.packed_bytes > 0 and packed is not None
    size = operand.packed_bytes if is_packed else operand.bytes
    name = (f"operand {index}, {operand.name.decode()} ({'packed' if is_packed else operand.type.decode()}, "
            f"{operand.rows} x {operand.columns})")
    try:
        memory = _memory(where)
    except Error as error:
        raise Error(USAGE, f"{name}: {error}") from None
    address = where if memory is None else memory.address
    wrong = memory and _wrong(memory, operand, size, is_packed)
    if memory and memory.place.split(":")[0] != place:
        wrong = f"it is on device {memory.place}, and the plan runs on {place}"
    if is_packed and place == "cpu" and memory and not isinstance(where, Weights):
        wrong = f"it is not packed: pass what .pack() returned (layout {packed}), or its address"
    elif is_packed and isinstance(where, Weights) and where.layout not in (None, packed):
        wrong = f"it was packed in layout {where.layout}, and this plan reads {packed}"
    # Weights that are still to be packed may lie anywhere.
    alignment = 1 if packed is None else operand.alignment
    if not wrong and (not address or address % alignment):
        wrong = f"its address {address:#x} is not a multiple of {alignment}" if address else "its address is 0"
    if wrong:
        raise Error(USAGE, f"{name}: {'' if memory is None else memory.what + ': '}{wrong}")
    return address


def _addresses(operands, given, place, layout):
    if len(given) != len(operands):
        names = ", ".join(operand.name.decode() for operand in operands)
        raise Error(USAGE, f"the plan has {len(operands)} operands ({names}), and got {len(given)}")
    return [_operand_address(operands, i, where, place, layout) for i, where in enumerate(given)]


class Aligned:
    """BYTES zeros at a multiple of ALIGNMENT."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._memory = (c.c_char * (size + ALIGNMENT))()
        base = c.addressof(self._memory)
        self.address = (base + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


class Weights:
    """SIZE zeros for weights, in pages of 2 MiB as far as the kernel has them: .huge_bytes lie in such."""

    def __init__(self, size: int, layout: Optional[str] = None) -> None:
        out, huge, err = c.c_void_p(), c.c_size_t(), _Error()
        code = _lib.tcbrt_weights_alloc(size, c.byref(out), c.byref(huge), c.byref(err))
        if code:
            raise Error(code, err.message.decode())
        self.size, self.address, self.huge_bytes, self.layout = size, out.value, huge.value, layout

    def __del__(self):
        _lib.tcbrt_weights_free(getattr(self, "address", None))

    def view(self) -> memoryview:
        """As a writable memoryview, which keeps the memory: file.readinto(weights.view())."""
        array = (c.c_ubyte * self.size).from_address(self.address)
        array.owner = self
        return memoryview(array).cast("B")


class Runtime:
    """Tuning results: those of DATABASE, of the default database, or, where there is none, the defaults."""

    def __init__(self, database: Optional[str] = None) -> None:
        try:
            self._rt = _make(_lib.tcbrt_open, database.encode() if database else None)
        except Error:
            if database:
                raise
            self._rt = _make(_lib.tcbrt_open_empty)

    def __del__(self):
        _lib.tcbrt_close(getattr(self, "_rt", None))

    def plan(self, op: str, m: int, n: int, k: int = 0, device: Optional[str] = None, threads: int = 0,
             contract: int = 0, layout: Optional[str] = None, words: Optional[str] = None, state: int = 0,
             geometry: Optional[str] = None) -> Plan:
        """A plan for the query of these; GEOMETRY, a text as .geometry of another plan, for an A/B test."""
        query = _Query(op=op.encode(), device=device.encode() if device else None, threads=threads,
                       contract=contract, state=state, m=m, n=n, k=k, layout=layout.encode() if layout else None,
                       words=words.encode() if words else None, geometry=geometry.encode() if geometry else None)
        return Plan(_make(_lib.tcbrt_plan_create, self._rt, c.byref(query)))


class Pool:
    """Threads that execute."""

    def __init__(self, threads: int) -> None:
        self._pool = _make(_lib.tcbrt_pool_create, threads)

    def __del__(self):
        _lib.tcbrt_pool_destroy(getattr(self, "_pool", None))


class Plan:
    """What runs: .operands, and .info with the kernel and the reason."""

    def __init__(self, plan):
        self._plan, self.info = plan, _Info()
        _lib.tcbrt_plan_info(plan, c.byref(self.info))
        self.operands = [_Operand() for _ in range(self.info.operand_count)]
        for i, operand in enumerate(self.operands):
            _lib.tcbrt_plan_operand(plan, i, c.byref(operand))
        self.source = _lib.tcbrt_source_text(self.info.tuning.source).decode()
        self.reason = self.info.tuning.reason.decode()
        self.kernel = self.info.tuning.variant.decode()
        self.layout = self.info.layout.decode()
        self.geometry = self.info.tuning.geometry.decode()
        self.expected_ns = self.info.tuning.expected_ns or None
        if not self.info.is_gpu:
            self._workspace = Aligned(self.info.workspace_bytes)
            _lib.tcbrt_workspace_init(plan, self._workspace.address)

    def __del__(self):
        _lib.tcbrt_plan_destroy(getattr(self, "_plan", None))

    def pack(self, weights: Any) -> Weights:
        """The weights as the kernel reads them, in memory of the library's: WEIGHTS are not needed any more."""
        if self.info.weights < 0:
            raise Error(USAGE, "this plan has no weights")
        address = _operand_address(self.operands, self.info.weights, weights, "cpu")
        if not self.info.packed_bytes:
            stored = Weights(self.operands[self.info.weights].bytes, self.layout)
            c.memmove(stored.address, address, stored.size)
            return stored
        packed = Weights(self.info.packed_bytes, self.layout)
        code = _lib.tcbrt_pack(self._plan, address, packed.address)
        if code:
            raise Error(code, "packing wants this plan's weights")
        return packed

    def execute(self, operands: Sequence[Any], pool: Optional[Pool] = None) -> None:
        """On the CPU; one execution of a plan at a time, since it has one workspace."""
        if self.info.is_gpu:
            raise Error(USAGE, "a plan for a GPU is executed by what .load() returns")
        addresses = _addresses(self.operands, operands, "cpu", self.layout)
        code = _lib.tcbrt_execute(self._plan, (c.c_void_p * len(addresses))(*addresses), self._workspace.address,
                                  pool._pool if pool else None)
        if code:
            raise Error(code, "the library refused the operands, see .operands")

    def load(self) -> Loaded:
        """Into the current CUDA context."""
        return Loaded(self)


class Loaded:
    """A plan in a CUDA context.  WORKSPACE and operands are device memory that the caller has."""

    def __init__(self, plan):
        self.plan, self._gpu = plan, _make(_lib.tcbrt_gpu_load, plan._plan)

    def __del__(self):
        _lib.tcbrt_gpu_unload(getattr(self, "_gpu", None))

    def execute(self, operands: Sequence[Any], workspace: Any, stream: int, overlap: bool = False) -> None:
        """Queues the plan on STREAM, an integer as torch.cuda.current_stream().cuda_stream.

        OVERLAP lets it begin while what is before it on STREAM ends, which short kernels gain much by: right unless
        that writes weights (TCBRT_GPU_OVERLAP of tcbrt.h says it in full)."""
        info = self.plan.info
        addresses = _addresses(self.plan.operands, operands, "cuda", self.plan.layout)
        places = {memory.place for memory in map(_memory, operands) if memory and ":" in memory.place}
        if len(places) > 1:
            raise Error(USAGE, f"the operands are on several devices: {', '.join(sorted(places))}")
        scratch = 0
        if info.workspace_bytes:
            scratch = self._workspace_address(workspace, info.workspace_bytes)
        code = _lib.tcbrt_gpu_execute(self._gpu, (c.c_ulonglong * len(addresses))(*addresses), scratch, stream, 1 if overlap else 0)
        if code:
            raise Error(code, "the driver refused the launch")

    @staticmethod
    def _workspace_address(workspace, size):
        memory = None if workspace is None else _memory(workspace)
        address = memory.address if memory else workspace or 0
        if memory and (memory.place.split(":")[0] != "cuda" or memory.size < size or not memory.contiguous):
            raise Error(USAGE, f"the workspace: {memory.what} of {memory.size} bytes on {memory.place}, and must be "
                               f"{size} contiguous bytes on the GPU, zeroed once")
        if not address or address % ALIGNMENT:
            raise Error(USAGE, f"the workspace: the plan needs {size} bytes at a multiple of {ALIGNMENT}")
        return address


def fp8_blocks(values: Any, scale: Any, columns: int = 128, rows: int = 128) -> bytearray:
    """FP8 of safetensors as weights of fp8_matvec and so on: VALUES, N x K bytes of E4M3, and SCALE (f32), one for
    ROWS x COLUMNS of them; K is rounded up to a multiple of 128 in the plan, with zeros in the activations.

        fp8_blocks(w.view(torch.uint8), weight_scale_inv)              # DeepSeek: a scale for 128 x 128
        fp8_blocks(w.view(torch.uint8), weight_scale, w.shape[1], 1)   # vLLM: a scale a row
    """
    of_values, of_scale, err = _memory(values), _memory(scale), _Error()
    if not of_values or not of_scale or of_values.place != "cpu" or of_scale.place != "cpu":
        raise Error(USAGE, "values and scales must be arrays in the processor's memory")
    if of_values.type != "bytes" or not of_values.contiguous or len(of_values.shape) != 2:
        raise Error(USAGE, f"values must be bytes (uint8), N x K and contiguous, not {of_values.type} of shape {of_values.shape}")
    n, k = of_values.shape
    if of_scale.type != "f32" or not of_scale.contiguous or of_scale.size != 4 * -(-n // rows) * -(-k // columns):
        raise Error(USAGE, f"scales must be f32, {-(-n // rows)} x {-(-k // columns)} and contiguous, not "
                           f"{of_scale.type} of shape {of_scale.shape}")
    out = bytearray(_lib.tcbrt_fp8_bytes(n, k))
    code = _lib.tcbrt_fp8_blocks(n, k, of_values.address, of_scale.address, rows, columns,
                                 (c.c_char * len(out)).from_buffer(out), c.byref(err))
    if code:
        raise Error(code, err.message.decode())
    return out


def gpu() -> str:
    """The current context's GPU, its kind and key: "sm_90:4f7512987695c574"."""
    name, err = c.create_string_buffer(32), _Error()
    code = _lib.tcbrt_gpu_device(name, c.byref(err))
    if code:
        raise Error(code, err.message.decode())
    return name.value.decode()
