/* SPDX-License-Identifier: MIT
 *
 * The search space of attention_prefill on GPUs: its axes and its default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/attention/attention_prefill_gpu.h"
#include "kernels/axes.h"
#include "kernels/gpu/gpu_rules.h"

enum {
	HEADS_MOST = 16,
	SHORT_HEAD = 64,
	POLYNOMIALS = 2,
	KV_LEAST_WGMMA = 32,
	KV_LEAST = 16,
	TILES_OF_SM = 4,    /* of which blocks stay */
	BLOCK_SHARED = 1024 /* bytes that a block takes beside its own */
};

static const unsigned short midi_m[] = { 128, 192, 64, 256, 96, 48, 32, 24, 16, 12, 8, 4, 2, 1 };
static const unsigned short tile_n[] = { 128, 64, 32, 16, 80, 96, 112, 144, 160, 176 };
#define COUNT(values) (sizeof(values) / sizeof(*(values)))

/* The problem's SIZE in tiles of TILE, rounded up to 1, 2, 4, ... */
static size_t all_of(size_t size, size_t tile)
{
	return tile * tcb_power_of_two_up(tcb_div_up(size, tile));
}

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	size_t count = 0;
	struct tcb_axis *a = tcb_axis_knob(out, &count, TCB_KNOB_ISA);
	if (prefill_has_wgmma(problem, target))
		ADD(a, TCB_ISA_WGMMA);
	ADD(a, TCB_ISA_MMA);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++)
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level), s->k);
	a = tcb_axis_knob(out, &count, TCB_KNOB_HEADS);
	for (size_t heads = 1; heads <= HEADS_MOST && attention_group(s) % heads == 0; heads *= 2)
		tcb_axis_add(a, heads);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO), 64, 32, 16, 8, 4, 2, 1);
	tcb_axis_add_all(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), COUNT(midi_m), midi_m);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO);
	for (size_t i = 0; i < COUNT(midi_m); i++)
		tcb_axis_add(a, all_of(s->m, midi_m[i]));
	tcb_axis_add_all(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), COUNT(tile_n), tile_n);
	tcb_axis_add_all(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), COUNT(tile_n), tile_n);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO);
	for (size_t i = 0; i < COUNT(tile_n); i++)
		tcb_axis_add(a, all_of(s->n, tile_n[i]));
	a = tcb_axis_knob(out, &count, TCB_KNOB_STAGES);
	ADD(a, 2, 3, 4);
	if (prefill_has_one_stage(problem))
		ADD(a, 1);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_TURNS), 0, 1);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_BLOCKS), 0, 1, 2);
	ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_SCHED), TCB_SCHED_DYNAMIC);
	if (problem->contract == TCB_CONTRACT_F16)
		ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_EXP), 1, 2, 4);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_OCC), 1, 2, 3);
	if (attention_has_codes(problem))
		ADD(tcb_axis_knob(out, &count, TCB_KNOB_PREP), TCB_PREP_LAUNCH, TCB_PREP_WARPS);
	a = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(a, 0);
	if (target->cuda.capability >= 90)
		ADD(a, 1);
	return count;
}

/* OWN query tokens for each of as many warps or warpgroups as there are tokens for, at most MOST, KV tokens at a time.
 */
static void set_tiles(const struct tcb_shape *s, size_t own, size_t most, size_t kv, struct tcb_geometry *out)
{
	size_t workers = 1;
	while (workers < most && workers * own < s->m)
		workers *= 2;
	out->tile[TCB_MICRO] = (struct tcb_tile){ own, kv, s->k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ own * workers, kv, s->k };
	out->tile[TCB_MACRO] = (struct tcb_tile){ all_of(s->m, own * workers), all_of(s->n, kv), s->k };
}

/* mma: KV tokens that registers hold beside O; contract f32 has two sums for each score. */
static size_t mma_kv(const struct tcb_problem *problem)
{
	const size_t k = tcb_most(problem->shape.k, attention_v(&problem->shape));
	if (problem->contract == TCB_CONTRACT_F32)
		return k > 128 ? 16 : k > 64 ? 32 : 64;
	return k > 192 ? 16 : k > 128 ? 32 : 64;
}

static size_t shared_bytes(const struct tcb_problem *problem, const struct tcb_target *target,
			   const struct tcb_geometry *geometry)
{
	struct prefill_gpu g;
	prefill_gpu_plan(problem, target, geometry, &g);
	return g.shared_bytes;
}

static int breaks_rule(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry)
{
	for (const struct tcb_rule *rule = attention_prefill_gpu_rules; !tcb_rule_is_end(rule); rule++)
		if (rule->kind == TCB_RULE_KERNEL && tcb_rule_broken(rule, problem, target, geometry))
			return 1;
	return 0;
}

/* One tile of KV, which leaves two warpgroups nothing to take turns at: two blocks on each multiprocessor, of a
 * warpgroup each where they stay for many tiles, or tiles are few. */
static void pair_blocks(const struct tcb_problem *problem, const struct tcb_target *target, size_t tiles, size_t kv,
			struct tcb_geometry *out)
{
	const struct tcb_geometry alone = *out;
	struct tcb_footprint f;
	const size_t sms = tcb_most(target->cuda.sm_count, 1);
	const int is_full = tiles >= TILES_OF_SM * sms;
	if (is_full || 2 * tiles < sms) {
		set_tiles(&problem->shape, 64, 1, kv, out);
		out->knob[TCB_KNOB_TURNS] = 0;
	}
	out->knob[TCB_KNOB_BLOCKS] = is_full ? 2 : 0;
	out->knob[TCB_KNOB_OCC] = 2;
	prefill_gpu_footprint(problem, target, out, &f);
	if (breaks_rule(problem, target, out) || 2 * (f.shared_bytes + BLOCK_SHARED) > tcb_shared_limit(target) ||
	    2 * (size_t)f.block_threads * tcb_round_up(f.thread_registers, 8) > PREFILL_REGISTERS)
		*out = alone;
}

/* wgmma: two warpgroups by turns, as many KV tokens as their registers take, a block that stays on each multiprocessor.
 * mma: four warps of 16 rows; of contract f32 as many as there is shared memory for q's terms, and eight where a
 * multiprocessor has no two blocks of four, but for blocks of KV: so the model ranks them. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const int is_wgmma = prefill_has_wgmma(problem, target);
	const size_t own = is_wgmma ? 64 : 16, v = attention_v(s);
	/* ALiBi's distances take registers, too. */
	size_t kv = is_wgmma ? (v > (s->words.alibi ? 64 : 128) ? 64 : 128) : mma_kv(problem);
	while (kv / 2 >= tcb_most(s->n, is_wgmma ? KV_LEAST_WGMMA : KV_LEAST))
		kv /= 2;
	tcb_geometry_init(out);
	/* V of more than 256 values is dealt to several warps or warpgroups. */
	size_t most = v > 512 ? 2 : 4;
	set_tiles(s, own, !is_wgmma ? most : v > 256 ? 1 : 2, kv, out);
	size_t workers = out->tile[TCB_MIDI].m / own;
	const size_t tiles = tcb_div_up(s->m, own * workers) * s->words.query * s->words.sequences;
	out->knob[TCB_KNOB_ISA] = is_wgmma ? TCB_ISA_WGMMA : TCB_ISA_MMA;
	out->knob[TCB_KNOB_STAGES] = 2;
	out->knob[TCB_KNOB_BLOCKS] = is_wgmma && tiles > tcb_most(target->cuda.sm_count, 1);
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
	if (attention_has_codes(problem))
		out->knob[TCB_KNOB_PREP] = TCB_PREP_LAUNCH;
	out->knob[TCB_KNOB_OCC] = 1;
	out->knob[TCB_KNOB_HEADS] = 1;
	out->knob[TCB_KNOB_TURNS] = is_wgmma && (workers > 1 || v > 256);
	/* Exponentials are what short heads wait for. */
	if (is_wgmma && tcb_most(s->k, v) <= SHORT_HEAD)
		out->knob[TCB_KNOB_EXP] = POLYNOMIALS;
	const size_t limit = tcb_shared_limit(target);
	while (is_wgmma && shared_bytes(problem, target, out) > limit) {
		if (kv > 32)
			set_tiles(s, own, workers, kv /= 2, out);
		else {
			set_tiles(s, own, workers = 1, kv = 128, out);
			out->knob[TCB_KNOB_TURNS] = v > 256;
		}
	}
	if (problem->contract == TCB_CONTRACT_F32 && !attention_has_codes(problem) && v <= 256 &&
	    2 * shared_bytes(problem, target, out) > limit)
		set_tiles(s, own, most = 8, kv, out);
	while (!is_wgmma && most > 1 && shared_bytes(problem, target, out) > limit)
		set_tiles(s, own, most /= 2, kv, out);
	if (prefill_has_one_stage(problem) && shared_bytes(problem, target, out) > limit)
		out->knob[TCB_KNOB_STAGES] = 1;
	if (is_wgmma && s->n <= kv && v <= 256)
		pair_blocks(problem, target, tiles, kv, out);
}

const struct tcb_side_space prefill_gpu_space = { attention_prefill_gpu_rules, axes, default_geometry,
						  prefill_gpu_footprint };
