/* SPDX-License-Identifier: MIT
 *
 * Kernels of PTX, WGSL and OpenCL C files, and what is made of CUDA C++: a candidate is the file's text, in which
 * ${NAME} stands for a parameter or a size (in OpenCL C macros do), and its launch.
 */
#ifndef TCB_KERNELFILE_FILE_GPU_H
#define TCB_KERNELFILE_FILE_GPU_H

#include "kernelfile/file_cuda.h"
#include "kernelfile/kernel_file.h"

/* How a candidate is launched. */
struct tcb_file_size {
	size_t grid[3], block[3], shared_bytes;
};
/* TCB_E_USAGE where an expression has no value that will do. */
enum tcb_status tcb_file_launch_size(const struct tcb_kernel_file *file, const struct tcb_shape *shape,
				     const struct tcb_geometry *geometry, struct tcb_file_size *out,
				     struct tcb_error *err);

/* The text of FILE's source into OUT, which finish.  TCB_E_NOT_FOUND. */
enum tcb_status tcb_file_read_text(const struct tcb_kernel_file *file, struct tcb_str *out, struct tcb_error *err);
/* The candidate of SOURCE, that text; CUDA compiles it where it is CUDA C++. */
enum tcb_status tcb_file_emit(const struct tcb_kernel_file *file, const struct tcb_str *source,
			      struct tcb_file_cuda *cuda, const struct tcb_problem *problem,
			      const struct tcb_target *target, const struct tcb_geometry *geometry,
			      struct tcb_kernel *out, struct tcb_error *err);

#endif
