/* SPDX-License-Identifier: MIT
 *
 * The search space of products of experts on a CPU: the quantised matmul's,
 * with larger blocks of rows, and a default of its own, since what an expert
 * has is fewer tokens.
 */
#include "base/cpu_isas.h"
#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/quant_experts/quant_experts_cpu.h"
#include "kernels/quant_matmul/quant_matmul_cpu.h"

enum {
	TOKENS_MAX = 8,
	MIDI_TOKENS = 64,
	PREFETCH = 4096,
	/* Blocks of rows: so many results at a time, which stay in the first or second cache.  Where few tokens come, a
	 * gated pair in small blocks goes from one stream of weights to the other too often: 64 rows take 1.06 times
	 * as long as 1024 (q4_k, 4x768x2048,e128/8, Zen 5). */
	BLOCK_FLOATS = 16 << 10,
	ROWS_LEAST = 64,
	ROWS_MOST = 1024,
};

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t count = qmm_cpu_axes(problem, target, out);
	for (size_t i = 0; i < count; i++)
		if (out[i].kind == TCB_AXIS_TILE_N && out[i].which == TCB_MIDI &&
		    tcb_power_of_two_up(problem->shape.n) >= ROWS_MOST)
			tcb_axis_add(&out[i], ROWS_MOST);
	return count;
}

/* Of those from packed lines with 16 rows (few tokens have few sums, and headers of more rows take the registers), the
 * widest instructions and the largest tile that an expert may fill: those with fewer tokens have narrower ones.  NULL:
 * there is none. */
static const struct tcb_variant *find_variant(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t tokens = tcb_least(tcb_power_of_two_up(s->m), TOKENS_MAX);
	const struct tcb_variant *best = NULL, *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(problem->op), i)); i++) {
		if (variant->contract != TCB_CONTRACT_Q8 || variant->contract != problem->contract ||
		    variant->layout != TCB_LAYOUT_R16 || !tcb_target_has(target, variant->isa) ||
		    variant->isa == TCB_ISA_SCALAR || tcb_cpu_isa((int32_t)variant->isa)->has_tiles ||
		    variant->micro.n > QMM_ROWS || variant->micro.m > tokens)
			continue;
		/* midi.n would be 16 and macro.n, whole register tiles, less. */
		if (variant->micro.n < QMM_ROWS && s->n <= variant->micro.n)
			continue;
		if (!best || variant->isa > best->isa ||
		    (variant->isa == best->isa &&
		     (variant->micro.m > best->micro.m ||
		      (variant->micro.m == best->micro.m && variant->micro.n > best->micro.n))))
			best = variant;
	}
	return best;
}

/* Whether an expert's tokens, were they spread evenly, are so many that AVX2 takes its weights apart in blocks: on a
 * Zen 3 0.79 to 0.92 of the time from 17 tokens on.  Of other vectors nobody measured it. */
static int takes_blocks(const struct tcb_problem *problem, const struct tcb_variant *variant)
{
	const struct tcb_words *words = &problem->shape.words;
	const size_t each = tcb_div_up(problem->shape.m * words->used, tcb_most(words->experts, 1));
	return variant->isa == TCB_ISA_AVX2 && !qmm_cpu_takes_few(problem, variant->isa, each);
}

/* The plain matmul's, on packed weights where kernels read them. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_variant *variant = find_variant(problem, target);
	const size_t whole_m = tcb_power_of_two_up(problem->shape.m), whole_n = tcb_power_of_two_up(problem->shape.n);
	size_t macro_n = tcb_most(whole_n, QMM_ROWS);
	qmm_cpu_default_geometry(problem, target, out);
	if (!variant)
		return;
	while (macro_n > QMM_ROWS && tcb_div_up(problem->shape.n, macro_n) < target->threads)
		macro_n /= 2;
	const size_t tiles = tcb_div_up(problem->shape.n, macro_n), m = tcb_most(whole_m, variant->micro.m);
	const size_t rows = tcb_least(tcb_most(BLOCK_FLOATS / m, ROWS_LEAST), ROWS_MOST);
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, macro_n, problem->shape.k };
	out->tile[TCB_MIDI] =
		(struct tcb_tile){ tcb_least(m, MIDI_TOKENS), tcb_least(macro_n, rows), problem->shape.k };
	out->tile[TCB_MICRO] = variant->micro;
	out->knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
	out->knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_R16;
	out->knob[TCB_KNOB_DECODE] = takes_blocks(problem, variant) ? TCB_DECODE_PANEL : TCB_DECODE_REGS;
	out->knob[TCB_KNOB_THREADS] = (int32_t)tcb_least(tiles, target->threads);
	out->knob[TCB_KNOB_SCHED] = out->knob[TCB_KNOB_THREADS] > 1 ? TCB_SCHED_DYNAMIC : TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_PREFETCH] = PREFETCH;
	out->knob[TCB_KNOB_HINT] = variant->isa == TCB_ISA_AVX2 ? TCB_HINT_T0 : TCB_HINT_T1;
}

/* Of the word bits: the plain matmul's order, then of sums that of experts; a gate is of the widest vectors, which
 * tiles have, too. */
static const char *reorders(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry)
{
	const char *why = qex_kind(problem)->is_gated ? tcb_cpu_reorders_lanes(problem, target, geometry) : NULL;
	return why ? why : qmm_cpu_reorders(problem, target, geometry);
}

const struct tcb_side_space qex_cpu_space = { NULL, axes, default_geometry, qmm_cpu_footprint, .reorders = reorders };
