/* SPDX-License-Identifier: MIT
 *
 * The actions of `tcbtune db` that have files of their own, and what the
 * command line gave them.
 */
#ifndef TCB_CLI_DB_ACTIONS_H
#define TCB_CLI_DB_ACTIONS_H

#include "cli/core/emit.h"
#include "cli/core/setup.h"
#include "db/travel.h"

enum cli_db_action {
	CLI_DB_INFO,
	CLI_DB_CHECK,
	CLI_DB_MERGE,
	CLI_DB_EXPORT,
	CLI_DB_IMPORT,
	CLI_DB_FORGET,
	CLI_DB_PRUNE,
	CLI_DB_DIFF
};

struct cli_db_args {
	const struct tcb_registry *ops;
	int action; /* enum cli_db_action */
	struct cli_list files;
	const char *db, *op, *device, *shape, *out;
	int state; /* 0: both, else 1 + enum tcb_state */
	int format;
	uint64_t ties;
	int stale, all, dry_run, keep_samples, json;
};

/* The winners that ARGS are about; SHAPE is room for one. */
enum tcb_status cli_db_select(const struct cli_db_args *args, struct tcb_shape *shape, struct tcb_db_selection *out,
			      struct tcb_error *err);

/* db_travel.c */
enum { CLI_DB_HEADER, CLI_DB_JSON, CLI_DB_FILE, CLI_DB_T4, CLI_DB_CACHE }; /* formats */
enum tcb_status cli_db_export(const struct cli_db_args *args, struct tcb_error *err);
enum tcb_status cli_db_import(const struct cli_db_args *args, struct tcb_error *err);
/* db_recordings.c */
/* Has PATH results of another tuner (T4, cache), plain or gz?  Then they are put into DB, *COUNT_OUT configurations; 0:
 * it does not. */
enum tcb_status cli_recording_import(const struct cli_db_args *args, const char *path, struct tcb_db *db,
				     size_t *count_out, struct tcb_error *err);
/* Of the op in ARGS what was imported, or what was measured of one problem on one device, as T4 or as a cache. */
enum tcb_status cli_recording_export(const struct cli_db_args *args, struct tcb_db *db, struct tcb_error *err);

/* winner_json.c */
#define CLI_DB_EXPORT_SCHEMA "tcbtune.db-export.2"
#define CLI_DB_EXPORT_SCHEMA_1 "tcbtune.db-export.1" /* what device.limits has now was members of device */
json_t *cli_winner_json(const struct tcb_winner *winner, int *failed);
/* The winners that TEXT, an export, holds, into MEMORY; *COUNT_OUT: how many.  NAME is for messages. */
enum tcb_status cli_winners_parse(const char *name, const char *text, size_t bytes, struct tcb_db *memory,
				  size_t *count_out, struct tcb_error *err);

/* db_trim.c */
enum tcb_status cli_db_forget(const struct cli_db_args *args, struct tcb_error *err);
enum tcb_status cli_db_prune(const struct cli_db_args *args, struct tcb_error *err);

/* db_diff.c */
enum tcb_status cli_db_diff(const struct cli_db_args *args, struct tcb_error *err);

#endif
