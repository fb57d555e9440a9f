/* SPDX-License-Identifier: MIT
 *
 * A kernel that is not ours, as a file describes it: JSON in the T1 form that
 * autotuners share (ConfigurationSpace, KernelSpecification), and under the key
 * "tcbtune" what that form lacks.  docs/kernel-files.md has all keys.
 *
 * Expressions (kernelfile/expression.h) are over the tuning parameters, the sizes of the
 * problem by their names, and ProblemSize[0], ProblemSize[1], ...: BOUND has the
 * values, in the order of names.
 */
#ifndef TCB_KERNELFILE_KERNEL_FILE_H
#define TCB_KERNELFILE_KERNEL_FILE_H

#include "kernelfile/expression.h"
#include "kernels/op.h"

enum {
	TCB_FILE_PARAMETERS_MAX = 32, /* constants among them */
	TCB_FILE_SIZES_MAX = 3,       /* of a problem: M, N and K of its shape */
	TCB_FILE_ARGUMENTS_MAX = 24,
	TCB_FILE_CONDITIONS_MAX = 24,
	TCB_FILE_OPTIONS_MAX = 32,
	TCB_FILE_DIVISORS_MAX = 4
};

/* Of an argument's elements. */
struct tcb_file_type {
	const char *name; /* "float4" */
	size_t bytes;
	enum tcb_file_element {
		TCB_FILE_FLOAT,
		TCB_FILE_HALF,
		TCB_FILE_DOUBLE,
		TCB_FILE_SIGNED,
		TCB_FILE_UNSIGNED
	} element;
	size_t element_bytes;
};

struct tcb_file_parameter {
	char *name;                      /* as kernels see it */
	char key[TCB_PARAMETER_KEY_MAX]; /* as geometries have it */
	struct tcb_value *values;
	size_t count, standard; /* how many; which is the default */
	char **words;           /* of the values, up to NULL; NULL: they are whole numbers from 0 on */
	int place;              /* among the op's parameters; -1: it has one value, and is none */
};

/* A vector is an operand; local memory is a work-group's of OpenCL, as large as it says. */
enum tcb_file_memory { TCB_FILE_VECTOR, TCB_FILE_SCALAR, TCB_FILE_LOCAL };

enum tcb_file_fill { TCB_FILE_CONSTANT, TCB_FILE_RANDOM, TCB_FILE_RAW };

struct tcb_file_argument {
	char *name;
	struct tcb_file_type type;
	enum tcb_file_memory memory;
	int is_output, is_updated;    /* updated: an output that begins with its fill, and is read */
	struct tcb_expression *count; /* of elements, unless it is a scalar */
	struct tcb_expression *value; /* of a scalar, or of a constant fill */
	enum tcb_file_fill fill;
	char *source; /* a file of raw values; NULL: none */
	size_t operand;
	/* Of an output: what the reference may miss by, as a share of the value and absolutely; NAN: the default. */
	double relative, absolute;
	char *right; /* a file of right raw values; NULL: the reference computes them */
};

enum tcb_file_language {
	TCB_FILE_C,
	TCB_FILE_CXX,
	TCB_FILE_CUDA,
	TCB_FILE_PTX,
	TCB_FILE_WGSL,
	TCB_FILE_OPENCL,
	TCB_FILE_LANGUAGE_COUNT
};

/* A kernel of a source file. */
struct tcb_file_source {
	enum tcb_file_language language;
	char *name, *path;
	char *options[TCB_FILE_OPTIONS_MAX]; /* OPTION_COUNT of them, for the compiler */
	size_t option_count;
};

/* How a GPU's kernel is launched, by dimensions x, y and z; NULL: one. */
struct tcb_file_launch {
	struct tcb_expression *block[3], *grid[3];
	/* Of the problem's size in a dimension, where GRID does not say: what a block does of it, multiplied. */
	struct tcb_expression *divisor[3][TCB_FILE_DIVISORS_MAX];
	size_t divisor_count[3];
	struct tcb_expression *shared; /* dynamic bytes; NULL: none */
	int grid_is_threads;           /* not blocks */
};

struct tcb_kernel_file {
	char *path, *folder;
	char op_name[TCB_OP_NAME_MAX];
	struct tcb_file_source kernel;
	struct tcb_file_source reference; /* a kernel that is right, in C or C++; no name: the default configuration */
	struct tcb_file_launch launch;

	struct tcb_file_parameter parameter[TCB_FILE_PARAMETERS_MAX];
	size_t parameter_count;
	struct tcb_expression *condition[TCB_FILE_CONDITIONS_MAX];
	size_t condition_count;

	char *size_name[TCB_FILE_SIZES_MAX]; /* "M" */
	size_t size[TCB_FILE_SIZES_MAX], size_count;
	struct tcb_expression *size_condition[TCB_FILE_CONDITIONS_MAX];
	size_t size_condition_count;
	int any_size; /* right for every size that meets the conditions: candidates are verified at small ones, too */

	struct tcb_file_argument argument[TCB_FILE_ARGUMENTS_MAX];
	size_t argument_count;
	struct tcb_expression *operations, *bytes; /* of a call; NULL: unknown, and each vector once */

	const char *names[TCB_EXPRESSION_NAMES_MAX]; /* NAME_COUNT, of what is bound: lent */
	char size_index[TCB_FILE_SIZES_MAX][40];     /* "ProblemSize[0]" */
	size_t name_count;
};

/* kernel_file_read.c; destroy OUT.  TCB_E_USAGE with the file and what is wrong in it. */
enum tcb_status tcb_kernel_file_read(const char *path, struct tcb_kernel_file **out, struct tcb_error *err);
void tcb_kernel_file_destroy(struct tcb_kernel_file *file); /* NULL is fine */

/* kernel_file_bind.c: the names' values for a SHAPE and a GEOMETRY (NULL: each parameter's default). */
void tcb_kernel_file_bind(const struct tcb_kernel_file *file, const struct tcb_shape *shape,
			  const struct tcb_geometry *geometry, struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX]);
/* The sizes of FILE as a shape: of one size 1xN, of two MxN, of three MxNxK; and back. */
struct tcb_shape tcb_kernel_file_shape(const struct tcb_kernel_file *file, const size_t size[TCB_FILE_SIZES_MAX]);
void tcb_kernel_file_sizes(const struct tcb_kernel_file *file, const struct tcb_shape *shape,
			   size_t out[TCB_FILE_SIZES_MAX]);
/* VALUE as an element of TYPE, at TO. */
void tcb_file_put(const struct tcb_file_type *type, double value, void *to);
/* The elements of vector ARGUMENT, and its bytes.  TCB_E_USAGE. */
enum tcb_status tcb_kernel_file_count(const struct tcb_file_argument *argument, const struct tcb_value *bound,
				      size_t *count_out, size_t *bytes_out, struct tcb_error *err);

/* kernel_file_values.c: what a parameter may be, as Python writes a list: "[1, 2, 4]", "[16 * i for i in range(1, 9)]",
 * "range(8)", lists that are added.  *OUT and its texts are the caller's: tcb_kernel_file_values_free. */
enum tcb_status tcb_kernel_file_values(const char *text, struct tcb_value **out, size_t *count_out,
				       struct tcb_error *err);
void tcb_kernel_file_values_free(struct tcb_value *values, size_t count);

/* file_op.c: the op of FILE, which it takes; destroy it after all that uses the op. */
struct tcb_file_op;
enum tcb_status tcb_file_op_create(struct tcb_kernel_file *file, struct tcb_file_op **out, struct tcb_error *err);
void tcb_file_op_destroy(struct tcb_file_op *made); /* NULL is fine */
const struct tcb_op *tcb_file_op(const struct tcb_file_op *made);
/* What compiles its kernel, or its reference, in C or C++; NULL: there is none. */
struct tcb_file_c;
struct tcb_file_c *tcb_file_op_c(const struct tcb_file_op *made, int is_reference);

#endif
