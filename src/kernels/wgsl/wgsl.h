/* SPDX-License-Identifier: MIT
 *
 * The WGSL kit: the frame of an emission.  A problem and a geometry come in; a
 * module's text, its entries in the order in which they are launched, and what
 * is bound to them go out.  WGSL is written as WGSL, in lines that are indented
 * by their braces:
 *
 *     struct tcb_wgsl w;
 *     TCB_TRY(tcb_wgsl_open(&w, problem, geometry, out, err));
 *     const int x = tcb_wgsl_input(&w, "x", "array<vec4<f32>>", OPERAND_X);
 *     const int y = tcb_wgsl_output(&w, "y", "array<vec4<f32>>", OPERAND_Y);
 *     tcb_wgsl_number(&w, "count", n / 4);
 *     tcb_wgsl_begin(&w, "copy", &(struct tcb_wgsl_entry){ .workgroup = 64, .grid = { 100 }, .uses = { x, y } });
 *     tcb_wgsl_add(&w, "let at = group.x * %uu + local;\n"
 *                      "if (at < count) {\n"
 *                      "y[at] = x[at];\n"
 *                      "}\n", 64);
 *     tcb_wgsl_end(&w);
 *     return tcb_wgsl_close(&w, err);
 *
 * The caller of tcb_wgsl_close then sets class, chain, ulps and packed_bytes.  The text
 * depends on the geometry alone, never on the shape, so that an engine compiles it once: what
 * depends on the shape is a number or a grid.
 *
 * In an entry there are group (vec3<u32>), local (its invocation's index) and, where it has .subgroups, lane
 * and lanes, the index in a subgroup and the size of one.
 */
#ifndef TCB_KERNELS_WGSL_WGSL_H
#define TCB_KERNELS_WGSL_WGSL_H

#include "kernels/wgsl/wgsl_code.h"

enum { TCB_WGSL_BINDINGS_MAX = TCB_ARGUMENTS_MAX };

/* What a device may be off by (WGSL, "Accuracy of Concrete Floating Point Expressions"): exp(x) by EXP_ULPS + EXP_DEPTH
 * |x| ulps, a quotient by 2.5, which are DIVISION roundings of 2^-24. */
enum { TCB_WGSL_EXP_ULPS = 3, TCB_WGSL_EXP_DEPTH = 2, TCB_WGSL_DIVISION = 5 };
/* exp(-x) from here on is less than 2^-126, and may be 0: 126 ln(2). */
#define TCB_WGSL_DEPTH_MOST 87.34
/* The lowest float: the maximum of nothing. */
#define TCB_WGSL_LOWEST "-0x1.fffffep+127f"

struct tcb_wgsl {
	struct tcb_kernel *out;
	struct tcb_kernel_wgsl *code;
	struct tcb_str text;                                    /* what comes behind the directives */
	unsigned features;                                      /* bits of enum tcb_wgpu_feature that it needs */
	unsigned depth;                                         /* of braces */
	struct tcb_argument binding[TCB_WGSL_BINDINGS_MAX + 1]; /* by their numbers, from 1 on */
	size_t bytes[TCB_WGSL_BINDINGS_MAX + 1];                /* of those that are parts of the workspace */
	int binding_count;
	uint32_t number_count;
	struct tcb_wgsl_constant number[TCB_WGSL_CONSTANTS_MAX];
};

/* How an entry is launched.  Zeros of GRID count as one; USES: what it reads and writes, up to a 0. */
struct tcb_wgsl_entry {
	unsigned workgroup; /* invocations, along x */
	uint32_t grid[3];
	int subgroups;
	int uses[TCB_WGSL_BINDINGS_MAX + 1];
};

/* Begins OUT, which it clears.  GEOMETRY: NULL for a kernel that is no candidate. */
enum tcb_status tcb_wgsl_open(struct tcb_wgsl *w, const struct tcb_problem *problem,
			      const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);
enum tcb_status tcb_wgsl_close(struct tcb_wgsl *w, struct tcb_error *err);

/* Variables of a module that buffers are bound to; what uses of entries mean.  TYPE: "array<f32>". */
int tcb_wgsl_input(struct tcb_wgsl *w, const char *name, const char *type, size_t operand);
int tcb_wgsl_output(struct tcb_wgsl *w, const char *name, const char *type, size_t operand);
/* BYTES of the workspace. */
int tcb_wgsl_workspace(struct tcb_wgsl *w, const char *name, const char *type, size_t bytes);
/* A constant of the module that the pipeline sets, u32. */
void tcb_wgsl_number(struct tcb_wgsl *w, const char *name, size_t value);
/* The module uses f16 or subgroups. */
void tcb_wgsl_need(struct tcb_wgsl *w, enum tcb_wgpu_feature feature);

/* An entry's head; and its last brace. */
void tcb_wgsl_begin(struct tcb_wgsl *w, const char *name, const struct tcb_wgsl_entry *entry);
void tcb_wgsl_end(struct tcb_wgsl *w);
/* Lines of WGSL, each up to its newline. */
void tcb_wgsl_add(struct tcb_wgsl *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Lines that are done for each i below COUNT, by the workgroup's invocations in turn. */
void tcb_wgsl_each(struct tcb_wgsl *w, unsigned count, unsigned workgroup, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* wgsl_halves.c; TYPE: of 16 bits, f16 or bf16; WIDTH: 2 or 4 values, two a word. */
/* fn NAME(words: vec2<u32>) -> vec4<f32>, or (words: u32) -> vec2<f32> */
void tcb_wgsl_add_from_halves(struct tcb_wgsl *w, const char *name, enum tcb_type type, unsigned width);
/* fn NAME(values: vec4<f32>) -> vec2<u32>, or (values: vec2<f32>) -> u32; what comes of those that are too large for
 * f16, and which way those are rounded that are below its normal numbers, WGSL does not say. */
void tcb_wgsl_add_to_halves(struct tcb_wgsl *w, const char *name, enum tcb_type type, unsigned width);

/* wgsl_tree.c */
enum tcb_wgsl_operation { TCB_WGSL_SUM, TCB_WGSL_MAX, TCB_WGSL_MIN };
/*
 * A function of the module that brings together a value of each invocation of a workgroup: NAME(value, HERE), the same
 * in all of them.  TYPE: a scalar one.  Through workgroup memory, or through subgroups first, whose entries have
 * .subgroups then.
 */
struct tcb_wgsl_tree {
	const char *name, *type;
	enum tcb_wgsl_operation operation;
	const char *function; /* instead: one of the module, of two values; with TREE shared only.  NULL: none */
	enum tcb_tree tree;
	unsigned workgroup;
};
void tcb_wgsl_add_tree(struct tcb_wgsl *w, const struct tcb_wgsl_tree *tree);
/* A and B, expressions, by the tree's operation. */
enum { TCB_WGSL_COMBINED_MAX = 120 };
void tcb_wgsl_combine(const struct tcb_wgsl_tree *tree, const char *a, const char *b, char out[TCB_WGSL_COMBINED_MAX]);
/* What a call of such a function hands on of where it is: "local", or "local, lane, lanes". */
const char *tcb_wgsl_here(enum tcb_tree tree);
/* Bytes of workgroup memory that it takes, and roundings that a value goes through. */
size_t tcb_wgsl_tree_bytes(enum tcb_tree tree, unsigned workgroup);
unsigned tcb_wgsl_tree_chain(enum tcb_tree tree, unsigned workgroup);

#endif
