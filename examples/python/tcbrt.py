# SPDX-License-Identifier: MIT
"""libtcbrt from Python, by ctypes: the part that plans and executes.  tcbrt.h is the manual.

    rt = tcbrt.Runtime()                       # or Runtime("tuning.db")
    plan = rt.plan("q4k_matvec", 1, 4096, 14336)
    packed = plan.pack(weights)                # weights as a GGUF file has them: bytes or an array
    plan.execute([packed, x, y])               # addresses, or anything with .ctypes.data (NumPy)

The library is the one named by TCBRT_LIBRARY, else what the loader finds as libtcbrt.so.0.
"""
import ctypes as c
import os

ALIGNMENT = 256


class Error(Exception):
    """What the library says went wrong; .code is one of enum tcbrt_code."""

    def __init__(self, code, message):
        super().__init__(message or f"libtcbrt code {code}")
        self.code = code


class _Error(c.Structure):
    _fields_ = [("code", c.c_int), ("message", c.c_char * 512), ("reserved", c.c_size_t * 2)]


class _Query(c.Structure):
    _fields_ = [("op", c.c_char_p), ("device", c.c_char_p), ("threads", c.c_uint), ("contract", c.c_int),
                ("state", c.c_int), ("m", c.c_size_t), ("n", c.c_size_t), ("k", c.c_size_t),
                ("layout", c.c_char_p), ("words", c.c_char_p), ("reserved", c.c_size_t * 3)]


class _Tuning(c.Structure):
    _fields_ = [("source", c.c_int), ("modelled", c.c_int), ("provisional", c.c_int), ("threads", c.c_uint),
                ("tiles", c.c_size_t * 9), ("knobs", c.c_int * 64), ("expected_ns", c.c_double),
                ("speedup", c.c_double), ("speedup_lo", c.c_double), ("tuned", c.c_size_t * 3),
                ("geometry", c.c_char * 1024), ("variant", c.c_char * 64), ("reason", c.c_char * 512),
                ("verdict", c.c_int), ("tuned_query_heads", c.c_uint), ("tuned_kv_heads", c.c_uint),
                ("tuned_sequences", c.c_uint), ("reserved", c.c_size_t * 2)]


class _Operand(c.Structure):
    _fields_ = [("name", c.c_char * 16), ("type", c.c_char * 8), ("role", c.c_int), ("rows", c.c_size_t),
                ("columns", c.c_size_t), ("bytes", c.c_size_t), ("alignment", c.c_size_t),
                ("block_rows", c.c_size_t), ("reserved", c.c_size_t * 1)]


class _Info(c.Structure):
    _fields_ = [("tuning", _Tuning), ("operand_count", c.c_size_t), ("operand", _Operand * 6),
                ("weights", c.c_int), ("output", c.c_int), ("packed_bytes", c.c_size_t), ("layout", c.c_char * 32),
                ("pack_rows", c.c_size_t), ("workspace_bytes", c.c_size_t), ("threads", c.c_uint),
                ("is_gpu", c.c_int), ("reserved", c.c_size_t * 4)]


_lib = c.CDLL(os.environ.get("TCBRT_LIBRARY", "libtcbrt.so.0"))
_P, _S = c.c_void_p, c.c_size_t
for _name, _arguments in {
        "open": [c.c_char_p, _P, _P], "open_empty": [_P, _P], "plan_create": [_P, _P, _P, _P],
        "plan_info": [_P, _P], "pack": [_P, _P, _P], "workspace_init": [_P, _P],
        "pool_create": [c.c_uint, _P, _P], "execute": [_P, _P, _P, _P], "gpu_device": [c.c_char_p, _P],
        "gpu_load": [_P, _P, _P], "gpu_execute": [_P, _P, c.c_ulonglong, _P, c.c_uint]}.items():
    getattr(_lib, "tcbrt_" + _name).argtypes = _arguments
for _name in ("close", "plan_destroy", "pool_destroy", "gpu_unload"):
    getattr(_lib, "tcbrt_" + _name).argtypes, getattr(_lib, "tcbrt_" + _name).restype = [_P], None
_lib.tcbrt_source_text.argtypes, _lib.tcbrt_source_text.restype = [c.c_int], c.c_char_p


def _make(function, *arguments):
    """The object that FUNCTION makes; its last two parameters are where it goes and the error."""
    out, err = c.c_void_p(), _Error()
    code = function(*arguments, c.byref(out), c.byref(err))
    if code:
        raise Error(code, err.message.decode())
    return out


def _address(where):
    """Of a number, a NumPy array, a tensor of PyTorch, bytes or a ctypes buffer."""
    if isinstance(where, int):
        return where
    if hasattr(where, "data_ptr"):
        return where.data_ptr()
    if hasattr(where, "ctypes"):
        return where.ctypes.data
    if isinstance(where, bytes):
        return c.cast(c.c_char_p(where), c.c_void_p).value
    return c.addressof(where)


class Aligned:
    """BYTES zeros at a multiple of ALIGNMENT."""

    def __init__(self, size):
        self.size = size
        self._memory = (c.c_char * (size + ALIGNMENT))()
        base = c.addressof(self._memory)
        self.address = (base + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


class Runtime:
    """Tuning results: those of DATABASE, of the default database, or, where there is none, the defaults."""

    def __init__(self, database=None):
        try:
            self._rt = _make(_lib.tcbrt_open, database.encode() if database else None)
        except Error:
            if database:
                raise
            self._rt = _make(_lib.tcbrt_open_empty)

    def __del__(self):
        _lib.tcbrt_close(getattr(self, "_rt", None))

    def plan(self, op, m, n, k=0, device=None, threads=0, contract=0, layout=None, words=None):
        query = _Query(op=op.encode(), device=device.encode() if device else None, threads=threads,
                       contract=contract, m=m, n=n, k=k, layout=layout.encode() if layout else None,
                       words=words.encode() if words else None)
        return Plan(_make(_lib.tcbrt_plan_create, self._rt, c.byref(query)))


class Pool:
    """Threads that execute."""

    def __init__(self, threads):
        self._pool = _make(_lib.tcbrt_pool_create, threads)

    def __del__(self):
        _lib.tcbrt_pool_destroy(getattr(self, "_pool", None))


class Plan:
    """What runs: .info has the operands, the kernel and the reason."""

    def __init__(self, plan):
        self._plan, self.info = plan, _Info()
        _lib.tcbrt_plan_info(plan, c.byref(self.info))
        self.source = _lib.tcbrt_source_text(self.info.tuning.source).decode()
        self.reason = self.info.tuning.reason.decode()
        self.kernel = self.info.tuning.variant.decode()
        self.layout = self.info.layout.decode()
        if not self.info.is_gpu:
            self._workspace = Aligned(self.info.workspace_bytes)
            _lib.tcbrt_workspace_init(plan, self._workspace.address)

    def __del__(self):
        _lib.tcbrt_plan_destroy(getattr(self, "_plan", None))

    def pack(self, weights):
        """The weights as the kernel reads them; WEIGHTS itself where it reads them as they are stored."""
        if not self.info.packed_bytes:
            return weights
        packed = Aligned(self.info.packed_bytes)
        code = _lib.tcbrt_pack(self._plan, _address(weights), packed.address)
        if code:
            raise Error(code, "packing wants this plan's weights")
        return packed

    def execute(self, operands, pool=None):
        """On the CPU; one execution of a plan at a time, since it has one workspace."""
        addresses = [o.address if isinstance(o, Aligned) else _address(o) for o in operands]
        if len(addresses) != self.info.operand_count:
            raise Error(2, f"the plan has {self.info.operand_count} operands")
        code = _lib.tcbrt_execute(self._plan, (c.c_void_p * 6)(*addresses), self._workspace.address,
                                  pool._pool if pool else None)
        if code:
            raise Error(code, "an operand is NULL or misaligned, see .info.operand")

    def load(self):
        """Into the current CUDA context."""
        return Loaded(self)


class Loaded:
    """A plan in a CUDA context.  WORKSPACE and operands are device memory that the caller has."""

    def __init__(self, plan):
        self.plan, self._gpu = plan, _make(_lib.tcbrt_gpu_load, plan._plan)

    def __del__(self):
        _lib.tcbrt_gpu_unload(getattr(self, "_gpu", None))

    def execute(self, operands, workspace, stream, overlap=False):
        """Queues the plan on STREAM, an integer as torch.cuda.current_stream().cuda_stream."""
        addresses = (c.c_ulonglong * 6)(*[_address(o) for o in operands])
        code = _lib.tcbrt_gpu_execute(self._gpu, addresses, _address(workspace) if workspace is not None else 0,
                                      stream, 1 if overlap else 0)
        if code:
            raise Error(code, "an operand is NULL or misaligned, or the driver refused the launch")


def gpu():
    """The current context's GPU, its kind and key: "sm_90:4f7512987695c574"."""
    name, err = c.create_string_buffer(32), _Error()
    code = _lib.tcbrt_gpu_device(name, c.byref(err))
    if code:
        raise Error(code, err.message.decode())
    return name.value.decode()
