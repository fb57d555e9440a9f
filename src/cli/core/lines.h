/* SPDX-License-Identifier: MIT
 *
 * Files of lines that people write, one thing per line.
 */
#ifndef TCB_CLI_LINES_H
#define TCB_CLI_LINES_H

#include "base/status.h"

/* One line, which may be written to; WHERE is its place for messages, "FILE:3". */
typedef enum tcb_status cli_take_line(void *ctx, const char *where, char *line, struct tcb_error *err);
/* Hands the lines of the file PATH, which OPTION named, to TAKE until it fails. */
enum tcb_status cli_each_line(const char *option, const char *path, cli_take_line *take, void *ctx,
			      struct tcb_error *err);

#endif
