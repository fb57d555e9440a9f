/* SPDX-License-Identifier: MIT
 *
 * CUDA C++ to PTX, by NVRTC, which is found at run time.
 */
#ifndef TCB_KERNELFILE_FILE_CUDA_H
#define TCB_KERNELFILE_FILE_CUDA_H

#include "kernelfile/kernel_file.h"

/*
 * FILE's SOURCE with the names BOUND defined, for compute CAPABILITY (90), as PTX, and the name that its kernel has
 * there; both are the caller's.  TCB_E_NOT_FOUND where there is no NVRTC, with what to install; TCB_E_FORMAT: it does
 * not compile, and the message is the first error.
 */
enum tcb_status tcb_file_cuda_compile(const struct tcb_kernel_file *file, const struct tcb_str *source,
				      const struct tcb_value *bound, unsigned capability, struct tcb_str *ptx_out,
				      struct tcb_str *entry_out, struct tcb_error *err);
/* "NVRTC 13.0"; NULL: there is none. */
const char *tcb_file_cuda_compiler(void);

#endif
