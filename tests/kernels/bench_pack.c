/* SPDX-License-Identifier: MIT
 *
 * bench_pack [LAYOUT]... [NxK]...: gigabytes of weights as stored that a core
 * packs in a second, and unpacks, for each format and layout (or those named).  The median of some rounds,
 * into memory that was touched before.  A program to run by hand on a quiet
 * machine, no test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "base/stats.h"
#include "base/util.h"
#include "kernels/formats.h"
#include "kernels/quant_lines.h"
#include "kernels/quant_matmul/quant_matmul_fragments.h"
#include "kernels/quant_matvec/quant_matvec_planes.h"

enum { ROUNDS_MAX = 9, ENOUGH_NS = 300000000, LINE = 64 };

#define NAMES(id, name, op, ...) { #op "_matvec", #op "_matmul" },
static const char *const names[][2] = { TCB_FORMAT_LIST(NAMES) };
enum { FORMATS = sizeof(names) / sizeof(names[0]) };

static const struct {
	int of_matmul;
	enum tcb_layout layout;
	const char *name;
} layouts[] = {
	{ 0, TCB_LAYOUT_R16, "r16" },    { 0, TCB_LAYOUT_P, "p" },        { 0, TCB_LAYOUT_S, "s" },
	{ 0, TCB_LAYOUT_F, "f-matvec" }, { 1, TCB_LAYOUT_F, "f-matmul" }, { 1, TCB_LAYOUT_G, "g" },
};

static size_t packed_bytes(const struct tcb_problem *problem, size_t l)
{
	if (layouts[l].layout == TCB_LAYOUT_R16)
		return tcb_lines_bytes(problem);
	return layouts[l].of_matmul ? qmm_fragments_bytes(problem->op->format->id, problem->shape.n, problem->shape.k)
				    : qmv_packed_bytes(problem, layouts[l].layout);
}

/* Gigabytes per second of BYTES. */
static double rate(const struct tcb_problem *problem, size_t l, int is_pack, uint8_t *weights, uint8_t *packed,
		   size_t bytes)
{
	double ns[ROUNDS_MAX], all = 0;
	size_t rounds = 0;
	while (rounds < ROUNDS_MAX && all < ENOUGH_NS) {
		const uint64_t start = tcb_clock_ns();
		if (is_pack)
			problem->op->pack(problem, TCB_QUANT_WEIGHTS, layouts[l].layout, weights, packed);
		else
			problem->op->unpack(problem, TCB_QUANT_WEIGHTS, layouts[l].layout, packed, weights);
		all += ns[rounds++] = (double)(tcb_clock_ns() - start);
	}
	return (double)bytes / tcb_median(ns, rounds);
}

static void bench(size_t format, size_t l, const struct tcb_shape *shape)
{
	struct tcb_problem problem;
	struct tcb_rng rng;
	const struct tcb_op *op = tcb_op_find(names[format][layouts[l].of_matmul]);
	if (tcb_problem_init(op, TCB_CONTRACT_Q8, shape, &problem, NULL) != TCB_OK)
		abort();
	const size_t bytes = shape->n * tcb_quant_row_bytes(op->format, shape->k);
	uint8_t *weights = malloc(bytes), *packed = aligned_alloc(LINE, tcb_round_up(packed_bytes(&problem, l), LINE));
	if (!weights || !packed)
		abort();
	tcb_rng_init(&rng, 1);
	for (size_t i = 0; i < bytes; i++)
		weights[i] = (uint8_t)tcb_rng_next(&rng);
	memset(packed, 0, packed_bytes(&problem, l));
	const double to = rate(&problem, l, 1, weights, packed, bytes);
	printf("%-7s %-8s %zux%zu: pack %5.2f GB/s, unpack %5.2f GB/s\n", op->format->name, layouts[l].name, shape->n,
	       shape->k, to, rate(&problem, l, 0, weights, packed, bytes));
	free(weights);
	free(packed);
}

/* Of the layouts that ARGV names; of all where it names none. */
static int is_named(char **argv, size_t l)
{
	int named = 0, any = 0;
	for (char **name = argv + 1; *name; name++) {
		named |= !strcmp(*name, layouts[l].name);
		any |= !strchr("0123456789", **name);
	}
	return named || !any;
}

static void bench_all(char **argv, const char *text)
{
	struct tcb_shape shape = { .m = 1 };
	if (sscanf(text, "%zux%zu", &shape.n, &shape.k) != 2) {
		fprintf(stderr, "bench_pack: %s is no NxK\n", text);
		exit(2);
	}
	for (size_t l = 0; l < sizeof(layouts) / sizeof(layouts[0]); l++)
		for (size_t f = 0; is_named(argv, l) && f < FORMATS; f++)
			bench(f, l, &shape);
}

int main(int argc, char **argv)
{
	int shapes = 0;
	(void)argc;
	for (char **shape = argv + 1; *shape; shape++)
		if (strchr("0123456789", **shape)) {
			bench_all(argv, *shape);
			shapes++;
		}
	if (!shapes) {
		bench_all(argv, "4096x4096");
		bench_all(argv, "14336x4096");
	}
	return 0;
}
