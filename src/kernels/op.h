/* SPDX-License-Identifier: MIT
 *
 * The op contract: what an operation must tell so that it can be enumerated,
 * verified, measured, stored and run without anyone else naming it.  An op is
 * one folder below src/kernels/ and one line in registry.c.
 *
 * Life of a candidate:  default_geometry or an element of the space
 *   -> plan   (picks the compiled variant, sizes the buffers)
 *   -> pack   (weights into the plan's layout, once, outside the timed part)
 *   -> run    (f32 in memory to f32 in memory, the timed part)
 * On a GPU plan and run are emit: it makes a struct tcb_kernel, code and what to launch.
 * Beside it reference() in double with the allowed error of each output.  What differs by
 * the kind of device is in the op's sides (struct tcb_side).
 *
 * Operands are row-major dense arrays handed over as operand[i], in the order
 * of operands().  All sizes are bytes unless a name says otherwise.  Nothing
 * here allocates; callers own all memory.
 */
#ifndef TCB_KERNELS_OP_H
#define TCB_KERNELS_OP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/geometry.h"
#include "base/kind.h"
#include "base/pool.h"
#include "base/problem.h"
#include "base/status.h"
#include "base/target.h"
#include "base/trial.h"

enum { TCB_OPERANDS_MAX = 12, TCB_OUTPUTS_MAX = 4, TCB_AXES_MAX = 28, TCB_AXIS_VALUES_MAX = 64 };

enum tcb_role { TCB_ROLE_INPUT, TCB_ROLE_WEIGHTS, TCB_ROLE_OUTPUT };

/* What an operand's elements are; BLOCKS: values in blocks of a format. */
enum tcb_type {
	TCB_TYPE_F32,
	TCB_TYPE_F16,
	TCB_TYPE_BF16,
	TCB_TYPE_BLOCKS,
	TCB_TYPE_I32,
	TCB_TYPE_U32,
	TCB_TYPE_F64,
	TCB_TYPE_E4M3, /* FP8, of values below 448, without infinities */
	TCB_TYPE_COUNT
};

struct tcb_format;

struct tcb_operand {
	const char *name;
	enum tcb_role role;
	enum tcb_type type;              /* outputs are judged by their values, each by itself */
	size_t rows, cols;               /* in elements */
	size_t bytes;                    /* as stored by the user (native layout) */
	int streams;                     /* cold measurements rotate this operand beyond the last-level cache */
	const struct tcb_format *format; /* of TYPE BLOCKS: which they are (formats.h) */
	int is_partly_written;           /* of an output: a call leaves some of it as it was */
	int is_updated;                  /* of an output: a call reads it, too; fill says what it begins with */
	size_t touched; /* of an input that streams: what a call reads, where it is less than BYTES; 0: all */
	int varies;    /* of an input: it says what is touched of others; cold calls take it of several seeds in turn */
	size_t stride; /* elements from one row to the next; 0: COLS */
};

/* What the build signs a CPU's variants with (code_signature.c), sorted by name. */
struct tcb_signed_variant {
	const char *name;
	char signature[TCB_SIGNATURE_MAX];
};
extern const struct tcb_signed_variant tcb_signed_variants[];
extern const size_t tcb_signed_variant_count;

/* One compiled kernel.  Its name carries op, types, layout, ISA and micro tile. */
struct tcb_variant {
	const char *name;
	enum tcb_contract contract;
	enum tcb_isa isa;
	enum tcb_layout layout;
	struct tcb_tile micro; /* the register tile that it computes */
	int32_t unroll;
	enum tcb_class class;
	/* tcb_signed_variants, by which the build knows rows to sign; NULL: a GPU's, whose candidates are written */
	const struct tcb_signed_variant *signed_in;
	void (*entry)(void); /* cast by the op to its own micro-kernel type */
	/* Its own, of whatever source it was made from (tcb_source_sign); NULL: tcb_variant_signature() has it */
	const char *signature;
};

/* A candidate made ready: which variant, and what memory it needs. */
struct tcb_plan {
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	const struct tcb_variant *variant;
	size_t packed_bytes[TCB_OPERANDS_MAX]; /* of each operand; 0: runs on it as stored */
	size_t workspace_bytes;                /* scratch for all threads, 64-byte aligned */
	unsigned threads;
	/* Allowed error of element i of an output (SPEC section 4): gamma(chain) * magnitude[i] + extra[i] +
	 * ulps * 2^-23 * |y[i]|, with gamma(d) = d*u / (1 - d*u), u = 2^-24.  All zero: EXACT. */
	double chain, ulps;
};

/*
 * A candidate made ready for a GPU: code and the launches that compute the op with it, in order.  All launches go to
 * one stream; the workspace is zeroed once, and every call leaves it as the next one needs it.
 */
enum { TCB_LAUNCHES_MAX = 4, TCB_ARGUMENTS_MAX = 12 };

enum tcb_argument_kind {
	TCB_ARGUMENT_OPERAND,   /* the address of operand[value]; the packed copy where packed_bytes[value] > 0 */
	TCB_ARGUMENT_WORKSPACE, /* the address of the workspace + value */
	TCB_ARGUMENT_U32,       /* value, of 4 bytes or less */
	TCB_ARGUMENT_OWN,       /* what the language alone has, number VALUE */
	TCB_ARGUMENT_U64        /* value, of 8 bytes; signatures have these numbers: the last one is new */
};
struct tcb_argument {
	enum tcb_argument_kind kind;
	size_t value;
};

/* What a launch has in any language; the rest is in the code. */
struct tcb_launch {
	const char *entry; /* lent by the code */
	uint32_t grid[3], block[3];
	uint32_t shared_bytes; /* dynamic */
	size_t argument_count;
	struct tcb_argument argument[TCB_ARGUMENTS_MAX];
};

struct tcb_language;
struct tcb_str;

struct tcb_kernel {
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	const struct tcb_language *language; /* language.h */
	void *code;                          /* owned; only makers and runners of the language open it */
	size_t launch_count;
	struct tcb_launch launch[TCB_LAUNCHES_MAX];
	size_t packed_bytes[TCB_OPERANDS_MAX]; /* of each operand; 0: runs on it as stored */
	size_t workspace_bytes;                /* zeroed once, 256-byte aligned; 0: none */
	enum tcb_class class;
	double chain, ulps; /* as in struct tcb_plan */
	/* Why a simulation cannot tell its time (timing.h): control depends on what lanes tell each other.  NULL: it
	 * can. */
	const char *not_simulated;
};

/* Some of the outputs: those of some rows in some columns.  NULL: all of them, in order. */
struct tcb_grid {
	const uint32_t *rows, *columns;
	size_t row_count, column_count;
};

static inline size_t tcb_grid_row(const struct tcb_grid *grid, size_t i)
{
	return grid && grid->rows ? grid->rows[i] : i;
}

static inline size_t tcb_grid_column(const struct tcb_grid *grid, size_t j)
{
	return grid && grid->columns ? grid->columns[j] : j;
}

/* What reference() fills of one output; each array has as many elements as it, or as GRID, row by row. */
struct tcb_reference {
	double *y;                   /* the result in double */
	double *magnitude;           /* sum of |a||b| of the output's terms */
	double *extra;               /* the contract's own term: activation quantisation, f16 rounding */
	struct tcb_pool *pool;       /* whose threads share the work; NULL: the caller alone */
	const struct tcb_grid *grid; /* the outputs that are wanted; NULL: all, and always with ops that draw none */
	/* Why there is none: set by an op whose reference is not a function of this build, but another process, say,
	 * that is gone; of several outputs the first has it.  Lent by the op; NULL: the arrays are filled. */
	const char *failure;
};

/* A large product is held against sums of as many neighbours in a row, each times tcb_sum_factor of its column. */
enum { TCB_SUM_COLUMNS = 64 };

/* One axis of a search space: a tile's dimension or a knob, and the values to try. */
enum tcb_axis_kind { TCB_AXIS_TILE_M, TCB_AXIS_TILE_N, TCB_AXIS_TILE_K, TCB_AXIS_KNOB };
struct tcb_axis {
	enum tcb_axis_kind kind;
	int which; /* enum tcb_level; enum tcb_knob, or TCB_KNOB_COUNT + the place of a parameter of the op */
	size_t count;
	int64_t values[TCB_AXIS_VALUES_MAX];
};

/*
 * The numbers that the constraints of SPEC section 2 judge (constraint.h).  The
 * op computes them for one geometry; 0 means "does not apply".
 */
struct tcb_footprint {
	size_t k_multiple;                                    /* H4: the problem's K and split boundaries */
	size_t k_step_multiple;                               /* H4: midi and micro k */
	size_t element_bytes, alignment_bytes, leading_bytes; /* H3: alignment wanted, ld of the packed operand */
	size_t vector_bytes, base_bytes, tile_offset_bytes;   /* H13: access width; base alignment; tile offset step */
	size_t shared_bytes;                                  /* H5: stages * (A + B tile) + padding + epilogue */
	int shared_dynamic;                                   /* H5 */
	unsigned block_threads;                               /* H6 */
	unsigned vector_registers;                            /* H9: accumulators + operands of the micro tile */
	unsigned accumulators;                                /* S7: independent accumulation chains */
	size_t grid[3];                                       /* H11 */
	unsigned barriers;                                    /* H11 */
	enum tcb_swizzle swizzle; /* H12, with the pitch and rows of the tile in 4-byte words */
	size_t swizzle_pitch, swizzle_rows, swizzle_granule; /* granule in bytes: what stays together */
	size_t level_bytes[TCB_LEVEL_COUNT];                 /* S5: A + B + C tile at each level */
	unsigned thread_registers;                           /* H7, CUDA: as many are enough (estimated) */
	unsigned blocks_together; /* H7, CUDA: blocks per SM that the registers must suffice for; 0 is 1 */
};

/* A set of the numbers of a geometry: a bit for each (constraint.h). */
__extension__ typedef unsigned __int128 tcb_fields;

/*
 * A rule of one op for GPUs or for CPUs (V4): why GEOMETRY breaks it, or NULL.  Those with READS (constraint.h) look at
 * these fields and at shape and target only, so that they cut subtrees of a space.
 */
enum tcb_rule_kind {
	TCB_RULE_KERNEL, /* no kernel can be written that breaks it */
	TCB_RULE_POLICY, /* shapes the default space; --any-size lifts it */
	TCB_RULE_DOUBLE, /* what breaks it computes what another geometry of the space does; emit does not mind */
};
struct tcb_rule {
	tcb_fields reads; /* 0: all fields */
	enum tcb_rule_kind kind;
	const char *(*broken)(const struct tcb_problem *problem, const struct tcb_target *target,
			      const struct tcb_geometry *geometry);
	/* Instead, of rules that an op has any number of: why its rule NUMBER is broken. */
	const char *(*broken_of)(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry, size_t number);
	size_t number;
};
static inline int tcb_rule_is_end(const struct tcb_rule *rule)
{
	return !rule || (!rule->broken && !rule->broken_of);
}
static inline const char *tcb_rule_broken(const struct tcb_rule *rule, const struct tcb_problem *problem,
					  const struct tcb_target *target, const struct tcb_geometry *geometry)
{
	return rule->broken ? rule->broken(problem, target, geometry)
			    : rule->broken_of(problem, target, geometry, rule->number);
}

struct tcb_rng;

/* The geometries that ops of a family may have on one kind of device. */
struct tcb_side_space {
	const struct tcb_rule *rules; /* up to a row without a function; NULL: none */
	/* The axes of the default space for TARGET; returns how many. */
	size_t (*axes)(const struct tcb_problem *problem, const struct tcb_target *target,
		       struct tcb_axis out[TCB_AXES_MAX]);
	/* SPEC section 4's standard geometry, legal for PROBLEM and TARGET, with the op's parameters where it has any.
	 * What is used where nobody swept is that of tcb_default_geometry (default_rules.h), which asks for this one
	 * where it has no rule. */
	void (*default_geometry)(const struct tcb_problem *problem, const struct tcb_target *target,
				 struct tcb_geometry *out);
	/* Called for any geometry for which H1 and H2 hold, buildable or not. */
	void (*footprint)(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, struct tcb_footprint *out);
	/* Of an op with kernels of two families: the other's space where that is PROBLEM's, or with a GEOMETRY where
	 * that is of it; else NULL.  NULL: there is one family. */
	const struct tcb_side_space *(*other)(const struct tcb_problem *problem, const struct tcb_geometry *geometry);
	/* What tables of learned defaults (defaults/learned.h) call the ops that have it; NULL: none is of them. */
	const char *family;
	/* Of shapes with the word bits: why GEOMETRY, which plan or emit takes, would add up in another order than the
	 * one that op, contract, TARGET's family and K (of attention a token's place) say, or NULL.
	 * default_geometry's has none of that.  NULL: nothing is promised here. */
	const char *(*reorders)(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry);
};

/* What differs by the kind of device that an op runs on.  Ops of a family share the functions. */
enum { TCB_SIDES_MAX = 4 }; /* kinds that there may be */
struct tcb_side {
	/* One list per source file, the last pointer NULL; each list ends with a row whose name is NULL.  Of GPUs they
	 * are what emit writes, a row for each contract and instruction family: without entry and signature, and their
	 * tiles are the geometry's. */
	const struct tcb_variant *const *variants;
	const struct tcb_side_space *space;

	/* CPUs.  TCB_E_ILLEGAL where no variant was built for the geometry. */
	enum tcb_status (*plan)(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				struct tcb_plan *out, struct tcb_error *err);
	/* Of an op whose code is compiled while the program runs: PLAN's variant becomes the one that was compiled.
	 * TCB_E_FORMAT where it does not compile.  NULL: there is nothing to be made. */
	enum tcb_status (*make)(struct tcb_plan *plan, struct tcb_error *err);
	/* Compiles what make will want of GEOMETRY and keeps it, so that make does not wait; for any thread and
	 * process, no longer than LIMIT_S, nor once *STOP is not 0.  TCB_E_FORMAT: it does not compile; TCB_E_FAILED:
	 * there was no time.  NULL: nothing is compiled. */
	enum tcb_status (*build)(const struct tcb_problem *problem, const struct tcb_geometry *geometry, double limit_s,
				 const atomic_int *stop, struct tcb_error *err);
	/* WORKSPACE as plan says; operand[i] is the packed copy where plan->packed_bytes[i] > 0.
	 * POOL has at least plan->threads threads. */
	void (*run)(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool);

	/* GPUs.  GEOMETRY is legal for PROBLEM and TARGET; finish OUT with tcb_kernel_fini.  Others call
	 * tcb_kernel_emit, which sees to the knob passes. */
	enum tcb_status (*emit)(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);
	/* Of an op whose text a compiler writes: begins that, unless it was begun or as many are under way as are worth
	 * it.  1: emit need not wait for it.  NULL: it never does. */
	int (*begin)(const struct tcb_problem *problem, const struct tcb_target *target,
		     const struct tcb_geometry *geometry);
};

/* Every callback gets the op itself, most as problem->op: several ops may share a function, and one that was loaded
 * finds there what stands behind it (context). */
struct tcb_op {
	const char *name;                /* "softmax" */
	const char *summary;             /* one line for `tcbtune ops` */
	const char *shape_form;          /* "MxNxK" or "MxN" */
	uint64_t words;                  /* of its shape: bit 1 << enum tcb_word; 0: it has none */
	const struct tcb_format *format; /* of its weights (formats.h); NULL: they are not quantised */
	enum tcb_type type;              /* of the operands that are not in blocks */
	const void *member;              /* for the functions of a family of ops: what tells this one from the others */
	unsigned contracts;              /* bit 1u << enum tcb_contract */
	enum tcb_contract default_contract;
	const struct tcb_shape *default_shapes;
	size_t default_shape_count;
	/* By the side that a kind of device runs (base/kind.h); NULL: the op has no kernels for it.  tcb_op_side() has
	 * that of a target. */
	const struct tcb_side *side[TCB_SIDES_MAX];

	/* TCB_E_USAGE with a line that says what shape would do.  OP is the op itself: a family of ops shares it. */
	enum tcb_status (*check_shape)(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err);
	/* Fills OUT and returns the count; one to TCB_OUTPUTS_MAX operands are OUTPUTs, any number WEIGHTS. */
	size_t (*operands)(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX]);
	/* Valid random data into every operand that is no output, or one that is updated.  An op with operands of whole
	 * numbers (I32) leaves out those that are NULL; what varies depends on nothing else, and as much is touched
	 * whatever the seed. */
	void (*fill)(const struct tcb_problem *problem, uint64_t seed, void *const operand[]);
	/* The same data in parts that know nothing of each other, which threads share (tcb_op_fill); fill is then
	 * tcb_fill_in_parts, and the parts write every byte of the inputs.  NULL: it comes all together. */
	size_t (*fill_parts)(const struct tcb_problem *problem);
	void (*fill_part)(const struct tcb_problem *problem, uint64_t seed, void *const operand[], size_t part);
	/* OUT: one for each output, in the operands' order; the pool is that of the first. */
	void (*reference)(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);
	/*
	 * Of an op with one output whose reference can be had for a grid of it alone (worker/draw.h): how many columns
	 * come together, so that what is drawn has all of them or none (all of a row's: whole rows are drawn), and what
	 * an operation of the reference takes one thread.  NULL: its reference is cheap, or its outputs come all
	 * together.
	 */
	size_t (*drawn_columns)(const struct tcb_problem *problem);
	double reference_flop_ns;
	/*
	 * Sums of TCB_SUM_COLUMNS outputs from each multiple of it on, M times as many as a row has, each output times
	 * its column's factor; magnitudes and extras times the factor's size.  Of a product, whose outputs are linear
	 * in the columns, they cost as much less than the reference; of ops on rows what it takes to go over the row
	 * with nothing to be kept, and exponentials of ten digits.  NULL: there is no such short cut.
	 */
	void (*reference_sums)(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);
	/* Of an op with one output in f32: the same rounding chain as PLAN's variant in scalar code, from the weights
	 * as stored: bit-equal for class EXACT.  Depends on problem, variant and the tiles' k only: plans share the
	 * result.  NULL: EXACT variants, if any, have what reference() has, which allows no error. */
	void (*exact)(const struct tcb_plan *plan, void *const operand[], float *y);
	double (*flops)(const struct tcb_problem *problem);
	/* Compulsory bytes of one call: every operand once, weights as stored; what is touched where that is less. */
	double (*traffic)(const struct tcb_problem *problem);

	/* The op whose rules (default_rules.h) serve where this one has none: its kernels are the same but for what is
	 * around them.  NULL: no other's do. */
	const char *rules_of;
	/* The op that its other family of kernels is of (struct tcb_side_space), whose default rules those have; NULL:
	 * there is none. */
	const char *other;
	/* WEIGHTS, which are operand WHICH, by themselves.  NULL if never packed.  Packed bytes depend on problem and
	 * layout only: plans and kernels share them. */
	void (*pack)(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *weights,
		     void *packed);
	void (*unpack)(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *packed,
		       void *weights); /* inverse of pack */
	/* Rows that LAYOUT packs by themselves, group after group, so that pack may be called for some groups alone; 0:
	 * for whole matrices only.  Of an op with one operand of weights.  NULL if never packed. */
	size_t (*pack_rows)(const struct tcb_op *op, enum tcb_layout layout);
	/* What its geometries have beside the knobs, up to one without a key (geometry.h); NULL: nothing. */
	const struct tcb_parameter *parameters;
	/* The contract does not say what it multiplies with, so that no compute limit is known. */
	int has_own_arithmetic;
	/* Its kernels may be right at the shape that they were made for alone: none is verified at others. */
	int is_of_its_shape;
	/* Problems may have an x_stride and y_stride that are multiples of it; 0: they have none. */
	size_t stride_unit;
	/* Of an op that was loaded: what stands behind its callbacks, a library or another process, for them alone; the
	 * file that describes it, as it was named (NULL: there is none); and a hash of all that it was made from, by
	 * which what is remembered of it is told from what an op of its name was before. */
	void *context;
	const char *path;
	uint64_t source;
};

/* registry.c: the ops of this build, in a fixed order. */
const struct tcb_op *const *tcb_ops(size_t *count_out);
const struct tcb_op *tcb_op_find(const char *name); /* NULL if unknown */

/* For an op's table: its sides by enum tcb_target_kind, NULL where it has none; for a side's, that all VARIANTS_ are in
 * one list, or that these rows are what emit writes. */
#define TCB_SIDES(...)      \
	{                   \
		__VA_ARGS__ \
	} /* by enum tcb_target_kind: of CPUs, of CUDA, of WebGPU */
#define TCB_VARIANT_LIST(variants_) ((const struct tcb_variant *const[]){ (variants_), NULL })
#define TCB_EMITTED(...) TCB_VARIANT_LIST(((const struct tcb_variant[]){ __VA_ARGS__, { .name = NULL } }))
#define TCB_EMITTED_ROW(name_, contract_, isa_, class_)                                     \
	{                                                                                   \
		.name = name_, .contract = TCB_CONTRACT_##contract_, .isa = TCB_ISA_##isa_, \
		.class = TCB_CLASS_##class_                                                 \
	}

/* Has OP shapes only with words, those of heads or of experts? */
static inline int tcb_op_needs_words(const struct tcb_op *op)
{
	return (op->words & (UINT64_C(1) << TCB_WORD_QUERY | UINT64_C(1) << TCB_WORD_EXPERTS)) != 0;
}

/* OP's side for TARGET, or NULL. */
static inline const struct tcb_side *tcb_op_side(const struct tcb_op *op, const struct tcb_target *target)
{
	return op->side[tcb_kind_of(target)->side];
}
static inline const struct tcb_side *tcb_op_cpu(const struct tcb_op *op)
{
	return op->side[TCB_TARGET_CPU];
}
static inline const struct tcb_side *tcb_op_gpu(const struct tcb_op *op)
{
	return op->side[TCB_TARGET_CUDA];
}
/* PROBLEM's space on TARGET, for which its op has a side; with GEOMETRY, which may be NULL, the one that this is of. */
static inline const struct tcb_side_space *tcb_space_of(const struct tcb_problem *problem,
							const struct tcb_target *target,
							const struct tcb_geometry *geometry)
{
	const struct tcb_side_space *space = tcb_op_side(problem->op, target)->space;
	const struct tcb_side_space *other = space->other ? space->other(problem, geometry) : NULL;
	return other ? other : space;
}
/* PROBLEM's standard geometry for TARGET, for which its op has a side. */
static inline void tcb_op_standard(const struct tcb_problem *problem, const struct tcb_target *target,
				   struct tcb_geometry *out)
{
	tcb_space_of(problem, target, NULL)->default_geometry(problem, target, out);
}

/* op.c */
/* Do A and B have the same spaces, of problems of the same shape? */
int tcb_op_is_like(const struct tcb_op *a, const struct tcb_op *b);
/* What check_shape says of SHAPE, whose words must be among those that OP takes. */
enum tcb_status tcb_op_check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err);
/* Checks op, contract and shape together; fills OUT. */
enum tcb_status tcb_problem_init(const struct tcb_op *op, enum tcb_contract contract, const struct tcb_shape *shape,
				 struct tcb_problem *out, struct tcb_error *err);
/* PROBLEM with rows of its first input, and of its first output, so many elements apart (0: as many as they have). */
enum tcb_status tcb_problem_stride(struct tcb_problem *problem, size_t x_stride, size_t y_stride,
				   struct tcb_error *err);
/* An operand of ROWS x COLS of TYPE whose rows are STRIDE elements apart (0: COLS). */
struct tcb_operand tcb_operand_rows(const char *name, enum tcb_role role, enum tcb_type type, size_t rows, size_t cols,
				    size_t stride);
/* Index of the first INPUT, of the first OUTPUT and of the first WEIGHTS operand; -1 where there is none. */
int tcb_operand_input(const struct tcb_operand *operands, size_t count);
int tcb_operand_output(const struct tcb_operand *operands, size_t count);
int tcb_operand_weights(const struct tcb_operand *operands, size_t count);
/* All packed operands together. */
size_t tcb_packed_total(const size_t packed_bytes[TCB_OPERANDS_MAX]);
/* Lays out the references of all outputs in DATA: for each in turn its three arrays.  Returns how many doubles they
 * take; with OUT NULL that is all. */
size_t tcb_references_lay_out(const struct tcb_operand *operands, size_t count, double *data,
			      struct tcb_reference out[TCB_OUTPUTS_MAX]);
/* Variant INDEX over all lists of SIDE (NULL: it has none), NULL past the end. */
const struct tcb_variant *tcb_variant_at(const struct tcb_side *side, size_t index);
/* The variant that GEOMETRY names under CONTRACT: isa, layout, micro m and n, unroll; NULL if none was built.  An unset
 * layout is native, an unset unroll is 1.  Of what emit writes, contract and isa alone name it. */
const struct tcb_variant *tcb_variant_find(const struct tcb_op *op, enum tcb_contract contract,
					   const struct tcb_geometry *geometry);
/* TCB_E_UNSUPPORTED where OP has no kernels for TARGET. */
enum tcb_status tcb_op_require(const struct tcb_op *op, const struct tcb_target *target, struct tcb_error *err);
/* A CPU's candidate as run() takes it: planned, and made (struct tcb_side). */
enum tcb_status tcb_plan_make(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			      struct tcb_plan *out, struct tcb_error *err);
/* VARIANT's signature, of its machine code (code_signature.c); NULL: a GPU's, whose candidates have their own. */
const char *tcb_variant_signature(const struct tcb_variant *variant);
/* Hash of the signatures of all of OP's variants for CPUs: changes when any of them changes. */
void tcb_op_signature(const struct tcb_op *op, char out[TCB_SIGNATURE_MAX]);
/* Bytes of an element of TYPE, 0 for blocks, of those that ops of this build have; inline, since kernels multiply by
 * it, whose signatures are of what that is compiled to.  COUNT of them as f32. */
static inline size_t tcb_type_bytes(enum tcb_type type)
{
	return type == TCB_TYPE_F32 || type == TCB_TYPE_I32 ? 4
	       : type == TCB_TYPE_BLOCKS                    ? 0
	       : type == TCB_TYPE_E4M3                      ? 1
							    : 2;
}
void tcb_type_to_f32(enum tcb_type type, const void *elements, size_t count, float *out);
/* COUNT floats as TYPE, which holds floats; they are rounded to nearest even. */
void tcb_type_from_f32(enum tcb_type type, const float *values, size_t count, void *out);
/* What a word of a shape says of TYPE; 0 said nothing. */
_Static_assert(TCB_TYPE_F32 == 0 && TCB_TYPE_F16 == 1 && TCB_TYPE_BF16 == 2, "words of shapes have types by number");
static inline enum tcb_type tcb_worded_type(uint32_t word, enum tcb_type unsaid)
{
	return word ? (enum tcb_type)(word - 1) : unsaid;
}
const char *tcb_type_text(enum tcb_type type); /* "f32", "f16", "bf16", "blocks", "i32", "u32", "f64", "e4m3" */
/* COUNT elements of OPERAND, which is at DATA, from element FIRST on.  A block of which the poison's
 * scale is left, but not all else, has infinities for values: nobody expects these. */
void tcb_operand_to_f32(const struct tcb_operand *operand, const void *data, size_t first, size_t count, float *out);
/* Bytes of an element of any TYPE; 0 for blocks. */
size_t tcb_element_bytes(enum tcb_type type);
/* Element INDEX of OPERAND, of any type. */
double tcb_operand_value(const struct tcb_operand *operand, const void *data, size_t index);
/* Where element INDEX of OPERAND is, in bytes: the element, or the block that has it, of BYTES. */
size_t tcb_operand_place(const struct tcb_operand *operand, size_t index, size_t *bytes);
/* Is what lies between OPERAND's rows BYTE, all of it? */
int tcb_operand_gaps_are(const struct tcb_operand *operand, const void *data, unsigned char byte);
/* PROBLEM's inputs, with POOL's threads where its op has parts; POOL NULL: the caller alone. */
void tcb_op_fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[], struct tcb_pool *pool);
/* fill of an op whose data comes in parts: one after the other. */
void tcb_fill_in_parts(const struct tcb_problem *problem, uint64_t seed, void *const operand[]);
/* The numbers of PART; the first part's are those of SEED itself. */
void tcb_part_rng(uint64_t seed, size_t part, struct tcb_rng *out);
/* For an op's reference: FN for each of TASKS, by the threads of OUT's pool. */
void tcb_reference_share(const struct tcb_reference *out, size_t tasks, tcb_task_fn *fn, void *ctx);
/* What output COLUMN counts in a sum (reference_sums): random signs and sizes from 0.5 to 1.5, the same for ever. */
double tcb_sum_factor(size_t column);
/* gamma(d) of SPEC section 4. */
double tcb_gamma(double chain);
/* COUNT outputs of OUT as references of what is rounded to TYPE, one of those that words say, at the end. */
void tcb_reference_round(const struct tcb_reference *out, enum tcb_type type, size_t count);
/* Is PLAN's result what its op's exact() has, bit for bit? */
static inline int tcb_plan_is_exact(const struct tcb_plan *plan)
{
	const struct tcb_words *words = &plan->problem.shape.words;
	return plan->variant->class == TCB_CLASS_EXACT && plan->problem.op->exact && !words->x_type && !words->y_type;
}
/* Largest |got - y| / allowed over COUNT outputs; infinity for a NaN where y is none, or an error where none is
 * allowed.  FIRST_BAD_OUT (nullable) gets the first output with a ratio above 1. */
double tcb_error_ratio(const struct tcb_plan *plan, const struct tcb_reference *reference, const float *got,
		       size_t count, size_t *first_bad_out);
/* The same of COUNT elements from FIRST on of OUTPUT, which is at GOT; REFERENCE is that of all of it, as is
 * FIRST_BAD_OUT. */
double tcb_output_error_ratio(const struct tcb_plan *plan, const struct tcb_operand *output,
			      const struct tcb_reference *reference, const void *got, size_t first, size_t count,
			      size_t *first_bad_out);
/* The same of all elements of all outputs, whose references are REFERENCES, where DATA has them.  OUTPUT_OUT (nullable)
 * gets the operand with the largest ratio, FIRST_BAD_OUT its first element with one above 1. */
double tcb_outputs_error_ratio(const struct tcb_plan *plan, const struct tcb_operand *operands, size_t count,
			       const struct tcb_reference *references, void *const data[], size_t *output_out,
			       size_t *first_bad_out);
void tcb_kernel_fini(struct tcb_kernel *kernel); /* NULL and zeroed are fine */
/* Its code as text, which its language gives it. */
void tcb_kernel_print(const struct tcb_kernel *kernel, struct tcb_str *out);

/* kernel_emit.c: PROBLEM's kernel of GEOMETRY by its op's emit, optimised where the knob passes says so.  The op has
 * one for TARGET; finish OUT with tcb_kernel_fini.  TCB_E_ILLEGAL as emit. */
enum tcb_status tcb_kernel_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);

#endif
