/* SPDX-License-Identifier: MIT
 *
 * A geometry of q4k_matvec for a GPU in numbers: how rows and superblocks are
 * dealt, what lies where in shared memory, what the constraints judge; and the
 * rules (V4) that a geometry keeps so that a kernel can be written for it and no
 * two legal ones are the same computation.
 */
#include <string.h>

#include "kernels/constraint.h"
#include "kernels/quant_matvec/quant_matvec_gpu.h"

enum { WARP = 32, WARPS_MAX = 32, HEADER_BYTES = 16, CODE_BYTES = 128, SHARED_ALIGN = 128 };

static unsigned div_up(unsigned a, unsigned b)
{
	return (a + b - 1) / b;
}

static unsigned align_up(unsigned value, unsigned to)
{
	return div_up(value, to) * to;
}

static unsigned knob(const struct tcb_geometry *geometry, enum tcb_knob which)
{
	return geometry->knob[which] < 0 ? 0 : (unsigned)geometry->knob[which];
}

static size_t power_of_two_above(size_t value)
{
	size_t power = 1;
	while (power < value && power <= SIZE_MAX / 4)
		power *= 2;
	return power;
}

/* --- numbers --- */

/*
 * q8: codes of the low nibbles, 128 bytes a superblock; those of the high nibbles, half a row of banks off so that a
 * warp's stores of both meet no conflict.  f32: values, 1024 bytes a superblock.  Then scales and sums.
 */
static void plan_image(struct q4k_gpu *g)
{
	struct q4k_gpu_image *image = &g->image;
	const unsigned blocks = g->slice + (g->is_partial ? 1 : 0);
	image->blocks = blocks;
	image->high = blocks * CODE_BYTES + 64;
	image->scale = g->is_q8 ? image->high + blocks * CODE_BYTES : blocks * Q4K_BLOCK_VALUES * 4;
	image->sum = image->scale + align_up(blocks * (g->group == 32 ? 8 : 1) * 4, 16);
	image->bytes = align_up(image->sum + blocks * 8 * 4, 16);
}

static void plan_rows(const struct tcb_target *target, struct q4k_gpu *g)
{
	const unsigned sms = target->sm_count ? target->sm_count : 1;
	g->groups = div_up(g->n, g->rows);
	if (g->resident) {
		g->grid = g->resident * sms < g->groups ? g->resident * sms : g->groups;
		g->least = g->groups / g->grid;
		g->longer = g->groups % g->grid;
	} else {
		g->grid = div_up(g->groups, g->row_warps);
		g->least = g->row_warps;
		g->longer = 0;
	}
	g->block_rows = (g->least + (g->longer ? 1 : 0)) * g->rows;
}

static void plan_memory(struct q4k_gpu *g)
{
	const unsigned row_codes = g->share * g->code_stride;
	unsigned at = 0;
	if (g->copy != TCB_COPY_LDG) {
		g->slot_headers = g->layout == TCB_LAYOUT_NATIVE ? 0 : g->rows * row_codes;
		g->slot_bytes = align_up(g->rows * g->share * Q4K_BLOCK_BYTES, SHARED_ALIGN);
		at = g->warps * g->stages * g->slot_bytes;
	}
	g->barrier_at = at;
	if (g->copy == TCB_COPY_BULK)
		at += align_up(g->warps * g->stages * 8, 16);
	g->image_at = at;
	g->flag_at = at + g->image.bytes;
	g->part_at = g->flag_at + 16; /* the last one: its size depends on the grid */
	g->shared_bytes = g->flag_at;
	if (g->ksplit > 1 || g->splitk > 1)
		g->shared_bytes = g->part_at + align_up(g->block_rows * g->ksplit * 4, 16);
	g->slices_at = g->counters_at = g->workspace_bytes = 0;
	if (g->own_launch)
		g->slices_at = g->counters_at = g->workspace_bytes =
			((size_t)g->tokens * g->image.bytes + 255) / 256 * 256;
	if (g->splitk > 1) {
		g->counters_at = g->slices_at + ((size_t)g->tokens * g->splitk * g->n * 4 + 255) / 256 * 256;
		g->workspace_bytes = g->counters_at + (size_t)g->tokens * g->grid * 4;
	}
}

void q4k_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		  const struct tcb_geometry *geometry, struct q4k_gpu *out)
{
	struct q4k_gpu *g = out;
	memset(g, 0, sizeof(*g));
	g->capability = target->capability;
	g->is_q8 = problem->contract == TCB_CONTRACT_Q8;
	g->group = knob(geometry, TCB_KNOB_GROUP);
	g->layout = (enum tcb_layout)knob(geometry, TCB_KNOB_LAYOUT);
	g->copy = (enum tcb_copy)knob(geometry, TCB_KNOB_COPY);
	g->x_in_regs = knob(geometry, TCB_KNOB_XIN) == TCB_XIN_REGS;
	g->own_launch = knob(geometry, TCB_KNOB_PREP) == TCB_PREP_LAUNCH;
	g->pdl = knob(geometry, TCB_KNOB_PDL) == 1;
	g->vec = knob(geometry, TCB_KNOB_VEC);
	g->rows = (unsigned)geometry->tile[TCB_MICRO].n;
	g->warps = knob(geometry, TCB_KNOB_WARPS);
	g->ksplit = knob(geometry, TCB_KNOB_KSPLIT);
	g->row_warps = g->warps / g->ksplit;
	g->splitk = knob(geometry, TCB_KNOB_SPLITK);
	g->stages = knob(geometry, TCB_KNOB_STAGES);
	g->lead = knob(geometry, TCB_KNOB_LEAD);
	g->resident = knob(geometry, TCB_KNOB_BLOCKS);
	g->together = knob(geometry, TCB_KNOB_OCC);
	g->unroll = knob(geometry, TCB_KNOB_UNROLL);
	g->n = (unsigned)problem->shape.n;
	g->tokens = (unsigned)problem->shape.m;
	g->row_blocks = (unsigned)(problem->shape.k / Q4K_BLOCK_VALUES);
	g->slice = g->row_blocks / g->splitk;
	g->share = g->slice / g->ksplit;
	g->piece_lanes = CODE_BYTES / g->vec;
	g->step = WARP / g->piece_lanes;
	g->steps = div_up(g->share, g->step);
	g->is_partial = g->share % g->step != 0;
	g->code_stride = g->layout == TCB_LAYOUT_NATIVE ? Q4K_BLOCK_BYTES : CODE_BYTES;
	g->header_stride = g->layout == TCB_LAYOUT_NATIVE ? Q4K_BLOCK_BYTES : HEADER_BYTES;
	plan_image(g);
	plan_rows(target, g);
	plan_memory(g);
}

/*
 * A lane's products: one addition a term within a piece (f32), its part of the scale, two additions a step; five in the
 * warp, then the warps and blocks that share the row.  Mins: 5 additions for the sum of a sub-block, 3 products.  q8:
 * the scale's roundings and those of x times its inverse.
 */
double q4k_gpu_chain(const struct q4k_gpu *g)
{
	const unsigned piece = g->is_q8 ? 4 : 2 * g->vec / 2 + 6;
	return piece + 8 + 2 * g->steps + 5 + g->ksplit + g->splitk + 4;
}

/* --- footprint --- */

/* Upper bounds, held against ptxas by tests/kernels/check_gpu_space.c. */
unsigned q4k_gpu_registers(const struct q4k_gpu *g)
{
	const unsigned words = g->vec / 4, weights = words + 4;
	const unsigned x = (g->is_q8 ? 2 * words : 8 * words) + (g->group == 32 ? 2 : 1) + 1;
	const unsigned steps = g->copy == TCB_COPY_LDG ? g->unroll : 1;
	unsigned all = 40 + 2 * g->rows + (g->x_in_regs ? g->steps : 1) * x;
	all += g->copy == TCB_COPY_LDG ? g->rows * steps * weights : 2 * weights;
	if (!g->own_launch) {
		const unsigned ahead = div_up(g->image.blocks, g->warps);
		const unsigned loads = 8 * (ahead < Q4K_GPU_X_AHEAD ? ahead : Q4K_GPU_X_AHEAD);
		const unsigned early = g->copy == TCB_COPY_LDG && g->lead ? g->rows * steps * weights : 0;
		all = all > 48 + loads + early ? all : 48 + loads + early;
	}
	return all;
}

void q4k_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct q4k_gpu g;
	memset(out, 0, sizeof(*out));
	q4k_gpu_plan(problem, target, geometry, &g);
	out->k_multiple = out->k_step_multiple = Q4K_BLOCK_VALUES;
	out->element_bytes = 1;
	out->alignment_bytes = 16; /* a native block has 9 * 16 bytes */
	out->vector_bytes = g.vec;
	out->base_bytes = 256;
	out->leading_bytes = (size_t)g.row_blocks * g.code_stride;
	out->tile_offset_bytes = g.code_stride;
	out->shared_bytes = g.shared_bytes;
	out->shared_dynamic = 1;
	out->block_threads = g.warps * WARP;
	out->thread_registers = q4k_gpu_registers(&g);
	out->blocks_together = g.together;
	out->accumulators = 2 * g.rows;
	out->grid[0] = g.grid;
	out->grid[1] = g.splitk;
	out->grid[2] = g.tokens;
	out->barriers = 1;
	out->level_bytes[TCB_MACRO] = (size_t)g.n * g.row_blocks * Q4K_BLOCK_BYTES + (size_t)g.row_blocks * 1024;
	out->level_bytes[TCB_MIDI] = (size_t)g.row_warps * g.rows * g.slice * Q4K_BLOCK_BYTES + g.image.bytes;
	out->level_bytes[TCB_MICRO] = (size_t)g.rows * g.step * Q4K_BLOCK_BYTES;
}

/* --- rules --- */

#define RULE(name)                                                                                  \
	static const char *name(const struct tcb_problem *problem, const struct tcb_target *target, \
				const struct tcb_geometry *geometry)
#define UNUSED(a) (void)(a)

static unsigned blocks_of(const struct tcb_problem *problem)
{
	return (unsigned)(problem->shape.k / Q4K_BLOCK_VALUES);
}

RULE(rule_isa)
{
	const int32_t isa = geometry->knob[TCB_KNOB_ISA];
	if (problem->contract == TCB_CONTRACT_Q8 && isa != TCB_ISA_DP4A)
		return "isa must be dp4a under contract q8";
	if (problem->contract == TCB_CONTRACT_F32 && isa != TCB_ISA_FMA)
		return "isa must be fma under contract f32";
	return tcb_target_has(target, (enum tcb_isa)isa) ? NULL : "the device has no such instructions";
}

RULE(rule_layout)
{
	const int32_t layout = geometry->knob[TCB_KNOB_LAYOUT];
	UNUSED(problem);
	UNUSED(target);
	return layout == TCB_LAYOUT_NATIVE || layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S
		       ? NULL
		       : "layout must be native, p or s on a GPU";
}

RULE(rule_tiles)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const size_t n = problem->shape.n;
	UNUSED(target);
	if (macro->m != 1 || midi->m != 1)
		return "macro.m and midi.m must be 1: each token is a product of its own";
	if (macro->k != problem->shape.k || midi->k != problem->shape.k || micro->k != Q4K_BLOCK_VALUES)
		return "macro.k and midi.k must be the problem's K, micro.k 256: splitk, ksplit and vec cut k";
	if (micro->n > Q4K_GPU_ROWS_MAX || (micro->n & (micro->n - 1)))
		return "micro.n must be 1, 2, 4 or 8";
	if (micro->n > n)
		return "micro.n is more than the rows that there are";
	if (macro->n != power_of_two_above(n))
		return "macro.n must be the problem's N, rounded up to a power of two: the grid has all rows";
	return NULL;
}

RULE(rule_idle)
{
	static const enum tcb_knob set[] = { TCB_KNOB_LAYOUT, TCB_KNOB_UNROLL, TCB_KNOB_WARPS,  TCB_KNOB_VEC,
					     TCB_KNOB_STAGES, TCB_KNOB_SPLITK, TCB_KNOB_KSPLIT, TCB_KNOB_COPY,
					     TCB_KNOB_XIN,    TCB_KNOB_GROUP,  TCB_KNOB_PREP,   TCB_KNOB_LEAD,
					     TCB_KNOB_BLOCKS, TCB_KNOB_PDL,    TCB_KNOB_OCC };
	static const enum tcb_knob unset[] = { TCB_KNOB_THREADS, TCB_KNOB_SCHED,  TCB_KNOB_PREFETCH, TCB_KNOB_HINT,
					       TCB_KNOB_SWIZZLE, TCB_KNOB_STREAM, TCB_KNOB_JOIN };
	UNUSED(problem);
	UNUSED(target);
	for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++)
		if (geometry->knob[set[i]] == TCB_KNOB_UNSET)
			return "a GPU's geometry sets isa, layout, unroll, warps, vec, stages, splitk, ksplit, copy, "
			       "xin, "
			       "group, prep, lead, blocks, pdl and occ";
	for (size_t i = 0; i < sizeof(unset) / sizeof(unset[0]); i++)
		if (geometry->knob[unset[i]] != TCB_KNOB_UNSET)
			return "threads, sched, prefetch, hint, swizzle, stream and join have no effect on this op's "
			       "GPU "
			       "kernels and must not be set";
	return NULL;
}

RULE(rule_warps)
{
	const unsigned warps = knob(geometry, TCB_KNOB_WARPS), ksplit = knob(geometry, TCB_KNOB_KSPLIT);
	UNUSED(problem);
	UNUSED(target);
	if (warps < 1 || warps > WARPS_MAX)
		return "warps must be 1 to 32";
	if (ksplit < 1 || warps % ksplit)
		return "ksplit must divide warps";
	if (geometry->tile[TCB_MIDI].n != warps / ksplit * geometry->tile[TCB_MICRO].n)
		return "midi.n must be micro.n times warps / ksplit";
	return NULL;
}

RULE(rule_vec)
{
	const unsigned vec = knob(geometry, TCB_KNOB_VEC);
	UNUSED(problem);
	UNUSED(target);
	return vec == 4 || vec == 8 || vec == 16 ? NULL : "vec must be 4, 8 or 16";
}

RULE(rule_k)
{
	const unsigned splitk = knob(geometry, TCB_KNOB_SPLITK), ksplit = knob(geometry, TCB_KNOB_KSPLIT);
	const unsigned blocks = blocks_of(problem);
	UNUSED(target);
	if (splitk < 1 || blocks % splitk)
		return "splitk must divide the superblocks of a row";
	if (ksplit < 1 || blocks / splitk % ksplit)
		return "ksplit must divide the superblocks of a slice";
	return NULL;
}

RULE(rule_steps)
{
	const unsigned splitk = knob(geometry, TCB_KNOB_SPLITK), ksplit = knob(geometry, TCB_KNOB_KSPLIT);
	const unsigned unroll = knob(geometry, TCB_KNOB_UNROLL), step = knob(geometry, TCB_KNOB_VEC) / 4;
	const unsigned share = blocks_of(problem) / splitk / ksplit, steps = div_up(share, step);
	const unsigned most = steps < Q4K_GPU_STEPS_MAX ? steps : Q4K_GPU_STEPS_MAX;
	UNUSED(target);
	if (step > 1 && share <= step / 2)
		return "a warp's share of k leaves half of its lanes idle: a smaller vec";
	if (unroll < 1 || unroll > most)
		return "unroll must be at most the steps that a warp takes along k, and at most 16";
	if (unroll < steps && (steps % unroll || share % step))
		return "unroll must divide the steps that a warp takes along k, or be all of them";
	return NULL;
}

RULE(rule_copy)
{
	const unsigned copy = knob(geometry, TCB_KNOB_COPY), stages = knob(geometry, TCB_KNOB_STAGES);
	const unsigned lead = knob(geometry, TCB_KNOB_LEAD);
	UNUSED(problem);
	if (copy == TCB_COPY_LDG && stages != 1)
		return "stages must be 1 with copy=ldg: weights go to registers";
	if (copy != TCB_COPY_LDG && (stages < 2 || stages > Q4K_GPU_STAGES_MAX))
		return "stages must be 2 to 8 with copy=async and copy=bulk";
	if (lead > stages)
		return "lead must be at most stages";
	if (copy == TCB_COPY_ASYNC && target->capability < 80)
		return "copy=async needs sm_80";
	if (copy == TCB_COPY_BULK && target->capability < 90)
		return "copy=bulk needs sm_90";
	return NULL;
}

RULE(rule_resident)
{
	const unsigned copy = knob(geometry, TCB_KNOB_COPY), resident = knob(geometry, TCB_KNOB_BLOCKS);
	UNUSED(problem);
	UNUSED(target);
	if (resident > 16)
		return "blocks must be at most 16";
	if (copy != TCB_COPY_LDG && !resident)
		return "blocks must be 1 or more with copy=async and copy=bulk";
	if (resident && knob(geometry, TCB_KNOB_SPLITK) != 1)
		return "splitk must be 1 with blocks above 0";
	return NULL;
}

/* Warps that an SM holds (technical specifications per compute capability, CUDA C++ Programming Guide 13.0). */
static unsigned warps_together(unsigned capability)
{
	return capability < 80 ? 32 : capability == 86 || capability == 89 || capability >= 120 ? 48 : 64;
}

RULE(rule_occ)
{
	const unsigned occ = knob(geometry, TCB_KNOB_OCC), resident = knob(geometry, TCB_KNOB_BLOCKS);
	UNUSED(problem);
	if (occ < 1 || occ * knob(geometry, TCB_KNOB_WARPS) > warps_together(target->capability))
		return "occ blocks have more warps than an SM holds";
	return resident && occ != resident ? "occ must be as many as blocks, if these stay" : NULL;
}

RULE(rule_xin)
{
	const unsigned splitk = knob(geometry, TCB_KNOB_SPLITK), ksplit = knob(geometry, TCB_KNOB_KSPLIT);
	const unsigned resident = knob(geometry, TCB_KNOB_BLOCKS), step = knob(geometry, TCB_KNOB_VEC) / 4;
	const unsigned steps = div_up(blocks_of(problem) / splitk / ksplit, step);
	const int in_regs = geometry->knob[TCB_KNOB_XIN] == TCB_XIN_REGS;
	UNUSED(target);
	if (!resident && in_regs)
		return "xin must be shared with blocks=0: each activation is used once";
	if (knob(geometry, TCB_KNOB_COPY) != TCB_COPY_LDG && !in_regs)
		return "xin must be regs with copy=async and copy=bulk";
	if (resident && knob(geometry, TCB_KNOB_UNROLL) != steps)
		return "unroll must be all steps along k with blocks above 0";
	return NULL;
}

RULE(rule_activations)
{
	const unsigned group = knob(geometry, TCB_KNOB_GROUP);
	UNUSED(target);
	if (group != 256 && (problem->contract != TCB_CONTRACT_Q8 || group != 32))
		return "group must be 32 or 256 under contract q8, else 256";
	if (geometry->knob[TCB_KNOB_PREP] == TCB_PREP_LAUNCH && knob(geometry, TCB_KNOB_SPLITK) != 1)
		return "splitk must be 1 with prep=launch";
	return NULL;
}

RULE(rule_pdl)
{
	const unsigned pdl = knob(geometry, TCB_KNOB_PDL);
	UNUSED(problem);
	if (pdl > 1)
		return "pdl must be 0 or 1";
	return pdl && target->capability < 90 ? "pdl=1 needs sm_90" : NULL;
}

/* A resident block that gets no second round does what a block a tile does; slots beyond a warp's rounds stay empty. */
RULE(policy_rounds)
{
	const unsigned resident = knob(geometry, TCB_KNOB_BLOCKS), stages = knob(geometry, TCB_KNOB_STAGES);
	const size_t sms = target->sm_count ? target->sm_count : 1;
	const size_t at_once = resident * sms * (knob(geometry, TCB_KNOB_WARPS) / knob(geometry, TCB_KNOB_KSPLIT)) *
			       geometry->tile[TCB_MICRO].n;
	if (!resident)
		return NULL;
	if (problem->shape.n <= at_once)
		return "so many blocks stay that each has one round of rows: blocks=0 does the same";
	if (problem->shape.n <= at_once * (stages - 1))
		return "more stages than rounds of rows that a block has";
	return NULL;
}

/*
 * The default space is what is at most one step away from what was found good on an H200 (2,500 of the 112,200 other
 * geometries of each of four shapes were measured): one knob may have an unusual value.
 */
RULE(policy_usual)
{
	const int32_t *of = geometry->knob;
	const unsigned warps = knob(geometry, TCB_KNOB_WARPS), vec = knob(geometry, TCB_KNOB_VEC);
	const unsigned share = blocks_of(problem) / knob(geometry, TCB_KNOB_SPLITK) / knob(geometry, TCB_KNOB_KSPLIT);
	const unsigned resident = knob(geometry, TCB_KNOB_BLOCKS);
	unsigned unusual = 0;
	unusual += vec != 16 && share >= 3; /* narrower ones where 16 bytes would leave lanes idle */
	unusual += of[TCB_KNOB_SPLITK] != 1;
	unusual += of[TCB_KNOB_PREP] != TCB_PREP_BLOCK;
	unusual += problem->contract == TCB_CONTRACT_Q8 && of[TCB_KNOB_GROUP] != 32;
	unusual += of[TCB_KNOB_STAGES] > 4;
	unusual += of[TCB_KNOB_KSPLIT] > 8;
	unusual += geometry->tile[TCB_MICRO].n > 2;
	unusual += warps < 8 || warps > 16;
	unusual += resident > 2;
	unusual += of[TCB_KNOB_PDL] == 0 && target->capability >= 90;
	if (of[TCB_KNOB_COPY] == TCB_COPY_LDG) {
		unusual += (unsigned)of[TCB_KNOB_UNROLL] != div_up(share, vec / 4);
		unusual += of[TCB_KNOB_LEAD] == 0;
		unusual += resident && of[TCB_KNOB_XIN] != TCB_XIN_REGS;
		unusual += !resident && of[TCB_KNOB_OCC] * (int32_t)warps != 32;
	} else {
		unusual += of[TCB_KNOB_LEAD] == 0;
	}
	if (unusual <= 1)
		return NULL;
	struct tcb_geometry standard; /* always an element */
	q4k_gpu_default_geometry(problem, target, &standard);
	return tcb_geometry_equal(&standard, geometry) ? NULL : "more than one knob has an unusual value";
}

#define READS_STEPS (TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(UNROLL))

const struct tcb_rule q4k_gpu_rules[] = {
	{ 0, 0, rule_idle },
	{ TCB_FIELD_KNOB(ISA), 0, rule_isa },
	{ TCB_FIELD_KNOB(LAYOUT), 0, rule_layout },
	{ TCB_FIELD_TILES, 0, rule_tiles },
	{ TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_MICRO_N | TCB_FIELD_MIDI_N, 0, rule_warps },
	{ TCB_FIELD_KNOB(VEC), 0, rule_vec },
	{ TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(KSPLIT), 0, rule_k },
	{ READS_STEPS, 0, rule_steps },
	{ TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(LEAD), 0, rule_copy },
	{ TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(SPLITK), 0, rule_resident },
	{ TCB_FIELD_KNOB(OCC) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(WARPS), 0, rule_occ },
	{ READS_STEPS | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(XIN) | TCB_FIELD_KNOB(COPY), 0, rule_xin },
	{ TCB_FIELD_KNOB(GROUP) | TCB_FIELD_KNOB(PREP) | TCB_FIELD_KNOB(SPLITK), 0, rule_activations },
	{ TCB_FIELD_KNOB(PDL), 0, rule_pdl },
	{ TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(KSPLIT) |
		  TCB_FIELD_MICRO_N,
	  1, policy_rounds },
	{ 0, 1, policy_usual },
	{ 0, 0, NULL },
};
