/* SPDX-License-Identifier: MIT
 *
 * Is a candidate right?  First on small odd shapes, where its tiles are cut at
 * every edge, then on the problem itself; always between guard pages, with
 * read-only inputs and poisoned output and workspace (SPEC sections 4 and 7).
 * The candidate runs in the calling process: see evaluate.h for the one that
 * survives a crash.
 */
#ifndef TCB_WORKER_VERIFY_H
#define TCB_WORKER_VERIFY_H

#include "kernels/code.h"
#include "worker/instance.h"
#include "worker/judge.h"
#include "worker/watch.h"

enum { TCB_VERIFY_SHAPES_MAX = 4 };

struct tcb_verifier;

/* INSTANCE (the problem at full size), POOL, whose threads run candidates, JUDGES, which compute references and compare
 * outputs, and WATCH (nullable) are lent. */
enum tcb_status tcb_verifier_create(struct tcb_instance *instance, uint64_t seed, struct tcb_pool *pool,
				    struct tcb_pool *judges, struct tcb_watch *watch, struct tcb_verifier **out,
				    struct tcb_error *err);
void tcb_verifier_destroy(struct tcb_verifier *verifier); /* NULL is fine */

/* A candidate that by its time on small shapes will certainly take longer than HOPELESS_NS (0: never) is not run on the
 * problem itself: TIMEOUT, with a message that says so. */
enum tcb_status tcb_verifier_check(struct tcb_verifier *verifier, const struct tcb_geometry *geometry,
				   double hopeless_ns, struct tcb_check *out, struct tcb_error *err);

/* One more call of the candidate that was right last, by its PLAN for the problem, on the same operands: OUT has its
 * time, and whether it wrote outside of them. */
void tcb_verifier_call(struct tcb_verifier *verifier, const struct tcb_plan *plan, struct tcb_check *out);

/*
 * small_shapes.c
 *
 * The small shapes for GEOMETRY, each legal for the op and each once: everything 1, odd sizes, one just past the midi
 * tile (with a cut k block where the geometry splits k), one just past the macro tile (so that a second thread gets
 * the cut end).  No dimension outgrows a tile that covers that dimension of the problem; each has a whole register
 * tile and room for as many macro tiles as there are threads.  Returns how many.
 */
size_t tcb_verify_shapes(const struct tcb_op *op, const struct tcb_shape *problem, const struct tcb_geometry *geometry,
			 struct tcb_shape out[TCB_VERIFY_SHAPES_MAX]);
/*
 * GEOMETRY as it would be in a space of the shape TO: its macro tiles cut TO into as many parts as they cut FROM, and
 * midi tiles that cover FROM cover TO; blocks of k that do not divide TO's become one, and midi tiles of a CPU's
 * threads get smaller where some threads had none.  Micro tiles are compiled in and stay.
 */
void tcb_verify_fit(const struct tcb_shape *from, const struct tcb_shape *to, struct tcb_geometry *geometry);
/*
 * The plan by which GEOMETRY, one of PROBLEM's, is verified at SHAPE: as it is, else fitted, else with as many threads
 * as there is work for.  TCB_E_ILLEGAL if it has none there.
 */
enum tcb_status tcb_verify_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				const struct tcb_shape *shape, struct tcb_plan *out, struct tcb_error *err);
/*
 * small_shapes_gpu.c
 *
 * SHAPE, a smaller one of PROBLEM's op and k, raised to the least rows and columns that GEOMETRY is for, and GEOMETRY
 * as it is in the space of that shape; -1 where that is not legal.
 */
int tcb_verify_gpu_fit(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_shape *shape,
		       struct tcb_geometry *geometry);
/*
 * The shapes that a GPU's candidate is compiled at beside the problem: few rows and an odd number of them, with the
 * problem's own k, so that the code is the same and only grids and arguments differ.  Each is legal with its FITTED.
 */
size_t tcb_verify_gpu_shapes(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry, struct tcb_shape shapes[TCB_CODE_UNITS_MAX],
			     struct tcb_geometry fitted[TCB_CODE_UNITS_MAX]);

#endif
