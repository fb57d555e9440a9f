/* SPDX-License-Identifier: MIT
 *
 * The lookup: names become numbers, one probe of the table, and a copy of the
 * entry.  Whatever is not an exact hit goes to rt_fallback.c.
 */
#include <stdio.h>
#include <string.h>

#include "rt/runtime.h"

static uint32_t find_op(const struct tcbrt *rt, const char *name)
{
	for (uint32_t i = 0; i < rt->op_count; i++)
		if (strcmp(rt->ops[i].name, name) == 0)
			return i;
	return RT_NONE;
}

/* A CPU device of this host, which are the first, or the first GPU of that kind. */
static uint32_t find_device(const struct tcbrt *rt, const char *name)
{
	if (!name)
		return 0;
	for (uint32_t i = 0; i < rt->device_count; i++)
		if ((i < rt->host_device_count || rt->devices[i].is_gpu) && strcmp(rt->devices[i].name, name) == 0)
			return i;
	return RT_NONE;
}

static int fail(struct tcbrt_tuning *out, int code, const char *what, const char *name, const char *advice)
{
	memset(out, 0, sizeof(*out));
	snprintf(out->reason, sizeof(out->reason), "%s '%.80s': %s", what, name, advice);
	return code;
}

static void copy_exact(const struct tcbrt *rt, const struct rt_entry *entry, struct tcbrt_tuning *out)
{
	static const char measured[] = "measured at this shape on this device";
	static const char modelled[] = "ranked by a model at this shape for this device, never measured";
	static const char provisional[] = "provisional: the best so far at this shape on this device, of a sweep that "
					  "has not held its finals, a shard or a merge; tcbtune sweep replaces it";
	int threads = entry->geometry.knob[TCB_KNOB_THREADS];

	out->source = entry->modelled      ? TCBRT_SOURCE_MODELLED
		      : entry->provisional ? TCBRT_SOURCE_PROVISIONAL
					   : TCBRT_SOURCE_EXACT;
	out->modelled = entry->modelled;
	out->provisional = entry->provisional;
	out->threads = threads > 0 ? (unsigned)threads : entry->key.threads;
	rt_tuning_geometry(out, &entry->geometry);
	out->expected_ns = entry->ns.median;
	out->speedup = entry->speedup.median;
	out->speedup_lo = entry->speedup.lo;
	out->tuned_m = entry->key.m;
	out->tuned_n = entry->key.n;
	out->tuned_k = entry->key.k;
	memcpy(out->geometry, rt->strings + entry->text, entry->text_length + 1u);
	memcpy(out->variant, rt->strings + entry->variant, entry->variant_length + 1u);
	if (entry->modelled)
		memcpy(out->reason, modelled, sizeof(modelled));
	else if (entry->provisional)
		memcpy(out->reason, provisional, sizeof(provisional));
	else
		memcpy(out->reason, measured, sizeof(measured));
}

/* The entry of KEY on any GPU of its device's kind: one that is not refused before others, then what is proven best. */
static const struct rt_entry *find_on_gpu(const struct tcbrt *rt, struct rt_key key)
{
	const char *name = rt->devices[key.device].name;
	const struct rt_entry *best = NULL;

	for (uint32_t i = rt->host_device_count; i < rt->device_count; i++) {
		const struct rt_entry *entry;

		if (!rt->devices[i].is_gpu || strcmp(rt->devices[i].name, name) != 0)
			continue;
		key.device = i;
		entry = rt_table_find(rt, &key);
		if (entry && (!best || (rt_refusal(rt, entry) == RT_FINE &&
					(rt_refusal(rt, best) != RT_FINE || rt_proof(best) < rt_proof(entry)))))
			best = entry;
	}
	return best;
}

/* Names and numbers of QUERY as a key, or a code and OUT's reason. */
static int make_key(const struct tcbrt *rt, const struct tcbrt_query *query, struct rt_key *key,
		    struct tcbrt_tuning *out)
{
	const struct tcb_op *op;

	key->op = find_op(rt, query->op);
	if (key->op == RT_NONE || !rt->ops[key->op].op)
		return fail(out, TCBRT_E_NOT_FOUND, "this library has no op", query->op,
			    "see `tcbtune ops`, or upgrade libtcbrt");
	op = rt->ops[key->op].op;
	key->device = find_device(rt, query->device);
	if (key->device == RT_NONE && rt_is_gpu_name(query->device))
		return fail(out, TCBRT_E_NOT_FOUND, "nothing is recorded or stored for", query->device,
			    "see `tcbtune devices`, or run `tcbtune sweep` on it");
	if (key->device == RT_NONE)
		return fail(out, TCBRT_E_UNSUPPORTED, "this host has no device", query->device,
			    "use \"cpu\", or see `tcbtune devices`");
	if (rt->devices[key->device].is_gpu && !op->emit)
		return fail(out, TCBRT_E_UNSUPPORTED, "there are no GPU kernels of op", query->op, "ask for \"cpu\"");
	if ((unsigned)query->contract > TCB_CONTRACT_COUNT)
		return fail(out, TCBRT_E_USAGE, "query for op", query->op, "contract is outside enum tcbrt_contract");
	if ((unsigned)query->state >= TCB_STATE_COUNT)
		return fail(out, TCBRT_E_USAGE, "query for op", query->op, "state is outside enum tcbrt_state");
	_Static_assert(TCBRT_CONTRACT_F32 == TCB_CONTRACT_F32 + 1 && TCBRT_CONTRACT_F16 == TCB_CONTRACT_F16 + 1 &&
			       TCBRT_CONTRACT_Q8 == TCB_CONTRACT_Q8 + 1 && (int)TCBRT_COLD == TCB_COLD &&
			       (int)TCBRT_HOT == TCB_HOT,
		       "the header's lists follow those of base/problem.h");
	key->contract = (uint16_t)(query->contract == TCBRT_CONTRACT_DEFAULT ? (unsigned)op->default_contract
									     : (unsigned)query->contract - 1u);
	key->state = (uint16_t)query->state;
	key->threads = rt->devices[key->device].is_gpu ? 0 : query->threads;
	key->m = query->m;
	key->n = query->n;
	key->k = query->k;
	return TCBRT_OK;
}

int tcbrt_lookup(const struct tcbrt *rt, const struct tcbrt_query *query, struct tcbrt_tuning *out)
{
	const struct rt_entry *entry;
	struct rt_key key;
	int code;

	if (!out)
		return TCBRT_E_USAGE;
	if (!rt || !query || !query->op)
		return fail(out, TCBRT_E_USAGE, "a lookup wants",
			    !rt      ? "rt"
			    : !query ? "query"
				     : "query.op",
			    "it is NULL");
	code = make_key(rt, query, &key, out);
	if (code != TCBRT_OK)
		return code;
	entry = rt->devices[key.device].is_gpu ? find_on_gpu(rt, key) : rt_table_find(rt, &key);
	if (!entry || rt_refusal(rt, entry) != RT_FINE)
		return rt_fallback(rt, &key, entry, out);
	copy_exact(rt, entry, out);
	return TCBRT_OK;
}

enum tcb_status rt_query_problem(const struct tcbrt *rt, const struct tcbrt_query *query, struct tcb_problem *problem,
				 const struct rt_device **device_out, struct tcb_error *err)
{
	const struct tcb_shape shape = { query->m, query->n, query->k };
	struct tcbrt_tuning unused;
	struct rt_key key;

	if (make_key(rt, query, &key, &unused) != TCBRT_OK)
		return tcb_fail(err, TCB_E_USAGE, "%s", unused.reason);
	*device_out = &rt->devices[key.device];
	return tcb_problem_init(rt->ops[key.op].op, (enum tcb_contract)key.contract, &shape, problem, err);
}
