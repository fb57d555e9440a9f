/* SPDX-License-Identifier: MIT
 *
 * In: a file of candidates in groups.  Out: for each group the times of its
 * members over that of its first, from rounds in which all are sampled once in
 * a shuffled order, so that drift cancels.
 */
#include "pass_gain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/util.h"
#include "candidate_file.h"
#include "device/gpu.h"
#include "worker/gpu_runner.h"

enum { GROUP_MAX = 16, LABELS_MAX = 16, SEED = 1, COPIES_MIN = 4, COPIES_MAX = 512, CALLS = 32 };
static const double CLEAR = 0.01; /* a difference that is worth a word */

struct label {
	char name[32];
	size_t groups, faster, slower; /* by more than CLEAR, certainly */
	double product;                /* of the ratios */
};

struct member {
	struct candidate_record record;
	struct tcb_code_image *image;
	struct tcb_gpu_runner runner;
	double *ns; /* by round; NaN: it faulted */
};

struct gain {
	struct tcb_gpu_session session;
	struct tcb_instance *instance; /* of the last group's problem */
	struct tcb_gpu_memory *memory;
	struct member group[GROUP_MAX];
	size_t group_count, rounds, rotation_bytes, different;
	struct label labels[LABELS_MAX];
	size_t label_count;
	struct tcb_rng rng;
};

/* --- a problem --- */

static int is_same_problem(const struct tcb_problem *a, const struct tcb_problem *b)
{
	return a->op == b->op && a->contract == b->contract && a->shape.m == b->shape.m && a->shape.n == b->shape.n &&
	       a->shape.k == b->shape.k;
}

static void close_problem(struct gain *gain)
{
	tcb_gpu_memory_destroy(gain->memory);
	tcb_instance_destroy(gain->instance);
	gain->memory = NULL;
	gain->instance = NULL;
}

static enum tcb_status open_problem(struct gain *gain, const struct tcb_problem *problem, struct tcb_error *err)
{
	const struct tcb_op *op = problem->op;
	if (gain->instance && is_same_problem(&gain->instance->problem, problem))
		return TCB_OK;
	close_problem(gain);
	if (!op)
		return tcb_fail(err, TCB_E_FORMAT, "no op is called %s", problem->op_name);
	TCB_TRY(tcb_instance_create(op, problem, SEED, NULL, &gain->instance, err));
	return tcb_gpu_memory_create(&gain->session, gain->instance, &gain->memory, err);
}

/* --- a member --- */

static enum tcb_status start(struct gain *gain, struct member *member, struct tcb_error *err)
{
	enum tcb_gpu_fault fault;
	char why[256] = "";
	double pack_ns;
	TCB_TRY(tcb_gpu_runner_init(&member->runner, &gain->session, member->image, 0, &fault, why, err));
	if (fault != TCB_GPU_FINE)
		return tcb_fail(err, TCB_E_FAILED, "%.250s", why);
	const struct tcb_code_unit *unit = member->runner.unit;
	const size_t bytes = tcb_gpu_memory_streamed(gain->memory, unit->packed_bytes);
	size_t copies = bytes ? gain->rotation_bytes / bytes + 1 : 1;
	copies = copies < COPIES_MIN ? COPIES_MIN : copies > COPIES_MAX ? COPIES_MAX : copies;
	if (member->record.state == TCB_HOT)
		copies = 1;
	TCB_TRY(tcb_gpu_memory_need(gain->memory, (enum tcb_layout)unit->layout, unit->packed_bytes, copies, &pack_ns,
				    err));
	const size_t calls = (CALLS + copies - 1) / copies * copies;
	fault = tcb_gpu_runner_record(&member->runner, gain->memory, (enum tcb_layout)unit->layout, copies, calls, why);
	return fault == TCB_GPU_FINE ? TCB_OK : tcb_fail(err, TCB_E_FAILED, "%.250s", why);
}

/* The outputs of one call. */
static enum tcb_status outputs_of(struct gain *gain, struct member *member, struct tcb_buffer out[TCB_OPERANDS_MAX],
				  struct tcb_error *err)
{
	struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX];
	char why[256];
	double ns;
	tcb_gpu_memory_operands(gain->memory, (enum tcb_layout)member->runner.unit->layout, 0, operand);
	TCB_TRY(tcb_gpu_memory_poison(gain->memory, err));
	if (tcb_gpu_runner_once(&member->runner, operand, &ns, why) != TCB_GPU_FINE)
		return tcb_fail(err, TCB_E_FAILED, "%.250s", why);
	return tcb_gpu_memory_outputs(gain->memory, out, err);
}

/* --- a group --- */

static enum tcb_status compare_outputs(struct gain *gain, int differs[GROUP_MAX], struct tcb_error *err)
{
	struct tcb_buffer first[TCB_OPERANDS_MAX] = { { .map = NULL } }, other[TCB_OPERANDS_MAX] = { { .map = NULL } };
	enum tcb_status status = TCB_OK;
	for (size_t i = 0; i < gain->group_count && status == TCB_OK; i++) {
		status = outputs_of(gain, &gain->group[i], i ? other : first, err);
		differs[i] = 0;
		for (size_t o = 0; o < TCB_OPERANDS_MAX && status == TCB_OK && i; o++)
			differs[i] |= first[o].data && memcmp(first[o].data, other[o].data, first[o].bytes) != 0;
		gain->different += differs[i] != 0;
	}
	for (size_t o = 0; o < TCB_OPERANDS_MAX; o++) {
		tcb_buffer_free(&first[o]);
		tcb_buffer_free(&other[o]);
	}
	return status;
}

static void sample_rounds(struct gain *gain)
{
	size_t order[GROUP_MAX];
	char why[256];
	for (size_t i = 0; i < gain->group_count; i++)
		order[i] = i;
	for (size_t round = 0; round < gain->rounds; round++) {
		for (size_t i = gain->group_count; i-- > 1;) {
			const size_t with = (size_t)tcb_rng_below(&gain->rng, i + 1), kept = order[i];
			order[i] = order[with];
			order[with] = kept;
		}
		for (size_t i = 0; i < gain->group_count; i++) {
			struct member *member = &gain->group[order[i]];
			if (member->record.state == TCB_HOT) /* what others left in the L2 goes */
				(void)tcb_gpu_runner_sample(&member->runner, why);
			const double ns = tcb_gpu_runner_sample(&member->runner, why);
			member->ns[round] = ns < 0 ? NAN : ns;
		}
	}
}

static void count_label(struct gain *gain, const char *name, const struct tcb_interval *ratio)
{
	size_t at = 0;
	while (at < gain->label_count && strcmp(gain->labels[at].name, name) != 0)
		at++;
	if (at == LABELS_MAX)
		return;
	struct label *label = &gain->labels[at];
	if (at == gain->label_count) {
		gain->label_count++;
		snprintf(label->name, sizeof label->name, "%s", name);
		label->product = 1;
	}
	label->groups++;
	label->product *= ratio->median;
	label->faster += ratio->hi < 1 - CLEAR;
	label->slower += ratio->lo > 1 + CLEAR;
}

static void print_group(struct gain *gain, const int differs[GROUP_MAX])
{
	const struct candidate_record *first = &gain->group[0].record;
	char shape[TCB_SHAPE_TEXT_MAX];
	tcb_shape_print(&first->problem.shape, shape);
	printf("%s %s %s %s: %s\n    %-16s %.0f ns\n", first->problem.op_name,
	       tcb_contract_text(first->problem.contract), shape, tcb_state_text((enum tcb_state)first->state),
	       first->geometry, first->label, tcb_median(gain->group[0].ns, gain->rounds));
	for (size_t i = 1; i < gain->group_count; i++) {
		const struct tcb_interval ratio =
			tcb_ratio_interval(gain->group[i].ns, gain->group[0].ns, gain->rounds);
		printf("    %-16s x %.4f [%.4f, %.4f]%s\n", gain->group[i].record.label, ratio.median, ratio.lo,
		       ratio.hi, differs[i] ? ", another output" : "");
		count_label(gain, gain->group[i].record.label, &ratio);
	}
	fflush(stdout);
}

static enum tcb_status run_group(struct gain *gain, struct tcb_error *err)
{
	int differs[GROUP_MAX] = { 0 };
	if (gain->group_count < 2)
		return TCB_OK;
	TCB_TRY(open_problem(gain, &gain->group[0].record.problem, err));
	for (size_t i = 0; i < gain->group_count; i++) {
		struct member *member = &gain->group[i];
		member->ns = calloc(gain->rounds, sizeof *member->ns);
		if (!member->ns)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for samples");
		TCB_TRY(start(gain, member, err));
	}
	TCB_TRY(compare_outputs(gain, differs, err));
	sample_rounds(gain);
	print_group(gain, differs);
	return TCB_OK;
}

static void clear_group(struct gain *gain)
{
	for (size_t i = 0; i < gain->group_count; i++) {
		struct member *member = &gain->group[i];
		tcb_gpu_runner_fini(&member->runner);
		free(member->image);
		free(member->ns);
		memset(member, 0, sizeof *member);
	}
	gain->group_count = 0;
}

static int belongs(const struct gain *gain, const struct candidate_record *record)
{
	const struct candidate_record *first = &gain->group[0].record;
	return gain->group_count && gain->group_count < GROUP_MAX && record->state == first->state &&
	       strcmp(record->geometry, first->geometry) == 0 && strcmp(record->label, first->label) != 0 &&
	       is_same_problem(&record->problem, &first->problem);
}

/* --- the file --- */

static enum tcb_status run_file(struct gain *gain, FILE *file, struct tcb_error *err)
{
	for (;;) {
		struct candidate_record record;
		struct tcb_code_image *image;
		TCB_TRY(candidate_read(file, &record, &image, err));
		if (!image || !belongs(gain, &record)) {
			const enum tcb_status status = run_group(gain, err);
			clear_group(gain);
			if (status != TCB_OK)
				free(image);
			TCB_TRY(status);
		}
		if (!image)
			return TCB_OK;
		gain->group[gain->group_count++] = (struct member){ .record = record, .image = image };
	}
}

static void print_labels(const struct gain *gain)
{
	for (size_t i = 0; i < gain->label_count; i++) {
		const struct label *l = &gain->labels[i];
		printf("%-16s %3zu winners with other code: geometric mean x %.4f, faster by over 1 %%: %zu, slower: "
		       "%zu\n",
		       l->name, l->groups, pow(l->product, 1.0 / (double)l->groups), l->faster, l->slower);
	}
	printf("%zu outputs differ\n", gain->different);
}

enum tcb_status pass_gain_run(const char *path, size_t rounds, size_t rotation_bytes, struct tcb_error *err)
{
	struct gain *gain = calloc(1, sizeof *gain);
	FILE *file = fopen(path, "rb");
	enum tcb_status status = gain ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory");
	if (status == TCB_OK && !file)
		status = tcb_fail(err, TCB_E_NOT_FOUND, "cannot open %.300s", path);
	if (status == TCB_OK) {
		gain->rounds = rounds;
		gain->rotation_bytes = rotation_bytes;
		tcb_rng_init(&gain->rng, SEED);
		const struct tcb_gpu gpu = { .device.target.kind = TCB_TARGET_CUDA };
		struct tcb_place place;
		tcb_gpu_place(&gpu, &place);
		status = tcb_gpu_session_open(&place, &gain->session, err);
	}
	if (status == TCB_OK) {
		status = run_file(gain, file, err);
		clear_group(gain);
		close_problem(gain);
		print_labels(gain);
	}
	if (status == TCB_OK && gain->different)
		status = tcb_fail(err, TCB_E_VERIFY, "%zu outputs differ", gain->different);
	if (file)
		fclose(file);
	if (gain)
		tcb_gpu_session_close(&gain->session);
	free(gain);
	return status;
}
