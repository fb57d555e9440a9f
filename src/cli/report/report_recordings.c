/* SPDX-License-Identifier: MIT
 *
 * In: a database.  Out: a line of each op and device of which results were imported, as text and JSON.
 */
#include "cli/report/report_recordings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/recordings.h"

struct loading {
	const char *op;
	struct cli_recordings *out;
	int failed;
};

static int add_recording(void *ctx, const struct tcb_recording *recording)
{
	struct loading *loading = ctx;
	struct cli_recordings *out = loading->out;
	const size_t length = loading->op ? strlen(loading->op) : 0;

	if (length && (strncmp(recording->op, loading->op, length) != 0 ||
		       (recording->op[length] != '\0' && recording->op[length] != '_')))
		return 0;
	struct cli_recording *grown = realloc(out->list, (out->count + 1) * sizeof *grown);
	if (!grown)
		return loading->failed = 1;
	out->list = grown;
	struct cli_recording *to = &out->list[out->count++];
	*to = (struct cli_recording){ .count = recording->count,
				      .valid = recording->valid,
				      .best_ms = recording->best_ms };
	(void)snprintf(to->op, sizeof to->op, "%s", recording->op);
	(void)snprintf(to->device, sizeof to->device, "%s", recording->device);
	(void)snprintf(to->source, sizeof to->source, "%s", recording->source);
	(void)snprintf(to->imported_at, sizeof to->imported_at, "%s", recording->imported_at);
	return 0;
}

enum tcb_status cli_recordings_load(struct tcb_db *db, const char *op, struct cli_recordings *out,
				    struct tcb_error *err)
{
	struct loading loading = { .op = op, .out = out };

	TCB_TRY(tcb_db_recording_each(db, NULL, NULL, add_recording, &loading, err));
	return loading.failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory") : TCB_OK;
}

void cli_recordings_fini(struct cli_recordings *recordings)
{
	free(recordings->list);
	*recordings = (struct cli_recordings){ 0 };
}

void cli_recording_text(const struct cli_recording *recording, char *out, size_t capacity)
{
	char best[48] = "all of them failures";

	if (isfinite(recording->best_ms))
		(void)snprintf(best, sizeof best, "%zu with a time, the best %.4g ms", recording->valid,
			       recording->best_ms);
	(void)snprintf(out, capacity,
		       "imported: %zu results of %s on %s from %s, %s; for replays and starts, not measured here",
		       recording->count, recording->op, recording->device, recording->source, best);
}

void cli_recordings_add(const struct cli_recordings *recordings, const char *bullet, struct tcb_str *out)
{
	char text[640];

	for (size_t i = 0; i < recordings->count; i++) {
		cli_recording_text(&recordings->list[i], text, sizeof text);
		cli_add_wrapped(out, 4, "%s%s", bullet, text);
	}
}

json_t *cli_recordings_json(const struct cli_recordings *recordings, int *failed)
{
	json_t *list = json_array();

	for (size_t i = 0; i < recordings->count; i++) {
		const struct cli_recording *recording = &recordings->list[i];
		json_t *object = json_object();

		cli_json_set(object, "op", cli_json_text(recording->op), failed);
		cli_json_set(object, "device", cli_json_text(recording->device), failed);
		cli_json_set(object, "source", cli_json_text(recording->source), failed);
		cli_json_set(object, "imported_at", cli_json_text(recording->imported_at), failed);
		cli_json_set(object, "results", cli_json_size(recording->count), failed);
		cli_json_set(object, "valid", cli_json_size(recording->valid), failed);
		cli_json_set(object, "best_ms", cli_json_real(recording->best_ms), failed);
		cli_json_add(list, object, failed);
	}
	return list;
}
