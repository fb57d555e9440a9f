/* SPDX-License-Identifier: MIT
 *
 * A geometry of a quantised matvec for a GPU in numbers: how rows and
 * superblocks are dealt, what lies where in shared memory, what the constraints
 * judge.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/gpu/pieces_gpu.h"
#include "kernels/quant_matvec/quant_matvec_gpu.h"
#include "kernels/quant_matvec/quant_matvec_gpu_fused.h"
#include "kernels/quant_matvec/quant_matvec_gpu_plan.h"

enum { SHARED_ALIGN = 128, CHUNK = 16 };

unsigned qmv_gpu_micro_k(const struct tcb_problem *problem)
{
	return problem->shape.k % QMV_VALUES ? (unsigned)problem->op->format->block_values : QMV_VALUES;
}

/* --- numbers --- */

/* What of a format depends on layout and contract. */
static void plan_format(struct qmv_gpu *g)
{
	const struct qmv_format *f = g->format;
	const int is_native = g->layout == TCB_LAYOUT_NATIVE, is_one = is_native || g->is_mma;
	g->halves = f->log_run == 8 ? 1 : 2;
	g->code_words = f->is_pieces      ? f->bytes[QMV_CODES] / TCB_PIECES / 4
			: qmv_is_float(f) ? f->bytes[QMV_CODES] / WARP / 4
					  : g->vec / 4;
	g->log_run = g->layout == TCB_LAYOUT_S || (g->is_mma && g->halves == 2) ? 4 : f->log_run;
	g->is_narrow = is_native && (f->block || f->scales == QMV_SCALES_BYTES);
	g->is_split = f->is_split;
	g->runs = f->has_mins || f->centre ? (g->is_split ? 16 : 8) : 0;
	g->parts = g->is_mma ? (g->is_half ? 1 : QMV_PARTS_MAX) : 0;
	g->scales_apart = g->is_q8 && g->group == 32 && g->halves == 2 && g->log_run > 4 ? 1u << (g->log_run - 5) : 0;
	g->high_words = g->layout == TCB_LAYOUT_S || g->is_mma ? f->high_bits : f->high_bits ? g->vec / 4 : 0;
	if (f->is_pieces)
		g->high_words = f->bytes[QMV_HIGH] ? 1 : 0;
	g->stream_count = 0;
	for (unsigned part = 0; part < QMV_PARTS; part++) {
		if (!f->bytes[part])
			continue;
		g->stream[is_one ? 0 : g->stream_count].stride += f->bytes[part] * (g->is_mma ? QMV_TILE_ROWS : 1);
		g->stream_of[part] = is_one ? 0 : g->stream_count++;
	}
	g->stream_count += is_one ? 1 : 0;
}

/*
 * q8: codes of the low nibbles; those of the high nibbles, half a row of banks off so that a warp's stores of both meet
 * no conflict.  Else: values, 1024 bytes per superblock.  Then scales and sums.
 */
static void plan_image(struct qmv_gpu *g)
{
	struct qmv_gpu_image *image = &g->image;
	const unsigned blocks = g->slice + (g->is_partial ? 1 : 0);
	image->blocks = blocks;
	image->code_stride = g->is_q8 ? QMV_VALUES / g->halves : g->is_mma ? QMV_VALUES * 2 * g->parts : QMV_VALUES * 4;
	image->scale_stride = g->group == 32 ? 32 : 4;
	image->sum_stride = g->runs * 4;
	image->high = blocks * image->code_stride + 64;
	image->scale =
		g->is_q8 && g->halves == 2 ? image->high + blocks * image->code_stride : blocks * image->code_stride;
	image->sum = image->scale + tcb_round_up(blocks * image->scale_stride, 16);
	image->squares = tcb_round_up(image->sum + blocks * image->sum_stride, 16);
	image->squares_count = !g->has_norm ? 0 : g->own_launch ? blocks : g->warps;
	image->bytes = tcb_round_up(image->squares + image->squares_count * QMV_SQUARES_BYTES, 16);
}

static void plan_rows(const struct tcb_target *target, struct qmv_gpu *g)
{
	const unsigned cluster = g->is_joined ? g->splitk : 1;
	const unsigned sms = (unsigned)tcb_most(tcb_gpu_cluster_sms(target, cluster) / cluster, 1);
	g->groups = (unsigned)tcb_most(tcb_div_up(g->n, g->group_rows), 1);
	if (g->resident) {
		g->grid = g->resident * sms < g->groups ? g->resident * sms : g->groups;
		g->least = g->groups / g->grid;
		g->longer = g->groups % g->grid;
	} else {
		g->grid = tcb_div_up(g->groups, g->row_warps);
		g->least = g->row_warps;
		g->longer = 0;
	}
	g->block_rows = (g->least + (g->longer ? 1 : 0)) * g->group_rows;
}

/* A slot of a ring: rows of one stream after those of another.  Strides of two bytes are copied with what is around. */
static void plan_slot(struct qmv_gpu *g)
{
	const unsigned blocks = g->share / g->chunks;
	unsigned at = 0;
	for (unsigned i = 0; i < g->stream_count; i++) {
		struct qmv_stream *s = &g->stream[i];
		s->copied = s->stride % CHUNK && g->stream_count > 1 ? tcb_round_up(blocks * s->stride, CHUNK) + CHUNK
								     : blocks * s->stride;
		s->pitch = s->copied;
		s->slot_at = at;
		at += g->rows * s->pitch;
	}
	g->slot_copied = at;
	g->slot_bytes = tcb_round_up(at, SHARED_ALIGN);
}

static void plan_memory(struct qmv_gpu *g)
{
	unsigned at = 0;
	if (g->copy != TCB_COPY_LDG) {
		plan_slot(g);
		at = g->warps * g->stages * g->slot_bytes;
	}
	g->barrier_at = at;
	if (g->copy == TCB_COPY_BULK)
		at += tcb_round_up(g->warps * g->stages * 8, 16);
	g->grid_at = tcb_round_up(at, TCB_PIECE_TABLE_ALIGN);
	if (g->format->is_pieces)
		at = g->grid_at + tcb_piece_table_bytes(g->format->id, g->has_signs);
	g->image_at = tcb_round_up(at, 16);
	g->flag_at = g->image_at + g->at_once * g->image.bytes;
	g->part_at = g->flag_at + 16; /* the last one: its size depends on the grid */
	g->shared_bytes = g->flag_at;
	if (g->ksplit > 1 || g->splitk > 1)
		g->shared_bytes =
			g->part_at + tcb_round_up((g->block_rows << g->is_gated) * g->at_once * g->row_parts * 4, 16);
	g->slices_at = g->counters_at = g->workspace_bytes = 0;
	if (g->own_launch)
		g->slices_at = g->counters_at = g->workspace_bytes =
			((size_t)g->tokens * g->image.bytes + 255) / 256 * 256;
	if (g->splitk > 1 && !g->is_joined) {
		const size_t slices = (size_t)g->tokens * g->splitk * g->n * 4 << g->is_gated;
		g->counters_at = g->slices_at + (slices + 255) / 256 * 256;
		g->workspace_bytes = g->counters_at + (size_t)g->tokens * g->grid * 4;
	}
}

void qmv_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		  const struct tcb_geometry *geometry, struct qmv_gpu *out)
{
	struct qmv_gpu *g = out;
	memset(g, 0, sizeof(*g));
	g->format = qmv_format(problem);
	g->capability = target->cuda.capability;
	g->vec = KNOB(VEC);
	g->is_q8 = problem->contract == TCB_CONTRACT_Q8;
	g->is_half = problem->contract == TCB_CONTRACT_F16;
	g->has_norm = qmv_kind(problem)->has_norm;
	g->is_gated = qmv_kind(problem)->is_gated;
	g->has_added = problem->shape.words.add != 0;
	g->has_bias = problem->shape.words.bias != 0;
	g->x_type = tcb_quant_x_type(problem);
	g->y_type = tcb_quant_y_type(problem);
	g->x_bytes = (unsigned)tcb_type_bytes(g->x_type);
	g->y_bytes = (unsigned)tcb_type_bytes(g->y_type);
	g->x_stride = (unsigned)tcb_quant_x_stride(problem);
	g->y_stride = (unsigned)tcb_quant_y_stride(problem);
	g->group = KNOB(GROUP);
	g->layout = (enum tcb_layout)KNOB(LAYOUT);
	g->copy = (enum tcb_copy)KNOB(COPY);
	g->x_in_regs = KNOB(XIN) == TCB_XIN_REGS;
	g->own_launch = KNOB(PREP) == TCB_PREP_LAUNCH;
	g->pdl = KNOB(PDL) != 0;
	g->opens = KNOB(PDL) == TCB_PDL_OPENS;
	g->is_beside = KNOB(PDL) == TCB_PDL_BESIDE;
	g->is_joined = geometry->knob[TCB_KNOB_JOIN] == TCB_JOIN_CLUSTER;
	g->is_mma = geometry->knob[TCB_KNOB_ISA] == TCB_ISA_MMA;
	g->group_rows = (unsigned)geometry->tile[TCB_MICRO].n;
	g->has_scale = (!g->is_mma || !g->is_half || g->has_norm) && !qmv_has_values(g->format);
	g->rows = g->is_mma ? 1 : g->group_rows << g->is_gated;
	g->at_once = (unsigned)geometry->tile[TCB_MICRO].m;
	g->sums = g->is_mma ? 2 : g->rows * g->at_once;
	g->warps = KNOB(WARPS);
	g->ksplit = KNOB(KSPLIT);
	g->row_warps = g->warps / g->ksplit;
	g->splitk = KNOB(SPLITK);
	g->row_parts = g->ksplit * (g->is_joined ? g->splitk : 1);
	g->stages = KNOB(STAGES);
	g->lead = KNOB(LEAD);
	g->resident = KNOB(BLOCKS);
	g->together = KNOB(OCC);
	g->unroll = KNOB(UNROLL);
	g->n = (unsigned)problem->shape.n;
	g->k = (unsigned)problem->shape.k;
	g->tokens = (unsigned)problem->shape.m;
	g->token_tiles = (unsigned)tcb_div_up(problem->shape.m, tcb_most(g->at_once, 1));
	g->has_signs = qmv_has_signed_grid(target);
	g->row_blocks = tcb_div_up(g->k, QMV_VALUES);
	g->slice = g->row_blocks / g->splitk;
	g->share = g->slice / g->ksplit;
	plan_format(g);
	g->piece_lanes = g->is_mma ? WARP : qmv_span(g->format) / g->vec;
	g->step = WARP / g->piece_lanes;
	g->steps = tcb_div_up(g->share, g->step);
	g->is_partial = g->share % g->step != 0;
	g->has_rest = g->is_partial && g->unroll && g->unroll < g->steps;
	g->rounds = g->unroll ? (g->steps - (unsigned)g->has_rest) / g->unroll : 1;
	g->chunks = g->copy == TCB_COPY_LDG || !g->unroll || g->unroll >= g->steps ? 1 : g->steps / g->unroll;
	plan_image(g);
	plan_rows(target, g);
	g->is_added_early = g->has_added && g->at_once == 1 && (g->ksplit > 1 || g->is_joined) &&
			    (g->splitk == 1 || g->is_joined) && g->block_rows <= g->warps * WARP;
	plan_memory(g);
}

/*
 * A lane's products: one addition a term within a piece (floats), its part of the scale, two additions a step; five in
 * the warp, then the warps and blocks that share the row.  Mins: 5 additions for the sum of a sub-block, 3 products.
 * q8: the scale's roundings and those of x times its inverse.
 */
double qmv_gpu_chain(const struct qmv_gpu *g)
{
	/* isa=mma: a sub-block's eight instructions, for each part of an activation, cut off at twice the unit; two for
	 * an activation that is two parts. */
	const unsigned mma = 8 * g->parts + 2 * (g->parts > 1) + 4;
	const unsigned piece = g->is_q8 ? 4 : g->is_mma ? mma : g->halves * g->vec / 2 + 6;
	return piece + 8 + 2 * g->steps + 5 + g->row_parts + g->splitk + 4;
}

/* --- footprint --- */

/* Of activations that were asked for, and of their norm with the sums of squares. */
static unsigned load_registers(const struct qmv_gpu *g)
{
	const unsigned ahead = tcb_div_up(g->image.blocks, g->warps);
	return 8 * (ahead < QMV_GPU_X_AHEAD ? ahead : QMV_GPU_X_AHEAD) * (1 + g->has_norm) + 8 * g->has_norm;
}

/* Registers of a lane's weights of one unit, as loaded. */
static unsigned weight_registers(const struct qmv_gpu *g)
{
	static const unsigned scales[] = {
		[QMV_SCALES_K] = 4,     [QMV_SCALES_HALVES] = 1, [QMV_SCALES_BYTES] = 3,  [QMV_SCALES_POWERS] = 1,
		[QMV_SCALES_SIXES] = 2, [QMV_SCALES_PIECES] = 3, [QMV_SCALES_FLOATS] = 1, [QMV_SCALES_NONE] = 0
	};
	if (g->format->is_pieces) { /* fields in one register or two bytes, d */
		const unsigned fields = g->format->bytes[QMV_SCALES];
		return g->code_words + g->high_words + (fields ? 1 + (fields % 8 != 0) : 0) +
		       (g->format->bytes[QMV_D] != 0);
	}
	return g->code_words + g->high_words + scales[g->format->scales] + (g->is_narrow ? 2 : 0);
}

/* The same for isa=mma: what ptxas took for tiles in shared memory, which grows with the steps that it may mix. */
static unsigned mma_registers(const struct qmv_gpu *g)
{
	const struct qmv_format *f = g->format;
	const unsigned mixed = g->unroll < 4 ? g->unroll : 4, is_byte = g->halves == 1;
	unsigned all = 68 + 8 * (g->parts - 1) + 14 * is_byte + mixed * (20 + 8 * is_byte);
	if (f->table)
		all += 12;
	if (g->copy == TCB_COPY_ASYNC) /* addresses of all lanes, for every step */
		all += 40;
	if (g->copy == TCB_COPY_LDG) {
		const unsigned scales = f->scales == QMV_SCALES_K                                        ? 8
					: f->scales == QMV_SCALES_BYTES || f->scales == QMV_SCALES_SIXES ? 4
													 : 2;
		all = 80 + 14 * is_byte + g->unroll * ((f->bytes[QMV_CODES] + f->bytes[QMV_HIGH]) / 8 + scales);
	}
	if (!g->own_launch) {
		const unsigned loads = 64 + load_registers(g);
		all = all > loads ? all : loads;
	}
	return all;
}

/* Upper bounds, held against ptxas by tests/kernels/check_gpu_space.c. */
unsigned qmv_gpu_registers(const struct qmv_gpu *g)
{
	const unsigned words = g->vec / 4, weights = weight_registers(g);
	if (g->is_mma)
		return mma_registers(g);
	const unsigned sums = g->runs ? 1 + g->is_split : 0, scales = g->scales_apart ? 2 : 1;
	const unsigned x = (g->is_q8 ? g->halves : 4 * g->halves) * words + scales + sums;
	const unsigned steps = g->copy == TCB_COPY_LDG ? g->unroll : 1;
	unsigned all = 40 + 2 * g->sums + (g->x_in_regs ? g->steps : 1) * x;
	all += g->copy == TCB_COPY_LDG ? g->rows * (steps + (unsigned)g->has_rest) * weights : 2 * weights;
	if (g->format->high_bits || g->format->table)
		all += 12;
	if (g->format->is_pieces) /* beyond that, floats that are under way */
		all += 16 + (g->is_q8 ? 0 : 24);
	if (g->format->scales == QMV_SCALES_FLOATS && g->copy == TCB_COPY_LDG) /* halves and floats under way */
		all += 24 + 10 * g->rows;
	if (g->is_narrow)
		all += 8 + 4 * g->rows;
	all += 4 * g->at_once * (unsigned)g->has_norm;
	if (g->at_once > 1) /* codes that all of them share */
		all += (g->is_q8 ? g->halves * words : 4 * g->halves * words) + (g->resident ? 32 : 8);
	if (g->is_gated && g->copy == TCB_COPY_LDG) /* addresses of two matrices; what ptxas took beyond the rest */
		all += g->rows > 2 ? (4 + g->unroll) * g->rows : 8;
	if (!g->own_launch) {
		const unsigned loads = load_registers(g);
		const unsigned early = g->copy == TCB_COPY_LDG && g->lead ? g->rows * steps * weights : 0;
		all = all > 48 + loads + early ? all : 48 + loads + early;
	}
	return all;
}

void qmv_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct tcb_format *format = problem->op->format;
	const size_t superblock = QMV_VALUES / format->block_values * format->block_bytes;
	struct qmv_gpu g;
	memset(out, 0, sizeof(*out));
	qmv_gpu_plan(problem, target, geometry, &g);
	/* Rows that are filled up to superblocks are split between these, wherever K would be cut. */
	out->k_multiple = g.k % QMV_VALUES ? 0 : format->block_values;
	out->k_step_multiple = qmv_gpu_micro_k(problem);
	out->element_bytes = 1;
	out->alignment_bytes = g.is_narrow ? 2 : 16;
	out->vector_bytes = g.is_narrow ? 2 : g.vec;
	out->base_bytes = 256;
	out->leading_bytes = (size_t)g.row_blocks * g.stream[0].stride;
	out->tile_offset_bytes = g.stream[0].stride;
	out->shared_bytes = g.shared_bytes;
	out->shared_dynamic = 1;
	out->block_threads = g.warps * WARP;
	out->thread_registers = qmv_gpu_registers(&g);
	out->blocks_together = g.together;
	out->accumulators = 2 * g.sums;
	out->grid[0] = g.grid;
	out->grid[1] = g.splitk;
	out->grid[2] = g.token_tiles;
	out->barriers = 1;
	const size_t group_rows = (size_t)g.group_rows << g.is_gated; /* of weights */
	out->level_bytes[TCB_MACRO] =
		qmv_weight_rows(problem) * tcb_quant_row_bytes(format, g.k) + (size_t)g.row_blocks * 1024;
	out->level_bytes[TCB_MIDI] =
		g.row_warps * group_rows * g.slice * superblock + (size_t)g.at_once * g.image.bytes;
	out->level_bytes[TCB_MICRO] = group_rows * g.step * superblock;
}
