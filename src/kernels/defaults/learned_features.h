/* SPDX-License-Identifier: MIT
 *
 * A geometry at a problem on a target, as whole numbers that decision trees compare: what was stored of trials is
 * learned from in these (scripts/train-defaults.py), and what was learned is asked in these (learned.h).  Sizes are in
 * 256ths of a doubling, shares in 1024ths; nothing is rounded differently elsewhere.
 */
#ifndef TCB_KERNELS_DEFAULTS_LEARNED_FEATURES_H
#define TCB_KERNELS_DEFAULTS_LEARNED_FEATURES_H

#include "kernels/op.h"

/* X(name, what it is).  Tables name them by their place: append only. */
#define TCB_LEARNED_FEATURE_LIST(X)                                                      \
	X(m, "the shape's")                                                              \
	X(n, "the shape's")                                                              \
	X(k, "the shape's")                                                              \
	X(n_twos, "twos in n")                                                           \
	X(k_twos, "twos in k")                                                           \
	X(contract, "by number")                                                         \
	X(weight_bits, "of a weight, in 32nds")                                          \
	X(block, "values of a block of weights")                                         \
	X(codes, "how they are stored, by number")                                       \
	X(scales, "how they are stored, by number")                                      \
	X(run, "weights that share a scale")                                             \
	X(offsets, "1: there are some")                                                  \
	X(processors, "multiprocessors")                                                 \
	X(cache, "bytes of the last cache")                                              \
	X(midi_m, "the tile's")                                                          \
	X(midi_n, "the tile's")                                                          \
	X(micro_m, "the tile's")                                                         \
	X(micro_n, "the tile's")                                                         \
	X(micro_k, "the tile's")                                                         \
	X(tiles_m, "midi tiles along m")                                                 \
	X(tiles_n, "midi tiles along n")                                                 \
	X(used_m, "share of the tokens of all midi tiles that are the shape's")          \
	X(used_n, "share of the columns")                                                \
	X(used_micro, "share of the tokens of all register tiles")                       \
	X(blocks, "midi tiles, times the slices of k")                                   \
	X(rounds, "of them, a block on each multiprocessor at a time")                   \
	X(last_round, "share of the multiprocessors that are busy over all rounds")      \
	X(resident, "blocks that fit on a multiprocessor together")                      \
	X(waves, "rounds of as many as fit")                                             \
	X(last_wave, "share of the places that are taken over all waves")                \
	X(warps_resident, "on a multiprocessor")                                         \
	X(shared, "bytes of a block's shared memory")                                    \
	X(tile_bytes, "of a tile of weights in flight")                                  \
	X(in_flight, "bytes of weights asked for on a multiprocessor")                   \
	X(registers, "of a thread, estimated")                                           \
	X(threads, "of a block")                                                         \
	X(accumulators, "of a thread's chains")                                          \
	X(launched, "blocks of the launch")                                              \
	X(block_weights, "bytes that a block reads")                                     \
	X(block_x, "bytes of activations that a block reads")                            \
	X(block_flops, "products of a block")                                            \
	X(busiest_weights, "bytes that the busiest multiprocessor reads")                \
	X(busiest_x, "the same of activations")                                          \
	X(busiest_flops, "its products")                                                 \
	X(over_even_weights, "what the busiest reads over an even share of the weights") \
	X(over_even_flops, "its products over an even share")                            \
	X(part_bytes, "of sums that slices of k bring together")                         \
	X(steps, "register tiles along k of a warp")                                     \
	X(step_rest, "1024ths of a round of stages that the last steps are")             \
	X(steps_over_stages, "steps for each stage")                                     \
	X(intensity, "products for each byte that a block reads")

enum tcb_learned_feature {
#define TCB_LEARNED_FEATURE_ENUM(name, help) TCB_LEARNED_##name,
	TCB_LEARNED_FEATURE_LIST(TCB_LEARNED_FEATURE_ENUM)
#undef TCB_LEARNED_FEATURE_ENUM
		TCB_LEARNED_KNOBS, /* from here on the knobs' values, in the order of enum tcb_knob */
	TCB_LEARNED_FEATURE_COUNT = TCB_LEARNED_KNOBS + TCB_KNOB_COUNT
};

/* "tiles_n", "splitk"; FEATURE < TCB_LEARNED_FEATURE_COUNT. */
const char *tcb_learned_feature_name(unsigned feature);
/* GEOMETRY nests (H1, H2); it need not be legal. */
void tcb_learned_features(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, int16_t out[TCB_LEARNED_FEATURE_COUNT]);

#endif
