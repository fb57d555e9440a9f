/* SPDX-License-Identifier: MIT
 *
 * In: words.  Out: paths.  A pattern in quotes comes here as it is; the shell
 * may have had no match for it, or too many for one command line.
 */
#include "cli/ptx/ptx_paths.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum tcb_status add(struct ptx_paths *paths, const char *path, int matches_nothing, struct tcb_error *err)
{
	struct ptx_path *grown = realloc(paths->items, (paths->count + 1) * sizeof *grown);
	char *copy = strdup(path);

	if (grown)
		paths->items = grown;
	if (!grown || !copy) {
		free(copy);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the names of files");
	}
	paths->items[paths->count++] = (struct ptx_path){ copy, matches_nothing };
	return TCB_OK;
}

static enum tcb_status expand(struct ptx_paths *paths, const char *pattern, struct tcb_error *err)
{
	glob_t found = { .gl_pathc = 0 };
	int result = glob(pattern, GLOB_BRACE | GLOB_TILDE, NULL, &found);
	enum tcb_status status = TCB_OK;

	if (result == GLOB_NOSPACE)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the files that %s matches", pattern);
	else if (result != 0)
		status = add(paths, pattern, 1, err);
	for (size_t i = 0; status == TCB_OK && result == 0 && i < found.gl_pathc; i++)
		status = add(paths, found.gl_pathv[i], 0, err);
	globfree(&found);
	return status;
}

enum tcb_status ptx_paths_expand(const struct cli_list *words, size_t from, struct ptx_paths *out,
				 struct tcb_error *err)
{
	enum tcb_status status = TCB_OK;

	*out = (struct ptx_paths){ .is_set = words->count > from + 1 };
	for (size_t i = from; status == TCB_OK && i < words->count; i++) {
		const char *word = words->items[i];

		if (!strpbrk(word, "*?[{") || access(word, F_OK) == 0) {
			status = add(out, word, 0, err);
		} else {
			out->is_set = 1;
			status = expand(out, word, err);
		}
	}
	return status;
}

void ptx_paths_fini(struct ptx_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->items[i].path);
	free(paths->items);
	*paths = (struct ptx_paths){ 0 };
}
