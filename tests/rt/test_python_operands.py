# SPDX-License-Identifier: MIT
"""What examples/python/tcbrt.py takes as an operand and what it refuses, saying which and why.

    test_python_operands.py SOURCE_DIR [numpy|gpu]

Buffers of Python's own and stand-ins for PyTorch's tensors; or arrays of NumPy; or tensors on a GPU, for which the fake
driver will do.  What is refused would be computed wrongly, or crash: nothing of it may reach the library.
"""
import array
import ctypes
import pathlib
import struct
import sys

SOURCE = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SOURCE / "examples/python"))

import tcbrt  # noqa: E402

M, N = 3, 40
checked = 0


def refused(says, call, *arguments):
    """CALL must raise tcbrt.Error with SAYS in its words."""
    global checked
    try:
        call(*arguments)
    except tcbrt.Error as error:
        if says not in str(error):
            sys.exit(f"'{says}' is not in: {error}")
        if error.code != 2:
            sys.exit(f"code {error.code}: {error}")
    else:
        sys.exit(f"was not refused: {says}")
    checked += 1


def expected_softmax(values):
    import math
    rows = [values[i * N:(i + 1) * N] for i in range(M)]
    out = []
    for row in rows:
        e = [math.exp(v - max(row)) for v in row]
        out += [v / sum(e) for v in e]
    return out


def right(y, x):
    global checked
    worst = max(abs(a - b) for a, b in zip(y, expected_softmax(list(x))))
    if not worst < 1e-6:
        sys.exit(f"the result is wrong by {worst}")
    checked += 1


class Tensor:
    """As much of torch.Tensor as is looked at."""

    class device_of:
        def __init__(self, name):
            self.name, self.type = name, name.split(":")[0]

        def __str__(self):
            return self.name

    def __init__(self, values, shape, dtype="torch.float32", device="cpu", contiguous=True):
        self.values, self.shape, self.dtype, self.device = values, shape, dtype, Tensor.device_of(device)
        self.contiguous = contiguous

    def data_ptr(self):
        return self.values.buffer_info()[0]

    def element_size(self):
        return self.values.itemsize

    def is_contiguous(self):
        return self.contiguous


def check_buffers(plan):
    """Without NumPy: array.array, bytes, bytearray, memoryview, addresses."""
    x, y = array.array("f", [0.01 * i - 0.3 for i in range(M * N)]), array.array("f", [0.0]) * (M * N)
    run = plan.execute
    run([x, y])
    right(y, x)
    run([bytes(x), memoryview(y)])
    run([x.buffer_info()[0], y.buffer_info()[0]])
    raw = bytearray(4 * M * N)
    run([memoryview(x).cast("B").cast("f", (M, N)), raw])
    right(struct.unpack(f"{M * N}f", raw), x)
    refused("operand 0, x (f32, 3 x 40): array: it is of type float64, and must be f32", run, [array.array("d", x), y])
    refused("operand 1, y (f32, 3 x 40): bytes: it is read-only", run, [x, bytes(x)])
    refused("operand 1, y (f32, 3 x 40): array: it has 476 bytes (shape (119,)), and must have 480", run, [x, y[1:]])
    refused("operand 0, x (f32, 3 x 40): memoryview: it is not contiguous", run, [memoryview(x)[::2], y])
    refused("its shape is (40, 3), and must be (3, 40)", run,
            [memoryview(x).cast("B").cast("f", (N, M)), y])
    refused("operand 0, x (f32, 3 x 40): its address is 0", run, [0, y])
    refused("operand 0, x (f32, 3 x 40): its address", run, [x.buffer_info()[0] + 1, y])
    refused("operand 1, y (f32, 3 x 40): NoneType is not an array", run, [x, None])
    refused("operand 0, x (f32, 3 x 40): list is not an array", run, [list(x), y])
    refused("the plan has 2 operands (x, y), and got 1", run, [x])
    refused("the plan has 2 operands (x, y), and got 7", run, [x] * 7)
    refused("this plan has no weights", plan.pack, x)


def check_tensors(plan):
    x, y = array.array("f", [0.02 * i - 1 for i in range(M * N)]), array.array("f", [0.0]) * (M * N)
    run = plan.execute
    run([Tensor(x, (M, N)), Tensor(y, (M, N))])
    right(y, x)
    out = Tensor(y, (M, N))
    refused("operand 0, x (f32, 3 x 40): tensor: it is of type float64", run,
            [Tensor(array.array("d", x), (M, N), "torch.float64"), out])
    refused("it is of type bf16", run, [Tensor(array.array("H", [0]) * (M * N), (M, N), "torch.bfloat16"), out])
    refused("it is not contiguous", run, [Tensor(x, (M, N), contiguous=False), out])
    refused("its shape is (40, 3)", run, [Tensor(x, (N, M)), out])
    refused("operand 1, y (f32, 3 x 40): tensor: it has 476 bytes", run, [Tensor(x, (M, N)), Tensor(y, (M * N - 1,))])
    refused("it is on device cuda:1, and the plan runs on cpu", run, [Tensor(x, (M, N), device="cuda:1"), out])
    refused("it is on device meta, and the plan runs on cpu", run, [Tensor(x, (M, N), device="meta"), out])


def check_weights(rt):
    """Packed weights belong to a layout and a size."""
    n, k = 48, 512
    plan, larger = rt.plan("q80_matvec", 1, n, k, threads=1), rt.plan("q80_matvec", 1, 2 * n, k, threads=1)
    stored, x, y = bytes(plan.info.operand[0].bytes), array.array("f", [1.0]) * k, array.array("f", [1.0]) * n
    packed = plan.pack(stored)
    plan.execute([packed, x, y])
    if any(y):
        sys.exit("weights of zeros do not give zeros")
    refused("operand 0, weights (blocks, 48 x 512): bytes: it has 26111 bytes", plan.pack, stored[:-1])
    refused("it is of type f32, and must be bytes (uint8)", plan.pack, array.array("f", [0.0]) * (len(stored) // 4))
    if larger.info.packed_bytes:
        refused("(packed, 96 x 512): Weights: it has", larger.execute, [packed, x, array.array("f", [0.0]) * (2 * n)])
        refused("(packed, 48 x 512): bytes: it is not packed: pass what .pack() returned", plan.execute, [stored, x, y])
        packed.layout = "other"
        refused("it was packed in layout other, and this plan reads", plan.execute, [packed, x, y])
    view = tcbrt.Weights(3 << 20).view()
    if len(view) != 3 << 20 or view.readonly or any(view[:4096]):
        sys.exit("memory for weights is not writable zeros")
    view[-1] = 7
    refused("0 bytes for weights", tcbrt.Weights, 0)


def check_queries(rt, plan):
    """A/B by geometry."""
    again = rt.plan("softmax", M, N, threads=1, geometry=plan.geometry)
    if again.source != "asked" or again.geometry != plan.geometry:
        sys.exit(f"{again.source}, {again.geometry}")
    refused("query.geometry", rt.plan, "softmax", M, N, 0, None, 1, 0, None, None, 0, "macro=1x1x1")


def check_numpy(rt, plan):
    import numpy as np

    x = np.linspace(-1, 1, M * N, dtype=np.float32).reshape(M, N)
    y = np.zeros((M, N), dtype=np.float32)
    run = plan.execute
    run([x, y])
    right(y.ravel().tolist(), x.ravel().tolist())
    refused("operand 0, x (f32, 3 x 40): array: it is of type float64, and must be f32", run,
            [x.astype(np.float64), y])
    refused("it is of type big-endian f32", run, [x.astype(">f4"), y])
    refused("it is not contiguous (a transposed or strided view of shape (3, 40)): copy it first", run,
            [np.ascontiguousarray(x.T).T, y])
    refused("its shape is (40, 3), and must be (3, 40)", run, [np.ascontiguousarray(x.T), y])
    refused("operand 1, y (f32, 3 x 40): array: it has 476 bytes", run, [x, y.ravel()[1:]])
    constant = y.copy()
    constant.flags.writeable = False
    before = constant.copy()
    refused("operand 1, y (f32, 3 x 40): array: it is read-only, and the plan writes it", run, [x, constant])
    if not np.array_equal(constant, before):
        sys.exit("a read-only array was written")
    run([constant, y])  # as an input it will do
    refused("it is of type i32", run, [x.astype(np.int32), y])
    product = rt.plan("q80_matvec", 1, 32, 256, threads=1)
    weights = np.zeros(product.info.operand[0].bytes, dtype=np.uint8)
    refused("operand 0, weights (blocks, 32 x 256): array: it has", product.pack, weights[:-34])
    refused("it is not contiguous", product.pack, np.zeros((2 * weights.size,), dtype=np.uint8)[::2])
    refused("it is of type f32, and must be bytes (uint8)", product.pack, weights.view(np.float32))
    attention = rt.plan("attention_decode_bf16", 1, 64, 64, contract=1, threads=1, words="h4/2,b1")
    names = [o.name.decode() for o in attention.operands]
    kv, q, lengths = np.zeros((64, 2, 64), dtype=np.uint16), np.zeros((1, 4, 64), dtype=np.float32), np.array([3])
    out = np.ones_like(q)
    at = dict(q=q, k=kv, v=kv, lengths=lengths.astype(np.int32), out=out)
    attention.execute([at[name] for name in names])
    if out.any():
        sys.exit("attention over zeros is not zero")
    at["lengths"] = lengths
    refused("operand 3, lengths (i32, 1 x 1): array: it is of type int64, and must be i32", attention.execute,
            [at[name] for name in names])


class OnGpu(Tensor):
    """A tensor in memory of the driver's."""

    def __init__(self, cuda, count, shape, dtype="torch.float32", device="cuda:0", contiguous=True):
        super().__init__(array.array("f"), shape, dtype, device, contiguous)
        self.address = ctypes.c_uint64()
        if cuda.cuMemAlloc(ctypes.byref(self.address), ctypes.c_size_t(4 * count)):
            sys.exit("no device memory")

    def data_ptr(self):
        return self.address.value


def check_gpu(rt):
    cuda, device, context, stream = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), 0) or cuda.cuDevicePrimaryCtxRetain(
            ctypes.byref(context), device) or cuda.cuCtxSetCurrent(context) or cuda.cuStreamCreate(
                ctypes.byref(stream), 1):
        sys.exit("the driver does not start")
    plan = rt.plan("rmsnorm", M, N, device=tcbrt.gpu())
    loaded, bytes_needed = plan.load(), plan.info.workspace_bytes
    scratch = OnGpu(cuda, bytes_needed // 4 + 1, (bytes_needed // 4 + 1,)) if bytes_needed else None
    x, w, y = OnGpu(cuda, M * N, (M, N)), OnGpu(cuda, N, (N,)), OnGpu(cuda, M * N, (M, N))

    def run(*operands):
        loaded.execute(operands, scratch, stream.value, overlap=True)

    run(x, w, y)
    run(x.data_ptr(), w, y)
    refused("the plan has 3 operands (x, w, y), and got 2", run, x, y)
    refused("operand 0, x (f32, 3 x 40): tensor: it is on device cpu, and the plan runs on cuda", run,
            Tensor(array.array("f", [0.0]) * (M * N), (M, N)), w, y)
    refused("operand 1, w (f32, 1 x 40): tensor: it has 156 bytes", run, x, OnGpu(cuda, N, (N - 1,)), y)
    refused("operand 0, x (f32, 3 x 40): tensor: it is of type f16", run, OnGpu(cuda, M * N, (M, N), "torch.float16"),
            w, y)
    refused("its shape is (40, 3)", run, OnGpu(cuda, M * N, (N, M)), w, y)
    refused("it is not contiguous", run, OnGpu(cuda, M * N, (M, N), contiguous=False), w, y)
    refused("the operands are on several devices: cuda:0, cuda:1", run, x, OnGpu(cuda, N, (N,), device="cuda:1"), y)
    refused("a plan for a GPU is executed by what .load() returns", plan.execute, [x, w, y])
    product = rt.plan("q4k_matvec", 1, 64, 512, device=tcbrt.gpu())
    if product.info.workspace_bytes:
        weights = OnGpu(cuda, product.info.packed_bytes // 4 + 64, (1,))
        refused("the workspace: the plan needs", product.load().execute,
                [weights.data_ptr(), OnGpu(cuda, 512, (512,)), OnGpu(cuda, 64, (64,))], None, stream.value)


def main():
    rt = tcbrt.Runtime()
    if sys.argv[2:] == ["gpu"]:
        check_gpu(rt)
        print(f"{checked} operands were taken or refused as they should be")
        return
    plan = rt.plan("softmax", M, N, threads=1)
    if sys.argv[2:] == ["numpy"]:
        check_numpy(rt, plan)
    else:
        check_buffers(plan)
        check_tensors(plan)
        check_weights(rt)
        check_queries(rt, plan)
    print(f"{checked} operands were taken or refused as they should be")


main()
