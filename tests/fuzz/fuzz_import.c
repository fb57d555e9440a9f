/* SPDX-License-Identifier: MIT
 *
 * Importing what others wrote: any bytes, as the JSON of an export.  They are
 * refused with a line that names the file, or they are winners that a database
 * takes and is sound with, and that add nothing when they are imported again.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/db/db_actions.h"
#include "fuzz.h"

static void must(enum tcb_status status, const struct tcb_error *err)
{
	if (status == TCB_OK)
		return;
	fprintf(stderr, "%s\n", err->message);
	abort();
}

/* The winners of the input into DB; how many were added or replaced, or SIZE_MAX where they are refused. */
static size_t import(struct tcb_db *db, const uint8_t *data, size_t bytes)
{
	struct tcb_db_merged merged = { .best = SIZE_MAX };
	struct tcb_error err = { .message = "" };
	struct tcb_db *memory;
	size_t count;

	must(tcb_db_memory("winners of input.json", &memory, &err), &err);
	enum tcb_status status = cli_winners_parse("input.json", (const char *)data, bytes, memory, &count, &err);
	if (status == TCB_OK)
		status = tcb_db_mark_imported(memory, "input.json", &err);
	if (status == TCB_OK)
		must(tcb_db_import(db, memory, &merged, &err), &err);
	else
		FUZZ_CHECK(strstr(err.message, "input.json"));
	tcb_db_close(memory);
	return merged.best;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tcb_error err = { .message = "" };
	struct tcb_db *db;

	must(tcb_db_memory("target", &db, &err), &err);
	if (import(db, data, bytes) != SIZE_MAX) {
		must(tcb_db_check(db, NULL, NULL, &err), &err);
		FUZZ_CHECK(import(db, data, bytes) == 0);
	}
	tcb_db_close(db);
	return 0;
}
