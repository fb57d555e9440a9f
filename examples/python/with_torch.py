# SPDX-License-Identifier: MIT
"""Row normalisation on PyTorch's tensors, on its current stream and in a CUDA graph of its own.

    TCBRT_LIBRARY=.../libtcbrt.so.0 python3 with_torch.py [DATABASE]
"""
import sys

import torch

import tcbrt

EPS = 1e-5  # the op's own


def main():
    rt = tcbrt.Runtime(sys.argv[1] if len(sys.argv) > 1 else None)
    x = torch.randn(513, 4096, device="cuda")
    weight = torch.randn(4096, device="cuda")
    y = torch.full_like(x, float("nan"))
    plan = rt.plan("rmsnorm", *x.shape, device=tcbrt.gpu())
    workspace = torch.zeros(max(plan.info.workspace_bytes, 1), dtype=torch.uint8, device="cuda")
    loaded = plan.load()
    names = [operand.name.decode() for operand in plan.operands]
    operands = [{"x": x, "w": weight, "y": y}[name] for name in names]

    def run():
        # What is before it on the stream does not write the norm's weights, so it may begin before that has ended.
        loaded.execute(operands, workspace, torch.cuda.current_stream().cuda_stream, overlap=True)

    expected = torch.nn.functional.rms_norm(x.double(), (4096,), weight.double(), eps=EPS)
    run()
    error = ((y - expected).abs() / (1 + expected.abs())).max().item()
    y.fill_(float("nan"))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    graph.replay()
    torch.cuda.synchronize()
    in_graph = ((y - expected).abs() / (1 + expected.abs())).max().item()
    print(f"{plan.kernel} ({plan.source}: {plan.reason}), error {error:.2g}, in a graph {in_graph:.2g}")
    return not (error < 1e-5 and in_graph < 1e-5)


sys.exit(main())
