/* SPDX-License-Identifier: MIT
 *
 * In: a file's name.  Out: its lines, each with its place.
 */
#include "cli/core/lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum tcb_status cli_each_line(const char *option, const char *path, cli_take_line *take, void *ctx,
			      struct tcb_error *err)
{
	FILE *file = fopen(path, "re");
	char *line = NULL, where[400];
	size_t capacity = 0;
	unsigned number = 0;
	enum tcb_status status = TCB_OK;

	if (!file)
		return tcb_fail(err, TCB_E_IO, "%s: cannot read %s: %s", option, path, strerror(errno));
	errno = 0;
	while (status == TCB_OK && getline(&line, &capacity, file) >= 0) {
		snprintf(where, sizeof where, "%.300s:%u", path, ++number);
		status = take(ctx, where, line, err);
	}
	if (status == TCB_OK && ferror(file))
		status = tcb_fail(err, TCB_E_IO, "%s: cannot read %s: %s", option, path, strerror(errno));
	free(line);
	fclose(file);
	return status;
}
