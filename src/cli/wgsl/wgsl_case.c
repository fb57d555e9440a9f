/* SPDX-License-Identifier: MIT
 *
 * One call of a kernel as files, so that whoever runs it elsewhere can see that it is
 * right: each operand that is read as it is bound, and of each output the right values
 * and how far off each may be, as f32.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "cli/wgsl/cmd_wgsl.h"
#include "kernels/wgsl/wgsl_code.h"
#include "worker/instance.h"

enum { SEED = 1 };

struct writing {
	const struct wgsl_served *served;
	const char *folder;
	struct tcb_instance *instance;
	json_t *rows;
	int failed;
};

/* FOLDER/OP.NAME.ENDING, of BYTES; OUT gets its name without the folder. */
static enum tcb_status put(const struct writing *w, const char *name, const char *ending, const void *data,
			   size_t bytes, json_t **out, struct tcb_error *err)
{
	char file[TCB_OP_NAME_MAX + 48], path[PATH_MAX];

	snprintf(file, sizeof file, "%s.%.16s.%s", w->served->op->name, name, ending);
	if (snprintf(path, sizeof path, "%s/%s", w->folder, file) >= (int)sizeof path)
		return tcb_fail(err, TCB_E_USAGE, "--out: the folder's name is too long");
	TCB_TRY(cli_write_file(path, data, bytes, err));
	*out = json_string(file);
	return TCB_OK;
}

/* As it is bound: packed where it is, up to a multiple of TCB_WGSL_ALIGN. */
static enum tcb_status put_input(struct writing *w, size_t index, json_t *row, struct tcb_error *err)
{
	const struct tcb_kernel *kernel = &w->served->kernel;
	const struct tcb_buffer *from = &w->instance->data[index];
	const int32_t layout = kernel->geometry.knob[TCB_KNOB_LAYOUT];
	const struct tcb_packed *packed;
	json_t *file = NULL;

	if (kernel->packed_bytes[index]) {
		TCB_TRY(tcb_instance_packed(w->instance, (enum tcb_layout)layout, kernel->packed_bytes, &packed, err));
		from = &packed->buffer[index];
	}
	const size_t bytes = tcb_round_up(from->bytes, TCB_WGSL_ALIGN);
	char *padded = calloc(1, bytes);
	if (!padded)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for an operand");
	memcpy(padded, from->data, from->bytes);
	const enum tcb_status status = put(w, w->instance->operands[index].name, "bin", padded, bytes, &file, err);
	free(padded);
	cli_json_set(row, "data", file, &w->failed);
	return status;
}

static enum tcb_status put_output(struct writing *w, size_t output, json_t *row, struct tcb_error *err)
{
	const struct tcb_kernel *kernel = &w->served->kernel;
	const struct tcb_output *of = &w->instance->output[output];
	const struct tcb_reference *reference = &w->instance->reference[output];
	const char *name = w->instance->operands[of->operand].name;
	const double gamma = tcb_gamma(kernel->chain), ulps = kernel->ulps * 0x1p-23;
	float *values = calloc(2 * of->count + 1, sizeof *values), *allowed = values + of->count;
	json_t *files[2] = { NULL, NULL };

	if (!values)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a result");
	for (size_t i = 0; i < of->count; i++) {
		const double y = reference->y[i];

		values[i] = (float)y;
		/* What rounding the right value takes is no fault of the kernel's. */
		allowed[i] = (float)(gamma * reference->magnitude[i] + reference->extra[i] + ulps * fabs(y) +
				     fabs((double)values[i] - y));
	}
	enum tcb_status status = put(w, name, "right.f32", values, of->count * sizeof *values, &files[0], err);
	if (status == TCB_OK)
		status = put(w, name, "allowed.f32", allowed, of->count * sizeof *values, &files[1], err);
	free(values);
	cli_json_set(row, "right", files[0], &w->failed);
	cli_json_set(row, "allowed", files[1], &w->failed);
	return status;
}

static enum tcb_status put_all(struct writing *w, struct tcb_error *err)
{
	for (size_t i = 0, output = 0; i < w->instance->operand_count; i++) {
		const struct tcb_operand *operand = &w->instance->operands[i];
		json_t *row = json_object();
		enum tcb_status status;

		cli_json_set(row, "name", cli_json_text(operand->name), &w->failed);
		if (operand->is_partly_written)
			status = tcb_fail(err, TCB_E_UNSUPPORTED,
					  "--case: op %s leaves some of %s as it was, which no case tells",
					  w->served->op->name, operand->name);
		else if (operand->role == TCB_ROLE_OUTPUT)
			status = put_output(w, output++, row, err);
		else
			status = put_input(w, i, row, err);
		cli_json_add(w->rows, row, &w->failed);
		TCB_TRY(status);
	}
	return TCB_OK;
}

enum tcb_status wgsl_write_case(const struct wgsl_served *served, const char *folder, json_t **out,
				struct tcb_error *err)
{
	struct writing w = { .served = served, .folder = folder, .rows = json_array() };
	enum tcb_status status = tcb_instance_create(served->op, &served->kernel.problem, SEED, NULL, &w.instance, err);

	if (status == TCB_OK)
		status = tcb_instance_reference(w.instance, NULL, err);
	if (status == TCB_OK)
		status = put_all(&w, err);
	tcb_instance_destroy(w.instance);
	if (status == TCB_OK && !w.failed) {
		*out = w.rows;
		return TCB_OK;
	}
	json_decref(w.rows);
	return status == TCB_OK ? tcb_fail(err, TCB_E_NOMEM, "out of memory for a case") : status;
}
