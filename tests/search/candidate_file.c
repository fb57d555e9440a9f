/* SPDX-License-Identifier: MIT
 *
 * In: candidates and their code.  Out: a file of them, and back.  Written and
 * read by programs of the same build, so structs go as they are.
 */
#include "candidate_file.h"

#include <stdlib.h>
#include <string.h>

static const char magic[8] = { 'T', 'C', 'B', 'C', 'A', 'N', 'D', '2' };
enum { IMAGE_BYTES_MAX = 1 << 28 };

enum tcb_status candidate_write(FILE *file, struct candidate_record *record, const struct tcb_code_image *image,
				struct tcb_error *err)
{
	memcpy(record->magic, magic, sizeof record->magic);
	record->image_bytes = image->bytes;
	if (fwrite(record, sizeof *record, 1, file) != 1 || fwrite(image, image->bytes, 1, file) != 1)
		return tcb_fail(err, TCB_E_IO, "cannot write a candidate");
	return TCB_OK;
}

enum tcb_status candidate_read(FILE *file, struct candidate_record *record_out, struct tcb_code_image **image_out,
			       struct tcb_error *err)
{
	size_t bytes = fread(record_out, 1, sizeof *record_out, file);

	*image_out = NULL;
	if (bytes == 0 && feof(file))
		return TCB_OK;
	if (bytes != sizeof *record_out || memcmp(record_out->magic, magic, sizeof magic) != 0 ||
	    record_out->image_bytes > IMAGE_BYTES_MAX ||
	    !memchr(record_out->geometry, '\0', sizeof record_out->geometry) ||
	    !memchr(record_out->label, '\0', sizeof record_out->label) || record_out->state >= TCB_STATE_COUNT ||
	    !memchr(record_out->problem.op_name, '\0', sizeof record_out->problem.op_name))
		return tcb_fail(err, TCB_E_FORMAT, "not a file of candidates of this build");
	record_out->problem.op = tcb_op_find(record_out->problem.op_name);
	struct tcb_code_image *image = malloc(record_out->image_bytes + 1);
	if (!image)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a candidate's code");
	if (fread(image, 1, record_out->image_bytes, file) != record_out->image_bytes ||
	    !tcb_code_image_valid(&tcb_language_ptx, image, record_out->image_bytes)) {
		free(image);
		return tcb_fail(err, TCB_E_FORMAT, "a file of candidates that is damaged or cut short");
	}
	*image_out = image;
	return TCB_OK;
}
