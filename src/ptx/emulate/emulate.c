/* SPDX-License-Identifier: MIT
 *
 * The emulator's front: programs, and launches.  In: a decoded kernel, a grid,
 * parameters and device memory.  Out: what the kernel wrote, what was counted,
 * and findings.  Blocks of a grid run one after another, those of a cluster
 * together, and all of a cooperative launch.
 */
#include "ptx/emulate/emulate.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "ptx/emulate/emu_program.h"

enum {
	THREADS_MAX = 1024,
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
		status = tcb_fail(err, TCB_E_UNSUPPORTED, "'%.80s' is no kernel", function->symbol->name);
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

/* The blocks of the cluster whose first is FIRST are made, from run->blocks[PLACE]; 0: out of memory. */
static int start_cluster(struct tcb_emu_run *run, const uint32_t *first, uint32_t place)
{
	const uint32_t *size = run->cluster_size;
	uint32_t rank = 0;

	for (uint32_t z = 0; z < size[2]; z++)
		for (uint32_t y = 0; y < size[1]; y++)
			for (uint32_t x = 0; x < size[0]; x++, rank++) {
				uint32_t ctaid[3] = { first[0] + x, first[1] + y, first[2] + z };

				if (!tcb_emu_block_start(run, &run->blocks[place + rank], rank, ctaid))
					return 0;
			}
	return 1;
}

/* What is in run->blocks runs to its end. */
static void run_together(struct tcb_emu_run *run)
{
	if (!run->fault)
		tcb_emu_cluster_run(run);
	tcb_emu_cluster_end(run);
	memset(run->blocks, 0, run->block_count * sizeof *run->blocks);
	if (run->launch->progress)
		run->launch->progress(run->launch->progress_ctx, (uint64_t)run->cluster * run->block_count);
}

/* Clusters run to their end, as many at once as there is room for in run->blocks. */
static void run_clusters(struct tcb_emu_run *run)
{
	const uint32_t *size = run->cluster_size, *grid = run->launch->grid;
	uint32_t at[3], started = 0;

	for (at[2] = 0; at[2] < grid[2] && !run->fault; at[2] += size[2])
		for (at[1] = 0; at[1] < grid[1] && !run->fault; at[1] += size[1])
			for (at[0] = 0; at[0] < grid[0] && !run->fault; at[0] += size[0]) {
				if (!started) {
					run->cluster++;
					tcb_emu_places_fold(run);
				}
				if (!start_cluster(run, at, started))
					tcb_emu_no_memory(run);
				started += run->cluster_blocks;
				if (started == run->block_count || run->fault) {
					run_together(run);
					started = 0;
				}
			}
}

/* How many blocks run together. */
static enum tcb_status make_room(struct tcb_emu_run *run)
{
	const struct tcb_ptx_launch *launch = run->launch;
	const uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2],
		       warps = (threads + TCB_EMU_LANES - 1) / TCB_EMU_LANES;
	const uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];

	run->cluster_blocks = 1;
	for (unsigned i = 0; i < 3; i++)
		run->cluster_blocks *= run->cluster_size[i] = cluster_size(run->program, launch, i);
	run->block_count = run->cluster_blocks;
	if (launch->is_cooperative) {
		if (blocks > TOGETHER_MAX / warps)
			return tcb_fail(run->err, TCB_E_USAGE, "a cooperative launch of more than %d warps",
					TOGETHER_MAX);
		run->block_count = (uint32_t)blocks;
	}
	run->warps = run->block_count * warps;
	run->agents = run->warps * (run->program->reads_async ? 2 : 1) + 2;
	run->blocks = calloc(run->block_count, sizeof *run->blocks);
	return run->blocks ? TCB_OK : tcb_fail(run->err, TCB_E_NOMEM, "out of memory for the blocks of a launch");
}

static void sum_up(struct tcb_emu_run *run)
{
	const struct tcb_ptx_program *program = run->program;
	struct tcb_ptx_emulation *out = run->out;

	for (uint32_t f = 0; f < program->function_count; f++)
		for (uint32_t i = 0; i < program->functions[f]->code_count; i++) {
			const struct tcb_emu_ins *in = &program->functions[f]->code[i];
			const struct tcb_ptx_counts *c;

			if (!in->ins)
				continue;
			c = &run->counts[in->count];
			out->by_class[in->class] += c->warps;
			out->total.warps += c->warps;
			out->total.threads += c->threads;
			out->total.requests += c->requests;
			out->total.wavefronts += c->wavefronts;
			out->total.wavefronts_ideal += c->wavefronts_ideal;
			out->total.sectors += c->sectors;
			out->total.sectors_ideal += c->sectors_ideal;
			out->total.divergent += c->divergent;
		}
	out->by_ins = run->counts;
	out->ins_count = program->functions[0]->function->ins_count;
}

static void run_launch(struct tcb_emu_run *run)
{
	if (tcb_emu_races_begin(run))
		run_clusters(run);
	sum_up(run);
	tcb_emu_races_end(run);
	tcb_emu_places_free(run);
}

enum tcb_status tcb_ptx_emulate(struct tcb_ptx_program *program, const struct tcb_ptx_launch *launch,
				struct tcb_ptx_memory *memory, const struct tcb_ptx_sink *sink,
				struct tcb_ptx_emulation *out, struct tcb_error *err)
{
	uint32_t grid_barrier[GRID_BARRIER_BYTES / sizeof(uint32_t)] = { 0 };
	struct tcb_ptx_emulation unused;
	struct tcb_rng rng;
	struct tcb_emu_run run = { .program = program,
				   .launch = launch,
				   .memory = memory,
				   .sink = sink,
				   .out = out ? out : &unused,
				   .counts = program->counts,
				   .rng = &rng,
				   .err = err,
				   .tick = 1 };

	memset(run.out, 0, sizeof *run.out);
	memset(program->counts, 0, (program->count_total + 1u) * sizeof *program->counts);
	memset(program->reported, 0, (program->count_total + 1u) * sizeof *program->reported);
	TCB_TRY(check_launch(program, launch, err));
	TCB_TRY(tcb_emu_load_variables(program, memory, err));
	if (launch->is_cooperative)
		TCB_TRY(tcb_ptx_memory_add(memory, "the grid's barrier", grid_barrier, sizeof grid_barrier,
					   sizeof grid_barrier, TCB_PTX_MAY_WRITE, &run.grid_barrier, err));
	tcb_rng_init(&rng, launch->seed);
	run.deferred_end = &run.deferred;
	run.status = make_room(&run);
	if (run.status == TCB_OK)
		run_launch(&run);
	free(run.blocks);
	if (run.grid_barrier)
		tcb_ptx_memory_remove(memory, run.grid_barrier);
	return run.status;
}
