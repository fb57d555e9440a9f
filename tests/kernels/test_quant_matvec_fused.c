/* SPDX-License-Identifier: MIT
 *
 * MatVecs fused with a norm before and a gate after them: the reference against plain loops, what its bound notices,
 * packing of gate and up in all layouts, norms and gates of extreme numbers on this processor, and kernels drawn from
 * the whole spaces for GPUs in the emulator, right, clean, and mutants of them caught.
 */
#include "matvec_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "instrumented.h"
#include "kernels/default_rules.h"
#include "kernels/quant_matvec/quant_matvec_fused.h"
#include "kernels/quant_matvec/quant_matvec_planes.h"
#include "kernels/quant_matvec/quant_matvec_prepare.h"

static struct matvec_ops ops;

static int find_ops(void **state)
{
#define NAME(kind, has_norm, is_gated, ...) #kind,
	static const char *const kinds[] = { QMV_FUSED(NAME, ) NULL };
	(void)state;
	matvec_find(kinds, &ops);
	return ops.count == 3 * TCB_FORMAT_COUNT ? 0 : -1;
}

/* --- the reference --- */

static double dot(const struct tcb_problem *p, const uint8_t *weights, size_t row, const double *a, float *w)
{
	const size_t k = p->shape.k;
	double sum = 0;
	tcb_dequantize(p->op->format, weights + row * tcb_quant_row_bytes(p->op->format, k),
		       k / p->op->format->block_values, w);
	for (size_t i = 0; i < k; i++)
		sum += (double)w[i] * a[i];
	return sum;
}

/* By the definitions, to Y.  PLANT says what is wrong: nothing; eps, norm or the root forgotten; gate and up
 * exchanged; up a row off; the sigmoid without its factor; no gate. */
enum plant { PLANT_NOTHING, PLANT_EPS, PLANT_NORM, PLANT_MEAN, PLANT_SWAP, PLANT_ROW, PLANT_SIGMOID, PLANT_UP, PLANTS };

static void plain(const struct tcb_problem *p, void *const operand[], enum plant plant, double *y)
{
	const struct qmv_kind *kind = qmv_kind(p);
	const struct tcb_shape *s = &p->shape;
	const float *norm = kind->has_norm ? operand[QMV_NORM] : NULL;
	const float *bias = s->words.bias ? operand[QMV_NORM + kind->has_norm] : NULL;
	double *a = test_malloc(s->k * sizeof(*a));
	float *w = test_malloc(s->k * sizeof(*w));
	for (size_t m = 0; m < s->m; m++) {
		const float *x = (const float *)operand[TCB_QUANT_X] + m * s->k;
		double sum = 0;
		for (size_t i = 0; i < s->k; i++)
			sum += (double)x[i] * (double)x[i];
		const double mean = plant == PLANT_MEAN ? sum : sum / (double)s->k;
		const double rms = sqrt(mean + (plant == PLANT_EPS ? 0
						: s->words.eps     ? pow(10, -(double)s->words.eps)
								   : 1e-5));
		for (size_t i = 0; i < s->k; i++)
			a[i] = norm ? (double)x[i] / rms * (plant == PLANT_NORM ? 1 : (double)norm[i]) : (double)x[i];
		for (size_t n = 0; n < s->n; n++) {
			const double first = dot(p, operand[TCB_QUANT_WEIGHTS], n, a, w) + (bias ? (double)bias[n] : 0);
			y[m * s->n + n] = first;
			if (!kind->is_gated)
				continue;
			const size_t row = plant == PLANT_ROW ? (n + 1) % s->n : n;
			const double second = dot(p, operand[TCB_QUANT_WEIGHTS], s->n + row, a, w) +
					      (bias ? (double)bias[s->n + row] : 0);
			const double gate = plant == PLANT_SWAP ? second : first,
				     up = plant == PLANT_SWAP ? first : second;
			const double z1 = (double)(float)TCB_GELU_Z1, z3 = (double)(float)TCB_GELU_Z3;
			const double z = s->words.gelu ? gate * (z1 + z3 * gate * gate) : gate;
			const double sigmoid = 1 / (1 + exp(-z));
			y[m * s->n + n] = plant == PLANT_UP        ? up
					  : plant == PLANT_SIGMOID ? sigmoid * up
								   : gate * sigmoid * up;
		}
	}
	test_free(a);
	test_free(w);
}

static int applies(const struct qmv_kind *kind, int plant)
{
	return plant < PLANT_SWAP ? kind->has_norm : kind->is_gated;
}

/* Whether the largest chain that a kernel may have allows Y, output for output. */
static size_t count_refused(const struct gpu_bench *b, const double *y)
{
	const double chain = tcb_quant_chain_max(b->problem.shape.k) + TCB_QUANT_NORM_CHAIN;
	size_t count = 0;
	for (size_t i = 0; i < b->outputs; i++) {
		const double allowed = tcb_gamma(chain) * b->reference[0].magnitude[i] + b->reference[0].extra[i] +
				       8 * 0x1p-23 * fabs(b->reference[0].y[i]);
		count += !(fabs(y[i] - b->reference[0].y[i]) <= allowed);
	}
	return count;
}

static void reference_is_the_definition(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3 * ops.count; i++) {
		if (test_defers(i))
			continue;
		const struct tcb_op *op = ops.op[i % ops.count];
		struct tcb_problem p =
			matvec_problem(op, matvec_contract(i / ops.count), 5, 150, matvec_k(op, 512, i / ops.count));
		struct gpu_bench bench;
		p.shape.words.eps = qmv_kind(&p)->has_norm && i % 2 ? 6 : 0;
		p.shape.words.bias = i / 2 % 2;
		p.shape.words.gelu = qmv_kind(&p)->is_gated && i % 4 > 1;
		gpu_bench_open(&bench, &p, i);
		double *y = test_malloc(bench.outputs * sizeof(*y));
		plain(&p, bench.data, PLANT_NOTHING, y);
		for (size_t j = 0; j < bench.outputs; j++)
			if (!(fabs(y[j] - bench.reference[0].y[j]) <= 1e-9 * bench.reference[0].magnitude[j]))
				fail_msg("%s: output %zu is %g, not %g", op->name, j, bench.reference[0].y[j], y[j]);
		for (int plant = PLANT_NOTHING + 1; plant < PLANTS; plant++) {
			if (!applies(qmv_kind(&p), plant))
				continue;
			plain(&p, bench.data, (enum plant)plant, y);
			/* Without eps only the tokens are off where it rules: one of five.  Rounding to 8 bits is
			 * allowed for as if all of it added up, which hides many errors in rows as short as these. */
			const size_t refused = count_refused(&bench, y);
			const size_t least = plant == PLANT_EPS || p.contract == TCB_CONTRACT_Q8 ? 10 : 3;
			if (refused * least < bench.outputs)
				fail_msg("%s %s: %zu of %zu outputs refused with plant %d", op->name,
					 tcb_contract_text(p.contract), refused, bench.outputs, plant);
		}
		test_free(y);
		gpu_bench_close(&bench);
	}
}

/* --- packing --- */

static void layouts_give_back_both(void **state)
{
	static const size_t shapes[][2] = { { 1, 256 }, { 7, 512 }, { 17, 768 }, { 40, 256 } };
	static const enum tcb_layout layouts[] = { TCB_LAYOUT_R4,   TCB_LAYOUT_R8, TCB_LAYOUT_R16, TCB_LAYOUT_R8W,
						   TCB_LAYOUT_R16W, TCB_LAYOUT_P,  TCB_LAYOUT_S,   TCB_LAYOUT_F };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 1);
	for (size_t i = 0; i < ops.count * sizeof shapes / sizeof *shapes; i++) {
		const struct tcb_op *op = ops.op[i % ops.count];
		const size_t n = shapes[i / ops.count][0], k = matvec_k(op, shapes[i / ops.count][1], i / ops.count);
		const struct tcb_problem problem = matvec_problem(op, TCB_CONTRACT_Q8, 1, n, k);
		const size_t rows = qmv_weight_rows(&problem), bytes = rows * tcb_quant_row_bytes(op->format, k);
		/* No layout takes more than a byte and a half a value, or four, rows and values filled up. */
		const size_t room = (rows + 32) * (k + 256) * (tcb_is_float(op->format->id) ? 8 : 3) / 2;
		uint8_t *stored = test_malloc(bytes), *packed = test_malloc(room), *back = test_malloc(bytes);
		assert_int_equal(rows, n << qmv_kind(&problem)->is_gated);
		for (size_t b = 0; b < bytes; b++) /* any bytes are blocks, as far as packing goes */
			stored[b] = (uint8_t)tcb_rng_next(&rng);
		for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
			const int is_own = layouts[l] != TCB_LAYOUT_R16 && layouts[l] < TCB_LAYOUT_P;
			if (is_own && op->format->id != TCB_FORMAT_Q4_K)
				continue;
			if (layouts[l] != TCB_LAYOUT_P && tcb_is_float(op->format->id))
				continue;
			if (layouts[l] > TCB_LAYOUT_P && tcb_is_expanded(op->format->id))
				continue;
			memset(packed, 0xaa, room);
			memset(back, 0x55, bytes);
			op->pack(&problem, TCB_QUANT_WEIGHTS, layouts[l], stored, packed);
			op->unpack(&problem, TCB_QUANT_WEIGHTS, layouts[l], packed, back);
			assert_memory_equal(stored, back, bytes);
			assert_true(!qmv_kind(&problem)->is_gated || op->pack_rows(op, layouts[l]) == 0);
		}
		test_free(stored);
		test_free(packed);
		test_free(back);
	}
}

/* --- norms and gates on this processor --- */

#define OF_ISA(isa, ID, ...) { TCB_ISA_##ID, qmv_norm_##isa, qmv_gate_##isa },
static const struct {
	enum tcb_isa isa;
	qmv_norm_fn *norm;
	qmv_gate_fn *gate;
} families[] = { TCB_ISAS_FLOATS(OF_ISA, ) };
enum { FAMILIES = sizeof families / sizeof *families };

static struct tcb_target own_target(void)
{
	static struct tcb_device device;
	struct tcb_error err;
	if (tcb_cpu_identify("cpu", 2, &device, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return device.target;
}

static void gates_of_all_sizes(void **state)
{
	enum { COUNT = 4099 };
	static float gate[COUNT + 1], up[COUNT], p[COUNT];
	const struct tcb_target target = own_target();
	struct tcb_rng rng;
	double worst = 0;
	(void)state;
	tcb_rng_init(&rng, 3);
	for (size_t f = 0; f < FAMILIES; f++) {
		if (!tcb_target_has(&target, families[f].isa))
			continue;
		for (size_t i = 0; i < COUNT; i++) {
			p[i] = gate[i] = i < 2000 ? (float)i * 0.1f - 100 : 20 * tcb_rng_normal(&rng);
			up[i] = tcb_rng_normal(&rng);
		}
		gate[COUNT] = 77;
		families[f].gate(gate, up, COUNT);
		assert_true(gate[COUNT] == 77);
		for (size_t i = 0; i < COUNT; i++) {
			const double x = (double)p[i], want = x / (1 + exp(-x)) * (double)up[i];
			/* As in the bound: of exp's argument, ulps, what is flushed. */
			const double allowed = tcb_gamma(1) * 1.1 * fabs(x) * fabs((double)up[i]) +
					       QMV_GATE_ULPS * 0x1p-23 * fabs(want) + 0x1p-119 * fabs((double)up[i]);
			const double ratio = fabs((double)gate[i] - want) / allowed;
			worst = ratio > worst ? ratio : worst;
			if (!(ratio <= 1))
				fail_msg("%s: silu(%g) * %g is %g, not %g", tcb_isa_text(families[f].isa), x,
					 (double)up[i], (double)gate[i], want);
		}
		float special[] = { INFINITY, -INFINITY, NAN, -0.0f, -1e30f, 1e30f };
		const float ones[] = { 1, 1, 1, 1, 1, 1 };
		families[f].gate(special, ones, 6);
		assert_true(isinf(special[0]) && isnan(special[1]) && isnan(special[2]) && special[3] == 0 &&
			    fabsf(special[4]) < 0x1p-119f && special[5] == 1e30f);
	}
	print_message("largest error %.2f of what is allowed\n", worst);
	assert_true(worst > 0.05);
}

static void norms_of_all_sizes(void **state)
{
	static const float sizes[] = { 1, 1e-4f, 1e-20f, 1e-38f, 1e3f, 1e20f, 1e38f };
	enum { K = 1056 };
	static float x[K], norm[K], out[K + 1];
	const struct tcb_target target = own_target();
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 4);
	for (size_t f = 0; f < FAMILIES; f++) {
		if (!tcb_target_has(&target, families[f].isa))
			continue;
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			double sum = 0;
			for (size_t i = 0; i < K; i++) {
				x[i] = sizes[s] * fmaxf(-3, fminf(3, tcb_rng_normal(&rng)));
				norm[i] = 1 + 0.25f * tcb_rng_normal(&rng);
				sum += (double)x[i] * (double)x[i];
			}
			out[K] = 77;
			families[f].norm(x, norm, QMV_NORM_EPS, K, out);
			assert_true(out[K] == 77);
			for (size_t i = 0; i < K; i++) {
				const double want = (double)x[i] / sqrt(sum / K + QMV_NORM_EPS) * (double)norm[i];
				const double allowed = tcb_gamma(QMV_NORM_CHAIN) * fabs(want) + 0x1p-148;
				if (!(fabs((double)out[i] - want) <= allowed))
					fail_msg("%s: %g of %g is %g, not %g", tcb_isa_text(families[f].isa),
						 (double)x[i], (double)sizes[s], (double)out[i], want);
			}
		}
		x[77] = INFINITY;
		families[f].norm(x, norm, QMV_NORM_EPS, K, out);
		for (size_t i = 0; i < K; i++)
			assert_true(i == 77 ? isnan(out[i]) : out[i] == 0);
		x[77] = NAN;
		families[f].norm(x, norm, QMV_NORM_EPS, K, out);
		for (size_t i = 0; i < K; i++)
			assert_true(isnan(out[i]));
	}
}

/* --- GPUs --- */

static void defaults_are_legal(void **state)
{
	static const size_t rows[] = { 1, 2, 3, 7, 9, 1023, 4096, 128256 };
	static const size_t blocks[] = { 1, 2, 3, 5, 7, 16, 17, 43, 56, 61, 112, 211, 256 };
	enum { ROWS = sizeof rows / sizeof *rows, BLOCKS = sizeof blocks / sizeof *blocks };
	(void)state;
	for (size_t i = 0; i < ops.count * GPU_CAPABILITIES * ROWS * BLOCKS; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_op *op = ops.op[i % ops.count];
		const unsigned capability = gpu_capabilities[i / ops.count % GPU_CAPABILITIES];
		const size_t n = rows[i / ops.count / GPU_CAPABILITIES % ROWS],
			     b = blocks[i / ops.count / GPU_CAPABILITIES / ROWS];
		const struct tcb_problem p =
			matvec_problem(op, matvec_contract(i / 11), 1, n, matvec_k(op, 256 * b, i / 3));
		gpu_check_default(&p, capability);
	}
}

static void spaces_have_thousands(void **state)
{
	(void)state;
	for (size_t i = 0; i < ops.count; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_op *op = ops.op[i];
		const struct tcb_target target = gpu_target(i % 2 ? 90 : 80, 0);
		const struct tcb_problem p = matvec_problem(op, matvec_contract(i), 1, i % 4 < 2 ? 4096 : 14336, 4096);
		struct tcb_space *space = gpu_space(&p, &target, 0);
		if (space->count < 40 || space->count > 8000)
			fail_msg("%s %s: %zu geometries", op->name, tcb_contract_text(p.contract), space->count);
		tcb_space_destroy(space);
	}
}

static void samples_are_right(void **state)
{
	(void)state;
	matvec_check_samples(&ops, gpu_sample_size(120), 21);
}

/* Norms and gates of several tokens, which weights are read once for. */
static void tokens_share_weights(void **state)
{
	(void)state;
	matvec_check_tiles(&ops, 1, 22);
}

/* Of what samples may have few: products of matrices, activations of a launch of their own, split rows, rings. */
static void each_way_is_right(void **state)
{
	static const struct {
		enum tcb_knob knob;
		int32_t value;
	} ways[] = { { TCB_KNOB_ISA, TCB_ISA_MMA }, { TCB_KNOB_PREP, TCB_PREP_LAUNCH }, { TCB_KNOB_SPLITK, 2 },
		     { TCB_KNOB_KSPLIT, 4 },        { TCB_KNOB_COPY, TCB_COPY_BULK },   { TCB_KNOB_PDL, 1 } };
	enum { WAYS = sizeof ways / sizeof *ways, THIRDS = 3 };
	static const struct tcb_shape shapes[] = { { 1, 45, 512 }, { 2, 17, 1024 }, { 1, 81, 2048 } };
	struct tcb_rng rng;
	struct gpu_tally tally = { 0 };
	(void)state;
	tcb_rng_init(&rng, 31);
	for (size_t i = 0; i < WAYS * ops.count; i++) {
		const struct tcb_op *op = ops.op[i % ops.count];
		const size_t way = i / ops.count;
		const int is_of_part = (way + i % ops.count) % THIRDS == test_part() % THIRDS;
		if (test_leaves_out(i) || !(test_takes_all() || is_of_part))
			continue; /* some ways of each op */
		const struct tcb_shape *shape = &shapes[i % 3];
		const enum tcb_contract contract = way == 0 ? matvec_contract(1 + i % 2) : matvec_contract(i % 3);
		const struct tcb_target target = gpu_target(90, 2);
		struct tcb_problem p = matvec_problem(op, contract, shape->m, shape->n, shape->k);
		p.shape.words.eps = qmv_kind(&p)->has_norm && i % 2 ? 3 : 0;
		p.shape.words.bias = i / 5 % 2;
		gpu_problem_rows(&p, i);
		struct tcb_geometry g;
		struct gpu_bench bench;
		if (!matvec_geometry(&p, &target, ways[way].knob, ways[way].value, &rng, &g))
			continue;
		gpu_bench_open(&bench, &p, i);
		gpu_bench_check(&bench, &target, &g, i, &tally);
		gpu_bench_close(&bench);
	}
	gpu_tally_print(&tally);
	assert_true(tally.kernels >= test_least_of(WAYS * ops.count * 3 / 4) / (test_takes_all() ? 1 : THIRDS));
}

/* Tokens so small that eps rules or nothing is left, so large that their squares are no floats, NaN, infinity. */
static void extreme_tokens(void **state)
{
	static const float sizes[] = { 0, 1e-38f, 1e-30f, 1e-3f, 1e15f, 1e25f, NAN, INFINITY };
	static const char *const names[] = { "q4k_rmsnorm_matvec", "q80_rmsnorm_swiglu_matvec" };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 5);
	for (size_t i = 0; i < 2 * 4 * sizeof sizes / sizeof *sizes; i++) {
		if (test_defers(i))
			continue;
		const float size = sizes[i / 8];
		const struct tcb_op *op = tcb_op_find(names[i % 2]);
		const int is_mma = i / 2 % 4 > 1;
		const enum tcb_contract contract = matvec_contract(is_mma ? i / 2 % 4 - 1 : i / 2 % 4);
		const struct tcb_target target = gpu_target(80, 2);
		const struct tcb_problem p = matvec_problem(op, contract, 1, is_mma ? 18 : 5, 512);
		struct tcb_geometry g;
		struct gpu_bench bench;
		gpu_bench_open(&bench, &p, 3);
		float *x = bench.data[TCB_QUANT_X];
		for (size_t k = 0; k < 512; k++)
			x[k] *= isfinite(size) ? size : 1;
		if (!isfinite(size))
			x[77] = size;
		gpu_bench_refer(&bench);
		for (size_t j = 0; j < bench.outputs; j++)
			assert_true(isfinite(size) == isfinite(bench.reference[0].y[j]));
		tcb_op_standard(&p, &target, &g);
		assert_true(!is_mma || matvec_geometry(&p, &target, TCB_KNOB_ISA, TCB_ISA_MMA, &rng, &g));
		const double ratio = gpu_bench_run(&bench, &target, &g, NULL, 1);
		if (!(ratio <= 1))
			fail_msg("%s %s, tokens of %g: ratio %g, first %g of %g %s", op->name,
				 tcb_contract_text(contract), (double)size, ratio, (double)bench.first,
				 bench.reference[0].y[0], bench.message);
		gpu_bench_close(&bench);
	}
}

#define STANDARD                                                                                              \
	"macro=1x64x1024,midi=1x4x1024,micro=1x1x256,isa=dp4a,layout=native,unroll=1,warps=8,vec=8,stages=1," \
	"splitk=1,ksplit=2,copy=ldg,xin=shared,group=32,prep=block,lead=1,blocks=0,pdl=1,occ=2"

static void mutants_are_caught(void **state)
{
	static const struct {
		const char *what, *op;
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing", "q4k_rmsnorm_swiglu_matvec", { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "no barrier behind activations and squares",
		  "q4k_rmsnorm_matvec",
		  { REMOVE, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "no barrier before parts are added", "q4k_swiglu_matvec", { REMOVE, TCB_PTX_OP_BAR_SYNC, 1 } },
		{ "no root", "q4k_rmsnorm_matvec", { REMOVE, TCB_PTX_OP_RSQRT, 0 } },
		{ "no power", "q4k_swiglu_matvec", { REMOVE, TCB_PTX_OP_EX2, 0 } },
		{ "no quotient", "q4k_swiglu_matvec", { REMOVE, TCB_PTX_OP_RCP, 0 } },
	};
	const struct tcb_target target = gpu_target(90, 2);
	const struct tcb_geometry g = gpu_geometry(STANDARD);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (test_defers(i))
			continue;
		const struct tcb_problem p = matvec_problem(tcb_op_find(cases[i].op), TCB_CONTRACT_Q8, 1, 45, 1024);
		struct gpu_bench bench;
		gpu_check_rule(&p, 90, &g, 1, NULL);
		gpu_bench_open(&bench, &p, 9);
		snprintf(bench.what, sizeof bench.what, "%s", cases[i].what);
		gpu_bench_check_mutant(&bench, &target, &g, &cases[i].mutation);
		gpu_bench_close(&bench);
	}
}

static void rules_of_pairs(void **state)
{
	const struct tcb_problem pair = matvec_problem(tcb_op_find("q4k_swiglu_matvec"), TCB_CONTRACT_Q8, 1, 64, 1024);
	const struct tcb_problem half = matvec_problem(tcb_op_find("q4k_swiglu_matvec"), TCB_CONTRACT_F32, 1, 64, 1024);
	const struct tcb_geometry four = gpu_geometry_changed(STANDARD, "micro=1x4x256,midi=1x16x1024,occ=1");
	const struct tcb_geometry eight = gpu_geometry_changed(STANDARD, "micro=1x8x256,midi=1x32x1024,occ=1");
	const struct tcb_geometry tile = gpu_geometry_changed(
		STANDARD, "isa=mma,layout=f,vec=16,group=256,micro=1x16x256,midi=1x64x1024,unroll=2");
	(void)state;
	gpu_check_rule(&pair, 90, &four, 1, NULL);
	gpu_check_rule(&pair, 90, &eight, 1, "as many rows of gate and of up");
	gpu_check_rule(&half, 90, &tile, 1, "tiles of 8 rows of gate and 8 of up");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_is_the_definition),
		cmocka_unit_test(layouts_give_back_both),
		cmocka_unit_test(gates_of_all_sizes),
		cmocka_unit_test(norms_of_all_sizes),
		cmocka_unit_test(defaults_are_legal),
		cmocka_unit_test(spaces_have_thousands),
		cmocka_unit_test(rules_of_pairs),
		cmocka_unit_test(samples_are_right),
		cmocka_unit_test(tokens_share_weights),
		cmocka_unit_test(each_way_is_right),
		cmocka_unit_test(extreme_tokens),
		cmocka_unit_test(mutants_are_caught),
	};
	return cmocka_run_group_tests(tests, find_ops, NULL);
}
