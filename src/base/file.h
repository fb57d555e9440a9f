/* SPDX-License-Identifier: MIT
 *
 * Files that are looked at without having been named by anybody.
 */
#ifndef TCB_BASE_FILE_H
#define TCB_BASE_FILE_H

#include <stddef.h>
#include <stdio.h>

/* file.c: open() with FLAGS, closed on exec, of a regular file: -1 and errno EINVAL for anything else, at once. */
int tcb_file_open_regular(const char *path, int flags);
/* The same, to be read as a stream; NULL and errno. */
FILE *tcb_file_open_stream(const char *path);

/* The path of NAME in the user's cache folder for tcbtune, by the XDG base directory specification; MAKE: the folder is
 * made.  0: there is none, or its path has not room in CAPACITY bytes. */
int tcb_file_in_cache(const char *name, int make, char *out, size_t capacity);

#endif
