/* SPDX-License-Identifier: MIT
 *
 * The search space of the quantised matmul on a CPU: its axes, its default
 * geometry, the numbers that the constraints judge, and the rules of its own
 * that a geometry must keep.
 */
#include <string.h>

#include "base/cpu_isas.h"
#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_cpu.h"
#include "kernels/quant_matmul/quant_matmul_layout.h"

enum {
	PANEL_BYTES_MAX = 64 << 20, /* what one thread unpacks at a time: more than any L2 */
	TILE_TOKENS_MAX = 16,
	AMX_ROWS = 32, /* two tiles of weights a tile of activations */
	DEFAULT_AMX_ROWS = 256,
	DEFAULT_ROWS = 64,
	DEFAULT_K_Q8 = 4096,
	DEFAULT_K_F32 = 512,
	DEFAULT_TOKENS = 64,
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
	const size_t panel =
		problem->contract == TCB_CONTRACT_Q8 ? qmm_panel_bytes(format->id) : sizeof(struct qmm_values);
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
	add_wide_tiles(&out[count - 1], micro_m, s->m);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MIDI);
	tcb_axis_add(a, s->k);
	for (size_t k = QMM_VALUES; k <= 4096; k *= 4)
		if (is_tile_k(s, k))
			tcb_axis_add(a, k);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_PREFETCH), 0, 4096, 16384);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_HINT), TCB_HINT_T0, TCB_HINT_T1);
	return count;
}

/*
 * Of two families the one with the higher rank is the default: the wider, but for AMX.  Nothing shows its kernels to be
 * faster than those of VNNI: the best of q4_k, 512x4096x4096, take as long on a Xeon (results/cpu-xeon-amx), and q6_k
 * takes 1.3 times as long from 32 tokens on.  A rule for x86_64-amx will say where it is (default_rules.h).
 */
static int rank_of(enum tcb_isa isa)
{
	return has_tiles(isa) ? 2 * TCB_ISA_SCALAR + 1 : 2 * (int)isa;
}

/* The preferred instructions that there are variants for, and of their tiles without waste the largest of one group. */
static const struct tcb_variant *best_variant(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const struct tcb_op *op = problem->op;
	const struct tcb_variant *best = NULL, *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(op), i)); i++) {
		if (variant->contract != problem->contract || !tcb_target_has(target, variant->isa) ||
		    variant->layout != TCB_LAYOUT_NATIVE ||
		    variant->micro.n > (has_tiles(variant->isa) && problem->shape.n > QMM_ROWS ? AMX_ROWS : QMM_ROWS))
			continue;
		/* midi.n would be 16 and macro.n, whole register tiles, less. */
		if (variant->micro.n < QMM_ROWS && problem->shape.n <= variant->micro.n)
			continue;
		if (variant->micro.m > (has_tiles(variant->isa) ? 16 : 8) ||
		    (variant->micro.m > 1 && variant->micro.m > problem->shape.m))
			continue;
		if (!best || rank_of(variant->isa) > rank_of(best->isa) ||
		    (variant->isa == best->isa && (variant->micro.m > best->micro.m ||
						   (has_tiles(variant->isa) && variant->micro.m == best->micro.m &&
						    variant->micro.n > best->micro.n))))
			best = variant;
	}
	return best ? best : tcb_variant_at(tcb_op_cpu(op), 0);
}

/*
 * What a good hand-written kernel does: weights as stored, blocks of 64 rows unpacked into the second cache, the
 * preferred instructions, an even share of rows for each thread.  With AMX (`cpu:amx`), whose processors have 2 MiB of
 * it, 256 rows and as many tokens as a tile has: on a Xeon that takes three quarters of the time of blocks of 64 (q4_k,
 * 512x4096x4096).
 */
void qmm_cpu_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			      struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const struct tcb_variant *variant = best_variant(problem, target);
	const size_t most_k = problem->contract == TCB_CONTRACT_Q8 ? DEFAULT_K_Q8 : DEFAULT_K_F32;
	const size_t whole_m = tcb_power_of_two_up(s->m), whole_n = tcb_power_of_two_up(s->n);
	const int is_amx = has_tiles(variant->isa);
	const size_t tokens = is_amx ? variant->micro.m : DEFAULT_TOKENS,
		     rows = is_amx ? DEFAULT_AMX_ROWS : DEFAULT_ROWS;
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
	out->knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_NATIVE;
	out->knob[TCB_KNOB_DECODE] = TCB_DECODE_PANEL;
	out->knob[TCB_KNOB_THREADS] = (int32_t)threads;
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_PREFETCH] = 0;
	out->knob[TCB_KNOB_HINT] = TCB_HINT_T0;
}

void qmm_cpu_registers(const struct tcb_tile *micro, const struct tcb_cpu_isa *family, int q8,
		       struct tcb_footprint *out)
{
	const size_t vectors = tcb_div_up(micro->n, family->lanes > 1 ? family->lanes : QMM_ROWS);
	out->accumulators = (unsigned)(micro->m * vectors);
	out->vector_registers = (unsigned)(micro->m * vectors + vectors + 2);
	if (q8 && family->lanes > 1 && !family->has_dots)
		out->vector_registers += (unsigned)(micro->m * vectors + vectors);
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
	const size_t line = q8 ? (regs ? tcb_lines(format->id) * QMM_LINE : qmm_panel_bytes(format->id))
			       : sizeof(struct qmm_values);
	const size_t token = q8 ? sizeof(struct qmm_x8) : QMM_VALUES * sizeof(float);
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

const struct tcb_side_space qmm_cpu_space = { NULL, qmm_cpu_axes, qmm_cpu_default_geometry, qmm_cpu_footprint };
