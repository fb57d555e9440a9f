/* SPDX-License-Identifier: MIT
 *
 * Which contract answers a query that leaves it open (TCBRT_CONTRACT_AUTO): the usual one, unless what was measured at
 * this very shape, or else at the nearest shape at which both were measured, says that another is faster.
 */
#include <string.h>

#include "kernels/defaults/contracts.h"
#include "rt/runtime.h"

_Static_assert(TCBRT_CONTRACT_F32 == TCB_CONTRACT_F32 + 1 && TCBRT_CONTRACT_F16 == TCB_CONTRACT_F16 + 1 &&
		       TCBRT_CONTRACT_Q8 == TCB_CONTRACT_Q8 + 1 &&
		       TCBRT_CONTRACT_AUTO_Q8 == (TCBRT_CONTRACT_AUTO | TCBRT_CONTRACT_Q8),
	       "the header's list follows that of base/problem.h, and auto is a bit above it");

int rt_contract_read(const struct tcb_op *op, enum tcbrt_contract asked, enum tcb_contract *least, int *is_auto)
{
	const unsigned all = (unsigned)asked, named = all & ~(unsigned)TCBRT_CONTRACT_AUTO;

	if (named > TCB_CONTRACT_COUNT)
		return 0;
	*is_auto = named != all;
	*least = named ? (enum tcb_contract)(named - 1) : op->default_contract;
	return 1;
}

enum tcbrt_contract rt_contract_told(enum tcb_contract contract)
{
	return (enum tcbrt_contract)(contract + 1);
}

/* What a call takes that is answered from KEY's very shape, in nanoseconds; 0: it was not measured. */
static double measured_ns(const struct tcbrt *rt, struct rt_key key, enum tcb_contract contract)
{
	struct rt_exact exact;

	key.contract = (uint16_t)contract;
	rt_exact(rt, &key, &exact);
	if (exact.found.layer)
		return exact.found.entry->ns.median;
	return exact.slower.layer ? exact.slower.entry->ns.median * exact.slower.entry->speedup.median : 0;
}

static int is_same_place(const struct rt_found *a, const struct rt_found *b)
{
	const struct rt_key *x = &a->entry->key, *y = &b->entry->key;

	return a->layer == b->layer && x->device == y->device && x->m == y->m && x->n == y->n && x->k == y->k &&
	       memcmp(&x->words, &y->words, sizeof(x->words)) == 0;
}

/* What CONTRACT takes over what USUAL takes at the nearest shape where both were measured; 0: at none. */
static double near_ratio(const struct tcbrt *rt, const struct rt_device *device, struct rt_key key,
			 enum tcb_contract contract, enum tcb_contract usual)
{
	struct rt_found of[2][RT_NEAR_MAX];
	unsigned count[2];

	for (int is_own = 1; is_own >= 0; is_own--) {
		key.contract = (uint16_t)contract;
		count[0] = rt_near(rt, device, &key, is_own, of[0]);
		key.contract = (uint16_t)usual;
		count[1] = rt_near(rt, device, &key, is_own, of[1]);
		for (unsigned i = 0; i < count[0]; i++)
			for (unsigned j = 0; j < count[1]; j++)
				if (is_same_place(&of[0][i], &of[1][j]))
					return of[0][i].entry->ns.median / of[1][j].entry->ns.median;
	}
	return 0;
}

enum tcb_contract rt_contract_choose(const struct tcbrt *rt, const struct rt_device *device, const struct rt_key *key)
{
	const enum tcb_contract least = (enum tcb_contract)key->contract;
	const struct tcb_op *op = rt->ops[key->op].op;
	const struct tcb_shape shape = rt_key_shape(key);
	struct tcb_target target = device->target;
	struct rt_key full = *key;
	enum tcb_contract best;
	double best_ratio = 1;

	if (rt_has_threads(device) && !full.threads)
		full.threads = rt->cores;
	target.threads = full.threads;
	if (!(op->contracts >> least & 1u)) /* the caller is told */
		return least;
	const unsigned contracts = tcb_contracts_from(op, &shape, &target, least);
	const enum tcb_contract usual = tcb_contract_usual(op, &shape, &target, contracts, least);
	const double usual_ns = measured_ns(rt, *key, usual);

	best = usual;
	for (int contract = 0; contract <= (int)least; contract++) {
		double ns, ratio;

		if (!(contracts >> contract & 1u) || contract == (int)usual)
			continue;
		ns = usual_ns > 0 ? measured_ns(rt, *key, (enum tcb_contract)contract) : 0;
		ratio = ns > 0 ? ns / usual_ns : near_ratio(rt, device, full, (enum tcb_contract)contract, usual);
		if (ratio > 0 && ratio < best_ratio) {
			best = (enum tcb_contract)contract;
			best_ratio = ratio;
		}
	}
	return best;
}
