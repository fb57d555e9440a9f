/* SPDX-License-Identifier: MIT
 *
 * The stamp of a database's files.  Every commit changes the times of the file
 * or of its log; the kernel counts them in ticks of up to 10 ms, some file
 * systems in seconds.
 */
#include "db/stamp.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

enum { TICKS_NS = 50000000 };                            /* five of the slowest */
static const uint64_t SECONDS_NS = UINT64_C(2100000000); /* FAT counts in steps of two seconds */

static uint64_t ns_of(struct timespec time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* The log's salts change whenever it begins at its head again.  SQLite holds no locks on the log. */
static void read_head(const char *path, unsigned char out[32])
{
	int fd = tcb_file_open_regular(path, O_RDONLY);

	if (fd < 0)
		return;
	if (pread(fd, out, 32, 0) != 32)
		memset(out, 0xff, 32);
	close(fd);
}

static uint64_t latest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

int tcb_db_stamp_take(const char *path, struct tcb_db_stamp *out, int *settled_out)
{
	struct timespec now;
	struct stat info;
	char log[512 + 8];
	uint64_t last, wait = TICKS_NS;

	memset(out, 0, sizeof(*out));
	if (settled_out)
		*settled_out = 0;
	clock_gettime(CLOCK_REALTIME, &now);
	if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
		return -1;
	out->inode = (uint64_t)info.st_ino;
	out->bytes = (uint64_t)info.st_size;
	out->changed_ns = ns_of(info.st_ctim);
	out->modified_ns = ns_of(info.st_mtim);
	if (snprintf(log, sizeof(log), "%s-wal", path) < (int)sizeof(log) && stat(log, &info) == 0 &&
	    info.st_size > 0) {
		out->log_inode = (uint64_t)info.st_ino;
		out->log_bytes = (uint64_t)info.st_size;
		out->log_modified_ns = ns_of(info.st_mtim);
		read_head(log, out->log_head);
	}
	last = latest(latest(out->changed_ns, out->modified_ns), out->log_modified_ns);
	if (last % 1000000000u == 0)
		wait = SECONDS_NS;
	if (settled_out)
		*settled_out = ns_of(now) > last && ns_of(now) - last > wait;
	return 0;
}
