/* SPDX-License-Identifier: MIT
 *
 * Where the database is: the option, else TCBTUNE_DB, else the user's data
 * folder as the XDG base directory specification has it; and where the system's
 * is, which is below it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/db.h"

/* Creates every folder of PATH, whose last component is a file. */
static enum tcb_status make_folders(char *path, struct tcb_error *err)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int failed;

		*slash = '\0';
		failed = mkdir(path, 0700) != 0 && errno != EEXIST;
		if (failed)
			return tcb_fail(
				err, TCB_E_IO,
				"%s: cannot create the folder of the default database (%s): use --db or TCBTUNE_DB",
				path, strerror(errno));
		*slash = '/';
	}
	return TCB_OK;
}

static enum tcb_status copy_path(char *out, size_t capacity, struct tcb_error *err, const char *folder,
				 const char *rest)
{
	int length = snprintf(out, capacity, "%s%s", folder, rest);

	if (length < 0 || (size_t)length >= capacity)
		return tcb_fail(err, TCB_E_USAGE, "%.60s...: the path of the database is too long: at most %zu bytes",
				folder, capacity - 1);
	return TCB_OK;
}

enum tcb_status tcb_db_path(const char *option, enum tcb_db_mode mode, char *out, size_t capacity,
			    struct tcb_error *err)
{
	const char *variable = getenv("TCBTUNE_DB");
	const char *data = getenv("XDG_DATA_HOME");
	const char *home = getenv("HOME");

	if (option && !*option)
		return tcb_fail(err, TCB_E_USAGE, "the path of the database is empty: give --db a file name");
	if (option)
		return copy_path(out, capacity, err, option, "");
	if (variable && *variable)
		return copy_path(out, capacity, err, variable, "");
	/* The specification has relative paths ignored. */
	if (data && *data == '/')
		TCB_TRY(copy_path(out, capacity, err, data, "/tcbtune/tuning.db"));
	else if (home && *home == '/')
		TCB_TRY(copy_path(out, capacity, err, home, "/.local/share/tcbtune/tuning.db"));
	else
		return tcb_fail(err, TCB_E_USAGE,
				"no place for the database: give --db, or set TCBTUNE_DB, XDG_DATA_HOME or HOME");
	return mode == TCB_DB_WRITE ? make_folders(out, err) : TCB_OK;
}

int tcb_db_system_path(char *out, size_t capacity)
{
	const char *variable = getenv("TCBTUNE_SYSTEM_DB");

	if (variable)
		return *variable && copy_path(out, capacity, NULL, variable, "") == TCB_OK;
	return copy_path(out, capacity, NULL, TCB_SYSTEM_DB, "") == TCB_OK && access(out, F_OK) == 0;
}
