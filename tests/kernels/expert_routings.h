/* SPDX-License-Identifier: MIT
 *
 * Which experts tokens may have, the bad ids among them: any routing is to be
 * computed.
 */
#ifndef TCB_TESTS_EXPERT_ROUTINGS_H
#define TCB_TESTS_EXPERT_ROUTINGS_H

#include <stdint.h>

#include "kernels/quant_experts/quant_experts.h"

enum routing { DRAWN, ALL_ON_ONE, EACH_ONE_ONLY, NONE, SOME_BAD, ROUTINGS };
static const char *const routing_names[ROUTINGS] = { "as drawn", "all on one expert", "each token one expert only",
						     "no token has an expert", "some ids are bad" };

/* IDS: those that each of the tokens of S uses (qex_pairs). */
static inline void route(const struct tcb_shape *s, enum routing routing, int32_t *ids)
{
	static const int32_t bad[] = { -1, INT32_MIN, INT32_MAX, 1 << 20 };
	qex_draw(s, 3, ids);
	for (size_t i = 0; i < qex_pairs(s); i++)
		switch (routing) {
		case ALL_ON_ONE:
			ids[i] = (int32_t)qex_experts(s) - 1;
			break;
		case EACH_ONE_ONLY:
			ids[i] = (int32_t)(i / qex_used(s) % qex_experts(s));
			break;
		case NONE:
			ids[i] = i % 5 ? bad[i % 4] : (int32_t)qex_experts(s);
			break;
		case SOME_BAD:
			ids[i] = i % 3 == 1 ? bad[i % 4] : ids[i];
			break;
		default:
			break;
		}
}

#endif
