/* SPDX-License-Identifier: MIT
 *
 * Signatures of GPU candidates, and the question whether a stored one is
 * today's.  A signature is two hashes of a description as text, so that it is
 * the same on all machines.
 */
#include "kernels/signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/kind.h"
#include "base/sizes.h"
#include "kernels/constraint.h"
#include "kernels/judged.h"
#include "kernels/language.h"

void tcb_kernel_describe(const struct tcb_kernel *kernel, struct tcb_str *out)
{
	tcb_str_addf(out, "packed=%zu workspace=%zu\n", tcb_packed_total(kernel->packed_bytes),
		     kernel->workspace_bytes);
	kernel->language->describe(kernel, out);
}

/* --- packing --- */

enum { ROWS_UNIT = 64, VALUES_UNIT = 1024, SUPERBLOCK = 256, EXPERTS = 2 };

/* Less of a dimension that is packed alike: layouts go in groups of at most UNIT, the last one with what is left. */
static size_t less_of(size_t size, size_t unit)
{
	return size <= 2 * unit ? size : unit + size % unit;
}

/* SMALL's operand WHICH, of STORED bytes, packed: a hash that goes on from *HASH. */
static enum tcb_status hash_packed(const struct tcb_problem *small, size_t which, size_t stored, enum tcb_layout layout,
				   uint64_t *hash, struct tcb_error *err)
{
	struct tcb_rng rng;
	/* No layout takes more than two floats per value, rows made up to whole groups, and each to whole superblocks,
	 * of which hashes have always had as many as there are values. */
	const size_t matrices = small->shape.words.experts ? small->shape.words.experts : 1;
	const size_t rows = 2 * sizeof(float) * matrices * (small->shape.n + 2 * ROWS_UNIT);
	const size_t room = rows * small->shape.k;
	uint8_t *weights = malloc(stored), *packed = calloc(1, rows * tcb_round_up(small->shape.k, SUPERBLOCK));
	if (weights && packed) {
		tcb_rng_init(&rng, 1);
		for (size_t i = 0; i < stored; i++)
			weights[i] = (uint8_t)tcb_rng_next(&rng);
		small->op->pack(small, which, layout, weights, packed);
		*hash = tcb_hash64(packed, room, *hash);
	}
	free(weights);
	free(packed);
	return weights && packed ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for packed weights");
}

/* Of all that KERNEL packs. */
static enum tcb_status hash_packing(const struct tcb_kernel *kernel, enum tcb_layout layout, uint64_t *out,
				    struct tcb_error *err)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_problem small = kernel->problem;
	small.shape.n = less_of(small.shape.n, ROWS_UNIT);
	small.shape.k = less_of(small.shape.k, VALUES_UNIT);
	if (small.shape.words.experts > EXPERTS) { /* how many there are says nothing of how one is packed */
		small.shape.words.experts = EXPERTS;
		small.shape.words.used = 1;
	}
	small.shape.words.shared = 0; /* experts like the others */
	const size_t count = small.op->operands(&small, operands);
	*out = 0;
	for (size_t i = 0; i < count; i++)
		if (kernel->packed_bytes[i])
			TCB_TRY(hash_packed(&small, i, operands[i].bytes, layout, out, err));
	return TCB_OK;
}

/* --- signatures --- */

void tcb_source_sign(const struct tcb_str *source, const struct tcb_str *rest, char out[TCB_SIGNATURE_MAX])
{
	snprintf(out, TCB_SIGNATURE_MAX, "%016llx%016llx",
		 (unsigned long long)tcb_hash64(source->data, source->length, 0),
		 (unsigned long long)tcb_hash64(rest->data, rest->length, 0));
}

enum tcb_status tcb_kernel_sign(const struct tcb_kernel *kernel, const struct tcb_str *text,
				struct tcb_packings *packings, char out[TCB_SIGNATURE_MAX], struct tcb_error *err)
{
	struct tcb_str rest = { 0 };
	enum tcb_status status = TCB_OK;
	out[0] = '\0';
	tcb_kernel_describe(kernel, &rest);
	if (tcb_packed_total(kernel->packed_bytes)) {
		const enum tcb_layout layout = (enum tcb_layout)kernel->geometry.knob[TCB_KNOB_LAYOUT];
		if (!packings->is_known[layout])
			status = hash_packing(kernel, layout, &packings->hash[layout], err);
		packings->is_known[layout] = status == TCB_OK;
		tcb_str_addf(&rest, "packing %016llx\n", (unsigned long long)packings->hash[layout]);
	}
	if (status == TCB_OK && (rest.failed || text->failed))
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel's description");
	if (status == TCB_OK)
		tcb_source_sign(text, &rest, out);
	tcb_str_fini(&rest);
	return status;
}

enum tcb_status tcb_candidate_identify(const struct tcb_problem *problem, const struct tcb_target *target,
				       const struct tcb_geometry *geometry, struct tcb_packings *packings,
				       char variant_out[TCB_VARIANT_NAME_MAX], char signature_out[TCB_SIGNATURE_MAX],
				       struct tcb_error *err)
{
	const struct tcb_op *op = problem->op;
	const struct tcb_variant *variant = tcb_variant_find(op, problem->contract, geometry);
	struct tcb_kernel kernel = { .code = NULL };
	struct tcb_str text = { 0 };
	variant_out[0] = signature_out[0] = '\0';
	if (!variant)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has no kernel for this geometry", op->name);
	snprintf(variant_out, TCB_VARIANT_NAME_MAX, "%s", variant->name);
	if (tcb_variant_signature(variant)) {
		snprintf(signature_out, TCB_SIGNATURE_MAX, "%s", tcb_variant_signature(variant));
		return TCB_OK;
	}
	enum tcb_status status = tcb_kernel_emit(problem, target, geometry, &kernel, err);
	if (status == TCB_OK) {
		tcb_kernel_print(&kernel, &text);
		status = tcb_kernel_sign(&kernel, &text, packings, signature_out, err);
	}
	tcb_str_fini(&text);
	tcb_kernel_fini(&kernel);
	return status;
}

/* Of a GPU's candidate: writes its kernel.  What memory is too short for is not known. */
static enum tcb_judgement judge(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry, const char *signature,
				struct tcb_packings *packings)
{
	char name[TCB_VARIANT_NAME_MAX], today[TCB_SIGNATURE_MAX];
	/* A database may come from anyone: nothing illegal is asked of an emitter. */
	if (tcb_constraint_violated(problem->op, problem, target, geometry, 1, NULL))
		return TCB_JUDGED_OTHER;
	const enum tcb_status status = tcb_candidate_identify(problem, target, geometry, packings, name, today, NULL);
	if (status == TCB_E_NOMEM)
		return TCB_JUDGED_NOT;
	return status == TCB_OK && strcmp(today, signature) == 0 ? TCB_JUDGED_CURRENT : TCB_JUDGED_OTHER;
}

int tcb_candidate_is_current(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry, const char *signature, struct tcb_packings *packings)
{
	const struct tcb_variant *variant = tcb_variant_find(problem->op, problem->contract, geometry);
	if (!variant)
		return 0;
	if (tcb_signature_is_proven(problem->op, variant, signature))
		return 1;
	const char *today = tcb_variant_signature(variant);
	if (today)
		return strcmp(today, signature) == 0;
	const uint64_t claim = tcb_judged_claim(problem, target, geometry, signature);
	enum tcb_judgement found = tcb_judged_find(claim);
	if (found == TCB_JUDGED_NOT) {
		found = judge(problem, target, geometry, signature, packings);
		if (found != TCB_JUDGED_NOT)
			tcb_judged_add(claim, found == TCB_JUDGED_CURRENT);
	}
	return found == TCB_JUDGED_CURRENT;
}

/* --- many --- */

struct looking {
	const struct tcb_problem *problem;
	const struct tcb_target *target;
	const struct tcb_trial *trials;
	size_t count;
	uint64_t end_ns;
	enum { UNSEEN, CURRENT, OTHER } * found;
	struct tcb_packings *packings; /* of each thread */
};

static void look(void *ctx, size_t task, unsigned thread)
{
	struct looking *looking = ctx;
	const size_t at = looking->count - 1 - task;
	const struct tcb_trial *trial = &looking->trials[at];
	if (tcb_clock_ns() >= looking->end_ns)
		return;
	looking->found[at] = tcb_candidate_is_current(looking->problem, looking->target, &trial->geometry,
						      trial->signature, &looking->packings[thread])
				     ? CURRENT
				     : OTHER;
}

static void sort_found(const struct looking *looking, struct tcb_trial *trials, struct tcb_current *out)
{
	*out = (struct tcb_current){ 0 };
	for (size_t i = 0; i < looking->count; i++) {
		const struct tcb_trial trial = trials[i];
		out->unseen += looking->found[i] == UNSEEN;
		if (looking->found[i] != CURRENT)
			continue;
		trials[i] = trials[out->count];
		trials[out->count++] = trial;
	}
}

enum tcb_status tcb_trials_current(const struct tcb_problem *problem, const struct tcb_target *target,
				   struct tcb_trial *trials, size_t count, double seconds, struct tcb_current *out,
				   struct tcb_error *err)
{
	/* A CPU's signatures are at hand: no threads for that. */
	const unsigned threads = tcb_kind_of(target)->is_emitted ? tcb_granted_processors() : 1;
	struct looking looking = {
		.problem = problem,
		.target = target,
		.trials = trials,
		.count = count,
		.end_ns = seconds > 0 ? tcb_clock_ns() + (uint64_t)(1e9 * seconds) : UINT64_MAX,
		.found = calloc(count + 1, sizeof *looking.found),
		.packings = calloc(threads, sizeof *looking.packings),
	};
	struct tcb_pool *pool = NULL;
	enum tcb_status status = looking.found && looking.packings
					 ? tcb_pool_create(threads, NULL, &pool, err)
					 : tcb_fail(err, TCB_E_NOMEM, "out of memory for signatures");
	if (status == TCB_OK) {
		tcb_pool_run(pool, threads, TCB_SCHED_DYNAMIC, count, look, &looking);
		sort_found(&looking, trials, out);
	}
	tcb_pool_destroy(pool);
	free(looking.found);
	free(looking.packings);
	return status;
}
