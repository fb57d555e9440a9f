/* SPDX-License-Identifier: MIT
 *
 * What is to be computed: an op, a shape MxNxK and a numeric contract (SPEC
 * section 1).  Row ops use MxN; their k is 0 and is not printed.  Attention adds
 * words: "1x4096x128,h32/8,b4".
 */
#ifndef TCB_BASE_PROBLEM_H
#define TCB_BASE_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/shape_words.h"
#include "base/status.h"

enum { TCB_OP_NAME_MAX = 32, TCB_SHAPE_TEXT_MAX = 64 + TCB_WORDS_TEXT_MAX };

struct tcb_shape {
	size_t m, n, k; /* k == 0: the op has no reduction dimension of its own */
	struct tcb_words words;
};

/* The activation type a kernel may use inside.  Candidates are never compared across contracts. */
enum tcb_contract { TCB_CONTRACT_F32, TCB_CONTRACT_F16, TCB_CONTRACT_Q8, TCB_CONTRACT_COUNT };

/* The cache state of a measurement: buffers rotated beyond the last cache, or one buffer reused. */
enum tcb_state { TCB_COLD, TCB_HOT, TCB_STATE_COUNT };

struct tcb_op;        /* kernels/op.h */
struct tcb_parameter; /* base/geometry.h */

/* Who knows ops by name (kernels/op_registry.h), for what knows none. */
struct tcb_op_names {
	const struct tcb_op *(*find)(const void *ctx, const char *name); /* NULL if unknown */
	const struct tcb_parameter *(*parameters)(const struct tcb_op *op);
	const void *ctx;
};

struct tcb_problem {
	const struct tcb_op *op;       /* NULL where only op_name is known, as in what a database says of other ops */
	char op_name[TCB_OP_NAME_MAX]; /* the op's, for databases and messages */
	enum tcb_contract contract;
	struct tcb_shape shape;
	/* Of the activations that an op reads (all that rope_append appends) and of its results (its q), elements from
	 * the start of one row to the next; 0: rows follow each other.  Nothing is tuned or stored for them. */
	size_t x_stride, y_stride;
};

/* "1x4096x4096", "4096x4096" or "1x4096x128,h32/8".  TCB_E_USAGE names what is wrong; zero and overflow are refused. */
enum tcb_status tcb_shape_parse(const char *text, struct tcb_shape *out, struct tcb_error *err);
void tcb_shape_print(const struct tcb_shape *shape, char out[TCB_SHAPE_TEXT_MAX]);
int tcb_shape_equal(const struct tcb_shape *a, const struct tcb_shape *b);

const char *tcb_contract_text(enum tcb_contract contract); /* "f32", "f16", "q8" */
enum tcb_status tcb_contract_parse(const char *text, enum tcb_contract *out, struct tcb_error *err);

const char *tcb_state_text(enum tcb_state state); /* "cold", "hot" */
enum tcb_status tcb_state_parse(const char *text, enum tcb_state *out, struct tcb_error *err);

/* a*b and a+b that report overflow: 0 on success, -1 on overflow (constraint H1). */
int tcb_mul_size(size_t a, size_t b, size_t *out);
int tcb_add_size(size_t a, size_t b, size_t *out);

#endif
