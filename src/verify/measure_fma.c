/* SPDX-License-Identifier: MIT
 *
 * Loops with and without fused multiply-adds, compiled for AVX2 whatever the
 * rest is compiled for.
 */
#include "verify/measure_fma.h"

#include "base/util.h"
#include "verify/measure_time.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdlib.h>

enum { LENGTH = 2048, REPEATS = 200, STEPS = 20000, LANES = 8, CHAINS_MAX = 8, PAIRS = 61 };

struct loops {
	float x[LENGTH], y[LENGTH];
	float result;
};

#define AVX2_CODE __attribute__((target("avx2,fma"), noinline))
#define AVX2_INLINE static inline __attribute__((target("avx2,fma"), always_inline))

AVX2_INLINE __m256 product_sum(__m256 a, __m256 b, __m256 sum, const int is_fused)
{
	if (is_fused)
		return _mm256_fmadd_ps(a, b, sum);
	__m256 product = _mm256_mul_ps(a, b);
	__asm__("" : "+x"(product)); /* or the compiler fuses it */
	return _mm256_add_ps(product, sum);
}

AVX2_INLINE float add_up(const __m256 *sums, const int count)
{
	float lanes[LANES], sum = 0;
	for (int c = 0; c < count; c++) {
		_mm256_storeu_ps(lanes, sums[c]);
		for (int i = 0; i < LANES; i++)
			sum += lanes[i];
	}
	return sum;
}

AVX2_INLINE void dot(struct loops *l, const int is_fused, const int chains)
{
	__m256 sum[CHAINS_MAX];
	for (int c = 0; c < chains; c++)
		sum[c] = _mm256_setzero_ps();
	for (int repeat = 0; repeat < REPEATS; repeat++)
		for (int i = 0; i < LENGTH; i += LANES * chains)
#pragma GCC unroll 8
			for (int c = 0; c < chains; c++)
				sum[c] = product_sum(_mm256_loadu_ps(l->x + i + c * LANES),
						     _mm256_loadu_ps(l->y + i + c * LANES), sum[c], is_fused);
	l->result = add_up(sum, chains);
}

AVX2_CODE static void dot_plain_8(void *ctx)
{
	dot(ctx, 0, 8);
}
AVX2_CODE static void dot_fused_8(void *ctx)
{
	dot(ctx, 1, 8);
}
AVX2_CODE static void dot_fused_4(void *ctx)
{
	dot(ctx, 1, 4);
}
AVX2_CODE static void dot_fused_1(void *ctx)
{
	dot(ctx, 1, 1);
}

enum operation { MUL, FMA, MUL_THEN_ADD, MUL_TWICE };

/* In registers: CHAINS_MAX chains of dependent operations. */
AVX2_INLINE void in_registers(struct loops *l, const enum operation operation)
{
	__m256 value[CHAINS_MAX];
	const __m256 factor = _mm256_set1_ps(l->x[0]), term = _mm256_set1_ps(l->y[0]);
	for (int c = 0; c < CHAINS_MAX; c++)
		value[c] = _mm256_set1_ps(l->x[c]);
	for (int step = 0; step < STEPS; step++) {
#pragma GCC unroll 8
		for (int c = 0; c < CHAINS_MAX; c++) {
			if (operation == FMA || operation == MUL_THEN_ADD)
				value[c] = product_sum(value[c], factor, term, operation == FMA);
			else
				value[c] = _mm256_mul_ps(value[c], factor);
			__asm__("" : "+x"(value[c])); /* not reassociated */
			if (operation == MUL_TWICE)
				value[c] = _mm256_mul_ps(value[c], factor);
			__asm__("" : "+x"(value[c]));
		}
	}
	l->result = add_up(value, CHAINS_MAX);
}

AVX2_CODE static void registers_mul(void *ctx)
{
	in_registers(ctx, MUL);
}
AVX2_CODE static void registers_fma(void *ctx)
{
	in_registers(ctx, FMA);
}
AVX2_CODE static void registers_unfused(void *ctx)
{
	in_registers(ctx, MUL_THEN_ADD);
}
AVX2_CODE static void registers_mul_twice(void *ctx)
{
	in_registers(ctx, MUL_TWICE);
}

/* NULL, and why, where there is no AVX2. */
static struct loops *make_loops(struct tcb_finding *out)
{
	struct loops *loops = NULL;
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
		tcb_found_nothing(out, "this processor has no AVX2 with fma");
		return NULL;
	}
	if (!(loops = malloc(sizeof *loops)))
		tcb_found_nothing(out, "out of memory");
	for (int i = 0; loops && i < LENGTH; i++)
		loops->x[i] = loops->y[i] = 1; /* powers and sums of these stay what they are, or small */
	return loops;
}

/* Holds where A takes at least LIMIT times as long as B. */
static void found_ratio(tcb_timed_fn *a, tcb_timed_fn *b, double limit, const char *what, struct tcb_finding *out)
{
	struct loops *loops = make_loops(out);
	if (!loops)
		return;
	const struct tcb_interval ratio = tcb_pair_time(a, b, loops, PAIRS);
	tcb_found_above(out, &ratio, limit, what);
	free(loops);
}

void tcb_claim_fma_faster(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	(void)lab;
	if (plant == TCB_PLANT_TRUTH)
		found_ratio(registers_unfused, registers_fma, 1.1,
			    "time of mul and add over fma, 8 chains in registers (AVX2)", out);
	else if (plant == TCB_PLANT_DEFECT)
		found_ratio(dot_fused_8, dot_fused_8, 1.1, "time of a dot product over itself", out);
	else
		found_ratio(dot_plain_8, dot_fused_8, 1.1,
			    "time of mul and add over fma, a dot product in the first cache (AVX2)", out);
}

void tcb_claim_fma_unrolled(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	(void)lab;
	if (plant == TCB_PLANT_DEFECT)
		found_ratio(dot_fused_4, dot_fused_1, 1, "time of a dot product with 4 accumulators over 1", out);
	else
		found_ratio(dot_fused_1, dot_fused_4, 1, "time of a dot product with 1 accumulator over 4 (AVX2)", out);
}

void tcb_claim_fma_throughput(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct loops *loops = make_loops(out);
	(void)lab;
	if (!loops)
		return;
	tcb_timed_fn *const other = plant == TCB_PLANT_DEFECT ? registers_mul_twice : registers_fma;
	const struct tcb_interval ratio = tcb_pair_time(other, registers_mul, loops, PAIRS);
	free(loops);
	const int is_within = ratio.lo > 0.9 && ratio.hi < 1.1, is_beyond = ratio.hi < 0.9 || ratio.lo > 1.1;
	const char *what = plant == TCB_PLANT_DEFECT ? "two mul" : "fma";
	if (is_within || is_beyond || plant == TCB_PLANT_TRUTH)
		tcb_found(out, is_within, "time of %s over mul, 8 chains in registers (AVX2): %.3f [%.3f, %.3f]", what,
			  ratio.median, ratio.lo, ratio.hi);
	else
		tcb_found_nothing(out, "undecided: time of %s over mul %.3f [%.3f, %.3f]", what, ratio.median, ratio.lo,
				  ratio.hi);
}

#else

static void found_no_avx2(struct tcb_finding *out)
{
	tcb_found_nothing(out, "this processor has no AVX2");
}

void tcb_claim_fma_faster(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	(void)lab, (void)plant;
	found_no_avx2(out);
}

void tcb_claim_fma_unrolled(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	(void)lab, (void)plant;
	found_no_avx2(out);
}

void tcb_claim_fma_throughput(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	(void)lab, (void)plant;
	found_no_avx2(out);
}

#endif
