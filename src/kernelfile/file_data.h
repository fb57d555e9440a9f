/* SPDX-License-Identifier: MIT
 *
 * The vectors of a described kernel as data.
 */
#ifndef TCB_KERNELFILE_FILE_DATA_H
#define TCB_KERNELFILE_FILE_DATA_H

#include "kernelfile/kernel_file.h"

/* What ARGUMENT's elements are.  Of whole numbers that are narrower or wider, which are no outputs, I32. */
enum tcb_type tcb_file_type(const struct tcb_file_argument *argument);
/* Each vector a row of elements; how many. */
size_t tcb_file_operands(const struct tcb_kernel_file *file, const struct tcb_shape *shape,
			 struct tcb_operand out[TCB_OPERANDS_MAX]);
/* Outputs are of types that are compared, and files of values are there. */
enum tcb_status tcb_file_check_arguments(const struct tcb_kernel_file *file, struct tcb_error *err);
/* With the values of names that BOUND has, vectors have sizes, and their files of values are as large. */
enum tcb_status tcb_file_check_vectors(const struct tcb_kernel_file *file, const struct tcb_value *bound,
				       struct tcb_error *err);
/* As an op's fill. */
void tcb_file_fill(const struct tcb_kernel_file *file, const struct tcb_shape *shape, uint64_t seed,
		   void *const operand[]);
/* BYTES of the file at PATH; what it has not is zeros.  0 if it has as many. */
int tcb_file_read_raw(const char *path, size_t bytes, char *to);
/* VALUES of output ARGUMENT, which is OPERAND, as what is right, with how far others may be from them. */
void tcb_file_take_right(const struct tcb_file_argument *argument, const struct tcb_operand *operand,
			 const void *values, struct tcb_reference *out);

#endif
