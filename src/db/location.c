/* SPDX-License-Identifier: MIT
 *
 * Where the database is: the option, else TCBTUNE_DB, else the user's data
 * folder as the XDG base directory specification has it; and where the system's
 * is, which is below it: beside the installation that this code was loaded from,
 * wherever that was moved, else in the prefix that it was built for.
 */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
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

/* The file that ADDRESS of this process was loaded from into OUT, as the kernel names it: the shared library, or the
 * program where it was linked statically.  0: not told. */
static int find_object(uintptr_t address, char out[PATH_MAX])
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t room = 0;
	int is_found = 0;

	while (maps && !is_found && getline(&line, &room, maps) > 0) {
		unsigned long from, to;
		int path = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &from, &to, &path) == 2 && address >= from &&
		    address < to && path && line[path] == '/')
			is_found = snprintf(out, PATH_MAX, "%s", line + path) < PATH_MAX;
	}
	free(line);
	if (maps)
		fclose(maps);
	return is_found;
}

/* A file that only the user, the administrator or who installed OBJECT may have put there. */
static int is_trusted(const char *path, const char *object)
{
	struct stat file, owner;

	if (stat(path, &file) != 0 || !S_ISREG(file.st_mode) || (file.st_mode & S_IWOTH))
		return 0;
	return file.st_uid == 0 || file.st_uid == geteuid() ||
	       (stat(object, &owner) == 0 && owner.st_uid == file.st_uid);
}

/* From the folder of an installed program or library to the data folder of its prefix; "" where that is elsewhere. */
static const char *const to_data[] = { TCB_BIN_TO_DATA, TCB_LIB_TO_DATA };

/* The database of the installation that this code belongs to. */
static int find_installed(char *out, size_t capacity)
{
	char object[PATH_MAX], path[2 * PATH_MAX];
	char *whole;
	int is_found = 0;

	if (!find_object((uintptr_t)find_installed, object))
		return 0;
	for (size_t i = 0; i < sizeof(to_data) / sizeof(*to_data) && !is_found; i++) {
		const int folder = (int)(strrchr(object, '/') - object);

		snprintf(path, sizeof(path), "%.*s/%s/tcbtune/system.db", folder, object, to_data[i]);
		whole = *to_data[i] ? realpath(path, NULL) : NULL;
		is_found = whole && is_trusted(whole, object) && copy_path(out, capacity, NULL, whole, "") == TCB_OK;
		free(whole);
	}
	return is_found;
}

int tcb_db_system_path(char *out, size_t capacity)
{
	const char *variable = getenv("TCBTUNE_SYSTEM_DB");

	if (variable)
		return *variable && copy_path(out, capacity, NULL, variable, "") == TCB_OK;
	if (find_installed(out, capacity))
		return 1;
	return copy_path(out, capacity, NULL, TCB_SYSTEM_DB, "") == TCB_OK && access(out, F_OK) == 0;
}
