/* SPDX-License-Identifier: MIT
 *
 * What the passes of src/ptx/optimise change in the winners of tuning
 * databases, and what that is worth on a GPU.
 *
 *   pass_gain pack FILE DATABASE...       assembles each winner as it was emitted, behind all passes and behind each
 *                                         pass alone, prints what differs in machine code, and writes into FILE
 *                                         what is to be timed
 *   pass_gain run FILE [ROUNDS [MIB]]     times FILE on the first GPU, paired and interleaved, over copies of MIB
 *                                         together (40, 512)
 *
 * "Alone" means with constant folding and dead code, which clean up behind it.  Machine code that an earlier row of
 * the same winner has too is named and not timed again.  Without an assembler PTX is compared and packed instead.
 *
 * Exit: 0, 2 usage, 4 an output differs where no sums were fused, 77 no GPU, 1 else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "candidate_file.h"
#include "cubin_text.h"
#include "kernels/gpu/ptx_code.h"
#include "pass_gain.h"
#include "ptx/optimise/passes.h"
#include "stored.h"

enum { ROUNDS = 40, ROUNDS_MAX = 1000, ROTATION = 512, ROTATION_MAX = 16384, SKIP = 77, SETS_MAX = 16 };

struct pass_set {
	const char *name;
	unsigned left_out;
};

struct packing {
	FILE *file;
	struct pass_set sets[SETS_MAX];
	size_t set_count, winners, changed;
	size_t set_changed[SETS_MAX];
	struct tcb_error *err;
	enum tcb_status status;
};

/* --- the sets --- */

static unsigned bit_of(const char *name)
{
	unsigned count;
	const struct tcb_ptx_pass *passes = tcb_ptx_passes(&count);
	return 1u << (tcb_ptx_pass_find(name) - passes);
}

static void make_sets(struct packing *packing)
{
	unsigned count;
	const struct tcb_ptx_pass *passes = tcb_ptx_passes(&count);
	const unsigned all = (1u << count) - 1, cleaning = bit_of("const_fold") | bit_of("dead_code");
	packing->sets[packing->set_count++] = (struct pass_set){ "none", all };
	packing->sets[packing->set_count++] = (struct pass_set){ "cleaning", all & ~cleaning };
	for (unsigned i = 0; i < count; i++)
		if (!(cleaning >> i & 1))
			packing->sets[packing->set_count++] =
				(struct pass_set){ passes[i].name, all & ~cleaning & ~(1u << i) };
	packing->sets[packing->set_count++] = (struct pass_set){ "all", 0 };
}

/* --- one winner --- */

static enum tcb_status compile(const struct tcb_op *op, const struct tcb_problem *problem,
			       const struct tcb_target *target, const struct tcb_geometry *geometry, unsigned left_out,
			       struct tcb_code_image **out, struct tcb_error *err)
{
	struct tcb_ptx_pass_options options;
	struct tcb_kernel kernel = { .code = NULL };
	unsigned count;
	(void)tcb_ptx_passes(&count);
	tcb_ptx_pass_defaults(&options);
	options.left_out = left_out;
	enum tcb_status status = tcb_op_side(op, target)->emit(problem, target, geometry, &kernel, err);
	if (status == TCB_OK && left_out + 1 != 1u << count)
		status = tcb_ptx_optimise(tcb_kernel_ptx(&kernel)->module, &options, NULL, err);
	if (status == TCB_OK)
		status = tcb_code_compile(&kernel, 1, target, out, err);
	tcb_kernel_fini(&kernel);
	return status;
}

static void print_code(const char *name, const struct cubin_text *text, const struct cubin_text *plain,
		       const char *same)
{
	printf("    %-16s %5u instructions (%+d), %5u in loops (%+d), %3u registers (%+d)%s%s\n", name,
	       text->instructions, (int)(text->instructions - plain->instructions), text->in_loops,
	       (int)(text->in_loops - plain->in_loops), text->registers, (int)(text->registers - plain->registers),
	       same ? " = " : "", same ? same : "");
}

static enum tcb_status pack_set(struct packing *packing, const struct tcb_best *best, size_t set,
				const struct tcb_code_image *image, struct tcb_error *err)
{
	struct candidate_record record;
	memset(&record, 0, sizeof record);
	record.problem = best->problem;
	record.state = (uint32_t)best->state;
	snprintf(record.geometry, sizeof record.geometry, "%s", best->geometry);
	snprintf(record.label, sizeof record.label, "%s", packing->sets[set].name);
	return candidate_write(packing->file, &record, image, err);
}

static enum tcb_status pack_winner(struct packing *packing, const struct tcb_op *op, const struct tcb_best *best,
				   const struct tcb_target *target, const struct tcb_geometry *geometry,
				   struct tcb_error *err)
{
	struct cubin_text texts[SETS_MAX];
	int differs = 0;
	for (size_t i = 0; i < packing->set_count; i++) {
		struct tcb_code_image *image = NULL;
		size_t same = 0;
		TCB_TRY(compile(op, &best->problem, target, geometry, packing->sets[i].left_out, &image, err));
		const struct tcb_code_unit *unit = &image->unit[0];
		const char *code = (const char *)image + unit->offset;
		enum tcb_status status = TCB_OK;
		if (image->is_text)
			texts[i] = (struct cubin_text){ .hash = tcb_hash64(code, unit->bytes, 0) };
		else if (!cubin_text_read(code, unit->bytes, &texts[i]))
			status = tcb_fail(err, TCB_E_FORMAT, "the assembler's cubin has no machine code");
		while (status == TCB_OK && same < i && texts[same].hash != texts[i].hash)
			same++;
		if (status == TCB_OK && (i == 0 || same > 0))
			print_code(packing->sets[i].name, &texts[i], &texts[0],
				   same < i ? packing->sets[same].name : NULL);
		if (status == TCB_OK && same == i)
			status = pack_set(packing, best, i, image, err);
		packing->set_changed[i] += same > 0;
		differs |= same > 0;
		free(image);
		TCB_TRY(status);
	}
	packing->winners++;
	packing->changed += differs != 0;
	return TCB_OK;
}

static enum tcb_status pack_best(struct packing *packing, const struct tcb_best *best, struct tcb_error *err)
{
	const struct tcb_op *op = best->problem.op;
	struct stored_problem stored = { .op = op, .problem = best->problem };
	struct tcb_geometry geometry;
	struct tcb_gpu gpu;
	char shape[TCB_SHAPE_TEXT_MAX];
	if (!op || !tcb_op_gpu(op) || best->modelled || !tcb_gpu_parse(best->device_name, NULL, NULL))
		return TCB_OK;
	memcpy(stored.device_name, best->device_name, sizeof stored.device_name);
	memcpy(stored.model, best->model, sizeof stored.model);
	TCB_TRY(stored_gpu(&stored, &gpu, err));
	TCB_TRY(tcb_geometry_parse(best->geometry, &geometry, err));
	tcb_shape_print(&best->problem.shape, shape);
	printf("%s %s %s %s, %s: %s\n", best->problem.op_name, tcb_contract_text(best->problem.contract), shape,
	       tcb_state_text(best->state), gpu.device.model, best->geometry);
	const enum tcb_status status = pack_winner(packing, op, best, &gpu.device.target, &geometry, err);
	fflush(stdout);
	if (status != TCB_E_ILLEGAL)
		return status;
	printf("    left out, since today's kernels do not have it: %s\n", err->message);
	return TCB_OK;
}

static int see_best(void *ctx, const struct tcb_best *best)
{
	struct packing *packing = ctx;
	struct tcb_best known = *best;
	known.problem.op = tcb_op_find(best->problem.op_name);
	packing->status = pack_best(packing, &known, packing->err);
	return packing->status != TCB_OK;
}

/* --- commands --- */

static enum tcb_status pack(const char *path, char **databases, size_t count, struct tcb_error *err)
{
	const struct tcb_best_filter any = { NULL, NULL };
	struct packing packing = { .file = fopen(path, "wb"), .err = err };
	enum tcb_status status = TCB_OK;
	if (!packing.file)
		return tcb_fail(err, TCB_E_IO, "cannot write %.300s", path);
	make_sets(&packing);
	for (size_t i = 0; i < count && status == TCB_OK; i++) {
		struct tcb_db *db;
		status = tcb_db_open(databases[i], TCB_DB_READ, &db, err);
		if (status != TCB_OK)
			break;
		status = tcb_db_best_each(db, &any, see_best, &packing, err);
		if (status == TCB_OK)
			status = packing.status;
		tcb_db_close(db);
	}
	if (fclose(packing.file) != 0 && status == TCB_OK)
		status = tcb_fail(err, TCB_E_IO, "cannot write %.300s", path);
	printf("%zu winners, %zu with other machine code behind some passes:", packing.winners, packing.changed);
	for (size_t i = 1; i < packing.set_count; i++)
		printf(" %s %zu", packing.sets[i].name, packing.set_changed[i]);
	printf("\n");
	return status;
}

static int usage(void)
{
	fprintf(stderr, "usage: pass_gain pack FILE DATABASE... | run FILE [ROUNDS [MIB]]\n");
	return tcb_status_exit(TCB_E_USAGE);
}

int main(int argc, char **argv)
{
	struct tcb_error err = { .message = "" };
	enum tcb_status status;
	if (argc >= 4 && strcmp(argv[1], "pack") == 0) {
		status = pack(argv[2], argv + 3, (size_t)argc - 3, &err);
	} else if (argc >= 3 && argc <= 5 && strcmp(argv[1], "run") == 0) {
		const long rounds = argc > 3 ? strtol(argv[3], NULL, 10) : ROUNDS;
		const long mib = argc > 4 ? strtol(argv[4], NULL, 10) : ROTATION;
		if (rounds < 1 || rounds > ROUNDS_MAX || mib < 1 || mib > ROTATION_MAX)
			return usage();
		status = pass_gain_run(argv[2], (size_t)rounds, (size_t)mib << 20, &err);
	} else {
		return usage();
	}
	if (status == TCB_OK)
		return 0;
	fprintf(stderr, "pass_gain: %s\n", err.message);
	return status == TCB_E_UNSUPPORTED ? SKIP : tcb_status_exit(status);
}
