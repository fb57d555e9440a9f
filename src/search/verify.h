/* SPDX-License-Identifier: MIT
 *
 * Is a candidate right?  First on small odd shapes, where its tiles are cut at
 * every edge, then on the problem itself; always between guard pages, with
 * read-only inputs and poisoned output and workspace (SPEC sections 4 and 7).
 * The candidate runs in the calling process: see evaluate.h for the one that
 * survives a crash.
 */
#ifndef TCB_SEARCH_VERIFY_H
#define TCB_SEARCH_VERIFY_H

#include "search/instance.h"
#include "search/watch.h"

enum { TCB_VERIFY_SHAPES_MAX = 4 };

struct tcb_check {
	enum tcb_outcome outcome; /* OK, WRONG, or LAUNCH_FAILED where the op cannot plan it */
	char message[256];
	enum tcb_class class_checked;
	double error_ratio;
	int damaged; /* it wrote outside of its buffers: the process is not to be trusted any more */
};

struct tcb_verifier;

/* INSTANCE (the problem at full size), POOL and WATCH (nullable) are lent. */
enum tcb_status tcb_verifier_create(struct tcb_instance *instance, uint64_t seed, struct tcb_pool *pool,
				    struct tcb_watch *watch, struct tcb_verifier **out, struct tcb_error *err);
void tcb_verifier_destroy(struct tcb_verifier *verifier); /* NULL is fine */

enum tcb_status tcb_verifier_check(struct tcb_verifier *verifier, const struct tcb_geometry *geometry,
				   struct tcb_check *out, struct tcb_error *err);

/*
 * The small shapes for GEOMETRY, each legal for the op and each once: everything 1, odd sizes, one just past the midi
 * tile (with a cut k block where the geometry splits k), one just past the macro tile (so that a second thread gets
 * the cut end).  No dimension outgrows a tile that covers that dimension of the problem.  Returns how many.
 */
size_t tcb_verify_shapes(const struct tcb_op *op, const struct tcb_shape *problem, const struct tcb_geometry *geometry,
			 struct tcb_shape out[TCB_VERIFY_SHAPES_MAX]);

/* Judges GOT, PLAN's output for INSTANCE, by the error bound; CHECK's ratio grows, its outcome turns WRONG.  WHEN
 * ends the message: "in the timed runs". */
enum tcb_status tcb_verify_output(struct tcb_instance *instance, const struct tcb_plan *plan, const float *got,
				  struct tcb_pool *pool, const char *when, struct tcb_check *check,
				  struct tcb_error *err);

#endif
