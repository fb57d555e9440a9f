/* SPDX-License-Identifier: MIT
 *
 * A geometry of a row op for a GPU in numbers: how rows and columns are dealt,
 * what lies where in shared memory, and what the constraints judge.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/constraint.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/rows/rows_gpu.h"

enum {
	SLOT_ALIGN = 128,
	VECTOR_FLOATS = 4,
	/* Columns that a warp's share is a multiple of, a line or, of a short one, a sector: no two warps write into
	 * one. */
	SHARE_STEP = 32,
	SHORT_SHARE_STEP = 8,
	SHORT_SHARE = 1024,
	BARRIER = 8,
	ROWS_AHEAD = 4,          /* that a ring of pieces holds at most */
	SHARED_OF_SYSTEM = 1024, /* that each block has besides */
	SHIFTED_MIN = 128, /* values of a row that begins anywhere in a vector: in shorter ones the edge costs more */
	SLICE_MIN = 512,   /* columns; smaller shares of a row only add work */
	SPLIT_MAX = 64,    /* blocks that share a row */
	BLOCKS_WANTED_AN_SM = 2, /* rows are shared where they give fewer */
};

/* --- numbers --- */

unsigned tcb_rows_gpu_even(size_t n)
{
	return n % 4 == 0 ? 16 : n % 2 == 0 ? 8 : 4;
}

unsigned tcb_rows_gpu_widest(size_t n)
{
	return n >= SHIFTED_MIN ? 16 : tcb_rows_gpu_even(n);
}

size_t tcb_rows_gpu_shares(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const size_t sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	size_t most = 1;
	while (most < SPLIT_MAX && problem->shape.m * most < BLOCKS_WANTED_AN_SM * sms &&
	       problem->shape.n / (2 * most) >= SLICE_MIN)
		most *= 2;
	return most;
}

size_t tcb_rows_gpu_share(size_t n, size_t warps)
{
	const size_t even = tcb_div_up(n, warps);
	return tcb_round_up(even, even < SHORT_SHARE ? SHORT_SHARE_STEP : SHARE_STEP);
}

size_t tcb_rows_gpu_slice(size_t n, unsigned blocks, unsigned pass, unsigned passes)
{
	const size_t whole = (size_t)passes * pass;
	return (blocks - 1) * whole < n ? whole : tcb_rows_gpu_share(n, blocks);
}

int tcb_rows_gpu_has_pieces(const struct tcb_geometry *geometry)
{
	return KNOB(BLOCKS) > 0 && KNOB(STAGES) == 1 && KNOB(COPY) == TCB_COPY_BULK && KNOB(XIN) == TCB_XIN_SHARED;
}

unsigned tcb_rows_gpu_cluster_most(const struct tcb_target *target)
{
	const unsigned capability = target->cuda.capability;
	if (capability < 90)
		return 1;
	return capability == 90 || capability == 100 || capability == 103 ? TCB_ROWS_CLUSTER_MOST : CLUSTER_MAX;
}

/* Rows in pieces: the ring has what the block's part of an SM's shared memory leaves. */
static void plan_pieces(const struct tcb_rows_math *math, const struct tcb_target *target, struct tcb_rows_gpu *g)
{
	const unsigned of_row = tcb_div_up(g->slice, g->piece);
	const unsigned barriers = tcb_round_up(g->warps * (g->lead ? 1 : 0) * BARRIER, 16);
	const size_t limit = tcb_shared_limit(target) + SHARED_OF_SYSTEM;
	const size_t mine = limit / (g->together ? g->together : 1) - SHARED_OF_SYSTEM;
	g->slot_bytes = g->piece * 4;
	g->parts_bytes = tcb_round_up(g->parts * math->part * 4, 16);
	g->lead_bytes = g->lead ? math->weights * g->warps * g->slice * 4 : 0;
	const size_t rest = barriers + (size_t)g->lead_bytes + (g->parts > 1 ? 2 * g->parts_bytes : 0);
	const size_t room = mine > rest ? (mine - rest) / (g->warps * (g->slot_bytes + BARRIER)) : 0;
	const unsigned most = of_row * ROWS_AHEAD;
	g->slots = room > most ? most : room < of_row ? of_row : (unsigned)room;
	g->barrier_at = g->warps * g->slots * g->slot_bytes;
	g->lead_at = g->barrier_at + tcb_round_up(g->warps * g->slots * BARRIER, 16) + barriers;
	g->parts_at = g->lead_at + g->lead_bytes;
	g->shared_bytes = g->parts_at + (g->parts > 1 ? 2 * g->parts_bytes : 0);
}

static void plan_memory(const struct tcb_rows_math *math, struct tcb_rows_gpu *g)
{
	const unsigned whole = g->passes * g->pass, sets = g->resident ? 2 : 1;
	const unsigned columns = whole < g->most ? whole : g->most;
	unsigned at = 0;
	g->edge_at = columns * 4;
	if (g->copy != TCB_COPY_LDG) {
		g->slot_bytes = tcb_round_up((columns + (g->shifted ? 2 * g->width : 0)) * 4, SLOT_ALIGN);
		at = g->rows * g->stages * g->slot_bytes;
	}
	g->barrier_at = at;
	if (g->copy == TCB_COPY_BULK)
		at += tcb_round_up(g->rows * g->stages * 8, 16);
	g->parts_at = at;
	g->parts_bytes = tcb_round_up(g->rows * g->parts * math->part * 4, 16);
	if (g->parts > 1 && g->join != TCB_JOIN_LAUNCH)
		at += sets * g->parts_bytes;
	g->shared_bytes = at;
	g->workspace_bytes = g->join == TCB_JOIN_LAUNCH ? (size_t)g->m * g->parts * math->part * 4 : 0;
}

void tcb_rows_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_rows_gpu *out)
{
	struct tcb_rows_gpu *g = out;
	unsigned sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	memset(g, 0, sizeof(*g));
	g->capability = target->cuda.capability;
	g->m = (unsigned)problem->shape.m;
	g->n = (unsigned)problem->shape.n;
	g->width = KNOB(VEC) / 4;
	g->warps = KNOB(WARPS);
	g->ksplit = KNOB(KSPLIT);
	g->rows = g->warps / g->ksplit;
	g->splitk = KNOB(SPLITK);
	g->stages = KNOB(STAGES);
	g->resident = KNOB(BLOCKS);
	g->together = KNOB(OCC);
	g->unroll = KNOB(UNROLL);
	g->lead = KNOB(LEAD);
	g->copy = (enum tcb_copy)KNOB(COPY);
	g->keep = (enum tcb_xin)KNOB(XIN);
	g->join = (enum tcb_join)KNOB(JOIN);
	g->pdl = KNOB(PDL) == 1;
	g->stream = KNOB(STREAM) == 1;
	g->is_added = problem->shape.words.add != 0;
	g->x_type = rows_x_type(problem);
	g->y_type = rows_y_type(problem);
	g->x_bytes = (unsigned)tcb_type_bytes(g->x_type);
	g->y_bytes = (unsigned)tcb_type_bytes(g->y_type);
	g->pass = WARP * g->ksplit * g->width;
	g->shifted = g->n % g->width != 0;
	g->most = g->n / g->width * g->width;
	g->least = g->shifted ? g->most - g->width : g->n;
	g->passes = tcb_div_up(tcb_div_up(g->most, g->splitk), g->pass);
	g->slice = (unsigned)tcb_rows_gpu_slice(g->n, g->splitk, g->pass, g->passes);
	if (g->shifted)
		g->slice = g->passes * g->pass;
	g->parts = g->ksplit * (g->join == TCB_JOIN_WHOLE ? 1 : g->splitk);
	g->has_pieces = tcb_rows_gpu_has_pieces(geometry);
	if (g->has_pieces) {
		sms = tcb_gpu_cluster_sms(target, g->splitk);
		g->pass = WARP * g->width;
		g->slice = (unsigned)tcb_rows_gpu_share(g->n, g->parts);
		g->passes = tcb_div_up(g->slice, g->pass);
		g->piece = g->unroll * g->pass;
	}
	g->tiles = tcb_div_up(g->m, g->rows);
	g->grid = g->tiles;
	if (g->resident && g->resident * sms / g->splitk < g->tiles)
		g->grid = g->resident * sms / g->splitk ? g->resident * sms / g->splitk : 1;
	g->grid *= g->splitk;
	if (g->has_pieces)
		plan_pieces(rows_of(problem)->gpu, target, g);
	else
		plan_memory(rows_of(problem)->gpu, g);
}

unsigned tcb_rows_gpu_steps(const struct tcb_rows_gpu *g)
{
	const unsigned passes = g->join == TCB_JOIN_WHOLE ? tcb_div_up(g->n, g->pass) : g->passes;
	return g->keep == TCB_XIN_REGS ? 1 : tcb_div_up(passes, g->unroll) + g->shifted;
}

/* Four chains of a lane's values, these together, the state before; lanes of a warp; parts of a lane and of lanes. */
unsigned tcb_rows_gpu_chain(const struct tcb_rows_gpu *g)
{
	const unsigned values = (g->keep == TCB_XIN_REGS ? g->passes : g->unroll) * g->width + g->shifted;
	return tcb_rows_gpu_steps(g) * (tcb_div_up(values, 4) + 3) + 5 + tcb_div_up(g->parts, WARP) +
	       tcb_log2_up(g->parts < WARP ? g->parts : WARP);
}

unsigned tcb_rows_gpu_vectors(size_t n, unsigned warps)
{
	return (unsigned)tcb_div_up(tcb_rows_gpu_share(n, warps), WARP * VECTOR_FLOATS);
}

/* --- footprint --- */

/* Upper bounds, held against ptxas by tests/kernels/check_gpu_space.c. */
static unsigned registers(const struct tcb_rows_math *math, const struct tcb_rows_gpu *g)
{
	const int holds = g->keep == TCB_XIN_REGS;
	const unsigned vectors = holds ? g->passes : g->unroll, values = vectors * g->width;
	const unsigned rows = holds && g->copy == TCB_COPY_LDG && g->stages > 1 ? 2 : 1;
	unsigned all = math->registers + values * rows;
	if (holds && math->temporaries)
		all += values / math->temporaries;
	if (math->weights)
		all += math->weights * (g->lead ? values : holds ? 4 * g->width : values);
	if (g->is_added)
		all += 6 + values;
	if (g->x_bytes < 4 || g->y_bytes < 4)
		all += 6;
	if (g->shifted)
		all += 12 + (math->weights ? math->weights * values / 2 + 4 * g->width : 0);
	if (g->has_pieces)
		return all + 8;
	return all + (g->copy == TCB_COPY_LDG ? 0 : 8) + (g->resident ? 6 : 0) + vectors / 8;
}

void tcb_rows_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct tcb_rows_gpu g;
	memset(out, 0, sizeof(*out));
	tcb_rows_gpu_plan(problem, target, geometry, &g);
	out->element_bytes = sizeof(float);
	out->alignment_bytes = out->vector_bytes = g.width * 4;
	out->base_bytes = 256;
	out->leading_bytes = g.shifted ? 0 : (size_t)g.n * 4; /* vectors of shifted rows are the array's */
	out->tile_offset_bytes = (size_t)g.slice * 4;
	out->shared_bytes = g.shared_bytes;
	out->shared_dynamic = 1;
	out->block_threads = g.warps * WARP;
	out->thread_registers = registers(rows_of(problem)->gpu, &g);
	out->blocks_together = g.together;
	out->accumulators = 4;
	out->grid[0] = (size_t)g.tiles * g.splitk;
	out->grid[1] = out->grid[2] = 1;
	out->barriers = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = 2 * sizeof(float) * geometry->tile[level].m * geometry->tile[level].n;
}
