/* SPDX-License-Identifier: MIT
 *
 * A file of T1 and our own keys comes in, a described kernel goes out, or one
 * line that says which key is wrong and why.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernelfile/kernel_file_reader.h"

static enum tcb_status add_name(const struct tcb_file_reader *reader, const char *name)
{
	struct tcb_kernel_file *file = reader->file;
	size_t length = 0;

	while (isalnum((unsigned char)name[length]) || name[length] == '_')
		length++;
	if (!length || isdigit((unsigned char)*name) || (name[length] && name[length] != '['))
		return tcb_file_refuse(reader, "'%.60s' cannot be a name: give it letters, digits and underscores",
				       name);
	for (size_t i = 0; i < file->name_count; i++)
		if (strcmp(file->names[i], name) == 0)
			return tcb_file_refuse(reader, "there are two of the name %.60s", name);
	if (file->name_count == TCB_EXPRESSION_NAMES_MAX)
		return tcb_file_refuse(reader, "more than %d names", TCB_EXPRESSION_NAMES_MAX);
	file->names[file->name_count++] = name;
	return TCB_OK;
}

/* --- parameters --- */

/* A JSON array, a text of Python, or what a single value is, as a text of Python into OUT. */
static void list_of(const json_t *values, struct tcb_str *out)
{
	const json_t *value;
	size_t i;

	if (json_is_string(values)) {
		tcb_str_add(out, json_string_value(values));
		return;
	}
	tcb_str_add(out, "[");
	json_array_foreach(values, i, value)
	{
		if (json_is_integer(value))
			tcb_str_addf(out, "%" JSON_INTEGER_FORMAT ",", json_integer_value(value));
		else if (json_is_real(value))
			tcb_str_addf(out, "%.17g,", json_real_value(value));
		else if (json_is_boolean(value))
			tcb_str_addf(out, "%s,", json_is_true(value) ? "True" : "False");
		else if (json_is_string(value) && !strchr(json_string_value(value), '\''))
			tcb_str_addf(out, "'%s',", json_string_value(value));
		else
			tcb_str_add(out, "?,");
	}
	tcb_str_add(out, "]");
}

static int is_same(const struct tcb_value *a, const struct tcb_value *b)
{
	if (a->type == TCB_VALUE_TEXT || b->type == TCB_VALUE_TEXT)
		return a->type == b->type && strcmp(a->text, b->text) == 0;
	return (a->type == TCB_VALUE_REAL ? a->real : (double)a->whole) ==
	       (b->type == TCB_VALUE_REAL ? b->real : (double)b->whole);
}

static enum tcb_status find_standard(const struct tcb_file_reader *reader, const json_t *standard,
				     struct tcb_file_parameter *parameter)
{
	struct tcb_value wanted = { .type = TCB_VALUE_TEXT, .text = json_string_value(standard) };

	if (!standard || json_is_null(standard))
		return TCB_OK;
	if (json_is_integer(standard))
		wanted = (struct tcb_value){ .whole = json_integer_value(standard) };
	else if (json_is_real(standard))
		wanted = (struct tcb_value){ .type = TCB_VALUE_REAL, .real = json_real_value(standard) };
	else if (json_is_boolean(standard))
		wanted = (struct tcb_value){ .whole = json_is_true(standard) };
	else if (!wanted.text)
		return tcb_file_refuse(reader, "the Default of %s is not a value", parameter->name);
	for (size_t i = 0; i < parameter->count; i++)
		if (is_same(&parameter->values[i], &wanted)) {
			parameter->standard = i;
			return TCB_OK;
		}
	return tcb_file_refuse(reader, "the Default of %s is none of its Values", parameter->name);
}

static int are_numbers(const struct tcb_file_parameter *parameter)
{
	for (size_t i = 0; i < parameter->count; i++)
		if (parameter->values[i].type != TCB_VALUE_WHOLE || parameter->values[i].whole < 0 ||
		    parameter->values[i].whole > INT32_MAX)
			return 0;
	return 1;
}

/* What geometries have for values that are no such numbers. */
static enum tcb_status add_words(const struct tcb_file_reader *reader, struct tcb_file_parameter *parameter)
{
	if (are_numbers(parameter))
		return TCB_OK;
	parameter->words = calloc(parameter->count + 1, sizeof *parameter->words);
	for (size_t i = 0; parameter->words && i < parameter->count; i++) {
		const struct tcb_value *value = &parameter->values[i];
		char word[64];

		if (value->type == TCB_VALUE_TEXT)
			snprintf(word, sizeof word, "%.63s", value->text);
		else if (value->type == TCB_VALUE_REAL)
			snprintf(word, sizeof word, "%.9g", value->real);
		else
			snprintf(word, sizeof word, "%lld", (long long)value->whole);
		parameter->words[i] = strdup(word);
		if (!parameter->words[i])
			return tcb_fail(reader->err, TCB_E_NOMEM, "out of memory for a kernel's file");
	}
	return parameter->words ? TCB_OK : tcb_fail(reader->err, TCB_E_NOMEM, "out of memory for a kernel's file");
}

/* A parameter's name in lower case; one that a knob has gets an underscore behind it. */
static void make_key(struct tcb_file_parameter *parameter)
{
	struct tcb_parameter list[2] = { { parameter->key, "", NULL }, { NULL, NULL, NULL } };
	size_t i = 0;

	for (; parameter->name[i] && i + 2 < sizeof parameter->key; i++)
		parameter->key[i] = (char)tolower((unsigned char)parameter->name[i]);
	parameter->key[i] = '\0';
	if (tcb_parameters_refused(list))
		strcat(parameter->key, "_");
}

static enum tcb_status read_parameter(const struct tcb_file_reader *reader, const json_t *row)
{
	struct tcb_kernel_file *file = reader->file;
	struct tcb_file_parameter *parameter = &file->parameter[file->parameter_count];
	const json_t *values = json_object_get(row, "Values");
	struct tcb_str list = { 0 };
	struct tcb_error reason;

	if (file->parameter_count == TCB_FILE_PARAMETERS_MAX)
		return tcb_file_refuse(reader, "more than %d TuningParameters", TCB_FILE_PARAMETERS_MAX);
	file->parameter_count++;
	TCB_TRY(tcb_file_text(reader, row, "Name", 1, &parameter->name));
	TCB_TRY(add_name(reader, parameter->name));
	make_key(parameter);
	if (!json_is_string(values) && !json_is_array(values))
		return tcb_file_refuse(reader, "the Values of %s are neither a list nor a text that is one",
				       parameter->name);
	list_of(values, &list);
	const enum tcb_status status =
		list.failed ? tcb_fail(&reason, TCB_E_NOMEM, "out of memory")
			    : tcb_kernel_file_values(list.data, &parameter->values, &parameter->count, &reason);
	tcb_str_fini(&list);
	if (status != TCB_OK)
		return tcb_file_refuse(reader, "%s: %s", parameter->name, reason.message);
	for (size_t i = 0; i < parameter->count; i++)
		for (size_t j = 0; j < i; j++)
			if (is_same(&parameter->values[i], &parameter->values[j]))
				return tcb_file_refuse(reader, "%s has one of its Values twice", parameter->name);
	if (parameter->count > TCB_AXIS_VALUES_MAX)
		return tcb_file_refuse(reader, "%s has %zu Values; up to %d are searched", parameter->name,
				       parameter->count, TCB_AXIS_VALUES_MAX);
	TCB_TRY(find_standard(reader, json_object_get(row, "Default"), parameter));
	return add_words(reader, parameter);
}

static enum tcb_status number_parameters(const struct tcb_file_reader *reader)
{
	struct tcb_kernel_file *file = reader->file;
	struct tcb_parameter list[TCB_FILE_PARAMETERS_MAX + 1] = { { NULL, NULL, NULL } };
	int place = 0;

	for (size_t i = 0; i < file->parameter_count; i++) {
		struct tcb_file_parameter *parameter = &file->parameter[i];

		parameter->place = parameter->count > 1 ? place++ : -1;
		if (parameter->place >= 0)
			list[parameter->place] =
				(struct tcb_parameter){ parameter->key, "",
							(const char *const *)(uintptr_t)parameter->words };
	}
	if (!place)
		return tcb_file_refuse(reader,
				       "no tuning parameter has more than one of its Values: there is nothing to tune");
	const char *refused = tcb_parameters_refused(list);
	return refused ? tcb_file_refuse(reader,
					 "there is %s (up to %d parameters, whose names differ in more than case)",
					 refused, TCB_OP_PARAMETERS_MAX)
		       : TCB_OK;
}

/* --- conditions --- */

/* Texts, or objects with an Expression. */
static enum tcb_status read_conditions(const struct tcb_file_reader *reader, const char *key, const json_t *list,
				       struct tcb_expression **out, size_t *count)
{
	const json_t *row;
	size_t i;

	if (list && !json_is_array(list))
		return tcb_file_refuse(reader, "%s is not a list", key);
	json_array_foreach(list, i, row)
	{
		const json_t *expression = json_is_object(row) ? json_object_get(row, "Expression") : row;

		if (*count == TCB_FILE_CONDITIONS_MAX)
			return tcb_file_refuse(reader, "more than %d %s", TCB_FILE_CONDITIONS_MAX, key);
		TCB_TRY(tcb_file_expression(reader, key, expression, &out[*count]));
		++*count;
	}
	return TCB_OK;
}

/* --- the problem's sizes --- */

static enum tcb_status add_size(const struct tcb_file_reader *reader, const char *name, const json_t *size)
{
	struct tcb_kernel_file *file = reader->file;
	const size_t at = file->size_count;

	if (at == TCB_FILE_SIZES_MAX)
		return tcb_file_refuse(reader, "a problem has up to %d sizes", TCB_FILE_SIZES_MAX);
	if (!json_is_integer(size) || json_integer_value(size) < 1)
		return tcb_file_refuse(reader, "a size of the problem is not a whole number from 1 on");
	file->size[at] = (size_t)json_integer_value(size);
	file->size_count++;
	if (name) {
		file->size_name[at] = strdup(name);
		if (!file->size_name[at])
			return tcb_fail(reader->err, TCB_E_NOMEM, "out of memory for a kernel's file");
	}
	return TCB_OK;
}

/* Names of sizes are bound in their order, and then those of places. */
static enum tcb_status name_sizes(const struct tcb_file_reader *reader)
{
	struct tcb_kernel_file *file = reader->file;

	for (size_t i = 0; i < file->size_count && file->size_name[i]; i++)
		TCB_TRY(add_name(reader, file->size_name[i]));
	for (size_t i = 0; i < file->size_count; i++) {
		snprintf(file->size_index[i], sizeof file->size_index[i], "ProblemSize[%zu]", i);
		TCB_TRY(add_name(reader, file->size_index[i]));
	}
	return TCB_OK;
}

/* By name under "tcbtune", or a list or a number of the specification. */
static enum tcb_status read_sizes(const struct tcb_file_reader *reader, const json_t *own, const json_t *specification)
{
	json_t *named = json_object_get(own, "Problem"), *size;
	const json_t *plain = json_object_get(specification, "ProblemSize");
	const char *name;
	size_t i;

	if (named && !json_is_object(named))
		return tcb_file_refuse(reader, "Problem is not an object of sizes by name");
	json_object_foreach(named, name, size) TCB_TRY(add_size(reader, name, size));
	if (!named && json_is_array(plain))
		json_array_foreach(plain, i, size) TCB_TRY(add_size(reader, NULL, size));
	else if (!named && plain)
		TCB_TRY(add_size(reader, NULL, plain));
	if (!reader->file->size_count)
		return tcb_file_refuse(reader,
				       "no sizes of a problem: give ProblemSize, or under \"tcbtune\" Problem, as in "
				       "{\"M\": 512, \"N\": 512}");
	return name_sizes(reader);
}

/* --- our own keys --- */

/* The op's name: as given, or the kernel's in lower case. */
static enum tcb_status read_name(const struct tcb_file_reader *reader, const json_t *own)
{
	struct tcb_kernel_file *file = reader->file;
	char *given;
	size_t i = 0;

	TCB_TRY(tcb_file_text(reader, own, "Name", 0, &given));
	const char *name = given ? given : file->kernel.name;

	for (; name[i] && i + 1 < sizeof file->op_name; i++)
		file->op_name[i] = (char)tolower((unsigned char)name[i]);
	file->op_name[i] = '\0';
	free(given);
	return TCB_OK;
}

static enum tcb_status read_own(const struct tcb_file_reader *reader, const json_t *own)
{
	struct tcb_kernel_file *file = reader->file;
	const json_t *operations = json_object_get(own, "Operations"), *bytes = json_object_get(own, "Bytes");
	const json_t *tolerance = json_object_get(own, "Tolerance");

	file->any_size = json_is_true(json_object_get(own, "AnySize"));
	TCB_TRY(read_name(reader, own));
	TCB_TRY(tcb_file_reference(reader, json_object_get(own, "Reference")));
	TCB_TRY(read_conditions(reader, "ProblemConditions", json_object_get(own, "ProblemConditions"),
				file->size_condition, &file->size_condition_count));
	if (operations)
		TCB_TRY(tcb_file_expression(reader, "Operations", operations, &file->operations));
	if (bytes)
		TCB_TRY(tcb_file_expression(reader, "Bytes", bytes, &file->bytes));
	for (size_t i = 0; tolerance && i < file->argument_count; i++) {
		struct tcb_file_argument *argument = &file->argument[i];
		const json_t *relative = json_object_get(tolerance, "Relative");
		const json_t *absolute = json_object_get(tolerance, "Absolute");

		if (isnan(argument->relative) && json_is_number(relative))
			argument->relative = json_number_value(relative);
		if (isnan(argument->absolute) && json_is_number(absolute))
			argument->absolute = json_number_value(absolute);
	}
	return TCB_OK;
}

static enum tcb_status read_all(const struct tcb_file_reader *reader, const json_t *root)
{
	const json_t *space = json_object_get(root, "ConfigurationSpace"), *row;
	const json_t *specification = json_object_get(root, "KernelSpecification");
	const json_t *own = json_object_get(root, "tcbtune");
	const json_t *parameters = json_object_get(space, "TuningParameters");
	struct tcb_kernel_file *file = reader->file;
	size_t i;

	if (!json_is_array(parameters))
		return tcb_file_refuse(reader, "ConfigurationSpace has no list of TuningParameters");
	if (!json_is_object(specification))
		return tcb_file_refuse(reader, "KernelSpecification is missing");
	json_array_foreach(parameters, i, row) TCB_TRY(read_parameter(reader, row));
	TCB_TRY(number_parameters(reader));
	TCB_TRY(read_sizes(reader, own, specification));
	TCB_TRY(read_conditions(reader, "Conditions", json_object_get(space, "Conditions"), file->condition,
				&file->condition_count));
	TCB_TRY(tcb_file_specification(reader, specification));
	TCB_TRY(tcb_file_arguments(reader, specification));
	return read_own(reader, own);
}

/* --- the file --- */

static int set_path(struct tcb_kernel_file *file, const char *path)
{
	const char *slash = strrchr(path, '/');

	file->path = strdup(path);
	file->folder = slash ? strndup(path, (size_t)(slash - path) + (slash == path)) : strdup("");
	return file->path && file->folder ? 0 : -1;
}

enum tcb_status tcb_kernel_file_read(const char *path, struct tcb_kernel_file **out, struct tcb_error *err)
{
	struct tcb_kernel_file *file = calloc(1, sizeof *file);
	const struct tcb_file_reader reader = { file, err };
	json_error_t where;
	json_t *root;
	enum tcb_status status;

	*out = NULL;
	if (!file || set_path(file, path) != 0) {
		tcb_kernel_file_destroy(file);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel's file");
	}
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
	if (root)
		status = json_is_object(root) ? read_all(&reader, root) : tcb_file_refuse(&reader, "not a JSON object");
	else if (where.line < 0)
		status = tcb_fail(err, TCB_E_NOT_FOUND, "%.300s: cannot be read (%s)", path,
				  errno ? strerror(errno) : where.text);
	else
		status = tcb_file_refuse(&reader, "line %d, column %d: %.160s", where.line, where.column, where.text);
	json_decref(root);
	if (status != TCB_OK) {
		tcb_kernel_file_destroy(file);
		return status;
	}
	*out = file;
	return TCB_OK;
}

static void free_argument(struct tcb_file_argument *argument)
{
	free(argument->name);
	free(argument->source);
	free(argument->right);
	tcb_expression_destroy(argument->count);
	tcb_expression_destroy(argument->value);
}

static void free_source(struct tcb_file_source *source)
{
	for (size_t i = 0; i < source->option_count; i++)
		free(source->options[i]);
	free(source->name);
	free(source->path);
}

static void free_launch(struct tcb_file_launch *launch)
{
	for (int d = 0; d < 3; d++) {
		tcb_expression_destroy(launch->block[d]);
		tcb_expression_destroy(launch->grid[d]);
		for (size_t i = 0; i < TCB_FILE_DIVISORS_MAX; i++)
			tcb_expression_destroy(launch->divisor[d][i]);
	}
	tcb_expression_destroy(launch->shared);
}

static void free_parameter(struct tcb_file_parameter *parameter)
{
	free(parameter->name);
	tcb_kernel_file_values_free(parameter->values, parameter->count);
	for (size_t i = 0; parameter->words && parameter->words[i]; i++)
		free(parameter->words[i]);
	free(parameter->words);
}

void tcb_kernel_file_destroy(struct tcb_kernel_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->parameter_count; i++)
		free_parameter(&file->parameter[i]);
	for (size_t i = 0; i < file->argument_count; i++)
		free_argument(&file->argument[i]);
	for (size_t i = 0; i < TCB_FILE_CONDITIONS_MAX; i++) {
		tcb_expression_destroy(file->condition[i]);
		tcb_expression_destroy(file->size_condition[i]);
	}
	for (size_t i = 0; i < file->size_count; i++)
		free(file->size_name[i]);
	tcb_expression_destroy(file->operations);
	tcb_expression_destroy(file->bytes);
	free_source(&file->kernel);
	free_source(&file->reference);
	free_launch(&file->launch);
	free(file->folder);
	free(file->path);
	free(file);
}
