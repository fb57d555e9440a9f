/* SPDX-License-Identifier: MIT
 *
 * A recorded space that is computed: a bowl over four parameters with ripples,
 * where one corner fails.
 */
#ifndef TCB_TESTS_LANDSCAPE_H
#define TCB_TESTS_LANDSCAPE_H

#include <math.h>

#include "search/replay/recorded.h"

enum { LANDSCAPE_SIDE = 9, LANDSCAPE_FIELDS = 4, LANDSCAPE_COUNT = 9 * 9 * 9 * 9 };

static inline double landscape_value(const void *ctx, size_t index, size_t field)
{
	(void)ctx;
	for (; field; field--)
		index /= LANDSCAPE_SIDE;
	return (double)(index % LANDSCAPE_SIDE);
}

static inline int landscape_is_named(const void *ctx, size_t field)
{
	(void)ctx;
	return field == LANDSCAPE_FIELDS - 1;
}

/* Prices are 1, of failures PRICE_FAILED. */
static inline enum tcb_status landscape_make(double price_failed, struct tcb_recorded *out)
{
	const struct tcb_lattice_source source = { LANDSCAPE_COUNT, LANDSCAPE_FIELDS, landscape_value,
						   landscape_is_named, NULL };
	TCB_TRY(tcb_recorded_alloc(out, LANDSCAPE_COUNT, "landscape", NULL));
	for (size_t i = 0; i < LANDSCAPE_COUNT; i++) {
		double x[LANDSCAPE_FIELDS], value = 10;
		for (size_t f = 0; f < LANDSCAPE_FIELDS; f++)
			x[f] = landscape_value(NULL, i, f);
		value += (x[0] - 6) * (x[0] - 6) + (x[1] - 2) * (x[1] - 2) + (x[0] - x[2]) * (x[0] - x[2]);
		value += x[3] == 4 ? 0 : 3 + x[3] / 4;
		value += sin(1.7 * x[0] + 2.3 * x[1]) + 0.001 * (double)(i % 7);
		const int failed = x[0] + x[1] > 13;
		out->value[i] = failed ? INFINITY : value;
		out->price[i] = failed ? price_failed : 1;
		out->valid += !failed;
	}
	return tcb_lattice_init(&out->lattice, &source, NULL);
}

#endif
