/* SPDX-License-Identifier: MIT
 *
 * Names come in, ops of kernels' files go out.  What is asked for, sizes, arguments and
 * tolerances, is AGAINST's to say; of the judged file only its kernel counts.
 */
#include "cli/tune/judge_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "judge/judge_kernel.h"

static const char *ending_of(const char *path)
{
	const char *ending = strrchr(path, '.');

	return ending && !strchr(ending, '/') ? ending : "";
}

static enum tcb_file_language language_of(const char *path, enum tcb_file_language otherwise)
{
	static const struct {
		const char *ending;
		enum tcb_file_language language;
	} rows[] = { { ".c", TCB_FILE_C },      { ".cpp", TCB_FILE_CXX }, { ".cc", TCB_FILE_CXX },
		     { ".cxx", TCB_FILE_CXX },  { ".cu", TCB_FILE_CUDA }, { ".ptx", TCB_FILE_PTX },
		     { ".wgsl", TCB_FILE_WGSL } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(ending_of(path), rows[i].ending) == 0)
			return rows[i].language;
	return otherwise;
}

/* What runs a language: 0 processors, 1 CUDA, 2 WebGPU. */
static int side_of(enum tcb_file_language language)
{
	return language == TCB_FILE_C || language == TCB_FILE_CXX ? 0 : language == TCB_FILE_WGSL ? 2 : 1;
}

/* Both run on one device. */
static enum tcb_status check_sides(const struct tcb_kernel_file *file, const struct tcb_kernel_file *task,
				   struct tcb_error *err)
{
	if (side_of(file->kernel.language) == side_of(task->kernel.language))
		return TCB_OK;
	return tcb_fail(err, TCB_E_USAGE, "%.200s and the kernel of %.200s do not run on one kind of device",
			file->kernel.path, task->path);
}

static enum tcb_status set_text(char **to, const char *text, struct tcb_error *err)
{
	char *copy = text ? strdup(text) : NULL;

	free(*to);
	*to = copy;
	return copy || !text ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory");
}

/* FILE's reference is that of TASK. */
static enum tcb_status take_reference(struct tcb_kernel_file *file, const struct tcb_kernel_file *task,
				      struct tcb_error *err)
{
	const struct tcb_file_source *from = task->reference.name ? &task->reference : NULL;

	file->reference.language = task->reference.language;
	TCB_TRY(set_text(&file->reference.name, from ? from->name : NULL, err));
	return set_text(&file->reference.path, from ? from->path : NULL, err);
}

/* The judged kernel's file: as it is, or that of AGAINST with another source. */
static enum tcb_status read_judged(const char *kernel, const char *against, struct tcb_kernel_file **out,
				   struct tcb_error *err)
{
	const int is_file = strcmp(ending_of(kernel), ".json") == 0;
	struct stat found;

	if (!is_file && !against)
		return tcb_fail(err, TCB_E_USAGE,
				"%.200s is a source: say with --against FILE.json which kernel's place it takes",
				kernel);
	if (stat(kernel, &found) == 0 && !S_ISREG(found.st_mode))
		return tcb_fail(err, TCB_E_NOT_FOUND, "%.200s: not a file", kernel);
	TCB_TRY(tcb_kernel_file_read(is_file ? kernel : against, out, err));
	if (is_file)
		return TCB_OK;
	(*out)->kernel.language = language_of(kernel, (*out)->kernel.language);
	return set_text(&(*out)->kernel.path, kernel, err);
}

static enum tcb_status open_against(const char *against, struct cli_judge_files *out, struct tcb_judge_options *options,
				    struct tcb_error *err)
{
	struct tcb_kernel_file *file;

	if (strcmp(ending_of(against), ".json") != 0)
		return tcb_fail(err, TCB_E_USAGE, "--against %.200s: not a kernel's file (JSON)", against);
	TCB_TRY(tcb_kernel_file_read(against, &file, err));
	TCB_TRY(tcb_file_op_create(file, &out->against, err));
	options->task = file;
	options->kernel[TCB_SEAT_RIGHT] = (struct tcb_judge_kernel){ file, out->against, file->reference.name != NULL };
	if (file->reference.name)
		options->kernel[TCB_SEAT_RIVAL] = (struct tcb_judge_kernel){ file, out->against, 0 };
	return TCB_OK;
}

enum tcb_status cli_judge_open(const char *kernel, const char *against, struct cli_judge_files *out,
			       struct tcb_judge_options *options, struct tcb_error *err)
{
	struct tcb_kernel_file *file = NULL;
	enum tcb_status status;

	*out = (struct cli_judge_files){ NULL, NULL };
	if (against)
		TCB_TRY(open_against(against, out, options, err));
	status = read_judged(kernel, against, &file, err);
	if (status == TCB_OK)
		status = tcb_judge_compiler_options(file, err);
	if (status == TCB_OK && against)
		status = tcb_judge_alike(options->task, file, err);
	if (status == TCB_OK && against)
		status = check_sides(file, options->task, err);
	if (status == TCB_OK && against)
		status = take_reference(file, options->task, err);
	if (status == TCB_OK && !against && !file->reference.name)
		status = tcb_fail(
			err, TCB_E_USAGE,
			"%.200s has no Reference: say with --against FILE.json what it is to be compared with", kernel);
	if (status != TCB_OK) {
		tcb_kernel_file_destroy(file);
		return status;
	}
	TCB_TRY(tcb_file_op_create(file, &out->judged, err));
	options->kernel[TCB_SEAT_JUDGED] = (struct tcb_judge_kernel){ file, out->judged, 0 };
	if (!against) {
		options->task = file;
		options->kernel[TCB_SEAT_RIGHT] = (struct tcb_judge_kernel){ file, out->judged, 1 };
	}
	options->shape = tcb_kernel_file_shape(options->task, options->task->size);
	return TCB_OK;
}

void cli_judge_close(struct cli_judge_files *files)
{
	tcb_file_op_destroy(files->judged);
	tcb_file_op_destroy(files->against);
}
