// SPDX-License-Identifier: MIT
// Registers that are read and not written on every path, as inline assembly and hand-written PTX have them.
#include "hazard.cuh"

// == guarded_load_without_zero: a load under a predicate, and its register is used by all
// launch: --block 64
// run: --grid 1 --arg buf:f32[40]:ro=random --arg buf:f32[64]=zero --arg u32=40
// rules: undefined unwritten-register
extern "C" __global__ void guarded_load_without_zero(const float *in, float *out, int n)
{
	int t = threadIdx.x;
	float v;

	asm volatile("{\n\t.reg .pred inside;\n\t.reg .f32 x;\n\t" //!
		     "setp.lt.s32 inside, %2, %3;\n\t"
		     MENDED("mov.f32 x, 0f00000000;\n\t")
		     "@inside ld.global.f32 x, [%1];\n\t" //!
		     "mul.f32 %0, x, 0f40000000;\n\t}" : "=f"(v) : "l"(in + t), "r"(t), "r"(n)); //!
	out[t] = v;
}

// == guarded_vector_without_zero: a guarded vector load leaves four registers as they were
// launch: --block 32
// run: --grid 1 --arg buf:u32[64]:ro=random --arg buf:u32[32]=zero --arg u32=16
// rules: undefined unwritten-register
extern "C" __global__ void guarded_vector_without_zero(const uint4 *in, unsigned *out, int n)
{
	int t = threadIdx.x;
	unsigned folded;

	asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 a, b, c, d;\n\t" //!
		     "setp.lt.s32 p, %2, %3;\n\t"
		     MENDED("mov.b32 a, 0;\n\tmov.b32 b, 0;\n\tmov.b32 c, 0;\n\tmov.b32 d, 0;\n\t")
		     "@p ld.global.v4.b32 {a, b, c, d}, [%1];\n\t" //!
		     "xor.b32 a, a, b;\n\txor.b32 c, c, d;\n\txor.b32 %0, a, c;\n\t}" //!
		     : "=r"(folded) : "l"(in + t), "r"(t), "r"(n)); //!
	out[t] = folded;
}

// == accumulator_never_cleared: a loop adds to a register that has no first value
// launch: --block 32
// run: --grid 1 --arg buf:f32[8x32]:ro=random --arg buf:f32[32]=zero
// rules: undefined unwritten-register
extern "C" __global__ void accumulator_never_cleared(const float *in, float *out)
{
	float sum;

	asm volatile("{\n\t.reg .pred more;\n\t.reg .b32 i;\n\t.reg .b64 p;\n\t.reg .f32 x, s;\n\t" //!
		     "mov.b32 i, 0;\n\tmov.b64 p, %1;\n\t"
		     MENDED("mov.f32 s, 0f00000000;\n")
		     "again:\n\tld.global.f32 x, [p];\n\tadd.f32 s, s, x;\n\t" //!
		     "add.s64 p, p, 128;\n\tadd.s32 i, i, 1;\n\tsetp.lt.s32 more, i, 8;\n\t@more bra again;\n\t"
		     "mov.f32 %0, s;\n\t}" : "=f"(sum) : "l"(in + threadIdx.x)); //!
	out[threadIdx.x] = sum;
}

// == one_arm_sets: two of three ways through a branch set the scale
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]:ro=random:-3:3 --arg buf:s32[64]=zero
// rules: undefined unwritten-register
extern "C" __global__ void one_arm_sets(const int *in, int *out)
{
	int v = in[threadIdx.x], r;

	asm volatile("{\n\t.reg .pred p, q;\n\t.reg .s32 scale;\n\t" //!
		     "setp.gt.s32 p, %1, 0;\n\tsetp.lt.s32 q, %1, 0;\n\t"
		     "@p bra positive;\n\t@q bra negative;\n\t"
		     MENDED("mov.s32 scale, 0;\n\t")
		     "bra done;\n" //!
		     "positive:\n\tmov.s32 scale, 5;\n\tbra done;\n"
		     "negative:\n\tmov.s32 scale, -2;\n"
		     "done:\n\tmul.lo.s32 %0, scale, %1;\n\t}" : "=r"(r) : "r"(v)); //!
	out[threadIdx.x] = r;
}

// == predicate_never_set: the predicate of the upper half is used under another name
// launch: --block 64
// run: --grid 1 --arg buf:s32[64]=iota
// rules: undefined unwritten-register
extern "C" __global__ void predicate_never_set(int *x)
{
	int v = x[threadIdx.x];

	asm volatile("{\n\t.reg .pred low, high;\n\t" //!
		     "setp.lt.s32 low, %1, 32;\n\t"
		     MENDED("setp.ge.s32 high, %1, 32;\n\t")
		     "@low add.s32 %0, %0, 1;\n\t"
		     "@high sub.s32 %0, %0, 1;\n\t}" : "+r"(v) : "r"((int)threadIdx.x)); //!
	x[threadIdx.x] = v;
}

// == mma_without_first_sum: the accumulators of a tensor core product have no first value
// launch: --block 32
// run: --grid 1 --arg buf:u32[128]:ro=zero --arg buf:u32[64]:ro=zero --arg buf:f32[128]=zero
// rules: undefined unwritten-register
extern "C" __global__ void mma_without_first_sum(const uint4 *a, const uint2 *b, float4 *c)
{
	int lane = threadIdx.x;
	uint4 x = a[lane];
	uint2 y = b[lane];
	float4 d;

	asm volatile("{\n\t.reg .f32 s<4>;\n\t" //!
		     MENDED("mov.f32 s0, 0f00000000;\n\tmov.f32 s1, s0;\n\tmov.f32 s2, s0;\n\tmov.f32 s3, s0;\n\t")
		     "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {s0, s1, s2, s3}, {%4, %5, %6, %7}, {%8, %9}, {s0, s1, s2, s3};\n\t" //!
		     "mov.f32 %0, s0;\n\tmov.f32 %1, s1;\n\tmov.f32 %2, s2;\n\tmov.f32 %3, s3;\n\t}"
		     : "=f"(d.x), "=f"(d.y), "=f"(d.z), "=f"(d.w)
		     : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(y.x), "r"(y.y)); //!
	c[lane] = d;
}

// == half_a_pair: only the lower half of a 64-bit value is loaded in the tail
// launch: --block 32
// run: --grid 1 --arg buf:u32[63]:ro=random --arg buf:u64[32]=zero --arg u32=63
// rules: undefined unwritten-register
extern "C" __global__ void half_a_pair(const unsigned *in, u64 *out, int n)
{
	int t = threadIdx.x;
	u64 pair;

	asm volatile("{\n\t.reg .pred whole;\n\t.reg .b32 low, high;\n\t" //!
		     "setp.lt.s32 whole, %2, %3;\n\tld.global.b32 low, [%1];\n\t"
		     "@whole ld.global.b32 high, [%1+4];\n\t" //!
		     MENDED("@!whole mov.b32 high, 0;\n\t")
		     "mov.b64 %0, {low, high};\n\t}" : "=l"(pair) : "l"(in + 2 * t), "r"(2 * t + 1), "r"(n)); //!
	out[t] = pair;
}
