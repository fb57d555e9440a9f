/* SPDX-License-Identifier: MIT
 *
 * Compiled candidates in a file: one program compiles them, another runs them,
 * with nothing in the second that a tool which watches a process (such as
 * compute-sanitizer) could stumble over: no assembler, no child, no database.
 */
#ifndef TCB_TESTS_CANDIDATE_FILE_H
#define TCB_TESTS_CANDIDATE_FILE_H

#include <stdio.h>

#include "kernels/code.h"

/* One candidate; its image follows it in the file. */
struct candidate_record {
	char magic[8];
	struct tcb_problem problem; /* that the geometry is for; the units have shapes of their own */
	char geometry[TCB_GEOMETRY_TEXT_MAX];
	uint32_t first_unit; /* units before it are not to be run */
	uint32_t is_planted; /* it has a defect on purpose */
	uint32_t state;      /* enum tcb_state: that it is to be timed in; 0 where that does not matter */
	char label[32];      /* what sets it apart from others of its geometry; empty: nothing */
	uint64_t image_bytes;
};

enum tcb_status candidate_write(FILE *file, struct candidate_record *record, const struct tcb_code_image *image,
				struct tcb_error *err);
/* The next one, its image owned by the caller: free().  *IMAGE_OUT NULL at the end of the file. */
enum tcb_status candidate_read(FILE *file, struct candidate_record *record_out, struct tcb_code_image **image_out,
			       struct tcb_error *err);

#endif
