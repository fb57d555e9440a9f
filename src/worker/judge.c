/* SPDX-License-Identifier: MIT
 *
 * Judging outputs.  In: an output and what it should be; out: the largest
 * error as a share of what is allowed, and the first output that is wrong, in
 * words.
 */
#include "worker/judge.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/judge_drawn.h"

enum {
	CHUNK = 1 << 16, /* elements that one thread compares at a time */
	SHARE = 4 << 20, /* bytes that one thread compares or copies at a time */
	EXACT_ENTRIES = 2048,
	EXACT_BYTES = 64 << 20,
};

struct comparison {
	const struct tcb_plan *plan;
	const struct tcb_reference *reference;
	const struct tcb_operand *output;
	const void *got;
	size_t count;
	double *ratio;  /* per chunk */
	size_t *bad_at; /* per chunk: first element beyond its bound, SIZE_MAX if none */
};

static void compare_chunk(void *ctx, size_t task, unsigned thread)
{
	(void)thread;
	struct comparison *comparison = ctx;
	const size_t start = task * CHUNK;
	const size_t count = comparison->count - start < CHUNK ? comparison->count - start : CHUNK;
	comparison->bad_at[task] = SIZE_MAX;
	comparison->ratio[task] = tcb_output_error_ratio(comparison->plan, comparison->output, comparison->reference,
							 comparison->got, start, count, &comparison->bad_at[task]);
}

static int is_poison(const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] != TCB_POISON)
			return 0;
	}
	return 1;
}

/* Which output, where there are several: " 'k'". */
static const char *name_of(const struct tcb_instance *instance, size_t output, char room[32])
{
	room[0] = '\0';
	if (instance->output_count > 1)
		snprintf(room, 32, " '%.24s'", instance->operands[instance->output[output].operand].name);
	return room;
}

static void set_wrong(struct tcb_check *check, const struct tcb_instance *instance, size_t output, size_t at,
		      const char *when, const char *fault)
{
	char shape[TCB_SHAPE_TEXT_MAX], name[32];
	const size_t cols = instance->operands[instance->output[output].operand].cols;
	tcb_shape_print(&instance->problem.shape, shape);
	check->outcome = TCB_OUTCOME_WRONG;
	snprintf(check->message, sizeof(check->message), "at %.200s%s%s output%s [%zu][%zu] %s", shape,
		 *when ? " " : "", when, name_of(instance, output, name), at / (cols ? cols : 1),
		 at % (cols ? cols : 1), fault);
}

static void set_wrong_value(struct tcb_check *check, const struct tcb_instance *instance, const struct tcb_plan *plan,
			    size_t output, const void *got, const struct tcb_finding *found, const char *when)
{
	const struct tcb_operand *operand = &instance->operands[instance->output[output].operand];
	size_t bytes, place = tcb_operand_place(operand, found->bad, &bytes);
	const double value = tcb_operand_value(operand, got, found->bad);
	double allowed =
		tcb_gamma(plan->chain) * found->magnitude + found->extra + plan->ulps * 0x1p-23 * fabs(found->y);
	const int digits = bytes > sizeof(float) ? 17 : operand->type == TCB_TYPE_F32 ? 9 : 10;
	char fault[128];
	const char *start = tcb_instance_start(instance, instance->output[output].operand);
	const int is_unwritten = start ? memcmp((const char *)got + place, start + place, bytes) == 0
				       : is_poison((const unsigned char *)got + place, bytes);
	if (is_unwritten && !operand->is_updated)
		snprintf(fault, sizeof(fault), "was never written (poison is still there)");
	else
		snprintf(fault, sizeof(fault), "is %.*g, not %.*g within %.2g", digits, value, digits, found->y,
			 allowed);
	set_wrong(check, instance, output, found->bad, when, fault);
}

/* ---- outputs that are known ---- */

/* Two outputs, in shares. */
struct pair {
	const char *from;
	char *to; /* copied there; NULL: compared with OTHER */
	const char *other;
	size_t bytes;
	atomic_int differs;
};

static void run_share(void *ctx, size_t task, unsigned thread)
{
	struct pair *pair = ctx;
	const size_t start = task * SHARE, bytes = pair->bytes - start < SHARE ? pair->bytes - start : SHARE;
	(void)thread;
	if (pair->to)
		memcpy(pair->to + start, pair->from + start, bytes);
	else if (!atomic_load(&pair->differs) && memcmp(pair->from + start, pair->other + start, bytes) != 0)
		atomic_store(&pair->differs, 1);
}

static void run_shares(struct pair *pair, struct tcb_pool *pool)
{
	const size_t shares = (pair->bytes + SHARE - 1) / SHARE;
	if (pool && shares > 1)
		tcb_pool_run(pool, tcb_pool_threads(pool), TCB_SCHED_DYNAMIC, shares, run_share, pair);
	else
		for (size_t i = 0; i < shares; i++)
			run_share(pair, i, 0);
}

/* Is GOT the output that was found right last, bit by bit?  The same bound, or a wider one, then says the same. */
static int is_known_right(const struct tcb_right *right, const struct tcb_plan *plan, const void *got,
			  struct tcb_pool *pool)
{
	struct pair pair = { .from = got, .other = right->output.data, .bytes = right->output.bytes };
	if (!right->output.map || right->chain > plan->chain || right->ulps > plan->ulps)
		return 0;
	run_shares(&pair, pool);
	return !atomic_load(&pair.differs);
}

static enum tcb_status keep_right(struct tcb_right *right, const struct tcb_plan *plan, const void *got, size_t bytes,
				  double error_ratio, struct tcb_pool *pool, struct tcb_error *err)
{
	if (!right->output.map)
		TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, bytes, &right->output, err));
	else
		TCB_TRY(tcb_buffer_protect(&right->output, 0, err));
	struct pair pair = { .from = got, .to = right->output.data, .bytes = bytes };
	run_shares(&pair, pool);
	right->chain = plan->chain;
	right->ulps = plan->ulps;
	right->error_ratio = error_ratio;
	return tcb_buffer_protect(&right->output, 1, err);
}

/* Each element of an output. */
static enum tcb_status judge_all(const struct tcb_instance *instance, size_t output, const struct tcb_plan *plan,
				 const void *got, struct tcb_pool *pool, struct tcb_finding *out, struct tcb_error *err)
{
	const struct tcb_reference *reference = &instance->reference[output];
	const size_t count = instance->output[output].count, chunks = (count + CHUNK - 1) / CHUNK;
	struct comparison comparison = { .plan = plan,
					 .reference = reference,
					 .output = &instance->operands[instance->output[output].operand],
					 .got = got,
					 .count = count };
	double few_ratios[4];
	size_t few_bad[4];
	int is_few = chunks <= 4;
	*out = (struct tcb_finding){ .bad = SIZE_MAX };
	comparison.ratio = is_few ? few_ratios : calloc(chunks, sizeof(double));
	comparison.bad_at = is_few ? few_bad : calloc(chunks, sizeof(size_t));
	enum tcb_status status = TCB_OK;
	if (!comparison.ratio || !comparison.bad_at) {
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory while comparing %zu outputs", comparison.count);
		goto done;
	}
	tcb_pool_run(pool, chunks > 1 ? tcb_pool_threads(pool) : 1, TCB_SCHED_DYNAMIC, chunks, compare_chunk,
		     &comparison);
	for (size_t i = 0; i < chunks; i++) {
		if (comparison.ratio[i] > out->error_ratio)
			out->error_ratio = comparison.ratio[i];
		if (comparison.bad_at[i] == SIZE_MAX || out->bad != SIZE_MAX)
			continue;
		out->bad = comparison.bad_at[i];
		out->y = reference->y[out->bad];
		out->magnitude = reference->magnitude[out->bad];
		out->extra = reference->extra[out->bad];
	}
done:
	if (!is_few) {
		free(comparison.ratio);
		free(comparison.bad_at);
	}
	return status;
}

static void add_ratio(struct tcb_check *check, const struct tcb_instance *instance, size_t output, double ratio)
{
	char name[32];
	if (ratio <= check->error_ratio)
		return;
	check->error_ratio = ratio;
	if (instance->output_count > 1 && check->outcome == TCB_OUTCOME_OK)
		snprintf(check->message, sizeof(check->message), "largest error in output%s",
			 name_of(instance, output, name));
}

static enum tcb_status judge_output(struct tcb_instance *instance, size_t output, const struct tcb_plan *plan,
				    const void *got, struct tcb_pool *pool, const char *when, struct tcb_check *check,
				    struct tcb_error *err)
{
	const size_t bytes = instance->operands[instance->output[output].operand].bytes;
	struct tcb_right *right = &instance->output[output].right;
	struct tcb_finding found;
	if (is_known_right(right, plan, got, pool)) {
		add_ratio(check, instance, output, right->error_ratio);
		return TCB_OK;
	}
	if (instance->draw)
		TCB_TRY(tcb_judge_drawn(instance, plan, got, pool, &found, err));
	else
		TCB_TRY(judge_all(instance, output, plan, got, pool, &found, err));
	add_ratio(check, instance, output, found.error_ratio);
	if (found.bad == SIZE_MAX)
		return keep_right(right, plan, got, bytes, found.error_ratio, pool, err);
	if (check->outcome == TCB_OUTCOME_OK)
		set_wrong_value(check, instance, plan, output, got, &found, when);
	return TCB_OK;
}

enum tcb_status tcb_judge_bound(struct tcb_instance *instance, const struct tcb_plan *plan, void *const operand[],
				struct tcb_pool *pool, const char *when, struct tcb_check *check, struct tcb_error *err)
{
	TCB_TRY(tcb_instance_reference(instance, pool, err));
	for (size_t i = 0; i < instance->output_count; i++)
		TCB_TRY(judge_output(instance, i, plan, operand[instance->output[i].operand], pool, when, check, err));
	return TCB_OK;
}

/* ---- class EXACT ---- */

struct entry {
	struct tcb_shape shape;
	uint64_t seed; /* of the instance: the problem itself may be as small as a small shape, with other data */
	const struct tcb_variant *variant;
	size_t k[TCB_LEVEL_COUNT];
	struct tcb_buffer y; /* read-only: a stray write faults instead of changing what is right */
};

struct tcb_exact_cache {
	struct entry entries[EXACT_ENTRIES]; /* a ring: the oldest goes */
	size_t first, count, bytes;
};

enum tcb_status tcb_exact_cache_create(struct tcb_exact_cache **out, struct tcb_error *err)
{
	*out = calloc(1, sizeof(**out));
	return *out ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for exact results");
}

static void drop_oldest(struct tcb_exact_cache *cache)
{
	struct entry *oldest = &cache->entries[cache->first];
	cache->bytes -= oldest->y.map_bytes;
	tcb_buffer_free(&oldest->y);
	cache->first = (cache->first + 1) % EXACT_ENTRIES;
	cache->count--;
}

void tcb_exact_cache_destroy(struct tcb_exact_cache *cache)
{
	while (cache && cache->count > 0)
		drop_oldest(cache);
	free(cache);
}

static int is_entry_of(const struct entry *entry, const struct tcb_instance *instance, const struct tcb_plan *plan)
{
	const struct tcb_shape *shape = &plan->problem.shape;
	if (entry->seed != instance->seed || entry->variant != plan->variant || !tcb_shape_equal(&entry->shape, shape))
		return 0;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		if (entry->k[level] != plan->geometry.tile[level].k)
			return 0;
	}
	return 1;
}

/* The order-matched result of PLAN on INSTANCE; valid until the next call. */
static enum tcb_status get_exact(struct tcb_exact_cache *cache, struct tcb_instance *instance,
				 const struct tcb_plan *plan, const float **out, struct tcb_error *err)
{
	/* From the newest: candidates come in neighbourhoods. */
	for (size_t i = cache->count; i-- > 0;) {
		const struct entry *entry = &cache->entries[(cache->first + i) % EXACT_ENTRIES];
		if (is_entry_of(entry, instance, plan)) {
			*out = entry->y.data;
			return TCB_OK;
		}
	}
	struct entry fresh = { .shape = plan->problem.shape, .seed = instance->seed, .variant = plan->variant };
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		fresh.k[level] = plan->geometry.tile[level].k;
	TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_PLAIN, instance->output[0].count * sizeof(float), &fresh.y, err));
	void *operand[TCB_OPERANDS_MAX];
	for (size_t i = 0; i < instance->operand_count; i++)
		operand[i] = instance->data[i].data;
	instance->op->exact(plan, operand, fresh.y.data);
	enum tcb_status status = tcb_buffer_protect(&fresh.y, 1, err);
	if (status != TCB_OK) {
		tcb_buffer_free(&fresh.y);
		return status;
	}
	while (cache->count > 0 && (cache->count == EXACT_ENTRIES || cache->bytes + fresh.y.map_bytes > EXACT_BYTES))
		drop_oldest(cache);
	cache->entries[(cache->first + cache->count++) % EXACT_ENTRIES] = fresh;
	cache->bytes += fresh.y.map_bytes;
	*out = fresh.y.data;
	return TCB_OK;
}

enum tcb_status tcb_judge_exact(struct tcb_exact_cache *cache, struct tcb_instance *instance,
				const struct tcb_plan *plan, const float *got, struct tcb_check *check,
				struct tcb_error *err)
{
	const float *exact;
	TCB_TRY(get_exact(cache, instance, plan, &exact, err));
	for (size_t i = 0; i < instance->output[0].count; i++) {
		/* The payload of a NaN is nobody's business, but the poison is a NaN that nobody computed. */
		if (memcmp(&got[i], &exact[i], sizeof(float)) == 0 ||
		    (isnan(got[i]) && isnan(exact[i]) && !is_poison((const unsigned char *)&got[i], sizeof(float))))
			continue;
		char fault[128];
		if (is_poison((const unsigned char *)&got[i], sizeof(float)))
			snprintf(fault, sizeof(fault), "was never written (poison is still there)");
		else
			snprintf(fault, sizeof(fault), "is %.9g (%a), not exactly %.9g (%a)", (double)got[i],
				 (double)got[i], (double)exact[i], (double)exact[i]);
		set_wrong(check, instance, 0, i, "", fault);
		break;
	}
	return TCB_OK;
}
