/* SPDX-License-Identifier: MIT
 *
 * Slots of any operands lie apart from each other, and every byte written beside an operand is
 * noticed.
 */
#include "cmocka_all.h"

#include <string.h>

#include "judge/call_slots.h"

enum { OPERANDS = 3 };

static void lay(size_t a, size_t b, size_t c, struct tcb_slots *out)
{
	const struct tcb_operand operands[OPERANDS] = { { .role = TCB_ROLE_INPUT, .bytes = a },
							{ .role = TCB_ROLE_OUTPUT, .bytes = b },
							{ .role = TCB_ROLE_OUTPUT, .bytes = c } };

	assert_int_equal(tcb_slots_lay(operands, OPERANDS, 1 << 20, out, NULL), TCB_OK);
	assert_in_range(out->count, 2, TCB_SLOTS_MAX);
}

static void apart_and_aligned(void **state)
{
	static const size_t sizes[] = { 1, 4, 63, 64, 4096, 5000 };
	struct tcb_slots slots;
	(void)state;

	for (size_t s = 0; s + 2 < sizeof sizes / sizeof *sizes; s++) {
		lay(sizes[s], sizes[s + 1], sizes[s + 2], &slots);
		for (size_t slot = 0; slot < 2; slot++)
			for (size_t i = 0; i < OPERANDS; i++) {
				const size_t first = tcb_slots_first(&slots, slot, i);

				assert_int_equal(first % 64, 0);
				assert_in_range(first, slots.zone + slot * slots.stride[slots.operand[i].region],
						SIZE_MAX);
				assert_in_range(first + slots.operand[i].bytes + slots.zone, 0,
						(slot + 1) * slots.stride[slots.operand[i].region]);
			}
	}
}

/* A byte before and behind each output, at both ends of its zones. */
static void damage_is_noticed(void **state)
{
	struct tcb_slots slots;
	struct tcb_region region;
	(void)state;

	lay(100, 37, 4096, &slots);
	assert_int_equal(tcb_region_create(tcb_slots_bytes(&slots, TCB_REGION_OUTPUTS), &region, NULL), TCB_OK);
	for (size_t slot = 0; slot < 2; slot++)
		tcb_slots_guard(&slots, &region, TCB_REGION_OUTPUTS, slot, 0x123456789abcdefull);
	for (size_t i = 1; i < OPERANDS; i++) {
		const size_t first = tcb_slots_first(&slots, 1, i), end = first + slots.operand[i].bytes;
		const size_t places[] = { first - slots.zone, first - 1, end, end + slots.zone - 1 };

		memset(region.at + first, 0xff, slots.operand[i].bytes);
		for (size_t p = 0; p < 4; p++) {
			const char kept = region.at[places[p]];

			assert_int_equal(
				tcb_slots_damaged(&slots, &region, TCB_REGION_OUTPUTS, 1, 0x123456789abcdefull), -1);
			region.at[places[p]] ^= 1;
			assert_int_equal(
				tcb_slots_damaged(&slots, &region, TCB_REGION_OUTPUTS, 1, 0x123456789abcdefull),
				(int)i);
			assert_int_equal(
				tcb_slots_damaged(&slots, &region, TCB_REGION_OUTPUTS, 0, 0x123456789abcdefull), -1);
			region.at[places[p]] = kept;
		}
	}
	tcb_region_destroy(&region);
	tcb_region_destroy(&region);
}

static void too_large(void **state)
{
	const struct tcb_operand operand = { .role = TCB_ROLE_OUTPUT, .bytes = SIZE_MAX / 2 };
	struct tcb_slots slots;
	(void)state;

	assert_int_equal(tcb_slots_lay(&operand, 1, 1, &slots, NULL), TCB_E_OVERFLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(apart_and_aligned),
		cmocka_unit_test(damage_is_noticed),
		cmocka_unit_test(too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
