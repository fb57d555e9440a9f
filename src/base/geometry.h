/* SPDX-License-Identifier: MIT
 *
 * A geometry: three nested tiles (macro, midi, micro), each m x n x k, and the
 * knobs of the op (SPEC section 1).  Its canonical text is the key in the
 * database and on the command line:
 *
 *     macro=1x2048x4096,midi=1x64x4096,micro=1x4x256,isa=avx2,layout=native,threads=2
 *
 * Tiles come first, in this order, then the knobs that are set, in the order
 * of TCB_KNOB_LIST, then what the op has besides, its parameters, in their own
 * order.  Parsing and printing are inverse to each other.
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
 * X(id, key, scope, kind, help).  scope: which devices' kernels have it, enum
 * tcb_knob_scope.  kind NUMBER: a decimal integer >= 0; otherwise the name of the
 * word list below that gives the values.  Append only.
 */
#define TCB_KNOB_LIST(X)                                                                                          \
	X(ISA, "isa", COMMON, ISA, "instruction family")                                                          \
	X(LAYOUT, "layout", COMMON, LAYOUT, "weight layout: as stored, or repacked")                              \
	X(THREADS, "threads", CPU, NUMBER, "CPU threads that share the macro tiles")                              \
	X(SCHED, "sched", COMMON, SCHED, "how midi tiles are dealt to threads, or to blocks")                     \
	X(UNROLL, "unroll", COMMON, NUMBER, "micro tiles along k per loop iteration")                             \
	X(PREFETCH, "prefetch", CPU, NUMBER, "software prefetch distance in bytes, 0 for none")                   \
	X(HINT, "hint", CPU, HINT, "cache level that software prefetch asks for")                                 \
	X(WARPS, "warps", GPU, NUMBER, "warps in a block")                                                        \
	X(VEC, "vec", GPU, NUMBER, "bytes in a vector access")                                                    \
	X(STAGES, "stages", COMMON, NUMBER, "tiles of weights in flight, the one in use included")                \
	X(SPLITK, "splitk", GPU, NUMBER, "slices of the reduction")                                               \
	X(SWIZZLE, "swizzle", GPU, SWIZZLE, "shared-memory address map")                                          \
	X(STREAM, "stream", COMMON, NUMBER, "1: results are stored past the caches, 0: through them")             \
	X(KSPLIT, "ksplit", GPU, NUMBER, "warps of a block that share a row, each a part of its k")               \
	X(COPY, "copy", GPU, COPY, "how a GPU fetches weights: to registers, or copied to shared memory")         \
	X(XIN, "xin", GPU, XIN, "where a GPU's inner loop has the activations")                                   \
	X(GROUP, "group", GPU, NUMBER, "activations that share a quantisation scale")                             \
	X(PREP, "prep", GPU, PREP, "who prepares activations: every block, a launch, warps of it, or all blocks") \
	X(LEAD, "lead", GPU, NUMBER, "tiles of weights asked for before the activations are touched")             \
	X(BLOCKS, "blocks", GPU, NUMBER, "blocks per SM that stay for all rows, 0: a block for each tile")        \
	X(PDL, "pdl", GPU, NUMBER, "1: programmatic dependent launch")                                            \
	X(OCC, "occ", GPU, NUMBER, "blocks per SM that a thread's registers leave room for")                      \
	X(JOIN, "join", GPU, JOIN, "how blocks that share a row bring their parts together")                      \
	X(FORM, "form", COMMON, FORM, "how a reduction goes over its data")                                       \
	X(DECODE, "decode", CPU, DECODE, "where a CPU unpacks weights: first into panels, or in registers")       \
	X(CLUSTER, "cluster", GPU, NUMBER, "blocks of a cluster, which share what they copy")                     \
	X(XSTAGES, "xstages", GPU, NUMBER, "tiles of activations in flight, the ones in use included")            \
	X(ASKS, "asks", CPU, NUMBER, "times that software prefetch asks for each line")                           \
	X(PASSES, "passes", GPU, PASSES, "all: the optimiser's passes go over the PTX; left out: none do")        \
	X(HEADS, "heads", GPU, NUMBER, "query heads of one KV head that are taken together")                      \
	X(TURNS, "turns", GPU, NUMBER, "1: warpgroups of a block take turns at the tensor cores")                 \
	X(PARTS, "parts", COMMON, NUMBER, "4: a fused op as the separate kernels that it is made of, 1: as one")  \
	X(EXP, "exp", GPU, NUMBER, "exponentials of each eight that are polynomials; left out: none are")         \
	X(STEP, "step", CPU, NUMBER, "KV tokens of which all heads are gone over before the next, 0: fewest")     \
	X(WORKGROUP, "workgroup", GPU, NUMBER, "invocations of a WebGPU workgroup")                               \
	X(TREE, "tree", GPU, TREE, "through what the invocations of a WebGPU workgroup bring their sums together")

/* X(KIND, name): the knobs whose values are words of the list TCB_KIND_LIST, enum tcb_name. */
#define TCB_WORD_LIST(X)    \
	X(ISA, isa)         \
	X(LAYOUT, layout)   \
	X(SCHED, sched)     \
	X(HINT, hint)       \
	X(SWIZZLE, swizzle) \
	X(COPY, copy)       \
	X(XIN, xin)         \
	X(PREP, prep)       \
	X(JOIN, join)       \
	X(FORM, form)       \
	X(DECODE, decode)   \
	X(PASSES, passes)   \
	X(TREE, tree)

/* Those of CPUs first; then GPUs' ways to multiply; then what was added later, of CPUs, of WebGPU and of OpenCL: a
 * family's place is its bit in masks, which keys of devices are made of.  What is known of a CPU's: cpu_isas.c. */
#define TCB_ISA_LIST(X, K)             \
	X(K, SCALAR, "scalar")         \
	X(K, AVX2, "avx2")             \
	X(K, AVX512, "avx512")         \
	X(K, AVX512VNNI, "avx512vnni") \
	X(K, AMX, "amx")               \
	X(K, NEON, "neon")             \
	X(K, FMA, "fma")               \
	X(K, DP4A, "dp4a")             \
	X(K, MMA, "mma")               \
	X(K, WGMMA, "wgmma")           \
	X(K, AVX512BF16, "avx512bf16") X(K, WGSL, "wgsl") X(K, WGSL_DP4A, "wgsl_dp4a") X(K, OPENCL, "opencl")
/* rN: N rows interleaved.  rNw: the same with the sub-block scales widened to bytes.
 * r16g: 16 rows, of formats whose values are entries of a grid, with the places of these.
 * p, s: codes and scales in planes of their own; s: codes ordered so that 16 bytes are one
 * sub-block, a scale and min side by side.
 * f: codes of 16 rows in the order in which matrix instructions take them. */
#define TCB_LAYOUT_LIST(X, K)  \
	X(K, NATIVE, "native") \
	X(K, R4, "r4")         \
	X(K, R8, "r8")         \
	X(K, R16, "r16")       \
	X(K, R8W, "r8w") X(K, R16W, "r16w") X(K, R16G, "r16g") X(K, P, "p") X(K, S, "s") X(K, F, "f") X(K, G, "g")
/* streamk: to blocks of a GPU that stay, those of the last round by their steps along k; of attention_decode all pieces
 * of KV.  dynamic, of a GPU's: each block that stays takes the next tile. */
#define TCB_SCHED_LIST(X, K) X(K, STATIC, "static") X(K, DYNAMIC, "dynamic") X(K, STREAMK, "streamk")
#define TCB_HINT_LIST(X, K) X(K, T0, "t0") X(K, T1, "t1") X(K, NTA, "nta")
/* ldg: loads to registers.  async: cp.async, 16 bytes per thread.  bulk: cp.async.bulk, counted by an mbarrier. */
#define TCB_COPY_LIST(X, K) X(K, LDG, "ldg") X(K, ASYNC, "async") X(K, BULK, "bulk")
/* l2: read from memory once more */
#define TCB_XIN_LIST(X, K) X(K, SHARED, "shared") X(K, REGS, "regs") X(K, L2, "l2")
/* grid: warps of all blocks, each a share, into the workspace. */
#define TCB_PREP_LIST(X, K) X(K, BLOCK, "block") X(K, LAUNCH, "launch") X(K, WARPS, "warps") X(K, GRID, "grid")
/*
 * none: no two blocks share a row.  cluster: through each other's shared memory.  launch: a second launch takes them
 * from the workspace.  whole: each block works out the whole row's.  last: the last block that is done takes them from
 * the workspace.  atomic: added up as they come.
 */
#define TCB_JOIN_LIST(X, K)      \
	X(K, NONE, "none")       \
	X(K, CLUSTER, "cluster") \
	X(K, LAUNCH, "launch")   \
	X(K, WHOLE, "whole")     \
	X(K, LAST, "last") X(K, ATOMIC, "atomic")
/*
 * Rows: twopass takes a block's own maximum or mean first, onepass goes over it once, against a running one; running
 * finds the next block's maximum while it works on one, against the largest so far.  Sums: lanes adds on as it goes,
 * pairwise halves, kahan carries along what rounding lost.
 */
#define TCB_FORM_LIST(X, K)      \
	X(K, TWOPASS, "twopass") \
	X(K, ONEPASS, "onepass") \
	X(K, LANES, "lanes") X(K, PAIRWISE, "pairwise") X(K, KAHAN, "kahan") X(K, RUNNING, "running")
#define TCB_DECODE_LIST(X, K) X(K, PANEL, "panel") X(K, REGS, "regs")
/* Of src/ptx/optimise.  none is what a geometry without the knob has, and is read as such: one text for one kernel. */
#define TCB_PASSES_LIST(X, K) X(K, NONE, "none") X(K, ALL, "all")
/* shared: workgroup memory alone.  subgroup: first within subgroups, which not every device has.  exchange: of several
 * values, each lane of a subgroup ends up with its share of them. */
#define TCB_TREE_LIST(X, K) X(K, SHARED, "shared") X(K, SUBGROUP, "subgroup") X(K, EXCHANGE, "exchange")
#define TCB_SWIZZLE_LIST(X, K) \
	X(K, NONE, "none") X(K, PAD, "pad") X(K, XOR, "xor") X(K, CHUNK, "chunk") X(K, SEED, "seed")

enum tcb_knob {
#define TCB_KNOB_ENUM(id, key, scope, kind, help) TCB_KNOB_##id,
	TCB_KNOB_LIST(TCB_KNOB_ENUM)
#undef TCB_KNOB_ENUM
		TCB_KNOB_COUNT
};
#define TCB_WORD_ID(K, id, word) TCB_##K##_##id,
#define TCB_WORD_ENUM(K, name) enum tcb_##name{ TCB_##K##_LIST(TCB_WORD_ID, K) TCB_##K##_COUNT };
TCB_WORD_LIST(TCB_WORD_ENUM)
#undef TCB_WORD_ENUM

enum tcb_knob_scope { TCB_SCOPE_COMMON, TCB_SCOPE_CPU, TCB_SCOPE_GPU };

/* What an op has beside the knobs: a number, or a word of its own, under a name of its own. */
struct tcb_parameter {
	const char *key, *help; /* a-z, 0-9 and underscores, and the name of no knob and no tile */
	const char *const
		*words; /* the names of 0, 1, ... up to NULL, of letters, digits and _.+-; NULL: whole numbers from 0 */
};
enum {
	TCB_OP_PARAMETERS_MAX = 18,
	TCB_PARAMETER_KEY_MAX = 24,    /* with the zero behind it */
	TCB_PARAMETER_WORD_MAX = 24,   /* the same */
	TCB_PARAMETERS_TEXT_MAX = 640, /* of a geometry's text all of them together */
	TCB_KNOBS_MAX = TCB_KNOB_COUNT + TCB_OP_PARAMETERS_MAX
};

struct tcb_geometry {
	struct tcb_tile tile[TCB_LEVEL_COUNT];
	int32_t knob[TCB_KNOBS_MAX]; /* enum tcb_knob, then the op's parameters; TCB_KNOB_UNSET where it is not used */
	const struct tcb_parameter *parameters; /* up to one without a key; lent by the op; NULL: it has none */
};

/* All tiles 1x1x1, all knobs unset, no parameters. */
void tcb_geometry_init(struct tcb_geometry *geometry);
/* GEOMETRY, found for shape FROM, for shape TO: tiles that were as large as the shape become as large as the other one.
 * Whether it is legal there is for the caller to ask. */
void tcb_geometry_carry_over(struct tcb_geometry *geometry, const struct tcb_shape *from, const struct tcb_shape *to);
int tcb_geometry_equal(const struct tcb_geometry *a, const struct tcb_geometry *b);

/* Keys may come in any order; unknown, repeated or missing-tile keys are TCB_E_USAGE with the position. */
enum tcb_status tcb_geometry_parse(const char *text, struct tcb_geometry *out, struct tcb_error *err);
/* The same of an op with PARAMETERS (NULL: none), which OUT borrows. */
enum tcb_status tcb_geometry_parse_of(const char *text, const struct tcb_parameter *parameters,
				      struct tcb_geometry *out, struct tcb_error *err);
/* Of an op that is unknown: what may be a parameter is passed over, and OUT is without it. */
extern const struct tcb_parameter tcb_parameters_any[];
void tcb_geometry_print(const struct tcb_geometry *geometry, char out[TCB_GEOMETRY_TEXT_MAX]);

/* How many there are in GEOMETRY's list: the knobs, and behind them its parameters. */
int tcb_geometry_knobs(const struct tcb_geometry *geometry);
/* Key of KNOB, or of the parameter that has its place; NULL: GEOMETRY has none there. */
const char *tcb_geometry_key(const struct tcb_geometry *geometry, int knob);
/* The word of a VALUE of it (NULL for numbers or values outside the list). */
const char *tcb_geometry_word(const struct tcb_geometry *geometry, int knob, int32_t value);
/* What an op may not have for parameters, as a phrase; NULL: PARAMETERS will do. */
const char *tcb_parameters_refused(const struct tcb_parameter *parameters);

const char *tcb_level_text(enum tcb_level level); /* "macro", "midi", "micro" */
const char *tcb_knob_key(enum tcb_knob knob);
enum tcb_knob_scope tcb_knob_scope(enum tcb_knob knob);
/* The word of a value (NULL for NUMBER knobs or values outside the list). */
const char *tcb_knob_word(enum tcb_knob knob, int32_t value);

const char *tcb_isa_text(enum tcb_isa isa);

#endif
