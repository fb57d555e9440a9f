/* SPDX-License-Identifier: MIT
 *
 * What the vectors of a described kernel are: as operands, filled, and as what is right.
 */
#include "kernelfile/file_data.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/util.h"

/* By how much an output may miss what is right, where the file does not say: as shares of the value and of the root
 * mean square of all. */
static const double RELATIVE = 1e-4;
/* The same of doubles; of whole numbers by nothing. */
static const double RELATIVE_WIDE = 1e-10;

enum tcb_type tcb_file_type(const struct tcb_file_argument *argument)
{
	switch (argument->type.element) {
	case TCB_FILE_FLOAT:
		return TCB_TYPE_F32;
	case TCB_FILE_HALF:
		return TCB_TYPE_F16;
	case TCB_FILE_DOUBLE:
		return TCB_TYPE_F64;
	default:
		return argument->type.element == TCB_FILE_UNSIGNED && argument->type.element_bytes == sizeof(uint32_t)
			       ? TCB_TYPE_U32
			       : TCB_TYPE_I32;
	}
}

size_t tcb_file_operands(const struct tcb_kernel_file *file, const struct tcb_shape *shape,
			 struct tcb_operand out[TCB_OPERANDS_MAX])
{
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX];
	size_t operand_count = 0;

	tcb_kernel_file_bind(file, shape, NULL, bound);
	for (size_t i = 0; i < file->argument_count; i++) {
		const struct tcb_file_argument *argument = &file->argument[i];
		size_t count = 1, bytes = argument->type.bytes;

		if (argument->memory != TCB_FILE_VECTOR)
			continue;
		(void)tcb_kernel_file_count(argument, bound, &count, &bytes, NULL); /* check_shape has seen it */
		out[operand_count++] = (struct tcb_operand){
			.name = argument->name,
			.role = argument->is_output ? TCB_ROLE_OUTPUT : TCB_ROLE_INPUT,
			.type = tcb_file_type(argument),
			.rows = 1,
			.cols = bytes / argument->type.element_bytes,
			.bytes = bytes,
			.streams = 1,
			.is_updated = argument->is_updated,
		};
	}
	return operand_count;
}

/* --- filling --- */

/* From -1 to 1; of whole numbers 0 to 99, bytes included. */
static void fill_random(const struct tcb_file_argument *argument, struct tcb_rng *rng, size_t count, char *to)
{
	const int is_whole = argument->type.element >= TCB_FILE_SIGNED;

	for (size_t i = 0; i < count; i++, to += argument->type.element_bytes)
		tcb_file_put(&argument->type, is_whole ? (double)tcb_rng_below(rng, 100) : 2 * tcb_rng_unit(rng) - 1,
			     to);
}

int tcb_file_read_raw(const char *path, size_t bytes, char *to)
{
	FILE *file = tcb_file_open_stream(path);
	const size_t got = file ? fread(to, 1, bytes, file) : 0;

	memset(to + got, 0, bytes - got);
	if (file)
		fclose(file);
	return got == bytes ? 0 : -1;
}

void tcb_file_fill(const struct tcb_kernel_file *file, const struct tcb_shape *shape, uint64_t seed,
		   void *const operand[])
{
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX], value;
	size_t count, bytes;

	tcb_kernel_file_bind(file, shape, NULL, bound);
	for (size_t i = 0; i < file->argument_count; i++) {
		const struct tcb_file_argument *argument = &file->argument[i];
		struct tcb_rng rng;

		if (argument->memory != TCB_FILE_VECTOR || (argument->is_output && !argument->is_updated) ||
		    !operand[argument->operand] ||
		    tcb_kernel_file_count(argument, bound, &count, &bytes, NULL) != TCB_OK)
			continue;
		char *to = operand[argument->operand];
		const size_t elements = bytes / argument->type.element_bytes;

		tcb_rng_init(&rng, seed + 0x9e3779b97f4a7c15u * (i + 1));
		if (argument->fill == TCB_FILE_RAW)
			(void)tcb_file_read_raw(argument->source, bytes, to);
		else if (argument->fill == TCB_FILE_RANDOM)
			fill_random(argument, &rng, elements, to);
		else if (!argument->value || tcb_expression_value(argument->value, bound, &value, NULL) != TCB_OK ||
			 value.type == TCB_VALUE_TEXT)
			memset(to, 0, bytes);
		else
			for (size_t e = 0; e < elements; e++)
				tcb_file_put(&argument->type,
					     value.type == TCB_VALUE_REAL ? value.real : (double)value.whole,
					     to + e * argument->type.element_bytes);
	}
}

/* --- what is right --- */

void tcb_file_take_right(const struct tcb_file_argument *argument, const struct tcb_operand *operand,
			 const void *values, struct tcb_reference *out)
{
	const enum tcb_type type = tcb_file_type(argument);
	const double otherwise = type == TCB_TYPE_F64                           ? RELATIVE_WIDE
				 : type == TCB_TYPE_I32 || type == TCB_TYPE_U32 ? 0
										: RELATIVE;
	const double relative = isnan(argument->relative) ? otherwise : argument->relative;
	const size_t count = operand->cols;
	double squares = 0, absolute = argument->absolute;

	for (size_t i = 0; i < count; i++) {
		out->y[i] = tcb_operand_value(operand, values, i);
		squares += isfinite(out->y[i]) ? out->y[i] * out->y[i] : 0;
	}
	if (isnan(absolute)) /* and the share is enough where the file gives one */
		absolute = isnan(argument->relative) ? otherwise * sqrt(squares / (double)count) : 0;
	for (size_t i = 0; i < count; i++) {
		out->magnitude[i] = 0;
		out->extra[i] = absolute + relative * fabs(out->y[i]);
	}
}

/* --- is it there --- */

/* 0 of what is not a file to be read. */
static size_t file_bytes(const char *path)
{
	const int fd = tcb_file_open_regular(path, O_RDONLY);
	struct stat found = { .st_size = 0 };

	if (fd >= 0) {
		(void)fstat(fd, &found);
		close(fd);
	}
	return (size_t)found.st_size;
}

enum tcb_status tcb_file_check_vectors(const struct tcb_kernel_file *file, const struct tcb_value *bound,
				       struct tcb_error *err)
{
	size_t count, bytes;

	for (size_t i = 0; i < file->argument_count; i++) {
		const struct tcb_file_argument *argument = &file->argument[i];
		const char *source = argument->right ? argument->right : argument->source;

		if (argument->memory != TCB_FILE_VECTOR)
			continue;
		TCB_TRY(tcb_kernel_file_count(argument, bound, &count, &bytes, err));
		if (source && file_bytes(source) < bytes)
			return tcb_fail(err, TCB_E_USAGE,
					"%.200s: the DataSource of %.40s has %zu bytes, and %zu are needed", file->path,
					argument->name, file_bytes(source), bytes);
	}
	return TCB_OK;
}

enum tcb_status tcb_file_check_arguments(const struct tcb_kernel_file *file, struct tcb_error *err)
{
	for (size_t i = 0; i < file->argument_count; i++) {
		const char *source = file->argument[i].right ? file->argument[i].right : file->argument[i].source;

		if (source && access(source, R_OK) != 0)
			return tcb_fail(err, TCB_E_NOT_FOUND,
					"%.200s: the DataSource of %.40s, %.200s, cannot be read (%s)", file->path,
					file->argument[i].name, source, strerror(errno));
		if (file->argument[i].is_output &&
		    tcb_element_bytes(tcb_file_type(&file->argument[i])) != file->argument[i].type.element_bytes)
			return tcb_fail(
				err, TCB_E_UNSUPPORTED,
				"%.200s: output %.40s is of %s; outputs of float, half, double, int32 and uint32 "
				"are compared",
				file->path, file->argument[i].name, file->argument[i].type.name);
	}
	return TCB_OK;
}
