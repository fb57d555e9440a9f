/* SPDX-License-Identifier: MIT
 *
 * Shapes that nobody chose, on this processor:
 *
 *     check_random_shapes [OP [COUNT [SEED]]]
 *
 * draws COUNT small shapes with any of their words, in turn for each op whose name has OP in it ("attention_" if it is
 * left out, all of "").  For each contract and family of instructions that the processor has, the default geometry and
 * one drawn from the space run twice, over poisoned outputs in guarded buffers, with inputs that cannot be written;
 * results are compared with the reference.  Prints how many ran, and of the first that fails how to see it again.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/sizes.h"
#include "base/tiles.h"
#include "kernels/constraint.h"
#include "kernels/space.h"
#include "random_problem.h"

enum { THREADS = 2, OPS_MAX = 1024, TEXT_MAX = 256, WORK_MOST = 1 << 22 };

static struct tcb_target target;
static char under_way[3 * TEXT_MAX + TCB_GEOMETRY_TEXT_MAX]; /* for what ends the program */
static struct tcb_pool *pool;

/* --- one shape --- */

struct bench {
	struct tcb_problem problem;
	size_t count;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_buffer buffers[TCB_OPERANDS_MAX];
	double *doubles;
	struct tcb_reference reference[TCB_OUTPUTS_MAX];
};

static void alloc_guarded(size_t bytes, struct tcb_buffer *out)
{
	struct tcb_error err;
	if (tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, out, &err) != TCB_OK) {
		fprintf(stderr, "%s\n", err.message);
		exit(1);
	}
}

static void bench_init(struct bench *b, uint64_t seed)
{
	const struct tcb_op *op = b->problem.op;
	void *data[TCB_OPERANDS_MAX] = { NULL };
	b->count = op->operands(&b->problem, b->operands);
	for (size_t i = 0; i < b->count; i++) {
		alloc_guarded(b->operands[i].bytes, &b->buffers[i]);
		data[i] = b->buffers[i].data;
	}
	op->fill(&b->problem, seed, data);
	b->doubles = malloc(sizeof(double) * tcb_references_lay_out(b->operands, b->count, NULL, NULL));
	if (!b->doubles)
		abort();
	tcb_references_lay_out(b->operands, b->count, b->doubles, b->reference);
	op->reference(&b->problem, data, b->reference);
	for (size_t i = 0; i < b->count; i++)
		if (b->operands[i].role != TCB_ROLE_OUTPUT)
			(void)tcb_buffer_protect(&b->buffers[i], 1, NULL);
}

static void bench_fini(struct bench *b)
{
	for (size_t i = 0; i < b->count; i++)
		tcb_buffer_free(&b->buffers[i]);
	free(b->doubles);
	memset(b, 0, sizeof(*b));
}

/* --- a geometry --- */

/* What is wrong with OUTPUT, to WHAT; 0: nothing. */
static int is_wrong(const struct bench *b, const struct tcb_plan *plan, size_t output,
		    const struct tcb_reference *reference, char what[TEXT_MAX])
{
	const struct tcb_operand *operand = &b->operands[output];
	const size_t count = operand->rows * operand->cols;
	size_t bad = 0;
	float *got = malloc(count * sizeof(*got));
	if (!got)
		abort();
	tcb_operand_to_f32(operand, b->buffers[output].data, 0, count, got);
	const double ratio = tcb_error_ratio(plan, reference, got, count, &bad);
	if (!(ratio <= 1))
		snprintf(what, TEXT_MAX, "%s [%zu][%zu] is %.9g, not %.9g: off by %.3g times what it may be",
			 operand->name, bad / operand->cols, bad % operand->cols, (double)got[bad], reference->y[bad],
			 ratio);
	free(got);
	return !(ratio <= 1);
}

static int runs_wrong(struct bench *b, const struct tcb_plan *plan, char what[TEXT_MAX])
{
	const struct tcb_op *op = b->problem.op;
	const struct tcb_reference *reference = b->reference;
	struct tcb_buffer workspace = { 0 }, packed[TCB_OPERANDS_MAX] = { 0 };
	void *data[TCB_OPERANDS_MAX];
	*what = 0;
	for (size_t i = 0; i < b->count; i++) {
		data[i] = b->buffers[i].data;
		if (!plan->packed_bytes[i])
			continue;
		alloc_guarded(plan->packed_bytes[i], &packed[i]);
		op->pack(&plan->problem, i, plan->variant->layout, data[i], packed[i].data);
		data[i] = packed[i].data;
	}
	if (plan->workspace_bytes)
		alloc_guarded(plan->workspace_bytes, &workspace);
	for (int call = 0; call < 2; call++) {
		for (size_t i = 0; i < b->count; i++)
			if (b->operands[i].role == TCB_ROLE_OUTPUT)
				memset(data[i], TCB_POISON, b->operands[i].bytes);
		tcb_op_cpu(op)->run(plan, data, workspace.data, pool);
	}
	for (size_t i = 0; i < b->count && !*what; i++) {
		if (tcb_buffer_check(&b->buffers[i]))
			snprintf(what, TEXT_MAX, "wrote outside of %s", b->operands[i].name);
		else if (b->operands[i].role == TCB_ROLE_OUTPUT &&
			 !tcb_operand_gaps_are(&b->operands[i], data[i], TCB_POISON))
			snprintf(what, TEXT_MAX, "wrote between rows of %s", b->operands[i].name);
		else if (b->operands[i].role == TCB_ROLE_OUTPUT)
			(void)is_wrong(b, plan, i, reference++, what);
	}
	if (!*what && plan->workspace_bytes && tcb_buffer_check(&workspace))
		snprintf(what, TEXT_MAX, "wrote outside of its workspace");
	for (size_t i = 0; i < b->count; i++)
		tcb_buffer_free(&packed[i]);
	tcb_buffer_free(&workspace);
	return *what != 0;
}

static void say_what_crashed(int number)
{
	(void)!write(STDOUT_FILENO, under_way, strlen(under_way));
	signal(number, SIG_DFL);
	raise(number);
}

/* 1 where GEOMETRY is wrong at D's shape, which is printed. */
static int check_geometry(struct bench *b, const struct draw *d, const struct tcb_geometry *geometry)
{
	char what[TEXT_MAX], text[TCB_GEOMETRY_TEXT_MAX];
	struct tcb_plan plan;
	struct tcb_error err;
	tcb_geometry_print(geometry, text);
	snprintf(under_way, sizeof(under_way), "%s --contract %s --shape %s --geometry %s (strides %zu %zu)\n",
		 b->problem.op_name, tcb_contract_text(b->problem.contract), d->text, text, b->problem.x_stride,
		 b->problem.y_stride);
	if (tcb_op_cpu(b->problem.op)->plan(&b->problem, geometry, &plan, &err) != TCB_OK)
		snprintf(what, TEXT_MAX, "no plan: %.200s", err.message);
	else if (!runs_wrong(b, &plan, what))
		return 0;
	printf("%s    %s\n", under_way, what);
	return 1;
}

/* A geometry of SPACE of this family, all as likely; NULL: there is none. */
static const struct tcb_geometry *draw_geometry(struct draw *d, const struct tcb_space *space, int isa)
{
	const struct tcb_geometry *out = NULL;
	size_t seen = 0;
	for (size_t i = 0; i < space->count; i++)
		if (space->geometries[i].knob[TCB_KNOB_ISA] == isa && one_of(d, ++seen) == 0)
			out = &space->geometries[i];
	return out;
}

/* The default of each family and one drawn; how many ran is added to *RAN, how many were wrong comes back. */
static size_t check_problem(struct bench *b, struct draw *d, size_t *ran)
{
	const struct tcb_op *op = b->problem.op;
	struct tcb_space *space;
	struct tcb_error err;
	size_t wrong = 0;
	if (tcb_space_create(op, &b->problem, &target, 1, &space, &err) != TCB_OK) {
		printf("%s %s: %s\n", op->name, d->text, err.message);
		return 1;
	}
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
		const struct tcb_geometry *drawn = draw_geometry(d, space, isa);
		struct tcb_target own = target;
		struct tcb_geometry standard;
		if (!drawn)
			continue;
		own.isa_mask = 1u << isa | 1u << TCB_ISA_SCALAR;
		tcb_op_standard(&b->problem, &own, &standard);
		wrong += (size_t)check_geometry(b, d, &standard);
		wrong += (size_t)check_geometry(b, d, drawn);
		*ran += 2;
	}
	tcb_space_destroy(space);
	return wrong;
}

/* Has OP kernels of CONTRACT for this processor? */
static int has_contract(const struct tcb_op *op, enum tcb_contract contract)
{
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(op), i)); i++)
		if (variant->contract == contract && tcb_target_has(&target, variant->isa))
			return op->contracts >> contract & 1u;
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "attention_";
	const size_t most = argc > 2 ? strtoul(argv[2], NULL, 10) : 300;
	const unsigned long long seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	const struct tcb_op *taken[OPS_MAX];
	static struct tcb_device device;
	struct tcb_error err;
	struct draw draw = { .length = 0 };
	size_t op_count, count = 0, shapes = 0, ran = 0, wrong = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	for (size_t i = 0; i < op_count && count < OPS_MAX; i++)
		if (strstr(ops[i]->name, name) && tcb_variant_at(tcb_op_cpu(ops[i]), 0))
			taken[count++] = ops[i];
	if (!count || !most || tcb_cpu_identify("cpu", THREADS, &device, &err) != TCB_OK ||
	    tcb_pool_create(THREADS, NULL, &pool, &err) != TCB_OK) {
		fprintf(stderr, "usage: %s [OP [COUNT [SEED]]], with OP a part of ops' names\n", argv[0]);
		return 2;
	}
	(void)tcb_tiles_ask(NULL);
	signal(SIGSEGV, say_what_crashed);
	signal(SIGILL, say_what_crashed);
	target = device.target;
	target.threads = THREADS;
	tcb_rng_init(&draw.rng, seed);
	for (size_t i = 0; i < most && !wrong; i++) {
		struct bench bench = { .count = 0 };
		const struct tcb_op *op = taken[i % count];
		const enum tcb_contract first = op->default_contract;
		enum tcb_contract contract = (enum tcb_contract)one_of(&draw, TCB_CONTRACT_COUNT);
		if (!has_contract(op, contract))
			contract = first;
		if (random_problem(&draw, op, contract, 8.0 * WORK_MOST, &bench.problem) != 0)
			continue;
		bench_init(&bench, 1 + i);
		wrong = check_problem(&bench, &draw, &ran);
		bench_fini(&bench);
		shapes++;
	}
	printf("%s: %zu shapes, %zu runs, seed %llu: %s\n", name, shapes, ran, seed, wrong ? "WRONG" : "all right");
	tcb_pool_destroy(pool);
	return wrong || !shapes;
}
