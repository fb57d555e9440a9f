/* SPDX-License-Identifier: MIT
 *
 * What the tests of the quantised MatVecs' GPU kernels share, fused ones or not: which ops there are, problems of
 * theirs, geometries drawn from the whole product and run in the emulator.
 */
#ifndef TCB_TESTS_MATVEC_BENCH_H
#define TCB_TESTS_MATVEC_BENCH_H

#include "gpu_bench.h"
#include "kernels/formats.h"

enum { MATVEC_KINDS_MAX = 3, MATVEC_OPS_MAX = MATVEC_KINDS_MAX * TCB_FORMAT_COUNT };

struct matvec_ops {
	const struct tcb_op *op[MATVEC_OPS_MAX];
	size_t count;
};

/* The ops FORMAT_KIND of each of KINDS, up to NULL, in the registry's order. */
void matvec_find(const char *const kinds[], struct matvec_ops *out);

/* Contract f32 where the op does not have CONTRACT. */
struct tcb_problem matvec_problem(const struct tcb_op *op, enum tcb_contract contract, size_t m, size_t n, size_t k);
/* q8, f32, f16 in turn. */
enum tcb_contract matvec_contract(size_t i);
/* K as it is, or not a whole number of superblocks where the format has shorter blocks. */
size_t matvec_k(const struct tcb_op *op, size_t k, size_t i);

/* A geometry of the whole space with KNOB at VALUE; 0 where there is none. */
int matvec_geometry(const struct tcb_problem *problem, const struct tcb_target *target, enum tcb_knob knob,
		    int32_t value, struct tcb_rng *rng, struct tcb_geometry *out);
/* The same of those that read weights once for TOKENS tokens. */
int matvec_tile(const struct tcb_problem *problem, const struct tcb_target *target, unsigned tokens,
		struct tcb_rng *rng, struct tcb_geometry *out);
/* TURNS such geometries of each of OPS at odd shapes, of several tokens. */
void matvec_check_tiles(const struct matvec_ops *ops, size_t turns, uint64_t seed);
/*
 * COUNT geometries of the whole product (policies lifted) at odd shapes, with two SMs so that blocks have several
 * rounds. Some are of a larger N than the shape's: what serves many rows must serve few.
 */
void matvec_check_samples(const struct matvec_ops *ops, size_t count, uint64_t seed);

#endif
