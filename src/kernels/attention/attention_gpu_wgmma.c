/* SPDX-License-Identifier: MIT
 *
 * attention_decode with wgmma: a geometry in numbers, what it must keep, the default one, and the launches.
 */
#include "kernels/attention/attention_gpu_wgmma.h"

#include "base/sizes.h"
#include "kernels/gpu/gpu_rules.h"

enum {
	GROUP_WARPS = 4,
	STAGES_MAX = 6,
	USUAL_STAGES = 4,
	LONG_STAGES = 3,
	WIDE_KV = 128, /* KV tokens of a tile where V is short */
	SHORT_V = 128,
	LONG_V = 256,
	USUAL_ROWS = 32,
	USUAL_HEADS = 8,
	ALIGN = 256
};

int attention_is_wgmma(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA;
}

unsigned attention_wgmma_heads(const struct tcb_problem *problem)
{
	const size_t group = attention_group(&problem->shape);
	return (unsigned)tcb_least(group & -group, PREFILL_GROUP_ROWS);
}

int attention_has_wgmma(const struct tcb_problem *problem, const struct tcb_target *target)
{
	return !attention_has_codes(problem) && prefill_has_wgmma(problem, target) &&
	       attention_wgmma_heads(problem) >= ATTENTION_WGMMA_HEADS_MIN;
}

/* Query tokens of a tile that are there. */
static size_t tokens_used(const struct tcb_problem *problem, size_t heads)
{
	return tcb_least(PREFILL_GROUP_ROWS / heads, problem->shape.m);
}

int attention_wgmma_is_usual(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const size_t heads = attention_wgmma_heads(problem);
	return attention_has_wgmma(problem, target) && heads >= USUAL_HEADS &&
	       heads * tokens_used(problem, heads) >= USUAL_ROWS;
}

void attention_wgmma_plan(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, struct attention_gpu *out, struct prefill_gpu *tiles_out)
{
	struct attention_gpu *g = out;
	struct prefill_gpu *p = tiles_out;
	prefill_gpu_plan(problem, target, geometry, p);
	g->tokens = (unsigned)tcb_least(g->tokens, g->m);
	g->rows = g->tokens * g->heads;
	g->workspace_bytes = 0;
	p->lead = g->lead;
	if (g->slots > 1) {
		const size_t parts = (size_t)g->sequences * g->tiles * g->slots;
		p->kv_parts = g->slots;
		p->part_rows = g->rows;
		p->part_wide = g->v_wide;
		p->parts_ml_at = g->parts_ml_at = tcb_round_up(parts * g->rows * g->v_wide * 4, ALIGN);
		g->workspace_bytes = g->parts_ml_at + parts * g->rows * 8;
	}
}

void attention_wgmma_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	prefill_gpu_footprint(problem, target, geometry, out);
	out->grid[1] = KNOB_COUNT(SPLITK);
}

static const char *check_tiles(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const size_t k = tcb_power_of_two_up(problem->shape.k), page = problem->shape.words.page;
	const unsigned heads = KNOB(HEADS);
	if (macro->k != k || midi->k != k || micro->k != k)
		return "tiles' k must be the head size, rounded up to a power of two";
	if (heads < ATTENTION_WGMMA_HEADS_MIN || heads > PREFILL_GROUP_ROWS || !tcb_is_power_of_two(heads) ||
	    attention_group(&problem->shape) % heads || micro->m * heads != PREFILL_GROUP_ROWS)
		return "heads must be 4, 8, 16, 32 or 64 that divide the query heads of a KV head, and micro.m 64 / "
		       "heads, with isa=wgmma";
	if (micro->n % 16 || micro->n < 32 || micro->n > PREFILL_KV_MAX || !tcb_is_power_of_two(micro->n))
		return "micro.n must be 32, 64, 128 or 256 KV tokens with isa=wgmma";
	if (page && page % micro->n && micro->n % page)
		return "micro.n must be whole pages or a part of one with isa=wgmma";
	if (midi->m != micro->m || midi->n != micro->n)
		return "midi.m and midi.n must be micro's with isa=wgmma";
	return NULL;
}

const char *attention_rule_wgmma(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry)
{
	struct prefill_gpu p;
	const int32_t join = geometry->knob[TCB_KNOB_JOIN], sched = geometry->knob[TCB_KNOB_SCHED];
	if (!attention_is_wgmma(geometry))
		return NULL;
	if (!attention_has_wgmma(problem, target))
		return "isa=wgmma needs sm_90, contract f16, K and V of f16 or bf16, V of at most 512 values, a "
		       "multiple of 4 query heads of each KV head, and of pages 8, 16, 32, ... tokens and no window";
	const char *reason = check_tiles(problem, geometry);
	if (reason)
		return reason;
	if (geometry->knob[TCB_KNOB_COPY] != TCB_COPY_BULK || KNOB(VEC) != 16 || KNOB(STAGES) < 2 ||
	    KNOB(STAGES) > STAGES_MAX)
		return "copy must be bulk, vec 16 and stages 2 to 6 with isa=wgmma";
	if (KNOB(WARPS) != GROUP_WARPS * prefill_wgmma_splits(problem))
		return "warps must be 4 with isa=wgmma, 8 where V has more than 256 values";
	if (KNOB(CLUSTER) != 1 || sched != TCB_KNOB_UNSET || KNOB(BLOCKS))
		return "cluster must be 1, sched and blocks left out with isa=wgmma";
	if (join != (KNOB(SPLITK) > 1 ? TCB_JOIN_LAUNCH : TCB_JOIN_NONE))
		return "join must be launch with isa=wgmma, none where splitk is 1";
	prefill_gpu_plan(problem, target, geometry, &p);
	return prefill_has_registers(&p) ? NULL : "O, S and P of a tile need more registers than threads have";
}

/* A block on each multiprocessor. */
void attention_wgmma_default(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t heads = attention_wgmma_heads(problem), tokens = PREFILL_GROUP_ROWS / heads;
	const size_t k = tcb_power_of_two_up(s->k), m = tcb_power_of_two_up(s->m), n = tcb_power_of_two_up(s->n);
	const size_t tiles = s->words.sequences * s->words.kv * (attention_group(s) / heads) * tcb_div_up(s->m, tokens);
	/* Three short tiles of a long head are better than two that fill the memory, where there is much to multiply.
	 */
	size_t kv = attention_v(s) <= SHORT_V                                ? WIDE_KV
		    : attention_v(s) > LONG_V && heads == PREFILL_GROUP_ROWS ? WIDE_KV / 4
									     : WIDE_KV / 2;
	struct prefill_gpu p;
	tcb_geometry_init(out);
	out->knob[TCB_KNOB_ISA] = TCB_ISA_WGMMA;
	out->knob[TCB_KNOB_WARPS] = (int32_t)(GROUP_WARPS * prefill_wgmma_splits(problem));
	out->knob[TCB_KNOB_COPY] = TCB_COPY_BULK;
	out->knob[TCB_KNOB_VEC] = 16;
	out->knob[TCB_KNOB_STAGES] = 2;
	out->knob[TCB_KNOB_CLUSTER] = out->knob[TCB_KNOB_OCC] = 1;
	out->knob[TCB_KNOB_HEADS] = (int32_t)heads;
	for (;; kv /= 2) {
		out->tile[TCB_MICRO] = out->tile[TCB_MIDI] = (struct tcb_tile){ tokens, kv, k };
		prefill_gpu_plan(problem, target, out, &p);
		if (kv == WIDE_KV / 4 || p.shared_bytes <= tcb_shared_limit(target))
			break;
	}
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_most(m, tokens), tcb_most(n, kv), k };
	const size_t whole = tcb_least(tcb_most(tcb_most(target->cuda.sm_count, 1) / tiles, 1), ALIGN);
	const size_t splitk = tcb_least(whole, tcb_div_up(attention_visible_most(s), kv));
	out->knob[TCB_KNOB_SPLITK] = (int32_t)splitk;
	out->knob[TCB_KNOB_JOIN] = splitk > 1 ? TCB_JOIN_LAUNCH : TCB_JOIN_NONE;
	out->knob[TCB_KNOB_PDL] = 1;
	while (out->knob[TCB_KNOB_STAGES] < (attention_v(s) > LONG_V ? LONG_STAGES : USUAL_STAGES)) {
		out->knob[TCB_KNOB_STAGES]++;
		prefill_gpu_plan(problem, target, out, &p);
		if (p.shared_bytes > tcb_shared_limit(target)) {
			out->knob[TCB_KNOB_STAGES]--;
			return;
		}
	}
}

void attention_write_wgmma(struct attention_writer *w, const struct prefill_gpu *tiles)
{
	struct prefill_writer p = { .kit = w->kit, .g = tiles, .words = w->g->words };
	prefill_write_kernel(&p, tcb_ptx_namef(&p.kit.b, "attention_decode_%s_wgmma", tcb_kv_row(tiles->cache)->word));
	w->kit = p.kit;
	if (w->g->slots > 1)
		attention_write_second(w);
}

/* As both kernels have it: four units a token cut towards zero, a rescale for each tile and each part. */
double attention_wgmma_chain(const struct attention_gpu *g, const struct prefill_gpu *tiles)
{
	const size_t all = tcb_div_up(g->n, tiles->kv);
	const double of_block = (double)tcb_div_up(all, g->slots) + 1;
	return of_block * (4.0 * tiles->kv + 8) + 8.0 * g->slots + 24;
}
