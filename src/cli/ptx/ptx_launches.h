/* SPDX-License-Identifier: MIT
 *
 * How the kernels of files are launched, as pairs of --kernel and --block and
 * the file of --launches say: the first that names a kernel counts for it.
 */
#ifndef TCB_CLI_PTX_LAUNCHES_H
#define TCB_CLI_PTX_LAUNCHES_H

#include "base/util.h"
#include "cli/core/cli.h"
#include "ptx/analyse/check.h"

struct ptx_launch {
	const char *pattern; /* of a kernel's symbol or demangled name, as fnmatch(3); NULL: all of them */
	struct tcb_ptx_check_launch launch;
	int is_named, is_used; /* by --kernel; it named a kernel */
};

struct ptx_launches {
	struct tcb_arena arena;
	struct ptx_launch *items;
	size_t count;
};

/* "256", "32x8", "32x8x2" */
enum tcb_status ptx_parse_block(const char *text, uint32_t out[3], struct tcb_error *err);
/* KERNELS and BLOCKS go together in order; a block without any kernel is for all.  FILE may be NULL.  DYNAMIC_SHARED is
 * for whoever FILE says nothing of. */
enum tcb_status ptx_launches_init(struct ptx_launches *launches, const struct cli_list *kernels,
				  const struct cli_list *blocks, const char *file, uint64_t dynamic_shared,
				  struct tcb_error *err);
void ptx_launches_fini(struct ptx_launches *launches);
/* Those of the kernels of MODULE, in its arena. */
enum tcb_status ptx_launches_of(struct ptx_launches *launches, struct tcb_ptx_module *module,
				const struct tcb_ptx_check_launch **out, size_t *count, struct tcb_error *err);
/* An error for a --kernel that named nothing in all the files that were judged. */
enum tcb_status ptx_launches_verify(const struct ptx_launches *launches, struct tcb_error *err);

#endif
