/* SPDX-License-Identifier: MIT
 *
 * The files that the words of a command line name.
 */
#ifndef TCB_CLI_PTX_PATHS_H
#define TCB_CLI_PTX_PATHS_H

#include "cli/core/cli.h"

struct ptx_path {
	char *path;
	int matches_nothing; /* PATH is a pattern, and there is no such file */
};

struct ptx_paths {
	struct ptx_path *items;
	size_t count;
	int is_set; /* several were asked for, or a pattern, whatever it matched */
};

/* WORDS from the one called FROM on; patterns (* ? [ {) in the order of their names.  A file that has a pattern's name
 * is that file. */
enum tcb_status ptx_paths_expand(const struct cli_list *words, size_t from, struct ptx_paths *out,
				 struct tcb_error *err);
void ptx_paths_fini(struct ptx_paths *paths);

#endif
