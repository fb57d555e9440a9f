/* SPDX-License-Identifier: MIT
 *
 * What to answer where the shape was not tuned (SPEC section 9): nearest shape
 * on this device (of a GPU: on its kind), the same on another machine of this
 * architecture, the op's default.  tcbrt.h says which entries qualify and how a
 * geometry is carried over to another shape.  One scan over the entries of the op; the few nearest
 * of each kind are then held against the op's constraints, nearest first.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/default_rules.h"
#include "rt/runtime.h"

enum {
	NEAR_MAX = 8,  /* how many of the nearest are tried; the next ones are hardly near */
	NEAR_LOG2 = 2, /* each dimension within a factor of 4 */
	PHRASE_MAX = 160
};

struct near {
	const struct rt_entry *entry[NEAR_MAX];
	float distance[NEAR_MAX];
	unsigned count;
};

struct asking {
	const struct tcbrt *rt;
	const struct rt_key *key;
	const struct tcb_op *op;
	struct tcb_problem problem;
	struct near near[2]; /* on this device, on others of its architecture */
	unsigned stored;     /* entries of this op, contract, state, device and threads, whatever their shape */
	char missing[PHRASE_MAX];
};

/* Distance in log2 of the dimensions, or -1 if one is too far. */
static float distance(const struct rt_entry *entry, float log_m, float log_n, float log_k)
{
	float dm = fabsf(entry->log_m - log_m), dn = fabsf(entry->log_n - log_n), dk = fabsf(entry->log_k - log_k);

	if (dm > NEAR_LOG2 || dn > NEAR_LOG2 || dk > NEAR_LOG2)
		return -1;
	return sqrtf(dm * dm + dn * dn + dk * dk);
}

/* Keeps the nearest; at the same distance the faster, which matters where the number of threads is left open. */
static void near_add(struct near *near, const struct rt_entry *entry, float far)
{
	unsigned at = near->count;

	while (at > 0 && (near->distance[at - 1] > far ||
			  (near->distance[at - 1] == far && near->entry[at - 1]->ns.median > entry->ns.median)))
		at--;
	if (at == NEAR_MAX)
		return;
	if (near->count < NEAR_MAX)
		near->count++;
	for (unsigned i = near->count - 1; i > at; i--) {
		near->entry[i] = near->entry[i - 1];
		near->distance[i] = near->distance[i - 1];
	}
	near->entry[at] = entry;
	near->distance[at] = far;
}

static void scan(struct asking *asking)
{
	const struct tcbrt *rt = asking->rt;
	const struct rt_key *key = asking->key;
	const struct rt_device *device = &rt->devices[key->device];
	float log_m = log2f((float)key->m), log_n = log2f((float)key->n), log_k = key->k ? log2f((float)key->k) : 0;

	for (uint32_t i = rt->ops[key->op].begin; i < rt->ops[key->op].end; i++) {
		const struct rt_entry *entry = &rt->entries[i];
		const struct rt_device *other = &rt->devices[entry->key.device];
		int is_kin = strcmp(device->name, other->name) == 0;
		int is_own = entry->key.device == key->device || (is_kin && device->is_gpu);
		float far;

		if (entry->key.op != key->op || entry->key.contract != key->contract ||
		    entry->key.state != key->state ||
		    (key->threads ? entry->key.threads != key->threads : entry->key.threads > rt->processors) ||
		    (entry->key.k == 0) != (key->k == 0))
			continue;
		if (!is_own && (!is_kin || strcmp(device->arch, other->arch) != 0))
			continue;
		asking->stored += (unsigned)is_own;
		/* Written so that a NaN does not pass. */
		if ((entry->refusal != RT_FINE && entry->refusal != RT_UNSEEN) || entry->modelled ||
		    entry->provisional || !(entry->speedup.lo >= 1))
			continue;
		far = distance(entry, log_m, log_n, log_k);
		if (far >= 0)
			near_add(&asking->near[is_own ? 0 : 1], entry, far);
	}
}

static int is_legal(const struct asking *asking, const struct tcb_geometry *geometry, unsigned threads)
{
	struct tcb_target target = asking->rt->devices[asking->key->device].target;

	target.threads = threads;
	return rt_is_legal(asking->op, &asking->problem, &target, geometry, NULL);
}

static void fill(struct tcbrt_tuning *out, enum tcbrt_source source, const struct tcb_geometry *geometry,
		 const struct tcb_variant *variant, unsigned threads)
{
	int knob = geometry->knob[TCB_KNOB_THREADS];

	out->source = source;
	out->threads = knob > 0 ? (unsigned)knob : threads;
	rt_tuning_geometry(out, geometry);
	tcb_geometry_print(geometry, out->geometry);
	snprintf(out->variant, sizeof(out->variant), "%s", variant ? variant->name : "");
}

/* Takes the nearest of NEAR that is legal here; 0 if none is. */
static int take_nearest(const struct asking *asking, const struct near *near, enum tcbrt_source source,
			struct tcbrt_tuning *out)
{
	for (unsigned i = 0; i < near->count; i++) {
		const struct rt_entry *entry = near->entry[i];
		struct tcb_geometry geometry;
		struct tcb_shape tuned = { entry->key.m, entry->key.n, entry->key.k };
		const struct tcb_variant *variant;
		char shape[TCB_SHAPE_TEXT_MAX];

		if (rt_refusal(asking->rt, entry) != RT_FINE)
			continue;
		geometry = entry->geometry;
		tcb_geometry_carry_over(&geometry, &tuned, &asking->problem.shape);
		if (!is_legal(asking, &geometry, entry->key.threads)) {
			geometry = entry->geometry;
			if (!is_legal(asking, &geometry, entry->key.threads))
				continue;
		}
		/* The tiles of registers may have been carried over too: only to a kernel that was measured. */
		variant = tcb_variant_find(asking->op, asking->problem.contract, &geometry);
		if (!variant || strcmp(variant->name, asking->rt->strings + entry->variant) != 0)
			continue;
		fill(out, source, &geometry, variant, entry->key.threads);
		out->tuned_m = tuned.m;
		out->tuned_n = tuned.n;
		out->tuned_k = tuned.k;
		tcb_shape_print(&tuned, shape);
		snprintf(out->reason, sizeof(out->reason),
			 "%s; %s of %s, where it is %.2f x the default (at least %.2f)", asking->missing,
			 source == TCBRT_SOURCE_NEAREST ? "the nearest winner is that"
							: "another machine of this architecture has that",
			 shape, entry->speedup.median, entry->speedup.lo);
		return 1;
	}
	return 0;
}

/* No kernel was built for this contract and device that computes such a shape. */
static int refuse(const struct asking *asking, const char *why, struct tcbrt_tuning *out)
{
	const struct tcb_problem *problem = &asking->problem;
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&problem->shape, shape);
	snprintf(out->reason, sizeof(out->reason), "op %s has no kernel for %s with contract %s on %s: %.*s",
		 asking->op->name, shape, tcb_contract_text(problem->contract),
		 asking->rt->devices[asking->key->device].name, (int)strcspn(why, ";"), why);
	return TCBRT_E_NOT_FOUND;
}

static int take_default(const struct asking *asking, struct tcbrt_tuning *out)
{
	const struct rt_device *device = &asking->rt->devices[asking->key->device];
	struct tcb_target target = device->target;
	unsigned near = asking->near[0].count + asking->near[1].count;
	const struct tcb_default_rule *rule;
	struct tcb_geometry geometry;
	char why[TCB_WHY_MAX];

	target.threads = device->is_gpu ? 0 : asking->key->threads ? asking->key->threads : asking->rt->cores;
	rule = tcb_default_geometry(&asking->problem, &target, &geometry);
	if (!rt_is_legal(asking->op, &asking->problem, &target, &geometry, why))
		return refuse(asking, why, out);
	fill(out, TCBRT_SOURCE_DEFAULT, &geometry, tcb_variant_find(asking->op, asking->problem.contract, &geometry),
	     target.threads);
	snprintf(out->reason, sizeof(out->reason), "%s; %s: this is %s", asking->missing,
		 near             ? "winners of near shapes do not fit this one"
		 : asking->stored ? "no winner of a shape within a factor of 4 is surely better than the default"
		 : device->is_gpu ? "nothing else is stored for this op, contract and state on such a GPU"
				  : "nothing else is stored for this op, contract, state and number of threads here",
		 rule ? "the default by rule" : "the op's default");
	return TCBRT_OK;
}

/* What stands in the way of an exact answer. */
static void say_missing(struct asking *asking, const struct rt_entry *exact)
{
	const struct rt_device *device = &asking->rt->devices[asking->key->device];
	const enum rt_refusal refusal = exact ? rt_refusal(asking->rt, exact) : RT_FINE;
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&asking->problem.shape, shape);
	if (exact)
		snprintf(asking->missing, sizeof(asking->missing), "the entry for %s is %s (%s)", shape,
			 refusal == RT_OTHER_KERNEL ? "stale" : "not used", rt_refusal_text(refusal));
	else
		snprintf(asking->missing, sizeof(asking->missing), "%s was not tuned on %s", shape,
			 device->is_gpu ? device->name : "this device");
}

int rt_fallback(const struct tcbrt *rt, const struct rt_key *key, const struct rt_entry *exact,
		struct tcbrt_tuning *out)
{
	struct asking asking = { .rt = rt, .key = key, .op = rt->ops[key->op].op };
	struct tcb_shape shape = { key->m, key->n, key->k };
	struct tcb_error err;
	enum tcb_status status;

	memset(out, 0, sizeof(*out));
	status = tcb_problem_init(asking.op, (enum tcb_contract)key->contract, &shape, &asking.problem, &err);
	if (status != TCB_OK) {
		snprintf(out->reason, sizeof(out->reason), "%.*s", TCBRT_REASON_MAX - 1, err.message);
		return (int)status;
	}
	say_missing(&asking, exact);
	scan(&asking);
	if (take_nearest(&asking, &asking.near[0], TCBRT_SOURCE_NEAREST, out) ||
	    take_nearest(&asking, &asking.near[1], TCBRT_SOURCE_ARCHITECTURE, out))
		return TCBRT_OK;
	return take_default(&asking, out);
}
