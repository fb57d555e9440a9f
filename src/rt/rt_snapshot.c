/* SPDX-License-Identifier: MIT
 *
 * Snapshots: an image as a file beside its database ("tuning.db.snapshot"), or
 * where that folder cannot be written in the user's cache folder.  It stands
 * for the database only as long as that is the one that was read (db/stamp.h),
 * and the library and host are (rt_stamp_library); whatever is wrong with it, it
 * is as if it were not there.
 *
 * It is written beside its place, synced and renamed, so that what is there is
 * always whole: a process that maps the one before keeps that.  Only a file of
 * the user's own, or of root's, is trusted: what others write into a shared
 * folder is not.  What a process left that was killed while it wrote is removed
 * by the next one that writes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/util.h"
#include "rt/runtime.h"

enum { PATH_ROOM = 1024 };

static int name_beside(const char *database, char out[PATH_ROOM])
{
	return snprintf(out, PATH_ROOM, "%s.snapshot", database) < PATH_ROOM;
}

/* The name holds a hash of the database's.  MAKE: its folder is made. */
static int name_in_cache(const char *database, int make, char out[PATH_ROOM])
{
	char *whole = realpath(database, NULL);
	char hash[17], name[sizeof hash + sizeof ".snapshot"];

	if (!whole)
		return 0;
	tcb_hash_hex(whole, strlen(whole), hash);
	free(whole);
	snprintf(name, sizeof name, "%s.snapshot", hash);
	return tcb_file_in_cache(name, make, out, PATH_ROOM);
}

static void *map_file(const char *path, size_t *bytes_out)
{
	int fd = tcb_file_open_regular(path, O_RDONLY | O_NOFOLLOW);
	void *memory = MAP_FAILED;
	struct stat info;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &info) == 0 && (info.st_uid == geteuid() || info.st_uid == 0) &&
	    (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 && info.st_size >= (off_t)sizeof(struct rt_image_header)) {
		*bytes_out = (size_t)info.st_size;
		memory = mmap(NULL, *bytes_out, PROT_READ, MAP_SHARED, fd, 0);
	}
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

/* So few are looked at when they are opened: it takes less than a millisecond. */
enum { LOOKED_AT_ONCE = 2048 };

static int entries_are_sound(const struct rt_image *image)
{
	for (uint32_t i = 0; image->entry_count <= LOOKED_AT_ONCE && i < image->entry_count; i++)
		if (!rt_image_entry_is_sound(image, i))
			return 0;
	return 1;
}

static int load_file(const char *path, const struct tcb_db_stamp *stamp, uint64_t library, struct rt_layer *out)
{
	size_t bytes = 0;
	void *memory = map_file(path, &bytes);
	const struct rt_image_header *header = memory;

	if (!memory)
		return 0;
	/* Of a stale one no more than the first page is read. */
	if (header->library == library && memcmp(&header->database, stamp, sizeof(*stamp)) == 0 &&
	    rt_image_open(memory, bytes, &out->image) == 0 && entries_are_sound(&out->image)) {
		out->memory = memory;
		out->is_mapped = 1;
		(void)snprintf(out->snapshot, sizeof(out->snapshot), "%s", path);
		return 1;
	}
	memset(&out->image, 0, sizeof(out->image));
	munmap(memory, bytes);
	return 0;
}

void rt_snapshot_load(const char *path, const struct tcb_db_stamp *stamp, uint64_t library, struct rt_layer *out)
{
	char name[PATH_ROOM];

	if (name_beside(path, name) && load_file(name, stamp, library, out))
		return;
	if (name_in_cache(path, 0, name))
		load_file(name, stamp, library, out);
}

static int write_all(int fd, const unsigned char *bytes, size_t count)
{
	while (count > 0) {
		const ssize_t written = write(fd, bytes, count);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return -1;
		bytes += written;
		count -= (size_t)written;
	}
	return 0;
}

enum { SUFFIX = 7 }; /* ".XXXXXX" of a file that is being written */
static const time_t ABANDONED_SECONDS = 600;

/* Is the file of that NAME in FOLDER one that a killed process of this user's left of BASE? */
static int is_abandoned(int folder, const char *name, const char *base)
{
	const size_t length = strlen(base);
	struct stat info;

	return strncmp(name, base, length) == 0 && name[length] == '.' && strlen(name) == length + SUFFIX &&
	       fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
	       info.st_uid == geteuid() && info.st_mtime < time(NULL) - ABANDONED_SECONDS;
}

static void remove_abandoned(const char *path)
{
	char where[PATH_ROOM];
	char *slash;
	DIR *folder;

	(void)snprintf(where, sizeof(where), "%s", path);
	slash = strrchr(where, '/');
	if (slash)
		*slash = '\0';
	folder = opendir(!slash ? "." : slash == where ? "/" : where);
	for (const struct dirent *entry; folder && (entry = readdir(folder));)
		if (is_abandoned(dirfd(folder), entry->d_name, slash ? slash + 1 : path))
			(void)unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
}

/* 0 where it could be written. */
static int save_file(const char *path, const void *image, size_t bytes)
{
	char other[PATH_ROOM + SUFFIX + 1];
	int fd, failed;

	remove_abandoned(path);
	(void)snprintf(other, sizeof(other), "%s.XXXXXX", path);
	fd = mkstemp(other);
	if (fd < 0)
		return -1;
	failed = write_all(fd, image, bytes) || fdatasync(fd);
	failed |= close(fd);
	if (!failed)
		failed = rename(other, path);
	if (failed)
		unlink(other);
	return failed;
}

static int save_as(const char *name, struct rt_layer *layer)
{
	if (save_file(name, layer->memory, (size_t)layer->image.header->bytes))
		return 0;
	(void)snprintf(layer->snapshot, sizeof(layer->snapshot), "%s", name);
	return 1;
}

void rt_snapshot_save(struct rt_layer *layer)
{
	char name[PATH_ROOM];

	if (name_beside(layer->path, name) && save_as(name, layer))
		return;
	if (name_in_cache(layer->path, 1, name))
		save_as(name, layer);
}
