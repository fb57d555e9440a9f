/* SPDX-License-Identifier: MIT
 *
 * Products of tiles of bf16 (amx_tiles.h): all sizes with plain C's tile
 * instructions against double precision; and the processor's, where it has
 * them, by bits.
 */
#include "cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "base/target.h"
#include "base/tiles.h"
#include "base/util.h"
#include "kernels/bf16_tiles.h"
#include "kernels/formats.h"

enum { SPAN = 32, STEP = 32, STEPS = 5, STRIDE = SPAN + 5, LEFT_STRIDE = STEP * STEPS + 8 };

static const float guard = -12345;

struct product {
	uint16_t left[SPAN * LEFT_STRIDE];
	_Alignas(64) uint16_t right[STEPS * STEP * SPAN];
	float start[SPAN * STRIDE], sums[SPAN * STRIDE];
};

static float right_value(const struct product *p, int micro_n, size_t k, size_t n)
{
	const size_t line = (k / STEP * (size_t)(micro_n / 16) + n / 16) * 16 + k % STEP / 2;
	return tcb_bf16_to_f32(p->right[line * 32 + n % 16 * 2 + k % 2]);
}

static void fill(struct product *p, uint64_t seed)
{
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (size_t i = 0; i < sizeof(p->left) / 2; i++)
		p->left[i] = tcb_f32_to_bf16(tcb_rng_normal(&rng));
	for (size_t i = 0; i < sizeof(p->right) / 2; i++)
		p->right[i] = tcb_f32_to_bf16(tcb_rng_normal(&rng));
	for (size_t i = 0; i < sizeof(p->start) / 4; i++)
		p->start[i] = tcb_rng_normal(&rng);
}

static void run(struct product *p, const struct bf16_tiles *tiles, int micro_m, int micro_n, size_t steps,
		int accumulate)
{
	for (int m = 0; m < SPAN; m++)
		for (int n = 0; n < STRIDE; n++)
			p->sums[m * STRIDE + n] =
				m < micro_m && n < micro_n ? accumulate ? p->start[m * STRIDE + n] : NAN : guard;
	tiles->run(micro_m, micro_n, steps, p->left, LEFT_STRIDE, p->right, accumulate, p->sums, STRIDE);
}

static void judge(const struct product *p, int micro_m, int micro_n, size_t steps, int accumulate)
{
	for (size_t m = 0; m < SPAN; m++)
		for (size_t n = 0; n < STRIDE; n++) {
			if (m >= (size_t)micro_m || n >= (size_t)micro_n) {
				assert_true(p->sums[m * STRIDE + n] == guard);
				continue;
			}
			double sum = accumulate ? (double)p->start[m * STRIDE + n] : 0, size = fabs(sum);
			for (size_t k = 0; k < steps * STEP; k++) {
				const double term = (double)tcb_bf16_to_f32(p->left[m * LEFT_STRIDE + k]) *
						    (double)right_value(p, micro_n, k, n);
				sum += term;
				size += fabs(term);
			}
			/* 16 products in order, their other half, the sums of the steps before */
			if (!(fabs((double)p->sums[m * STRIDE + n] - sum) <= (double)(17 + steps) * 0x1p-24 * size))
				fail_msg("%dx%d, %zu steps: sum %zu, %zu is %g, not %g", micro_m, micro_n, steps, m, n,
					 (double)p->sums[m * STRIDE + n], sum);
		}
}

#define EACH_SIZE(m, n, steps, accumulate)                              \
	for (int m = 16; m <= SPAN; m += 16)                            \
		for (int n = 16; n <= SPAN; n += 16)                    \
			for (size_t steps = 0; steps <= STEPS; steps++) \
				for (int accumulate = 0; accumulate < 2; accumulate++)

static void test_in_c(void **state)
{
	static struct product p;
	(void)state;
	fill(&p, 1);
	EACH_SIZE(m, n, steps, accumulate)
	{
		run(&p, &bf16_tiles_in_c, m, n, steps, accumulate);
		judge(&p, m, n, steps, accumulate);
	}
}

#if defined(__x86_64__)
/* Values of all sizes and signs, subnormal ones, zeros and infinities; NaNs may differ from each other. */
static void fill_wild(struct product *p, uint64_t seed)
{
	struct tcb_rng rng;
	fill(p, seed);
	tcb_rng_init(&rng, seed + 1);
	for (size_t i = 0; i < sizeof(p->left) / 2; i++)
		p->left[i] = (uint16_t)(tcb_rng_next(&rng) & 0xbfff);
	for (size_t i = 0; i < sizeof(p->right) / 2; i++)
		p->right[i] = (uint16_t)(tcb_rng_next(&rng) & (i % 3 ? 0xbfff : 0xffff));
}

static void test_of_processor(void **state)
{
	static struct product wanted, got;
	struct tcb_device device;
	size_t numbers = 0;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, NULL), TCB_OK);
	if (!tcb_target_has(&device.target, TCB_ISA_AMX) || tcb_tiles_ask(NULL) != TCB_OK)
		skip_because("this machine has no AMX: its instructions were not compared with plain C's");
	for (uint64_t seed = 1; seed <= 8; seed++) {
		(seed % 2 ? fill : fill_wild)(&wanted, seed);
		got = wanted;
		EACH_SIZE(m, n, steps, accumulate)
		{
			run(&wanted, &bf16_tiles_in_c, m, n, steps, accumulate);
			run(&got, &bf16_tiles_of_processor, m, n, steps, accumulate);
			for (size_t i = 0; i < (size_t)SPAN * STRIDE; i++) {
				if (isnan(wanted.sums[i]) && isnan(got.sums[i]))
					continue;
				numbers++;
				if (memcmp(&wanted.sums[i], &got.sums[i], 4) != 0)
					fail_msg("seed %d, %dx%d, %zu steps: value %zu is %a, in plain C %a", (int)seed,
						 m, n, steps, i, (double)got.sums[i], (double)wanted.sums[i]);
			}
		}
	}
	assert_true(numbers > 100000);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_c),
#if defined(__x86_64__)
		cmocka_unit_test(test_of_processor),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
