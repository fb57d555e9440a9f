/* SPDX-License-Identifier: MIT
 *
 * Opens FILE:TENSOR and reads activations, with every size checked before it
 * is used.
 */
#include "cli/core/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "kernels/formats.h"

enum { NAME_MAX_BYTES = 256 };

static enum tcb_status split_spec(const char *spec, char path[CLI_PATH_MAX], const char **name_out,
				  struct tcb_error *err)
{
	const char *colon = NULL;
	size_t length;

	for (const char *at = spec; (at = strstr(at, ".gguf:")); at++)
		colon = at + strlen(".gguf");
	if (!colon)
		colon = strchr(spec, ':');
	if (!colon || colon == spec || !colon[1])
		return tcb_fail(err, TCB_E_USAGE, "--weights wants FILE.gguf:TENSOR, not '%s'", spec);
	length = (size_t)(colon - spec);
	if (length >= CLI_PATH_MAX)
		return tcb_fail(err, TCB_E_USAGE, "--weights: the path is longer than %d bytes", CLI_PATH_MAX - 1);
	memcpy(path, spec, length);
	path[length] = '\0';
	*name_out = colon + 1;
	return TCB_OK;
}

static enum tcb_status tensor_unknown(const struct tcb_gguf *gguf, const char *path, const char *name,
				      struct tcb_error *err)
{
	size_t count = tcb_gguf_tensor_count(gguf);
	char *text = calloc(count + 1, NAME_MAX_BYTES);
	const char **names = calloc(count + 1, sizeof *names);
	const char *near[3];
	struct tcb_str list = { 0 };

	for (size_t i = 0; text && names && i < count; i++) {
		const struct tcb_gguf_string *own = &tcb_gguf_tensor(gguf, i)->name;
		size_t length = own->length < NAME_MAX_BYTES ? own->length : NAME_MAX_BYTES - 1;
		memcpy(text + i * NAME_MAX_BYTES, own->data, length);
		names[i] = text + i * NAME_MAX_BYTES;
	}
	if (text && names) {
		size_t few = cli_nearest_few(name, names, count, near, 3);
		for (size_t i = 0; i < few; i++)
			tcb_str_addf(&list, "%s%s", i ? ", " : "; the nearest are ", near[i]);
	}
	tcb_fail(err, TCB_E_NOT_FOUND, "%s has no tensor '%.100s'%.250s", path, name, list.data ? list.data : "");
	tcb_str_fini(&list);
	free(names);
	free(text);
	return TCB_E_NOT_FOUND;
}

static enum tcb_status check_tensor(const struct tcb_op *op, const char *path, const char *name,
				    struct cli_weights *weights, struct tcb_error *err)
{
	const struct tcb_gguf_tensor *tensor = tcb_gguf_find(weights->gguf, name);

	if (!tensor)
		return tensor_unknown(weights->gguf, path, name, err);
	if (strcmp(tensor->type_name, op->format->gguf_name) != 0)
		return tcb_fail(err, TCB_E_USAGE,
				"tensor %s is of type %s, but op %s needs %s; choose another tensor or op", name,
				tensor->type_name, op->name, op->format->gguf_name);
	if (tensor->dim_count != 2)
		return tcb_fail(err, TCB_E_USAGE, "tensor %s has %u dimensions, but op %s needs a matrix", name,
				tensor->dim_count, op->name);
	weights->tensor = tensor;
	weights->k = (size_t)tensor->dims[0];
	weights->n = (size_t)tensor->dims[1];
	return TCB_OK;
}

enum tcb_status cli_weights_open(const struct tcb_op *op, const char *spec, struct cli_weights *out,
				 struct tcb_error *err)
{
	const char *name = NULL;
	enum tcb_status status;

	memset(out, 0, sizeof *out);
	if (!op->format)
		return tcb_fail(err, TCB_E_USAGE, "op %s has no weights; 'tcbtune ops' shows which ops have", op->name);
	TCB_TRY(split_spec(spec, out->path, &name, err));
	TCB_TRY(tcb_gguf_open(out->path, &out->gguf, err));
	status = check_tensor(op, out->path, name, out, err);
	if (status != TCB_OK)
		cli_weights_close(out);
	return status;
}

void cli_weights_close(struct cli_weights *weights)
{
	tcb_gguf_close(weights->gguf);
	memset(weights, 0, sizeof *weights);
}

enum tcb_status cli_read_rows(const char *path, size_t k, float **out, size_t *rows_out, struct tcb_error *err)
{
	/* A pipe without a writer is not waited for: it is refused. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
	struct stat info;
	size_t row_bytes, bytes;
	enum tcb_status status = TCB_OK;

	*out = NULL;
	if (!file)
		return tcb_fail(err, TCB_E_IO, "cannot read %s: %s", path, strerror(errno));
	if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) {
		status = tcb_fail(err, TCB_E_IO, "cannot read %s: it is not a regular file", path);
		goto done;
	}
	if (tcb_mul_size(k, sizeof(float), &row_bytes) != 0) {
		status = tcb_fail(err, TCB_E_OVERFLOW, "rows of %zu floats are too long", k);
		goto done;
	}
	bytes = (size_t)info.st_size;
	if (bytes == 0 || bytes % row_bytes != 0) {
		status = tcb_fail(err, TCB_E_USAGE,
				  "%s has %zu bytes, but rows of K = %zu floats have %zu: give 1 or more whole rows of "
				  "32-bit floats",
				  path, bytes, k, row_bytes);
		goto done;
	}
	*out = malloc(bytes);
	if (!*out)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the %zu bytes of %s", bytes, path);
	else if (fread(*out, 1, bytes, file) != bytes)
		status = tcb_fail(err, TCB_E_IO, "cannot read all of %s", path);
	*rows_out = bytes / row_bytes;
done:
	fclose(file);
	if (status != TCB_OK) {
		free(*out);
		*out = NULL;
	}
	return status;
}
