/* SPDX-License-Identifier: MIT
 *
 * Items 1 to 15, tile constraints: what follows from rules is worked out, what
 * depends on caches is simulated, and loops are timed in pairs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpu_table.h"
#include "base/util.h"
#include "base/view.h"
#include "kernels/gpu/ptx_code.h"
#include "kernels/space.h"
#include "verify/claim.h"
#include "verify/measure_cache.h"
#include "verify/measure_geometry.h"
#include "verify/measure_time.h"
#include "verify/specimen.h"

/* --- on a GPU, by rules and by the emulator --- */

/* The share of an SM's warps that blocks of WARPS fill, with 32 to 128 registers per thread; -1: not known. */
static double fill_of(unsigned warps)
{
	double sum = 0;
	for (unsigned registers = 32; registers <= 128; registers += 32) {
		const struct tcb_ptx_resources resources = { .registers = registers };
		struct tcb_occupancy found;
		if (tcb_occupancy(90, &resources, 32 * warps, 0, &found, NULL) != TCB_OK)
			return -1;
		sum += (double)found.warps / found.warps_max;
	}
	return sum / 4;
}

/* Blocks of 2, 4, 8 and 16 warps against those of half as many again; the true case: 16 against 17. */
static void occupancy(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const int is_true = plant == TCB_PLANT_TRUTH, is_planted = plant == TCB_PLANT_DEFECT;
	double powers = 0, others = 0;
	unsigned count = 0;
	(void)lab;
	for (unsigned warps = is_true ? 16 : 2; warps <= 16; warps *= 2, count++) {
		const unsigned other = is_true ? 17 : warps + warps / 2;
		powers += fill_of(is_planted ? other : warps);
		others += fill_of(is_planted ? warps : other);
	}
	if (powers < 0) {
		tcb_found_nothing(out, "no occupancy is known of sm_90");
		return;
	}
	tcb_found(out, powers >= 1.1 * others,
		  "occupancy %.1f %% with %s, %.1f %% with %s (sm_90, 32 to 128 registers per thread)",
		  100 * powers / count,
		  is_true      ? "16 warps per block"
		  : is_planted ? "3, 6, 12 and 24 warps per block"
			       : "2, 4, 8 and 16 warps per block",
		  100 * others / count,
		  is_true      ? "17"
		  : is_planted ? "2, 4, 8 and 16"
			       : "3, 6, 12 and 24");
}

/* 32 threads share a tile of WIDTH columns: how often do they part? */
static void divergence(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char body[] = "mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [width];\nld.param.u64 %rd1, [out];\n"
				   "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd1, %rd1, %rd2;\nmov.u32 %r3, 0;\n"
				   "L:\nadd.u32 %r3, %r3, %r1;\nadd.u32 %r1, %r1, 32;\nsetp.lt.u32 %p1, %r1, %r2;\n"
				   "@%p1 bra L;\nst.global.u32 [%rd1], %r3;\n";
	const unsigned width = plant == TCB_PLANT_TRUTH ? 48 : 96;
	struct tcb_specimen specimen;
	struct tcb_specimen_run run = { .grid = 1, .block = 32 };
	char text[32];
	(void)lab;
	(void)snprintf(text, sizeof text, "u32=%u", width);
	run.arguments[0] = "buf:u32[32]=zero";
	run.arguments[1] = text;
	if (!tcb_specimen_open(&specimen, ".param .u64 out, .param .u32 width", body, out))
		return;
	if (tcb_specimen_run(&specimen, &run, out)) {
		const uint64_t parted = run.counts.total.divergent;
		tcb_found(out, parted > 0,
			  "%llu times a branch parts the warp whose 32 threads share a tile of %u columns (emulator)",
			  (unsigned long long)parted, width);
	}
	tcb_specimen_close(&specimen);
}

/* --- the assembler --- */

/* The PTX of the geometry of a dense f32 product on sm_80 with the largest register tile; 0, and OUT, without one. */
static int largest_tile(struct tcb_str *ptx, size_t *outputs, struct tcb_finding *out)
{
	const struct tcb_op *op = tcb_op_find("matmul_f32");
	struct tcb_space *space = NULL;
	struct tcb_kernel kernel = { 0 };
	struct tcb_problem problem;
	struct tcb_gpu gpu;
	struct tcb_error err;
	size_t best = 0;
	enum tcb_status status =
		op ? tcb_gpu_table(80, &gpu, &err) : tcb_fail(&err, TCB_E_NOT_FOUND, "no op matmul_f32");
	if (status == TCB_OK)
		status = tcb_problem_init(op, op->default_contract, &op->default_shapes[0], &problem, &err);
	if (status == TCB_OK)
		status = tcb_space_create(op, &problem, &gpu.device.target, 0, &space, &err);
	for (size_t i = 0; status == TCB_OK && i < space->count; i++) {
		const struct tcb_tile *a = &space->geometries[i].tile[TCB_MICRO],
				      *b = &space->geometries[best].tile[TCB_MICRO];
		best = a->m * a->n > b->m * b->n ? i : best;
	}
	if (status == TCB_OK) {
		const struct tcb_tile *micro = &space->geometries[best].tile[TCB_MICRO];
		*outputs = micro->m * micro->n;
		status = tcb_kernel_emit(&problem, &gpu.device.target, &space->geometries[best], &kernel, &err);
	}
	if (status == TCB_OK)
		tcb_kernel_print(&kernel, ptx);
	tcb_kernel_fini(&kernel);
	tcb_space_destroy(space);
	if (status != TCB_OK || ptx->failed)
		tcb_found_nothing(out, "%.200s", status != TCB_OK ? err.message : "out of memory");
	return status == TCB_OK && !ptx->failed;
}

/* As FLAGS say; 0, and OUT, where nothing was assembled or no result came but by the time limit. */
static int assemble_largest(struct tcb_claim_lab *lab, const char *flags, double limit, struct tcb_assembly *assembly,
			    size_t *outputs, struct tcb_finding *out)
{
	const struct tcb_ptx_target target = { .sm = 80 };
	struct tcb_assemble_build build;
	struct tcb_str ptx = { 0 };
	if (lab->assembler.kind == TCB_ASSEMBLER_NONE) {
		tcb_found_nothing(out, "%s", lab->no_assembler);
		return 0;
	}
	int is_done = largest_tile(&ptx, outputs, out) && tcb_assemble_build(flags, &build, NULL) == TCB_OK;
	/* Beside bounds of a launch ptxas does not heed -maxrregcount. */
	char *bounds = flags && is_done ? strstr(ptx.data, ".reqntid") : NULL;
	if (bounds)
		memset(bounds, ' ', strcspn(bounds, "{"));
	if (is_done) {
		tcb_assemble_as(&lab->assembler, ptx.data, ptx.length, &target, &build, limit, assembly);
		is_done = assembly->status == TCB_OK || assembly->timed_out;
		if (!is_done) {
			tcb_found_nothing(out, "it cannot be assembled: %.200s", assembly->log ? assembly->log : "");
			tcb_assembly_fini(assembly);
		}
	}
	tcb_str_fini(&ptx);
	return is_done;
}

static void spills(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const char *flags = plant == TCB_PLANT_DEFECT ? "-maxrregcount 32" : NULL;
	struct tcb_assembly assembly;
	size_t outputs;
	if (!assemble_largest(lab, flags, 60, &assembly, &outputs, out))
		return;
	const unsigned bytes = assembly.resources.spill_store_bytes + assembly.resources.spill_load_bytes;
	if (!assembly.timed_out && !assembly.resources.registers)
		tcb_found_nothing(out, "the assembler does not tell what the kernel takes");
	else
		tcb_found(out, bytes == 0 && !assembly.timed_out,
			  "%u bytes spilled, %u registers, of a dense f32 product with %zu outputs per thread, the "
			  "most of its space%s",
			  bytes, assembly.resources.registers, outputs,
			  plant == TCB_PLANT_DEFECT ? " (held to 32 registers)" : "");
	tcb_assembly_fini(&assembly);
}

static void assembled_in_time(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const double limit = plant == TCB_PLANT_DEFECT ? 0.001 : 10;
	struct tcb_assembly assembly;
	size_t outputs;
	if (!assemble_largest(lab, NULL, limit, &assembly, &outputs, out))
		return;
	tcb_found(out, !assembly.timed_out,
		  "%s %.2f s, of a dense f32 product with %zu outputs per thread, the most of its space",
		  assembly.timed_out ? "not assembled within" : "assembled in",
		  assembly.timed_out ? limit : assembly.seconds, outputs);
	tcb_assembly_fini(&assembly);
}

/* --- loops over tiles --- */

enum { SIDE = 2048 };

struct tile_sum {
	const float *data;
	size_t rows, columns; /* of a tile */
	float sum;
};

/* All of a SIDE x SIDE array, tile by tile. */
static void sum_tiles(void *ctx)
{
	struct tile_sum *s = ctx;
	float sum = 0;
	for (size_t r0 = 0; r0 < SIDE; r0 += s->rows)
		for (size_t c0 = 0; c0 < SIDE; c0 += s->columns)
			for (size_t r = r0; r < r0 + s->rows; r++)
				for (size_t c = c0; c < c0 + s->columns; c++)
					sum += s->data[r * SIDE + c];
	s->sum = sum;
}

/* The time of tiles of A over that of tiles of B. */
static int time_tiles(tcb_timed_fn *sum, const size_t a[2], const size_t b[2], struct tcb_interval *ratio,
		      struct tcb_finding *out)
{
	float *data = calloc((size_t)SIDE * SIDE, sizeof *data);
	struct tile_sum first = { data, a[0], a[1], 0 }, second = { data, b[0], b[1], 0 };
	if (!data) {
		tcb_found_nothing(out, "out of memory");
		return 0;
	}
	*ratio = tcb_pair_time_of(sum, &first, sum, &second, 11);
	free(data);
	return 1;
}

static void narrow_tiles(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const size_t square[2] = { 64, 64 }, narrow[2] = { 2048, 2 };
	struct tcb_interval ratio;
	if (!tcb_found_on_cpu(lab, out))
		return;
	if (!time_tiles(sum_tiles, plant == TCB_PLANT_TRUTH ? square : narrow, square, &ratio, out))
		return;
	const char *what = plant == TCB_PLANT_TRUTH ? "64 x 64" : "2048 x 2";
	if ((ratio.lo < 0.95 && ratio.hi > 0.95) || (ratio.lo < 1.05 && ratio.hi > 1.05))
		tcb_found_nothing(out, "undecided: time of tiles of %s over 64 x 64 %.3f [%.3f, %.3f]", what,
				  ratio.median, ratio.lo, ratio.hi);
	else
		tcb_found(out, ratio.lo >= 0.95 && ratio.hi <= 1.05,
			  "time of a sum in tiles of %s over tiles of 64 x 64 floats (CPU): %.3f [%.3f, %.3f]", what,
			  ratio.median, ratio.lo, ratio.hi);
}

/* The same sum over tiles that a partition finds, each of one row. */
static void sum_partition(void *ctx)
{
	struct tile_sum *s = ctx;
	struct tcb_view view;
	struct tcb_partition tiles;
	float sum = 0;
	if (tcb_view_init(&view, 2, (size_t[]){ SIDE, SIDE }, NULL) != TCB_OK ||
	    tcb_partition_init(&tiles, &view, (size_t[]){ s->rows, s->columns }, NULL) != TCB_OK)
		return;
	for (size_t t = 0; t < tiles.total; t++) {
		struct tcb_tile_info info;
		tcb_partition_tile(&tiles, t, &info);
		for (size_t c = 0; c < info.extent[1]; c++)
			sum += s->data[info.offset + c];
	}
	s->sum = sum;
}

static void small_tiles(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const size_t four[2] = { 1, 4 }, many[2] = { 1, 32 };
	struct tcb_interval ratio;
	if (!tcb_found_on_cpu(lab, out))
		return;
	if (time_tiles(sum_partition, plant == TCB_PLANT_DEFECT ? many : four, many, &ratio, out))
		tcb_found_above(out, &ratio, 1.2,
				plant == TCB_PLANT_DEFECT
					? "time of a sum in tiles of 32 floats over itself"
					: "time of a sum in tiles of 4 floats over tiles of 32 (CPU)");
}

/* Four passes over a tile, in a cache of 32 KiB. */
static double miss_rate(size_t bytes)
{
	struct tcb_cache *cache = tcb_cache_create(512, 8, 64);
	if (!cache)
		return -1;
	for (int pass = 0; pass < 4; pass++)
		for (size_t at = 0; at < bytes; at += 64)
			tcb_cache_touch(cache, at);
	const double misses = 100 * (1 - tcb_cache_hit_rate(cache));
	tcb_cache_destroy(cache);
	return misses;
}

static void thrashing(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const size_t large_bytes = plant == TCB_PLANT_DEFECT ? 16384 : 1 << 20;
	const double small = miss_rate(32768), large = miss_rate(large_bytes);
	(void)lab;
	if (small < 0 || large < 0)
		tcb_found_nothing(out, "out of memory");
	else
		tcb_found(out, large > 1.5 * small,
			  "%.0f %% misses of four passes over %zu KiB, %.0f %% over 32 KiB (simulated 32 KiB, 8 ways)",
			  large, large_bytes >> 10, small);
}

/* --- code size --- */

enum { SIZES_MAX = 40 };

static double correlation(const double *x, const double *y, size_t count)
{
	double mx = 0, my = 0, xy = 0, xx = 0, yy = 0;
	for (size_t i = 0; i < count; i++) {
		mx += x[i] / (double)count;
		my += y[i] / (double)count;
	}
	for (size_t i = 0; i < count; i++) {
		xy += (x[i] - mx) * (y[i] - my);
		xx += (x[i] - mx) * (x[i] - mx);
		yy += (y[i] - my) * (y[i] - my);
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static size_t count_instructions(const struct tcb_ptx_module *module)
{
	size_t count = 0;
	for (const struct tcb_ptx_block *block = module->functions->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			count++;
	return count;
}

/* Outputs a thread of geometries of a dense f32 product on sm_80, and their kernels' instructions. */
static size_t collect_sizes(double *outputs, double *instructions)
{
	const struct tcb_op *op = tcb_op_find("matmul_f32");
	struct tcb_space *space;
	struct tcb_problem problem;
	struct tcb_gpu gpu;
	size_t count = 0;
	if (!op || tcb_gpu_table(80, &gpu, NULL) != TCB_OK ||
	    tcb_problem_init(op, op->default_contract, &op->default_shapes[0], &problem, NULL) != TCB_OK ||
	    tcb_space_create(op, &problem, &gpu.device.target, 0, &space, NULL) != TCB_OK)
		return 0;
	for (size_t i = 0; i < space->count && count < SIZES_MAX; i += 1 + space->count / SIZES_MAX) {
		const struct tcb_tile *micro = &space->geometries[i].tile[TCB_MICRO];
		struct tcb_kernel kernel = { 0 };
		if (tcb_kernel_emit(&problem, &gpu.device.target, &space->geometries[i], &kernel, NULL) == TCB_OK) {
			outputs[count] = (double)(micro->m * micro->n);
			instructions[count++] = (double)count_instructions(tcb_kernel_ptx(&kernel)->module);
		}
		tcb_kernel_fini(&kernel);
	}
	tcb_space_destroy(space);
	return count;
}

static void code_size(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	double outputs[SIZES_MAX], instructions[SIZES_MAX];
	const size_t count = collect_sizes(outputs, instructions);
	struct tcb_rng rng;
	if (count < 10) {
		tcb_found_nothing(out, "only %zu kernels were made", count);
		return;
	}
	tcb_rng_init(&rng, lab->seed);
	for (size_t i = count; plant == TCB_PLANT_DEFECT && i > 1; i--) {
		const size_t other = (size_t)tcb_rng_below(&rng, i);
		const double kept = outputs[i - 1];
		outputs[i - 1] = outputs[other];
		outputs[other] = kept;
	}
	const double found = correlation(outputs, instructions, count);
	tcb_found(out, found > 0.7,
		  "correlation %.2f of outputs per thread with instructions, %zu dense f32 products of sm_80%s", found,
		  count, plant == TCB_PLANT_DEFECT ? " (shuffled)" : "");
}

/* --- addresses --- */

enum { ADDRESSES = 200000 };

struct addresses {
	size_t factor;
	unsigned shift;
	size_t result;
};

/* The next address depends on the last: what is timed is how long one takes. */
static void by_shift(void *ctx)
{
	struct addresses *a = ctx;
	const unsigned shift = a->shift;
	size_t at = 1;
	for (int i = 0; i < ADDRESSES; i++)
		at = (at << shift) ^ (size_t)i;
	a->result = at;
}

static void by_product(void *ctx)
{
	struct addresses *a = ctx;
	const size_t factor = a->factor;
	size_t at = 1;
	for (int i = 0; i < ADDRESSES; i++)
		at = at * factor ^ (size_t)i;
	a->result = at;
}

static void shifts(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct addresses addresses = { .factor = 64, .shift = 6 };
	if (!tcb_found_on_cpu(lab, out))
		return;
	const struct tcb_interval ratio = plant == TCB_PLANT_DEFECT
						  ? tcb_pair_time(by_product, by_shift, &addresses, 41)
						  : tcb_pair_time(by_shift, by_product, &addresses, 41);
	tcb_found_below(out, &ratio, 1,
			plant == TCB_PLANT_DEFECT ? "time of an address by product over one by shift"
						  : "time of an address by shift over one by product (CPU)");
}

static const char no_such_tiles[] =
	"the GPU kernels have no tiles of other sizes (--any-size adds none), and none were written to be timed";

const struct tcb_claim tcb_claims_tiles[] = {
	{ "I001", "tiles that are powers of two give GPUs a higher occupancy (restated: by the rules of occupancy)",
	  ">= 1.10 x that of other sizes", "A", TCB_CLAIM_SOURCE, occupancy },
	{ "I002", "limits on tiles prevent register spills", "0 bytes at the largest tile of the space", "B",
	  TCB_CLAIM_OURS, spills },
	{ "I003", "tiles of one size perform alike whatever their shape",
	  "within 5 % (undecided where the interval has that)", "A", TCB_CLAIM_SOURCE, narrow_tiles },
	{ "I004", "illegal geometries are refused before any code is written", "none emitted", "A", TCB_CLAIM_OURS,
	  tcb_claim_refused_before_code },
	{ "I005", "tiles that are not powers of two make warps diverge", "divergent branches with 96 columns", "A",
	  TCB_CLAIM_SOURCE, divergence },
	{ "I006", "the constraints serve every kind of device", "all defaults legal", "A", TCB_CLAIM_OURS,
	  tcb_claim_agnostic },
	{ "I007", "tiles of 4 elements are slower than tiles of 32", ">= 1.20 x (undecided where the interval has it)",
	  "A", TCB_CLAIM_SOURCE, small_tiles },
	{ "I008", "large tiles thrash a cache", "over 1.5 x the misses of tiles that fit", "A", TCB_CLAIM_SOURCE,
	  thrashing },
	{ "I009", "larger tiles press on the instruction cache (restated: on the size of code)", "correlation > 0.7",
	  "A", TCB_CLAIM_SOURCE, code_size },
	{ "I010", "powers of two make addresses cheaper to compute", "faster (undecided where the interval has 1)", "A",
	  TCB_CLAIM_SOURCE, shifts },
	{ "I011", "the constraints hold for f16 and bf16 as for f32", "all spaces with a legal default", "A",
	  TCB_CLAIM_OURS, tcb_claim_half_types },
	{ "I012", "limits on tiles keep the assembler from hanging", "assembled within 10 s", "B", TCB_CLAIM_OURS,
	  assembled_in_time },
	{ "I013", "refusals say what would be legal", "every change that they suggest is, and most suggest one", "A",
	  TCB_CLAIM_OURS, tcb_claim_suggestions },
	{ "I014", "the limits hold for many tokens at once", "no geometry beyond them", "A", TCB_CLAIM_OURS,
	  tcb_claim_batches_fit },
	{ "I015", "without powers of two the best kernel is slower", ">= 5 % slower", "C", TCB_CLAIM_SOURCE, NULL,
	  no_such_tiles },
	{ 0 },
};
