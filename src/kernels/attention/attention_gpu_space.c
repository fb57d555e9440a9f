/* SPDX-License-Identifier: MIT
 *
 * The search space of attention_decode on GPUs: its axes and its default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/attention/attention_gpu_wgmma.h"
#include "kernels/axes.h"
#include "kernels/gpu/gpu_rules.h"

enum {
	DEFAULT_WARPS = 4,
	DEFAULT_OCC = 2,
	DEFAULT_STAGES = 4,
	CODED_STAGES = 2,
	SHARED_STAGES = 3,
	ROWS_MAX = 32,
	QUARTER_MOST = 128, /* values of V of which a warp has registers for sums of 32 rows */
	FP8_BLOCKS = 2,
	SHORT = 64,
	LARGE = 160 << 10 /* shared memory that has room for 32 rows of long heads */
};

/* Splits of KV with which TOGETHER blocks on each multiprocessor are all that there are. */
static size_t wave(const struct tcb_problem *problem, const struct tcb_target *target, size_t together, size_t heads,
		   size_t tokens)
{
	const size_t tiles = (size_t)problem->shape.words.sequences * problem->shape.words.kv *
			     tcb_div_up(attention_group(&problem->shape), heads) * tcb_div_up(problem->shape.m, tokens);
	return tcb_least(tcb_most(together * tcb_most(target->cuda.sm_count, 1) / tiles, 1), 256);
}

/* Query heads that fill mma's columns, or all. */
static size_t usual_heads(const struct tcb_shape *shape)
{
	return tcb_least(attention_group(shape), ROWS_MAX);
}

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t n = tcb_power_of_two_up(s->n), m = tcb_power_of_two_up(s->m), heads = usual_heads(s);
	const int has_codes = attention_has_codes(problem), has_wgmma = attention_has_wgmma(problem, target);
	const size_t wgmma_heads = attention_wgmma_heads(problem);
	const size_t own =
		tcb_least(tcb_most(m, has_wgmma ? PREFILL_GROUP_ROWS / ATTENTION_WGMMA_HEADS_MIN : 1), ROWS_MAX);
	size_t count = 0;
	struct tcb_axis *a = tcb_axis_knob(out, &count, TCB_KNOB_ISA);
	tcb_axis_add(a, TCB_ISA_MMA);
	if (has_wgmma)
		tcb_axis_add(a, TCB_ISA_WGMMA);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level);
		tcb_axis_add(a, tcb_power_of_two_up(s->k));
		if (level == TCB_MICRO && attention_gpu_is_long(s))
			ADD(a, tcb_power_of_two_up(s->k) / 2, tcb_power_of_two_up(s->k) / 4);
	}
	a = tcb_axis_knob(out, &count, TCB_KNOB_HEADS);
	tcb_axis_add(a, heads);
	tcb_axis_add_powers(a, 1, 2, has_wgmma ? tcb_most(heads, wgmma_heads) : heads);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO), 1, 2, own);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), 1, 2, own);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO);
	tcb_axis_add(a, m);
	for (size_t tokens = 2 * m; tokens <= own; tokens *= 2)
		tcb_axis_add(a, tokens);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO);
	ADD(a, 8, 16, 32, 64);
	if (has_wgmma)
		tcb_axis_add(a, 128);
	a = tcb_axis_knob(out, &count, TCB_KNOB_COPY);
	if (!has_codes)
		tcb_axis_add(a, TCB_COPY_LDG);
	tcb_axis_add(a, TCB_COPY_ASYNC);
	if (attention_gpu_has_bulk(problem, target) || has_wgmma)
		tcb_axis_add(a, TCB_COPY_BULK);
	a = tcb_axis_knob(out, &count, TCB_KNOB_VEC);
	for (unsigned vec = 4; vec <= 16; vec *= 2)
		if (attention_gpu_copies(problem, vec))
			tcb_axis_add(a, vec);
	a = tcb_axis_knob(out, &count, TCB_KNOB_STAGES);
	if (!has_codes)
		tcb_axis_add(a, 1);
	ADD(a, 2, 3, 4, 6);
	if (attention_has_blocks(problem))
		ADD(tcb_axis_knob(out, &count, TCB_KNOB_GROUP), 0, ATTENTION_Q_GROUP);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WARPS), 1, 2, 4, 8, 16);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 8, 2, 1024);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO);
	for (size_t tokens = n; tokens <= 1024 || tokens == n; tokens *= 2)
		tcb_axis_add(a, tokens);
	a = tcb_axis_knob(out, &count, TCB_KNOB_SPLITK);
	tcb_axis_add_powers(a, 1, 2, 128);
	for (size_t together = 1; together <= 4; together++)
		tcb_axis_add(a, wave(problem, target, together, heads, 1));
	if (m > 1)
		tcb_axis_add(a, wave(problem, target, 1, heads, tcb_least(m, ROWS_MAX)));
	if (has_wgmma)
		tcb_axis_add(a, wave(problem, target, 1, wgmma_heads, PREFILL_GROUP_ROWS / wgmma_heads));
	a = tcb_axis_knob(out, &count, TCB_KNOB_CLUSTER);
	tcb_axis_add_powers(a, 1, 2, target->cuda.capability >= 90 ? CLUSTER_MAX : 1);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_JOIN), TCB_JOIN_NONE, TCB_JOIN_CLUSTER, TCB_JOIN_LAST, TCB_JOIN_LAUNCH);
	/* What sequences together have is the same for each block: no splits for the longest. */
	if (s->words.sequences > 1) {
		ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STREAMK);
		ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_BLOCKS), 1, 2, 3);
	}
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_OCC), 1, 2, 3, 4);
	a = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(a, 0);
	if (target->cuda.capability >= 90)
		ADD(a, 1);
	if (attention_gpu_has_lead(problem, target))
		ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_LEAD), 1, 2, 4);
	return count;
}

/* Fewer slots, then fewer warps, of long heads then shorter pieces and fewer rows, until a block's shared memory is no
 * more than there is. */
static void fit(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	int32_t *stages = &out->knob[TCB_KNOB_STAGES], *warps = &out->knob[TCB_KNOB_WARPS];
	int32_t *heads = &out->knob[TCB_KNOB_HEADS];
	const int is_long = attention_gpu_is_long(&problem->shape);
	struct attention_gpu g;
	for (;;) {
		attention_gpu_plan(problem, target, out, &g);
		const int is_least = *stages <= 2 && *warps == (int32_t)g.value_warps;
		if (g.shared_bytes <= tcb_shared_limit(target) ||
		    (is_least && (!is_long || (g.kv == ATTENTION_PIECE && *heads <= ATTENTION_COLUMNS))))
			return;
		if (*stages > 2) {
			(*stages)--;
		} else if (is_least && g.kv > ATTENTION_PIECE) {
			out->tile[TCB_MICRO].n /= 2;
			out->tile[TCB_MIDI].n /= 2;
		} else if (is_least) {
			*heads /= 2;
		} else {
			*warps /= 2;
			out->tile[TCB_MIDI].n /= 2;
			out->tile[TCB_MACRO].n = tcb_most(tcb_power_of_two_up(problem->shape.n), out->tile[TCB_MIDI].n);
		}
	}
}

/* Long heads: of f16's arithmetic up to 32 rows, of which up to four warps have the values.  Returns how many. */
static size_t share_values(const struct tcb_problem *problem, const struct tcb_target *target, size_t *rows)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t v = attention_v(s), heads = usual_heads(s);
	const int is_f32 = attention_io_type(problem) == TCB_TYPE_F32;
	const int is_aligned = attention_gpu_copies(problem, 16) || attention_gpu_copies(problem, 8);
	if (!attention_gpu_is_long(s) || attention_gpu_part(problem, 2) >= v)
		return 1;
	if (!is_f32 && heads > 2 * ATTENTION_COLUMNS && 3 * attention_gpu_part(problem, 4) < v &&
	    tcb_shared_limit(target) >= LARGE) {
		const int has_room = !attention_has_blocks(problem) && attention_gpu_part(problem, 4) <= QUARTER_MOST;
		*rows = has_room ? ROWS_MAX : ROWS_MAX / 2; /* K's codes take registers, too */
		return 4;
	}
	if (!is_f32 && heads > ATTENTION_COLUMNS && is_aligned)
		*rows = 2 * ATTENTION_COLUMNS; /* rows that begin between words take registers, too */
	return 2;
}

/* As many blocks on a multiprocessor as it has shared memory for, two at most, and splits for them. */
static void fill_gpu(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	struct attention_gpu g;
	attention_gpu_plan(problem, target, out, &g);
	while (out->knob[TCB_KNOB_STAGES] > 2 &&
	       FP8_BLOCKS * (g.used_bytes + ATTENTION_BLOCK_SHARED) > tcb_shared_limit(target)) {
		out->knob[TCB_KNOB_STAGES]--;
		attention_gpu_plan(problem, target, out, &g);
	}
	const size_t room = tcb_shared_limit(target) / (g.used_bytes + ATTENTION_BLOCK_SHARED);
	const size_t together = tcb_most(tcb_least(room, FP8_BLOCKS), 1);
	const size_t pieces = tcb_div_up(attention_visible_most(&problem->shape), g.kv);
	const size_t splitk =
		tcb_least(wave(problem, target, together, g.heads, g.tokens), tcb_most(pieces / g.turns, 1));
	out->knob[TCB_KNOB_OCC] = (int32_t)together;
	out->knob[TCB_KNOB_SPLITK] = (int32_t)splitk;
	out->knob[TCB_KNOB_JOIN] = splitk > 1 ? TCB_JOIN_LAUNCH : TCB_JOIN_NONE;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
}

/*
 * All query heads of a KV head in a tile, four warps, as many splits as fill the GPU and as a window leaves KV for:
 * flash-decoding's.  Many query tokens: each warp has rows of its own, of eight tokens and two heads, and all share a
 * piece of KV.  Measured on an H100 and an H200: results/h100/2026-11-26, results/h200/2026-11-29/attention.
 */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t widest = tcb_most(s->k, attention_v(s));
	const int has_blocks = attention_has_blocks(problem), is_long = widest > 128;
	const int is_f32 = attention_io_type(problem) == TCB_TYPE_F32;
	const size_t k = tcb_power_of_two_up(s->k), m = tcb_power_of_two_up(s->m);
	size_t rows = is_long || is_f32 ? 8 : 16; /* registers */
	if (attention_wgmma_is_usual(problem, target)) {
		attention_wgmma_default(problem, target, out);
		return;
	}
	const size_t values = share_values(problem, target, &rows);
	size_t heads = usual_heads(s), tokens = 1, warps = DEFAULT_WARPS, row_warps = 1, vec = 4;
	size_t piece = is_long ? ATTENTION_PIECE : 2 * ATTENTION_PIECE;
	if (values > 1 && rows > ATTENTION_COLUMNS)
		piece *= 2;
	while (heads > rows)
		heads /= 2;
	while (2 * tokens * heads <= rows && tokens < s->m)
		tokens *= 2;
	const int has_many = values == 1 && rows == 16 && m * tcb_least(heads, 2) >= 2 * rows;
	/* Little KV, and few tiles that all have it: smaller ones, whose warps share it. */
	const int is_tiny = has_many && s->n <= SHORT &&
			    2 * (size_t)s->words.sequences * s->words.kv * tcb_div_up(attention_group(s), 2) *
					    tcb_div_up(s->m, rows / 2 * DEFAULT_WARPS) <
				    tcb_most(target->cuda.sm_count, 1);
	if (is_tiny) {
		heads = tcb_least(heads, 2);
		tokens = ATTENTION_COLUMNS / 2;
		piece = ATTENTION_PIECE;
		row_warps = s->n <= piece ? tcb_least(m / tokens, DEFAULT_WARPS) : 1;
	} else if (has_many) {
		heads = tcb_least(heads, 2);
		tokens = rows / heads;
		row_warps = tcb_least(m / tokens, DEFAULT_WARPS);
		piece *= 2;
	}
	/* Rows of codes can't go to registers; a q of several terms, or long heads, leave none for them; nor can those
	 * that warps share; V of K's rows is read once. */
	const size_t seen = attention_visible_most(s);
	const int is_view = s->words.view && seen > piece * DEFAULT_WARPS; /* else it is one step */
	const int is_async = attention_has_codes(problem) || widest > ATTENTION_Q_LONG || is_view ||
			     (is_f32 && is_long) || row_warps > 1;
	const int is_bulk = !attention_has_codes(problem) && !is_f32 && values == 2 && row_warps == 1 &&
			    attention_gpu_has_bulk(problem, target) && attention_gpu_copies(problem, 16) &&
			    attention_gpu_part(problem, values) % ATTENTION_BOX == 0;
	const int is_short = widest <= SHORT && !is_async && !is_f32;
	if (is_bulk && rows == ATTENTION_COLUMNS)
		warps *= 2;
	/* A warp has more on its way at a time, and there are half as many parts to merge. */
	if (is_short && heads * tokens <= ATTENTION_COLUMNS) {
		warps /= 2;
		piece *= 2;
	}
	/* Whole rows as they are aligned, but not 4 bytes at a time. */
	while (!attention_gpu_copies(problem, (unsigned)vec) || (vec < 16 && is_bulk) ||
	       (vec < 16 && vec != 8 && attention_gpu_copies(problem, 16)))
		vec *= 2;
	const size_t pieces = tcb_div_up(seen, piece);
	size_t kv_warps = warps / row_warps / values;
	while (kv_warps > 1 && kv_warps / 2 >= tcb_div_up(s->n, piece))
		kv_warps /= 2;
	warps = kv_warps * row_warps * values;
	/* A ring has more in flight than registers do: one block on each multiprocessor. */
	const int is_coded = has_blocks && !is_f32 && row_warps == 1;
	/* Of FP8 a warp has more to do for as many bytes: it wants others beside it. */
	const int is_fp8 = !has_blocks && attention_has_codes(problem) && !is_f32 && row_warps == 1 && !is_long;
	/* Four blocks leave a q of several terms too few registers. */
	const size_t resident = is_short ? 2 * DEFAULT_OCC : DEFAULT_OCC;
	const size_t together = is_async && !is_coded && row_warps == 1 ? 1 : resident;
	const size_t splitk =
		tcb_least(wave(problem, target, together, heads, tokens * row_warps), tcb_most(pieces / kv_warps, 1));
	tcb_geometry_init(out);
	out->tile[TCB_MICRO] = (struct tcb_tile){ tokens, piece, k / values };
	out->tile[TCB_MIDI] = (struct tcb_tile){ tokens * row_warps, piece * kv_warps, k };
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_most(m, tokens * row_warps),
						  tcb_most(tcb_power_of_two_up(s->n), out->tile[TCB_MIDI].n), k };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_MMA;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_SPLITK] = (int32_t)splitk;
	out->knob[TCB_KNOB_COPY] = is_bulk ? TCB_COPY_BULK : is_async ? TCB_COPY_ASYNC : TCB_COPY_LDG;
	out->knob[TCB_KNOB_VEC] = (int32_t)vec;
	out->knob[TCB_KNOB_STAGES] = row_warps > 1 ? SHARED_STAGES
				     : is_coded    ? CODED_STAGES + (s->k <= SHORT)
				     : is_async    ? DEFAULT_STAGES
						   : 1;
	out->knob[TCB_KNOB_CLUSTER] = 1;
	out->knob[TCB_KNOB_JOIN] = splitk > 1 ? TCB_JOIN_LAUNCH : TCB_JOIN_NONE;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
	if (out->knob[TCB_KNOB_PDL] && !is_async && attention_gpu_has_lead(problem, target))
		out->knob[TCB_KNOB_LEAD] = 1;
	out->knob[TCB_KNOB_OCC] = is_long || heads * tokens > ATTENTION_COLUMNS ? 1 : (int32_t)resident;
	out->knob[TCB_KNOB_HEADS] = (int32_t)heads;
	if (has_blocks)
		out->knob[TCB_KNOB_GROUP] = is_coded ? ATTENTION_Q_GROUP : 0;
	fit(problem, target, out);
	if (is_fp8)
		fill_gpu(problem, target, out);
}

const struct tcb_side_space attention_gpu_space = { attention_decode_gpu_rules, axes, default_geometry,
						    attention_gpu_footprint };
