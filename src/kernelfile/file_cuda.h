/* SPDX-License-Identifier: MIT
 *
 * CUDA C++ to PTX, by NVRTC, which is found at run time.
 */
#ifndef TCB_KERNELFILE_FILE_CUDA_H
#define TCB_KERNELFILE_FILE_CUDA_H

#include "kernelfile/kernel_file.h"

/* Compilations of one file's source, done and under way.  Any thread. */
struct tcb_file_cuda;
/* FILE and SOURCE are lent. */
enum tcb_status tcb_file_cuda_create(const struct tcb_kernel_file *file, const struct tcb_str *source,
				     struct tcb_file_cuda **out, struct tcb_error *err);
void tcb_file_cuda_destroy(struct tcb_file_cuda *cuda); /* stops what runs; NULL is fine */
/* Begins to compile it with the names BOUND defined, for compute CAPABILITY (90), unless that was begun or a process
 * for each processor runs.  1: take need not wait. */
int tcb_file_cuda_begin(struct tcb_file_cuda *cuda, const struct tcb_value *bound, unsigned capability);
/*
 * What comes of it: PTX, and the name that its kernel has there; both are the caller's.  TCB_E_NOT_FOUND where there is
 * no NVRTC, with what to install; TCB_E_FORMAT: it does not compile, and the message is the first error.
 */
enum tcb_status tcb_file_cuda_take(struct tcb_file_cuda *cuda, const struct tcb_value *bound, unsigned capability,
				   struct tcb_str *ptx_out, struct tcb_str *entry_out, struct tcb_error *err);

#endif
