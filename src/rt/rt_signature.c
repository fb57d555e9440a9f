/* SPDX-License-Identifier: MIT
 *
 * Whether the kernel of a stored result is still today's: a CPU's is compared
 * when the database is loaded, a GPU's when its entry is first asked for.
 */
#include <stdatomic.h>

#include "kernels/signature.h"
#include "rt/runtime.h"

static enum rt_refusal see(const struct tcbrt *rt, const struct rt_entry *entry)
{
	const struct tcb_shape shape = { entry->key.m, entry->key.n, entry->key.k };
	struct tcb_packings packings = { .is_known = { 0 } };
	struct tcb_problem problem;

	if (tcb_problem_init(rt->ops[entry->key.op].op, (enum tcb_contract)entry->key.contract, &shape, &problem,
			     NULL) != TCB_OK)
		return RT_ILLEGAL;
	return tcb_candidate_is_current(&problem, &rt->devices[entry->key.device].measured_on, &entry->geometry,
					rt->strings + entry->signature, &packings)
		       ? RT_FINE
		       : RT_OTHER_KERNEL;
}

enum rt_refusal rt_refusal(const struct tcbrt *rt, const struct rt_entry *entry)
{
	/* Threads that ask at the same time find the same: whoever stores it last changes nothing. */
	struct rt_entry *known = &rt->entries[entry - rt->entries];
	enum rt_refusal refusal = atomic_load_explicit(&known->refusal, memory_order_relaxed);

	if (refusal == RT_UNSEEN) {
		refusal = see(rt, entry);
		atomic_store_explicit(&known->refusal, (uint8_t)refusal, memory_order_relaxed);
	}
	return refusal;
}
