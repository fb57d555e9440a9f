/* SPDX-License-Identifier: MIT
 *
 * bench_fused [--threads T] [--ms MS] [--hot] [FORMAT]... [1xNxK]...: the MatVecs that are fused with their neighbours
 * against their parts on this CPU, call by call in turn, so that memory, clock and neighbours are the same for both.
 *
 *     F_rmsnorm_matvec          rmsnorm 1xK, F_matvec 1xNxK
 *     F_swiglu_matvec           F_matvec 1xNxK twice, or F_matvec 1x2NxK once; then silu(gate) * up
 *     F_rmsnorm_swiglu_matvec   rmsnorm 1xK, then the same
 *
 * Each with its default geometry and packed weights, rmsnorm and the last pass with one thread.  All take their weights
 * from the same memory, since on other pages they may be a per cent faster or slower: rows of a pack come in any order.
 * They are cold (copies in turn that exceed the last-level cache) unless --hot, and all else is hot.  Prints medians of
 * microseconds and of ratios parts / fused within a round with their 95 % interval (above 1: fused is faster).  A
 * program to run by hand on a quiet machine, no test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cpu_identity.h"
#include "base/sizes.h"
#include "base/stats.h"
#include "base/util.h"
#include "kernels/default_rules.h"
#include "kernels/formats.h"
#include "kernels/quant_matvec/quant_matvec_fused.h"
#include "kernels/quant_matvec/quant_matvec_prepare.h"

enum { ROUNDS_MAX = 4000, COLD_BYTES = 192 << 20, SMALL_BYTES = 32 << 20, HUGE_PAGE = 2 << 20, LINE = 64 };

#define NAMES(id, name, op, ...) #op,
static const char *const formats[] = { TCB_FORMAT_LIST(NAMES) };
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

/* What is called: an op with all that it needs but weights. */
struct subject {
	struct tcb_problem problem;
	struct tcb_plan plan;
	size_t bytes[TCB_OPERANDS_MAX];
	void *operand[TCB_OPERANDS_MAX], *workspace;
};
enum { NORM, ONE, TWO, FUSED, SUBJECTS = FUSED + 3 };
static const char *const kinds[] = { "matvec", "rmsnorm_matvec", "swiglu_matvec", "rmsnorm_swiglu_matvec" };

static struct tcb_device device;
static struct tcb_pool *pool;
static struct {
	uint8_t *memory;
	size_t half, count,
		next; /* bytes of one matrix, of which there are two to a copy; halves; the one to be read */
} weights;

static void *memory(size_t bytes)
{
	const size_t whole = tcb_round_up(bytes + 1, HUGE_PAGE);
	void *p = aligned_alloc(HUGE_PAGE, whole);
	if (!p)
		abort();
	madvise(p, whole, MADV_HUGEPAGE);
	memset(p, 0, whole);
	return p;
}

/* Small things side by side, so that they are not all at the same place of a page; freed together. */
static struct {
	uint8_t *memory;
	size_t used;
} small;

static void *small_memory(size_t bytes)
{
	void *p = small.memory + small.used;
	small.used += tcb_round_up(bytes, LINE) + 3 * LINE;
	if (small.used > SMALL_BYTES)
		abort();
	return p;
}

static void open_subject(struct subject *s, const char *name, struct tcb_shape shape)
{
	const struct tcb_op *op = tcb_op_find(name);
	struct tcb_operand operand[TCB_OPERANDS_MAX];
	struct tcb_geometry geometry;
	struct tcb_error err = { .message = "no such op" };
	memset(s, 0, sizeof(*s));
	if (!op || tcb_problem_init(op, op->default_contract, &shape, &s->problem, &err) != TCB_OK) {
		fprintf(stderr, "bench_fused: %s: %s\n", name, err.message);
		exit(2);
	}
	tcb_default_geometry(&s->problem, &device.target, &geometry);
	if (tcb_op_cpu(op)->plan(&s->problem, &geometry, &s->plan, &err) != TCB_OK) {
		fprintf(stderr, "bench_fused: %s\n", err.message);
		exit(2);
	}
	const size_t count = op->operands(&s->problem, operand);
	for (size_t i = 0; i < count; i++) {
		s->bytes[i] = operand[i].bytes;
		s->operand[i] = operand[i].role == TCB_ROLE_WEIGHTS ? memory(s->bytes[i]) : small_memory(s->bytes[i]);
	}
	op->fill(&s->problem, 1, s->operand);
	s->workspace = small_memory(s->plan.workspace_bytes);
}

/* Copies of the weights of PAIR, in the layout that all have. */
static void open_weights(const struct subject *subject, int is_hot)
{
	const struct subject *pair = &subject[FUSED + 1];
	const struct tcb_plan *plan = &pair->plan;
	const size_t bytes = plan->packed_bytes[TCB_QUANT_WEIGHTS] ? plan->packed_bytes[TCB_QUANT_WEIGHTS]
								   : pair->bytes[TCB_QUANT_WEIGHTS];
	for (size_t i = ONE; i < SUBJECTS; i++)
		if (subject[i].plan.variant->layout != plan->variant->layout || bytes % (2 * LINE))
			abort();
	weights.half = bytes / 2;
	weights.count = 2 * (is_hot ? 1 : COLD_BYTES / bytes + 1);
	weights.memory = memory(weights.half * weights.count);
	if (plan->packed_bytes[TCB_QUANT_WEIGHTS])
		pair->problem.op->pack(&pair->problem, TCB_QUANT_WEIGHTS, plan->variant->layout,
				       pair->operand[TCB_QUANT_WEIGHTS], weights.memory);
	else
		memcpy(weights.memory, pair->operand[TCB_QUANT_WEIGHTS], bytes);
	for (size_t i = 2; i < weights.count; i += 2)
		memcpy(weights.memory + i * weights.half, weights.memory, bytes);
}

/* HALVES of the weights, those that were read longest ago. */
static void call(struct subject *s, size_t halves)
{
	void *operand[TCB_OPERANDS_MAX];
	memcpy(operand, s->operand, sizeof operand);
	if (halves) {
		weights.next = tcb_round_up(weights.next, halves) % weights.count;
		operand[TCB_QUANT_WEIGHTS] = weights.memory + weights.next * weights.half;
		weights.next += halves;
	}
	tcb_op_cpu(s->problem.op)->run(&s->plan, operand, s->workspace, pool);
}

#define GATE(isa, ID, ...) [TCB_ISA_##ID] = qmv_gate_##isa,
static qmv_gate_fn *const gates[TCB_ISA_COUNT] = { TCB_ISAS_FLOATS(GATE, ) };

static void gate(const struct subject *s, float *y, const float *up, size_t n)
{
	gates[tcb_cpu_isa(s->plan.variant->isa)->floats](y, up, n);
}

/* Ways to compute the same, in turn: fused; with one MatVec of both matrices; with two. */
enum { WHOLE, AS_ONE, AS_TWO, WAYS };

static void compute(struct subject *subject, int kind, int way)
{
	const int has_norm = kind != 1, is_gated = kind != 0;
	struct subject *one = &subject[ONE], *two = &subject[TWO];
	const size_t n = one->problem.shape.n;
	if (way == WHOLE) {
		call(&subject[FUSED + kind], is_gated ? 2 : 1);
		return;
	}
	if (has_norm)
		call(&subject[NORM], 0);
	if (!is_gated) {
		call(one, 1);
		return;
	}
	if (way == AS_ONE) {
		call(two, 2);
		gate(two, two->operand[TCB_QUANT_Y], (float *)two->operand[TCB_QUANT_Y] + n, n);
		return;
	}
	float *y = one->operand[TCB_QUANT_Y];
	call(one, 1);
	one->operand[TCB_QUANT_Y] = subject[FUSED].operand[TCB_QUANT_Y];
	call(one, 1);
	gate(one, y, one->operand[TCB_QUANT_Y], n);
	one->operand[TCB_QUANT_Y] = y;
}

static void touch(const uint8_t *bytes, size_t count)
{
	volatile uint8_t sum = 0;
	for (size_t i = 0; i < count; i += LINE)
		sum = (uint8_t)(sum + bytes[i]);
}

/* All but the weights is read, so that it is hot. */
static void warm(const struct subject *subject)
{
	for (size_t s = 0; s < SUBJECTS; s++) {
		for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
			if (s == NORM || i != TCB_QUANT_WEIGHTS)
				touch(subject[s].operand[i], subject[s].bytes[i]);
		touch(subject[s].workspace, subject[s].plan.workspace_bytes);
	}
}

static void print(const char *format, const char *kind, const struct tcb_shape *s, double (*us)[ROUNDS_MAX],
		  size_t rounds)
{
	const struct tcb_interval one = tcb_ratio_interval(us[AS_ONE], us[WHOLE], rounds);
	const struct tcb_interval two = tcb_ratio_interval(us[AS_TWO], us[WHOLE], rounds);
	char shape[40];
	snprintf(shape, sizeof shape, "%zux%zux%zu", s->m, s->n, s->k);
	printf("%-6s %-22s %-13s %9.2f  %9.2f %6.3f [%.3f, %.3f]", format, kind, shape, tcb_median(us[WHOLE], rounds),
	       tcb_median(us[AS_ONE], rounds), one.median, one.lo, one.hi);
	if (strstr(kind, "swiglu"))
		printf("  %9.2f %6.3f [%.3f, %.3f]", tcb_median(us[AS_TWO], rounds), two.median, two.lo, two.hi);
	printf("\n");
	fflush(stdout);
}

static void bench(const char *format, struct tcb_shape shape, double ms, int is_hot)
{
	static double us[3][WAYS][ROUNDS_MAX];
	const struct tcb_shape twice = { shape.m, 2 * shape.n, shape.k };
	struct subject subject[SUBJECTS];
	size_t rounds = 0;
	open_subject(&subject[NORM], "rmsnorm", (struct tcb_shape){ shape.m, shape.k, 0 });
	for (size_t i = ONE; i < SUBJECTS; i++) {
		char name[60];
		snprintf(name, sizeof name, "%s_%s", format, kinds[i < FUSED ? 0 : i - FUSED + 1]);
		open_subject(&subject[i], name, i == TWO ? twice : shape);
	}
	open_weights(subject, is_hot);
	for (const uint64_t start = tcb_clock_ns(); rounds < ROUNDS_MAX; rounds++) {
		if ((double)(tcb_clock_ns() - start) > 1e6 * ms && rounds > 8)
			break;
		for (int i = 0; i < 3 * WAYS; i++) {
			/* Who goes first changes, so that nobody always follows the same one. */
			const int at = (int)((i * (rounds % 2 ? 1 : 3 * WAYS - 1) + rounds) % (3 * WAYS));
			warm(subject);
			const uint64_t from = tcb_clock_ns();
			compute(subject, at / WAYS, at % WAYS);
			us[at / WAYS][at % WAYS][rounds] = (double)(tcb_clock_ns() - from) / 1000;
		}
	}
	for (int kind = 0; kind < 3; kind++)
		print(format, kinds[kind + 1], &shape, us[kind], rounds);
	for (size_t s = ONE; s < SUBJECTS; s++)
		free(subject[s].operand[TCB_QUANT_WEIGHTS]);
	small.used = 0;
	free(weights.memory);
}

int main(int argc, char **argv)
{
	static struct tcb_shape shapes[16];
	static const char *which[16];
	size_t shape_count = 0, format_count = 0;
	unsigned threads = 1;
	double ms = 700;
	int is_hot = 0;
	struct tcb_error err = { .message = "" };
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--threads") && i + 1 < argc)
			threads = (unsigned)atoi(argv[++i]);
		else if (!strcmp(argv[i], "--ms") && i + 1 < argc)
			ms = atof(argv[++i]);
		else if (!strcmp(argv[i], "--hot"))
			is_hot = 1;
		else if (argv[i][0] == '1' && shape_count < 16 &&
			 tcb_shape_parse(argv[i], &shapes[shape_count], &err) == TCB_OK)
			shape_count++;
		else if (format_count < 16)
			which[format_count++] = argv[i];
	}
	if (tcb_cpu_identify("cpu", threads, &device, &err) != TCB_OK ||
	    tcb_pool_create(threads, (int[]){ 0, 1, 2, 3 }, &pool, &err) != TCB_OK) {
		fprintf(stderr, "bench_fused: %s\n", err.message);
		return 2;
	}
	small.memory = memory(SMALL_BYTES);
	printf("%u thread(s), weights %s; ratios parts / fused\n", threads, is_hot ? "hot" : "cold");
	printf("%-6s %-22s %-13s %9s  %9s %6s %16s  %9s %6s\n", "", "", "", "fused us", "one us", "ratio", "", "two us",
	       "ratio");
	for (size_t s = 0; s < shape_count; s++)
		for (size_t f = 0; f < (format_count ? format_count : FORMATS); f++)
			bench(format_count ? which[f] : formats[f], shapes[s], ms, is_hot);
	free(small.memory);
	tcb_pool_destroy(pool);
	return 0;
}
