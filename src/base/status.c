/* SPDX-License-Identifier: MIT
 *
 * Texts and exit statuses of the status list, and the filling of errors.
 */
#include "base/status.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
	const char *text;
	int exit_status;
} statuses[TCB_STATUS_COUNT] = {
#define TCB_STATUS_ROW(code, exit_status, text) { text, exit_status },
	TCB_STATUS_LIST(TCB_STATUS_ROW)
#undef TCB_STATUS_ROW
};

const char *tcb_status_text(enum tcb_status status)
{
	assert((unsigned)status < TCB_STATUS_COUNT);
	return statuses[status].text;
}

int tcb_status_exit(enum tcb_status status)
{
	assert((unsigned)status < TCB_STATUS_COUNT);
	return statuses[status].exit_status;
}

enum tcb_status tcb_fail(struct tcb_error *err, enum tcb_status status, const char *format, ...)
{
	if (err) {
		va_list args;

		err->status = status;
		va_start(args, format);
		vsnprintf(err->message, sizeof err->message, format, args);
		va_end(args);
		/* What others wrote, a database's schema or a name in a file, may have lines or move the cursor. */
		for (char *at = err->message; *at; at++)
			if ((unsigned char)*at < ' ' || *at == '\177')
				*at = ' ';
	}
	return status;
}
