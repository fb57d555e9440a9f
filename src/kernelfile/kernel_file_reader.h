/* SPDX-License-Identifier: MIT
 *
 * What the files that read a kernel's description share.
 */
#ifndef TCB_KERNELFILE_KERNEL_FILE_READER_H
#define TCB_KERNELFILE_KERNEL_FILE_READER_H

#include <jansson.h>

#include "kernelfile/kernel_file.h"

struct tcb_file_reader {
	struct tcb_kernel_file *file;
	struct tcb_error *err;
};

/* kernel_file_reader.c */
/* TCB_E_USAGE, with the file in front of what is wrong. */
enum tcb_status tcb_file_refuse(const struct tcb_file_reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* OBJECT's text KEY into *OUT, which is the caller's; NULL where there is none and MUST is 0. */
enum tcb_status tcb_file_text(const struct tcb_file_reader *reader, const json_t *object, const char *key, int must,
			      char **out);
/* MEMBER, a text, a number or a boolean, as an expression over the file's names so far. */
enum tcb_status tcb_file_expression(const struct tcb_file_reader *reader, const char *key, const json_t *member,
				    struct tcb_expression **out);
/* SOURCE, of the file's folder where it is relative; NULL without memory.  The caller's: free(). */
char *tcb_file_path(const struct tcb_kernel_file *file, const char *source);

/* kernel_file_specification.c: source, options and launch; and of our own keys Reference (NULL: none). */
enum tcb_status tcb_file_specification(const struct tcb_file_reader *reader, const json_t *specification);
enum tcb_status tcb_file_reference(const struct tcb_file_reader *reader, const json_t *reference);
/* kernel_file_arguments.c: all Arguments and ReferenceArguments. */
enum tcb_status tcb_file_arguments(const struct tcb_file_reader *reader, const json_t *specification);

#endif
