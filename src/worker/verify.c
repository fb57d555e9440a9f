/* SPDX-License-Identifier: MIT
 *
 * Verification of one candidate.  In: a geometry; out: right, wrong (and
 * where), or not runnable, with the largest error as a share of what the class
 * allows.  Small instances and their references are kept per shape, so that a
 * further candidate costs its own runs and little else.
 */
#include "worker/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "worker/fault.h"

enum {
	CASES_MAX = 48,    /* small instances kept; geometries of one space share most of them */
	SHARE = 4 << 20,   /* bytes that one thread poisons at a time */
	CALLS_TO_TELL = 4, /* the fastest tells how long one at full size will take */
};
static const double PREDICTING_FLOPS = 1e6; /* a smaller call tells of its overhead only */
static const double MARGIN_TO_TELL = 2;

struct tcb_verifier {
	struct tcb_instance *full;
	struct tcb_pool *pool, *judges;
	struct tcb_watch *watch;
	uint64_t seed;
	struct tcb_instance *cases[CASES_MAX]; /* a ring: the oldest is replaced */
	size_t case_count, case_next;
	struct tcb_buffer workspace; /* guarded, of the size last used */
	struct tcb_exact_cache *exact;
	/* Of the candidates so far, the least time of a call at full size over what their small shapes predicted. */
	double least_share;
};

/* ---- one run between guards ---- */

static enum tcb_status prepare_workspace(struct tcb_verifier *verifier, size_t bytes, struct tcb_error *err)
{
	if (verifier->workspace.bytes != bytes || !verifier->workspace.map) {
		tcb_buffer_free(&verifier->workspace);
		return bytes ? tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, &verifier->workspace, err) : TCB_OK;
	}
	memset(verifier->workspace.data, TCB_POISON, bytes);
	return TCB_OK;
}

static const char *role_text(enum tcb_role role)
{
	return role == TCB_ROLE_OUTPUT ? "output" : role == TCB_ROLE_WEIGHTS ? "weights" : "input";
}

static void explain_regions(struct tcb_verifier *verifier, struct tcb_instance *instance, const struct tcb_plan *plan)
{
	struct tcb_fault_region regions[TCB_OPERANDS_MAX + 1];
	char names[TCB_OPERANDS_MAX][48];
	size_t count = 0;
	for (; count < instance->operand_count; count++) {
		const struct tcb_operand *operand = &instance->operands[count];
		snprintf(names[count], sizeof(names[count]), "%s '%s'", role_text(operand->role), operand->name);
		regions[count] = (struct tcb_fault_region){ .name = names[count],
							    .read_only = operand->role != TCB_ROLE_OUTPUT,
							    .buffer = tcb_instance_buffer(instance, plan, count) };
	}
	regions[count++] = (struct tcb_fault_region){ .name = "workspace", .buffer = &verifier->workspace };
	tcb_fault_regions(regions, count);
}

static void set_outside(struct tcb_check *check, const char *shape, const char *what)
{
	check->outcome = TCB_OUTCOME_WRONG;
	check->damaged = 1;
	snprintf(check->message, sizeof(check->message), "at %.200s wrote outside of its %s (guard zone)", shape, what);
}

/* Plans GEOMETRY for the problem; -1 with LAUNCH_FAILED in CHECK if it cannot run. */
static int plan_full(struct tcb_verifier *verifier, const struct tcb_geometry *geometry, struct tcb_plan *plan,
		     struct tcb_check *check)
{
	struct tcb_error refused;
	unsigned threads = tcb_pool_threads(verifier->pool);
	memset(plan, 0, sizeof(*plan));
	const enum tcb_status status = tcb_plan_make(&verifier->full->problem, geometry, plan, &refused);
	if (status == TCB_E_FORMAT) {
		snprintf(check->message, sizeof(check->message), "%.200s", refused.message);
		check->outcome = TCB_OUTCOME_COMPILE_FAILED;
		return -1;
	}
	if (status != TCB_OK)
		snprintf(check->message, sizeof(check->message), "no plan: %.200s", refused.message);
	else if (plan->threads > threads)
		snprintf(check->message, sizeof(check->message), "needs %u threads, the device gives %u", plan->threads,
			 threads);
	else
		return 0;
	check->outcome = TCB_OUTCOME_LAUNCH_FAILED;
	return -1;
}

/* An output, and what it begins with; NULL: poison. */
struct beginning {
	struct tcb_buffer *output;
	const void *start;
};

static void poison_share(void *ctx, size_t share, unsigned thread)
{
	const struct beginning *beginning = ctx;
	const size_t first = share * SHARE, bytes = tcb_least(SHARE, beginning->output->bytes - first);
	(void)thread;
	if (beginning->start)
		memcpy((char *)beginning->output->data + first, (const char *)beginning->start + first, bytes);
	else
		memset((char *)beginning->output->data + first, TCB_POISON, bytes);
}

static void poison(struct tcb_instance *instance, struct tcb_pool *pool)
{
	for (size_t i = 0; i < instance->output_count; i++) {
		const size_t operand = instance->output[i].operand;
		struct beginning beginning = { &instance->data[operand], tcb_instance_start(instance, operand) };
		const size_t shares = tcb_div_up(beginning.output->bytes, SHARE);
		tcb_pool_run(pool, shares > 1 ? tcb_pool_threads(pool) : 1, TCB_SCHED_DYNAMIC, shares, poison_share,
			     &beginning);
	}
}

static void check_guards(const struct tcb_verifier *verifier, const struct tcb_instance *instance, const char *shape,
			 struct tcb_check *check)
{
	for (size_t i = 0; i < instance->output_count; i++) {
		const size_t output = instance->output[i].operand;
		char what[40] = "output";
		if (tcb_buffer_check(&instance->data[output]) == 0)
			continue;
		if (instance->output_count > 1)
			snprintf(what, sizeof(what), "output '%.24s'", instance->operands[output].name);
		set_outside(check, shape, what);
		return;
	}
	if (verifier->workspace.map && tcb_buffer_check(&verifier->workspace) != 0)
		set_outside(check, shape, "workspace");
}

/* One call of PLAN on INSTANCE, whose operands OPERAND gets. */
static double call(const struct tcb_verifier *verifier, struct tcb_instance *instance, const struct tcb_plan *plan,
		   void *operand[TCB_OPERANDS_MAX])
{
	for (size_t i = 0; i < instance->operand_count; i++)
		operand[i] = tcb_instance_buffer(instance, plan, i)->data;
	const uint64_t start = tcb_clock_ns();
	tcb_op_cpu(instance->op)
		->run(plan, operand, plan->workspace_bytes ? verifier->workspace.data : NULL, verifier->pool);
	return (double)(tcb_clock_ns() - start);
}

/* Runs and judges PLAN on INSTANCE.  SMALL: the order-matched chain of class EXACT is affordable. */
static enum tcb_status check_instance(struct tcb_verifier *verifier, struct tcb_instance *instance,
				      const struct tcb_plan *plan, int small, struct tcb_check *check,
				      struct tcb_error *err)
{
	const struct tcb_op *op = instance->op;
	char shape[TCB_SHAPE_TEXT_MAX];
	tcb_shape_print(&instance->problem.shape, shape);
	check->class_checked = plan->variant->class;
	int is_packed;
	TCB_TRY(tcb_instance_pack_prepare(instance, plan->variant->layout, plan->packed_bytes, &is_packed, err));
	TCB_TRY(prepare_workspace(verifier, plan->workspace_bytes, err));
	explain_regions(verifier, instance, plan);
	if (!is_packed) {
		tcb_watch_phase(verifier->watch, 1, "packing the weights of %s", shape);
		TCB_TRY(tcb_instance_pack(instance, plan->variant->layout, err));
	}

	void *operand[TCB_OPERANDS_MAX];
	poison(instance, verifier->judges);
	tcb_watch_phase(verifier->watch, 1, "verifying %s", shape);
	check->call_ns = call(verifier, instance, plan, operand);
	tcb_watch_phase(verifier->watch, 0, "comparing %s with the reference", shape);

	check_guards(verifier, instance, shape, check);
	if (check->outcome != TCB_OUTCOME_OK)
		return TCB_OK;
	int has_bound = plan->chain > 0 || plan->ulps > 0 || plan->variant->class != TCB_CLASS_EXACT;
	if (tcb_plan_is_exact(plan) && (small || !has_bound))
		TCB_TRY(tcb_judge_exact(verifier->exact, instance, plan, operand[instance->output[0].operand], check,
					err));
	if (check->outcome != TCB_OUTCOME_OK || (!has_bound && op->exact))
		return TCB_OK;
	return tcb_judge_bound(instance, plan, operand, verifier->judges, "", check, err);
}

/* ---- hopeless candidates ---- */

/* What a call at full size would take by PLAN's call at a small shape, which took NS; 0: that is too small to tell. */
static double predicted(const struct tcb_verifier *verifier, const struct tcb_plan *plan, double ns)
{
	const struct tcb_op *op = verifier->full->op;
	const double small = op->flops(&plan->problem);
	return small < PREDICTING_FLOPS ? 0 : ns / small * op->flops(&verifier->full->problem);
}

/* ---- the verifier ---- */

enum tcb_status tcb_verifier_create(struct tcb_instance *instance, uint64_t seed, struct tcb_pool *pool,
				    struct tcb_pool *judges, struct tcb_watch *watch, struct tcb_verifier **out,
				    struct tcb_error *err)
{
	struct tcb_verifier *verifier = calloc(1, sizeof(*verifier));
	if (!verifier)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the verification of %s", instance->op->name);
	enum tcb_status status = tcb_exact_cache_create(&verifier->exact, err);
	if (status != TCB_OK) {
		free(verifier);
		return status;
	}
	verifier->full = instance;
	verifier->pool = pool;
	verifier->judges = judges;
	verifier->least_share = 1;
	verifier->watch = watch;
	verifier->seed = seed;
	*out = verifier;
	return TCB_OK;
}

void tcb_verifier_destroy(struct tcb_verifier *verifier)
{
	if (!verifier)
		return;
	for (size_t i = 0; i < verifier->case_count; i++)
		tcb_instance_destroy(verifier->cases[i]);
	tcb_buffer_free(&verifier->workspace);
	tcb_exact_cache_destroy(verifier->exact);
	free(verifier);
}

static enum tcb_status get_case(struct tcb_verifier *verifier, const struct tcb_shape *shape, struct tcb_instance **out,
				struct tcb_error *err)
{
	for (size_t i = 0; i < verifier->case_count; i++) {
		if (tcb_shape_equal(&verifier->cases[i]->problem.shape, shape)) {
			*out = verifier->cases[i];
			return TCB_OK;
		}
	}
	struct tcb_problem problem = verifier->full->problem;
	problem.shape = *shape;
	struct tcb_instance *instance;
	/* Each shape gets data of its own. */
	uint64_t seed = verifier->seed + 0x9e3779b97f4a7c15u * (shape->m + 131 * shape->n + 65537 * shape->k);
	TCB_TRY(tcb_instance_create(verifier->full->op, &problem, seed, NULL, &instance, err));
	enum tcb_status status = tcb_instance_reference(instance, verifier->judges, err);
	if (status != TCB_OK) {
		tcb_instance_destroy(instance);
		return status;
	}
	if (verifier->case_count < CASES_MAX) {
		verifier->cases[verifier->case_count++] = instance;
	} else {
		tcb_instance_destroy(verifier->cases[verifier->case_next]);
		verifier->cases[verifier->case_next] = instance;
		verifier->case_next = (verifier->case_next + 1) % CASES_MAX;
	}
	*out = instance;
	return TCB_OK;
}

/* Checks PLAN on a small INSTANCE.  TOLD_OUT: what that predicts of a call at full size, 0: nothing; where that is
 * hopeless, from the fastest of a few calls. */
static enum tcb_status check_small(struct tcb_verifier *verifier, struct tcb_instance *instance,
				   const struct tcb_plan *plan, double hopeless_ns, double *told_out,
				   struct tcb_check *check, struct tcb_error *err)
{
	double told = INFINITY;
	for (int call = 0; call < CALLS_TO_TELL && check->outcome == TCB_OUTCOME_OK; call++) {
		TCB_TRY(check_instance(verifier, instance, plan, 1, check, err));
		told = fmin(told, predicted(verifier, plan, check->call_ns));
		if (hopeless_ns <= 0 || told * verifier->least_share < MARGIN_TO_TELL * hopeless_ns)
			break;
	}
	*told_out = told;
	return TCB_OK;
}

enum tcb_status tcb_verifier_check(struct tcb_verifier *verifier, const struct tcb_geometry *geometry,
				   double hopeless_ns, struct tcb_check *out, struct tcb_error *err)
{
	memset(out, 0, sizeof(*out));
	out->outcome = TCB_OUTCOME_OK;
	double told_ns = INFINITY;
	struct tcb_instance *full = verifier->full;
	struct tcb_plan full_plan;
	if (plan_full(verifier, geometry, &full_plan, out) != 0)
		return TCB_OK;
	struct tcb_shape shapes[TCB_VERIFY_SHAPES_MAX];
	size_t count = tcb_verify_shapes(full->op, &full->problem.shape, geometry, shapes), checked = 0;
	for (size_t i = 0; i < count && out->outcome == TCB_OUTCOME_OK; i++) {
		struct tcb_plan plan;
		struct tcb_instance *instance;
		/* Not every geometry is legal for every shape: tiles that must cover a dimension exactly. */
		if (tcb_verify_plan(&full->problem, geometry, &shapes[i], &plan, NULL) != TCB_OK)
			continue;
		TCB_TRY(get_case(verifier, &shapes[i], &instance, err));
		double told;
		TCB_TRY(check_small(verifier, instance, &plan, hopeless_ns, &told, out, err));
		if (told > 0)
			told_ns = fmin(told_ns, told);
		checked++;
	}
	const double least_ns = told_ns < INFINITY ? told_ns * verifier->least_share / MARGIN_TO_TELL : 0;
	if (out->outcome == TCB_OUTCOME_OK && hopeless_ns > 0 && least_ns > hopeless_ns) {
		out->outcome = TCB_OUTCOME_TOO_SLOW;
		snprintf(out->message, sizeof(out->message),
			 "right on small shapes, by which a call would take more than %.2g s, far beyond the best: not "
			 "run on the problem itself",
			 1e-9 * least_ns);
	} else if (out->outcome == TCB_OUTCOME_OK) {
		tcb_watch_phase(verifier->watch, 0, "computing the reference at full size");
		TCB_TRY(tcb_instance_reference(full, verifier->judges, err));
		/* What is legal at no small shape is verified where it is legal, as thoroughly. */
		TCB_TRY(check_instance(verifier, full, &full_plan, checked == 0, out, err));
		if (told_ns < INFINITY)
			verifier->least_share = fmin(verifier->least_share, out->call_ns / told_ns);
	}
	if (out->outcome == TCB_OUTCOME_OK && out->class_checked == TCB_CLASS_EXACT)
		out->error_ratio = 0;
	tcb_fault_regions(NULL, 0);
	return TCB_OK;
}

void tcb_verifier_call(struct tcb_verifier *verifier, const struct tcb_plan *plan, struct tcb_check *out)
{
	void *operand[TCB_OPERANDS_MAX];
	char shape[TCB_SHAPE_TEXT_MAX];
	tcb_shape_print(&plan->problem.shape, shape);
	explain_regions(verifier, verifier->full, plan);
	tcb_watch_phase(verifier->watch, 1, "running %s again", shape);
	out->call_ns = call(verifier, verifier->full, plan, operand);
	tcb_watch_phase(verifier->watch, 0, "looking at the guard zones of %s", shape);
	check_guards(verifier, verifier->full, shape, out);
	tcb_fault_regions(NULL, 0);
}
