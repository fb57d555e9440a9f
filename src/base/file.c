/* SPDX-License-Identifier: MIT
 *
 * Opening files that nobody named: what lies beside a database or in a cache
 * folder may have been put there by anyone.  A FIFO would be waited for without
 * end, and a device may do anything when it is read.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int tcb_file_open_regular(const char *path, int flags)
{
	/* O_NONBLOCK means nothing to a regular file; without it open() itself waits for a FIFO's other end. */
	const int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);
	struct stat info;

	if (fd < 0)
		return -1;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

FILE *tcb_file_open_stream(const char *path)
{
	const int fd = tcb_file_open_regular(path, O_RDONLY);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !stream)
		close(fd);
	return stream;
}

/* PATH's folder and the one that it is in. */
static void make_folders(char *path)
{
	char *slash[2];

	slash[1] = strrchr(path, '/');
	*slash[1] = '\0';
	slash[0] = strrchr(path, '/');
	if (slash[0] && slash[0] != path) {
		*slash[0] = '\0';
		(void)mkdir(path, 0700);
		*slash[0] = '/';
	}
	(void)mkdir(path, 0700);
	*slash[1] = '/';
}

int tcb_file_in_cache(const char *name, int make, char *out, size_t capacity)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const int is_cache = cache && *cache == '/', is_home = home && *home == '/';

	if ((!is_cache && !is_home) || (size_t)snprintf(out, capacity, "%s%s/tcbtune/%s", is_cache ? cache : home,
							is_cache ? "" : "/.cache", name) >= capacity)
		return 0;
	if (make)
		make_folders(out);
	return 1;
}
