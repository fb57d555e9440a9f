/* SPDX-License-Identifier: MIT
 *
 * The search space of the dense products on a CPU, their default geometry, the
 * rules of their own that a geometry must keep, and the numbers that the
 * constraints judge.
 */
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/matmul/matmul_cpu.h"
#include "kernels/simd/isas.h"

enum {
	BLOCK_M_LEAST = 96, /* rows and columns of a block that are enough to pay for packing the other operand's */
	BLOCK_M_MOST = 384,
	BLOCK_N_LEAST = 192,
	BLOCK_N_MOST = 1024, /* or as many as the last cache holds */
	BLOCK_K_LEAST = 256,
	BLOCK_K_MOST = 1024,
	DEFAULT_K_MOST = 512, /* a Xeon with AMX takes 1.04 times as long with 1024 */
	/* Of AVX2, whose processors have 32 KiB of first cache, of which a panel of B with 24 columns takes 24 then:
	 * with that and B asked for ahead a Zen 3 takes 0.74 of the time of 512 without (9 products of 20 to 64 rows,
	 * 0.63 to 0.87 each). */
	DEFAULT_K_AVX2 = 256,
	/* Up to so many rows a value of B is used so few times that reading B decides: as stored, along whole rows of
	 * it, a register tile or two ahead. */
	SKINNY_M = 16,
	SKINNY_K = 256,
	/* With fewer rows still it is memory that decides how many rows of B are read at a time. */
	SKINNIEST_M = 4,
	SKINNIEST_K = 16,
	AHEAD_SKINNY = 256,
	AHEAD = 512,
	SCALAR_FLOPS_MOST = 1 << 23, /* a call of scalar code is short then */
	/* What else a value costs, in the multiply-adds of so many others: packing it, bringing that of a panel of B to
	 * the first cache, adding a sum to C. */
	PACKING = 8,
	FETCHING = 3,
	UPDATING = 32,
	/* Blocks of tiles (matmul_amx.h). */
	TILE_M = 512,
	TILE_K = 256,
	TILE_N = 256,
	TILE_FEW_M = 128,
	TILE_FEW_N = 1024,
	/* Up to so many rows B is read along whole rows of it, as long as the sums stay in the second cache. */
	TILE_THIN_M = 32,
	TILE_THIN_K = 64,
	TILE_THIN_SUMS = 1 << 17,
	TILE_LEAST_M = 8,   /* with fewer rows vectors are faster */
	L2_BYTES = 1 << 20, /* where it is unknown */
	OPERAND_REGISTERS = 3,
	TILE_REGISTERS = 8, /* vectors that narrow sums; tiles are no vectors */
	BITS_K = 256, /* of the word bits: what is added up before it goes to C, which few and many rows can have */
};

static int has_tiles(int32_t isa)
{
	return tcb_cpu_isa(isa)->has_tiles;
}

/* The least multiple of STEP that PARTS of cover SIZE. */
static size_t share(size_t size, size_t parts, size_t step)
{
	return tcb_div_up(tcb_div_up(size, parts), step) * step;
}

const char *matmul_refused(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const struct tcb_shape *s = &problem->shape;
	const int32_t *knob = geometry->knob;
	if (knob[TCB_KNOB_THREADS] < 1 || knob[TCB_KNOB_SCHED] < 0 || knob[TCB_KNOB_PREFETCH] < 0 ||
	    (knob[TCB_KNOB_DECODE] != TCB_DECODE_PANEL && knob[TCB_KNOB_DECODE] != TCB_DECODE_REGS))
		return "a matrix product needs the knobs threads, sched, prefetch and decode";
	if (macro->k < s->k)
		return "macro.k must cover K: threads share C, not the reduction";
	if (micro->k != 1)
		return "micro.k must be 1";
	if (!midi->m || !midi->n || !midi->k || midi->m % micro->m || midi->n % micro->n)
		return "micro.m and micro.n must divide midi.m and midi.n";
	if (!macro->m || !macro->n || macro->m % midi->m || macro->n % midi->n)
		return "midi.m and midi.n must divide macro.m and macro.n";
	if (has_tiles(knob[TCB_KNOB_ISA]) && knob[TCB_KNOB_DECODE] != TCB_DECODE_PANEL)
		return "tiles take B from panels: decode=panel";
	if (has_tiles(knob[TCB_KNOB_ISA]) && midi->k < s->k && midi->k % MATMUL_TILE_STEP)
		return "midi.k must be a multiple of 32, a step of tiles, or cover K";
	const size_t tasks = tcb_div_up(s->m, macro->m) * tcb_div_up(s->n, macro->n);
	if (knob[TCB_KNOB_THREADS] == 1 && tasks > 1)
		return "macro must cover C with threads=1: midi cuts it then";
	if ((size_t)knob[TCB_KNOB_THREADS] > tasks)
		return "threads is more than macro makes tasks";
	return NULL;
}

/* --- axes --- */

/* Scalar code takes tens of times as long as vectors do: it is tried where that is soon over, or there is nothing else.
 */
static int is_worth_trying(const struct tcb_problem *problem, const struct tcb_target *target,
			   const struct tcb_variant *variant)
{
	const struct tcb_op *op = problem->op;
	if (!tcb_target_has(target, variant->isa))
		return 0;
	if (variant->isa != TCB_ISA_SCALAR || op->flops(problem) <= SCALAR_FLOPS_MOST)
		return 1;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(op), i)); i++)
		if (variant->isa != TCB_ISA_SCALAR && tcb_target_has(target, variant->isa))
			return 0;
	return 1;
}

static void add_variants(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_axis *isa,
			 struct tcb_axis *m, struct tcb_axis *n)
{
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(problem->op), i)); i++)
		if (is_worth_trying(problem, target, variant)) {
			tcb_axis_add(isa, (size_t)variant->isa);
			tcb_axis_add(m, variant->micro.m);
			tcb_axis_add(n, variant->micro.n);
		}
	if (!isa->count) { /* nothing runs here; V1 says so */
		tcb_axis_add(isa, TCB_ISA_SCALAR);
		tcb_axis_add(m, 1);
		tcb_axis_add(n, 1);
	}
}

static int can_use_tiles(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(problem->op), i)); i++)
		if (has_tiles((int32_t)variant->isa) && tcb_target_has(target, variant->isa))
			return 1;
	return 0;
}

/* For each register tile of TILES as many of it, FACTOR times more each, as are LEAST to MOST, or enough for SIZE. */
static void add_blocks(struct tcb_axis *to, const struct tcb_axis *tiles, size_t size, size_t fewest, size_t most,
		       size_t factor)
{
	for (size_t i = 0; i < tiles->count; i++) {
		size_t block = (size_t)tiles->values[i];
		while (block < fewest && block < size)
			block *= 2;
		do {
			tcb_axis_add(to, block);
			block *= factor;
		} while (block <= most && block < factor * size);
	}
}

/* Columns of a block of B, which is packed once for each: with all of them A is packed once, too.  A thread's share of
 * the last cache holds two. */
static size_t columns_most(const struct tcb_target *target)
{
	const size_t threads = target->threads ? target->threads : 1;
	return tcb_most(BLOCK_N_MOST, target->llc_bytes / threads / 2 / (BLOCK_K_MOST * sizeof(float)));
}

/* Into how many parts threads cut a dimension: none, all, or so that both dimensions are; then finer, to be dealt. */
static size_t list_parts(const struct tcb_target *target, size_t parts[5])
{
	const size_t threads = target->threads ? target->threads : 1;
	size_t both = 1;
	while (threads % both || both * both < threads)
		both++;
	parts[0] = 1;
	if (threads == 1)
		return 1;
	parts[1] = threads;
	parts[2] = both;
	parts[3] = threads / both;
	parts[4] = 4 * threads;
	return 5;
}

/* For each value of STEPS, parts of SIZE that it divides. */
static void add_shares(struct tcb_axis *to, const struct tcb_axis *steps, size_t size, const struct tcb_target *target)
{
	size_t parts[5];
	const size_t count = list_parts(target, parts);
	for (size_t p = 0; p < count; p++)
		for (size_t i = 0; i < steps->count; i++)
			tcb_axis_add(to, share(size, parts[p], (size_t)steps->values[i]));
}

/* For each register tile of TILES a block that covers SIZE, and one that covers a thread's part of it. */
static void add_whole(struct tcb_axis *to, const struct tcb_axis *tiles, size_t size, const struct tcb_target *target)
{
	const size_t parts[] = { 1, target->threads ? target->threads : 1 };
	for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
		for (size_t i = 0; i < tiles->count; i++) {
			size_t block = (size_t)tiles->values[i];
			while (block < tcb_div_up(size, parts[p]))
				block *= 2;
			tcb_axis_add(to, block);
		}
}

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t whole_k = tcb_power_of_two_up(s->k);
	size_t count = 0;
	struct tcb_axis *isa = tcb_axis_knob(out, &count, TCB_KNOB_ISA);
	struct tcb_axis *micro_m = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO);
	struct tcb_axis *micro_n = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO);
	add_variants(problem, target, isa, micro_m, micro_n);
	tcb_axis_add_threads(tcb_axis_knob(out, &count, TCB_KNOB_THREADS), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC);
	struct tcb_axis *midi = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI);
	add_blocks(midi, micro_m, s->m, BLOCK_M_LEAST, BLOCK_M_MOST, 2);
	add_shares(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO), midi, s->m, target);
	midi = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI);
	if (s->m <= SKINNY_M)
		add_whole(midi, micro_n, s->n, target);
	else
		add_blocks(midi, micro_n, s->n, BLOCK_N_LEAST, columns_most(target), 4);
	add_shares(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), midi, s->n, target);
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MACRO), whole_k);
	struct tcb_axis *a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MIDI);
	if (s->m <= SKINNY_M) {
		tcb_axis_add(a, tcb_least(whole_k, SKINNIEST_K));
		tcb_axis_add(a, tcb_least(whole_k, SKINNY_K));
	} else {
		for (size_t k = BLOCK_K_LEAST; k <= BLOCK_K_MOST && k < whole_k; k *= 2)
			tcb_axis_add(a, k);
		if (whole_k <= BLOCK_K_MOST)
			tcb_axis_add(a, whole_k);
	}
	if (can_use_tiles(problem, target)) {
		tcb_axis_add(a, tcb_least(whole_k, TILE_THIN_K));
		tcb_axis_add(a, tcb_least(whole_k, TILE_K / 2));
	}
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_DECODE), TCB_DECODE_PANEL, TCB_DECODE_REGS);
	a = tcb_axis_knob(out, &count, TCB_KNOB_PREFETCH);
	tcb_axis_add(a, 0);
	tcb_axis_add(a, s->m <= SKINNY_M ? AHEAD_SKINNY : AHEAD);
	return count;
}

/* --- rules (V4) --- */

/* A register tile of ISA with ROWS, more than C has, while one with fewer holds them, too. */
static int is_too_tall(const struct tcb_problem *problem, int32_t isa, size_t rows)
{
	const size_t needed = problem->shape.m;
	if (rows <= needed)
		return 0;
	for (const struct tcb_variant *const *list = tcb_op_cpu(problem->op)->variants; *list; list++)
		for (const struct tcb_variant *v = *list; v->name && (int32_t)v->isa == isa; v++)
			if (v->micro.m >= needed && v->micro.m < rows)
				return 1;
	return 0;
}

static const char *policy_tall(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	(void)target;
	return is_too_tall(problem, geometry->knob[TCB_KNOB_ISA], geometry->tile[TCB_MICRO].m)
		       ? "micro.m is larger than what would hold all rows of C"
		       : NULL;
}

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_MICRO_M | TCB_FIELD_KNOB(ISA), 1, policy_tall },
	{ 0, 0, NULL },
};

/* --- default geometry --- */

/*
 * What a variant costs, up to a factor: the multiply-adds that its tiles take, edges included, and the loads beside
 * them, which are few where the tile is large.  Fewer sums than hide the latency cost as if they were as many.
 */
static double cost_of(const struct tcb_variant *variant, const struct tcb_shape *shape)
{
	enum { SUMS_LEAST = 8, TILE_SIDE = 16 };
	const size_t lanes = tcb_cpu_isa((int32_t)variant->isa)->lanes;
	const double m = (double)variant->micro.m, vectors = (double)variant->micro.n / (double)lanes;
	const double tiles =
		(double)tcb_div_up(shape->m, variant->micro.m) * (double)tcb_div_up(shape->n, variant->micro.n);
	if (has_tiles((int32_t)variant->isa))
		return tiles * (m * vectors / TILE_SIDE + 0.25 * (m / TILE_SIDE + vectors));
	return tiles * (fmax(m * vectors, SUMS_LEAST) + 0.1 * (m + 3 * vectors)) * (double)lanes;
}

static const double ONE_PANEL = 0.75; /* what it costs in comparison */

/* Of two families the one with the higher rank is preferred: the wider, but few rows leave tiles empty; B is then read
 * as fast as it comes without them. */
static int rank_of(const struct tcb_problem *problem, enum tcb_isa isa)
{
	const int is_last = has_tiles((int32_t)isa) && problem->shape.m < TILE_LEAST_M && !problem->shape.words.bits;
	return is_last ? 2 * TCB_ISA_SCALAR + 1 : 2 * (int)isa;
}

/* The preferred instructions that there are variants for, and the cheapest of their register tiles. */
static const struct tcb_variant *best_variant(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const struct tcb_op *op = problem->op;
	const struct tcb_variant *best = NULL, *variant;
	double least = INFINITY;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(op), i)); i++) {
		if (!tcb_target_has(target, variant->isa) ||
		    (best && rank_of(problem, variant->isa) < rank_of(problem, best->isa)))
			continue;
		/* One panel of A where C has few rows: B, of which all is in reading, is read in one go. */
		const int is_one = problem->shape.m <= SKINNY_M && variant->micro.m >= problem->shape.m;
		const double cost = cost_of(variant, &problem->shape) * (is_one ? ONE_PANEL : 1);
		if (is_too_tall(problem, (int32_t)variant->isa, variant->micro.m))
			continue;
		if (!best || rank_of(problem, variant->isa) > rank_of(problem, best->isa) || cost < least) {
			best = variant;
			least = cost;
		}
	}
	return best ? best : tcb_variant_at(tcb_op_cpu(op), 0);
}

/*
 * What a thread's part of ROWS x COLUMNS takes, up to a factor: its multiply-adds, and beside them packing B once and A
 * for each block along n, fetching a panel of B for each block along m, and going over C for each block along k.
 */
static double part_cost(size_t rows, size_t columns, const struct tcb_tile *midi)
{
	const double beside = PACKING / (double)rows + PACKING / (double)midi->n + FETCHING / (double)midi->m +
			      UPDATING / (double)midi->k;
	return (double)rows * (double)columns * (1 + beside);
}

/* Cuts C into DOWN x ACROSS parts of as many blocks of midi tiles; keeps what is cheaper than LEAST. */
static void try_parts(const struct tcb_shape *s, size_t down, size_t across, const struct tcb_target *target,
		      double *least, struct tcb_geometry *out)
{
	const size_t l2_bytes = target->l2_bytes ? target->l2_bytes : L2_BYTES, n_most = columns_most(target);
	const size_t k_most = out->knob[TCB_KNOB_ISA] == TCB_ISA_AVX2 ? DEFAULT_K_AVX2 : DEFAULT_K_MOST;
	const struct tcb_tile *micro = &out->tile[TCB_MICRO];
	struct tcb_tile midi = out->tile[TCB_MIDI];
	for (midi.m = micro->m; midi.m == micro->m || (midi.m <= BLOCK_M_MOST && midi.m < 2 * s->m); midi.m *= 2)
		for (midi.n = micro->n; midi.n == micro->n || (midi.n <= n_most && midi.n < 2 * s->n); midi.n *= 2) {
			const size_t m = share(s->m, down, midi.m), n = share(s->n, across, midi.n);
			midi.k = out->tile[TCB_MACRO].k;
			while (midi.k > BLOCK_K_LEAST &&
			       (midi.k > k_most || 2 * midi.m * midi.k * sizeof(float) > l2_bytes))
				midi.k /= 2;
			const double cost = part_cost(m < s->m ? m : s->m, n < s->n ? n : s->n, &midi);
			if (tcb_div_up(s->m, m) != down || tcb_div_up(s->n, n) != across || cost >= *least)
				continue;
			*least = cost;
			out->tile[TCB_MACRO].m = m;
			out->tile[TCB_MACRO].n = n;
			out->tile[TCB_MIDI] = midi;
			out->knob[TCB_KNOB_THREADS] = (int32_t)(down * across);
		}
}

/* B as stored, whole rows of it or an even part for each thread; A is one block. */
static void default_skinny(const struct tcb_shape *s, size_t threads, struct tcb_geometry *out)
{
	const struct tcb_tile *micro = &out->tile[TCB_MICRO];
	while (threads > 1 && tcb_div_up(s->n, share(s->n, threads, micro->n)) < threads)
		threads--;
	const size_t m = share(s->m, 1, micro->m), n = share(s->n, threads, micro->n), k = tcb_power_of_two_up(s->k);
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, n, k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ m, n, tcb_least(k, s->m <= SKINNIEST_M ? SKINNIEST_K : SKINNY_K) };
	out->knob[TCB_KNOB_THREADS] = (int32_t)threads;
	out->knob[TCB_KNOB_DECODE] = TCB_DECODE_REGS;
	out->knob[TCB_KNOB_PREFETCH] = AHEAD_SKINNY;
}

/* As many rows as the second and third cache take, blocks of B that the second takes beside their sums, and a part of
 * whole rows or columns of C for each thread. */
static void default_tiles(const struct tcb_problem *problem, size_t threads, struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const struct tcb_tile *micro = &out->tile[TCB_MICRO];
	struct tcb_tile *macro = &out->tile[TCB_MACRO], *midi = &out->tile[TCB_MIDI];
	const int is_thin = s->m <= TILE_THIN_M;
	const size_t step = is_thin ? TILE_THIN_SUMS / micro->m : s->m <= TILE_FEW_M ? TILE_FEW_N : TILE_N;
	midi->n = micro->n;
	while (midi->n < step && midi->n < s->n)
		midi->n *= 2;
	while (midi->n > micro->n && tcb_div_up(s->n, midi->n) < threads)
		midi->n /= 2;
	threads = tcb_least(threads, tcb_div_up(s->n, midi->n));
	while (tcb_div_up(s->n, share(s->n, threads, midi->n)) < threads)
		threads--;
	macro->n = share(s->n, threads, midi->n);
	midi->m = micro->m;
	while (midi->m < TILE_M && midi->m < s->m)
		midi->m *= 2;
	macro->m = share(s->m, 1, midi->m);
	midi->k = is_thin ? TILE_THIN_K : problem->op->type == TCB_TYPE_F16 ? TILE_K / 2 : TILE_K; /* as many bytes */
	midi->k = tcb_least(macro->k, midi->k);
	out->knob[TCB_KNOB_THREADS] = (int32_t)threads;
	out->knob[TCB_KNOB_PREFETCH] = is_thin ? 0 : AHEAD;
}

/* What a good BLAS does: panels of both operands, the block of A in the second cache, a part of C for each thread. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t threads = target->threads ? target->threads : 1;
	const struct tcb_variant *variant = best_variant(problem, target);
	double least = INFINITY;
	tcb_geometry_init(out);
	out->tile[TCB_MICRO] = variant->micro;
	out->tile[TCB_MACRO].k = tcb_power_of_two_up(s->k);
	out->knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_DECODE] = TCB_DECODE_PANEL;
	out->knob[TCB_KNOB_PREFETCH] = variant->isa == TCB_ISA_AVX2 ? AHEAD : 0;
	const int is_tiles = has_tiles((int32_t)variant->isa);
	if (is_tiles)
		default_tiles(problem, threads, out);
	else if (s->m <= SKINNY_M)
		default_skinny(s, threads, out);
	for (size_t used = s->m > SKINNY_M && !is_tiles ? threads : 0; used >= 1; used--) /* fewer where C is small */
		for (size_t down = 1; down <= used; down++)
			if (used % down == 0)
				try_parts(s, down, used / down, target, &least, out);
	if (s->words.bits && !is_tiles)
		out->tile[TCB_MIDI].k = tcb_least(out->tile[TCB_MACRO].k, BITS_K);
}

/* Of the word bits: with tiles, where there are any, whose sums all geometries add up alike (matmul_amx.h); else k in
 * order in each block of 256, then the blocks in order. */
static const char *reorders(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry)
{
	const size_t k = problem->shape.k;
	if (has_tiles(geometry->knob[TCB_KNOB_ISA]))
		return NULL;
	if (can_use_tiles(problem, target))
		return "isa must have tiles, which add up in steps of 32";
	if (tcb_least(geometry->tile[TCB_MIDI].k, k) != tcb_least(BITS_K, k))
		return "midi.k must be 256, or cover K where that is less";
	return tcb_cpu_reorders_products(problem, target, geometry);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const int32_t isa = geometry->knob[TCB_KNOB_ISA];
	const size_t lanes = tcb_cpu_isa(isa)->lanes;
	(void)problem, (void)target;
	memset(out, 0, sizeof(*out));
	out->element_bytes = sizeof(float);
	out->accumulators = (unsigned)(micro->m * micro->n / tcb_most(lanes, 1));
	/* A row of B, and a value of A spread; scalar code spills and is no slower for it. */
	out->vector_registers = has_tiles(isa) ? TILE_REGISTERS
				: lanes > 1    ? out->accumulators + (unsigned)(micro->n / lanes) + 1
					       : OPERAND_REGISTERS;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		const struct tcb_tile *t = &geometry->tile[level];
		out->level_bytes[level] = sizeof(float) * (t->m * t->k + t->k * t->n + t->m * t->n);
	}
}

const struct tcb_side_space matmul_cpu_space = {
	rules, axes, default_geometry, footprint, .family = "matmul", .reorders = reorders
};
