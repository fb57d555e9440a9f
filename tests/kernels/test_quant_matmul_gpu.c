/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls' GPU kernels: layout f; kernels in the emulator at odd
 * shapes, right and without findings.
 */
#include "gpu_bench.h"

#include "base/util.h"
#include "kernels/constraint.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_gpu.h"

static struct tcb_op toy;

static void toy_pack(const struct tcb_problem *p, enum tcb_layout layout, const void *weights, void *packed)
{
	(void)layout;
	qmm_fragments_pack(tcb_quant_format(p)->id, p->shape.n, p->shape.k, weights, packed);
}

static const struct tcb_op *the_op(void)
{
	toy = *tcb_op_find("q4k_matvec");
	toy.contracts |= 1u << TCB_CONTRACT_F16;
	toy.operands = tcb_quant_operands;
	toy.fill = tcb_quant_fill;
	toy.reference = tcb_quant_reference;
	toy.pack = toy_pack;
	toy.emit = qmm_emit;
	toy.axes = qmm_gpu_axes;
	toy.footprint = qmm_gpu_footprint;
	toy.default_geometry = qmm_gpu_default_geometry;
	toy.gpu_rules = qmm_gpu_rules;
	toy.gpu_variants = qmm_gpu_variants;
	return &toy;
}

static void fragments_round_trip(void **state)
{
	static const size_t shapes[][2] = { { 1, 256 }, { 17, 512 }, { 33, 768 }, { 5, 32 }, { 3, 288 } };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 1);
	for (int f = 0; f < TCB_FORMAT_COUNT; f++)
		for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
			const struct tcb_format *format = tcb_format((enum tcb_format_id)f);
			const size_t n = shapes[s][0], k = shapes[s][1];
			if (k % format->block_values)
				continue;
			const size_t bytes = n * k / format->block_values * format->block_bytes;
			const size_t packed_bytes = qmm_fragments_bytes(format->id, n, k);
			uint8_t *stored = test_malloc(bytes), *packed = test_malloc(packed_bytes);
			uint8_t *back = test_malloc(bytes);
			for (size_t i = 0; i < bytes; i++)
				stored[i] = (uint8_t)tcb_rng_next(&rng);
			qmm_fragments_pack(format->id, n, k, stored, packed);
			qmm_fragments_unpack(format->id, n, k, packed, back);
			assert_memory_equal(stored, back, bytes);
			test_free(stored);
			test_free(packed);
			test_free(back);
		}
}

static void try_one(unsigned capability, struct tcb_shape shape, const char *text)
{
	const struct tcb_target target = gpu_target(capability, 2);
	struct tcb_geometry g;
	struct tcb_kernel kernel;
	struct gpu_bench bench;
	struct tcb_error err;
	char why[TCB_WHY_MAX] = "";
	if (tcb_geometry_parse(text, &g, &err) != TCB_OK)
		fail_msg("%s", err.message);
	gpu_bench_open(&bench, the_op(), TCB_CONTRACT_F16, shape, 1);
	if (tcb_constraint_violated(the_op(), &bench.problem, &target, &g, 1, why))
		fail_msg("%s", why);
	if (qmm_emit(&bench.problem, &target, &g, &kernel, &err) != TCB_OK)
		fail_msg("%s", err.message);
	const double ratio = gpu_bench_run(&bench, &kernel, 1);
	if (!(ratio <= 1))
		fail_msg("sm_%u %s: ratio %g %s", capability, text, ratio, bench.message);
	print_message("ratio %g\n", ratio);
	if (getenv("TCB_PRINT")) {
		struct tcb_str s = { 0 };
		tcb_ptx_print(kernel.module, &s);
		printf("%s\n", s.data);
		tcb_str_fini(&s);
	}
	tcb_kernel_fini(&kernel);
	gpu_bench_close(&bench);
}

static void first(void **state)
{
	(void)state;
	try_one(90, (struct tcb_shape){ 5, 37, 512 },
		"macro=8x64x512,midi=8x16x512,micro=8x16x256,isa=mma,layout=f,unroll=1,warps=1,stages=1,splitk=1,"
		"ksplit=1,copy=ldg,prep=block,lead=1,blocks=0,pdl=0,occ=1,join=none,xstages=1,cast=1");
	try_one(75, (struct tcb_shape){ 5, 37, 512 },
		"macro=8x64x512,midi=8x32x512,micro=8x16x256,isa=mma,layout=f,unroll=1,warps=2,stages=1,splitk=1,"
		"ksplit=1,copy=ldg,prep=launch,lead=0,blocks=0,pdl=0,occ=1,join=none,xstages=1,cast=1");
	try_one(90, (struct tcb_shape){ 21, 77, 1024 },
		"macro=32x128x1024,midi=32x64x1024,micro=32x32x256,isa=mma,layout=f,unroll=1,warps=4,stages=2,splitk=1,"
		"ksplit=2,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=none,xstages=1,cast=1");
	try_one(90, (struct tcb_shape){ 21, 77, 1024 },
		"macro=32x128x1024,midi=16x32x1024,micro=16x16x256,isa=mma,layout=f,unroll=2,warps=2,stages=1,splitk=2,"
		"ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,xstages=1,cast=1");
	try_one(80, (struct tcb_shape){ 21, 77, 1024 },
		"macro=32x128x1024,midi=16x64x1024,micro=16x32x256,isa=mma,layout=f,unroll=1,warps=2,stages=2,splitk=2,"
		"ksplit=1,copy=async,prep=launch,lead=1,blocks=1,pdl=0,occ=1,join=last,xstages=1,cast=1");
	try_one(90, (struct tcb_shape){ 21, 77, 1024 },
		"macro=32x128x1024,midi=16x64x1024,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,splitk="
		"1,"
		"ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,xstages=4,cast=1");
	try_one(90, (struct tcb_shape){ 75, 257, 2048 },
		"macro=128x512x2048,midi=64x256x2048,micro=64x128x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,"
		"splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,xstages=6,cast=1");
	try_one(90, (struct tcb_shape){ 75, 257, 2048 },
		"macro=128x512x2048,midi=64x128x2048,micro=64x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,"
		"splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,xstages=4,cast=4");
	try_one(90, (struct tcb_shape){ 15, 157, 512 },
		"macro=16x256x512,midi=16x64x512,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,"
		"splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,xstages=2,cast=2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fragments_round_trip),
		cmocka_unit_test(first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
