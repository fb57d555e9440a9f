/* SPDX-License-Identifier: MIT
 *
 * Files that are looked at without having been named by anybody.
 */
#ifndef TCB_BASE_FILE_H
#define TCB_BASE_FILE_H

/* file.c: open() with FLAGS, closed on exec, of a regular file: -1 and errno EINVAL for anything else, at once. */
int tcb_file_open_regular(const char *path, int flags);

#endif
