/* SPDX-License-Identifier: MIT
 *
 * Whether the files of a database are those that were read, without opening
 * it: what the file system says of them, and the head of the log.
 */
#ifndef TCB_DB_STAMP_H
#define TCB_DB_STAMP_H

#include <stdint.h>

/* No padding: compared as it lies in memory.  Times are nanoseconds.  Of the log no time of change: SQLite changes its
 * owner, to the same, whenever root opens it. */
struct tcb_db_stamp {
	uint64_t inode, bytes, changed_ns, modified_ns;
	uint64_t log_inode, log_bytes, log_modified_ns; /* 0 where no log is, or an empty one */
	unsigned char log_head[32];
};

/*
 * stamp.c: 0, or -1 where there is no such file.  SETTLED_OUT (nullable): 1 if the last change is so long ago that a
 * further one cannot have had the same times, so that equal stamps mean equal files.
 *
 * The database itself is not opened: closing it would drop the locks that SQLite holds on it in this process.
 */
int tcb_db_stamp_take(const char *path, struct tcb_db_stamp *out, int *settled_out);

#endif
