/* SPDX-License-Identifier: MIT
 *
 * bench_experts [--threads T] [--ms MS] OP SHAPE [GEOMETRY]...: products of experts on this CPU against what would do
 * in their place, and against reading the bytes of the experts that are used, call by call in turn, so that memory,
 * clock and neighbours are the same for all.
 *
 *     F_experts_matmul         for each expert with tokens F_matvec, or F_matmul of as many tokens, with its default
 *                              geometry and packed weights; rows are gathered before and scattered after
 *     F_experts_swiglu_matmul  F_experts_matmul of gate and of up, then silu(gate) * up
 *     F_experts_sum_matmul     F_experts_matmul, then the weighted sum
 *
 * Each GEOMETRY is measured (default: the op's).  Each round has other experts, as the layers of a model do.  Prints
 * medians of microseconds, and of ratios within a round their median and 95 % interval.  Times of one thread are the
 * processor's, so that what else runs there counts little.  A program to run by hand on a quiet machine, no test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/cpu_identity.h"
#include "base/sizes.h"
#include "base/stats.h"
#include "base/util.h"
#include "device/device.h"
#include "kernels/default_rules.h"
#include "kernels/quant_experts/quant_experts.h"
#include "kernels/quant_matvec/quant_matvec_prepare.h"

enum { ROUNDS_MAX = 2000, HUGE_PAGE = 2 << 20, GEOMETRIES_MAX = 8, SEEDS = 64, ROTATION = 256 << 20 };

static struct tcb_device device;
static struct tcb_pool *pool;

static void die(const char *text)
{
	fprintf(stderr, "bench_experts: %s\n", text);
	exit(2);
}

static void *memory(size_t bytes)
{
	const size_t whole = tcb_round_up(bytes + 1, HUGE_PAGE);
	void *p = aligned_alloc(HUGE_PAGE, whole);
	if (!p)
		die("out of memory");
	madvise(p, whole, MADV_HUGEPAGE);
	memset(p, 0, whole);
	return p;
}

static unsigned threads = 1;

static uint64_t now_ns(void)
{
	struct timespec now;
	if (threads > 1)
		return tcb_clock_ns();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A problem with a geometry and what it runs in; weights come from elsewhere. */
struct subject {
	struct tcb_problem problem;
	struct tcb_plan plan;
	void *workspace;
};

static void open_subject(struct subject *s, const char *name, const struct tcb_shape *shape, const char *text)
{
	const struct tcb_op *op = tcb_op_find(name);
	struct tcb_geometry geometry;
	struct tcb_error err = { .message = "no such op" };
	if (!op || tcb_problem_init(op, TCB_CONTRACT_Q8, shape, &s->problem, &err) != TCB_OK)
		die(err.message);
	if (text && tcb_geometry_parse(text, &geometry, &err) != TCB_OK)
		die(err.message);
	if (!text)
		tcb_default_geometry(&s->problem, &device.target, &geometry);
	if (tcb_op_cpu(op)->plan(&s->problem, &geometry, &s->plan, &err) != TCB_OK)
		die(err.message);
	s->workspace = memory(s->plan.workspace_bytes);
}

static void run(const struct subject *s, void *const operand[])
{
	tcb_op_cpu(s->problem.op)->run(&s->plan, operand, s->workspace, pool);
}

/* A stack of experts' weights as stored, and in each layout that somebody wants: gate's or all, and up's. */
static struct stack {
	void *stored, *packed[TCB_LAYOUT_COUNT];
} stacks[2];
static size_t stored_each, packed_each[TCB_LAYOUT_COUNT], stack_count = 1;

/* As PLAIN, a problem of one expert, packs them; R16 is the same for all. */
static void pack_for(const struct subject *plain, size_t experts)
{
	const enum tcb_layout layout = plain->plan.variant->layout;
	const size_t each = plain->plan.packed_bytes[TCB_QUANT_WEIGHTS];
	if (stacks[0].packed[layout] || !each)
		return;
	packed_each[layout] = each;
	for (size_t i = 0; i < stack_count; i++) {
		stacks[i].packed[layout] = memory(experts * each);
		for (size_t e = 0; e < experts; e++)
			plain->problem.op->pack(&plain->problem, TCB_QUANT_WEIGHTS, layout,
						(char *)stacks[i].stored + e * stored_each,
						(char *)stacks[i].packed[layout] + e * each);
	}
}

static void *weights_of(const struct subject *s, const struct stack *stack, size_t expert)
{
	const enum tcb_layout layout = s->plan.variant->layout;
	return s->plan.packed_bytes[TCB_QUANT_WEIGHTS] ? (char *)stack->packed[layout] + expert * packed_each[layout]
						       : (char *)stack->stored + expert * stored_each;
}

static struct tcb_shape shape;
static const struct qex_kind *kind;
static float *x, *y, *x_some, *y_some, *factors;
static int32_t *ids;
static struct subject experts[GEOMETRIES_MAX], part, *plain; /* plain by the number of tokens */

static void run_experts(const struct subject *s)
{
	void *operand[TCB_OPERANDS_MAX] = { weights_of(s, &stacks[0], 0), x, y, ids };
	if (kind->is_gated)
		operand[QEX_UP] = weights_of(s, &stacks[1], 0);
	if (kind->is_summed)
		operand[QEX_FACTORS] = factors;
	run(s, operand);
}

static void run_part(const struct stack *stack, float *to)
{
	void *operand[TCB_OPERANDS_MAX] = { weights_of(&part, stack, 0), x, to, ids };
	run(&part, operand);
}

#define GATE(isa, ID, ...) [TCB_ISA_##ID] = qmv_gate_##isa,
static qmv_gate_fn *const gates[TCB_ISA_COUNT] = { TCB_ISAS_FLOATS(GATE, ) };

static void run_parts(void)
{
	const size_t used = shape.words.used;
	run_part(&stacks[0], kind->is_gated ? y : y_some);
	if (kind->is_gated) {
		run_part(&stacks[1], y_some);
		gates[tcb_cpu_isa((int32_t)part.plan.variant->isa)->floats](y, y_some, qex_pairs(&shape) * shape.n);
		return;
	}
	memset(y, 0, shape.m * shape.n * sizeof(float));
	for (size_t i = 0; i < qex_pairs(&shape); i++)
		for (size_t n = 0; n < shape.n; n++)
			y[i / used * shape.n + n] += factors[i] * y_some[i * shape.n + n];
}

static void run_loop(void)
{
	const size_t pairs = qex_pairs(&shape), used = shape.words.used;
	for (int32_t e = 0; e < shape.words.experts; e++) {
		size_t count = 0;
		for (size_t i = 0; i < pairs; i++)
			if (ids[i] == e)
				memcpy(x_some + count++ * shape.k, x + (shape.words.each ? i : i / used) * shape.k,
				       shape.k * sizeof(float));
		if (!count)
			continue;
		void *operand[TCB_OPERANDS_MAX] = { weights_of(&plain[count], &stacks[0], (size_t)e), x_some, y_some };
		run(&plain[count], operand);
		count = 0;
		for (size_t i = 0; i < pairs; i++)
			if (ids[i] == e)
				memcpy(y + i * shape.n, y_some + count++ * shape.n, shape.n * sizeof(float));
	}
}

/* Plans of all numbers of tokens that an expert has in any round. */
static void open_plain(const char *name, size_t seed)
{
	qex_draw(&shape, seed, ids);
	for (int32_t e = 0; e < shape.words.experts; e++) {
		char op[TCB_OP_NAME_MAX];
		size_t count = 0;
		for (size_t i = 0; i < qex_pairs(&shape); i++)
			count += ids[i] == e;
		if (!count || plain[count].problem.op)
			continue;
		snprintf(op, sizeof op, "%.*s_%s", (int)strcspn(name, "_"), name, count == 1 ? "matvec" : "matmul");
		open_subject(&plain[count], op, &(struct tcb_shape){ count, shape.n, shape.k }, NULL);
		pack_for(&plain[count], shape.words.experts);
	}
}

/* The weights of S' geometry as the plain matmul packs them, whose r16 is that of the experts. */
static void pack_as(const struct subject *s, const char *name)
{
	struct tcb_geometry geometry = s->plan.geometry;
	const struct tcb_shape one = { geometry.tile[TCB_MICRO].m, shape.n, shape.k };
	struct subject as = { .workspace = NULL };
	char op[TCB_OP_NAME_MAX], text[TCB_GEOMETRY_TEXT_MAX];
	geometry.tile[TCB_MACRO].m = geometry.tile[TCB_MIDI].m = geometry.tile[TCB_MICRO].m;
	tcb_geometry_print(&geometry, text);
	snprintf(op, sizeof op, "%.*s_matmul", (int)strcspn(name, "_"), name);
	open_subject(&as, op, &one, text);
	pack_for(&as, shape.words.experts);
}

/* Operands, and what is compared with COUNT geometries of op NAME. */
static void open_data(const char *name, size_t count, const struct tcb_operand *operands)
{
	const struct tcb_problem *problem = &experts[0].problem;
	const size_t pairs = qex_pairs(&shape);
	void *data[TCB_OPERANDS_MAX] = { NULL };
	for (size_t i = 0; i <= QEX_IDS + (size_t)(kind->is_gated | kind->is_summed); i++)
		data[i] = memory(operands[i].bytes);
	problem->op->fill(problem, 1, data);
	stack_count = 1 + (size_t)kind->is_gated;
	stacks[0].stored = data[TCB_QUANT_WEIGHTS];
	stacks[1].stored = factors = data[QEX_UP];
	x = data[TCB_QUANT_X];
	y = data[TCB_QUANT_Y];
	ids = data[QEX_IDS];
	stored_each = operands[TCB_QUANT_WEIGHTS].bytes / shape.words.experts;
	x_some = memory(pairs * shape.k * sizeof(float));
	y_some = memory(pairs * shape.n * sizeof(float));
	if (kind->is_gated || kind->is_summed) {
		struct tcb_shape all = shape;
		char op[TCB_OP_NAME_MAX];
		all.words.each = kind->is_summed != 0;
		snprintf(op, sizeof op, "%.*s_experts_matmul", (int)strcspn(name, "_"), name);
		open_subject(&part, op, &all, NULL);
		pack_as(&part, name);
	} else {
		plain = memory((pairs + 1) * sizeof *plain);
		for (size_t seed = 0; seed < tcb_least(shape.words.experts, SEEDS); seed++)
			open_plain(name, seed);
	}
	for (size_t g = 0; g < count; g++)
		pack_as(&experts[g], name);
}

enum { OTHER, READ, FIRST };
static double ns[FIRST + GEOMETRIES_MAX][ROUNDS_MAX];

/* All in turn for MS; returns how many rounds. */
static size_t measure(size_t count, double ms, struct tcb_bandwidth *read)
{
	const uint64_t begun = tcb_clock_ns();
	size_t rounds = 0;
	for (size_t turn = 0; rounds < ROUNDS_MAX && (rounds < 5 || (double)(tcb_clock_ns() - begun) < ms * 1e6);
	     turn++) {
		for (size_t s = 0; s < FIRST + count; s++) {
			qex_draw(&shape, (turn * (FIRST + count) + s) % SEEDS, ids);
			const uint64_t start = now_ns();
			if (s == READ)
				tcb_bandwidth_call(read);
			else if (s >= FIRST)
				run_experts(&experts[s - FIRST]);
			else if (plain)
				run_loop();
			else
				run_parts();
			ns[s][rounds] = (double)(now_ns() - start);
		}
		rounds += turn > 1; /* warm */
	}
	return rounds;
}

static void print_row(const char *what, const double *of, const double *to, size_t rounds)
{
	const struct tcb_interval time = tcb_median_interval(of, rounds), times = tcb_ratio_interval(to, of, rounds);
	printf("%-12s %10.1f us   %.3f [%.3f, %.3f]\n", what, time.median / 1e3, times.median, times.lo, times.hi);
}

int main(int argc, char **argv)
{
	size_t count = 0;
	double ms = 2000;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_bandwidth *read;
	struct tcb_error err;
	int at = 1;
	for (; at + 1 < argc && argv[at][0] == '-'; at += 2)
		if (strcmp(argv[at], "--threads") == 0)
			threads = (unsigned)atoi(argv[at + 1]);
		else
			ms = atof(argv[at + 1]);
	if (argc - at < 2)
		die("give an op and a shape");
	const char *name = argv[at];
	if (tcb_shape_parse(argv[at + 1], &shape, &err) != TCB_OK ||
	    tcb_cpu_identify("cpu", threads, &device, &err) != TCB_OK ||
	    tcb_pool_create(threads, threads == 1 ? (int[]){ 0 } : (int[]){ 0, 1 }, &pool, &err) != TCB_OK)
		die(err.message);
	device.target.threads = threads;
	for (int g = at + 2; g < argc && count < GEOMETRIES_MAX; g++)
		open_subject(&experts[count++], name, &shape, argv[g]);
	if (!count)
		open_subject(&experts[count++], name, &shape, NULL);
	const struct tcb_problem *problem = &experts[0].problem;
	kind = qex_kind(problem);
	problem->op->operands(problem, operands);
	open_data(name, count, operands);

	const struct tcb_operand *weights = &operands[TCB_QUANT_WEIGHTS];
	const size_t touched = stack_count * (weights->touched ? weights->touched : weights->bytes);
	if (tcb_bandwidth_create(pool, threads, TCB_TRAFFIC_READ, touched, tcb_most(ROTATION, 2 * touched), NULL, 1,
				 &read, &err) != TCB_OK)
		die(err.message);
	const size_t rounds = measure(count, ms, read);
	printf("%s %s, %u thread%s, %zu rounds; %.1f MB of weights touched, %.2f GOP; ratio: read / this\n", name,
	       argv[at + 1], threads, threads == 1 ? "" : "s", rounds, 1e-6 * (double)touched,
	       1e-9 * problem->op->flops(problem));
	print_row("read", ns[READ], ns[READ], rounds);
	print_row(plain ? "loop" : "parts", ns[OTHER], ns[READ], rounds);
	for (size_t g = 0; g < count; g++) {
		print_row("experts", ns[FIRST + g], ns[READ], rounds);
		print_row(plain ? "  loop/this" : "  parts/this", ns[FIRST + g], ns[OTHER], rounds);
	}
	tcb_bandwidth_destroy(read);
	tcb_pool_destroy(pool);
	return 0;
}
