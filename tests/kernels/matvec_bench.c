/* SPDX-License-Identifier: MIT
 *
 * See matvec_bench.h.
 */
#include "matvec_bench.h"

#include "instrumented.h"

#include <string.h>

void matvec_find(const char *const kinds[], struct matvec_ops *out)
{
	size_t count;
	const struct tcb_op *const *all = tcb_ops(&count);
	out->count = 0;
	for (size_t i = 0; i < count; i++) {
		const char *tail = strchr(all[i]->name, '_');
		for (size_t k = 0; tail && tcb_op_gpu(all[i]) && all[i]->format && kinds[k]; k++)
			if (strcmp(tail + 1, kinds[k]) == 0 && out->count < MATVEC_OPS_MAX)
				out->op[out->count++] = all[i];
	}
}

struct tcb_problem matvec_problem(const struct tcb_op *op, enum tcb_contract contract, size_t m, size_t n, size_t k)
{
	const int has = op->contracts >> contract & 1;
	return gpu_problem(op, has ? contract : TCB_CONTRACT_F32, (struct tcb_shape){ m, n, k });
}

enum tcb_contract matvec_contract(size_t i)
{
	static const enum tcb_contract of[] = { TCB_CONTRACT_Q8, TCB_CONTRACT_F32, TCB_CONTRACT_F16 };
	return of[i % 3];
}

size_t matvec_k(const struct tcb_op *op, size_t k, size_t i)
{
	const size_t block = op->format->block_values;
	const size_t most = block > 64 ? 1 : block > 32 ? 3 : 5; /* blocks that are missing */
	return block < 256 && i % 2 ? k - block * (1 + i % most) : k;
}

/* A geometry for which WANTED is 1, each as likely; 0 where there is none. */
static int draw(const struct tcb_problem *problem, const struct tcb_target *target,
		int (*wanted)(const struct tcb_geometry *g, int what, int32_t value), int what, int32_t value,
		struct tcb_rng *rng, struct tcb_geometry *out)
{
	struct tcb_space *space = gpu_space(problem, target, 1);
	size_t seen = 0;
	for (size_t i = 0; i < space->count; i++)
		if (wanted(&space->geometries[i], what, value) && tcb_rng_below(rng, ++seen) == 0)
			*out = space->geometries[i];
	tcb_space_destroy(space);
	return seen > 0;
}

static int has_knob(const struct tcb_geometry *g, int knob, int32_t value)
{
	return g->knob[knob] == value;
}

int matvec_geometry(const struct tcb_problem *problem, const struct tcb_target *target, enum tcb_knob knob,
		    int32_t value, struct tcb_rng *rng, struct tcb_geometry *out)
{
	return draw(problem, target, has_knob, (int)knob, value, rng, out);
}

static int has_tokens(const struct tcb_geometry *g, int level, int32_t value)
{
	return g->tile[level].m == (size_t)value;
}

int matvec_tile(const struct tcb_problem *problem, const struct tcb_target *target, unsigned tokens,
		struct tcb_rng *rng, struct tcb_geometry *out)
{
	return draw(problem, target, has_tokens, TCB_MICRO, (int32_t)tokens, rng, out);
}

void matvec_check_tiles(const struct matvec_ops *ops, size_t turns, uint64_t seed)
{
	static const struct tcb_shape odd[] = {
		{ 3, 37, 512 }, { 2, 5, 768 }, { 8, 33, 1280 }, { 11, 17, 512 }, { 7, 9, 256 }
	};
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (size_t i = 0; i < turns * ops->count; i++) {
		const struct tcb_op *op = ops->op[i % ops->count];
		const struct tcb_shape *s = &odd[i % (sizeof odd / sizeof *odd)];
		const struct tcb_target target = gpu_target(gpu_capabilities[i % GPU_CAPABILITIES], 2);
		struct tcb_problem p =
			matvec_problem(op, matvec_contract(i / 2), s->m, s->n, matvec_k(op, s->k, i / ops->count));
		p.shape.words.add = (op->words >> TCB_WORD_ADD & 1u) && i / 2 % 2;
		p.shape.words.bias = i / 3 % 2;
		gpu_problem_rows(&p, i);
		struct gpu_bench bench;
		struct tcb_geometry g;
		if (test_leaves_out(i) || tcb_space_of(&p, &target, NULL) != tcb_op_side(op, &target)->space)
			continue; /* products, which test_quant_matmul_gpu.c looks at */
		unsigned tokens = 2u << tcb_rng_below(&rng, s->m > 4 ? 3 : s->m > 2 ? 2 : 1);
		while (tokens > 1 && !matvec_tile(&p, &target, tokens, &rng, &g))
			tokens /= 2; /* a pair has half as many under contracts of floats */
		assert_true(tokens > 1);
		gpu_bench_open(&bench, &p, i);
		gpu_bench_check(&bench, &target, &g, i, &tally);
		gpu_bench_close(&bench);
	}
	gpu_tally_print(&tally);
}

void matvec_check_samples(const struct matvec_ops *ops, size_t count, uint64_t seed)
{
	static const struct tcb_shape odd[] = { { 1, 1, 256 },   { 1, 2, 512 },  { 1, 3, 1024 },  { 2, 5, 768 },
						{ 1, 17, 2048 }, { 4, 9, 1792 }, { 1, 33, 1280 }, { 1, 65, 1024 },
						{ 1, 31, 3584 }, { 1, 7, 4096 } };
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (size_t i = 0; i < count; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_op *op = ops->op[i % ops->count];
		const struct tcb_shape *s = &odd[tcb_rng_below(&rng, sizeof odd / sizeof *odd)];
		const enum tcb_contract contract = matvec_contract(i / ops->count);
		const struct tcb_target target = gpu_target(gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)], 2);
		const size_t k = matvec_k(op, s->k, i / ops->count);
		struct tcb_problem p = matvec_problem(op, contract, s->m, s->n, k);
		p.shape.words.add = (op->words >> TCB_WORD_ADD & 1u) && i / 2 % 2;
		p.shape.words.bias = i / 3 % 2;
		gpu_problem_rows(&p, i);
		const struct tcb_problem wide = matvec_problem(op, contract, s->m, i % 3 ? s->n : 4096, k);
		const struct tcb_geometry g = gpu_geometry_drawn(&wide, &target, &rng);
		struct gpu_bench bench;
		gpu_bench_open(&bench, &p, i);
		gpu_bench_check(&bench, &target, &g, i, &tally);
		gpu_bench_close(&bench);
	}
	gpu_tally_print(&tally);
}
