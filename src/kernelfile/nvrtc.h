/* SPDX-License-Identifier: MIT
 *
 * NVRTC, found at run time and called in the process that asks.
 */
#ifndef TCB_KERNELFILE_NVRTC_H
#define TCB_KERNELFILE_NVRTC_H

#include "kernelfile/kernel_file.h"

/* "NVRTC 13.0"; NULL: there is none.  What follows needs one. */
const char *tcb_nvrtc_name(void);
/* The options for FILE with the names BOUND, for compute CAPABILITY (90), in one text, a NUL after each. */
void tcb_nvrtc_options(const struct tcb_kernel_file *file, const struct tcb_value *bound, unsigned capability,
		       struct tcb_str *out);
/* PTX of SOURCE, and the name that FILE's kernel has there.  TCB_E_FORMAT with the compiler's first error. */
enum tcb_status tcb_nvrtc_compile(const struct tcb_kernel_file *file, const struct tcb_str *source,
				  const struct tcb_str *options, struct tcb_str *ptx_out, struct tcb_str *entry_out,
				  struct tcb_error *err);

#endif
