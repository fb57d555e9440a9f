/* SPDX-License-Identifier: MIT
 *
 * Whether PTX is legal: each rule with its name, as messages show it.
 *
 * Most of what ptxas rejects is rejected here with a better message, and some
 * things that it accepts though they fault or compute nonsense on the device;
 * tests/ptx/test_legality.c holds each rule against ptxas both ways.
 */
#ifndef TCB_PTX_LEGALITY_H
#define TCB_PTX_LEGALITY_H

#include "ptx/ir.h"

/* X(id, name) */
#define TCB_PTX_RULE_LIST(X)                  \
	/* of one instruction */              \
	X(SYNTAX, "syntax")                   \
	X(BYTE_ARITHMETIC, "byte-arithmetic") \
	X(HALF_MEMORY, "half-memory")         \
	X(CVT_ROUNDING, "cvt-rounding")       \
	X(CVT_SATURATION, "cvt-saturation")   \
	X(BIT_TYPES, "bit-types")             \
	X(ORDER_DIRECTION, "order-direction") \
	X(ORDER_SCOPE, "order-scope")         \
	X(WEAK_SCOPE, "weak-scope")           \
	X(ORDER_SPACE, "order-space")         \
	X(OPERAND_TYPE, "operand-type")       \
	X(IMMEDIATE_TYPE, "immediate-type")   \
	X(IMMEDIATE_RANGE, "immediate-range") \
	X(SPECIAL_TYPE, "special-type")       \
	X(PACKING, "packing")                 \
	X(ADDRESS_TYPE, "address-type")       \
	X(ADDRESS_SPACE, "address-space")     \
	X(SHARED_SYMBOL, "shared-symbol")     \
	X(ALIGNMENT, "alignment")             \
	X(VECTOR_SIZE, "vector-size")         \
	X(PARAM_WRITE, "param-write")         \
	X(SHFL_CLAMP, "shfl-clamp")           \
	X(COORDINATES, "coordinates")         \
	X(VERSION, "version")                 \
	X(TARGET, "target")                   \
	/* of a function */                   \
	X(UNDEFINED, "undefined")             \
	X(TERMINATOR, "terminator")           \
	X(LABEL, "label")                     \
	X(CALL, "call")                       \
	X(SHARED_STATIC, "shared-static")     \
	X(PARAM_SIZE, "param-size")           \
	X(LAUNCH_BOUNDS, "launch-bounds")     \
	X(DUPLICATE, "duplicate")

enum tcb_ptx_rule {
#define TCB_PTX_RULE_ENUM(id, name) TCB_PTX_RULE_##id,
	TCB_PTX_RULE_LIST(TCB_PTX_RULE_ENUM)
#undef TCB_PTX_RULE_ENUM
		TCB_PTX_RULE_COUNT
};

enum {
	TCB_PTX_SHARED_STATIC_MAX = 48 * 1024, /* above it shared memory must be dynamic */
	TCB_PTX_PARAM_BYTES_OLD = 4352,        /* of an entry, up to PTX 8.0 or sm_6x */
	TCB_PTX_PARAM_BYTES_MAX = 32764
};

struct tcb_ptx_finding {
	enum tcb_ptx_rule rule;
	const struct tcb_ptx_function *function; /* NULL: the module */
	const struct tcb_ptx_ins *ins;           /* NULL: the function as a whole */
	uint32_t line;                           /* of the text that was parsed; 0 when it was built */
	char message[400];                       /* "rule: what, and what to do" */
};

const char *tcb_ptx_rule_name(enum tcb_ptx_rule rule);

/* legality.c: every finding goes to SEE; returns their number.  Needs tcb_ptx_cfg; sets the registers' counts
 * (tcb_ptx_number). */
unsigned tcb_ptx_verify_each(struct tcb_ptx_module *module,
			     void (*see)(void *ctx, const struct tcb_ptx_finding *finding), void *ctx);
/* The first finding as an error, "FUNCTION:LINE: rule: what". */
enum tcb_status tcb_ptx_verify(struct tcb_ptx_module *module, struct tcb_error *err);

/* legality_ins.c: the rules of one instruction.  1 when it is legal, else FINDING holds the first that it breaks. */
int tcb_ptx_verify_ins(const struct tcb_ptx_function *function, const struct tcb_ptx_ins *ins,
		       struct tcb_ptx_finding *finding);

#endif
