/* SPDX-License-Identifier: MIT
 *
 * Which kernel a file is of, how that is compiled and launched, and which one says what is
 * right: rows of JSON come in, members of the description go out.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernelfile/kernel_file_reader.h"

/* --- sources --- */

static int is_name(const char *text)
{
	size_t length = 0;

	while (isalnum((unsigned char)text[length]) || text[length] == '_')
		length++;
	return length && !text[length] && !isdigit((unsigned char)*text);
}

/* "gemm<float, 4>" has no name that others could be taken for. */
static int is_kernel_name(const char *text, enum tcb_file_language language)
{
	return is_name(text) ||
	       (language == TCB_FILE_CUDA && isalpha((unsigned char)*text) && !strpbrk(text, ";{}\"\n"));
}

static enum tcb_status read_language(const struct tcb_file_reader *reader, const json_t *from,
				     enum tcb_file_language *out)
{
	static const char *const names[TCB_FILE_LANGUAGE_COUNT] = {
		[TCB_FILE_C] = "C",     [TCB_FILE_CXX] = "C++",   [TCB_FILE_CUDA] = "CUDA",
		[TCB_FILE_PTX] = "PTX", [TCB_FILE_WGSL] = "WGSL", [TCB_FILE_OPENCL] = "OpenCL"
	};
	char *language;

	TCB_TRY(tcb_file_text(reader, from, "Language", 1, &language));
	const int which = tcb_text_find(names, TCB_FILE_LANGUAGE_COUNT, language);
	const enum tcb_status status =
		which >= 0 ? TCB_OK
			   : tcb_file_refuse(reader,
					     "the Language is %.40s; C, C++, CUDA, PTX, WGSL and OpenCL are supported",
					     language);

	*out = (enum tcb_file_language)(which < 0 ? 0 : which);
	free(language);
	return status;
}

static enum tcb_status add_option(const struct tcb_file_reader *reader, const char *option, struct tcb_file_source *out)
{
	if (!option || out->option_count == TCB_FILE_OPTIONS_MAX)
		return tcb_file_refuse(reader, "CompilerOptions are up to %d texts", TCB_FILE_OPTIONS_MAX);
	out->options[out->option_count] = strdup(option);
	if (!out->options[out->option_count])
		return tcb_fail(reader->err, TCB_E_NOMEM, "out of memory for a kernel's file");
	out->option_count++;
	return TCB_OK;
}

static enum tcb_status read_source(const struct tcb_file_reader *reader, const json_t *from,
				   struct tcb_file_source *out)
{
	const json_t *options = json_object_get(from, "CompilerOptions"), *option;
	char *source;
	size_t i;

	TCB_TRY(read_language(reader, from, &out->language));
	TCB_TRY(tcb_file_text(reader, from, "KernelName", 1, &out->name));
	if (!is_kernel_name(out->name, out->language))
		return tcb_file_refuse(reader, "the KernelName %.60s is not a function's name", out->name);
	TCB_TRY(tcb_file_text(reader, from, "KernelFile", 1, &source));
	out->path = tcb_file_path(reader->file, source);
	free(source);
	if (!out->path)
		return tcb_fail(reader->err, TCB_E_NOMEM, "out of memory for a kernel's file");
	json_array_foreach(options, i, option) TCB_TRY(add_option(reader, json_string_value(option), out));
	return TCB_OK;
}

/* A reference of the kernel's language, where it has none of its own: the kernel's. */
static enum tcb_status lend_options(const struct tcb_file_reader *reader, const struct tcb_file_source *kernel,
				    struct tcb_file_source *out)
{
	if (out->option_count || kernel->language != out->language)
		return TCB_OK;
	for (size_t i = 0; i < kernel->option_count; i++)
		TCB_TRY(add_option(reader, kernel->options[i], out));
	return TCB_OK;
}

enum tcb_status tcb_file_reference(const struct tcb_file_reader *reader, const json_t *reference)
{
	struct tcb_kernel_file *file = reader->file;
	struct tcb_file_source *out = &file->reference;

	if (!reference || json_is_null(reference))
		return TCB_OK;
	if (json_is_object(reference)) {
		TCB_TRY(read_source(reader, reference, out));
	} else {
		out->language = file->kernel.language;
		out->name = json_is_string(reference) ? strdup(json_string_value(reference)) : NULL;
		out->path = strdup(file->kernel.path);
		if (!out->name || !out->path || !is_name(out->name))
			return tcb_file_refuse(reader, "the Reference is not a function's name");
	}
	if (out->language != TCB_FILE_C && out->language != TCB_FILE_CXX)
		return tcb_file_refuse(reader, "the Reference runs on the host: give it a Language C or C++ and a "
					       "KernelFile of its own");
	return lend_options(reader, &file->kernel, out);
}

/* --- launches --- */

static enum tcb_status read_dimensions(const struct tcb_file_reader *reader, const json_t *specification,
				       const char *key, struct tcb_expression *out[3])
{
	static const char *const names[] = { "X", "Y", "Z" };
	const json_t *sizes = json_object_get(specification, key);

	for (int d = 0; d < 3; d++) {
		const json_t *size = json_object_get(sizes, names[d]);

		if (size)
			TCB_TRY(tcb_file_expression(reader, key, size, &out[d]));
	}
	return TCB_OK;
}

static enum tcb_status read_divisors(const struct tcb_file_reader *reader, const json_t *specification,
				     struct tcb_file_launch *out)
{
	static const char *const keys[] = { "GridDivX", "GridDivY", "GridDivZ" };

	for (int d = 0; d < 3; d++) {
		const json_t *list = json_object_get(specification, keys[d]), *divisor;
		size_t i;

		json_array_foreach(list, i, divisor)
		{
			if (i == TCB_FILE_DIVISORS_MAX)
				return tcb_file_refuse(reader, "%s has more than %d factors", keys[d],
						       TCB_FILE_DIVISORS_MAX);
			TCB_TRY(tcb_file_expression(reader, keys[d], divisor, &out->divisor[d][i]));
			out->divisor_count[d] = i + 1;
		}
	}
	return TCB_OK;
}

static enum tcb_status read_launch(const struct tcb_file_reader *reader, const json_t *specification)
{
	struct tcb_file_launch *launch = &reader->file->launch;
	const json_t *shared = json_object_get(specification, "SharedMemory");
	const char *type = json_string_value(json_object_get(specification, "GlobalSizeType"));

	TCB_TRY(read_dimensions(reader, specification, "LocalSize", launch->block));
	TCB_TRY(read_dimensions(reader, specification, "GlobalSize", launch->grid));
	TCB_TRY(read_divisors(reader, specification, launch));
	launch->grid_is_threads = type ? strcmp(type, "OpenCL") == 0 : reader->file->kernel.language == TCB_FILE_OPENCL;
	if (type && !launch->grid_is_threads && strcmp(type, "CUDA") != 0)
		return tcb_file_refuse(reader, "the GlobalSizeType is %.40s; OpenCL and CUDA are known", type);
	if (!launch->block[0])
		return tcb_file_refuse(reader, "the LocalSize of a GPU's kernel is missing");
	if (shared && !json_is_null(shared))
		return tcb_file_expression(reader, "SharedMemory", shared, &launch->shared);
	return TCB_OK;
}

enum tcb_status tcb_file_specification(const struct tcb_file_reader *reader, const json_t *specification)
{
	struct tcb_file_source *kernel = &reader->file->kernel;

	TCB_TRY(read_source(reader, specification, kernel));
	return kernel->language == TCB_FILE_C || kernel->language == TCB_FILE_CXX ? TCB_OK
										  : read_launch(reader, specification);
}
