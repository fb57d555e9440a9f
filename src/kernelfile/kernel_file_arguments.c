/* SPDX-License-Identifier: MIT
 *
 * The arguments of a kernel, as its file lists them: in: rows of JSON; out: vectors and scalars with
 * their types, sizes and fills, and what is right of those that are outputs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernelfile/kernel_file_reader.h"

static int read_type(const char *name, struct tcb_file_type *out)
{
	static const struct tcb_file_type types[] = {
		{ "float", 4, TCB_FILE_FLOAT, 4 },   { "half", 2, TCB_FILE_HALF, 2 },
		{ "double", 8, TCB_FILE_DOUBLE, 8 }, { "bool", 1, TCB_FILE_UNSIGNED, 1 },
		{ "int8", 1, TCB_FILE_SIGNED, 1 },   { "uint8", 1, TCB_FILE_UNSIGNED, 1 },
		{ "int16", 2, TCB_FILE_SIGNED, 2 },  { "uint16", 2, TCB_FILE_UNSIGNED, 2 },
		{ "int32", 4, TCB_FILE_SIGNED, 4 },  { "uint32", 4, TCB_FILE_UNSIGNED, 4 },
		{ "int64", 8, TCB_FILE_SIGNED, 8 },  { "uint64", 8, TCB_FILE_UNSIGNED, 8 },
		{ "int", 4, TCB_FILE_SIGNED, 4 },    { "uint", 4, TCB_FILE_UNSIGNED, 4 },
	};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		const size_t length = strlen(types[i].name);
		const char *lanes = name + length;

		if (strncmp(name, types[i].name, length) != 0)
			continue;
		const unsigned count = *lanes ? (unsigned)strtoul(lanes, NULL, 10) : 1;
		const int is_vector = strcmp(lanes, "2") == 0 || strcmp(lanes, "4") == 0 || strcmp(lanes, "8") == 0 ||
				      strcmp(lanes, "16") == 0;

		if (*lanes && !is_vector)
			continue;
		*out = types[i];
		out->bytes = types[i].bytes * count;
		return 0;
	}
	return -1;
}

static enum tcb_status read_source(const struct tcb_file_reader *reader, const json_t *row, char **out)
{
	char *source;

	TCB_TRY(tcb_file_text(reader, row, "DataSource", 1, &source));
	*out = tcb_file_path(reader->file, source);
	free(source);
	return *out ? TCB_OK : tcb_fail(reader->err, TCB_E_NOMEM, "out of memory for a kernel's file");
}

static enum tcb_status read_fill(const struct tcb_file_reader *reader, const json_t *row,
				 struct tcb_file_argument *argument)
{
	const char *fill = json_string_value(json_object_get(row, "FillType"));
	const json_t *value = json_object_get(row, "FillValue");

	argument->fill = argument->memory == TCB_FILE_SCALAR || (fill && strcmp(fill, "Constant") == 0)
				 ? TCB_FILE_CONSTANT
				 : TCB_FILE_RANDOM;
	if (fill && strcmp(fill, "BinaryRaw") == 0 && argument->memory != TCB_FILE_SCALAR) {
		argument->fill = TCB_FILE_RAW;
		return read_source(reader, row, &argument->source);
	}
	if (fill && strcmp(fill, "Constant") != 0 && strcmp(fill, "Random") != 0)
		return tcb_file_refuse(reader, "%s: the FillType is %.40s; Constant, Random and BinaryRaw are known",
				       argument->name, fill);
	if (argument->memory == TCB_FILE_SCALAR && (!value || (fill && strcmp(fill, "Constant") != 0)))
		return tcb_file_refuse(reader, "%s: a scalar needs a FillType Constant and a FillValue",
				       argument->name);
	if (argument->fill == TCB_FILE_CONSTANT && value)
		return tcb_file_expression(reader, argument->name, value, &argument->value);
	return TCB_OK;
}

static enum tcb_status read_memory(const struct tcb_file_reader *reader, const char *memory,
				   struct tcb_file_argument *argument)
{
	static const char *const names[] = {
		[TCB_FILE_VECTOR] = "Vector", [TCB_FILE_SCALAR] = "Scalar", [TCB_FILE_LOCAL] = "Local"
	};
	const int which = memory ? tcb_text_find(names, sizeof names / sizeof *names, memory) : -1;

	if (which < 0)
		return tcb_file_refuse(reader, "%s: the MemoryType is %.40s; Vector, Scalar and Local are known",
				       argument->name, memory ? memory : "missing");
	argument->memory = (enum tcb_file_memory)which;
	if (argument->memory == TCB_FILE_LOCAL && reader->file->kernel.language != TCB_FILE_OPENCL)
		return tcb_file_refuse(reader,
				       "%s: only OpenCL C has arguments that are Local; SharedMemory says how "
				       "much a kernel in CUDA takes",
				       argument->name);
	if (argument->memory == TCB_FILE_SCALAR && argument->type.bytes != argument->type.element_bytes)
		return tcb_file_refuse(reader, "%s: a scalar of several values is not supported", argument->name);
	return TCB_OK;
}

static enum tcb_status read_size(const struct tcb_file_reader *reader, const json_t *row,
				 struct tcb_file_argument *argument)
{
	const json_t *size = json_object_get(row, "Size");

	return size ? tcb_file_expression(reader, argument->name, size, &argument->count)
		    : tcb_file_refuse(reader, "%s: the Size of a vector is missing", argument->name);
}

static enum tcb_status read_vector(const struct tcb_file_reader *reader, const json_t *row,
				   struct tcb_file_argument *argument)
{
	const char *access = json_string_value(json_object_get(row, "AccessType"));

	argument->is_updated = access && strcmp(access, "ReadWrite") == 0;
	argument->is_output = argument->is_updated || (access && strcmp(access, "WriteOnly") == 0);
	if (access && !argument->is_output && strcmp(access, "ReadOnly") != 0)
		return tcb_file_refuse(reader,
				       "%s: the AccessType is %.40s; ReadOnly, WriteOnly and ReadWrite are known",
				       argument->name, access);
	return read_size(reader, row, argument);
}

static enum tcb_status read_argument(const struct tcb_file_reader *reader, const json_t *row)
{
	struct tcb_kernel_file *file = reader->file;
	struct tcb_file_argument *argument = &file->argument[file->argument_count];
	const char *type = json_string_value(json_object_get(row, "Type"));

	if (file->argument_count == TCB_FILE_ARGUMENTS_MAX)
		return tcb_file_refuse(reader, "more than %d Arguments", TCB_FILE_ARGUMENTS_MAX);
	file->argument_count++;
	argument->relative = argument->absolute = NAN;
	TCB_TRY(tcb_file_text(reader, row, "Name", 0, &argument->name));
	if (!argument->name && asprintf(&argument->name, "argument_%zu", file->argument_count) < 0)
		return tcb_fail(reader->err, TCB_E_NOMEM, "out of memory for a kernel's file");
	if (!type || read_type(type, &argument->type) != 0)
		return tcb_file_refuse(reader,
				       "%s: the Type is %.40s; float, half, double, int32 and their like are known",
				       argument->name, type ? type : "missing");
	TCB_TRY(read_memory(reader, json_string_value(json_object_get(row, "MemoryType")), argument));
	if (argument->memory == TCB_FILE_LOCAL)
		return read_size(reader, row, argument);
	if (argument->memory == TCB_FILE_VECTOR)
		TCB_TRY(read_vector(reader, row, argument));
	return read_fill(reader, row, argument);
}

/* Right values, and by how much others may differ. */
static enum tcb_status read_reference(const struct tcb_file_reader *reader, const json_t *row)
{
	const char *target = json_string_value(json_object_get(row, "TargetName"));
	const char *method = json_string_value(json_object_get(row, "ValidationMethod"));
	const char *fill = json_string_value(json_object_get(row, "FillType"));
	const json_t *threshold = json_object_get(row, "ValidationThreshold");
	struct tcb_file_argument *argument = NULL;

	for (size_t i = 0; target && i < reader->file->argument_count; i++)
		if (strcmp(reader->file->argument[i].name, target) == 0 && reader->file->argument[i].is_output)
			argument = &reader->file->argument[i];
	if (!argument)
		return tcb_file_refuse(reader, "a ReferenceArgument's TargetName %.40s is not an output",
				       target ? target : "is missing and");
	if (json_is_number(threshold) && method && strcmp(method, "SideBySideRelativeComparison") == 0)
		argument->relative = json_number_value(threshold);
	else if (json_is_number(threshold))
		argument->absolute = json_number_value(threshold);
	if (!fill || strcmp(fill, "BinaryRaw") != 0 || argument->right)
		return tcb_file_refuse(reader, "the reference of %s is not one file: its FillType is to be BinaryRaw",
				       argument->name);
	return read_source(reader, row, &argument->right);
}

enum tcb_status tcb_file_arguments(const struct tcb_file_reader *reader, const json_t *specification)
{
	const json_t *list = json_object_get(specification, "Arguments"), *row;
	const json_t *references = json_object_get(specification, "ReferenceArguments");
	size_t i, outputs = 0, operands = 0;

	json_array_foreach(list, i, row) TCB_TRY(read_argument(reader, row));
	json_array_foreach(references, i, row) TCB_TRY(read_reference(reader, row));
	for (i = 0; i < reader->file->argument_count; i++) {
		struct tcb_file_argument *argument = &reader->file->argument[i];

		outputs += argument->is_output != 0;
		argument->operand = operands;
		operands += argument->memory == TCB_FILE_VECTOR;
	}
	if (!outputs)
		return tcb_file_refuse(
			reader, "none of the Arguments is an output: give one the AccessType WriteOnly or ReadWrite");
	if (outputs > TCB_OUTPUTS_MAX || operands > TCB_OPERANDS_MAX)
		return tcb_file_refuse(reader, "%zu vectors, %zu of them outputs; up to %d and %d are supported",
				       operands, outputs, TCB_OPERANDS_MAX, TCB_OUTPUTS_MAX);
	return TCB_OK;
}
