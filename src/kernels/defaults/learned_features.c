/* SPDX-License-Identifier: MIT
 *
 * In: a problem, a target and a geometry.  Out: numbers of them.  What the op
 * says of any of its geometries (its footprint) is used, and no op is named;
 * integers only, so that the same trees give the same answers everywhere.
 */
#include "kernels/defaults/learned_features.h"

#include "base/kind.h"
#include "base/sizes.h"
#include "kernels/constraint.h"
#include "kernels/formats.h"

/* A superblock is a step along k; what the driver takes of a block's shared memory. */
enum { DOUBLING = 256, WHOLE = 1024, TWOS_MOST = 12, BLOCK_OVERHEAD = 1024, UNIT_VALUES = 256, WARP = 32 };

/* In 256ths of doublings, straight between powers of two; 0 for 0. */
static int doublings(uint64_t value)
{
	if (!value)
		return 0;
	const int whole = 63 - __builtin_clzll(value);
	const uint64_t rest = value - (UINT64_C(1) << whole);
	return DOUBLING * whole + (int)(whole > 8 ? rest >> (whole - 8) : rest << (8 - whole));
}

static int share(uint64_t part, uint64_t all)
{
	return all ? (int)(part * WHOLE / all) : 0;
}

static int twos(size_t value)
{
	const int zeros = value ? __builtin_ctzll(value) : TWOS_MOST;
	return zeros < TWOS_MOST ? zeros : TWOS_MOST;
}

static int16_t clipped(int64_t value)
{
	return (int16_t)(value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value);
}

const char *tcb_learned_feature_name(unsigned feature)
{
	static const char *const names[] = {
#define NAME(name, help) #name,
		TCB_LEARNED_FEATURE_LIST(NAME)
#undef NAME
	};
	return feature < TCB_LEARNED_KNOBS ? names[feature]
					   : tcb_knob_key((enum tcb_knob)(feature - TCB_LEARNED_KNOBS));
}

/* What the features of one candidate are computed from. */
struct view {
	const struct tcb_shape *shape;
	const struct tcb_geometry *geometry;
	struct tcb_footprint footprint;
	uint64_t processors, k;
	uint64_t weight_bits; /* of a weight, in 32nds */
	uint64_t x_bytes;     /* of an activation */
};

static uint64_t knob(const struct view *view, enum tcb_knob which)
{
	const int32_t value = view->geometry->knob[which];
	return value > 0 ? (uint64_t)value : 1;
}

static void add_problem(const struct tcb_problem *problem, const struct view *view, int16_t *out)
{
	const struct tcb_format *format = problem->op->format;
	const struct tcb_shape *shape = view->shape;
	out[TCB_LEARNED_m] = clipped(doublings(shape->m));
	out[TCB_LEARNED_n] = clipped(doublings(shape->n));
	out[TCB_LEARNED_k] = clipped(doublings(shape->k));
	out[TCB_LEARNED_n_twos] = clipped(twos(shape->n));
	out[TCB_LEARNED_k_twos] = clipped(twos(shape->k));
	out[TCB_LEARNED_contract] = clipped(problem->contract);
	out[TCB_LEARNED_weight_bits] = clipped((int64_t)view->weight_bits);
	out[TCB_LEARNED_block] = clipped(format ? (int64_t)format->block_values : 1);
	out[TCB_LEARNED_codes] = clipped(format ? (int64_t)format->codes : -1);
	out[TCB_LEARNED_scales] = clipped(format ? (int64_t)format->scales : -1);
	out[TCB_LEARNED_run] = clipped(format ? (int64_t)format->run_values : 0);
	out[TCB_LEARNED_offsets] = clipped(format ? format->has_offsets : 0);
	out[TCB_LEARNED_processors] = clipped(doublings(view->processors));
}

/* How many blocks fit on a multiprocessor: as many as there is memory, and as many registers and threads. */
static uint64_t resident_of(const struct tcb_target *target, const struct tcb_footprint *footprint)
{
	const size_t shared = tcb_shared_limit(target) + BLOCK_OVERHEAD;
	const size_t threads = tcb_most(footprint->block_threads, 1);
	const size_t registers = tcb_most(footprint->thread_registers, 16) * threads;
	size_t most = 2 * (size_t)target->cuda.block_threads_max / threads;
	most = tcb_least(most, shared / (footprint->shared_bytes + BLOCK_OVERHEAD));
	most = tcb_least(most, target->cuda.block_registers_max / registers);
	return tcb_most(most, 1);
}

/* Work as blocks of threads, dealt to multiprocessors. */
struct deal {
	uint64_t tiles_m, tiles_n, blocks, rounds, resident, waves;
	uint64_t run; /* of a block that stays: its steps along k, of whatever tiles; 0: blocks have whole tiles */
};

/* Streamed blocks that stay share all steps along k evenly, "stream-K": at most one tile fewer than blocks is cut. */
static int is_dealt(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_BLOCKS] > 0 && geometry->knob[TCB_KNOB_XSTAGES] > 1 &&
	       geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA;
}

static struct deal deal_of(const struct tcb_target *target, const struct view *view)
{
	const struct tcb_tile *midi = &view->geometry->tile[TCB_MIDI];
	struct deal deal = { tcb_div_up(view->shape->m, midi->m), tcb_div_up(view->shape->n, midi->n) };
	deal.blocks = deal.tiles_m * deal.tiles_n * knob(view, TCB_KNOB_SPLITK);
	deal.rounds = tcb_div_up(deal.blocks, view->processors);
	deal.resident = resident_of(target, &view->footprint);
	deal.waves = tcb_div_up(deal.blocks, view->processors * deal.resident);
	if (is_dealt(view->geometry)) {
		const uint64_t steps = deal.blocks * tcb_div_up(view->k, UNIT_VALUES);
		deal.blocks = tcb_least(steps, view->processors * knob(view, TCB_KNOB_BLOCKS));
		deal.run = tcb_div_up(steps, deal.blocks);
		deal.rounds = deal.waves = 1;
	}
	return deal;
}

static void add_tiles(const struct view *view, const struct deal *deal, int16_t *out)
{
	const struct tcb_tile *midi = &view->geometry->tile[TCB_MIDI], *micro = &view->geometry->tile[TCB_MICRO];
	const struct tcb_shape *shape = view->shape;
	out[TCB_LEARNED_midi_m] = clipped(doublings(midi->m));
	out[TCB_LEARNED_midi_n] = clipped(doublings(midi->n));
	out[TCB_LEARNED_micro_m] = clipped(doublings(micro->m));
	out[TCB_LEARNED_micro_n] = clipped(doublings(micro->n));
	out[TCB_LEARNED_micro_k] = clipped(doublings(micro->k));
	out[TCB_LEARNED_tiles_m] = clipped(doublings(deal->tiles_m));
	out[TCB_LEARNED_tiles_n] = clipped(doublings(deal->tiles_n));
	out[TCB_LEARNED_used_m] = clipped(share(shape->m, deal->tiles_m * midi->m));
	out[TCB_LEARNED_used_n] = clipped(share(shape->n, deal->tiles_n * midi->n));
	out[TCB_LEARNED_used_micro] = clipped(share(shape->m, tcb_round_up(shape->m, micro->m)));
	out[TCB_LEARNED_used_micro_n] = clipped(share(shape->n, tcb_round_up(shape->n, micro->n)));
	out[TCB_LEARNED_midi_k] = clipped(doublings(midi->k));
}

static void add_deal(const struct view *view, const struct deal *deal, int16_t *out)
{
	const struct tcb_footprint *footprint = &view->footprint;
	out[TCB_LEARNED_blocks] = clipped(doublings(deal->blocks));
	out[TCB_LEARNED_rounds] = clipped(doublings(deal->rounds));
	out[TCB_LEARNED_last_round] = clipped(share(deal->blocks, deal->rounds * view->processors));
	out[TCB_LEARNED_resident] = clipped((int64_t)deal->resident);
	out[TCB_LEARNED_waves] = clipped(doublings(deal->waves));
	out[TCB_LEARNED_last_wave] = clipped(share(deal->blocks, deal->waves * deal->resident * view->processors));
	out[TCB_LEARNED_warps_resident] =
		clipped((int64_t)(deal->resident * tcb_div_up(footprint->block_threads, WARP)));
	out[TCB_LEARNED_shared] = clipped(doublings(footprint->shared_bytes));
	out[TCB_LEARNED_tile_bytes] = clipped(doublings(footprint->level_bytes[TCB_MICRO]));
	out[TCB_LEARNED_in_flight] = clipped(doublings(footprint->level_bytes[TCB_MICRO] * knob(view, TCB_KNOB_STAGES) *
						       knob(view, TCB_KNOB_WARPS) * deal->resident));
	out[TCB_LEARNED_registers] = clipped((int64_t)footprint->thread_registers);
	out[TCB_LEARNED_threads] = clipped((int64_t)footprint->block_threads);
	out[TCB_LEARNED_accumulators] = clipped((int64_t)footprint->accumulators);
}

/* What blocks read and multiply, and the multiprocessor that has most of them. */
static void add_work(const struct view *view, const struct deal *deal, int16_t *out)
{
	const struct tcb_tile *midi = &view->geometry->tile[TCB_MIDI];
	const uint64_t n = view->shape->n, m = view->shape->m, splitk = knob(view, TCB_KNOB_SPLITK);
	const uint64_t k = deal->run ? deal->run * UNIT_VALUES : tcb_div_up(view->k, splitk);
	const uint64_t weights = midi->n * k * view->weight_bits / 256, x = midi->m * k * view->x_bytes;
	const uint64_t flops = (uint64_t)midi->m * midi->n * k;
	const int even_weights = doublings(n * view->k * view->weight_bits / 256 / view->processors + 1);
	const int even_flops = doublings(m * n * view->k / view->processors + 1);
	out[TCB_LEARNED_block_weights] = clipped(doublings(weights));
	out[TCB_LEARNED_block_x] = clipped(doublings(x));
	out[TCB_LEARNED_block_flops] = clipped(doublings(flops));
	out[TCB_LEARNED_busiest_weights] = clipped(doublings(deal->rounds * weights));
	out[TCB_LEARNED_busiest_x] = clipped(doublings(deal->rounds * x));
	out[TCB_LEARNED_busiest_flops] = clipped(doublings(deal->rounds * flops));
	out[TCB_LEARNED_over_even_weights] = clipped(doublings(deal->rounds * weights) - even_weights);
	out[TCB_LEARNED_over_even_flops] = clipped(doublings(deal->rounds * flops) - even_flops);
	const uint64_t cut = deal->run % tcb_div_up(view->k, UNIT_VALUES) ? deal->blocks : 0;
	out[TCB_LEARNED_part_bytes] = clipped(doublings(
		splitk > 1 ? m * n * splitk * sizeof(float) : 2 * cut * (uint64_t)midi->m * midi->n * sizeof(float)));
	out[TCB_LEARNED_dealt] = deal->run > 0;
	out[TCB_LEARNED_run_tiles] = clipped(share(deal->run, tcb_div_up(view->k, UNIT_VALUES)));
	out[TCB_LEARNED_intensity] = clipped(doublings(flops) - doublings(weights + x));
}

static void add_steps(const struct view *view, const struct deal *deal, int16_t *out)
{
	const uint64_t parts = knob(view, TCB_KNOB_SPLITK) * knob(view, TCB_KNOB_KSPLIT) * knob(view, TCB_KNOB_UNROLL);
	const uint64_t all = deal->run ? deal->run : tcb_div_up(view->k, UNIT_VALUES), steps = tcb_div_up(all, parts),
		       stages = knob(view, TCB_KNOB_STAGES);
	out[TCB_LEARNED_steps] = clipped(doublings(steps));
	out[TCB_LEARNED_step_rest] = clipped(share(steps % stages, stages));
	out[TCB_LEARNED_steps_over_stages] = clipped(doublings(steps) - doublings(stages));
}

/* Steps along k that a warp takes at once, from one part of k. */
static void add_unrolled(const struct tcb_problem *problem, const struct view *view, const struct deal *deal,
			 int16_t *out)
{
	const struct tcb_tile *micro = &view->geometry->tile[TCB_MICRO];
	const uint64_t parts = knob(view, TCB_KNOB_SPLITK) * knob(view, TCB_KNOB_KSPLIT),
		       unroll = knob(view, TCB_KNOB_UNROLL);
	const uint64_t steps = tcb_div_up(tcb_div_up(view->k, UNIT_VALUES), parts);
	const uint64_t unrolled = micro->n * micro->k * view->weight_bits / 256 * unroll;
	const uint64_t warps = deal->resident * tcb_div_up(view->footprint.block_threads, WARP);
	out[TCB_LEARNED_bits] = problem->shape.words.bits != 0;
	out[TCB_LEARNED_other_traffic] = clipped(doublings((uint64_t)problem->op->traffic(problem)) -
						 doublings(view->shape->n * view->k * view->weight_bits / 256 + 1));
	out[TCB_LEARNED_blocks_of_one] = clipped(doublings(deal->blocks) - doublings(view->processors));
	out[TCB_LEARNED_unroll_rest] = clipped(share(steps, tcb_round_up(steps, unroll)));
	out[TCB_LEARNED_unrolled] = clipped(doublings(unrolled));
	out[TCB_LEARNED_unrolled_flight] = clipped(doublings(unrolled * warps));
}

/* What words say. */
static void add_words(const struct tcb_problem *problem, int16_t *out)
{
	const struct tcb_words *words = &problem->shape.words;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	out[TCB_LEARNED_type] = clipped(problem->op->type);
	out[TCB_LEARNED_operands] = clipped((int64_t)problem->op->operands(problem, operands));
	out[TCB_LEARNED_query] = clipped(doublings(words->query));
	out[TCB_LEARNED_query_group] = clipped(words->kv ? words->query / words->kv : 0);
	out[TCB_LEARNED_sequences] = clipped(doublings(words->sequences));
	out[TCB_LEARNED_page] = clipped(words->page);
	out[TCB_LEARNED_causal] = clipped(words->causal || words->window);
	out[TCB_LEARNED_values] = clipped(words->values);
	out[TCB_LEARNED_experts] = clipped(words->experts);
	out[TCB_LEARNED_expert_rows] =
		clipped(words->experts ? doublings(256 * problem->shape.m * words->used / words->experts) : 0);
}

static int over(uint64_t bytes, uint64_t cache)
{
	return cache ? doublings(bytes) - doublings(cache) : 0;
}

/* Not of a GPU: which card of its capability an architecture's name means, is known to some who ask alone, and all are
 * to get the same default (libtcbrt without a database, a sweep on the card). */
static void add_caches(const struct tcb_target *target, const struct view *view, int16_t *out)
{
	const size_t *bytes = view->footprint.level_bytes;
	const int has_threads = tcb_kind_of(target)->has_threads;
	out[TCB_LEARNED_cache] = has_threads ? clipped(doublings(target->llc_bytes)) : 0;
	out[TCB_LEARNED_midi_of_l1] = clipped(over(bytes[TCB_MIDI], target->l1d_bytes));
	out[TCB_LEARNED_midi_of_l2] = has_threads ? clipped(over(bytes[TCB_MIDI], target->l2_bytes)) : 0;
	out[TCB_LEARNED_macro_of_l2] = has_threads ? clipped(over(bytes[TCB_MACRO], target->l2_bytes)) : 0;
}

/* Of a processor: what threads have. */
static void add_parts(const struct tcb_target *target, const struct view *view, int16_t *out)
{
	const struct tcb_tile *macro = &view->geometry->tile[TCB_MACRO];
	const size_t *bytes = view->footprint.level_bytes;
	const uint64_t parts = tcb_div_up(view->shape->m, macro->m) * tcb_div_up(view->shape->n, macro->n);
	out[TCB_LEARNED_threads_all] = clipped(target->threads);
	out[TCB_LEARNED_macro_m] = clipped(doublings(macro->m));
	out[TCB_LEARNED_macro_n] = clipped(doublings(macro->n));
	out[TCB_LEARNED_parts] = clipped(doublings(parts));
	out[TCB_LEARNED_last_part] = clipped(share(parts, tcb_round_up(parts, view->processors)));
	out[TCB_LEARNED_macro_bytes] = clipped(doublings(bytes[TCB_MACRO]));
	out[TCB_LEARNED_midi_bytes] = clipped(doublings(bytes[TCB_MIDI]));
	out[TCB_LEARNED_element] = clipped((int64_t)view->footprint.element_bytes);
	out[TCB_LEARNED_vectors] = clipped(view->footprint.vector_registers);
}

static void add_grid(const struct view *view, const struct deal *deal, int16_t *out)
{
	const size_t *grid = view->footprint.grid;
	const uint64_t launched = (uint64_t)tcb_most(grid[0], 1) * tcb_most(grid[1], 1) * tcb_most(grid[2], 1);
	const uint64_t places = view->processors * deal->resident, waves = tcb_div_up(launched, places);
	out[TCB_LEARNED_launched] = clipped(doublings(launched));
	out[TCB_LEARNED_grid_waves] = clipped(doublings(waves));
	out[TCB_LEARNED_grid_last] = clipped(share(launched, waves * places));
}

void tcb_learned_features(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, int16_t out[TCB_LEARNED_FEATURE_COUNT])
{
	const struct tcb_format *format = problem->op->format;
	struct view view = {
		.shape = &problem->shape,
		.geometry = geometry,
		.processors = tcb_most(tcb_kind_of(target)->has_threads ? target->threads : target->cuda.sm_count, 1),
		.k = tcb_most(problem->shape.k, 1),
		.weight_bits = format ? 256 * format->block_bytes / format->block_values
				      : 256 * tcb_type_bytes(problem->op->type),
		.x_bytes = problem->contract == TCB_CONTRACT_Q8    ? 1
			   : problem->contract == TCB_CONTRACT_F16 ? 2
								   : 4,
	};
	tcb_space_of(problem, target, geometry)->footprint(problem, target, geometry, &view.footprint);
	const struct deal deal = deal_of(target, &view);
	add_problem(problem, &view, out);
	add_tiles(&view, &deal, out);
	add_deal(&view, &deal, out);
	add_work(&view, &deal, out);
	add_steps(&view, &deal, out);
	add_words(problem, out);
	add_parts(target, &view, out);
	add_caches(target, &view, out);
	add_unrolled(problem, &view, &deal, out);
	add_grid(&view, &deal, out);
	for (int which = 0; which < TCB_KNOB_COUNT; which++)
		out[TCB_LEARNED_KNOBS + which] = clipped(geometry->knob[which]);
}
