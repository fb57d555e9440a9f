/* SPDX-License-Identifier: MIT
 *
 * bench_learned: how long it takes to choose a learned default, of random problems of each table's family, on the kind
 * of GPU that the table is of.  A program to run by hand on a quiet machine, no test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpu_table.h"
#include "base/stats.h"
#include "base/util.h"
#include "kernels/default_rules.h"
#include "kernels/defaults/learned.h"

enum { PROBLEMS = 400, CALLS = 5 };

static size_t draw(struct tcb_rng *rng, size_t least, size_t most)
{
	size_t size = least;
	while (2 * size <= most && tcb_rng_below(rng, 4))
		size *= 2;
	return size + tcb_rng_below(rng, size);
}

/* A problem that TABLE is asked for. */
static struct tcb_problem draw_problem(struct tcb_rng *rng, const struct tcb_learned *table,
				       const struct tcb_target *target)
{
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	for (;;) {
		const struct tcb_op *op = ops[tcb_rng_below(rng, count)];
		const enum tcb_contract contract = (enum tcb_contract)tcb_rng_below(rng, TCB_CONTRACT_COUNT);
		const struct tcb_shape shape = { draw(rng, table->least.m, 1024), draw(rng, 1024, 16384),
						 256 * draw(rng, 4, 56), op->default_shapes[0].words };
		struct tcb_problem problem;
		if (tcb_op_side(op, target) && op->contracts >> contract & 1u &&
		    tcb_problem_init(op, contract, &shape, &problem, NULL) == TCB_OK &&
		    tcb_learned_has(&problem, target) &&
		    !strcmp(tcb_space_of(&problem, target, NULL)->family, table->family))
			return problem;
	}
}

/* The least of CALLS, in microseconds. */
static double time_of(const struct tcb_problem *problem, const struct tcb_target *target, int is_learned)
{
	double least = 1e9;
	for (int i = 0; i < CALLS; i++) {
		struct tcb_geometry geometry;
		const uint64_t start = tcb_clock_ns();
		if (is_learned)
			(void)tcb_default_geometry(problem, target, &geometry);
		else
			(void)tcb_default_by_rule(problem, target, &geometry);
		const double us = 1e-3 * (double)(tcb_clock_ns() - start);
		least = us < least ? us : least;
	}
	return least;
}

int main(void)
{
	const struct tcb_learned *table;
	for (size_t t = 0; (table = tcb_learned_at(t)); t++) {
		double learned[PROBLEMS], by_rule[PROBLEMS];
		size_t found = 0;
		struct tcb_gpu gpu;
		struct tcb_rng rng;
		unsigned capability;
		if (sscanf(table->arch, "sm_%u", &capability) != 1 || tcb_gpu_table(capability, &gpu, NULL) != TCB_OK)
			continue;
		tcb_rng_init(&rng, 1);
		for (size_t i = 0; i < PROBLEMS; i++) {
			const struct tcb_problem problem = draw_problem(&rng, table, &gpu.device.target);
			struct tcb_geometry geometry;
			learned[i] = time_of(&problem, &gpu.device.target, 1);
			found += tcb_default_geometry(&problem, &gpu.device.target, &geometry).learned != NULL;
			by_rule[i] = time_of(&problem, &gpu.device.target, 0);
		}
		qsort(learned, PROBLEMS, sizeof *learned, tcb_ascending);
		qsort(by_rule, PROBLEMS, sizeof *by_rule, tcb_ascending);
		printf("%s, %s, %zu of %d learned: %.1f us, nine of ten %.1f, 99 of 100 %.1f, most %.1f; by rule %.1f, "
		       "%.1f, %.1f\n",
		       table->family, table->arch, found, PROBLEMS, learned[PROBLEMS / 2], learned[PROBLEMS * 9 / 10],
		       learned[PROBLEMS * 99 / 100], learned[PROBLEMS - 1], by_rule[PROBLEMS / 2],
		       by_rule[PROBLEMS * 9 / 10], by_rule[PROBLEMS - 1]);
	}
	return 0;
}
