/* SPDX-License-Identifier: MIT
 *
 * What a report says of results that were imported from other tuners.
 */
#ifndef TCB_CLI_REPORT_RECORDINGS_H
#define TCB_CLI_REPORT_RECORDINGS_H

#include "cli/core/emit.h"
#include "db/db.h"

struct cli_recording {
	char op[128], device[TCB_DEVICE_TEXT_MAX], source[128], imported_at[32];
	size_t count, valid;
	double best_ms; /* NaN: all failed */
};
struct cli_recordings {
	struct cli_recording *list; /* owned */
	size_t count;
};
/* Those of OP and of ops whose names begin with it (NULL: all). */
enum tcb_status cli_recordings_load(struct tcb_db *db, const char *op, struct cli_recordings *out,
				    struct tcb_error *err);
void cli_recordings_fini(struct cli_recordings *recordings);
/* One as a sentence. */
void cli_recording_text(const struct cli_recording *recording, char *out, size_t capacity);
/* A line of each to OUT, after BULLET. */
void cli_recordings_add(const struct cli_recordings *recordings, const char *bullet, struct tcb_str *out);
json_t *cli_recordings_json(const struct cli_recordings *recordings, int *failed);

#endif
