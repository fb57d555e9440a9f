/* SPDX-License-Identifier: MIT
 *
 * The opcodes and the one table that feeds builder, parser, printer, verifier
 * and emulator.
 *
 * An opcode is a mnemonic without its modifiers ("ld", "mbarrier.try_wait").
 * Each has one or more forms, tried in order: a sequence of modifier slots,
 * the pattern of the operands, and the least PTX version and targets.  The
 * language of the table is explained in opcodes_core.c; here is its decoded shape.
 */
#ifndef TCB_PTX_OPCODES_H
#define TCB_PTX_OPCODES_H

#include "ptx/ir/ir.h"

enum {
	TCB_PTX_F_READ = 1,         /* reads memory */
	TCB_PTX_F_WRITE = 2,        /* writes memory */
	TCB_PTX_F_BARRIER = 4,      /* threads wait here for each other */
	TCB_PTX_F_CONVERGENT = 8,   /* the lanes that execute it together matter: never duplicate or sink */
	TCB_PTX_F_TERMINATOR = 16,  /* ends a block (a guarded one falls through) */
	TCB_PTX_F_COMMUTATIVE = 32, /* the first two sources may be swapped */
	TCB_PTX_F_EFFECT = 64,      /* has an effect besides its results: never removed as dead */
	TCB_PTX_F_ASYNC = 128,      /* its effect on memory happens later */
	TCB_PTX_F_FENCE = 256,      /* orders memory operations */
	TCB_PTX_F_UNSTABLE = 512    /* two executions may give different results: never merged */
};

/* Shorthands for the list */
#define TCB_PTX_F_NONE 0
#define TCB_PTX_F_C TCB_PTX_F_COMMUTATIVE
#define TCB_PTX_F_RD TCB_PTX_F_READ
#define TCB_PTX_F_WR (TCB_PTX_F_WRITE | TCB_PTX_F_EFFECT)
#define TCB_PTX_F_RMW (TCB_PTX_F_READ | TCB_PTX_F_WRITE | TCB_PTX_F_EFFECT | TCB_PTX_F_UNSTABLE)
#define TCB_PTX_F_COPY (TCB_PTX_F_READ | TCB_PTX_F_WRITE | TCB_PTX_F_EFFECT | TCB_PTX_F_ASYNC)
#define TCB_PTX_F_ORD (TCB_PTX_F_EFFECT | TCB_PTX_F_FENCE)
#define TCB_PTX_F_BAR (TCB_PTX_F_BARRIER | TCB_PTX_F_CONVERGENT | TCB_PTX_F_EFFECT | TCB_PTX_F_FENCE)
#define TCB_PTX_F_WARP (TCB_PTX_F_CONVERGENT | TCB_PTX_F_EFFECT | TCB_PTX_F_UNSTABLE)
#define TCB_PTX_F_MMA TCB_PTX_F_CONVERGENT
#define TCB_PTX_F_GMMA (TCB_PTX_F_CONVERGENT | TCB_PTX_F_EFFECT | TCB_PTX_F_ASYNC)
#define TCB_PTX_F_END (TCB_PTX_F_TERMINATOR | TCB_PTX_F_EFFECT)

/* X(id, mnemonic, flags); a longer mnemonic wins over its prefix. */
#define TCB_PTX_OP_LIST(X)                                                                                    \
	/* integers and floating point */                                                                     \
	X(ADD, "add", F_C)                                                                                    \
	X(ADDC, "addc", F_EFFECT)                                                                             \
	X(SUB, "sub", F_NONE)                                                                                 \
	X(SUBC, "subc", F_EFFECT)                                                                             \
	X(MUL, "mul", F_C)                                                                                    \
	X(MAD, "mad", F_C)                                                                                    \
	X(MADC, "madc", F_EFFECT)                                                                             \
	X(MUL24, "mul24", F_C)                                                                                \
	X(MAD24, "mad24", F_C)                                                                                \
	X(FMA, "fma", F_C)                                                                                    \
	X(DIV, "div", F_NONE)                                                                                 \
	X(REM, "rem", F_NONE)                                                                                 \
	X(ABS, "abs", F_NONE)                                                                                 \
	X(NEG, "neg", F_NONE)                                                                                 \
	X(MIN, "min", F_C)                                                                                    \
	X(MAX, "max", F_C)                                                                                    \
	X(SAD, "sad", F_C)                                                                                    \
	X(POPC, "popc", F_NONE)                                                                               \
	X(CLZ, "clz", F_NONE)                                                                                 \
	X(BFIND, "bfind", F_NONE)                                                                             \
	X(FNS, "fns", F_NONE)                                                                                 \
	X(BREV, "brev", F_NONE)                                                                               \
	X(BFE, "bfe", F_NONE)                                                                                 \
	X(BFI, "bfi", F_NONE)                                                                                 \
	X(SZEXT, "szext", F_NONE)                                                                             \
	X(BMSK, "bmsk", F_NONE)                                                                               \
	X(DP4A, "dp4a", F_NONE)                                                                               \
	X(DP2A, "dp2a", F_NONE)                                                                               \
	X(TESTP, "testp", F_NONE)                                                                             \
	X(COPYSIGN, "copysign", F_NONE)                                                                       \
	X(RCP, "rcp", F_NONE)                                                                                 \
	X(SQRT, "sqrt", F_NONE)                                                                               \
	X(RSQRT, "rsqrt", F_NONE)                                                                             \
	X(SIN, "sin", F_NONE)                                                                                 \
	X(COS, "cos", F_NONE)                                                                                 \
	X(LG2, "lg2", F_NONE)                                                                                 \
	X(EX2, "ex2", F_NONE)                                                                                 \
	X(TANH, "tanh", F_NONE)                                                                               \
	/* comparisons, selection, logic */                                                                   \
	X(SET, "set", F_NONE)                                                                                 \
	X(SETP, "setp", F_NONE)                                                                               \
	X(SELP, "selp", F_NONE)                                                                               \
	X(SLCT, "slct", F_NONE)                                                                               \
	X(AND, "and", F_C)                                                                                    \
	X(OR, "or", F_C)                                                                                      \
	X(XOR, "xor", F_C)                                                                                    \
	X(NOT, "not", F_NONE)                                                                                 \
	X(CNOT, "cnot", F_NONE)                                                                               \
	X(LOP3, "lop3", F_NONE)                                                                               \
	X(SHL, "shl", F_NONE)                                                                                 \
	X(SHR, "shr", F_NONE)                                                                                 \
	X(SHF, "shf", F_NONE)                                                                                 \
	X(PRMT, "prmt", F_NONE)                                                                               \
	/* data movement */                                                                                   \
	X(MOV, "mov", F_NONE)                                                                                 \
	X(CVT, "cvt", F_NONE)                                                                                 \
	X(CVT_PACK, "cvt.pack", F_NONE)                                                                       \
	X(CVTA, "cvta", F_NONE)                                                                               \
	X(ISSPACEP, "isspacep", F_NONE)                                                                       \
	X(MAPA, "mapa", F_NONE)                                                                               \
	X(GETCTARANK, "getctarank", F_NONE)                                                                   \
	X(LD, "ld", F_RD)                                                                                     \
	X(LDU, "ldu", F_RD)                                                                                   \
	X(ST, "st", F_WR)                                                                                     \
	X(ST_ASYNC, "st.async", F_COPY)                                                                       \
	X(RED_ASYNC, "red.async", F_COPY)                                                                     \
	X(PREFETCH, "prefetch", F_EFFECT)                                                                     \
	X(PREFETCHU, "prefetchu", F_EFFECT)                                                                   \
	X(CREATEPOLICY_FRACTIONAL, "createpolicy.fractional", F_NONE)                                         \
	X(LDMATRIX, "ldmatrix", F_RD | TCB_PTX_F_CONVERGENT)                                                  \
	X(STMATRIX, "stmatrix", F_WR | TCB_PTX_F_CONVERGENT)                                                  \
	X(MOVMATRIX, "movmatrix", F_MMA)                                                                      \
	X(ATOM, "atom", F_RMW)                                                                                \
	X(RED, "red", F_RMW)                                                                                  \
	/* asynchronous copies */                                                                             \
	X(CP_ASYNC, "cp.async", F_COPY)                                                                       \
	X(CP_ASYNC_COMMIT_GROUP, "cp.async.commit_group", F_ORD)                                              \
	X(CP_ASYNC_WAIT_GROUP, "cp.async.wait_group", F_ORD)                                                  \
	X(CP_ASYNC_WAIT_ALL, "cp.async.wait_all", F_ORD)                                                      \
	X(CP_ASYNC_MBARRIER_ARRIVE, "cp.async.mbarrier.arrive", F_RMW)                                        \
	X(CP_ASYNC_BULK, "cp.async.bulk", F_COPY)                                                             \
	X(CP_ASYNC_BULK_TENSOR, "cp.async.bulk.tensor", F_COPY)                                               \
	X(CP_REDUCE_ASYNC_BULK, "cp.reduce.async.bulk", F_COPY)                                               \
	X(CP_REDUCE_ASYNC_BULK_TENSOR, "cp.reduce.async.bulk.tensor", F_COPY)                                 \
	X(CP_ASYNC_BULK_PREFETCH, "cp.async.bulk.prefetch", F_EFFECT)                                         \
	X(CP_ASYNC_BULK_PREFETCH_TENSOR, "cp.async.bulk.prefetch.tensor", F_EFFECT)                           \
	X(CP_ASYNC_BULK_COMMIT_GROUP, "cp.async.bulk.commit_group", F_ORD)                                    \
	X(CP_ASYNC_BULK_WAIT_GROUP, "cp.async.bulk.wait_group", F_ORD)                                        \
	X(TENSORMAP_REPLACE, "tensormap.replace", F_RMW)                                                      \
	X(TENSORMAP_CP_FENCEPROXY, "tensormap.cp_fenceproxy", F_RMW | TCB_PTX_F_FENCE | TCB_PTX_F_CONVERGENT) \
	/* Tensor Memory */                                                                                   \
	X(TCGEN05_ALLOC, "tcgen05.alloc", F_RMW | TCB_PTX_F_CONVERGENT)                                       \
	X(TCGEN05_DEALLOC, "tcgen05.dealloc", F_WARP)                                                         \
	X(TCGEN05_RELINQUISH, "tcgen05.relinquish_alloc_permit", F_WARP)                                      \
	X(TCGEN05_LD, "tcgen05.ld", F_WARP)                                                                   \
	X(TCGEN05_ST, "tcgen05.st", F_WARP)                                                                   \
	X(TCGEN05_WAIT_LD, "tcgen05.wait::ld", F_WARP)                                                        \
	X(TCGEN05_WAIT_ST, "tcgen05.wait::st", F_WARP)                                                        \
	X(TCGEN05_FENCE_BEFORE, "tcgen05.fence::before_thread_sync", F_ORD)                                   \
	X(TCGEN05_FENCE_AFTER, "tcgen05.fence::after_thread_sync", F_ORD)                                     \
	X(TCGEN05_LD_RED, "tcgen05.ld.red", F_WARP)                                                           \
	X(TCGEN05_MMA, "tcgen05.mma", F_EFFECT | TCB_PTX_F_ASYNC)                                             \
	X(TCGEN05_MMA_SP, "tcgen05.mma.sp", F_EFFECT | TCB_PTX_F_ASYNC)                                       \
	X(TCGEN05_MMA_WS, "tcgen05.mma.ws", F_EFFECT | TCB_PTX_F_ASYNC)                                       \
	X(TCGEN05_MMA_WS_SP, "tcgen05.mma.ws.sp", F_EFFECT | TCB_PTX_F_ASYNC)                                 \
	X(TCGEN05_CP, "tcgen05.cp", F_EFFECT | TCB_PTX_F_ASYNC)                                               \
	X(TCGEN05_SHIFT, "tcgen05.shift", F_EFFECT | TCB_PTX_F_ASYNC)                                         \
	X(TCGEN05_COMMIT, "tcgen05.commit", F_RMW | TCB_PTX_F_ASYNC)                                          \
	/* barriers and fences */                                                                             \
	X(MBARRIER_INIT, "mbarrier.init", F_WR)                                                               \
	X(MBARRIER_INVAL, "mbarrier.inval", F_WR)                                                             \
	X(MBARRIER_EXPECT_TX, "mbarrier.expect_tx", F_RMW)                                                    \
	X(MBARRIER_COMPLETE_TX, "mbarrier.complete_tx", F_RMW)                                                \
	X(MBARRIER_ARRIVE, "mbarrier.arrive", F_RMW | TCB_PTX_F_FENCE)                                        \
	X(MBARRIER_ARRIVE_EXPECT_TX, "mbarrier.arrive.expect_tx", F_RMW | TCB_PTX_F_FENCE)                    \
	X(MBARRIER_ARRIVE_DROP, "mbarrier.arrive_drop", F_RMW | TCB_PTX_F_FENCE)                              \
	X(MBARRIER_ARRIVE_DROP_EXPECT_TX, "mbarrier.arrive_drop.expect_tx", F_RMW | TCB_PTX_F_FENCE)          \
	X(MBARRIER_TEST_WAIT, "mbarrier.test_wait", F_RMW | TCB_PTX_F_FENCE)                                  \
	X(MBARRIER_TRY_WAIT, "mbarrier.try_wait", F_RMW | TCB_PTX_F_FENCE)                                    \
	X(MBARRIER_PENDING_COUNT, "mbarrier.pending_count", F_NONE)                                           \
	X(FENCE, "fence", F_ORD)                                                                              \
	X(FENCE_PROXY, "fence.proxy", F_ORD)                                                                  \
	X(FENCE_MBARRIER_INIT, "fence.mbarrier_init", F_ORD)                                                  \
	X(MEMBAR, "membar", F_ORD)                                                                            \
	X(BAR_SYNC, "bar.sync", F_BAR)                                                                        \
	X(BAR_ARRIVE, "bar.arrive", F_BAR)                                                                    \
	X(BAR_RED, "bar.red", F_BAR)                                                                          \
	X(BAR_WARP_SYNC, "bar.warp.sync", F_BAR)                                                              \
	X(BARRIER_SYNC, "barrier.sync", F_BAR)                                                                \
	X(BARRIER_ARRIVE, "barrier.arrive", F_BAR)                                                            \
	X(BARRIER_RED, "barrier.red", F_BAR)                                                                  \
	X(BARRIER_CLUSTER_ARRIVE, "barrier.cluster.arrive", F_BAR)                                            \
	X(BARRIER_CLUSTER_WAIT, "barrier.cluster.wait", F_BAR)                                                \
	X(GRIDDEPCONTROL, "griddepcontrol", F_ORD)                                                            \
	X(SETMAXNREG, "setmaxnreg", F_CONVERGENT | TCB_PTX_F_EFFECT)                                          \
	/* across the lanes of a warp */                                                                      \
	X(SHFL, "shfl.sync", F_WARP)                                                                          \
	X(VOTE, "vote.sync", F_WARP)                                                                          \
	X(MATCH_ANY, "match.any.sync", F_WARP)                                                                \
	X(MATCH_ALL, "match.all.sync", F_WARP)                                                                \
	X(REDUX, "redux.sync", F_WARP)                                                                        \
	X(ACTIVEMASK, "activemask", F_WARP)                                                                   \
	X(ELECT, "elect.sync", F_WARP)                                                                        \
	X(MMA, "mma", F_MMA)                                                                                  \
	X(WGMMA, "wgmma.mma_async", F_GMMA)                                                                   \
	X(WGMMA_FENCE, "wgmma.fence", F_GMMA | TCB_PTX_F_FENCE)                                               \
	X(WGMMA_COMMIT_GROUP, "wgmma.commit_group", F_GMMA)                                                   \
	X(WGMMA_WAIT_GROUP, "wgmma.wait_group", F_GMMA | TCB_PTX_F_FENCE)                                     \
	/* control */                                                                                         \
	X(BRA, "bra", F_END)                                                                                  \
	X(BRX, "brx.idx", F_END)                                                                              \
	X(CALL, "call", F_RMW | TCB_PTX_F_CONVERGENT | TCB_PTX_F_FENCE)                                       \
	X(RET, "ret", F_END)                                                                                  \
	X(EXIT, "exit", F_END)                                                                                \
	X(TRAP, "trap", F_END)                                                                                \
	X(BRKPT, "brkpt", F_EFFECT)                                                                           \
	X(NANOSLEEP, "nanosleep", F_EFFECT)                                                                   \
	X(PMEVENT, "pmevent", F_EFFECT)                                                                       \
	X(PRAGMA, ".pragma", F_EFFECT)                                                                        \
	/* whatever the table does not know: see tcb_ptx_resolve_foreign */                                   \
	X(OPAQUE, "opaque", F_RMW)

enum tcb_ptx_op {
#define TCB_PTX_OP_ENUM(id, text, flags) TCB_PTX_OP_##id,
	TCB_PTX_OP_LIST(TCB_PTX_OP_ENUM)
#undef TCB_PTX_OP_ENUM
		TCB_PTX_OP_COUNT
};

/* What stands at an operand's place. */
enum tcb_ptx_role {
	TCB_PTX_R_RESULT,  /* register (or sink where allowed) */
	TCB_PTX_R_INOUT,   /* register both read and written */
	TCB_PTX_R_SOURCE,  /* register or immediate */
	TCB_PTX_R_MOVABLE, /* source, or a symbol's address, or a special register */
	TCB_PTX_R_PRED,    /* predicate, which may be negated */
	TCB_PTX_R_ADDRESS, /* [...] */
	TCB_PTX_R_TENSOR,  /* [map, {coordinates}] */
	TCB_PTX_R_IMMEDIATE,
	TCB_PTX_R_BLOCK,
	TCB_PTX_R_TABLE,
	TCB_PTX_R_LIST,
	TCB_PTX_R_TEXT
};

enum tcb_ptx_width { /* how many registers an operand is */
		     TCB_PTX_W_SCALAR,
		     TCB_PTX_W_FIXED,  /* {count} registers in braces */
		     TCB_PTX_W_VECTOR, /* as the VECTOR slot says: 2, 4, 8, or a scalar without braces */
		     TCB_PTX_W_COUNT,  /* COUNT times what the MATRICES slot says: 1, 2, 4, in braces */
		     TCB_PTX_W_N2,     /* N/2 of the shape (wgmma with 32-bit results) */
		     TCB_PTX_W_N4,     /* N/4 of the shape (wgmma with packed results) */
		     TCB_PTX_W_SPLIT,  /* any number in braces that add up to the type (mov), or a scalar */
		     TCB_PTX_W_FREE    /* any number in braces */
};

struct tcb_ptx_spec {
	uint8_t role;      /* enum tcb_ptx_role */
	uint8_t type;      /* fixed type, or 0 */
	uint8_t type_slot; /* when type is 0: slot that holds it, or SLOT_COUNT for "not checked" */
	uint8_t wide;      /* twice the width of that type */
	uint8_t width;     /* enum tcb_ptx_width */
	uint8_t count;     /* of W_FIXED; of W_COUNT how many times that */
	uint8_t optional;  /* may be left out, with all that follows it */
	uint8_t only_if;   /* present exactly when this slot is filled; 0: no condition (TYPE never is one) */
	uint8_t pair;      /* may be "d|p": 1 optional, 2 required */
	uint8_t sink;      /* may be _; 2: must be */
};

struct tcb_ptx_slot_spec {
	uint8_t slot; /* enum tcb_ptx_slot */
	uint8_t optional;
	uint16_t first_word, word_count; /* in the table's word pool */
};

enum { TCB_PTX_SLOTS_MAX = 14, TCB_PTX_SPECS_MAX = 9, TCB_PTX_TARGETS_MAX = 4 };

struct tcb_ptx_form {
	uint16_t op;
	uint8_t slot_count, spec_count, target_count;
	struct tcb_ptx_slot_spec slot[TCB_PTX_SLOTS_MAX];
	struct tcb_ptx_spec spec[TCB_PTX_SPECS_MAX];
	unsigned version;                                  /* least .version * 10 */
	struct tcb_ptx_target target[TCB_PTX_TARGETS_MAX]; /* any of them suffices */
};

/* --- the table --- */
const char *tcb_ptx_op_text(enum tcb_ptx_op op);
unsigned tcb_ptx_op_flags(enum tcb_ptx_op op);
const struct tcb_ptx_form *tcb_ptx_form(unsigned form);
unsigned tcb_ptx_form_count(void);
/* Words that the slot SLOT of FORM may hold. */
const uint16_t *tcb_ptx_form_words(const struct tcb_ptx_form *form, unsigned slot, unsigned *count_out);

static inline int tcb_ptx_has(const struct tcb_ptx_ins *ins, unsigned flags)
{
	return (tcb_ptx_op_flags((enum tcb_ptx_op)ins->op) & flags) != 0;
}

/* --- access.c --- */

struct tcb_ptx_access {
	enum tcb_ptx_word space; /* as the instruction says; NO_WORD: generic */
	unsigned bytes;          /* per thread; 0: unknown from the text */
	unsigned align;          /* that the address must have */
	int reads, writes;
};

/* What operand INDEX touches; 0 when it is no address of memory. */
int tcb_ptx_access(const struct tcb_ptx_ins *ins, unsigned index, struct tcb_ptx_access *out);
/* Lanes of a warp whose address INS uses: those from 0 on. */
unsigned tcb_ptx_address_lanes(const struct tcb_ptx_ins *ins);
/* 1, 2, 4 or 8. */
unsigned tcb_ptx_vector_count(const struct tcb_ptx_ins *ins);
/* Whether INS is a copy of bytes or of a part of a tensor that the copy engine makes. */
int tcb_ptx_is_bulk_copy(const struct tcb_ptx_ins *ins);
/* Whether INS moves values between registers and one place that its address names, at once. */
int tcb_ptx_is_access(const struct tcb_ptx_ins *ins);

/* --- resolving --- */

/* Sets the opcode, form and modifiers of INS from the whole mnemonic ("ld.global.v4.f32") and its operands, which must
 * be in place; sets result_count.  TCB_E_FORMAT with a message that says whether the name, a modifier or the operands
 * are at fault. */
enum tcb_status tcb_ptx_resolve(struct tcb_ptx_ins *ins, const char *mnemonic, size_t length, struct tcb_error *err);
/* The same for text that others wrote: what the table does not know becomes OPAQUE, so that the rest of the function
 * can be judged.  It keeps its words; its first operand, where that is a register or some, is taken for its result.
 * Fails where control goes by it (branches, calls), and with TCB_E_NOMEM. */
enum tcb_status tcb_ptx_resolve_foreign(struct tcb_arena *arena, struct tcb_ptx_ins *ins, const char *mnemonic,
					size_t length, struct tcb_error *err);
/* The same after operands or modifiers of a resolved instruction were changed. */
enum tcb_status tcb_ptx_resolve_again(struct tcb_ptx_ins *ins, struct tcb_error *err);
/* The spec that governs operand INDEX of a resolved instruction. */
const struct tcb_ptx_spec *tcb_ptx_spec_of(const struct tcb_ptx_ins *ins, unsigned index);
/* The type of each register of operand INDEX as the instruction sees it (NO_WORD: not checked); the number of
 * registers in *COUNT (0: not fixed). */
enum tcb_ptx_word tcb_ptx_operand_type(const struct tcb_ptx_ins *ins, unsigned index, unsigned *count);
/* Whether code for TARGET may use what needs WANTED: sm_90 runs on all later ones, 90a on sm_90a only, 100f on its
 * family. */
int tcb_ptx_target_allows(const struct tcb_ptx_target *target, const struct tcb_ptx_target *wanted);
/* "sm_90a" and back. */
char *tcb_ptx_target_text(const struct tcb_ptx_target *target, char out[16]);
int tcb_ptx_target_parse(const char *text, size_t length, struct tcb_ptx_target *out);
/* Least PTX version and target of a word that not every version knows; zeros else. */
void tcb_ptx_word_needs(enum tcb_ptx_word word, unsigned *version, struct tcb_ptx_target *target);

#endif
