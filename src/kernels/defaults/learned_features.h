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
	X(cache, "bytes of a processor's last")                                          \
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
	X(intensity, "products for each byte that a block reads")                        \
	X(dealt, "1: blocks stay and have equal runs of all tiles' steps along k")       \
	X(run_tiles, "of them, tiles that a block's run is as long as, in 1024ths")      \
	X(used_micro_n, "share of the columns of all register tiles")                    \
	X(type, "of operands that are not in blocks, by number")                         \
	X(operands, "of the op")                                                         \
	X(element, "bytes that are kept of an element")                                  \
	X(query, "heads")                                                                \
	X(query_group, "query heads for each KV head")                                   \
	X(sequences, "the shape's")                                                      \
	X(page, "tokens")                                                                \
	X(causal, "1: queries see no later tokens")                                      \
	X(values, "of a head of V, 0: as many as of K")                                  \
	X(experts, "the shape's")                                                        \
	X(expert_rows, "tokens of an expert, if all had as many")                        \
	X(threads_all, "of a processor; 0 on a GPU")                                     \
	X(macro_m, "the tile's")                                                         \
	X(macro_n, "the tile's")                                                         \
	X(midi_k, "the tile's")                                                          \
	X(parts, "macro tiles")                                                          \
	X(last_part, "share of the threads that are busy over all macro tiles")          \
	X(macro_bytes, "of a macro tile's operands")                                     \
	X(midi_bytes, "of a midi tile's")                                                \
	X(midi_of_l1, "of them, over those of the first cache")                          \
	X(midi_of_l2, "over those of a processor's second")                              \
	X(macro_of_l2, "of a macro tile's operands, over a processor's")                 \
	X(grid_waves, "rounds of a launch's blocks, as many as fit")                     \
	X(grid_last, "share of the places that its blocks take over all of them")        \
	X(vectors, "vector registers")                                                   \
	X(bits, "1: the shape's word")                                                   \
	X(other_traffic, "all that is read and written, over the weights of one matrix") \
	X(blocks_of_one, "blocks, over multiprocessors")                                 \
	X(unroll_rest, "share of all rounds of unrolled steps that there are")           \
	X(unrolled, "bytes of weights that a warp asks for at a time")                   \
	X(unrolled_flight, "that all warps on a multiprocessor ask for")

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
