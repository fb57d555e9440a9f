/* SPDX-License-Identifier: MIT
 *
 * A geometry: three nested tiles (macro, midi, micro), each m x n x k, and the
 * knobs of the op (SPEC section 1).  Its canonical text is the key in the
 * database and on the command line:
 *
 *     macro=1x2048x4096,midi=1x64x4096,micro=1x4x256,isa=avx2,layout=native,threads=2
 *
 * Tiles come first, in this order, then the knobs that are set, in the order
 * of TCB_KNOB_LIST.  Parsing and printing are inverse to each other.
 */
#ifndef TCB_BASE_GEOMETRY_H
#define TCB_BASE_GEOMETRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/problem.h"
#include "base/status.h"

enum { TCB_GEOMETRY_TEXT_MAX = 1024, TCB_KNOB_UNSET = -1 };

enum tcb_level { TCB_MACRO, TCB_MIDI, TCB_MICRO, TCB_LEVEL_COUNT };

struct tcb_tile {
	size_t m, n, k;
};

/*
 * X(id, key, kind, help).  kind NUMBER: a decimal integer >= 0; otherwise the
 * name of the word list below that gives the values.  Append only.
 */
#define TCB_KNOB_LIST(X)                                                                               \
	X(ISA, "isa", ISA, "instruction family")                                                       \
	X(LAYOUT, "layout", LAYOUT, "weight layout: as stored, or repacked")                           \
	X(THREADS, "threads", NUMBER, "CPU threads that share the macro tiles")                        \
	X(SCHED, "sched", SCHED, "how midi tiles are dealt to threads")                                \
	X(UNROLL, "unroll", NUMBER, "micro tiles along k per loop iteration")                          \
	X(PREFETCH, "prefetch", NUMBER, "software prefetch distance in bytes, 0 for none")             \
	X(HINT, "hint", HINT, "cache level that software prefetch asks for")                           \
	X(WARPS, "warps", NUMBER, "warps in a block")                                                  \
	X(VEC, "vec", NUMBER, "bytes in a vector access")                                              \
	X(STAGES, "stages", NUMBER, "tiles of weights in flight, the one in use included")             \
	X(SPLITK, "splitk", NUMBER, "slices of the reduction")                                         \
	X(SWIZZLE, "swizzle", SWIZZLE, "shared-memory address map")                                    \
	X(STREAM, "stream", NUMBER, "1: results are stored past the caches, 0: through them")          \
	X(KSPLIT, "ksplit", NUMBER, "warps of a block that share a row, each a part of its k")         \
	X(COPY, "copy", COPY, "how a GPU fetches weights: to registers, or copied to shared memory")   \
	X(XIN, "xin", XIN, "where a GPU's inner loop has the activations")                             \
	X(GROUP, "group", NUMBER, "activations that share a quantisation scale")                       \
	X(PREP, "prep", PREP, "who prepares the activations: every block, or a launch of its own")     \
	X(LEAD, "lead", NUMBER, "tiles of weights asked for before the activations are touched")       \
	X(BLOCKS, "blocks", NUMBER, "blocks an SM that stay for all rows, 0: a block a tile")          \
	X(PDL, "pdl", NUMBER, "1: programmatic dependent launch")                                      \
	X(OCC, "occ", NUMBER, "blocks an SM that a thread's registers leave room for")                 \
	X(JOIN, "join", JOIN, "how blocks that share a row bring their parts together")                \
	X(FORM, "form", FORM, "how a reduction goes over its data")                                    \
	X(DECODE, "decode", DECODE, "where a CPU unpacks weights: first into panels, or in registers") \
	X(CLUSTER, "cluster", NUMBER, "blocks of a cluster, which share what they copy")               \
	X(XSTAGES, "xstages", NUMBER, "tiles of activations in flight, the ones in use included")      \
	X(ASKS, "asks", NUMBER, "times that software prefetch asks for each line")

#define TCB_ISA_LIST(X)             \
	X(SCALAR, "scalar")         \
	X(AVX2, "avx2")             \
	X(AVX512, "avx512")         \
	X(AVX512VNNI, "avx512vnni") \
	X(AMX, "amx") X(NEON, "neon") X(FMA, "fma") X(DP4A, "dp4a") X(MMA, "mma") X(WGMMA, "wgmma")
/*
 * rN: N rows interleaved.  rNw: the same with the sub-block scales widened to bytes.  p, s: codes and scales in planes
 * of their own; s: codes ordered so that 16 bytes are one sub-block, a scale and min side by side.  f: codes of 16 rows
 * in the order in which matrix instructions take them.
 */
#define TCB_LAYOUT_LIST(X)  \
	X(NATIVE, "native") \
	X(R4, "r4")         \
	X(R8, "r8") X(R16, "r16") X(R8W, "r8w") X(R16W, "r16w") X(P, "p") X(S, "s") X(F, "f") X(G, "g")
#define TCB_SCHED_LIST(X) X(STATIC, "static") X(DYNAMIC, "dynamic")
#define TCB_HINT_LIST(X) X(T0, "t0") X(T1, "t1") X(NTA, "nta")
/* ldg: loads to registers.  async: cp.async, 16 bytes a thread.  bulk: cp.async.bulk, counted by an mbarrier. */
#define TCB_COPY_LIST(X) X(LDG, "ldg") X(ASYNC, "async") X(BULK, "bulk")
/* l2: read from memory once more */
#define TCB_XIN_LIST(X) X(SHARED, "shared") X(REGS, "regs") X(L2, "l2")
#define TCB_PREP_LIST(X) X(BLOCK, "block") X(LAUNCH, "launch")
/*
 * none: no two blocks share a row.  cluster: through each other's shared memory.  launch: a second launch takes them
 * from the workspace.  whole: each block works out the whole row's.  last: the last block that is done takes them from
 * the workspace.  atomic: added up as they come.
 */
#define TCB_JOIN_LIST(X)      \
	X(NONE, "none")       \
	X(CLUSTER, "cluster") \
	X(LAUNCH, "launch")   \
	X(WHOLE, "whole")     \
	X(LAST, "last") X(ATOMIC, "atomic")
/*
 * Rows: twopass takes a block's own maximum or mean first, onepass goes over it once, against a running one; running
 * finds the next block's maximum while it works on one, against the largest so far.  Sums: lanes adds on as it goes,
 * pairwise halves, kahan carries along what rounding lost.
 */
#define TCB_FORM_LIST(X)      \
	X(TWOPASS, "twopass") \
	X(ONEPASS, "onepass") \
	X(LANES, "lanes") X(PAIRWISE, "pairwise") X(KAHAN, "kahan") X(RUNNING, "running")
#define TCB_DECODE_LIST(X) X(PANEL, "panel") X(REGS, "regs")
#define TCB_SWIZZLE_LIST(X) X(NONE, "none") X(PAD, "pad") X(XOR, "xor") X(CHUNK, "chunk") X(SEED, "seed")

enum tcb_knob {
#define TCB_KNOB_ENUM(id, key, kind, help) TCB_KNOB_##id,
	TCB_KNOB_LIST(TCB_KNOB_ENUM)
#undef TCB_KNOB_ENUM
		TCB_KNOB_COUNT
};
#define TCB_WORD_ENUM_ISA(id, word) TCB_ISA_##id,
#define TCB_WORD_ENUM_LAYOUT(id, word) TCB_LAYOUT_##id,
#define TCB_WORD_ENUM_SCHED(id, word) TCB_SCHED_##id,
#define TCB_WORD_ENUM_HINT(id, word) TCB_HINT_##id,
#define TCB_WORD_ENUM_SWIZZLE(id, word) TCB_SWIZZLE_##id,
#define TCB_WORD_ENUM_COPY(id, word) TCB_COPY_##id,
#define TCB_WORD_ENUM_XIN(id, word) TCB_XIN_##id,
#define TCB_WORD_ENUM_PREP(id, word) TCB_PREP_##id,
#define TCB_WORD_ENUM_JOIN(id, word) TCB_JOIN_##id,
#define TCB_WORD_ENUM_FORM(id, word) TCB_FORM_##id,
#define TCB_WORD_ENUM_DECODE(id, word) TCB_DECODE_##id,
enum tcb_isa { TCB_ISA_LIST(TCB_WORD_ENUM_ISA) TCB_ISA_COUNT };
enum tcb_layout { TCB_LAYOUT_LIST(TCB_WORD_ENUM_LAYOUT) TCB_LAYOUT_COUNT };
enum tcb_sched { TCB_SCHED_LIST(TCB_WORD_ENUM_SCHED) TCB_SCHED_COUNT };
enum tcb_hint { TCB_HINT_LIST(TCB_WORD_ENUM_HINT) TCB_HINT_COUNT };
enum tcb_swizzle { TCB_SWIZZLE_LIST(TCB_WORD_ENUM_SWIZZLE) TCB_SWIZZLE_COUNT };
enum tcb_copy { TCB_COPY_LIST(TCB_WORD_ENUM_COPY) TCB_COPY_COUNT };
enum tcb_xin { TCB_XIN_LIST(TCB_WORD_ENUM_XIN) TCB_XIN_COUNT };
enum tcb_prep { TCB_PREP_LIST(TCB_WORD_ENUM_PREP) TCB_PREP_COUNT };
enum tcb_join { TCB_JOIN_LIST(TCB_WORD_ENUM_JOIN) TCB_JOIN_COUNT };
enum tcb_form { TCB_FORM_LIST(TCB_WORD_ENUM_FORM) TCB_FORM_COUNT };
enum tcb_decode { TCB_DECODE_LIST(TCB_WORD_ENUM_DECODE) TCB_DECODE_COUNT };

struct tcb_geometry {
	struct tcb_tile tile[TCB_LEVEL_COUNT];
	int32_t knob[TCB_KNOB_COUNT]; /* TCB_KNOB_UNSET where the op does not use it */
};

/* All tiles 1x1x1, all knobs unset. */
void tcb_geometry_init(struct tcb_geometry *geometry);
/* GEOMETRY, found for shape FROM, for shape TO: tiles that were as large as the shape become as large as the other one.
 * Whether it is legal there is for the caller to ask. */
void tcb_geometry_carry_over(struct tcb_geometry *geometry, const struct tcb_shape *from, const struct tcb_shape *to);
int tcb_geometry_equal(const struct tcb_geometry *a, const struct tcb_geometry *b);

/* Keys may come in any order; unknown, repeated or missing-tile keys are TCB_E_USAGE with the position. */
enum tcb_status tcb_geometry_parse(const char *text, struct tcb_geometry *out, struct tcb_error *err);
void tcb_geometry_print(const struct tcb_geometry *geometry, char out[TCB_GEOMETRY_TEXT_MAX]);

const char *tcb_level_text(enum tcb_level level); /* "macro", "midi", "micro" */
const char *tcb_knob_key(enum tcb_knob knob);
const char *tcb_knob_help(enum tcb_knob knob);
/* The word of a value (NULL for NUMBER knobs or values outside the list). */
const char *tcb_knob_word(enum tcb_knob knob, int32_t value);

const char *tcb_isa_text(enum tcb_isa isa);
enum tcb_status tcb_isa_parse(const char *text, enum tcb_isa *out, struct tcb_error *err);

#endif
