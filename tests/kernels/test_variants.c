/* SPDX-License-Identifier: MIT
 *
 * Every op of the registry x every variant that this machine has x odd shapes
 * x geometries drawn from the space: plan, pack and unpack, run on guarded
 * buffers with read-only inputs and poisoned outputs, judge against the
 * reference (SPEC section 4).  One test per op and instruction family; a family
 * that the machine lacks is reported as skipped.
 *
 *     test_kernels_variants [FAMILY [GEOMETRIES]]
 *
 * takes one family only, and a smaller number of geometries of each group and
 * the shorter half of the shapes: for emulated processors.  Formats that are like others have those shapes, too, and
 * with a sanitizer all ops with weights: of the others' time most is the reference's.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/tiles.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "instrumented.h"
#include "kernels/formats.h"
#include "kernels/space.h"
#include "shape_for.h"

enum { THREADS = 2, GEOMETRIES_PER_GROUP = 3, GEOMETRIES_TOGETHER = 12, TESTS_MAX = 1536, VARIANTS_MAX = 512 };

/* Rows beyond one, N that no micro tile divides, single rows and single superblocks; an op refuses what it cannot do.
 */
static const struct tcb_shape shapes[] = {
	{ 1, 1, 256 },    { 1, 7, 512 },  { 1, 33, 256 },   { 1, 130, 1280 }, { 1, 260, 2048 },
	{ 1, 1031, 256 }, { 3, 33, 768 }, { 17, 129, 512 }, { 70, 50, 256 },  { 5, 517, 256 },
};
enum { SHAPE_COUNT = sizeof(shapes) / sizeof(shapes[0]), FEW_VALUES = 130 * 1280 };
/* For ops whose shapes have words: groups of 1, 2, 4, 7 and 8, all words as far as they are taken, lengths of 0 and 1.
 */
static const char *const worded[SHAPE_COUNT] = {
	"1x33x64,h4/4",
	"1x130x128,h8/2,pairs,rot96,v64,sinks",
	"2x257x128,h14/2,causal",
	"1x1000x96,h7/1,pairs,vk,v64,alibi",
	"5x40x64,h16/2,b5,causal,ragged,qknorm5,mrope",
	"1x100x256,h4/2,b4,ragged,pairs,sinks",
	"3x70x32,h4/1,b5,p16,ragged,qknorm6,v128,alibi",
	"1x129x128,h8/1,w17,c30,pairs,vk",
	"17x60x64,h2/1,b4,p5,w9,causal,ragged,rot32,mrope,prefix,sinks",
	"1x1x128,h4/1,pairs",
};

/* Experts that no token uses and that all do; as many tokens as fill tiles, one more, one fewer. */
static const char *const of_experts[SHAPE_COUNT] = {
	"1x1x256,e1/1,bias",
	"1x7x512,e4/2,even,oai",
	"3x33x256,e5/2,each,shared1",
	"8x40x512,e3/3,zipf2.5",
	"33x20x256,e3/2,one,bias,oai",
	"20x16x256,e64/6",
	"9x35x256,e2/1,each",
	"2x47x256,e7/7,one,shared2,bias,gelu",
	"17x20x256,e9/1,zipf9.9,bias,oai",
	"5x17x512,e16/4,even",
};

static struct tcb_shape shape_of(const struct tcb_op *op, size_t index)
{
	if (op->words >> TCB_WORD_EXPERTS & 1u)
		return shape_taken(op, of_experts[index]);
	if (tcb_op_needs_words(op))
		return shape_taken(op, worded[index]);
	struct tcb_shape shape = shapes[index];
	if (op->words >> TCB_WORD_EPS & 1u && index % 2)
		shape.words.eps = 6;
	if (op->words >> TCB_WORD_ADD & 1u && index % 2)
		shape.words.add = 1;
	if (op->words >> TCB_WORD_GELU & 1u && index % 2)
		shape.words.gelu = 1;
	if (op->words >> TCB_WORD_BIAS & 1u && index % 3 == 1)
		shape.words.bias = 1;
	if (strcmp(op->shape_form, "MxNxU") == 0) /* U of N */
		shape.k = 1 + 5 * index % shape.n;
	return shape;
}

/* Formats whose rows are alike share all but how a block is read.  With a sanitizer so are all formats but one. */
static int is_like(const struct tcb_op *op)
{
	return TEST_TAKES_ONE_OF == 16 ? op->format && op->format->id != TCB_FORMAT_Q4_K
				       : op->format && (int)op->format->id >= TCB_FORMAT_FIELD_COUNT;
}

struct subject {
	const struct tcb_op *op;
	enum tcb_isa isa;
	size_t number; /* the op's */
	char name[96];
};

/* One problem with its data in guarded buffers, its reference and its space. */
struct bench {
	struct tcb_problem problem;
	struct tcb_space *space;
	size_t operand_count;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_buffer buffers[TCB_OPERANDS_MAX];
	double *doubles;
	struct tcb_reference reference[TCB_OUTPUTS_MAX];
	struct tcb_buffer packed[TCB_LAYOUT_COUNT]
				[TCB_OPERANDS_MAX]; /* read-only; what plans and kernels of one layout share */
	/* The order-matched result of a variant and tiles' k: what exact() depends on. */
	const struct tcb_variant *exact_variant;
	size_t exact_k[TCB_LEVEL_COUNT];
	struct tcb_buffer exact;
};

static struct tcb_target target;
static struct tcb_pool *pool;
static size_t geometries_most = GEOMETRIES_PER_GROUP;

static void alloc_guarded(size_t bytes, struct tcb_buffer *out)
{
	struct tcb_error err;
	if (tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, out, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static void protect(struct tcb_buffer *buffer, int read_only)
{
	struct tcb_error err;
	if (tcb_buffer_protect(buffer, read_only, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static int bench_init(struct bench *b, const struct tcb_op *op, enum tcb_contract contract, struct tcb_shape shape)
{
	struct tcb_error err;
	void *data[TCB_OPERANDS_MAX] = { NULL };
	memset(b, 0, sizeof(*b));
	if (strcmp(op->shape_form, "MxN") == 0)
		shape.k = 0;
	if (tcb_problem_init(op, contract, &shape, &b->problem, &err) != TCB_OK)
		return -1;
	b->operand_count = op->operands(&b->problem, b->operands);
	for (size_t i = 0; i < b->operand_count; i++) {
		alloc_guarded(b->operands[i].bytes, &b->buffers[i]);
		data[i] = b->buffers[i].data;
	}
	op->fill(&b->problem, 42 + shape.n, data);
	b->doubles = malloc(sizeof(double) * tcb_references_lay_out(b->operands, b->operand_count, NULL, NULL));
	assert_non_null(b->doubles);
	tcb_references_lay_out(b->operands, b->operand_count, b->doubles, b->reference);
	op->reference(&b->problem, data, b->reference);
	for (size_t i = 0; i < b->operand_count; i++) {
		assert_int_equal(tcb_buffer_check(&b->buffers[i]), 0);
		if (b->operands[i].role != TCB_ROLE_OUTPUT)
			protect(&b->buffers[i], 1);
	}
	/* What policies leave out of a CPU's space must be right, too. */
	if (tcb_space_create(op, &b->problem, &target, tcb_op_cpu(op)->space->rules != NULL, &b->space, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return 0;
}

static void bench_fini(struct bench *b)
{
	tcb_space_destroy(b->space);
	for (size_t i = 0; i < b->operand_count; i++)
		tcb_buffer_free(&b->buffers[i]);
	for (int layout = 0; layout < TCB_LAYOUT_COUNT; layout++)
		for (size_t i = 0; i < b->operand_count; i++)
			tcb_buffer_free(&b->packed[layout][i]);
	tcb_buffer_free(&b->exact);
	free(b->doubles);
	memset(b, 0, sizeof(*b));
}

/* Those of one op, which its instruction families share. */
static const struct tcb_op *benches_of;
static struct bench benches[TCB_CONTRACT_COUNT][SHAPE_COUNT];

static void close_benches(void)
{
	for (int c = 0; c < TCB_CONTRACT_COUNT; c++)
		for (size_t s = 0; s < SHAPE_COUNT; s++)
			bench_fini(&benches[c][s]);
}

/* NULL where OP refuses the shape. */
static struct bench *get_bench(const struct tcb_op *op, int contract, size_t shape)
{
	struct bench *bench = &benches[contract][shape];
	if (benches_of != op)
		close_benches();
	benches_of = op;
	if (!bench->space && bench_init(bench, op, (enum tcb_contract)contract, shape_of(op, shape)) != 0)
		return NULL;
	return bench;
}

/* Operand I of B, which are weights, as PLAN wants them: packed once, and unpacking gives them back. */
static void *pack_and_check(struct bench *b, size_t i, const struct tcb_op *op, const struct tcb_plan *plan,
			    const char *text)
{
	struct tcb_buffer unpacked, *packed = &b->packed[plan->variant->layout][i];
	if (packed->data) {
		assert_int_equal(packed->bytes, plan->packed_bytes[i]);
		return packed->data;
	}
	assert_true(b->operands[i].role == TCB_ROLE_WEIGHTS && op->pack && op->unpack);
	alloc_guarded(plan->packed_bytes[i], packed);
	op->pack(&plan->problem, i, plan->variant->layout, b->buffers[i].data, packed->data);
	protect(packed, 1);
	alloc_guarded(b->operands[i].bytes, &unpacked);
	op->unpack(&plan->problem, i, plan->variant->layout, packed->data, unpacked.data);
	if (tcb_buffer_check(packed) || tcb_buffer_check(&unpacked))
		fail_msg("%s: pack or unpack writes outside its buffer", text);
	if (memcmp(unpacked.data, b->buffers[i].data, b->operands[i].bytes) != 0)
		fail_msg("%s: unpack does not give back what was packed", text);
	tcb_buffer_free(&unpacked);
	return packed->data;
}

static const float *exact_result(struct bench *b, const struct tcb_op *op, const struct tcb_plan *plan,
				 void *const data[])
{
	int is_known = b->exact_variant == plan->variant;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		is_known &= b->exact_k[level] == plan->geometry.tile[level].k;
		b->exact_k[level] = plan->geometry.tile[level].k;
	}
	if (is_known)
		return b->exact.data;
	tcb_buffer_free(&b->exact);
	const int output = tcb_operand_output(b->operands, b->operand_count);
	alloc_guarded(b->operands[output].bytes, &b->exact);
	op->exact(plan, data, b->exact.data);
	b->exact_variant = plan->variant;
	return b->exact.data;
}

/* OUTPUT, an operand of PLAN's at GOT with REFERENCE. */
static void judge_output(const struct tcb_plan *plan, const struct tcb_operand *output,
			 const struct tcb_reference *reference, const void *got_at, const char *text)
{
	const size_t count = output->rows * output->cols;
	size_t bad = 0;
	float *got = malloc(count * sizeof(float));
	assert_non_null(got);
	if (output->type != TCB_TYPE_I32)
		tcb_operand_to_f32(output, got_at, 0, count, got);
	for (size_t i = 0; output->type == TCB_TYPE_I32 && i < count; i++) /* what a float holds */
		got[i] = (float)tcb_operand_value(output, got_at, i);
	double ratio = tcb_error_ratio(plan, reference, got, count, &bad);
	if (!(ratio <= 1))
		fail_msg("%s: %s %zu is %.9g, reference %.9g, error ratio %g", text, output->name, bad,
			 (double)got[bad], reference->y[bad], ratio);
	/* The judge itself: the largest element off by half, or by a twentieth of its terms, must not pass. */
	size_t top = 0;
	for (size_t i = 1; i < count; i++)
		if (!isnan(reference->y[i]) &&
		    (isnan(reference->y[top]) || fabs(reference->y[i]) > fabs(reference->y[top])))
			top = i;
	got[top] += (float)fmax(0.5 * fabs(reference->y[top]), 0.05 * reference->magnitude[top]);
	/* Where all are 0, of a block whose scale is, so are the terms. */
	if (!isnan(reference->y[top]) && reference->y[top] != 0 &&
	    tcb_error_ratio(plan, reference, got, count, NULL) <= 1)
		fail_msg("%s: a wrong %s passes, the bound is too wide", text, output->name);
	free(got);
}

static void judge(struct bench *b, const struct tcb_op *op, const struct tcb_plan *plan, void *const data[],
		  const char *text)
{
	const struct tcb_reference *reference = b->reference;
	const int output = tcb_operand_output(b->operands, b->operand_count);
	if (tcb_plan_is_exact(plan)) {
		const float *exact = exact_result(b, op, plan, data);
		if (memcmp(exact, data[output], b->operands[output].bytes) != 0)
			fail_msg("%s: not bit-equal to the order-matched reference", text);
		return;
	}
	for (size_t i = 0; i < b->operand_count; i++)
		if (b->operands[i].role == TCB_ROLE_OUTPUT)
			judge_output(plan, &b->operands[i], reference++, data[i], text);
}

static void try_geometry(struct bench *b, const struct tcb_op *op, const struct tcb_geometry *geometry)
{
	char text[TCB_GEOMETRY_TEXT_MAX + 128], shape[TCB_SHAPE_TEXT_MAX];
	struct tcb_buffer workspace = { 0 };
	void *data[TCB_OPERANDS_MAX] = { NULL };
	struct tcb_plan plan;
	struct tcb_error err;
	tcb_shape_print(&b->problem.shape, shape);
	int length = snprintf(text, sizeof(text), "%s %s ", op->name, shape);
	tcb_geometry_print(geometry, text + length);
	if (tcb_op_cpu(op)->plan(&b->problem, geometry, &plan, &err) != TCB_OK)
		fail_msg("%s: legal, but its plan fails: %s", text, err.message);
	assert_true(plan.threads >= 1 && plan.threads <= THREADS);
	for (size_t i = 0; i < b->operand_count; i++)
		data[i] = plan.packed_bytes[i] ? pack_and_check(b, i, op, &plan, text) : b->buffers[i].data;
	if (plan.workspace_bytes)
		alloc_guarded(plan.workspace_bytes, &workspace);
	/* Twice: what a first call left in the workspace must not matter. */
	for (int call = 0; call < 2; call++) {
		for (size_t i = 0; i < b->operand_count; i++)
			if (b->operands[i].role == TCB_ROLE_OUTPUT)
				memset(data[i], TCB_POISON, b->operands[i].bytes);
		tcb_op_cpu(op)->run(&plan, data, workspace.data, pool);
	}
	for (size_t i = 0; i < b->operand_count; i++) {
		if (tcb_buffer_check(&b->buffers[i]))
			fail_msg("%s: writes outside its buffers", text);
		data[i] = b->buffers[i].data;
	}
	if (plan.workspace_bytes && tcb_buffer_check(&workspace))
		fail_msg("%s: writes outside its workspace", text);
	judge(b, op, &plan, data, text);
	tcb_buffer_free(&workspace);
}

static size_t variants_of(const struct tcb_op *op, enum tcb_isa isa, enum tcb_contract contract,
			  const struct tcb_variant *out[VARIANTS_MAX])
{
	size_t count = 0;
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(op), i)) != NULL; i++) {
		if (variant->isa == isa && variant->contract == contract) {
			assert_true(count < VARIANTS_MAX);
			out[count++] = variant;
		}
	}
	return count;
}

/*
 * For every other variant and each thread count a few geometries (fewer where there are many variants), drawn without
 * looking: a reservoir over the whole space.  PARITY says which variants: each has every other shape.
 */
static size_t draw_and_try(struct bench *b, const struct tcb_op *op, const struct tcb_variant *const *variants,
			   size_t variant_count, size_t parity, unsigned char *reached)
{
	struct group {
		size_t seen;
		size_t chosen[GEOMETRIES_PER_GROUP];
	} *groups = calloc(variant_count * (THREADS + 1), sizeof(*groups));
	const struct tcb_space *space = b->space;
	struct tcb_rng rng;
	size_t tried = 0, each = GEOMETRIES_TOGETHER / variant_count;
	assert_non_null(groups);
	each /= 1 + 2 * TEST_IS_INSTRUMENTED;
	each = each < 1 ? 1 : each > geometries_most ? geometries_most : each;
	tcb_rng_init(&rng, 1 + b->problem.shape.n);
	for (size_t i = 0; i < space->count; i++) {
		const struct tcb_geometry *geometry = &space->geometries[i];
		const struct tcb_variant *variant = tcb_variant_find(op, b->problem.contract, geometry);
		for (size_t v = 0; v < variant_count; v++) {
			if (variants[v] != variant)
				continue;
			int32_t threads = geometry->knob[TCB_KNOB_THREADS];
			struct group *group = &groups[v * (THREADS + 1) + (size_t)(threads > 0 ? threads : 0)];
			size_t slot =
				group->seen < GEOMETRIES_PER_GROUP ? group->seen : tcb_rng_below(&rng, group->seen + 1);
			group->seen++;
			if (slot < GEOMETRIES_PER_GROUP)
				group->chosen[slot] = i;
		}
	}
	for (size_t g = 0; g < variant_count * (THREADS + 1); g++) {
		const int has_turn = g / (THREADS + 1) % 2 == parity;
		for (size_t i = 0; has_turn && i < groups[g].seen && i < each; i++, tried++)
			try_geometry(b, op, &space->geometries[groups[g].chosen[i]]);
		if (has_turn && groups[g].seen)
			reached[g / (THREADS + 1)] = 1;
	}
	free(groups);
	return tried;
}

/* Whether shape S is left out.  Of an op that is like no other it is left to another run: the first takes every fourth
 * pair of shapes, of which a variant takes one, the second the others.  Emulated, formats other than the first take
 * every other pair. */
static int is_for_another(const struct subject *subject, size_t s)
{
	const struct tcb_format *format = subject->op->format;
	if (geometries_most < GEOMETRIES_PER_GROUP && format && format->id != TCB_FORMAT_Q4_K)
		return (s / 2 + subject->number) % 2 != 0;
	return test_part() && !is_like(subject->op) && ((s / 2 + subject->number) % 4 == 0) != (test_part() == 1);
}

static void test_variants_of_isa(void **state)
{
	const struct subject *subject = *state;
	const struct tcb_op *op = subject->op;
	if (!tcb_target_has(&target, subject->isa))
		skip_because("%s: this machine has no %s", subject->name, tcb_isa_text(subject->isa));
	size_t tried = 0;
	for (int c = 0; c < TCB_CONTRACT_COUNT; c++) {
		const struct tcb_variant *variants[VARIANTS_MAX];
		unsigned char reached[VARIANTS_MAX] = { 0 };
		size_t count = variants_of(op, subject->isa, (enum tcb_contract)c, variants);
		size_t shapes_taken = 0;
		for (size_t s = 0; count && s < SHAPE_COUNT; s++) {
			struct bench *bench;
			const struct tcb_shape shape = shape_of(op, s);
			if (is_for_another(subject, s))
				continue;
			if (shape.n * shape.k > FEW_VALUES && (geometries_most < GEOMETRIES_PER_GROUP ||
							       (TEST_IS_INSTRUMENTED && op->pack) || is_like(op)))
				continue;
			bench = get_bench(op, c, s);
			if (!bench)
				continue;
			shapes_taken++;
			tried += draw_and_try(bench, op, variants, count, s % 2, reached);
		}
		assert_true(!count || test_part() || shapes_taken >= 4);
		for (size_t v = 0; v < count && !test_part(); v++) {
			if (!reached[v])
				fail_msg("no geometry of the space uses %s", variants[v]->name);
		}
	}
	print_message("%s: %zu geometries\n", subject->name, tried);
	assert_true(tried > 0 || test_part());
}

/* Names, ISAs and signatures make sense, and no two variants answer to the same geometry. */
static void test_tables(void **state)
{
	(void)state;
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	assert_true(count >= 1);
	for (size_t o = 0; o < count; o++) {
		const struct tcb_variant *variant;
		assert_ptr_equal(tcb_op_find(ops[o]->name), ops[o]);
		for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(ops[o]), i)) != NULL; i++) {
			struct tcb_geometry geometry;
			tcb_geometry_init(&geometry);
			geometry.tile[TCB_MICRO] = variant->micro;
			geometry.knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
			geometry.knob[TCB_KNOB_LAYOUT] = (int32_t)variant->layout;
			geometry.knob[TCB_KNOB_UNROLL] = variant->unroll;
			assert_ptr_equal(tcb_variant_find(ops[o], variant->contract, &geometry), variant);
			assert_true((ops[o]->contracts >> variant->contract) & 1u);
			assert_non_null(strstr(variant->name, tcb_isa_text(variant->isa)));
			assert_int_equal(strncmp(variant->name, ops[o]->name, strlen(ops[o]->name)), 0);
			assert_int_equal(strlen(tcb_variant_signature(variant)), 32);
			assert_non_null(variant->entry);
		}
		assert_null(tcb_variant_at(tcb_op_cpu(ops[o]), 100000));
	}
}

/* Whether OP's tests of ISA are left to another run.  Like ones are many: a quarter of them are for each of two runs, a
 * sixteenth for an instrumented one. */
static int leaves_out(const struct tcb_op *op, size_t number, int isa)
{
	return is_like(op) && test_leaves_out(number * TCB_ISA_COUNT + (size_t)isa + 1);
}

/* What the command line asks for: -1 for all families. */
static int family_of(int argc, char **argv)
{
	enum tcb_isa isa;
	struct tcb_error err;
	if (argc > 2)
		geometries_most = strtoul(argv[2], NULL, 10);
	if (argc < 2)
		return -1;
	if (tcb_isa_parse(argv[1], &isa, &err) != TCB_OK || geometries_most < 1 ||
	    geometries_most > GEOMETRIES_PER_GROUP) {
		fprintf(stderr, "usage: %s [FAMILY [GEOMETRIES, 1 to %d]]\n", argv[0], GEOMETRIES_PER_GROUP);
		exit(2);
	}
	return (int)isa;
}

int main(int argc, char **argv)
{
	static struct subject subjects[TESTS_MAX];
	static struct CMUnitTest tests[TESTS_MAX + 1];
	static struct tcb_device device;
	struct tcb_error err;
	size_t op_count, count = 0;
	const int family = family_of(argc, argv);
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	if (tcb_cpu_identify("cpu", THREADS, &device, &err) != TCB_OK ||
	    tcb_pool_create(THREADS, NULL, &pool, &err) != TCB_OK) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	(void)tcb_tiles_ask(NULL); /* where there are any */
	target = device.target;
	target.threads = THREADS;
	tests[count++] = (struct CMUnitTest){ "tables", test_tables, NULL, NULL, NULL };
	for (size_t o = 0; o < op_count; o++) {
		for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
			const struct tcb_variant *variant = NULL;
			for (size_t i = 0;
			     (variant = tcb_variant_at(tcb_op_cpu(ops[o]), i)) && (int)variant->isa != isa; i++) {
			}
			if (!variant || (family >= 0 && isa != family) || leaves_out(ops[o], o, isa))
				continue;
			if (count > TESTS_MAX) {
				fprintf(stderr, "more than %d tests\n", TESTS_MAX);
				return 1;
			}
			struct subject *subject = &subjects[count - 1];
			*subject = (struct subject){ ops[o], (enum tcb_isa)isa, o, "" };
			snprintf(subject->name, sizeof(subject->name), "%s %s", ops[o]->name,
				 tcb_isa_text((enum tcb_isa)isa));
			tests[count++] =
				(struct CMUnitTest){ subject->name, test_variants_of_isa, NULL, NULL, subject };
		}
	}
	const int failed = _cmocka_run_group_tests("variants", tests, count, NULL, NULL);
	close_benches();
	tcb_pool_destroy(pool);
	return test_status(failed);
}
