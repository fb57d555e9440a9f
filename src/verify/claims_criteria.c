/* SPDX-License-Identifier: MIT
 *
 * F301 to F382, the criteria of the specification: kernels of this processor by
 * running them, GPUs' by the emulator and the assembler.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/gpu_table.h"
#include "base/kind.h"
#include "base/sizes.h"
#include "base/util.h"
#include "kernels/formats.h"
#include "kernels/simd/isas.h"
#include "kernels/space.h"
#include "verify/claim.h"
#include "verify/measure_bits.h"
#include "verify/measure_emulated.h"
#include "verify/measure_op.h"
#include "verify/specimen.h"

enum { EMULATED = 80 }; /* the GPU whose kernels are emulated: all of its instructions are */

static const char planted_kernel[] = "a planted kernel";

/* --- F301, F321: results --- */

struct results {
	unsigned runs, wrong;
	double worst;
	char first[48];
};

static void add_result(struct results *results, const char *op, double error, int is_exact)
{
	const int is_wrong = !(error <= 1) || !is_exact;
	results->runs++;
	results->worst = fmax(results->worst, error);
	if (is_wrong && !results->wrong++)
		(void)snprintf(results->first, sizeof results->first, ", the first %.32s's", op);
}

/* What is done to a run, so that it must be found wrong. */
enum spoil { SPOIL_NOTHING, SPOIL_RESULT, SPOIL_GUARD };

/* OP at SHAPE with ISA: by its bound, and bit by bit where it is of class EXACT. */
static int run_case(struct tcb_claim_lab *lab, const struct tcb_op *op, const struct tcb_shape *shape, int isa,
		    enum spoil spoil, struct results *results, struct tcb_finding *out)
{
	static float exact[4096];
	struct tcb_op_run run;
	if (!tcb_op_run_open(&run, lab, op->name, shape, out))
		return 0;
	tcb_op_run_restrict(&run, (enum tcb_isa)isa);
	const int is_run = tcb_op_run_go(&run, NULL, out);
	if (is_run) {
		if (spoil == SPOIL_GUARD)
			((unsigned char *)run.data[run.output])[run.operands[run.output].bytes] ^= 1;
		int is_exact = tcb_op_run_guards(&run);
		if (spoil == SPOIL_RESULT)
			run.got[run.outputs / 2] = 12345;
		if (tcb_plan_is_exact(&run.plan) && run.outputs <= 4096) {
			op->exact(&run.plan, run.data, exact);
			is_exact = is_exact && !memcmp(exact, run.got, run.outputs * sizeof *exact);
			add_result(results, op->name, is_exact ? 0 : INFINITY, is_exact);
		} else {
			add_result(results, op->name, tcb_op_run_error(&run), is_exact);
		}
	}
	tcb_op_run_close(&run);
	return is_run;
}

static int see_error(void *ctx, const struct tcb_op *op, const struct tcb_kernel_emulation *emulation)
{
	/* What stops at an error is not compared. */
	add_result(ctx, op->name, emulation->findings ? INFINITY : emulation->error_ratio, !emulation->calls_differ);
	return 0;
}

static void equivalence(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	size_t op_count;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	const struct tcb_target *target = &lab->place->device.target;
	struct results cpu = { 0 }, gpu = { 0 };
	const enum spoil spoil = plant == TCB_PLANT_DEFECT ? SPOIL_RESULT : SPOIL_NOTHING;
	for (size_t i = 0; !tcb_kind_of(target)->is_emitted && i < op_count; i++) {
		const size_t k = !ops[i]->default_shapes[0].k ? 0 : ops[i]->format ? 512 : 129;
		struct tcb_shape shape = { ops[i]->default_shapes[0].m == 1 && k ? 1 : 13, 67, k };
		if (tcb_op_needs_words(ops[i])) {
			shape = ops[i]->default_shapes[0];
			shape.n = 67;
		}
		for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
			if ((!lab->op || lab->op == ops[i]) && tcb_target_has(target, (enum tcb_isa)isa) &&
			    tcb_cpu_isa((enum tcb_isa)isa) && !run_case(lab, ops[i], &shape, isa, spoil, &cpu, out))
				return;
	}
	if (!tcb_emulate_ops(lab, EMULATED, 1, see_error, &gpu, out))
		return;
	if (plant == TCB_PLANT_DEFECT && cpu.runs == 0)
		add_result(&gpu, planted_kernel, INFINITY, 0);
	tcb_found(out, cpu.wrong + gpu.wrong == 0,
		  "%u of %u runs on this processor wrong (worst %.3g of the bound), %u of %u kernels of sm_%d in the "
		  "emulator (%.3g)%s%s",
		  cpu.wrong, cpu.runs, cpu.worst, gpu.wrong, gpu.runs, EMULATED, gpu.worst,
		  cpu.wrong ? cpu.first : gpu.first, plant == TCB_PLANT_DEFECT ? " (a result was changed)" : "");
}

static void odd_sizes(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char *const ops[] = { "softmax", "layernorm", "reduce2d_max", "matmul_f32" };
	static const size_t sizes[] = { 1,   2,   3,   5,   7,   11,  13,  17,   19,   23,   29,
					31,  37,  41,  61,  63,  64,  65,  101,  127,  129,  255,
					257, 383, 509, 511, 513, 769, 997, 1009, 1021, 1023, 1025 };
	struct results results = { 0 };
	/* F301 has a control of results; here only the byte behind the output is changed. */
	const enum spoil spoil = plant == TCB_PLANT_DEFECT ? SPOIL_GUARD : SPOIL_NOTHING;
	for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
		const struct tcb_op *op = tcb_op_find(ops[o]);
		for (size_t i = 0; op && i < sizeof sizes / sizeof *sizes; i++) {
			const struct tcb_shape shape = { 3, sizes[i], o == 3 ? sizes[i % 20] : 0 };
			if (!run_case(lab, op, &shape, (int)tcb_float_isa(&lab->place->device.target), spoil, &results,
				      out))
				return;
		}
	}
	tcb_found(out, results.wrong == 0,
		  "%u of %u runs wrong, or beyond their outputs, sizes 1 to 1025 with all kinds of remainders (worst "
		  "%.3g of the bound)%s%s",
		  results.wrong, results.runs, results.worst, results.first,
		  plant == TCB_PLANT_DEFECT ? " (the byte behind the output was changed)" : "");
}

/* --- F302, F310, F311, F312, F322, F342: geometries --- */

/* Ops of a family, whose blocks of weights are as large, have one space: the first of them stands for all. */
static int is_first_of_family(const struct tcb_op *const *ops, size_t index)
{
	const struct tcb_op *op = ops[index];
	for (size_t i = 0; i < index; i++)
		if (tcb_op_is_like(ops[i], op) && !ops[i]->format == !op->format &&
		    (!op->format || ops[i]->format->block_values == op->format->block_values))
			return 0;
	return 1;
}

/* Calls EACH for about SAMPLE geometries of the default space (with ANY_SIZE: of all sizes) of each op on the CPU, or
 * on a GPU where the lab's place is one, and on sm_90. */
typedef void geometry_fn(void *ctx, const struct tcb_problem *problem, const struct tcb_target *target,
			 const struct tcb_geometry *geometry);
static void sample_spaces(const struct tcb_claim_lab *lab, int any_size, size_t sample, geometry_fn *each, void *ctx)
{
	size_t op_count;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	struct tcb_gpu gpu;
	for (size_t i = 0; i < 2 * op_count; i++) {
		const struct tcb_op *op = ops[i / 2];
		const struct tcb_target *target = i % 2 ? &gpu.device.target : &lab->place->device.target;
		struct tcb_space *space;
		struct tcb_problem problem;
		if ((lab->op ? lab->op != op : !is_first_of_family(ops, i / 2)) ||
		    tcb_gpu_table(90, &gpu, NULL) != TCB_OK ||
		    (i % 2 && lab->place->device.target.cuda.capability == gpu.device.target.cuda.capability) ||
		    tcb_op_require(op, target, NULL) != TCB_OK ||
		    tcb_problem_init(op, op->default_contract, &op->default_shapes[0], &problem, NULL) != TCB_OK ||
		    tcb_space_create(op, &problem, target, any_size, &space, NULL) != TCB_OK)
			continue;
		for (size_t g = 0; g < space->count; g += 1 + space->count / sample)
			each(ctx, &problem, target, &space->geometries[g]);
		tcb_space_destroy(space);
	}
}

struct tally {
	size_t seen, wrong;
	int is_planted;
	const void *more;
};

static int is_power(size_t value)
{
	return value && !(value & (value - 1));
}

/* On a CPU: a power of two of register tiles, whose sizes are those of the vectors, or an even share of SIZE for the
 * threads, which no tile of the level below could be taken from. */
static int is_share(size_t value, size_t size, size_t micro, size_t midi)
{
	if (!micro || value % micro)
		return 0;
	const size_t parts = tcb_div_up(size, value);
	return is_power(value / micro) || value - tcb_div_up(size, parts) < tcb_most(micro, midi);
}

static void see_powers(void *ctx, const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry)
{
	struct tally *tally = ctx;
	const struct tcb_shape *s = &problem->shape;
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI], *micro = &geometry->tile[TCB_MICRO];
	const int is_cpu = !tcb_kind_of(target)->is_emitted;
	int is_wrong = 0;
	for (int level = 0; level <= TCB_MIDI; level++) { /* the register tile is the variant's */
		const struct tcb_tile *t = &geometry->tile[level];
		is_wrong |= !(is_power(t->m) || t->m == s->m || (is_cpu && is_share(t->m, s->m, micro->m, midi->m)));
		is_wrong |= !(is_power(t->n) || t->n == s->n || (is_cpu && is_share(t->n, s->n, micro->n, midi->n)));
		is_wrong |= !(is_power(t->k) || t->k == s->k);
	}
	tally->seen++;
	tally->wrong += (size_t)is_wrong;
}

static void powers(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct tally tally = { 0 };
	if (tcb_kind_of(&lab->place->device.target)->is_emitted) {
		tcb_found_nothing(out, "on a GPU --any-size adds geometries, but no tile of another size, so nothing "
				       "can be planted: run it with --device cpu");
		return;
	}
	sample_spaces(lab, plant == TCB_PLANT_DEFECT, 400, see_powers, &tally);
	tcb_found(out, tally.wrong == 0 && tally.seen > 0,
		  "%zu of %zu geometries have a macro or midi tile that is neither a power of two nor the problem's "
		  "own size%s",
		  tally.wrong, tally.seen, plant == TCB_PLANT_DEFECT ? " (--any-size)" : "");
}

/* Estimated registers decide how many warps one SM holds; those with few are in the space like the others. */
static void see_occupancy(void *ctx, const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry)
{
	struct tally *tally = ctx;
	struct tcb_footprint footprint;
	struct tcb_occupancy occupancy;
	if (!tcb_kind_of(target)->is_emitted)
		return;
	tcb_space_of(problem, target, geometry)->footprint(problem, target, geometry, &footprint);
	const struct tcb_ptx_resources resources = { .registers = footprint.thread_registers };
	if (!footprint.thread_registers || !footprint.block_threads ||
	    tcb_occupancy(90, &resources, footprint.block_threads, footprint.shared_bytes, &occupancy, NULL) != TCB_OK)
		return;
	const int is_low = 2 * occupancy.warps < occupancy.warps_max;
	if (tally->is_planted && is_low) /* the planted defect: they are rejected */
		return;
	tally->seen++;
	tally->wrong += (size_t)is_low;
}

static void occupancy(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct tally tally = { .is_planted = plant == TCB_PLANT_DEFECT };
	sample_spaces(lab, 0, 200, see_occupancy, &tally);
	tcb_found(out, tally.wrong > 0,
		  "%zu of %zu geometries of the spaces on sm_90 fill less than half of an SM's warps%s", tally.wrong,
		  tally.seen, tally.is_planted ? " (these were rejected)" : "");
}

/* Blocks handed to slots one by one, as the hardware does where all take the same time. */
static double dealt_efficiency(size_t blocks, size_t slots)
{
	size_t waves = 0, left = blocks;
	while (left) {
		left -= tcb_least(left, slots);
		waves++;
	}
	return (double)blocks / (double)(slots * waves);
}

static void waves(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	enum { TRIALS = 2000 };
	unsigned wrong = 0, tails = 0, refused = 0;
	struct tcb_rng rng;
	tcb_rng_init(&rng, lab->seed);
	for (int i = 0; i < TRIALS; i++) {
		const size_t slots = 1 + (size_t)tcb_rng_below(&rng, 2000),
			     blocks = 1 + (size_t)tcb_rng_below(&rng, 20000);
		const size_t rounds = plant == TCB_PLANT_DEFECT ? blocks / slots + 1 : tcb_div_up(blocks, slots);
		const double efficiency = (double)blocks / (double)(slots * rounds);
		wrong += fabs(efficiency - dealt_efficiency(blocks, slots)) > 1e-12;
		const size_t tail = blocks % slots ? blocks % slots : slots;
		tails += efficiency >= 0.9;
		refused += efficiency >= 0.9 && (double)tail < 0.8 * (double)slots;
	}
	tcb_found(out, wrong == 0,
		  "%u of %d efficiencies differ from a count of waves%s; a rule that the last wave be 80 %% full would "
		  "refuse %u of the %u that reach 0.9",
		  wrong, TRIALS, plant == TCB_PLANT_DEFECT ? " (one wave too many where they come out even)" : "",
		  refused, tails);
}

static void see_superblock(void *ctx, const struct tcb_problem *problem, const struct tcb_target *target,
			   const struct tcb_geometry *geometry)
{
	struct tally *tally = ctx;
	(void)target;
	if (!problem->op->format)
		return;
	const size_t unit = (size_t)problem->op->format->block_values * (tally->is_planted ? 64 : 1);
	const int32_t slices = geometry->knob[TCB_KNOB_SPLITK];
	const size_t part = problem->shape.k / (slices > 1 ? (size_t)slices : 1);
	tally->seen++;
	tally->wrong += geometry->tile[TCB_MACRO].k % unit != 0 || part % unit != 0;
}

static void superblocks(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct tally tally = { .is_planted = plant == TCB_PLANT_DEFECT };
	size_t op_count, taken = 0, asked = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	sample_spaces(lab, 0, 400, see_superblock, &tally);
	if (tally.seen == 0) {
		tcb_found_nothing(out, "%s has no weights in blocks", lab->op ? lab->op->name : "no op");
		return;
	}
	for (size_t i = 0; i < op_count; i++) {
		const struct tcb_shape shape = { 1, 64, 1000 };
		if (!ops[i]->format || ops[i]->format->block_values == 1) /* a row of values: any K is whole blocks */
			continue;
		asked++;
		taken += ops[i]->check_shape(ops[i], &shape, NULL) == TCB_OK;
	}
	tcb_found(out, tally.wrong == 0 && taken == 0 && tally.seen > 0,
		  "%zu of %zu geometries cut a block of weights%s; %zu of %zu ops take a K of 1000", tally.wrong,
		  tally.seen, tally.is_planted ? " (taken 64 times as large)" : "", taken, asked);
}

static void see_padding(void *ctx, const struct tcb_problem *problem, const struct tcb_target *target,
			const struct tcb_geometry *geometry)
{
	struct tally *tally = ctx;
	const struct tcb_shape *s = &problem->shape;
	const struct tcb_tile *tile = &geometry->tile[tcb_kind_of(target)->unit];
	const size_t size[3] = { s->m, s->n, tcb_most(s->k, 1) }, step[3] = { tile->m, tile->n, tile->k };
	double padded = 1, used = 1;
	struct tcb_soft soft;
	/* tiles laid out one after another until they cover the size */
	for (int d = 0; d < 3; d++) {
		size_t covered = 0;
		while (covered < size[d])
			covered += step[d];
		padded *= (double)(tally->is_planted ? size[d] : covered);
		used *= (double)size[d];
	}
	tcb_constraint_soft(problem, target, geometry, &soft);
	tally->seen++;
	tally->wrong += fabs(soft.padding_waste - (1 - used / padded)) > 1e-9;
}

static void padding(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct tally tally = { .is_planted = plant == TCB_PLANT_DEFECT };
	sample_spaces(lab, 0, 300, see_padding, &tally);
	tcb_found(out, tally.wrong == 0 && tally.seen > 0,
		  "%zu of %zu geometries have another padding waste than tiles that are laid out one by one%s",
		  tally.wrong, tally.seen, tally.is_planted ? " (which were cut at the edge)" : "");
}

static void see_lines(void *ctx, const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry)
{
	struct tally *tally = ctx;
	struct tcb_footprint f;
	tcb_space_of(problem, target, geometry)->footprint(problem, target, geometry, &f);
	if (!f.vector_bytes || !is_power(f.vector_bytes) || f.vector_bytes > 64)
		return;
	const size_t base = f.base_bytes + (tally->is_planted ? f.vector_bytes / 2 : 0);
	for (size_t tile = 0; tile < 16; tile++, tally->seen++)
		tally->wrong += (base + tile * f.tile_offset_bytes) % 64 + f.vector_bytes > 64;
}

static void split_lines(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct tally tally = { .is_planted = plant == TCB_PLANT_DEFECT };
	sample_spaces(lab, 0, 300, see_lines, &tally);
	tcb_found(out, tally.wrong == 0 && tally.seen > 0,
		  "%zu of %zu addresses of vectors cross a line of 64 bytes, by the arithmetic of H13%s", tally.wrong,
		  tally.seen, tally.is_planted ? " (the base is off by half a vector)" : "");
}

/* --- F313, F315, F341, F381: the emulator's counts --- */

struct counted {
	struct tcb_ptx_counts total;
	uint64_t control, findings;
	unsigned kernels;
	double worst;
	char worst_op[64];
	double (*share)(const struct tcb_ptx_counts *counts, uint64_t control);
};

static void add_counts(struct counted *counted, const char *op, const struct tcb_ptx_counts *counts, uint64_t control,
		       uint64_t findings)
{
	const double share = counted->share ? counted->share(counts, control) : 0;
	counted->total.wavefronts += counts->wavefronts;
	counted->total.wavefronts_ideal += counts->wavefronts_ideal;
	counted->total.sectors += counts->sectors;
	counted->total.sectors_ideal += counts->sectors_ideal;
	counted->total.divergent += counts->divergent;
	counted->control += control;
	counted->findings += findings;
	counted->kernels++;
	if (share > counted->worst) {
		counted->worst = share;
		(void)snprintf(counted->worst_op, sizeof counted->worst_op, ", the most in %.28s", op);
	}
}

static int see_counts(void *ctx, const struct tcb_op *op, const struct tcb_kernel_emulation *emulation)
{
	add_counts(ctx, op->name, &emulation->total, emulation->by_class[TCB_PTX_COUNT_CONTROL], emulation->findings);
	return 0;
}

/* Blocks of 18 to 210 bytes lie as they lie. */
static int see_dense(void *ctx, const struct tcb_op *op, const struct tcb_kernel_emulation *emulation)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_problem problem;
	if (op->format || tcb_problem_init(op, op->default_contract, &op->default_shapes[0], &problem, NULL) != TCB_OK)
		return 0;
	for (size_t i = 0, count = op->operands(&problem, operands); i < count; i++)
		if (operands[i].type == TCB_TYPE_BLOCKS)
			return 0;
	return see_counts(ctx, op, emulation);
}

/* All ops' kernels that EACH counts, or in their place BODY in 32 threads, whose buffer has 4096 words. */
static int count_all(struct tcb_claim_lab *lab, tcb_emulated_fn *each, const char *body, struct counted *counted,
		     struct tcb_finding *out)
{
	struct tcb_specimen specimen;
	struct tcb_specimen_run run = { .grid = 1, .block = 64, .arguments = { "buf:u32[4096]=zero" } };
	if (!body)
		return tcb_emulate_ops(lab, EMULATED, 0, each, counted, out);
	if (!tcb_specimen_open(&specimen, ".param .u64 data", body, out))
		return 0;
	const int is_run = tcb_specimen_run(&specimen, &run, out);
	if (is_run)
		add_counts(counted, planted_kernel, &run.counts.total, run.counts.by_class[TCB_PTX_COUNT_CONTROL],
			   run.errors);
	tcb_specimen_close(&specimen);
	return is_run;
}

static double conflict_share(const struct tcb_ptx_counts *c, uint64_t control)
{
	(void)control;
	return c->wavefronts ? 1 - (double)c->wavefronts_ideal / (double)c->wavefronts : 0;
}

static double scattered_share(const struct tcb_ptx_counts *c, uint64_t control)
{
	(void)control;
	return c->sectors ? 1 - (double)c->sectors_ideal / (double)c->sectors : 0;
}

static double divergent_share(const struct tcb_ptx_counts *c, uint64_t control)
{
	return control ? (double)c->divergent / (double)control : 0;
}

static void conflicts(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char planted[] = ".shared .align 4 .b8 tile[8192];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, tile;\n"
				      "shl.b32 %r3, %r1, 7;\nadd.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2], %r1;\n"
				      "ld.shared.u32 %r4, [%r2];\n";
	struct counted counted = { .share = conflict_share };
	if (count_all(lab, see_counts, plant == TCB_PLANT_DEFECT ? planted : NULL, &counted, out))
		tcb_found(out, conflict_share(&counted.total, 0) < 0.01,
			  "%.2f %% of %llu wavefronts are conflicts; kernels of sm_%d at whole tiles (emulator): %u%s: "
			  "%.1f %%",
			  100 * conflict_share(&counted.total, 0), (unsigned long long)counted.total.wavefronts,
			  EMULATED, counted.kernels, counted.worst_op, 100 * counted.worst);
}

static void coalesced(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char planted[] =
		"mov.u32 %r1, %tid.x;\nld.param.u64 %rd1, [data];\nmul.wide.u32 %rd2, %r1, 128;\n"
		"add.s64 %rd1, %rd1, %rd2;\nld.global.u32 %r2, [%rd1];\nst.global.u32 [%rd1], %r2;\n";
	struct counted counted = { .share = scattered_share };
	if (!count_all(lab, see_dense, plant == TCB_PLANT_DEFECT ? planted : NULL, &counted, out))
		return;
	if (!counted.kernels)
		tcb_found_nothing(out, "no kernel of dense operands was asked for");
	else
		tcb_found(out, scattered_share(&counted.total, 0) < 0.05,
			  "%.1f %% of %llu sectors are needed; dense kernels of sm_%d at whole tiles (emulator): %u; "
			  "unneeded%s: %.1f %%",
			  100 - 100 * scattered_share(&counted.total, 0), (unsigned long long)counted.total.sectors,
			  EMULATED, counted.kernels, counted.worst_op, 100 * counted.worst);
}

static void divergence(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char planted[] =
		"mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nL:\nadd.u32 %r2, %r2, 1;\n"
		"setp.lt.u32 %p1, %r2, %r1;\n@%p1 bra L;\nld.param.u64 %rd1, [data];\n"
		"mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd1, %rd1, %rd2;\nst.global.u32 [%rd1], %r2;\n";
	struct counted counted = { .share = divergent_share };
	if (count_all(lab, see_counts, plant == TCB_PLANT_DEFECT ? planted : NULL, &counted, out))
		tcb_found(out, divergent_share(&counted.total, counted.control) < 0.05,
			  "%.2f %% of %llu branches and exits part a warp; kernels of sm_%d (emulator): %u%s: %.1f %%",
			  100 * divergent_share(&counted.total, counted.control), (unsigned long long)counted.control,
			  EMULATED, counted.kernels, counted.worst_op, 100 * counted.worst);
}

static void races(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char planted[] =
		".shared .align 4 .b8 cell[4];\nmov.u32 %r1, %tid.x;\nst.shared.u32 [cell], %r1;\n"
		"ld.shared.u32 %r2, [cell];\nld.param.u64 %rd1, [data];\nst.global.u32 [%rd1], %r2;\n";
	struct counted counted = { 0 };
	if (count_all(lab, see_counts, plant == TCB_PLANT_DEFECT ? planted : NULL, &counted, out))
		tcb_found(out, counted.findings == 0, "%llu races and other errors; kernels of sm_%d (emulator): %u%s",
			  (unsigned long long)counted.findings, EMULATED, counted.kernels,
			  plant == TCB_PLANT_DEFECT ? ": 64 threads write one word" : "");
}

/* --- F314, F362: the assembler --- */

static void spills(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct tcb_assembled_sum sum;
	if (tcb_assemble_ops(lab, 90, plant == TCB_PLANT_DEFECT ? 32 : 0, &sum, out))
		tcb_found(out, sum.spill_bytes == 0,
			  "%u bytes spilled by %u default kernels of sm_90, at most %u registers%s%s", sum.spill_bytes,
			  sum.kernels, sum.registers_most, sum.first_spilled[0] ? ", the first " : "",
			  sum.first_spilled);
}

static void registers(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const struct tcb_ptx_resources resources = { .registers = plant == TCB_PLANT_TRUTH ? 56 : 64 };
	struct tcb_occupancy found;
	(void)lab;
	if (tcb_occupancy(90, &resources, 128, 0, &found, NULL) != TCB_OK) {
		tcb_found_nothing(out, "no occupancy is known of sm_90");
		return;
	}
	tcb_found(out, 2 * found.warps > found.warps_max,
		  "%u of %u warps, %.0f %%, with %u registers per thread (sm_90, blocks of 128)", found.warps,
		  found.warps_max, 100.0 * found.warps / found.warps_max, resources.registers);
}

const struct tcb_claim tcb_claims_criteria[] = {
	{ "F301", "kernels compute what the references do",
	  "within the bounds of specification 4, EXACT ones bit by bit", "A", TCB_CLAIM_OURS, equivalence },
	{ "F302",
	  "tiles of the default spaces are powers of two or the problem's own size; on a CPU of register tiles, or "
	  "even shares (a policy)",
	  "all", "A", TCB_CLAIM_OURS, powers },
	{ "F303",
	  "with the word bits a row's results have the same bits for any M, batch, threads and geometry of the space",
	  "0 results differ", "A", TCB_CLAIM_OURS, tcb_claim_same_bits },
	{ "F310", "occupancy is advisory: it rejects nothing (restated: low occupancy can be the fastest)",
	  "geometries below 50 % are in the spaces", "A", TCB_CLAIM_OURS, occupancy },
	{ "F311", "wave efficiency is blocks over slots times waves (restated: not the fill of the last wave)",
	  "equal to a count of waves", "A", TCB_CLAIM_OURS, waves },
	{ "F312", "no geometry cuts a block of quantised weights", "none, and no odd K taken", "A", TCB_CLAIM_OURS,
	  superblocks },
	{ "F313", "shared memory is free of bank conflicts",
	  "< 1 % of the wavefronts of all kernels together (with --op: of that op's)", "A", TCB_CLAIM_OURS, conflicts },
	{ "F314", "no default kernel spills registers", "0 bytes", "B", TCB_CLAIM_OURS, spills },
	{ "F315", "warps rarely diverge", "< 5 % of the branches of all kernels together (with --op: of that op's)",
	  "A", TCB_CLAIM_OURS, divergence },
	{ "F321", "odd sizes are right and stay within their outputs", "all within their bounds, guard zones untouched",
	  "A", TCB_CLAIM_OURS, odd_sizes },
	{ "F322", "padding waste is what tiles cover in excess", "equal to tiles laid out one by one", "A",
	  TCB_CLAIM_OURS, padding },
	{ "F341",
	  "global memory is accessed coalesced (restated: dense operands; blocks of quantised weights are of 18 to 210 "
	  "bytes)",
	  ">= 95 % of the sectors needed, results included", "A", TCB_CLAIM_OURS, coalesced },
	{ "F342", "no vector crosses a cache line (by the address arithmetic of the accesses that ops declare)", "none",
	  "A", TCB_CLAIM_OURS, split_lines },
	{ "F361", "kernels read little more of memory than they must", "DRAM bytes over compulsory bytes", "C",
	  TCB_CLAIM_OURS, NULL,
	  "needs a GPU and CUPTI: 'tcbtune sweep --device cuda:0' stores the bytes that the winner read, 'tcbtune "
	  "report --counters' shows them" },
	{ "F362",
	  "fewer than 64 registers are needed for half of an SM's warps (contradicts F310: 64 are exactly half)",
	  "more than 50 % with 64", "A", TCB_CLAIM_SOURCE, registers },
	{ "F381", "GPU kernels are free of races", "no finding", "A", TCB_CLAIM_OURS, races },
	{ "F382", "CPU kernels are free of data races", "no report of ThreadSanitizer", "A", TCB_CLAIM_OURS, NULL,
	  "needs a build with ThreadSanitizer: 'scripts/test.sh tsan' runs all threaded tests under it" },
	{ 0 },
};
