/* SPDX-License-Identifier: MIT
 *
 * The search space of the quantised matmul on a CPU: its axes, its default
 * geometry, the numbers that the constraints judge, and the rules of its own
 * that a geometry must keep.
 */
#include <math.h>
#include <string.h>

#include "base/cpu_isas.h"
#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_block.h"
#include "kernels/quant_matmul/quant_matmul_cpu.h"

enum {
	PANEL_BYTES_MAX = 64 << 20, /* what one thread unpacks, or sums up, at a time: more than any L2 */
	TILE_TOKENS_MAX = 16,
	AMX_ROWS = 32, /* two tiles of weights a tile of activations */
	DEFAULT_AMX_ROWS = 256,
	DEFAULT_ROWS = 64,
	DEFAULT_K_Q8 = 4096,
	DEFAULT_K_F32 = 512,
	/* Of tiles of bf16: 32 rows of so much k stay in the first cache (quant_matmul_bf16.h); so many tokens of it,
	 * their sums and the rows in the second one.  On a Xeon 512x4096x4096 takes 1.05 times as long with half of k
	 * and all tokens, 1.07 times with half of k alone. */
	DEFAULT_K_BF16 = 512,
	DEFAULT_TOKENS_BF16 = 256,
	DEFAULT_TOKENS = 64,
	FEW_TOKENS = 48,
	/* With AVX2, where a row of a tile of four is taken apart for each four tokens: a Zen 3 takes 0.71 to 1.0 of
	 * the time in blocks from 16 tokens on, 1.0 to 1.7 times as long with 4 to 14. */
	FEW_TOKENS_AVX2 = 15,
	PACKED_PREFETCH = 4096,
};

static int has_tiles(int32_t isa)
{
	return tcb_cpu_isa(isa)->has_tiles;
}

static int is_tile_k(const struct tcb_shape *shape, size_t k)
{
	return k && shape->k % k == 0 && (k == shape->k || k % QMM_VALUES == 0);
}

const char *qmm_cpu_refused(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const struct tcb_shape *shape = &problem->shape;
	const struct tcb_format *format = problem->op->format;
	const int32_t *knob = geometry->knob;
	const size_t threads = knob[TCB_KNOB_THREADS] == TCB_KNOB_UNSET ? 1 : (size_t)knob[TCB_KNOB_THREADS];
	const enum qmm_panel_kind kind = qmm_panel_kind(problem->contract, geometry);
	const size_t panel = qmm_unpacked_bytes(kind, format->id);
	size_t tiles;
	if (macro->k != shape->k)
		return "macro.k must be the problem's K: threads share rows and tokens, not the reduction";
	if (micro->k != format->block_values)
		return "micro.k must be one block of the weights";
	if (!is_tile_k(shape, midi->k))
		return "midi.k must divide K, in multiples of 256 or as a whole";
	if (!midi->n || midi->n % QMM_ROWS || midi->n % micro->n || !macro->n || macro->n % midi->n)
		return "midi.n must be a multiple of 16 and of micro.n, and divide macro.n";
	if (!midi->m || midi->m % micro->m || !macro->m || macro->m % midi->m)
		return "micro.m must divide midi.m, and midi.m must divide macro.m";
	if (tcb_div_up(midi->n, QMM_ROWS) > PANEL_BYTES_MAX / panel / tcb_div_up(midi->k, QMM_VALUES))
		return "midi.n x midi.k unpacked must not be larger than 64 MiB";
	if (kind == QMM_PANEL_HALVES && midi->k < shape->k &&
	    midi->m + micro->m > PANEL_BYTES_MAX / sizeof(float) / tcb_round_up(midi->n, micro->n))
		return "the sums of midi.m x midi.n must not be larger than 64 MiB";
	if (threads < 1)
		return "threads must be 1 or more";
	if (knob[TCB_KNOB_DECODE] == TCB_DECODE_REGS &&
	    (problem->contract != TCB_CONTRACT_Q8 || knob[TCB_KNOB_ISA] == TCB_ISA_SCALAR ||
	     has_tiles(knob[TCB_KNOB_ISA]) || knob[TCB_KNOB_LAYOUT] != TCB_LAYOUT_R16))
		return "decode=regs needs layout=r16, contract q8 and vectors";
	if (knob[TCB_KNOB_ISA] == TCB_ISA_SCALAR && knob[TCB_KNOB_PREFETCH] > 0)
		return "prefetch must be 0 with isa=scalar: those kernels wait for arithmetic, not for memory";
	tiles = tcb_div_up(shape->m, macro->m) * tcb_div_up(shape->n, macro->n);
	if (threads == 1 && tiles > 1)
		return "macro must cover all tokens and rows with threads=1";
	if (threads > tiles)
		return "there must be a macro tile for each thread: a smaller macro.m or macro.n, or fewer threads";
	return NULL;
}

/* The whole dimension as a multiple of TILE, and with several threads one part for each, or some more. */
static void add_shares(struct tcb_axis *to, size_t size, size_t tile, unsigned threads, size_t parts_each)
{
	const size_t whole = tcb_power_of_two_up(size);
	tcb_axis_add(to, whole < tile ? tile : whole);
	for (size_t parts = 2; threads > 1 && parts <= parts_each * threads && whole / parts >= tile; parts *= 2)
		tcb_axis_add(to, whole / parts);
}

static void add_blocks(struct tcb_axis *to, size_t size, size_t first, size_t last, size_t step)
{
	const size_t whole = tcb_power_of_two_up(size);
	for (size_t block = first; block <= last; block *= step)
		tcb_axis_add(to, block < whole ? block : whole < first ? first : whole);
}

/* A register tile may have more tokens than the problem. */
static void add_wide_tiles(struct tcb_axis *to, const struct tcb_axis *micro_m, size_t m)
{
	for (size_t i = 0; i < micro_m->count; i++)
		if ((size_t)micro_m->values[i] > m)
			tcb_axis_add(to, (size_t)micro_m->values[i]);
}

/* What the op has variants for. */
static void add_variants(struct tcb_axis *isa, struct tcb_axis *micro_m, struct tcb_axis *micro_n,
			 const struct tcb_problem *problem, const struct tcb_target *target)
{
	const struct tcb_op *op = problem->op;
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(op), i)); i++)
		if (variant->contract == problem->contract && tcb_target_has(target, variant->isa)) {
			tcb_axis_add(isa, (size_t)variant->isa);
			tcb_axis_add(micro_m, variant->micro.m);
			tcb_axis_add(micro_n, variant->micro.n);
		}
	if (!isa->count) { /* nothing runs here; V1 says so */
		tcb_axis_add(isa, TCB_ISA_SCALAR);
		tcb_axis_add(micro_m, 1);
		tcb_axis_add(micro_n, QMM_ROWS);
	}
}

size_t qmm_cpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		    struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	size_t count = 0;
	struct tcb_axis *isa = tcb_axis_knob(out, &count, TCB_KNOB_ISA);
	struct tcb_axis *micro_m = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO);
	struct tcb_axis *micro_n = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO);
	add_variants(isa, micro_m, micro_n, problem, target);
	struct tcb_axis *a = tcb_axis_knob(out, &count, TCB_KNOB_LAYOUT);
	ADD(a, TCB_LAYOUT_NATIVE, TCB_LAYOUT_R16);
	a = tcb_axis_knob(out, &count, TCB_KNOB_DECODE);
	tcb_axis_add(a, TCB_DECODE_PANEL);
	if (problem->contract == TCB_CONTRACT_Q8)
		tcb_axis_add(a, TCB_DECODE_REGS);
	tcb_axis_add_threads(tcb_axis_knob(out, &count, TCB_KNOB_THREADS), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC);
	add_shares(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), s->n, QMM_ROWS, target->threads, 8);
	add_shares(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO), s->m, 1, target->threads, 1);
	add_wide_tiles(&out[count - 1], micro_m, s->m);
	add_blocks(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), s->n, QMM_ROWS, 256, 4);
	add_blocks(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), s->m,
		   s->m < TILE_TOKENS_MAX ? tcb_power_of_two_up(s->m) : TILE_TOKENS_MAX, 256, 4);
	if (problem->contract == TCB_CONTRACT_F16 && s->m > DEFAULT_TOKENS_BF16)
		tcb_axis_add(&out[count - 1], 2 * DEFAULT_TOKENS_BF16);
	add_wide_tiles(&out[count - 1], micro_m, s->m);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MIDI);
	tcb_axis_add(a, s->k);
	for (size_t k = QMM_VALUES; k <= 4096; k *= 4)
		if (is_tile_k(s, k))
			tcb_axis_add(a, k);
	if (problem->contract == TCB_CONTRACT_F16 && is_tile_k(s, DEFAULT_K_BF16))
		tcb_axis_add(a, DEFAULT_K_BF16);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_PREFETCH), 0, 4096, 16384);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_HINT), TCB_HINT_T0, TCB_HINT_T1);
	return count;
}

/*
 * Of two families the one with the higher rank is the default: the wider, but for AMX under contract q8, since nobody
 * swept its kernels beside those of VNNI.  On a Xeon they take 0.54 to 0.62 of the time of one VNNI tile (8x16 in
 * blocks of 64x64x4096) from 128 tokens on (Q8_0, Q4_0, Q4_K); a rule for x86_64-amx will say where they are the faster
 * (default_rules.h).
 */
static int rank_of(const struct tcb_problem *problem, enum tcb_isa isa)
{
	return !has_tiles(isa)                         ? 2 * (int)isa
	       : problem->contract == TCB_CONTRACT_F16 ? 2 * TCB_ISA_COUNT
						       : 2 * TCB_ISA_SCALAR + 1;
}

/* The most tokens of a register tile by default. */
static size_t tile_tokens(const struct tcb_problem *problem, enum tcb_isa isa)
{
	if (!has_tiles(isa))
		return 8;
	return problem->contract == TCB_CONTRACT_F16 && problem->shape.m > 16 ? 32 : 16;
}

/* Kernels of contract f16 add up in different orders: of weights that both tiles and vectors have kernels for. */
static int has_two_orders(const struct tcb_problem *problem)
{
	return problem->contract == TCB_CONTRACT_F16 && tcb_is_float(problem->op->format->id);
}

/*
 * What a register tile of AVX2 takes for PROBLEM's tokens and a row, up to a factor: multiply-adds, as if they were as
 * many as hide their latency where it has fewer sums, and loads, of which those of weights count most.  On a Zen 3
 * (contract f32) 2x16 takes 0.73 of the time of 1x8 for one token, 4x16 0.75 of that of 4x8 for four and of 8x8 for 9
 * to 12, and 8x8 0.95 of that of 4x16 for eight; (q8) 2x16 0.7 to 0.95 of that of 2x8 for two tokens, 0.78 to 0.94 of
 * that of 4x8 for five and six, and 1.1 of it for more.
 */
static double avx2_cost(const struct tcb_problem *problem, const struct tcb_tile *micro)
{
	const int is_q8 = problem->contract == TCB_CONTRACT_Q8;
	const double vectors = (double)micro->n / tcb_cpu_isa(TCB_ISA_AVX2)->lanes, tokens = (double)micro->m;
	const double sums_least = is_q8 ? 4 : 8, loading = is_q8 ? 1.4 : 1;
	const double each = fmax(tokens * vectors, sums_least) + loading * vectors + 0.1 * tokens;
	return (double)tcb_div_up(problem->shape.m, micro->m) * each / vectors;
}

/* Whether the tile of VARIANT has tokens that PROBLEM does not fill, and that would cost: of floats with AVX2 a second
 * one is for nothing. */
static int is_too_tall(const struct tcb_problem *problem, const struct tcb_variant *variant)
{
	const size_t m = problem->shape.m, tokens = variant->micro.m;
	const int is_free = variant->isa == TCB_ISA_AVX2 && problem->contract == TCB_CONTRACT_F32;
	if (has_tiles(variant->isa))
		return tokens > 16 && tokens > m;
	return tokens > (is_free ? 2u : 1u) && tokens > tcb_power_of_two_up(m);
}

/* Of two of the same instructions. */
static int is_better(const struct tcb_problem *problem, const struct tcb_variant *a, const struct tcb_variant *b)
{
	if (a->isa == TCB_ISA_AVX2)
		return avx2_cost(problem, &a->micro) < avx2_cost(problem, &b->micro);
	return a->micro.m > b->micro.m || (has_tiles(a->isa) && a->micro.m == b->micro.m && a->micro.n > b->micro.n);
}

/* The preferred instructions that there are variants for, and of their tiles without waste, or of any if HAS_WASTE, the
 * largest of one group.  NULL: there is none. */
static const struct tcb_variant *find_variant(const struct tcb_problem *problem, const struct tcb_target *target,
					      int has_waste)
{
	const struct tcb_variant *best = NULL, *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(problem->op), i)); i++) {
		if (variant->contract != problem->contract || !tcb_target_has(target, variant->isa) ||
		    variant->layout != TCB_LAYOUT_NATIVE ||
		    variant->micro.n > (has_tiles(variant->isa) && problem->shape.n > QMM_ROWS ? AMX_ROWS : QMM_ROWS))
			continue;
		/* midi.n would be 16 and macro.n, whole register tiles, less. */
		if (variant->micro.n < QMM_ROWS && problem->shape.n <= variant->micro.n)
			continue;
		if (!has_waste &&
		    (variant->micro.m > tile_tokens(problem, variant->isa) || is_too_tall(problem, variant)))
			continue;
		if (problem->shape.words.bits && has_tiles(variant->isa) && has_two_orders(problem))
			continue;
		if (!best || rank_of(problem, variant->isa) > rank_of(problem, best->isa) ||
		    (variant->isa == best->isa && is_better(problem, variant, best)))
			best = variant;
	}
	return best;
}

/* That of the default: scalar code is for where there is nothing else.  Where one token meets 8 rows or fewer, AVX2 has
 * only tiles with a token too many. */
static const struct tcb_variant *best_variant(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const struct tcb_variant *best = find_variant(problem, target, 0);
	if (!best || best->isa == TCB_ISA_SCALAR)
		best = find_variant(problem, target, 1);
	return best ? best : tcb_variant_at(tcb_op_cpu(problem->op), 0);
}

/* Whether there are kernels for weights packed in 16 rows that go with the instructions and tile of VARIANT; on Arm
 * nobody measured them. */
static int has_packed(const struct tcb_problem *problem, const struct tcb_variant *variant)
{
	const struct tcb_variant *v;
	for (size_t i = 0; variant->isa != TCB_ISA_SCALAR && variant->isa != TCB_ISA_NEON &&
			   (v = tcb_variant_at(tcb_op_cpu(problem->op), i));
	     i++)
		if (v->contract == problem->contract && v->isa == variant->isa && v->layout == TCB_LAYOUT_R16 &&
		    v->micro.m == variant->micro.m && v->micro.n == variant->micro.n)
			return 1;
	return 0;
}

int qmm_cpu_takes_few(const struct tcb_problem *problem, enum tcb_isa isa, size_t tokens)
{
	return problem->contract == TCB_CONTRACT_Q8 && tokens <= (isa == TCB_ISA_AVX2 ? FEW_TOKENS_AVX2 : FEW_TOKENS);
}

/*
 * What a good hand-written kernel does: weights packed in 16 rows, with few tokens taken apart in registers, else
 * blocks of 64 rows unpacked into the second cache; the preferred instructions, an even share of rows for each thread.
 * On a Xeon (AVX-512, IQ2_XS, Q3_K, IQ3_S, Q5_0) contract q8 takes 0.16 to 0.40 of the time of weights as stored that
 * way with up to 8 tokens, 0.34 to 0.55 with 16, 0.5 to 0.8 with 32, 0.7 to 0.9 with more; f32 0.5 to 1.0.  With AMX
 * (`cpu:amx`), whose processors have 2 MiB of it, 256 rows and as many tokens as a tile has: on a Xeon that takes three
 * quarters of the time of blocks of 64 (q4_k, 512x4096x4096).
 */
void qmm_cpu_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			      struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const struct tcb_variant *variant = best_variant(problem, target);
	const size_t whole_m = tcb_power_of_two_up(s->m), whole_n = tcb_power_of_two_up(s->n);
	const int is_amx = has_tiles(variant->isa), is_bf16 = is_amx && problem->contract == TCB_CONTRACT_F16;
	const size_t tokens = is_bf16  ? DEFAULT_TOKENS_BF16
			      : is_amx ? variant->micro.m
				       : DEFAULT_TOKENS,
		     rows = is_amx ? DEFAULT_AMX_ROWS : DEFAULT_ROWS;
	const size_t most_k = is_bf16                                ? DEFAULT_K_BF16
			      : problem->contract == TCB_CONTRACT_Q8 ? DEFAULT_K_Q8
								     : DEFAULT_K_F32;
	size_t m = tcb_least(whole_m, tokens), macro_n = whole_n, k = s->k;
	const size_t n = tcb_most(tcb_least(whole_n, rows), tcb_most(QMM_ROWS, variant->micro.n));
	m = m < variant->micro.m ? variant->micro.m : m;
	while (macro_n / 2 >= n && tcb_div_up(s->n, macro_n) < target->threads)
		macro_n /= 2;
	macro_n = macro_n < n ? n : macro_n;
	for (size_t step = most_k; k > most_k && step >= QMM_VALUES; step /= 2)
		if (is_tile_k(s, step)) {
			k = step;
			break;
		}
	const size_t tiles = tcb_div_up(s->n, macro_n);
	const unsigned threads = tiles < target->threads ? (unsigned)tiles : target->threads;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ whole_m < m ? m : whole_m,
						  threads > 1   ? macro_n
						  : whole_n < n ? n
								: whole_n,
						  s->k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ m, n, k };
	out->tile[TCB_MICRO] = variant->micro;
	out->knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
	const int is_packed = has_packed(problem, variant);
	const int is_avx2 = variant->isa == TCB_ISA_AVX2;
	const int is_few = is_packed && !is_amx && qmm_cpu_takes_few(problem, variant->isa, s->m);
	out->knob[TCB_KNOB_LAYOUT] = is_packed ? TCB_LAYOUT_R16 : TCB_LAYOUT_NATIVE;
	out->knob[TCB_KNOB_DECODE] = is_few ? TCB_DECODE_REGS : TCB_DECODE_PANEL;
	out->knob[TCB_KNOB_THREADS] = (int32_t)threads;
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_PREFETCH] = is_packed && !is_amx ? PACKED_PREFETCH : 0;
	out->knob[TCB_KNOB_HINT] = is_packed && !is_amx && !is_avx2 ? TCB_HINT_T1 : TCB_HINT_T0;
}

void qmm_cpu_registers(const struct tcb_tile *micro, const struct tcb_cpu_isa *family, int q8,
		       struct tcb_footprint *out)
{
	const size_t vectors = tcb_div_up(micro->n, family->lanes > 1 ? family->lanes : QMM_ROWS);
	out->accumulators = (unsigned)(micro->m * vectors);
	out->vector_registers = (unsigned)(micro->m * vectors + vectors + 2);
	/* Magnitudes of codes; sums of 16 bits stay in registers, words are added to once for some of them. */
	if (q8 && family->lanes > 1 && !family->has_dots)
		out->vector_registers += (unsigned)vectors;
}

void qmm_cpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct tcb_format *format = problem->op->format;
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const int32_t *knob = geometry->knob;
	const int q8 = problem->contract == TCB_CONTRACT_Q8, regs = knob[TCB_KNOB_DECODE] == TCB_DECODE_REGS;
	const int32_t isa = knob[TCB_KNOB_ISA];
	const struct tcb_cpu_isa *family = tcb_cpu_isa(isa);
	const enum qmm_panel_kind kind = qmm_panel_kind(problem->contract, geometry);
	const size_t line = regs ? tcb_lines(format->id) * QMM_LINE : qmm_unpacked_bytes(kind, format->id);
	const size_t token = qmm_token_bytes(kind);
	(void)target;
	memset(out, 0, sizeof(*out));
	out->k_multiple = out->k_step_multiple = format->block_values;
	out->element_bytes = 1;
	out->alignment_bytes = out->vector_bytes = out->base_bytes = QMM_LINE;
	out->leading_bytes = out->tile_offset_bytes = QMM_LINE;
	qmm_cpu_registers(micro, family, q8, out);
	if (isa == TCB_ISA_SCALAR || has_tiles(isa))
		out->vector_registers = 8;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		const struct tcb_tile *tile = &geometry->tile[level];
		const size_t superblocks = tcb_div_up(tile->k, QMM_VALUES);
		out->level_bytes[level] = tcb_div_up(tile->n, QMM_ROWS) * superblocks * line +
					  tile->m * superblocks * token + tile->m * tile->n * sizeof(float);
	}
}

/* Of the word bits: all register tiles have one sum for each output, to which superblocks, or values, are added in the
 * order of k (quant_matmul_kernels.c), also where midi.k cuts it; those of bf16 32 values at a time. */
const char *qmm_cpu_reorders(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry)
{
	if (has_two_orders(problem) && has_tiles(geometry->knob[TCB_KNOB_ISA]))
		return "isa=amx adds 32 values of bf16 at a time, where there are vectors that add one after another";
	return tcb_cpu_reorders_products(problem, target, geometry);
}

const struct tcb_side_space qmm_cpu_space = { NULL,
					      qmm_cpu_axes,
					      qmm_cpu_default_geometry,
					      qmm_cpu_footprint,
					      .family = "quant_matmul",
					      .reorders = qmm_cpu_reorders };
