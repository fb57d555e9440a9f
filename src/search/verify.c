/* SPDX-License-Identifier: MIT
 *
 * Verification of one candidate.  In: a geometry; out: right, wrong (and
 * where), or not runnable, with the largest error as a share of what the class
 * allows.  Small instances and their references are kept per shape, so that a
 * further candidate costs its own runs and little else.
 */
#include "search/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/fault.h"

enum {
	CASES_MAX = 48,           /* small instances kept; geometries of one space share most of them */
	SMALL_ELEMENTS = 1 << 20, /* largest m*n*k of a small shape: about a millisecond of scalar code */
	STEP_SEARCH = 4096,       /* how far to look for a legal size */
	CHUNK = 1 << 16,          /* outputs that one thread compares at a time */
};

struct tcb_verifier {
	struct tcb_instance *full;
	struct tcb_pool *pool;
	struct tcb_watch *watch;
	uint64_t seed;
	struct tcb_instance *cases[CASES_MAX]; /* a ring: the oldest is replaced */
	size_t case_count, case_next;
	struct tcb_buffer workspace; /* guarded, of the size last used */
	float *exact;                /* room for the order-matched result */
	size_t exact_capacity;
};

/* ---- shapes ---- */

static size_t *dimension(struct tcb_shape *shape, int which)
{
	return which == 0 ? &shape->m : which == 1 ? &shape->n : &shape->k;
}

/* Raises one dimension of SHAPE from WANT on until the op accepts the shape; 0 on success. */
static int raise_dimension(const struct tcb_op *op, struct tcb_shape *shape, int which, size_t want)
{
	for (size_t value = want; value < want + STEP_SEARCH; value++) {
		*dimension(shape, which) = value;
		if (op->check_shape(shape, NULL) == TCB_OK)
			return 0;
	}
	return -1;
}

static int same_shape(const struct tcb_shape *a, const struct tcb_shape *b)
{
	return a->m == b->m && a->n == b->n && a->k == b->k;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* EXTRA more than TILE.  A tile that covers the problem's whole dimension must cover the small one, too: a plan may
 * rely on it (one thread, no partial sums); then one less than the problem has. */
static size_t past_tile(size_t tile, size_t dimension, size_t extra)
{
	if (tile < dimension)
		return tile + extra;
	return dimension > 1 ? dimension - 1 : 1;
}

size_t tcb_verify_shapes(const struct tcb_op *op, const struct tcb_shape *problem, const struct tcb_geometry *geometry,
			 struct tcb_shape out[TCB_VERIFY_SHAPES_MAX])
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	size_t k_unit = 0;
	struct tcb_shape smallest = *problem;
	if (problem->k > 0) {
		if (raise_dimension(op, &smallest, 2, 1) != 0)
			return 0;
		k_unit = smallest.k;
	}
	/* Where the problem's k is cut into blocks, so is the small one's: whole blocks, which H2 asks for. */
	size_t k_split = least(5 * k_unit, problem->k);
	if (k_unit > 0 && midi->k < problem->k)
		k_split = 2 * midi->k;
	const struct tcb_shape wanted[TCB_VERIFY_SHAPES_MAX] = {
		{ 1, 1, k_unit },
		{ least(3, problem->m), least(37, problem->n), least(3 * k_unit, problem->k) },
		{ past_tile(midi->m, problem->m, 1), past_tile(midi->n, problem->n, 3), k_split },
		{ past_tile(macro->m, problem->m, 1), past_tile(macro->n, problem->n, 37), k_unit },
	};
	size_t count = 0;
	for (size_t i = 0; i < TCB_VERIFY_SHAPES_MAX; i++) {
		struct tcb_shape want = wanted[i], shape = *problem;
		/* Too large to be small: fewer columns, then fewer rows. */
		size_t k = want.k ? want.k : 1, m_most = SMALL_ELEMENTS / k / 37;
		if (want.m > m_most)
			want.m = m_most ? m_most | 1 : 1;
		size_t n_most = SMALL_ELEMENTS / k / want.m;
		if (want.n > n_most)
			want.n = n_most > 37 ? n_most | 1 : 37;
		if (k_unit > 0 && raise_dimension(op, &shape, 2, want.k) != 0)
			continue;
		if (raise_dimension(op, &shape, 1, want.n) != 0 || raise_dimension(op, &shape, 0, want.m) != 0)
			continue;
		size_t seen = 0;
		while (seen < count && !same_shape(&out[seen], &shape))
			seen++;
		if (seen == count)
			out[count++] = shape;
	}
	return count;
}

/* ---- judging outputs ---- */

struct comparison {
	const struct tcb_plan *plan;
	const struct tcb_reference *reference;
	const float *got;
	size_t count;
	double *ratio;  /* per chunk */
	size_t *bad_at; /* per chunk: first output beyond its bound, SIZE_MAX if none */
};

static void compare_chunk(void *ctx, size_t task, unsigned thread)
{
	(void)thread;
	struct comparison *comparison = ctx;
	size_t start = task * CHUNK;
	size_t count = comparison->count - start < CHUNK ? comparison->count - start : CHUNK;
	struct tcb_reference part = { .y = comparison->reference->y + start,
				      .magnitude = comparison->reference->magnitude + start,
				      .extra = comparison->reference->extra + start };
	size_t bad = SIZE_MAX;
	comparison->ratio[task] = tcb_error_ratio(comparison->plan, &part, comparison->got + start, count, &bad);
	comparison->bad_at[task] = bad == SIZE_MAX ? SIZE_MAX : start + bad;
}

static int is_poison(float value)
{
	unsigned char bytes[sizeof(value)];
	memcpy(bytes, &value, sizeof(value));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		if (bytes[i] != TCB_POISON)
			return 0;
	}
	return 1;
}

static void set_wrong(struct tcb_check *check, const struct tcb_instance *instance, size_t at, const char *when,
		      const char *fault)
{
	char shape[TCB_SHAPE_TEXT_MAX];
	tcb_shape_print(&instance->problem.shape, shape);
	size_t cols = instance->operands[instance->output].cols ? instance->operands[instance->output].cols : 1;
	check->outcome = TCB_OUTCOME_WRONG;
	snprintf(check->message, sizeof(check->message), "at %s%s%s output [%zu][%zu] %s", shape, *when ? " " : "",
		 when, at / cols, at % cols, fault);
}

static void set_wrong_value(struct tcb_check *check, const struct tcb_instance *instance, const struct tcb_plan *plan,
			    const float *got, size_t at, const char *when)
{
	const struct tcb_reference *reference = &instance->reference;
	double y = reference->y[at];
	double allowed = tcb_gamma(plan->chain) * reference->magnitude[at] + reference->extra[at] +
			 plan->ulps * 0x1p-23 * fabs(y);
	char fault[128];
	if (is_poison(got[at]))
		snprintf(fault, sizeof(fault), "was never written (poison is still there)");
	else
		snprintf(fault, sizeof(fault), "is %.9g, not %.9g within %.2g", (double)got[at], y, allowed);
	set_wrong(check, instance, at, when, fault);
}

enum tcb_status tcb_verify_output(struct tcb_instance *instance, const struct tcb_plan *plan, const float *got,
				  struct tcb_pool *pool, const char *when, struct tcb_check *check,
				  struct tcb_error *err)
{
	TCB_TRY(tcb_instance_reference(instance, err));
	size_t chunks = (instance->output_count + CHUNK - 1) / CHUNK;
	struct comparison comparison = {
		.plan = plan, .reference = &instance->reference, .got = got, .count = instance->output_count
	};
	double few_ratios[4];
	size_t few_bad[4];
	int is_few = chunks <= 4;
	comparison.ratio = is_few ? few_ratios : calloc(chunks, sizeof(double));
	comparison.bad_at = is_few ? few_bad : calloc(chunks, sizeof(size_t));
	enum tcb_status status = TCB_OK;
	if (!comparison.ratio || !comparison.bad_at) {
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory while comparing %zu outputs", comparison.count);
		goto done;
	}
	tcb_pool_run(pool, chunks > 1 ? tcb_pool_threads(pool) : 1, TCB_SCHED_STATIC, chunks, compare_chunk,
		     &comparison);
	for (size_t i = 0; i < chunks; i++) {
		if (comparison.ratio[i] > check->error_ratio)
			check->error_ratio = comparison.ratio[i];
		if (comparison.bad_at[i] != SIZE_MAX && check->outcome == TCB_OUTCOME_OK)
			set_wrong_value(check, instance, plan, got, comparison.bad_at[i], when);
	}
done:
	if (!is_few) {
		free(comparison.ratio);
		free(comparison.bad_at);
	}
	return status;
}

/* Class EXACT: every bit equal to the order-matched scalar chain. */
static enum tcb_status judge_exact(struct tcb_verifier *verifier, struct tcb_instance *instance,
				   const struct tcb_plan *plan, const float *got, struct tcb_check *check,
				   struct tcb_error *err)
{
	size_t count = instance->output_count;
	if (verifier->exact_capacity < count) {
		float *grown = realloc(verifier->exact, count * sizeof(float));
		if (!grown)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu exact results", count);
		verifier->exact = grown;
		verifier->exact_capacity = count;
	}
	void *operand[TCB_OPERANDS_MAX];
	for (size_t i = 0; i < instance->operand_count; i++)
		operand[i] = instance->data[i].data;
	instance->op->exact(plan, operand, verifier->exact);
	if (memcmp(got, verifier->exact, count * sizeof(float)) == 0)
		return TCB_OK;
	for (size_t i = 0; i < count; i++) {
		if (memcmp(&got[i], &verifier->exact[i], sizeof(float)) == 0 ||
		    (isnan(got[i]) && isnan(verifier->exact[i]) && !is_poison(got[i])))
			continue;
		char fault[128];
		if (is_poison(got[i]))
			snprintf(fault, sizeof(fault), "was never written (poison is still there)");
		else
			snprintf(fault, sizeof(fault), "is %.9g (%a), not exactly %.9g (%a)", (double)got[i],
				 (double)got[i], (double)verifier->exact[i], (double)verifier->exact[i]);
		set_wrong(check, instance, i, "", fault);
		break;
	}
	return TCB_OK;
}

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
	snprintf(check->message, sizeof(check->message), "at %s wrote outside of its %s (guard zone)", shape, what);
}

static size_t round_up(size_t value, size_t step)
{
	return step > 1 ? (value + step - 1) / step * step : value;
}

/*
 * GEOMETRY as it would be in a space of the shape TO: its macro tiles cut TO into as many parts as they cut FROM, and
 * midi tiles that cover FROM cover TO.  Micro tiles are compiled in and stay.
 */
static void fit_geometry(const struct tcb_shape *from, const struct tcb_shape *to, struct tcb_geometry *geometry)
{
	const size_t was[] = { from->m, from->n, from->k }, is[] = { to->m, to->n, to->k };
	struct tcb_tile *tile = geometry->tile;
	size_t *macro[] = { &tile[TCB_MACRO].m, &tile[TCB_MACRO].n, &tile[TCB_MACRO].k };
	size_t *midi[] = { &tile[TCB_MIDI].m, &tile[TCB_MIDI].n, &tile[TCB_MIDI].k };
	const size_t micro[] = { tile[TCB_MICRO].m, tile[TCB_MICRO].n, tile[TCB_MICRO].k };
	for (int d = 0; d < 3; d++) {
		if (was[d] == 0 || *macro[d] == 0 || *midi[d] == 0)
			continue;
		size_t parts = (was[d] + *macro[d] - 1) / *macro[d];
		if (*midi[d] >= was[d])
			*midi[d] = round_up(is[d], micro[d]);
		*macro[d] = round_up((is[d] + parts - 1) / parts, *midi[d]);
	}
}

/* Plans GEOMETRY for PROBLEM; -1 with LAUNCH_FAILED in CHECK if it cannot run. */
static int make_plan(struct tcb_verifier *verifier, const struct tcb_problem *problem,
		     const struct tcb_geometry *geometry, struct tcb_plan *plan, struct tcb_check *check)
{
	struct tcb_error refused;
	unsigned threads = tcb_pool_threads(verifier->pool);
	memset(plan, 0, sizeof(*plan));
	if (verifier->full->op->plan(problem, geometry, plan, &refused) != TCB_OK)
		snprintf(check->message, sizeof(check->message), "no plan: %.200s", refused.message);
	else if (plan->threads > threads)
		snprintf(check->message, sizeof(check->message), "needs %u threads, the device gives %u", plan->threads,
			 threads);
	else
		return 0;
	check->outcome = TCB_OUTCOME_LAUNCH_FAILED;
	return -1;
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
	TCB_TRY(tcb_instance_pack_prepare(instance, plan, &is_packed, err));
	TCB_TRY(prepare_workspace(verifier, plan->workspace_bytes, err));
	explain_regions(verifier, instance, plan);
	if (!is_packed) {
		tcb_watch_phase(verifier->watch, 1, "packing the weights of %s", shape);
		TCB_TRY(tcb_instance_pack(instance, plan, err));
	}

	struct tcb_buffer *output = &instance->data[instance->output];
	void *operand[TCB_OPERANDS_MAX];
	for (size_t i = 0; i < instance->operand_count; i++)
		operand[i] = tcb_instance_buffer(instance, plan, i)->data;
	memset(output->data, TCB_POISON, output->bytes);
	tcb_watch_phase(verifier->watch, 1, "verifying %s", shape);
	op->run(plan, operand, plan->workspace_bytes ? verifier->workspace.data : NULL, verifier->pool);
	tcb_watch_phase(verifier->watch, 0, "comparing %s with the reference", shape);

	if (tcb_buffer_check(output) != 0)
		set_outside(check, shape, "output");
	else if (plan->workspace_bytes && tcb_buffer_check(&verifier->workspace) != 0)
		set_outside(check, shape, "workspace");
	if (check->outcome != TCB_OUTCOME_OK)
		return TCB_OK;
	int has_bound = plan->chain > 0 || plan->ulps > 0 || plan->variant->class != TCB_CLASS_EXACT;
	if (plan->variant->class == TCB_CLASS_EXACT && op->exact && (small || !has_bound))
		TCB_TRY(judge_exact(verifier, instance, plan, output->data, check, err));
	if (check->outcome != TCB_OUTCOME_OK || (!has_bound && op->exact))
		return TCB_OK;
	return tcb_verify_output(instance, plan, output->data, verifier->pool, "", check, err);
}

/* ---- the verifier ---- */

enum tcb_status tcb_verifier_create(struct tcb_instance *instance, uint64_t seed, struct tcb_pool *pool,
				    struct tcb_watch *watch, struct tcb_verifier **out, struct tcb_error *err)
{
	struct tcb_verifier *verifier = calloc(1, sizeof(*verifier));
	if (!verifier)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the verification of %s", instance->op->name);
	verifier->full = instance;
	verifier->pool = pool;
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
	free(verifier->exact);
	free(verifier);
}

static enum tcb_status get_case(struct tcb_verifier *verifier, const struct tcb_shape *shape, struct tcb_instance **out,
				struct tcb_error *err)
{
	for (size_t i = 0; i < verifier->case_count; i++) {
		if (same_shape(&verifier->cases[i]->problem.shape, shape)) {
			*out = verifier->cases[i];
			return TCB_OK;
		}
	}
	struct tcb_problem problem = verifier->full->problem;
	problem.shape = *shape;
	struct tcb_instance *instance;
	/* Each shape gets data of its own. */
	uint64_t seed = verifier->seed + 0x9e3779b97f4a7c15u * (shape->m + 131 * shape->n + 65537 * shape->k);
	TCB_TRY(tcb_instance_create(verifier->full->op, &problem, seed, &instance, err));
	enum tcb_status status = tcb_instance_reference(instance, err);
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

enum tcb_status tcb_verifier_check(struct tcb_verifier *verifier, const struct tcb_geometry *geometry,
				   struct tcb_check *out, struct tcb_error *err)
{
	memset(out, 0, sizeof(*out));
	out->outcome = TCB_OUTCOME_OK;
	struct tcb_instance *full = verifier->full;
	struct tcb_plan full_plan;
	if (make_plan(verifier, &full->problem, geometry, &full_plan, out) != 0)
		return TCB_OK;
	struct tcb_shape shapes[TCB_VERIFY_SHAPES_MAX];
	size_t count = tcb_verify_shapes(full->op, &full->problem.shape, geometry, shapes), checked = 0;
	struct tcb_check refusal = { .outcome = TCB_OUTCOME_LAUNCH_FAILED };
	for (size_t i = 0; i < count && out->outcome == TCB_OUTCOME_OK; i++) {
		struct tcb_problem problem = full->problem;
		struct tcb_plan plan;
		struct tcb_instance *instance;
		problem.shape = shapes[i];
		/* Not every geometry is legal for every shape: tiles that must cover a dimension exactly, more threads
		 * than tiles. */
		struct tcb_geometry fitted = *geometry;
		fit_geometry(&full->problem.shape, &shapes[i], &fitted);
		if (make_plan(verifier, &problem, geometry, &plan, &refusal) != 0 &&
		    make_plan(verifier, &problem, &fitted, &plan, &refusal) != 0)
			continue;
		TCB_TRY(get_case(verifier, &shapes[i], &instance, err));
		TCB_TRY(check_instance(verifier, instance, &plan, 1, out, err));
		checked++;
	}
	if (checked == 0) {
		out->outcome = TCB_OUTCOME_LAUNCH_FAILED;
		snprintf(out->message, sizeof(out->message), "cannot be verified at any small shape: %.180s",
			 refusal.message);
		return TCB_OK;
	}
	if (out->outcome == TCB_OUTCOME_OK) {
		tcb_watch_phase(verifier->watch, 0, "computing the reference at full size");
		TCB_TRY(tcb_instance_reference(full, err));
		TCB_TRY(check_instance(verifier, full, &full_plan, 0, out, err));
	}
	if (out->outcome == TCB_OUTCOME_OK && out->class_checked == TCB_CLASS_EXACT)
		out->error_ratio = 0;
	tcb_fault_regions(NULL, 0);
	return TCB_OK;
}
