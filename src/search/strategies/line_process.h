/* SPDX-License-Identifier: MIT
 *
 * A program that lines are exchanged with over its standard input and output,
 * each within a time limit.
 */
#ifndef TCB_SEARCH_LINE_PROCESS_H
#define TCB_SEARCH_LINE_PROCESS_H

#include <sys/types.h>

#include "base/util.h"

struct tcb_line_process {
	pid_t pid; /* 0: none */
	int fd;    /* our end of what are its standard input and output */
	double limit_s;
	struct tcb_str read; /* behind the last line that was taken */
	size_t taken;        /* of it: the line that was taken last */
};

/* COMMAND, as a shell reads it; its standard error stays ours.  Fini PROCESS in every case. */
enum tcb_status tcb_line_process_start(struct tcb_line_process *process, const char *command, double limit_s,
				       struct tcb_error *err);
/* LINE, which ends with a newline.  TCB_E_FAILED says what the program did instead of reading it. */
enum tcb_status tcb_line_process_send(struct tcb_line_process *process, const char *line, size_t bytes,
				      struct tcb_error *err);
/* The next line, without its newline, lent until the next call.  TCB_E_FAILED: it ended, or took too long;
 * TCB_E_FORMAT: its line is longer than a mebibyte. */
enum tcb_status tcb_line_process_take(struct tcb_line_process *process, char **line_out, size_t *bytes_out,
				      struct tcb_error *err);
/* Closes its input, gives it a second to end and kills what is left. */
void tcb_line_process_fini(struct tcb_line_process *process);

#endif
