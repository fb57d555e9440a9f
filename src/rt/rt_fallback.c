/* SPDX-License-Identifier: MIT
 *
 * What to answer where the shape was not tuned (SPEC section 9): what an earlier
 * version of its kernel gained much with, nearest shape on this device, the same on another machine of this
 * architecture (of a GPU: on another model of its kind), the default by rule, what a model ranked best, the op's
 * default. tcbrt.h says which entries qualify and how a geometry is carried over to another shape.  The trees of the
 * groups (rt_points.c) give the few nearest of each kind, which are then held against the op's constraints, nearest
 * first.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "db/verdict.h"
#include "kernels/default_rules.h"
#include "kernels/defaults/learned.h"
#include "rt/runtime.h"

enum {
	NEAR_MAX = RT_NEAR_MAX, /* how many of the nearest are tried; the next ones are hardly near */
	PHRASE_MAX = 192
};

/*
 * What a winner must surely gain at its own shape before it is used at another: 2 %, and 5 % more for each doubling
 * between the shapes, since other sizes meet other caches and the default, which knows the shape, adapts.  Without it 4
 * of 20 carried-over winners of a Zen 4 were 7 to 53 % slower than the default, all from gains of at least 0 to 1.4 %
 * (scripts/lookups-everywhere.py).  From 2 query heads for each KV head to 8, or from 7 to 4, winners of attention were
 * 23 to 45 % slower, and from heads of 64 to 128 up to 2.3 x, however much they gain: no shape is near that has others.
 */
static const double GAIN_LEAST = 0.02, GAIN_A_DOUBLING = 0.05;

struct near {
	struct {
		const struct rt_layer *layer;
		struct rt_point point;
		float distance;
	} of[NEAR_MAX];
	unsigned count;
	const struct rt_layer *layer; /* that is being searched */
	float far;                    /* from there on nothing is of use */
};

struct asking {
	const struct tcbrt *rt;
	const struct rt_key *key;
	const struct rt_exact *exact;
	const struct rt_device *on;
	const char *device; /* "this device", "this GPU", "sm_90" */
	int is_kind;        /* it is no one machine */
	const struct tcb_op *op;
	struct tcb_problem problem;
	struct near own, kin;  /* on this device, on others of its architecture */
	struct rt_found model; /* the best that is stored for the shape is a model's */
	size_t stored;         /* entries of this op, contract, state, device and threads, whatever their shape */
	char missing[PHRASE_MAX];
};

/* Keeps the nearest; at the same distance the user's, then the faster. */
static void near_add(void *ctx, const struct rt_point *point, float distance)
{
	struct near *near = ctx;
	unsigned at = near->count;

	while (at > 0 && (near->of[at - 1].distance > distance ||
			  (near->of[at - 1].distance == distance && near->of[at - 1].layer == near->layer &&
			   near->of[at - 1].point.ns > point->ns)))
		at--;
	if (at == NEAR_MAX)
		return;
	if (near->count < NEAR_MAX)
		near->count++;
	memmove(&near->of[at + 1], &near->of[at], (near->count - 1 - at) * sizeof(near->of[0]));
	near->of[at].layer = near->layer;
	near->of[at].point = *point;
	near->of[at].distance = distance;
	if (near->count == NEAR_MAX)
		near->far = near->of[NEAR_MAX - 1].distance;
}

static int compare_group(const struct rt_group *group, const struct rt_key *key)
{
	const uint64_t left[] = {
		group->op, group->contract, group->state, group->threads, group->depth, group->words
	};
	const uint64_t right[] = { key->op,      key->contract,     key->state,
				   key->threads, rt_key_depth(key), rt_words_kind(&key->words) };

	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

/* The first group that is not before KEY: they are sorted so, then by device. */
static uint32_t first_group(const struct rt_image *image, const struct rt_key *key)
{
	uint32_t begin = 0, end = image->group_count;

	while (begin < end) {
		const uint32_t middle = begin + (end - begin) / 2;

		if (compare_group(&image->groups[middle], key) < 0)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

static void search_layer(struct asking *asking, const struct rt_layer *layer, const float at[RT_AXES])
{
	const struct rt_image *image = &layer->image;
	struct rt_key stored = *asking->key;

	stored.op = layer->ops[stored.op];
	if (stored.op == RT_NONE)
		return;
	for (uint32_t i = first_group(image, &stored);
	     i < image->group_count && compare_group(&image->groups[i], &stored) == 0; i++) {
		const struct rt_group *group = &image->groups[i];
		const struct rt_relation *relation = &layer->relations[group->device];
		const int is_own = relation->own == asking->key->device;
		struct near *near = is_own ? &asking->own : &asking->kin;

		if (!is_own && relation->kin != asking->on->kind)
			continue;
		if (is_own || !rt_has_threads(&asking->rt->devices[relation->kin]))
			asking->stored += group->stored;
		near->layer = layer;
		rt_points_near(image, group, at, &near->far, near_add, near);
	}
}

static void search(struct asking *asking)
{
	float at[RT_AXES];

	rt_key_axes(asking->key, at);
	asking->own.far = asking->kin.far = INFINITY;
	for (unsigned i = 0; i < asking->rt->layer_count; i++)
		search_layer(asking, &asking->rt->layers[i], at);
}

unsigned rt_near(const struct tcbrt *rt, const struct rt_device *device, const struct rt_key *key, int is_own,
		 struct rt_found out[RT_NEAR_MAX])
{
	struct asking asking = { .rt = rt, .key = key, .on = device };
	const struct near *near = is_own ? &asking.own : &asking.kin;
	unsigned count = 0;

	search(&asking);
	for (unsigned i = 0; i < near->count; i++) {
		const struct rt_image *image = &near->of[i].layer->image;
		const struct rt_found found = { near->of[i].layer, &image->entries[near->of[i].point.entry] };

		if (near->of[i].point.entry < image->entry_count && rt_refusal(rt, &found) == RT_FINE)
			out[count++] = found;
	}
	return count;
}

static int is_legal(const struct asking *asking, const struct tcb_geometry *geometry, unsigned threads)
{
	struct tcb_target target = asking->on->target;

	target.threads = threads;
	return rt_is_legal(asking->op, &asking->problem, &target, geometry, NULL);
}

/* The geometry of FOUND at this shape, and its kernel, which must be the one that was measured; NULL: it does not fit.
 */
static const struct tcb_variant *carry_over(const struct asking *asking, const struct rt_found *found,
					    struct tcb_geometry *geometry)
{
	const struct rt_entry *entry = found->entry;
	const struct tcb_shape tuned = rt_key_shape(&entry->key);
	const struct tcb_variant *variant;

	*geometry = rt_entry_geometry(entry, asking->op);
	tcb_geometry_carry_over(geometry, &tuned, &asking->problem.shape);
	if (!is_legal(asking, geometry, entry->key.threads)) {
		*geometry = rt_entry_geometry(entry, asking->op);
		if (!is_legal(asking, geometry, entry->key.threads))
			return NULL;
	}
	/* The tiles of registers may have been carried over too. */
	variant = tcb_variant_find(asking->op, asking->problem.contract, geometry);
	return variant && strcmp(variant->name, rt_entry_texts(found).variant) == 0 ? variant : NULL;
}

enum { MACHINE_MAX = 96 };

/* On which machine FOUND was measured: "NVIDIA H200 (key 0123456789abcdef)". */
static const char *say_machine(const struct rt_found *found, char out[MACHINE_MAX])
{
	const struct rt_stored_device *device = &found->layer->image.devices[found->entry->key.device];

	(void)snprintf(out, MACHINE_MAX, "%.64s (key %s)", device->model[0] ? device->model : device->name,
		       device->key);
	return out;
}

/* Cut where it is too long, which no shape and no machine of today makes it. */
static void __attribute__((format(printf, 3, 4))) say(char *out, size_t room, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(out, room, format, arguments);
	va_end(arguments);
}

static void say_near(const struct asking *asking, const struct rt_found *found, const struct tcb_shape *tuned,
		     struct tcbrt_tuning *out)
{
	const int is_own = out->source == TCBRT_SOURCE_NEAREST;
	char shape[TCB_SHAPE_TEXT_MAX], machine[MACHINE_MAX];

	tcb_shape_print(tuned, shape);
	say(out->reason, sizeof(out->reason),
	    "%s; the nearest winner%s is that of %s%s%s%s, where it is %.2f x the default (at least %.2f)",
	    asking->missing, is_own ? "" : " of this architecture", shape,
	    found->layer->is_system ? " (system database)" : "", is_own ? "" : ", measured on ",
	    is_own ? "" : say_machine(found, machine), found->entry->speedup.median, found->entry->speedup.lo);
}

/* How many caches what PROBLEM reads and writes does not fit, each by half of it: the rest is for others. */
static unsigned caches_passed(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const double bytes = problem->op->traffic ? problem->op->traffic(problem) : 0;
	const size_t caches[] = { target->l1d_bytes, target->l2_bytes, target->llc_bytes };
	unsigned passed = 0;

	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++)
		passed += bytes > 0.5 * (double)caches[i];
	return passed;
}

/* Cold, all that is read comes from memory; hot, from a cache, whose ways differ more than those of near shapes. */
static int is_of_other_caches(const struct asking *asking, const struct tcb_shape *tuned)
{
	const struct tcb_target *target = &asking->on->target;
	struct tcb_problem other = asking->problem;

	other.shape = *tuned;
	return asking->key->state == TCB_HOT &&
	       caches_passed(&other, target) != caches_passed(&asking->problem, target);
}

/* Takes the nearest of NEAR that is legal here; 0 if none is. */
static int take_nearest(const struct asking *asking, const struct near *near, enum tcbrt_source source,
			struct tcbrt_tuning *out)
{
	for (unsigned i = 0; i < near->count; i++) {
		const struct rt_image *image = &near->of[i].layer->image;
		const uint32_t index = near->of[i].point.entry;
		struct rt_found found = { near->of[i].layer, NULL };
		const struct tcb_variant *variant;
		struct tcb_geometry geometry;
		struct tcb_shape tuned;

		if (index >= image->entry_count)
			continue;
		found.entry = &image->entries[index];
		if (!(found.entry->speedup.lo >= 1 + GAIN_LEAST + GAIN_A_DOUBLING * (double)near->of[i].distance))
			continue;
		tuned = rt_key_shape(&found.entry->key);
		if (is_of_other_caches(asking, &tuned) || rt_refusal(asking->rt, &found) != RT_FINE ||
		    !(variant = carry_over(asking, &found, &geometry)))
			continue;
		rt_tuning_fill(out, source, &geometry, variant, found.entry->key.threads);
		out->tuned_m = tuned.m;
		out->tuned_n = tuned.n;
		out->tuned_k = tuned.k;
		out->tuned_query_heads = tuned.words.query;
		out->tuned_kv_heads = tuned.words.kv;
		out->tuned_sequences = tuned.words.sequences;
		say_near(asking, &found, &tuned, out);
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
		 asking->op->name, shape, tcb_contract_text(problem->contract), asking->on->name,
		 (int)strcspn(why, ";"), why);
	return TCBRT_E_NOT_FOUND;
}

/* What another version of the kernel won with. */
static int take_earlier(const struct asking *asking, struct tcbrt_tuning *out)
{
	const struct rt_found *found = &asking->exact->earlier;
	struct tcb_geometry geometry;
	char shape[TCB_SHAPE_TEXT_MAX];

	if (!found->layer)
		return 0;
	geometry = rt_entry_geometry(found->entry, asking->op);
	if (!is_legal(asking, &geometry, found->entry->key.threads))
		return 0;
	out->source = TCBRT_SOURCE_EARLIER;
	rt_tuning_stored(out, found);
	tcb_shape_print(&asking->problem.shape, shape);
	say(out->reason, sizeof(out->reason),
	    "%s was measured on %s with another version of its kernel or another compiler%s, where it was %.2f x the "
	    "default (at least %.2f): sweep again",
	    shape, asking->device, found->layer->is_system ? " (system database)" : "", found->entry->speedup.median,
	    found->entry->speedup.lo);
	return 1;
}

/* What a model ranked best is taken where no rule was measured; not where it expects a loss. */
static int take_modelled(const struct asking *asking, struct tcbrt_tuning *out)
{
	const struct rt_found *model = &asking->model;
	char machine[MACHINE_MAX];

	if (!model->layer || !(model->entry->speedup.median >= 1))
		return 0;
	out->source = TCBRT_SOURCE_MODELLED;
	rt_tuning_stored(out, model);
	say(out->reason, sizeof(out->reason), "ranked by a model at this shape for %s%s, never measured",
	    asking->exact->model.layer ? asking->device : say_machine(model, machine),
	    model->layer->is_system ? " (system database)" : "");
	return 1;
}

static int are_stale(const struct tcbrt *rt, const struct near *near)
{
	for (unsigned i = 0; i < near->count; i++) {
		const struct rt_image *image = &near->of[i].layer->image;
		const struct rt_found found = { near->of[i].layer, &image->entries[near->of[i].point.entry] };

		if (near->of[i].point.entry < image->entry_count && rt_refusal(rt, &found) != RT_OTHER_KERNEL)
			return 0;
	}
	return 1;
}

static const char *say_why_default(const struct asking *asking)
{
	if (asking->rt->layer_count == 0)
		return "no database is loaded";
	if (asking->exact->slower.layer)
		return "nothing that was tried there is known to be faster than the default";
	if (asking->own.count + asking->kin.count && are_stale(asking->rt, &asking->own) &&
	    are_stale(asking->rt, &asking->kin))
		return "winners of near shapes are stale";
	if (asking->own.count + asking->kin.count)
		return "winners of near shapes do not fit this one or its caches, or gain too little to be used here";
	if (asking->stored)
		return "no winner of a shape within a factor of 4 is surely better than today's default and the best "
		       "of enough candidates";
	if (asking->problem.shape.words.query)
		return "nothing else with the same size of a head, query heads for each KV head, pages, window, cap "
		       "and mask is stored for this op, contract, state and number of threads here";
	if (asking->is_kind)
		return "nothing is stored for this op, contract and state on such a GPU";
	if (!rt_has_threads(asking->on))
		return "nothing else is stored for this op, contract and state on such a GPU";
	return "nothing else is stored for this op, contract, state and number of threads here";
}

/* As reasons call it: "the default by rule". */
static const char *say_source(const struct tcb_default_source *source, char room[PHRASE_MAX])
{
	const struct tcb_learned_loss *learned = source->learned;

	if (!learned)
		return source->rule ? "the default by rule" : "the op's default";
	(void)snprintf(room, PHRASE_MAX,
		       "the learned default, expected to lose %.0f %% (the mean of %u problems that it was not learned "
		       "from; nine of ten lost at most %.0f %%, the worst %.0f %%)",
		       100 * learned->mean, learned->shapes, 100 * learned->tail, 100 * learned->worst);
	return room;
}

static int take_default(const struct asking *asking, struct tcbrt_tuning *out)
{
	struct tcb_target target = asking->on->target;
	const struct tcb_kind *kind = tcb_kind_of(&target);
	struct tcb_default_source source;
	struct tcb_geometry geometry;
	char why[TCB_WHY_MAX], nearest[TCB_ARCH_TEXT_MAX], arch[TCB_ARCH_TEXT_MAX], stands[80] = "";
	char by[PHRASE_MAX];
	int is_there;

	target.threads = asking->key->threads;
	source = tcb_default_geometry(&asking->problem, &target, &geometry);
	is_there = rt_is_legal(asking->op, &asking->problem, &target, &geometry, why);
	if (((!source.rule && !source.learned) || !is_there) && take_modelled(asking, out))
		return TCBRT_OK;
	if (!is_there)
		return refuse(asking, why, out);
	rt_tuning_fill(out, TCBRT_SOURCE_DEFAULT, &geometry,
		       tcb_variant_find(asking->op, asking->problem.contract, &geometry), target.threads);
	if (kind->stand_in && kind->stand_in(&target, nearest, sizeof(nearest))) {
		tcb_target_arch(&target, arch);
		say(stands, sizeof(stands), " (%.16s, the nearest recorded kind, stands for %.16s)", nearest, arch);
	}
	say(out->reason, sizeof(out->reason), "%s; %s%s%s: this is %s%s", asking->missing, say_why_default(asking),
	    asking->rt->left_out[0] ? "; " : "", asking->rt->left_out, say_source(&source, by), stands);
	return TCBRT_OK;
}

/* What stands in the way of an exact answer. */
static void say_missing(struct asking *asking)
{
	const struct rt_exact *exact = asking->exact;
	const size_t room = sizeof(asking->missing);
	const unsigned threads = exact->other_threads;
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&asking->problem.shape, shape);
	if (exact->unfit.layer)
		say(asking->missing, room, "the entry for %s needs more than the device of query.wgpu has", shape);
	else if (exact->slower.layer && exact->slower.entry->unserved != TCB_UNSERVED_SLOWER)
		say(asking->missing, room, "the entry for %s, the best of %u tried, is not used: %s", shape,
		    exact->slower.entry->tried, tcb_unserved_text((enum tcb_unserved)exact->slower.entry->unserved));
	else if (exact->slower.layer)
		say(asking->missing, room,
		    "the best entry for %s is %.2f x the default [%.2f, %.2f], so not surely faster", shape,
		    exact->slower.entry->speedup.median, exact->slower.entry->speedup.lo,
		    exact->slower.entry->speedup.hi);
	else if (exact->model.layer)
		say(asking->missing, room, "%s was only ranked by a model for %s, never measured", shape,
		    asking->device);
	else if (exact->refused.layer) {
		const enum rt_refusal refusal = rt_refusal(asking->rt, &exact->refused);

		say(asking->missing, room, "the entry for %s is %s (%s)", shape,
		    refusal == RT_OTHER_KERNEL ? "stale" : "not used", rt_refusal_text(refusal));
	} else if (exact->is_damaged)
		say(asking->missing, room, "what may be the entry for %s is not used (%s)", shape,
		    rt_refusal_text(RT_DAMAGED));
	else if (threads)
		say(asking->missing, room, "%s was measured with %u thread%s only; this is for %u", shape, threads,
		    threads == 1 ? "" : "s", asking->key->threads);
	else if (asking->is_kind)
		say(asking->missing, room, "%s is an architecture, not a GPU", asking->device);
	else
		say(asking->missing, room, "%s was not tuned on %s", shape, asking->device);
}

/* As reasons call it. */
static void name_device(struct asking *asking, const char *name)
{
	const char *key;

	asking->device = "this device";
	const struct tcb_kind *kind = tcb_kind_stored(name, &key);

	if (!kind || !kind->describe)
		return;
	asking->is_kind = !key;
	asking->device = key ? "this GPU" : name;
}

int rt_fallback(const struct tcbrt *rt, const struct rt_device *device, const struct rt_key *open,
		const struct rt_exact *exact, struct tcbrt_tuning *out)
{
	struct rt_key key = *open;
	struct asking asking = {
		.rt = rt, .key = &key, .exact = exact, .on = device, .op = rt->ops[key.op].op, .model = exact->model
	};
	const struct tcb_shape shape = rt_key_shape(&key);
	struct tcb_error err;
	enum tcb_status status;

	memset(out, 0, sizeof(*out));
	status = tcb_problem_init(asking.op, (enum tcb_contract)key.contract, &shape, &asking.problem, &err);
	if (status != TCB_OK) {
		say(out->reason, sizeof(out->reason), "%.*s", TCBRT_REASON_MAX - 1, err.message);
		return (int)status;
	}
	if (key.threads == 0 && rt_has_threads(device))
		key.threads = rt->cores;
	name_device(&asking, device->name);
	if (!asking.model.layer && tcb_kind_of(&device->target)->has_model)
		asking.model = rt_exact_modelled(rt, &key);
	say_missing(&asking);
	/* Where the default was measured to be better than the best, a guess is not better either. */
	if (!exact->slower.layer) {
		if (take_earlier(&asking, out))
			return TCBRT_OK;
		search(&asking);
		if (take_nearest(&asking, &asking.own, TCBRT_SOURCE_NEAREST, out) ||
		    take_nearest(&asking, &asking.kin, TCBRT_SOURCE_ARCHITECTURE, out))
			return TCBRT_OK;
	}
	return take_default(&asking, out);
}
