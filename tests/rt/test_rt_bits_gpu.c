/* SPDX-License-Identifier: MIT
 *
 * The word bits on a GPU, the first that the driver has: some rows of a product, planned by the library with the word,
 * by the default or by a geometry drawn from the space, have the bits that they have among all rows.
 *
 *     test_rt_rt_bits_gpu [SHAPES GEOMETRIES M N K [SECONDS [SEED [OP CONTRACT]]]]
 *
 * takes so many shapes of each op and contract, of up to M rows, N outputs and K values, stops after so many seconds,
 * and prints a line for each, which ends with a hash of all that was computed: the same arguments give the same one on
 * every GPU of a kind, and in the emulator (tests/device/fake_cuda.c).  Of ops that wgmma multiplies, too, each family
 * of shapes meets both: they have the same bits on sm_90.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpu_table.h"
#include "base/sizes.h"
#include "base/util.h"
#include "device/cuda.h"
#include "instrumented.h"
#include "kernels/space.h"
#include "rt/rt_plan.h"
#include "tcbrt.h"

enum { SEED = 3, MEMBERS = 3 };
static uint64_t seed = SEED;

static const struct subject {
	const char *op;
	enum tcbrt_contract contract;
} subjects[] = {
	{ "q4k_matmul", TCBRT_CONTRACT_F16 },   { "q4k_matmul", TCBRT_CONTRACT_Q8 },
	{ "q80_matmul", TCBRT_CONTRACT_F16 },   { "q80_matmul", TCBRT_CONTRACT_Q8 },
	{ "q6k_matmul", TCBRT_CONTRACT_F16 },   { "q6k_matmul", TCBRT_CONTRACT_Q8 },
	{ "mxfp4_matmul", TCBRT_CONTRACT_F16 }, { "q4k_matvec", TCBRT_CONTRACT_Q8 },
	{ "bf16_matmul", TCBRT_CONTRACT_F32 },  { "matmul_f32", TCBRT_CONTRACT_F32 },
	{ "matmul_f16", TCBRT_CONTRACT_F16 },   { "matmul_bf16", TCBRT_CONTRACT_F16 },
};
enum { SUBJECTS = sizeof(subjects) / sizeof(subjects[0]) };

static const struct tcb_cuda *cuda;
static char no_gpu[sizeof((struct tcb_error *)0)->message], kind[TCBRT_GPU_NAME_MAX];
static CUstream stream;
static struct tcbrt *rt;
static struct tcb_rng rng;
static size_t shape_count = 1, geometry_count = 2, m_most = 20, n_most = 70, k_most = 3;
static double seconds = 1e9;
static int prints;
static const char *only_op, *only_contract;

static void check(int result)
{
	if (result != TCB_CUDA_SUCCESS)
		fail_msg("the driver says %s", tcb_cuda_error_name(cuda, result));
}

static int open_gpu(void **state)
{
	struct tcb_error err;
	CUcontext context;
	int device;

	(void)state;
	tcb_rng_init(&rng, seed);
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	cuda = tcb_cuda_open(&err);
	if (!cuda) {
		snprintf(no_gpu, sizeof(no_gpu), "%s", err.message);
		return 0;
	}
	return cuda->device_get(&device, 0) || cuda->context_retain(&context, device) || cuda->context_set(context) ||
	       cuda->stream_create(&stream, TCB_CUDA_STREAM_NON_BLOCKING) || tcbrt_gpu_device(kind, NULL);
}

static unsigned long long to_gpu(const void *from, size_t bytes)
{
	uint64_t address;

	check(cuda->alloc(&address, bytes));
	check(cuda->copy_in(address, from, bytes));
	return address;
}

/* The operands of the largest problem of a family: activations, weights and, as its default computes them, results. */
struct family {
	const struct subject *subject;
	struct tcb_problem problem;
	struct tcb_operand operand[TCB_OPERANDS_MAX];
	size_t count, x, y; /* which are by rows */
	char *data[TCB_OPERANDS_MAX];
};

/* Rows FIRST to FIRST + M by GEOMETRY, NULL: the default, to OUT; 0: it does not fit this card. */
static int run(const struct family *family, const char *words, const char *geometry, size_t first, size_t m, char *out)
{
	const struct tcb_shape *s = &family->problem.shape;
	const struct tcbrt_query query = { .op = family->subject->op,
					   .contract = family->subject->contract,
					   .device = kind,
					   .m = m,
					   .n = s->n,
					   .k = s->k,
					   .words = words,
					   .geometry = geometry };
	struct tcbrt_plan_info info;
	struct tcbrt_plan *plan;
	struct tcbrt_gpu *gpu;
	struct tcbrt_error err;
	unsigned long long operand[TCBRT_OPERANDS_MAX], workspace = 0;

	if (tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK)
		fail_msg("%s %zux%zux%zu %s: %s", query.op, m, s->n, s->k, geometry ? geometry : "", err.message);
	if (tcbrt_gpu_load(plan, &gpu, &err) != TCBRT_OK) { /* the fake card has less shared memory than any */
		tcbrt_plan_destroy(plan);
		return 0;
	}
	assert_int_equal(tcbrt_plan_info(plan, &info), TCBRT_OK);
	for (size_t i = 0; i < info.operand_count; i++) {
		const size_t packed = plan->operand[i].packed_bytes, bytes = plan->operand[i].bytes;
		const char *from = family->data[i];
		char *room = NULL;

		if (i == family->x)
			from += first * (bytes / m);
		if (packed) {
			room = calloc(1, tcb_round_up(packed, TCBRT_ALIGNMENT) + TCBRT_ALIGNMENT);
			char *aligned = room + (TCBRT_ALIGNMENT - (uintptr_t)room % TCBRT_ALIGNMENT);
			assert_int_equal(tcbrt_pack(plan, from, aligned), TCBRT_OK);
			from = aligned;
		}
		operand[i] = to_gpu(from, packed ? packed : bytes);
		free(room);
	}
	if (info.workspace_bytes) {
		void *zeros = calloc(1, info.workspace_bytes);

		workspace = to_gpu(zeros, info.workspace_bytes);
		free(zeros);
	}
	check(cuda->context_sync());
	assert_int_equal(tcbrt_gpu_execute(gpu, operand, workspace, stream, 0), TCBRT_OK);
	check(cuda->stream_sync(stream));
	check(cuda->copy_out(out, operand[family->y], plan->operand[family->y].bytes));
	for (size_t i = 0; i < info.operand_count; i++)
		check(cuda->free(operand[i]));
	if (workspace)
		check(cuda->free(workspace));
	tcbrt_gpu_unload(gpu);
	tcbrt_plan_destroy(plan);
	return 1;
}

static int family_init(struct family *family, const struct subject *subject)
{
	const struct tcb_op *op = tcb_op_find(subject->op);
	const size_t unit = op->format ? 256 : 32;
	const size_t n = 16 + tcb_rng_below(&rng, n_most - 16), step = !op->format && tcb_rng_below(&rng, 4) ? 8 : 1;
	const struct tcb_shape shape = { .m = m_most / 2 + 1 + tcb_rng_below(&rng, m_most / 2),
					 .n = tcb_round_up(n, step), /* without that dense products have no wgmma */
					 .k = unit * (1 + tcb_rng_below(&rng, k_most * (256 / unit))),
					 .words.bits = 1 };
	struct tcb_error err;
	char *results;

	memset(family, 0, sizeof(*family));
	family->subject = subject;
	if (tcb_problem_init(op, (enum tcb_contract)(subject->contract - 1), &shape, &family->problem, &err) != TCB_OK)
		fail_msg("%s", err.message);
	family->count = op->operands(&family->problem, family->operand);
	for (size_t i = 0; i < family->count; i++) {
		family->data[i] = malloc(family->operand[i].bytes);
		if (family->operand[i].role == TCB_ROLE_OUTPUT)
			family->y = i;
	}
	family->x = op->format ? 1 : 0;
	op->fill(&family->problem, seed, (void *const *)family->data);
	results = family->data[family->y];
	return run(family, "bits", NULL, 0, shape.m, results);
}

static void family_fini(struct family *family)
{
	for (size_t i = 0; i < family->count; i++)
		free(family->data[i]);
}

/* Of M rows from FIRST on: how many elements are not those of all rows. */
static uint64_t differing(const struct family *family, size_t first, size_t m, const char *got, uint64_t *values)
{
	const struct tcb_operand *y = &family->operand[family->y];
	const size_t each = tcb_element_bytes(y->type), row = y->cols * each;
	uint64_t count = 0;

	for (size_t at = 0; at < m * row; at += each, ++*values)
		count += memcmp(got + at, family->data[family->y] + first * row + at, each) != 0;
	return count;
}

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

/* A geometry of the space of M rows on a card of this kind, as text, of ISA if that is one; 0: there is none. */
static int draw(const struct family *family, size_t m, int is_free, enum tcb_isa isa, char text[TCB_GEOMETRY_TEXT_MAX])
{
	struct tcb_problem problem = family->problem;
	struct tcb_space *space;
	struct tcb_gpu gpu;
	int is_found = 0;

	problem.shape.m = m;
	problem.shape.words.bits = !is_free;
	if (tcb_gpu_table((unsigned)atoi(kind + 3), &gpu, NULL) != TCB_OK ||
	    tcb_space_create(problem.op, &problem, &gpu.device.target, 0, &space, NULL) != TCB_OK)
		return 0;
	for (int i = 0; i < 200 && !is_found; i++) {
		const struct tcb_geometry *g = &space->geometries[tcb_rng_below(&rng, space->count)];

		is_found = isa == TCB_ISA_COUNT || g->knob[TCB_KNOB_ISA] == (int32_t)isa;
		if (is_found)
			tcb_geometry_print(g, text);
	}
	tcb_space_destroy(space);
	return is_found;
}

struct sum {
	uint64_t runs, wgmma, values, wrong, hash;
};

/* Rows FIRST to FIRST + M by GEOMETRY, NULL: the default. */
static void try_rows(const struct family *family, const char *geometry, size_t first, size_t m, char *got,
		     struct sum *sum)
{
	if (!run(family, "bits", geometry, first, m, got))
		return;
	const uint64_t other = differing(family, first, m, got, &sum->values);
	if (other && !sum->wrong)
		print_message("%s rows %zu to %zu of %zux%zux%zu: %s\n", family->subject->op, first, first + m,
			      family->problem.shape.m, family->problem.shape.n, family->problem.shape.k,
			      geometry ? geometry : "the default");
	sum->wrong += other;
	sum->wgmma += geometry && strstr(geometry, "isa=wgmma");
	sum->runs++;
}

static void try_family(const struct family *family, struct sum *sum)
{
	static const enum tcb_isa isas[] = { TCB_ISA_MMA, TCB_ISA_WGMMA };
	const size_t all = family->problem.shape.m, bytes = family->operand[family->y].bytes;
	char *got = malloc(bytes), text[TCB_GEOMETRY_TEXT_MAX];

	sum->hash = tcb_hash64(family->data[family->y], bytes, sum->hash);
	for (size_t i = 0; i < MEMBERS; i++) {
		const size_t m = i == 0 ? all : i == 1 ? 1 : 1 + tcb_rng_below(&rng, all);
		const size_t first = tcb_rng_below(&rng, all - m + 1);

		if (i)
			try_rows(family, NULL, first, m, got, sum);
		for (size_t g = 0; g < geometry_count; g++)
			if (draw(family, m, 0, TCB_ISA_COUNT, text))
				try_rows(family, text, first, m, got, sum);
		for (size_t isa = 0; isa < sizeof isas / sizeof *isas; isa++)
			if (i < 2 && draw(family, m, 0, isas[isa], text))
				try_rows(family, text, first, m, got, sum);
	}
	free(got);
}

static void rows_have_the_same_bits(void **state)
{
	const double begun = now_s();
	uint64_t all_wrong = 0, all_runs = 0, all_wgmma = 0;
	size_t count = 0;

	(void)state;
	if (!cuda)
		skip_because("%s", no_gpu);
	for (size_t i = 0; i < SUBJECTS; i++) {
		const char *contract = tcb_contract_text((enum tcb_contract)(subjects[i].contract - 1));
		struct sum sum = { 0 };
		size_t families = 0;

		if (only_op && (strcmp(only_op, subjects[i].op) || strcmp(only_contract, contract)))
			continue;
		count++;

		for (size_t s = 0;
		     s < shape_count && now_s() - begun < seconds * (only_op ? 1 : (double)(i + 1) / SUBJECTS); s++) {
			struct family family;

			if (family_init(&family, &subjects[i])) {
				try_family(&family, &sum);
				families++;
			}
			family_fini(&family);
		}
		if (prints)
			printf("%s %s: %llu of %llu results differ, %llu geometries, %llu with wgmma, %zu shapes, "
			       "%016llx\n",
			       subjects[i].op, contract, (unsigned long long)sum.wrong, (unsigned long long)sum.values,
			       (unsigned long long)sum.runs, (unsigned long long)sum.wgmma, families,
			       (unsigned long long)sum.hash);
		all_wrong += sum.wrong;
		all_wgmma += sum.wgmma;
		all_runs += sum.runs;
	}
	assert_int_equal(all_wrong, 0);
	assert_true(!only_op || (count == 1 && all_runs > 0));
	if (strncmp(kind, "sm_90", 5) == 0 && !only_op)
		assert_true(all_wgmma > 0);
}

/* Without the word there are other orders, and the comparison sees them. */
static void other_bits_without(void **state)
{
	static const struct subject subject = { "q4k_matmul", TCBRT_CONTRACT_F16 };
	uint64_t values = 0, other = 0;

	(void)state;
	if (!cuda)
		skip_because("%s", no_gpu);
	for (int i = 0; i < 8 && !other; i++) { /* of one unit of k there is but one order */
		struct family family;
		char text[TCB_GEOMETRY_TEXT_MAX];

		if (family_init(&family, &subject)) {
			char *got = malloc(family.operand[family.y].bytes);

			for (int g = 0; g < 8 && !other; g++)
				if (draw(&family, family.problem.shape.m, 1, TCB_ISA_COUNT, text) &&
				    run(&family, NULL, text, 0, family.problem.shape.m, got))
					other += differing(&family, 0, family.problem.shape.m, got, &values);
			free(got);
		}
		family_fini(&family);
	}
	assert_true(values == 0 || other > 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(rows_have_the_same_bits),
					    cmocka_unit_test(other_bits_without) };

	prints = argc > 5;
	if (prints) {
		shape_count = strtoul(argv[1], NULL, 10);
		geometry_count = strtoul(argv[2], NULL, 10);
		m_most = strtoul(argv[3], NULL, 10);
		n_most = strtoul(argv[4], NULL, 10);
		k_most = strtoul(argv[5], NULL, 10) / 256;
	}
	if (argc > 6)
		seconds = strtod(argv[6], NULL);
	if (argc > 7)
		seed = strtoull(argv[7], NULL, 10);
	if (argc > 9) {
		only_op = argv[8];
		only_contract = argv[9];
	}
	return cmocka_run_group_tests(tests, open_gpu, NULL);
}
