/* SPDX-License-Identifier: MIT
 *
 * A file's text, a shape and a geometry come in, a kernel with its launch goes out.
 */
#include "kernelfile/file_gpu.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/sizes.h"
#include "kernels/code.h"
#include "kernels/gpu/ptx_code.h"
#include "kernels/language.h"
#include "kernels/opencl/opencl_code.h"
#include "kernels/wgsl/wgsl_code.h"
#include "ptx/text/text.h"

enum { TEXT_MOST = 1 << 24 };

/* --- launches --- */

static enum tcb_status size_or_one(const struct tcb_expression *expression, const struct tcb_value *bound, size_t *out,
				   struct tcb_error *err)
{
	int64_t size = 1;

	if (expression)
		TCB_TRY(tcb_expression_size(expression, bound, 1, &size, err));
	*out = (size_t)size;
	return TCB_OK;
}

/* Blocks in dimension D of what the problem has there. */
static enum tcb_status divide(const struct tcb_kernel_file *file, int d, const size_t size[TCB_FILE_SIZES_MAX],
			      const struct tcb_value *bound, size_t *out, struct tcb_error *err)
{
	size_t share = 1;

	for (size_t i = 0; i < file->launch.divisor_count[d]; i++) {
		int64_t factor;

		TCB_TRY(tcb_expression_size(file->launch.divisor[d][i], bound, 1, &factor, err));
		if (tcb_mul_size(share, (size_t)factor, &share))
			return tcb_fail(err, TCB_E_OVERFLOW, "%.200s: a block does more than there is", file->path);
	}
	*out = file->launch.divisor_count[d] && (size_t)d < file->size_count ? (size[d] + share - 1) / share : 1;
	return TCB_OK;
}

enum tcb_status tcb_file_launch_size(const struct tcb_kernel_file *file, const struct tcb_shape *shape,
				     const struct tcb_geometry *geometry, struct tcb_file_size *out,
				     struct tcb_error *err)
{
	const struct tcb_file_launch *launch = &file->launch;
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX];
	size_t size[TCB_FILE_SIZES_MAX];
	int64_t shared = 0;

	tcb_kernel_file_bind(file, shape, geometry, bound);
	tcb_kernel_file_sizes(file, shape, size);
	for (int d = 0; d < 3; d++) {
		TCB_TRY(size_or_one(launch->block[d], bound, &out->block[d], err));
		if (launch->grid[0])
			TCB_TRY(size_or_one(launch->grid[d], bound, &out->grid[d], err));
		else
			TCB_TRY(divide(file, d, size, bound, &out->grid[d], err));
		if (launch->grid[0] && launch->grid_is_threads)
			out->grid[d] = (out->grid[d] + out->block[d] - 1) / out->block[d];
	}
	if (launch->shared)
		TCB_TRY(tcb_expression_size(launch->shared, bound, 0, &shared, err));
	out->shared_bytes = (size_t)shared;
	for (size_t i = 0; i < file->argument_count; i++) {
		size_t count, bytes;

		if (file->argument[i].memory != TCB_FILE_LOCAL)
			continue;
		TCB_TRY(tcb_kernel_file_count(&file->argument[i], bound, &count, &bytes, err));
		out->shared_bytes += tcb_least(bytes, SIZE_MAX - out->shared_bytes);
	}
	return TCB_OK;
}

/* The bits of scalar ARGUMENT. */
static enum tcb_status bits_of(const struct tcb_file_argument *argument, const struct tcb_value *bound, uint64_t *out,
			       struct tcb_error *err)
{
	struct tcb_value value;

	TCB_TRY(tcb_expression_value(argument->value, bound, &value, err));
	if (value.type == TCB_VALUE_TEXT)
		return tcb_fail(err, TCB_E_USAGE, "the FillValue of %s is not a number", argument->name);
	*out = 0;
	tcb_file_put(&argument->type, value.type == TCB_VALUE_REAL ? value.real : (double)value.whole, out);
	return TCB_OK;
}

/* All of LAUNCH but its entry; scalars among the arguments where HAS_SCALARS. */
static enum tcb_status set_launch(const struct tcb_kernel_file *file, const struct tcb_kernel *kernel, int has_scalars,
				  struct tcb_launch *launch, struct tcb_error *err)
{
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX];
	struct tcb_file_size size;

	TCB_TRY(tcb_file_launch_size(file, &kernel->problem.shape, &kernel->geometry, &size, err));
	tcb_kernel_file_bind(file, &kernel->problem.shape, &kernel->geometry, bound);
	for (int d = 0; d < 3; d++) {
		if (size.grid[d] > INT32_MAX || size.block[d] > INT32_MAX)
			return tcb_fail(err, TCB_E_ILLEGAL, "a launch of more than 2^31 blocks");
		launch->grid[d] = (uint32_t)size.grid[d];
		launch->block[d] = (uint32_t)size.block[d];
	}
	launch->shared_bytes = (uint32_t)size.shared_bytes;
	for (size_t i = 0; i < file->argument_count; i++) {
		const struct tcb_file_argument *argument = &file->argument[i];
		struct tcb_argument *out = &launch->argument[launch->argument_count];
		uint64_t bits = 0;
		size_t count, bytes = 0;

		if (argument->memory == TCB_FILE_SCALAR && !has_scalars)
			continue;
		if (launch->argument_count == TCB_ARGUMENTS_MAX)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "%.200s: more than %d arguments", file->path,
					TCB_ARGUMENTS_MAX);
		if (argument->memory == TCB_FILE_SCALAR)
			TCB_TRY(bits_of(argument, bound, &bits, err));
		if (argument->memory == TCB_FILE_LOCAL)
			TCB_TRY(tcb_kernel_file_count(argument, bound, &count, &bytes, err));
		*out = argument->memory == TCB_FILE_VECTOR
			       ? (struct tcb_argument){ TCB_ARGUMENT_OPERAND, argument->operand }
		       : argument->memory == TCB_FILE_LOCAL ? (struct tcb_argument){ TCB_ARGUMENT_OWN, bytes }
		       : argument->type.bytes > 4           ? (struct tcb_argument){ TCB_ARGUMENT_U64, bits }
							    : (struct tcb_argument){ TCB_ARGUMENT_U32, bits };
		launch->argument_count++;
	}
	return TCB_OK;
}

/* --- texts --- */

enum tcb_status tcb_file_read_text(const struct tcb_kernel_file *file, struct tcb_str *out, struct tcb_error *err)
{
	char block[65536];
	FILE *source = tcb_file_open_stream(file->kernel.path);
	size_t got;

	if (!source)
		return tcb_fail(err, TCB_E_NOT_FOUND, "%.200s: its KernelFile %.200s cannot be read (%s)", file->path,
				file->kernel.path, strerror(errno));
	while ((got = fread(block, 1, sizeof block, source)) > 0 && out->length < TEXT_MOST)
		tcb_str_add_bytes(out, block, got);
	fclose(source);
	if (out->failed || !out->data || memchr(out->data, '\0', out->length))
		return tcb_fail(err, TCB_E_FORMAT, "%.200s: its KernelFile %.200s is not a text", file->path,
				file->kernel.path);
	return TCB_OK;
}

/* Which name the LENGTH characters at AT are; FILE->name_count: none. */
static size_t name_at(const struct tcb_kernel_file *file, const char *at, size_t length)
{
	size_t i = 0;

	while (i < file->name_count && !(strlen(file->names[i]) == length && strncmp(file->names[i], at, length) == 0))
		i++;
	return i;
}

/* SOURCE with what ${NAME} stands for. */
static enum tcb_status fill_in(const struct tcb_kernel_file *file, const char *source, const struct tcb_value *bound,
			       struct tcb_str *out, struct tcb_error *err)
{
	for (const char *at; (at = strstr(source, "${")) != NULL;) {
		const size_t length = strcspn(at + 2, "}"), name = name_at(file, at + 2, length);

		if (!at[2 + length] || name == file->name_count)
			return tcb_fail(err, TCB_E_FORMAT, "${%.*s} is neither a parameter nor a size",
					(int)length % 60, at + 2);
		tcb_str_add_bytes(out, source, (size_t)(at - source));
		tcb_value_print(&bound[name], out);
		source = at + length + 3;
	}
	tcb_str_add(out, source);
	return out->failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel's text") : TCB_OK;
}

/* --- WGSL --- */

/* Where TEXT declares NAME as a constant that pipelines set. */
static int is_override(const char *text, const char *name)
{
	const size_t length = strlen(name);

	for (const char *at = text; (at = strstr(at, "override")) != NULL; at += strlen("override")) {
		const char *word = at + strlen("override");

		while (isspace((unsigned char)*word))
			word++;
		if (word > at + strlen("override") && strncmp(word, name, length) == 0 &&
		    !isalnum((unsigned char)word[length]) && word[length] != '_')
			return 1;
	}
	return 0;
}

/* Scalars, parameters and sizes that the module takes as constants. */
static enum tcb_status set_constants(const struct tcb_kernel_file *file, const struct tcb_kernel *kernel,
				     const char *text, struct tcb_launch_wgsl *own, struct tcb_error *err)
{
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX], value;

	tcb_kernel_file_bind(file, &kernel->problem.shape, &kernel->geometry, bound);
	for (size_t i = 0; i < file->name_count + file->argument_count; i++) {
		const struct tcb_file_argument *argument =
			i < file->name_count ? NULL : &file->argument[i - file->name_count];
		const char *name = argument ? argument->name : file->names[i];
		struct tcb_wgsl_constant *constant = &own->constant[own->constant_count];

		if ((argument && argument->memory != TCB_FILE_SCALAR) || !is_override(text, name))
			continue;
		value = argument ? value : bound[i];
		if (argument)
			TCB_TRY(tcb_expression_value(argument->value, bound, &value, err));
		if (own->constant_count == TCB_WGSL_CONSTANTS_MAX || strlen(name) >= sizeof constant->name ||
		    value.type != TCB_VALUE_WHOLE || value.whole < 0 || value.whole > UINT32_MAX)
			return tcb_fail(
				err, TCB_E_UNSUPPORTED,
				"%.200s: override %.40s is not one of up to %d whole numbers with names of less "
				"than %d letters; ${%.40s} takes any",
				file->path, name, TCB_WGSL_CONSTANTS_MAX, TCB_WGSL_NAME_MAX, name);
		strcpy(constant->name, name);
		constant->value = (uint32_t)value.whole;
		own->constant_count++;
	}
	return TCB_OK;
}

static enum tcb_status emit_wgsl(const struct tcb_kernel_file *file, struct tcb_str *text, struct tcb_kernel *out,
				 struct tcb_error *err)
{
	struct tcb_kernel_wgsl *code = calloc(1, sizeof *code);

	if (!code)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel");
	out->language = &tcb_language_wgsl;
	out->code = code;
	out->not_simulated = "there is no simulation of WGSL";
	out->launch[0].entry = file->kernel.name;
	code->launch[0].is_exact = 1;
	for (size_t i = 0; i < TCB_ARGUMENTS_MAX; i++)
		code->launch[0].binding[i] = (uint8_t)i;
	TCB_TRY(set_constants(file, out, text->data, &code->launch[0], err));
	TCB_TRY(set_launch(file, out, 0, &out->launch[0], err));
	code->text = *text;
	*text = (struct tcb_str){ .data = NULL };
	return TCB_OK;
}

/* --- OpenCL C --- */

/* Options, macros, and the text, whose lines keep their numbers. */
static enum tcb_status add_program(const struct tcb_kernel_file *file, const struct tcb_str *source,
				   const struct tcb_value *bound, struct tcb_str *out, struct tcb_error *err)
{
	const char *slash = strrchr(file->kernel.path, '/');

	tcb_str_add(out, TCB_OPENCL_OPTIONS);
	for (size_t i = 0; i < file->kernel.option_count; i++) {
		if (strchr(file->kernel.options[i], '\n'))
			return tcb_fail(err, TCB_E_USAGE, "%.200s: a line ends in one of the CompilerOptions",
					file->path);
		tcb_str_addf(out, " %s", file->kernel.options[i]);
	}
	tcb_str_add(out, "\n");
	for (size_t i = 0; i < file->name_count; i++) {
		if (strchr(file->names[i], '['))
			continue;
		tcb_str_addf(out, "#define %s ", file->names[i]);
		tcb_value_print(&bound[i], out);
		tcb_str_add(out, "\n");
	}
	tcb_str_addf(out, "#line 1 \"%s\"\n", slash ? slash + 1 : file->kernel.path);
	tcb_str_add_bytes(out, source->data, source->length);
	return out->failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel's text") : TCB_OK;
}

static enum tcb_status emit_opencl(const struct tcb_kernel_file *file, const struct tcb_str *source,
				   const struct tcb_value *bound, struct tcb_kernel *out, struct tcb_error *err)
{
	struct tcb_kernel_opencl *code = tcb_kernel_opencl_new(out);
	const char *slash = strrchr(file->kernel.path, '/');
	const int length = slash ? (int)(slash - file->kernel.path) : 0;

	if (!code)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel");
	if (length < TCB_OPENCL_FOLDER_MAX)
		snprintf(code->launch.folder, TCB_OPENCL_FOLDER_MAX, "%.*s", length, file->kernel.path);
	if (strpbrk(code->launch.folder, " \t\n\"")) /* drivers take options apart at blanks */
		code->launch.folder[0] = '\0';
	out->launch[0].entry = file->kernel.name;
	TCB_TRY(add_program(file, source, bound, &code->text, err));
	TCB_TRY(set_launch(file, out, 1, &out->launch[0], err));
	for (size_t i = 0; i < out->launch[0].argument_count; i++)
		if (file->argument[i].memory == TCB_FILE_SCALAR)
			code->launch.scalar_bytes[i] = (uint8_t)file->argument[i].type.bytes;
	return TCB_OK;
}

/* --- PTX --- */

static enum tcb_status emit_ptx(const struct tcb_kernel_file *file, const struct tcb_str *text, const char *entry,
				struct tcb_kernel *out, struct tcb_error *err)
{
	struct tcb_ptx_module *module;
	const struct tcb_ptx_function *function;

	if (strlen(entry) >= TCB_CODE_ENTRY_MAX)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "the name of kernel %.60s... is longer than %d letters", entry,
				TCB_CODE_ENTRY_MAX - 1);
	TCB_TRY(tcb_ptx_parse_foreign(file->kernel.path, text->data, text->length, &module, err));
	function = tcb_ptx_function_find(module, entry);
	if (!function || !function->is_entry) {
		tcb_ptx_module_destroy(module);
		return tcb_fail(err, TCB_E_FORMAT, "%.200s has no kernel %.100s", file->kernel.path, entry);
	}
	TCB_TRY(tcb_kernel_set_ptx(out, module, NULL, err));
	out->launch[0].entry = function->symbol->name;
	return set_launch(file, out, 1, &out->launch[0], err);
}

static enum tcb_status emit_cuda(const struct tcb_kernel_file *file, struct tcb_file_cuda *cuda,
				 const struct tcb_value *bound, const struct tcb_target *target, struct tcb_kernel *out,
				 struct tcb_error *err)
{
	struct tcb_str ptx = { 0 }, entry = { 0 };
	enum tcb_status status = tcb_file_cuda_take(cuda, bound, target->cuda.capability, &ptx, &entry, err);

	if (status == TCB_OK)
		status = emit_ptx(file, &ptx, entry.data, out, err);
	tcb_str_fini(&ptx);
	tcb_str_fini(&entry);
	return status;
}

enum tcb_status tcb_file_emit(const struct tcb_kernel_file *file, const struct tcb_str *source,
			      struct tcb_file_cuda *cuda, const struct tcb_problem *problem,
			      const struct tcb_target *target, const struct tcb_geometry *geometry,
			      struct tcb_kernel *out, struct tcb_error *err)
{
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX];
	struct tcb_str text = { 0 };
	enum tcb_status status = TCB_OK;

	memset(out, 0, sizeof *out);
	out->problem = *problem;
	out->geometry = *geometry;
	out->class = TCB_CLASS_BOUNDED;
	out->launch_count = 1;
	tcb_kernel_file_bind(file, &problem->shape, geometry, bound);
	if (file->kernel.language == TCB_FILE_CUDA) {
		status = emit_cuda(file, cuda, bound, target, out, err);
	} else if (file->kernel.language == TCB_FILE_OPENCL) {
		status = emit_opencl(file, source, bound, out, err);
	} else {
		status = fill_in(file, source->data, bound, &text, err);
		if (status == TCB_OK && file->kernel.language == TCB_FILE_WGSL)
			status = emit_wgsl(file, &text, out, err);
		else if (status == TCB_OK)
			status = emit_ptx(file, &text, file->kernel.name, out, err);
	}
	tcb_str_fini(&text);
	if (status != TCB_OK && out->language)
		tcb_kernel_fini(out);
	return status;
}
