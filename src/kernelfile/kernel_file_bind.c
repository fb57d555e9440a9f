/* SPDX-License-Identifier: MIT
 *
 * A shape and a geometry come in, what a file's names are worth goes out.
 */
#include "kernelfile/kernel_file.h"

#include <string.h>

#include "kernels/quant.h"

static struct tcb_value value_of(const struct tcb_file_parameter *parameter, const struct tcb_geometry *geometry)
{
	const int32_t set =
		geometry && parameter->place >= 0 ? geometry->knob[TCB_KNOB_COUNT + parameter->place] : TCB_KNOB_UNSET;

	if (set == TCB_KNOB_UNSET)
		return parameter->values[parameter->standard];
	if (!parameter->words)
		return (struct tcb_value){ .type = TCB_VALUE_WHOLE, .whole = set };
	return parameter->values[(size_t)set < parameter->count ? (size_t)set : parameter->standard];
}

void tcb_kernel_file_bind(const struct tcb_kernel_file *file, const struct tcb_shape *shape,
			  const struct tcb_geometry *geometry, struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX])
{
	size_t size[TCB_FILE_SIZES_MAX], at = 0;

	tcb_kernel_file_sizes(file, shape, size);
	for (; at < file->parameter_count; at++)
		bound[at] = value_of(&file->parameter[at], geometry);
	for (size_t i = 0; i < file->size_count && file->size_name[i]; i++)
		bound[at++] = (struct tcb_value){ .type = TCB_VALUE_WHOLE, .whole = (int64_t)size[i] };
	for (size_t i = 0; i < file->size_count; i++)
		bound[at++] = (struct tcb_value){ .type = TCB_VALUE_WHOLE, .whole = (int64_t)size[i] };
}

struct tcb_shape tcb_kernel_file_shape(const struct tcb_kernel_file *file, const size_t size[TCB_FILE_SIZES_MAX])
{
	struct tcb_shape shape = { .m = 1 };

	if (file->size_count == 1) {
		shape.n = size[0];
		return shape;
	}
	shape.m = size[0];
	shape.n = size[1];
	shape.k = file->size_count == 3 ? size[2] : 0;
	return shape;
}

void tcb_kernel_file_sizes(const struct tcb_kernel_file *file, const struct tcb_shape *shape,
			   size_t out[TCB_FILE_SIZES_MAX])
{
	memset(out, 0, TCB_FILE_SIZES_MAX * sizeof *out);
	out[0] = file->size_count == 1 ? shape->n : shape->m;
	if (file->size_count > 1)
		out[1] = shape->n;
	if (file->size_count > 2)
		out[2] = shape->k;
}

enum tcb_status tcb_kernel_file_count(const struct tcb_file_argument *argument, const struct tcb_value *bound,
				      size_t *count_out, size_t *bytes_out, struct tcb_error *err)
{
	int64_t count;

	TCB_TRY(tcb_expression_size(argument->count, bound, 1, &count, err));
	*count_out = (size_t)count;
	if (tcb_mul_size(*count_out, argument->type.bytes, bytes_out))
		return tcb_fail(err, TCB_E_OVERFLOW, "%s has more bytes than there are", argument->name);
	return TCB_OK;
}

void tcb_file_put(const struct tcb_file_type *type, double value, void *to)
{
	const float single = (float)value;
	const uint16_t half = tcb_f32_to_f16(single);
	const int64_t whole = (int64_t)value; /* little end first, so that its first bytes are the narrower ones */

	switch (type->element) {
	case TCB_FILE_FLOAT:
		memcpy(to, &single, sizeof single);
		break;
	case TCB_FILE_HALF:
		memcpy(to, &half, sizeof half);
		break;
	case TCB_FILE_DOUBLE:
		memcpy(to, &value, sizeof value);
		break;
	default:
		memcpy(to, &whole, type->element_bytes);
	}
}
