/* SPDX-License-Identifier: MIT
 *
 * Opening files that nobody named: what lies beside a database or in a cache
 * folder may have been put there by anyone.  A FIFO would be waited for without
 * end, and a device may do anything when it is read.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
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
