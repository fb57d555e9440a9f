/* SPDX-License-Identifier: MIT
 *
 * The rules (V4) that a geometry of a row op for a GPU keeps so that a kernel
 * can be written for it and no two legal ones are the same computation, and
 * those of the default space alone.
 */
#include "base/sizes.h"
#include "kernels/constraint.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/rows/rows_gpu.h"

enum {
	LONG_ROW = 1024,
	PARTS_MAX = WARP * TCB_ROWS_CHUNKS_MAX,
	THREAD_REGISTERS = 255,
	FILE_REGISTERS = 65536,
	REGISTERS_AT_ONCE = 8 /* that a thread is given */
};

RULE(rule_isa)
{
	if (geometry->knob[TCB_KNOB_ISA] != TCB_ISA_FMA)
		return "isa must be fma on a GPU";
	return tcb_gpu_rule_isa(problem, target, geometry);
}

RULE(rule_shape)
{
	return problem->shape.n > TCB_ROWS_N_MAX || problem->shape.m > INT32_MAX
		       ? "rows of more than 2^28 values, or more than 2^31 rows, have no GPU kernel"
		       : NULL;
}

static const uint64_t rows_knobs = KNOB_BIT(ISA) | KNOB_BIT(UNROLL) | KNOB_BIT(WARPS) | KNOB_BIT(VEC) |
				   KNOB_BIT(STAGES) | KNOB_BIT(SPLITK) | KNOB_BIT(KSPLIT) | KNOB_BIT(COPY) |
				   KNOB_BIT(XIN) | KNOB_BIT(STREAM) | KNOB_BIT(BLOCKS) | KNOB_BIT(PDL) | KNOB_BIT(OCC) |
				   KNOB_BIT(JOIN);

RULE(rule_idle)
{
	return tcb_gpu_sets_knobs(geometry, rows_knobs | KNOB_BIT(LEAD), 0)
		       ? NULL
		       : "a GPU's geometry sets isa, unroll, warps, vec, stages, splitk, ksplit, copy, xin, stream, "
			 "lead, blocks, pdl, occ and join, and no other knob";
}

RULE(rule_idle_plain)
{
	return tcb_gpu_sets_knobs(geometry, rows_knobs, 0)
		       ? NULL
		       : "a GPU's geometry sets isa, unroll, warps, vec, stages, splitk, ksplit, copy, xin, stream, "
			 "blocks, pdl, occ and join, and no other knob";
}

RULE(rule_vec)
{
	const unsigned vec = KNOB(VEC);
	if (vec != 4 && vec != 8 && vec != 16)
		return "vec must be 4, 8 or 16";
	return problem->shape.n * 4 % vec && problem->shape.n < vec
		       ? "rows that do not begin at multiples of vec and are shorter than four vectors"
		       : NULL;
}

RULE(rule_warps)
{
	const unsigned warps = KNOB(WARPS), ksplit = KNOB(KSPLIT);
	if (warps < 1 || warps > WARPS_MAX || (warps & (warps - 1)))
		return "warps must be a power of two up to 32";
	if (ksplit < 1 || warps % ksplit)
		return "ksplit must divide warps";
	return NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	if (macro->n != tcb_power_of_two_up(problem->shape.n) || macro->m != tcb_power_of_two_up(problem->shape.m))
		return "macro must be the problem's shape, rounded up to powers of two: the grid has all rows";
	if (midi->m != KNOB(WARPS) / KNOB(KSPLIT))
		return "midi.m must be warps / ksplit: a block's rows side by side";
	if (midi->n * KNOB(SPLITK) != macro->n)
		return "midi.n must be macro.n / splitk";
	if (micro->m != 1 || micro->n * 4 != KNOB(VEC))
		return "micro must be 1 x vec / 4: a lane's vector";
	return NULL;
}

static int is_shifted(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	return problem->shape.n * 4 % KNOB(VEC) != 0;
}

/* Passes that a lane takes over its part of a row. */
static unsigned passes_of(const struct tcb_problem *problem, const struct tcb_geometry *geometry, unsigned *pass_out)
{
	const unsigned splitk = KNOB(SPLITK), width = KNOB(VEC) / 4, n = (unsigned)problem->shape.n / width * width;
	*pass_out = WARP * KNOB(KSPLIT) * width;
	return tcb_div_up(tcb_div_up(n, splitk), *pass_out);
}

RULE(rule_split)
{
	const unsigned splitk = KNOB(SPLITK), ksplit = KNOB(KSPLIT);
	unsigned pass;
	if (splitk < 1 || (splitk & (splitk - 1)))
		return "splitk must be a power of two";
	if (tcb_rows_gpu_has_pieces(geometry)) {
		const size_t n = problem->shape.n, warps = splitk * (size_t)KNOB_COUNT(KSPLIT);
		const size_t share = tcb_rows_gpu_share(n, warps);
		return warps > 1 && (warps - tcb_div_up(ksplit, 2)) * share >= n
			       ? "half of a block's warps have no columns: a smaller splitk or ksplit"
			       : NULL;
	}
	const unsigned passes = passes_of(problem, geometry, &pass);
	/* of every row: in whole vectors, but the last one */
	const uint64_t columns =
		is_shifted(problem, geometry) ? problem->shape.n - 2 * KNOB(VEC) / 4 : problem->shape.n;
	const uint64_t slice = is_shifted(problem, geometry)
				       ? (uint64_t)passes * pass
				       : tcb_rows_gpu_slice(problem->shape.n, splitk, pass, passes);
	if ((splitk - 1) * slice >= columns)
		return "the last of the blocks that share a row has no columns: a smaller splitk or ksplit";
	if (ksplit > 1 && (uint64_t)splitk * (pass / 2) >= columns)
		return "half of the warps that share a row have no columns: a smaller ksplit or splitk";
	return NULL;
}

RULE(rule_join)
{
	const unsigned splitk = KNOB(SPLITK), ksplit = KNOB(KSPLIT);
	const int32_t join = geometry->knob[TCB_KNOB_JOIN];
	if ((splitk == 1) != (join == TCB_JOIN_NONE))
		return "join must be none with splitk=1, and only then";
	if (join == TCB_JOIN_LAST || join == TCB_JOIN_ATOMIC)
		return "join must be none, cluster, launch or whole: all blocks of a row need its statistics";
	if (join == TCB_JOIN_CLUSTER && target->cuda.capability < 90)
		return "join=cluster needs sm_90";
	if (join == TCB_JOIN_CLUSTER && splitk > tcb_rows_gpu_cluster_most(target))
		return "splitk must be at most 8 with join=cluster, 16 on sm_90, sm_100 and sm_103";
	if (join != TCB_JOIN_WHOLE && splitk * ksplit > PARTS_MAX)
		return "splitk times ksplit must be at most 256";
	return NULL;
}

RULE(rule_keep)
{
	const int32_t keep = geometry->knob[TCB_KNOB_XIN], copy = geometry->knob[TCB_KNOB_COPY];
	const int32_t join = geometry->knob[TCB_KNOB_JOIN];
	if (copy == TCB_COPY_LDG && keep == TCB_XIN_SHARED)
		return "xin=shared needs copy=async or copy=bulk";
	if (tcb_rows_gpu_has_pieces(geometry) && KNOB(KSPLIT) != KNOB(WARPS))
		return "ksplit must be warps with stages=1 and blocks above 0: a block has one row";
	if (copy != TCB_COPY_LDG && keep == TCB_XIN_L2)
		return "xin=l2 needs copy=ldg";
	if (join == TCB_JOIN_WHOLE && keep != TCB_XIN_L2)
		return "xin must be l2 with join=whole: a block does not keep what others write";
	if ((join == TCB_JOIN_LAUNCH || join == TCB_JOIN_WHOLE) && (copy != TCB_COPY_LDG || KNOB(BLOCKS)))
		return "join=launch and join=whole need copy=ldg and blocks=0";
	if (problem->shape.words.add && (copy != TCB_COPY_LDG || join == TCB_JOIN_WHOLE || KNOB(STAGES) != 1))
		return "copy=ldg, stages=1 and another join than whole with the word add: rows are made of two";
	if (rows_has_halves(problem) && (copy != TCB_COPY_LDG || KNOB(STAGES) != 1))
		return "copy=ldg and stages=1 with x or y of 16 bits: rows become floats on their way";
	if (copy == TCB_COPY_BULK && (KNOB(VEC) != 16 || is_shifted(problem, geometry)))
		return "copy=bulk needs vec=16, and rows that begin at multiples of it";
	return tcb_gpu_rule_copy(problem, target, geometry);
}

RULE(rule_stages)
{
	const unsigned copy = KNOB(COPY), stages = KNOB(STAGES);
	const unsigned resident = KNOB(BLOCKS);
	if (resident > 16)
		return "blocks must be at most 16";
	if (tcb_rows_gpu_has_pieces(geometry))
		return NULL;
	if (!resident && stages != 1)
		return "stages must be 1 with blocks=0: a block has one row";
	if (copy == TCB_COPY_LDG && stages > (geometry->knob[TCB_KNOB_XIN] == TCB_XIN_REGS ? 2 : 1))
		return "stages must be 1 with copy=ldg, or 2 with xin=regs";
	if (copy != TCB_COPY_LDG && resident && (stages < 2 || stages > TCB_ROWS_STAGES_MAX))
		return "stages must be 2 to 4 with copy=async and copy=bulk and blocks above 0";
	return NULL;
}

RULE(rule_unroll)
{
	const unsigned unroll = KNOB(UNROLL), width = KNOB(VEC) / 4;
	unsigned pass, passes = passes_of(problem, geometry, &pass);
	if (tcb_rows_gpu_has_pieces(geometry))
		passes = tcb_rows_gpu_vectors(problem->shape.n, KNOB_COUNT(SPLITK) * KNOB_COUNT(KSPLIT));
	if (geometry->knob[TCB_KNOB_XIN] == TCB_XIN_REGS) {
		if (unroll != 1)
			return "unroll must be 1 with xin=regs: all of a row is in flight";
		return passes * width > TCB_ROWS_VALUES_MAX
			       ? "a lane has more than 128 values of a row: more warps, or xin=shared or l2"
			       : NULL;
	}
	if (geometry->knob[TCB_KNOB_COPY] == TCB_COPY_ASYNC && passes > TCB_ROWS_VALUES_MAX)
		return "a lane copies more than 128 vectors of a row: more warps or a wider vec";
	if (geometry->knob[TCB_KNOB_JOIN] == TCB_JOIN_WHOLE)
		passes = tcb_div_up((unsigned)problem->shape.n, pass);
	if (unroll < 1 || unroll > TCB_ROWS_UNROLL_MAX || (unroll > 1 && unroll > passes))
		return "unroll must be at most 8, and at most the vectors that a lane has of a row";
	return NULL;
}

RULE(rule_switches)
{
	if (KNOB(STREAM) > 1 || KNOB(LEAD) > 1)
		return "stream and lead must be 0 or 1";
	return tcb_gpu_rule_pdl(problem, target, geometry);
}

/* Loops load the weights beside the values; only registers hold them for later. */
RULE(rule_lead)
{
	if (KNOB(LEAD) != 1)
		return NULL;
	if (tcb_rows_gpu_has_pieces(geometry))
		return NULL;
	if (geometry->knob[TCB_KNOB_XIN] != TCB_XIN_REGS)
		return "lead must be 0 without xin=regs, unless rows wait in pieces";
	return KNOB(BLOCKS) && is_shifted(problem, geometry)
		       ? "lead must be 0 with blocks above 0 where rows do not begin at multiples of vec"
		       : NULL;
}

/*
 * The default space is what is at most one step away from what was found good on an H200 (660 geometries of seven
 * problems, drawn at random from the whole product): one knob may have an unusual value.
 */
RULE(policy_usual)
{
	const unsigned warps = KNOB(WARPS), ksplit = KNOB(KSPLIT);
	const size_t n = problem->shape.n;
	unsigned unusual = 0;
	unusual += KNOB(VEC) != tcb_rows_gpu_widest(n);
	unusual += KNOB(PDL) == 0 && target->cuda.capability >= 90;
	unusual += KNOB(BLOCKS) != 0 && !tcb_rows_gpu_has_pieces(geometry);
	unusual += tcb_rows_gpu_has_pieces(geometry) && (KNOB(UNROLL) == 1 || KNOB(STREAM) == 0);
	unusual += KNOB(STAGES) > 3;
	unusual += KNOB(UNROLL) > 4;
	unusual += KNOB(OCC) > 2 && !KNOB(BLOCKS);
	unusual += n >= LONG_ROW && (warps < 2 || warps > 16);
	unusual += n >= LONG_ROW && warps / ksplit > 2;
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

/* Rows in pieces are for those that registers do not hold well, and are shared by few blocks that have much of them. */
RULE(policy_pieces)
{
	const unsigned splitk = KNOB(SPLITK), unroll = KNOB(UNROLL);
	const unsigned vectors = tcb_rows_gpu_vectors(problem->shape.n, splitk * KNOB(KSPLIT));
	const int is_shared_for_blocks = splitk <= tcb_rows_gpu_shares(problem, target);
	if (!tcb_rows_gpu_has_pieces(geometry) && !is_shared_for_blocks)
		return "so many rows are shared by blocks only where they wait in pieces";
	if (!tcb_rows_gpu_has_pieces(geometry))
		return tcb_is_power_of_two(unroll) ? NULL : "unroll must be a power of two but for rows in pieces";
	if (problem->shape.n < TCB_ROWS_PIECES_MIN)
		return "rows so short do not wait in pieces";
	if (KNOB(BLOCKS) > 2)
		return "more than two blocks of an SM have little memory for pieces";
	if (tcb_round_up(vectors, unroll) * 7 > 8 * (size_t)vectors)
		return "the last piece of a share has so few vectors that the work on it is wasted";
	return !is_shared_for_blocks && problem->shape.n / splitk < TCB_ROWS_PIECES_MIN / 4
		       ? "a block's part of a row is so short that fewer blocks do as well"
		       : NULL;
}

/* A resident block that gets no second row does what a block per row does; slots beyond its rows stay empty. */
RULE(policy_rounds)
{
	const unsigned resident = KNOB(BLOCKS), stages = KNOB(STAGES);
	const size_t sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	const size_t rows = KNOB(WARPS) / KNOB(KSPLIT);
	const size_t at_once = resident * sms * rows / KNOB(SPLITK);
	if (!resident || tcb_rows_gpu_has_pieces(geometry))
		return NULL;
	if (problem->shape.m <= at_once)
		return "so many blocks stay that each has one round of rows: blocks=0 does the same";
	return problem->shape.m <= at_once * (stages - 1) ? "more stages than rounds of rows that a block has" : NULL;
}

#define READS_SPLIT (TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(WARPS))
#define READS_PIECES (TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(XIN))
#define READS_KEEP \
	(READS_PIECES | TCB_FIELD_KNOB(JOIN) | TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_KNOB(WARPS))
#define READS_ROUNDS                                                                                        \
	(TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(KSPLIT) | \
	 TCB_FIELD_KNOB(SPLITK))
#define READS_STAGES (TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(XIN))
#define READS_LEAD (READS_PIECES | TCB_FIELD_KNOB(LEAD) | TCB_FIELD_KNOB(VEC))
#define READS_SWITCHES (TCB_FIELD_KNOB(PDL) | TCB_FIELD_KNOB(STREAM) | TCB_FIELD_KNOB(LEAD))

/* All but the first, which says what is set. */
#define SHARED_RULES                                                                                               \
	{ TCB_FIELD_KNOB(ISA), 0, rule_isa }, { TCB_FIELD_KNOB(ISA), 0, rule_shape },                              \
		{ TCB_FIELD_KNOB(VEC), 0, rule_vec },                                                              \
		{ TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(KSPLIT), 0, rule_warps },                                 \
		{ READS_SPLIT | READS_PIECES, 0, rule_split },                                                     \
		{ TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_KNOB(JOIN), 0, rule_join },          \
		{ READS_KEEP, 0, rule_keep }, { READS_STAGES, 0, rule_stages },                                    \
		{ READS_SPLIT | READS_KEEP | TCB_FIELD_KNOB(UNROLL), 0, rule_unroll },                             \
		{ TCB_FIELD_KNOB(OCC) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(WARPS), 0, tcb_gpu_rule_occ },     \
		{ READS_SWITCHES, 0, rule_switches }, { READS_LEAD, 0, rule_lead },                                \
		{ READS_SPLIT | TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },                                    \
		{ READS_ROUNDS | READS_PIECES, 1, policy_rounds },                                                 \
		{ READS_PIECES | READS_SPLIT | TCB_FIELD_KNOB(UNROLL), 1, policy_pieces }, { 0, 1, policy_usual }, \
	{                                                                                                          \
		0, 0, NULL                                                                                         \
	}

const struct tcb_rule tcb_rows_gpu_rules[] = { { 0, 0, rule_idle }, SHARED_RULES };
const struct tcb_rule tcb_rows_gpu_plain_rules[] = { { 0, 0, rule_idle_plain }, SHARED_RULES };

int tcb_rows_gpu_is_built(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry)
{
	const struct tcb_rule *rule = tcb_rows_gpu_rules + 1; /* the first is of what is set */
	const size_t most = target->cuda.block_registers_max ? target->cuda.block_registers_max : FILE_REGISTERS;
	struct tcb_footprint f;
	for (; !tcb_rule_is_end(rule); rule++)
		if (rule->broken != policy_usual && tcb_rule_broken(rule, problem, target, geometry))
			return 0;
	tcb_rows_gpu_footprint(problem, target, geometry, &f);
	const size_t registers = tcb_round_up(f.thread_registers, REGISTERS_AT_ONCE);
	return f.thread_registers <= THREAD_REGISTERS &&
	       registers * f.block_threads * tcb_most(f.blocks_together, 1) <= most &&
	       f.shared_bytes <= tcb_shared_limit(target);
}
