# SPDX-License-Identifier: MIT
"""What host_code.py makes of the host's code: the block of each launch below, and None where it is not told."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import importlib

find = importlib.import_module("find-launches")
host_code = find.host_code

SOURCE = """
constexpr int WIDTH = 4 * 32;
enum { ROWS = 8 };
struct launch_of { dim3 grid; dim3 block; int shared; };
template <typename K> void start(K kernel, const launch_of &l) { kernel<<<l.grid, l.block, l.shared>>>(); }
void sizes(int n, int limit, int &blocks, int &threads) { threads = min(limit, n); blocks = (n + threads - 1) / threads; }
int largest(int a) { return a > 100 ? 512 : 64; }

void constants(int n) { by_constant<<<n, WIDTH>>>(); }
void dimensions(int n) { dim3 grid(n), block(32, ROWS); by_dimensions<<<grid, block>>>(); }
void several(int block) { by_caller<<<1, block>>>(); }
void lists() { int all[] = {32, 64, 512}; for (int i = 0; i < 3; i++) { int block = all[i]; several(block); } }
template <int N> void instances(int n) { by_template<N, float><<<n, N>>>(); }
void calls_instances(int n) { instances<96>(n); instances<160>(n); }
void cases(int threads) {
  dim3 block(threads);
  switch (threads) {
  case 64: by_case<64><<<1, block>>>(); break;
  case 128: by_case<128><<<1, block>>>(); break;
  }
}
void structures(int n) { start(by_structure<3>, launch_of{dim3(n), dim3(16, 16), 0}); }
void references(int n) { int blocks, threads; sizes(n, 224, blocks, threads); by_reference<<<blocks, threads>>>(); }
void functions() { by_function<<<1, largest(200)>>>(); }
void pointers(bool is_wide) { auto kernel = is_wide ? nullptr : by_pointer<2>; kernel = by_pointer<4>; kernel<<<1, 192>>>(); }
void typed(void **p, cudaStream_t s) { cudaLaunchKernel((void *)by_call, dim3(1), dim3(288), p, 0, s); }
void unknown(int n) { by_size<<<1, n>>>(); by_occupancy<<<1, ask_device()>>>(); }
void scoped(bool small) { if (small) { int b = 32; by_scope<32><<<1, b>>>(); } else { int b = 1024; by_scope<1024><<<1, b>>>(); } }
"""
WANTED = [
    ("by_constant()", (128, 1, 1)), ("by_dimensions()", (32, 8, 1)), ("by_caller()", (64, 1, 1)),
    ("void by_template<96, float>()", (96, 1, 1)), ("void by_template<160, float>()", (160, 1, 1)),
    ("void by_template<224, float>()", None), ("void by_case<64>()", (64, 1, 1)), ("void by_case<128>()", (128, 1, 1)),
    ("void by_structure<3>()", (16, 16, 1)), ("void by_structure<5>()", None), ("by_reference()", (224, 1, 1)),
    ("by_function()", (512, 1, 1)), ("void by_pointer<4>()", (192, 1, 1)), ("by_call()", (288, 1, 1)), ("by_size()", None),
    ("by_occupancy()", None), ("void by_scope<32>()", (32, 1, 1)), ("void by_scope<1024>()", (1024, 1, 1)),
]


def main():
    unit = host_code.Unit(SOURCE)
    launches, wrong = unit.launches(), []
    for shown, block in WANTED:
        found = find.block_of(unit, launches, *find.instance(shown), None)
        if found != block:
            wrong.append(f"{shown}: {found}, not {block}")
    # directives leave out the blocks that they forbid
    if find.block_of(unit, launches, "by_caller", None, 32) != (32, 1, 1):
        wrong.append("by_caller: a block over the bound")
    if wrong:
        sys.exit("FAILED: " + "; ".join(wrong))
    print(f"{len(WANTED) + 1} passed, 0 failed")


main()
