/* SPDX-License-Identifier: MIT
 *
 * The emulator's front: programs, and launches.  In: a decoded kernel, a grid,
 * parameters and device memory.  Out: what the kernel wrote, what was counted,
 * and findings.  Blocks of a grid run one after another, those of a cluster
 * together, all of a cooperative launch, and many where they wait for each other;
 * or on several threads (emu_crew.c).
 */
#include "ptx/emulate/emulate.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "ptx/emulate/emu_crew.h"

enum {
	THREADS_MAX = 1024,
	GRID_MAX = 65535, /* blocks along y and z */
	CLUSTER_MAX = 16,
	TOGETHER_MAX = 2048,      /* warps: what each knows of each takes memory */
	GRID_BARRIER_BYTES = 256, /* what cooperative groups keep for a grid takes 8 */
	SHARED_MAX = 227 * 1024   /* what any device gives a block */
};

void tcb_ptx_program_destroy(struct tcb_ptx_program *program)
{
	if (!program)
		return;
	free(program->functions);
	free(program->pool);
	free(program->variables);
	free(program->counts);
	free(program->reported);
	tcb_arena_fini(&program->arena);
	free(program);
}

enum tcb_status tcb_ptx_program_create(struct tcb_ptx_function *function, struct tcb_ptx_program **out,
				       struct tcb_error *err)
{
	struct tcb_ptx_program *program = calloc(1, sizeof *program);
	enum tcb_status status;

	*out = NULL;
	if (!program)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator's program");
	program->module = function->module;
	program->param_bytes = (uint32_t)tcb_ptx_param_total(function);
	if (!function->is_entry)
		status = tcb_fail(err, TCB_E_UNSUPPORTED, "'%.80s' is not a kernel", function->symbol->name);
	else
		status = tcb_emu_decode(program, function, err);
	if (status == TCB_OK) {
		program->counts = calloc(program->count_total + 1u, sizeof *program->counts);
		program->reported =
			calloc((program->count_total + 1u) * (size_t)TCB_EMU_REPORTED_WORDS, sizeof *program->reported);
		if (!program->counts || !program->reported)
			status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator's program");
	}
	if (status != TCB_OK) {
		tcb_ptx_program_destroy(program);
		return status;
	}
	*out = program;
	return TCB_OK;
}

/* --- launches --- */

static uint32_t cluster_size(const struct tcb_ptx_program *program, const struct tcb_ptx_launch *launch, unsigned i)
{
	uint32_t required = program->functions[0]->function->directives.reqnctapercluster[i];

	return launch->cluster[i] ? launch->cluster[i] : required ? required : 1;
}

static enum tcb_status check_launch(const struct tcb_ptx_program *program, const struct tcb_ptx_launch *launch,
				    struct tcb_error *err)
{
	const struct tcb_ptx_function *entry = program->functions[0]->function;
	const struct tcb_ptx_directives *d = &entry->directives;
	uint64_t threads = 1, blocks = 1, limit = 1, cluster = 1;

	for (unsigned i = 0; i < 3; i++) {
		if (!launch->grid[i] || !launch->block[i] || launch->block[i] > THREADS_MAX)
			return tcb_fail(err, TCB_E_USAGE, "a grid or block without threads, or beyond %d", THREADS_MAX);
		threads *= launch->block[i];
		limit *= d->maxntid[i] ? d->maxntid[i] : 1;
		if (i && launch->grid[i] > GRID_MAX)
			return tcb_fail(err, TCB_E_USAGE, "a grid of more than %d blocks along %c, which no GPU has",
					GRID_MAX, "xyz"[i]);
		if (__builtin_mul_overflow(blocks, launch->grid[i], &blocks))
			return tcb_fail(err, TCB_E_OVERFLOW, "the grid is too large");
		if (launch->grid[i] % cluster_size(program, launch, i))
			return tcb_fail(err, TCB_E_USAGE, "the grid is not a multiple of the cluster");
		cluster *= cluster_size(program, launch, i);
		if (d->reqntid[0] && launch->block[i] != (d->reqntid[i] ? d->reqntid[i] : 1))
			return tcb_fail(err, TCB_E_USAGE, "the kernel requires blocks of (%u,%u,%u)", d->reqntid[0],
					d->reqntid[1], d->reqntid[2]);
	}
	if (threads > THREADS_MAX || (d->maxntid[0] && threads > limit))
		return tcb_fail(err, TCB_E_USAGE, "%llu threads per block; the kernel is built for %llu",
				(unsigned long long)threads,
				(unsigned long long)(d->maxntid[0] ? limit : (uint64_t)THREADS_MAX));
	if (cluster > CLUSTER_MAX)
		return tcb_fail(err, TCB_E_USAGE, "a cluster of more than %d blocks", CLUSTER_MAX);
	if ((uint64_t)program->dynamic_offset + launch->dynamic_shared > SHARED_MAX)
		return tcb_fail(err, TCB_E_USAGE, "more than %d bytes of shared memory", SHARED_MAX);
	if (launch->param_bytes < program->param_bytes)
		return tcb_fail(err, TCB_E_USAGE, "%zu bytes of parameters; '%.80s' has %u", launch->param_bytes,
				entry->symbol->name, program->param_bytes);
	return TCB_OK;
}

/* Clusters run to their end, as many at once as there is room for in run->blocks. */
static void run_clusters(struct tcb_emu_run *run)
{
	const uint64_t at_once = run->room / run->cluster_blocks;

	for (uint64_t first = 0; first < run->cluster_count && !run->fault; first += at_once) {
		tcb_emu_run_clusters(run, first,
				     first + at_once < run->cluster_count ? first + at_once : run->cluster_count);
		if (run->launch->progress)
			run->launch->progress(run->launch->progress_ctx, run->blocks_done);
	}
}

/* Memory for CLUSTERS that run together. */
static enum tcb_status make_room(struct tcb_emu_run *run, uint64_t clusters)
{
	free(run->blocks);
	run->room = run->block_count = (uint32_t)(clusters * run->cluster_blocks);
	run->warps = run->room * tcb_emu_block_warps(run->launch);
	run->agents = run->warps * (run->program->reads_async ? 2 : 1) + 3;
	run->blocks = calloc(run->room, sizeof *run->blocks);
	return run->blocks ? TCB_OK : tcb_fail(run->err, TCB_E_NOMEM, "out of memory for the blocks of a launch");
}

/* How many clusters of RUN may run together. */
static uint64_t most_together(const struct tcb_emu_run *run)
{
	const uint64_t most = TOGETHER_MAX / (tcb_emu_block_warps(run->launch) * run->cluster_blocks);

	return most < run->cluster_count ? most : run->cluster_count;
}

static enum tcb_status measure(struct tcb_emu_run *run)
{
	const struct tcb_ptx_launch *launch = run->launch;

	run->cluster_blocks = run->cluster_count = 1;
	for (unsigned i = 0; i < 3; i++) {
		run->cluster_blocks *= run->cluster_size[i] = cluster_size(run->program, launch, i);
		run->cluster_count *= launch->grid[i] / run->cluster_size[i];
	}
	if (launch->is_cooperative && most_together(run) < run->cluster_count)
		return tcb_fail(run->err, TCB_E_USAGE, "a cooperative launch of more than %d warps", TOGETHER_MAX);
	return make_room(run, launch->is_cooperative ? run->cluster_count : 1);
}

static void sum_up(struct tcb_emu_run *run)
{
	const struct tcb_ptx_program *program = run->program;
	struct tcb_ptx_emulation *out = run->out;

	for (uint32_t f = 0; f < program->function_count; f++)
		for (uint32_t i = 0; i < program->functions[f]->code_count; i++) {
			const struct tcb_emu_ins *in = &program->functions[f]->code[i];

			if (!in->ins)
				continue;
			out->by_class[in->class] += run->counts[in->count].warps;
			tcb_emu_counts_add(&out->total, &run->counts[in->count]);
		}
	out->by_ins = run->counts;
	out->ins_count = program->functions[0]->function->ins_count;
}

/* Nothing has been counted or reported. */
static void wipe(struct tcb_emu_run *run)
{
	const size_t count = run->program->count_total + 1u;

	memset(run->out, 0, sizeof *run->out);
	memset(run->counts, 0, count * sizeof *run->counts);
	memset(run->reported, 0, count * TCB_EMU_REPORTED_WORDS * sizeof *run->reported);
}

static void run_alone(struct tcb_emu_run *run)
{
	if (tcb_emu_races_begin(run))
		run_clusters(run);
	tcb_emu_shadows_free(run);
	tcb_emu_races_end(run);
	tcb_emu_places_free(run);
}

/* One thread, one cluster after another; and where they wait for later ones, many together from the beginning. */
static void run_by_one(struct tcb_emu_run *run)
{
	struct tcb_emu_found found = { 0 };
	struct tcb_emu_run again = *run;

	if (!run->program->has_strong || run->launch->is_cooperative || most_together(run) < 2 ||
	    !tcb_emu_run_keep(run)) {
		run_alone(run);
		return;
	}
	run->may_widen = 1;
	run->found = &found;
	run_alone(run);
	run->found = NULL;
	if (run->wants_company) {
		again.kept = run->kept;
		again.blocks = run->blocks;
		*run = again;
		tcb_emu_restore(run->memory, run->kept);
		wipe(run);
		run->status = make_room(run, most_together(run));
		if (run->status == TCB_OK)
			run_alone(run);
	} else {
		memset(run->reported, 0,
		       (run->program->count_total + 1u) * TCB_EMU_REPORTED_WORDS * sizeof *run->reported);
		if (found.has_failed)
			tcb_emu_no_memory(run);
		run->out->findings = 0;
		for (size_t i = 0; i < found.count; i++)
			tcb_emu_found_tell(run, &found.items[i]);
	}
	tcb_emu_found_fini(&found);
}

enum tcb_status tcb_emu_launch(struct tcb_ptx_program *program, const struct tcb_ptx_launch *launch,
			       struct tcb_ptx_memory *memory, const struct tcb_ptx_sink *sink, uint8_t *kept,
			       struct tcb_ptx_emulation *out, struct tcb_error *err)
{
	uint32_t grid_barrier[GRID_BARRIER_BYTES / sizeof(uint32_t)] = { 0 };
	struct tcb_ptx_emulation unused;
	struct tcb_rng rng;
	struct tcb_emu_run run = { .program = program,
				   .launch = launch,
				   .memory = memory,
				   .sink = sink,
				   .kept = kept,
				   .out = out ? out : &unused,
				   .counts = program->counts,
				   .reported = program->reported,
				   .rng = &rng,
				   .err = err,
				   .tick = 1 };

	wipe(&run);
	TCB_TRY(check_launch(program, launch, err));
	TCB_TRY(tcb_emu_load_variables(program, memory, err));
	if (launch->is_cooperative)
		TCB_TRY(tcb_ptx_memory_add(memory, "the grid's barrier", grid_barrier, sizeof grid_barrier,
					   sizeof grid_barrier, TCB_PTX_MAY_WRITE, &run.grid_barrier, err));
	run.status = measure(&run);
	if (run.status == TCB_OK && !tcb_emu_crew_run(&run))
		run_by_one(&run);
	sum_up(&run);
	free(run.blocks);
	if (run.kept != kept)
		free(run.kept);
	if (run.grid_barrier)
		tcb_ptx_memory_remove(memory, run.grid_barrier);
	return run.status;
}

enum tcb_status tcb_ptx_emulate(struct tcb_ptx_program *program, const struct tcb_ptx_launch *launch,
				struct tcb_ptx_memory *memory, const struct tcb_ptx_sink *sink,
				struct tcb_ptx_emulation *out, struct tcb_error *err)
{
	return tcb_emu_launch(program, launch, memory, sink, NULL, out, err);
}
