/* SPDX-License-Identifier: MIT
 *
 * A geometry of a dense product for a GPU in numbers: what lies where in shared
 * memory, what the constraints judge; and the rules (V4) that a geometry keeps
 * so that a kernel can be written for it and no two legal ones are the same
 * computation.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/constraint.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/matmul/matmul_gpu.h"
#include "kernels/matmul/matmul_gpu_copy.h"

enum {
	GROUP_THREADS = 128,
	BOX = 64,
	OUT_BYTES = BOX * BOX * 2,
	STAGES_MAX = 12,
	SLOT_ALIGN = 512,
	BARRIER_BYTES = 16, /* of a stage: full and empty */
	ROW_PAD = 16,       /* fma, A with k running slowest: rows begin four banks apart */
};

/* At least 1, for divisors: the rules say what is wrong with other values. */
static unsigned count(const struct tcb_geometry *geometry, enum tcb_knob which)
{
	return tcb_gpu_knob(geometry, which) ? tcb_gpu_knob(geometry, which) : 1;
}

/* --- numbers --- */

/* The widest of 16, 8, 4 and 2 bytes that rows of LENGTH values can be taken in. */
static unsigned widest(unsigned element, unsigned length)
{
	unsigned bytes = 16;
	while (bytes > element && (size_t)length * element % bytes)
		bytes /= 2;
	return bytes;
}

static void plan_memory(struct matmul_gpu *g)
{
	if (g->isa == TCB_ISA_WGMMA) {
		g->pitch_a = g->pitch_b = BOX * 2;
		g->a_bytes = g->bm * g->bk * 2;
		g->stage_bytes = g->a_bytes + g->bn * g->bk * 2;
		g->out_at = g->stages * g->stage_bytes;
		g->barrier_at = g->out_at + 2 * OUT_BYTES * g->workers;
		g->shared_bytes = g->barrier_at + BARRIER_BYTES * g->stages;
		return;
	}
	g->a_is_transposed = g->isa == TCB_ISA_FMA && g->vec_a == 4;
	g->pitch_a = g->a_is_transposed ? g->bm * 4 + ROW_PAD : g->bk * g->element;
	g->pitch_b = g->bn * g->element;
	/* Rows of up to 512 bytes are swizzled: exclusive or is an addition where they begin at multiples of that. */
	g->a_bytes = tcb_round_up((g->a_is_transposed ? g->bk : g->bm) * g->pitch_a, SLOT_ALIGN);
	g->stage_bytes = g->a_bytes + tcb_round_up(g->bk * g->pitch_b, SLOT_ALIGN);
	g->flag_at = g->stages * g->stage_bytes;
	g->shared_bytes = g->flag_at + (g->splitk > 1 ? 16 : 0);
}

/* sched=streamk over BLOCKS clusters: those of the last round and, so that a range is a tile or more, of the round
 * before; a part and a flag for each block and each of its warpgroups that share a tile. */
static void plan_dealt(struct matmul_gpu *g, unsigned blocks)
{
	const size_t tiles = (size_t)g->tiles_m * g->tiles_n, steps = tiles * g->steps;
	const unsigned groups = g->warps_m * g->warps_n;
	g->grid = blocks ? (unsigned)tcb_least(blocks, steps) : 1;
	g->dealt_tiles = (unsigned)(tiles <= g->grid ? tiles : g->grid + tiles % g->grid);
	g->share = (unsigned)((size_t)g->dealt_tiles * g->steps / g->grid);
	g->spare = (unsigned)((size_t)g->dealt_tiles * g->steps % g->grid);
	g->parts = tcb_div_up(g->steps, g->share) + 1;
	g->counters_at = (size_t)g->grid * g->cluster * groups * g->wm * g->wn * 4;
	g->workspace_bytes = g->counters_at + (size_t)g->grid * g->cluster * groups * 4;
}

static void plan_grid(const struct tcb_target *target, struct matmul_gpu *g)
{
	const unsigned sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	g->tiles_m = tcb_div_up(g->m, g->bm * g->cluster);
	g->tiles_n = tcb_div_up(g->n, g->bn);
	g->steps = tcb_div_up(g->k, g->bk);
	g->slice_steps = tcb_div_up(g->steps, g->splitk);
	g->grid = g->tiles_m * g->tiles_n;
	if (g->resident && g->resident * sms / g->cluster < g->grid)
		g->grid = g->resident * sms / g->cluster;
	if (!g->grid)
		g->grid = 1;
	g->counters_at = g->workspace_bytes = 0;
	g->parts = g->splitk;
	if (g->is_dealt)
		plan_dealt(g, g->resident * sms / g->cluster);
	g->grid *= g->cluster;
	if (g->splitk > 1) {
		g->counters_at = ((size_t)g->splitk * g->m * g->n * 4 + 255) / 256 * 256;
		g->workspace_bytes = g->counters_at + (size_t)g->tiles_m * g->tiles_n * 4;
	}
}

void matmul_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		     const struct tcb_geometry *geometry, struct matmul_gpu *out)
{
	struct matmul_gpu *g = out;
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	memset(g, 0, sizeof(*g));
	g->type = problem->op->type;
	g->element = (unsigned)tcb_type_bytes(g->type);
	g->isa = (enum tcb_isa)KNOB(ISA);
	g->capability = target->cuda.capability;
	g->m = (unsigned)problem->shape.m;
	g->n = (unsigned)problem->shape.n;
	g->k = (unsigned)problem->shape.k;
	g->bm = (unsigned)midi->m;
	g->bn = (unsigned)midi->n;
	g->bk = (unsigned)midi->k;
	g->wm = (unsigned)micro->m;
	g->wn = (unsigned)micro->n;
	g->wk = g->isa == TCB_ISA_FMA ? 1 : g->capability < 80 ? 8 : 16;
	g->workers = g->bm / g->wm * (g->bn / g->wn);
	g->turns = KNOB(TURNS) == 1;
	if (g->turns) {
		g->bm = g->wm;
		g->bn = g->wn;
	}
	g->is_dealt = geometry->knob[TCB_KNOB_SCHED] == TCB_SCHED_STREAMK;
	g->warps_m = g->bm / g->wm;
	g->warps_n = g->bn / g->wn;
	g->threads = g->isa == TCB_ISA_WGMMA ? g->workers * GROUP_THREADS + WARP : g->workers * WARP;
	g->stages = count(geometry, TCB_KNOB_STAGES);
	g->splitk = count(geometry, TCB_KNOB_SPLITK);
	g->resident = KNOB(BLOCKS);
	g->cluster = count(geometry, TCB_KNOB_CLUSTER);
	g->occ = count(geometry, TCB_KNOB_OCC);
	g->copy = (enum tcb_copy)KNOB(COPY);
	g->pdl = KNOB(PDL) == 1;
	g->vec_a = count(geometry, TCB_KNOB_VEC);
	g->vec_b = widest(g->element, g->n);
	g->vec_c = g->vec_b;
	if (g->isa == TCB_ISA_MMA && g->vec_b > g->vec_a)
		g->vec_b = g->vec_a;
	g->group = (unsigned)tcb_least(tcb_div_up(macro->m, (size_t)g->bm * g->cluster), INT32_MAX);
	plan_memory(g);
	plan_grid(target, g);
}

int matmul_gpu_is_few(const struct tcb_problem *problem)
{
	return problem->op->type != TCB_TYPE_F32 && problem->shape.m <= 32;
}

static const char *misfit(const struct matmul_gpu *g)
{
	if (g->copy == TCB_COPY_BULK && (g->k % 8 || g->n % 8))
		return "copy=bulk needs K and N that are multiples of 8";
	if ((size_t)g->k * g->element % g->vec_a)
		return "vec is more than rows of A are aligned to";
	if (((size_t)g->k | g->n) * g->element > UINT32_MAX / 256)
		return "K or N is more than the offsets within a tile can count";
	if (g->copy == TCB_COPY_ASYNC && g->vec_b < 4)
		return "copy=async needs rows of B that are multiples of 4 bytes";
	return NULL;
}

/*
 * fma: a product and an addition a step are one rounding, the slices are added up.  Tensor cores cut sums towards zero,
 * and the products that they add at a time before: up to two units a step of 8 or 16, and one for each of these.
 */
double matmul_gpu_chain(const struct matmul_gpu *g)
{
	return (g->isa == TCB_ISA_FMA ? (double)g->k : 4.0 * (double)g->k) + g->parts + 1;
}

/* --- footprint --- */

/* Registers for a piece of VEC bytes that a thread copies per step: its addresses, and with copy=ldg itself, waiting.
 */
static unsigned piece_registers(const struct matmul_gpu *g, unsigned vec)
{
	return g->copy == TCB_COPY_LDG ? 2 * tcb_div_up(vec, 4) + 1 : 3;
}

/*
 * What ptxas 13.0 needed at most (tests/kernels/check_gpu_space.c), beside sums and operands: isa=mma some for each
 * piece that a thread copies; isa=fma with copy=ldg too, else once they are many, when there are many rows of A, and
 * for rows of B that are copied word by word; and some more on the oldest and the newest GPUs.
 */
unsigned matmul_gpu_registers(const struct matmul_gpu *g)
{
	if (g->isa == TCB_ISA_WGMMA)
		return g->wm * g->wn / GROUP_THREADS + 40;
	const unsigned sums = g->wm * g->wn / WARP, is_other = g->capability < 80 || g->capability >= 100;
	const unsigned lanes_m = g->wm >= g->wn ? 8 : 4, rows = g->wm / lanes_m, columns = g->wn / (WARP / lanes_m);
	const unsigned row_bytes = g->bk * g->element, is_ldg = g->copy == TCB_COPY_LDG;
	const unsigned a = g->bm * row_bytes / g->vec_a, b = g->bn * row_bytes / g->vec_b;
	const unsigned pieces = (a + b) / g->threads;
	const unsigned of_pieces = (a * piece_registers(g, g->vec_a) + b * piece_registers(g, g->vec_b)) / g->threads;
	if (g->isa == TCB_ISA_FMA)
		return sums + 2 * (columns + rows * (g->a_is_transposed ? 1 : 4)) + 24 +
		       (is_ldg        ? of_pieces
			: pieces > 20 ? 3 * (pieces - 20)
				      : 0) +
		       12 * ((g->bm > g->threads || g->bm >= 256) + (g->vec_b < 16) + is_other);
	return sums + g->wm / 16 * 4 + g->wn / 8 * 2 + (is_ldg ? 32 : 52 + 8 * is_other) + of_pieces;
}

void matmul_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct matmul_gpu g;
	memset(out, 0, sizeof(*out));
	matmul_gpu_plan(problem, target, geometry, &g);
	out->element_bytes = g.element;
	out->vector_bytes = g.vec_a;
	out->base_bytes = 256;
	out->leading_bytes = (size_t)g.k * g.element;
	out->tile_offset_bytes = (size_t)g.bk * g.element;
	out->shared_bytes = g.shared_bytes;
	out->shared_dynamic = 1;
	out->block_threads = g.threads;
	out->thread_registers = matmul_gpu_registers(&g);
	out->blocks_together = g.occ;
	out->accumulators = g.wm * g.wn / (g.isa == TCB_ISA_WGMMA ? GROUP_THREADS : WARP);
	out->grid[0] = g.resident ? g.grid : (size_t)g.tiles_m * g.tiles_n * g.cluster;
	out->grid[1] = g.splitk;
	out->grid[2] = 1;
	out->barriers = g.isa == TCB_ISA_WGMMA ? 1 + g.workers * (1 + (unsigned)g.turns) : 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		const struct tcb_tile *t = &geometry->tile[level];
		out->level_bytes[level] = g.element * (t->m * t->k + t->k * t->n + t->m * t->n);
	}
}

/* --- rules --- */

#define FIELD(level, dim) (UINT64_C(1) << (3 * (level) + (dim)))

RULE(rule_set)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(VEC) | KNOB_BIT(STAGES) | KNOB_BIT(SPLITK) | KNOB_BIT(COPY) |
			     KNOB_BIT(BLOCKS) | KNOB_BIT(PDL) | KNOB_BIT(OCC) | KNOB_BIT(CLUSTER);
	return tcb_gpu_sets_knobs(geometry, set, KNOB_BIT(SCHED) | KNOB_BIT(TURNS)) /* rule_dealing */
		       ? NULL
		       : "a GPU's geometry sets isa, vec, stages, splitk, copy, blocks, pdl, occ and cluster, may set "
			 "sched and turns, and sets no other knob";
}

RULE(rule_isa)
{
	const int32_t isa = geometry->knob[TCB_KNOB_ISA];
	const int is_f32 = problem->op->type == TCB_TYPE_F32;
	if (is_f32 ? isa != TCB_ISA_FMA : isa != TCB_ISA_MMA && isa != TCB_ISA_WGMMA)
		return is_f32 ? "isa must be fma" : "isa must be mma or wgmma";
	if (problem->op->type == TCB_TYPE_BF16 && target->cuda.capability < 80)
		return "bf16 needs sm_80";
	if (isa == TCB_ISA_WGMMA && target->cuda.capability != 90)
		return "isa=wgmma is sm_90's alone";
	return tcb_gpu_rule_isa(problem, target, geometry);
}

RULE(rule_macro)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const size_t n = tcb_power_of_two_up(problem->shape.n), k = tcb_power_of_two_up(problem->shape.k);
	if (macro->n != (n > midi->n ? n : midi->n) || macro->k != (k > midi->k ? k : midi->k))
		return "macro.n and macro.k must be the problem's N and K, rounded up to powers of two";
	return NULL;
}

/* Warp tiles that fma has: as many lanes along the longer side as make fragments of whole vectors. */
RULE(rule_micro)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const int32_t isa = geometry->knob[TCB_KNOB_ISA];
	if (!tcb_is_power_of_two(micro->m) || !tcb_is_power_of_two(micro->n))
		return "micro.m and micro.n must be powers of two";
	if (micro->k != geometry->tile[TCB_MIDI].k)
		return "micro.k must be midi.k: the loop over a step is unrolled";
	if (isa == TCB_ISA_WGMMA)
		return (micro->m == 64 || micro->m == 128) && micro->n >= 64 && micro->n <= 256 &&
				       micro->m * micro->n <= 64 * 256
			       ? NULL
			       : "micro must be 64x64 to 64x256 or 128x64 to 128x128 with isa=wgmma";
	if (isa == TCB_ISA_MMA)
		return micro->m >= 16 && micro->m <= 128 && micro->n >= 16 && micro->n <= 128 &&
				       micro->m * micro->n <= 64 * 128
			       ? NULL
			       : "micro must be 16x16 to 128x64 or 64x128 with isa=mma";
	return micro->m >= 16 && micro->m <= 128 && micro->n >= 16 && micro->n <= 128 && micro->m * micro->n >= 512 &&
			       micro->m * micro->n <= 4096
		       ? NULL
		       : "micro must be 16 to 128 x 16 to 128 with isa=fma, 512 to 4096 values";
}

RULE(rule_midi)
{
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI], *micro = &geometry->tile[TCB_MICRO];
	const size_t workers = midi->m / micro->m * (midi->n / micro->n);
	const int32_t isa = geometry->knob[TCB_KNOB_ISA];
	if (!tcb_is_power_of_two(midi->m) || !tcb_is_power_of_two(midi->n) || !tcb_is_power_of_two(midi->k))
		return "midi must be powers of two";
	if (midi->m > 256 || midi->n > 256)
		return "midi.m and midi.n must be at most 256";
	if (isa == TCB_ISA_WGMMA)
		return workers > 3                       ? "at most three warpgroups multiply"
		       : midi->k == 64 || midi->k == 128 ? NULL
							 : "midi.k must be 64 or 128 with isa=wgmma";
	if (workers > 16)
		return "a block has at most 16 warps";
	if (isa == TCB_ISA_MMA)
		return midi->k == 32 || midi->k == 64 ? NULL : "midi.k must be 32 or 64 with isa=mma";
	return midi->k == 8 || midi->k == 16 || midi->k == 32 ? NULL : "midi.k must be 8, 16 or 32 with isa=fma";
}

RULE(rule_copy)
{
	const int32_t copy = geometry->knob[TCB_KNOB_COPY], isa = geometry->knob[TCB_KNOB_ISA];
	const unsigned stages = KNOB(STAGES);
	if ((isa == TCB_ISA_WGMMA) != (copy == TCB_COPY_BULK))
		return "copy must be bulk with isa=wgmma, else ldg or async";
	if (copy == TCB_COPY_ASYNC && target->cuda.capability < 80)
		return "copy=async needs sm_80";
	if (copy == TCB_COPY_LDG && stages != 2)
		return "stages must be 2 with copy=ldg";
	return stages < 2 || stages > STAGES_MAX ? "stages must be 2 to 12" : NULL;
}

RULE(rule_vec)
{
	const unsigned vec = count(geometry, TCB_KNOB_VEC);
	const int32_t isa = geometry->knob[TCB_KNOB_ISA], copy = geometry->knob[TCB_KNOB_COPY];
	struct matmul_gpu g;
	if (isa == TCB_ISA_WGMMA && vec != 16)
		return "vec must be 16 with isa=wgmma";
	if (isa == TCB_ISA_FMA && vec != 4 && vec != 16)
		return "vec must be 4 or 16 with isa=fma";
	if (isa == TCB_ISA_MMA && vec != 16 && vec != 8 && vec != 4 && (vec != 2 || copy != TCB_COPY_LDG))
		return "vec must be 16, 8, 4, or 2 with copy=ldg, with isa=mma";
	matmul_gpu_plan(problem, target, geometry, &g);
	if (isa == TCB_ISA_MMA && g.bk * g.element / vec > g.threads)
		return "a row of A is copied by more threads than a block has: a larger vec or more warps";
	if (isa != TCB_ISA_WGMMA && mm_copy_pieces(&g) > MM_PASSES_MAX)
		return "a thread would copy more than 64 pieces: a larger vec or more warps";
	return misfit(&g);
}

RULE(rule_blocks)
{
	const unsigned cluster = KNOB(CLUSTER), blocks = KNOB(BLOCKS);
	const unsigned occ = KNOB(OCC), splitk = KNOB(SPLITK);
	const int is_wgmma = geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA;
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	if (!is_wgmma && (cluster != 1 || blocks))
		return "cluster must be 1 and blocks 0 but with isa=wgmma";
	if (!tcb_is_power_of_two(cluster) || cluster > CLUSTER_MAX || (is_wgmma && midi->n / BOX % cluster))
		return "cluster must be 1, 2, 4 or 8 and divide midi.n / 64";
	if (cluster > 1 && macro->m < cluster * midi->m)
		return "macro.m must be at least cluster times midi.m";
	if (blocks > 4 || (blocks && blocks != occ))
		return "occ must be as many as blocks, if these stay, and at most 4";
	if (occ < 1 || occ > 8)
		return "occ must be 1 to 8";
	if (splitk < 1 || splitk > 64 || (is_wgmma && splitk != 1))
		return "splitk must be 1 to 64, and 1 with isa=wgmma";
	if (KNOB(PDL) > 1)
		return "pdl must be 0 or 1";
	return KNOB(PDL) && target->cuda.capability < 90 ? "pdl=1 needs sm_90" : NULL;
}

RULE(rule_dealing)
{
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI], *micro = &geometry->tile[TCB_MICRO];
	const int32_t sched = geometry->knob[TCB_KNOB_SCHED], turns = geometry->knob[TCB_KNOB_TURNS];
	const size_t workers = midi->m / micro->m * (midi->n / micro->n);
	struct matmul_gpu g;
	if (sched != TCB_KNOB_UNSET && sched != TCB_SCHED_STREAMK)
		return "sched must be streamk, or left out";
	if (turns != TCB_KNOB_UNSET && turns != 1)
		return "turns must be 1, or left out";
	if ((sched != TCB_KNOB_UNSET || turns == 1) && !KNOB(BLOCKS))
		return "sched=streamk and turns=1 need blocks that stay";
	if (turns == 1 && workers < 2)
		return "turns=1 needs two or three warpgroups that multiply";
	if (turns == 1 && micro->n / BOX % count(geometry, TCB_KNOB_CLUSTER))
		return "with turns=1 cluster must divide micro.n / 64";
	if (sched == TCB_KNOB_UNSET)
		return NULL;
	matmul_gpu_plan(problem, target, geometry, &g);
	return ((size_t)g.tiles_m * g.tiles_n + g.grid) * g.steps > INT32_MAX
		       ? "sched=streamk counts steps to 2^31 only"
		       : NULL;
}

/* A slice without a step adds zeros. */
RULE(rule_slices)
{
	struct matmul_gpu g;
	matmul_gpu_plan(problem, target, geometry, &g);
	return g.splitk > 1 && (g.splitk - 1) * g.slice_steps >= g.steps
		       ? "splitk is more than there are steps of midi.k for"
		       : NULL;
}

/* A resident block that gets no second tile does what a block per tile does. */
RULE(rule_rounds)
{
	struct matmul_gpu g;
	matmul_gpu_plan(problem, target, geometry, &g);
	if (g.is_dealt)
		return (size_t)g.tiles_m * g.tiles_n % (g.grid / g.cluster) == 0
			       ? "the tiles are whole rounds: without sched=streamk it is the same"
			       : NULL;
	return g.resident && g.tiles_m * g.tiles_n * g.cluster <= g.grid
		       ? "so many blocks stay that each has one tile: blocks=0 does the same"
		       : NULL;
}

/* --- policies: what the default space leaves out --- */

/* Rows of C that are gone down together: a tile's, or some of those that fit the L2 well. */
RULE(policy_macro)
{
	const size_t rows = geometry->tile[TCB_MACRO].m, all = tcb_power_of_two_up(problem->shape.m);
	const size_t least = geometry->tile[TCB_MIDI].m * count(geometry, TCB_KNOB_CLUSTER);
	if (rows == least || rows == 512 || rows == 1024 || rows == 2048)
		return NULL;
	return rows == all && all < 512 ? NULL : "macro.m is neither one tile nor 512, 1024 or 2048";
}

/* Blocks that there are for each that the SMs hold: under 1 some are idle. */
static double waves(const struct tcb_target *target, const struct matmul_gpu *g)
{
	const unsigned sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	return (double)g->tiles_m * g->tiles_n * g->cluster * g->splitk / ((double)sms * g->occ);
}

/* Tiles so large that most SMs are idle though smaller ones would do, or so small that data is read too often. */
static unsigned unusual_size(const struct tcb_target *target, const struct matmul_gpu *g)
{
	const double w = waves(target, g);
	const unsigned sums = g->bm * g->bn;
	return (w < 0.35 && sums > 64 * 64) + (w > 16 && sums < 128 * 128) + (g->splitk > 1 && w > 4);
}

/* sched=streamk: a last round that is nearly full, or one among many. */
static int gains_little(const struct matmul_gpu *g)
{
	const unsigned tiles = g->tiles_m * g->tiles_n, blocks = g->grid / g->cluster;
	return tiles > 8 * blocks || 10 * (tiles % blocks) > 9 * blocks;
}

static unsigned unusual_wgmma(const struct tcb_target *target, const struct matmul_gpu *g)
{
	const size_t limit = tcb_shared_limit(target) / g->occ;
	unsigned unusual = unusual_size(target, g);
	unusual += g->bk != BOX;
	unusual += g->stages < 3;
	unusual += g->stages < 6 && g->shared_bytes + 2 * g->stage_bytes <= limit;
	unusual += g->cluster > 1;
	unusual += g->cluster > 2;
	unusual += g->occ > 1;
	unusual += g->bm * g->bn > 64 * 256 && g->workers == 1;
	unusual += g->turns && (g->workers > 2 || g->wm * g->wn < 64 * 128);
	unusual += g->is_dealt && gains_little(g);
	return unusual;
}

/* As few_default() says, in matmul_gpu_space.c. */
static unsigned unusual_few(const struct tcb_target *target, const struct matmul_gpu *g)
{
	unsigned unusual = unusual_size(target, g);
	unusual += g->threads > 256;
	unusual += g->bm >= 2 * g->m && g->bm > 16;
	unusual += g->wm > 32 || g->wn > 32;
	unusual += g->bk != 64;
	unusual += g->copy == TCB_COPY_ASYNC && g->stages < 4;
	unusual += g->occ > 2;
	unusual += !g->pdl && g->capability >= 90;
	return unusual;
}

static unsigned unusual_mma(const struct tcb_target *target, const struct matmul_gpu *g)
{
	unsigned unusual = unusual_size(target, g);
	if (target->cuda.capability == 90 && g->k % 8 == 0 && g->n % 8 == 0)
		unusual += 2; /* wgmma is twice as fast */
	unusual += g->threads < 128 || g->threads > 256;
	unusual += g->wm * g->wn < 32 * 32;
	unusual += g->wm > 64 || g->wn > 64;
	unusual += g->copy == TCB_COPY_ASYNC && (g->stages < 3 || g->stages > 4);
	unusual += g->threads * g->occ < 256 || g->threads * g->occ > 512;
	unusual += g->pdl;
	return unusual;
}

static unsigned unusual_fma(const struct tcb_target *target, const struct matmul_gpu *g)
{
	unsigned unusual = unusual_size(target, g);
	unusual += g->threads < 128 || g->threads > 256;
	unusual += g->wm * g->wn < 32 * 64;
	unusual += g->wm > 64 || g->wn > 64;
	unusual += g->vec_a == 16;
	unusual += g->bk > 16;
	unusual += g->copy == TCB_COPY_ASYNC && g->stages != 3 && g->bk * g->stages != 32;
	unusual += g->threads * g->occ < 256 || g->threads * g->occ > 384 + 128 * (g->wm * g->wn < 4096);
	unusual += g->pdl && g->splitk == 1;
	unusual += g->splitk > 2;
	return unusual;
}

/* The default space is what is at most one step away from what was found good on an H200. */
RULE(policy_usual)
{
	struct matmul_gpu g;
	unsigned unusual;
	matmul_gpu_plan(problem, target, geometry, &g);
	unusual = g.isa == TCB_ISA_WGMMA       ? unusual_wgmma(target, &g)
		  : g.isa == TCB_ISA_FMA       ? unusual_fma(target, &g)
		  : matmul_gpu_is_few(problem) ? unusual_few(target, &g)
					       : unusual_mma(target, &g);
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

#define TILES(level) (FIELD(level, 0) | FIELD(level, 1) | FIELD(level, 2))

const struct tcb_rule matmul_gpu_rules[] = {
	{ 0, 0, rule_set },
	{ TCB_FIELD_KNOB(ISA), 0, tcb_gpu_rule_shape },
	{ TCB_FIELD_KNOB(ISA), 0, rule_isa },
	{ TILES(TCB_MICRO) | FIELD(TCB_MIDI, 2) | TCB_FIELD_KNOB(ISA), 0, rule_micro },
	{ TILES(TCB_MIDI) | TILES(TCB_MICRO) | TCB_FIELD_KNOB(ISA), 0, rule_midi },
	{ TILES(TCB_MACRO) | TILES(TCB_MIDI), TCB_RULE_DOUBLE, rule_macro },
	{ TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(ISA), 0, rule_copy },
	{ 0, 0, rule_blocks },
	{ 0, 0, rule_dealing },
	{ 0, 0, rule_vec },
	{ 0, TCB_RULE_DOUBLE, rule_slices },
	{ 0, TCB_RULE_DOUBLE, rule_rounds },
	{ FIELD(TCB_MACRO, 0) | FIELD(TCB_MIDI, 0) | TCB_FIELD_KNOB(CLUSTER), 1, policy_macro },
	{ 0, 1, policy_usual },
	{ 0, 0, NULL },
};
