# SPDX-License-Identifier: MIT
"""Times calls of PyTorch's in a CUDA graph, for the peers beside it."""
import torch


def time_graph(run, copies, rounds, seconds):
    """Microseconds of RUN(copy) in each of ROUNDS replays, of about SECONDS, of a graph that goes through the copies."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for i in range(copies):
            run(i)
    torch.cuda.synchronize()
    begin.record()
    for i in range(2 * copies):
        run(i % copies)
    end.record()
    torch.cuda.synchronize()
    calls = copies * max(1, round(2 * seconds * 1000 / begin.elapsed_time(end)))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(calls):
            run(i % copies)
    times = []
    for _ in range(rounds + 1):
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / calls)
    return times[1:]
