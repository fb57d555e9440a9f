/* SPDX-License-Identifier: MIT
 *
 * Kernels of C and C++ files: each candidate is the file, compiled with the
 * parameters defined, in a shared object that this process loads.
 */
#ifndef TCB_KERNELFILE_FILE_C_H
#define TCB_KERNELFILE_FILE_C_H

#include <limits.h>

#include "kernelfile/kernel_file.h"

enum { TCB_FILE_OBJECT_MAX = PATH_MAX + 64 };
/* What a candidate's shared object exports, a tcb_file_entry_fn. */
#define TCB_FILE_ENTRY "tcb_file_entry"

/* The kernel, on the operands in the order of the file's vectors, by a team of THREADS where it is in OpenMP. */
typedef void tcb_file_entry_fn(void *const operand[], int threads);

/* Is SOURCE, for the host, in OpenMP, by its options? */
int tcb_file_c_is_team(const struct tcb_file_source *source);

/* Of the kernel FROM, which FILE has. */
struct tcb_file_c;
enum tcb_status tcb_file_c_create(const struct tcb_kernel_file *file, const struct tcb_file_source *from,
				  struct tcb_file_c **out, struct tcb_error *err);
void tcb_file_c_destroy(struct tcb_file_c *c); /* NULL is fine */
/* What results are signed with: the source and what it includes, the options, the compiler. */
const char *tcb_file_c_signature(const struct tcb_file_c *c);

/* A candidate, compiled and loaded; it stays as long as C.  TCB_E_FORMAT: it does not compile, and the message is the
 * compiler's first error. */
enum tcb_status tcb_file_c_load(struct tcb_file_c *c, const struct tcb_shape *shape,
				const struct tcb_geometry *geometry, tcb_file_entry_fn **out, struct tcb_error *err);
/* The same, not loaded: the path of its shared object, for a process that may crash.  For any thread; LIMITS NULL: two
 * minutes. */
struct tcb_file_limits {
	double seconds;
	const atomic_int *stop; /* once it is not 0; NULL: never */
	int was_late;           /* out: for them it failed */
};
enum tcb_status tcb_file_c_object(const struct tcb_file_c *c, const struct tcb_shape *shape,
				  const struct tcb_geometry *geometry, struct tcb_file_limits *limits,
				  char out[TCB_FILE_OBJECT_MAX], struct tcb_error *err);

#endif
