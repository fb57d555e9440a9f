/* SPDX-License-Identifier: MIT
 *
 * What the checks of PTX report: one list of rules with the names that messages
 * show, and one record for the verifier, the analyses, the emulator and the
 * assembler alike.
 */
#ifndef TCB_PTX_FINDING_H
#define TCB_PTX_FINDING_H

#include "ptx/ir/ir.h"

/* X(id, name) */
#define TCB_PTX_RULE_LIST(X)                                                                       \
	/* of one instruction */                                                                   \
	X(SYNTAX, "syntax")                                                                        \
	X(BYTE_ARITHMETIC, "byte-arithmetic")                                                      \
	X(HALF_MEMORY, "half-memory")                                                              \
	X(CVT_ROUNDING, "cvt-rounding")                                                            \
	X(CVT_SATURATION, "cvt-saturation")                                                        \
	X(BIT_TYPES, "bit-types")                                                                  \
	X(ORDER_DIRECTION, "order-direction")                                                      \
	X(ORDER_SCOPE, "order-scope")                                                              \
	X(WEAK_SCOPE, "weak-scope")                                                                \
	X(ORDER_SPACE, "order-space")                                                              \
	X(OPERAND_TYPE, "operand-type")                                                            \
	X(IMMEDIATE_TYPE, "immediate-type")                                                        \
	X(IMMEDIATE_RANGE, "immediate-range")                                                      \
	X(SPECIAL_TYPE, "special-type")                                                            \
	X(PACKING, "packing")                                                                      \
	X(ADDRESS_TYPE, "address-type")                                                            \
	X(ADDRESS_SPACE, "address-space")                                                          \
	X(SHARED_SYMBOL, "shared-symbol")                                                          \
	X(ALIGNMENT, "alignment")                                                                  \
	X(VECTOR_SIZE, "vector-size")                                                              \
	X(PARAM_WRITE, "param-write")                                                              \
	X(SHFL_CLAMP, "shfl-clamp")                                                                \
	X(COORDINATES, "coordinates")                                                              \
	X(VERSION, "version")                                                                      \
	X(TARGET, "target")                                                                        \
	/* of a function */                                                                        \
	X(UNDEFINED, "undefined")                                                                  \
	X(TERMINATOR, "terminator")                                                                \
	X(LABEL, "label")                                                                          \
	X(CALL, "call")                                                                            \
	X(SHARED_STATIC, "shared-static")                                                          \
	X(PARAM_SIZE, "param-size")                                                                \
	X(LAUNCH_BOUNDS, "launch-bounds")                                                          \
	X(DUPLICATE, "duplicate")                                                                  \
	/* analyses, without running it */                                                         \
	X(BARRIER_DIVERGENT, "barrier-divergent")                                                  \
	X(BARRIER_PREDICATED, "barrier-predicated")                                                \
	X(BARRIER_SKIPPED, "barrier-skipped")                                                      \
	X(SHUFFLE_DIVERGENT, "shuffle-divergent")                                                  \
	X(SHUFFLE_EXITED, "shuffle-exited")                                                        \
	X(MISALIGNED, "misaligned")                                                                \
	X(ALIGNMENT_UNPROVED, "alignment-unproved")                                                \
	X(SHARED_RACE, "shared-race")                                                              \
	X(BARRIER_REDUNDANT, "barrier-redundant")                                                  \
	X(BANK_CONFLICT, "bank-conflict")                                                          \
	X(UNCOALESCED, "uncoalesced")                                                              \
	X(REGISTERS, "registers")                                                                  \
	X(SHUFFLE_MASK, "shuffle-mask")                                                            \
	X(SETMAXNREG, "setmaxnreg")                                                                \
	X(GRIDDEPCONTROL, "griddepcontrol")                                                        \
	X(INDEX_OVERFLOW, "index-overflow")                                                        \
	/* the emulator, while it runs; the asynchronous ones are judged without running it too */ \
	X(OUT_OF_BOUNDS, "out-of-bounds")                                                          \
	X(READ_ONLY, "read-only")                                                                  \
	X(RACE, "race")                                                                            \
	X(DEADLOCK, "deadlock")                                                                    \
	X(UNWRITTEN_SHARED, "unwritten-shared")                                                    \
	X(UNWRITTEN_REGISTER, "unwritten-register")                                                \
	X(ASYNC_PENDING, "async-pending")                                                          \
	X(MBARRIER, "mbarrier")                                                                    \
	X(BULK_COPY, "bulk-copy")                                                                  \
	X(WGMMA_ORDER, "wgmma-order")                                                              \
	X(TENSOR_MEMORY, "tensor-memory")                                                          \
	X(CLUSTER, "cluster")                                                                      \
	X(PROXY_FENCE, "proxy-fence")                                                              \
	X(NOT_EMULATED, "not-emulated")                                                            \
	X(STEP_LIMIT, "step-limit")                                                                \
	X(TRAP, "trap")                                                                            \
	/* the assembler */                                                                        \
	X(ASSEMBLER, "assembler")                                                                  \
	/* of the judging itself */                                                                \
	X(BLOCK_ASSUMED, "block-assumed")                                                          \
	X(OPAQUE, "opaque")                                                                        \
	X(UNKNOWN_RULE, "unknown-rule")

enum tcb_ptx_rule {
#define TCB_PTX_RULE_ENUM(id, name) TCB_PTX_RULE_##id,
	TCB_PTX_RULE_LIST(TCB_PTX_RULE_ENUM)
#undef TCB_PTX_RULE_ENUM
		TCB_PTX_RULE_COUNT
};

enum tcb_ptx_severity {
	TCB_PTX_ERROR,   /* ptxas rejects it, or it hangs, faults or computes nonsense */
	TCB_PTX_WARNING, /* right only if something holds that could not be proved */
	TCB_PTX_ADVICE   /* right, and slower than it need be */
};

struct tcb_ptx_finding {
	enum tcb_ptx_rule rule;
	enum tcb_ptx_severity severity;
	const struct tcb_ptx_function *function; /* NULL: the module */
	const struct tcb_ptx_ins *ins;           /* NULL: the function as a whole */
	uint32_t line;                           /* of the text that was parsed; 0 when it was built */
	int assumes_block;                       /* it is of threads that exist only if the assumed block is right */
	char message[400];                       /* "rule: what, and what to do" */
};

/* Where findings go. */
struct tcb_ptx_sink {
	void (*see)(void *ctx, const struct tcb_ptx_finding *finding);
	void *ctx;
};

/* finding.c */
const char *tcb_ptx_rule_name(enum tcb_ptx_rule rule);
/* The rule called so; TCB_PTX_RULE_COUNT if none is. */
enum tcb_ptx_rule tcb_ptx_rule_find(const char *name, size_t length);
const char *tcb_ptx_severity_text(enum tcb_ptx_severity severity); /* "error", "warning", "advice" */
/* Hands SINK a finding about INS (or FUNCTION, or the module when both are NULL): "rule: " and the formatted text. */
void tcb_ptx_report(const struct tcb_ptx_sink *sink, enum tcb_ptx_rule rule, enum tcb_ptx_severity severity,
		    const struct tcb_ptx_function *function, const struct tcb_ptx_ins *ins, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* finding_help.c: what the rule asks for and why, in a sentence or two; NULL if nobody has written it. */
const char *tcb_ptx_rule_help(enum tcb_ptx_rule rule);

#endif
