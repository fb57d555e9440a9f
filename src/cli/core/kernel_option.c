/* SPDX-License-Identifier: MIT
 *
 * Names of files come in, ops in the registry and words that name them go out.
 */
#include "cli/core/kernel_option.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli.h"

/* The last file that was added, whose sizes `--problem` names. */
struct added {
	const struct tcb_kernel_file *file;
	const struct tcb_op *op;
};

static enum tcb_status add_file(const char *path, struct tcb_registry *registry, struct cli_words *words,
				struct added *out, struct tcb_error *err)
{
	struct tcb_kernel_file *file;
	struct tcb_file_op **ops = realloc(words->ops, (words->op_count + 1) * sizeof(struct tcb_file_op *));

	if (!ops)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	words->ops = ops;
	TCB_TRY(tcb_kernel_file_read(path, &file, err));
	TCB_TRY(tcb_file_op_create(file, &ops[words->op_count], err));
	*out = (struct added){ file, tcb_file_op(ops[words->op_count++]) };
	return tcb_registry_add(registry, out->op, err);
}

/* The value of option NAME at word I, in one word or two; NULL: it is another word. */
static const char *value_at(char *const *argv, int argc, int i, const char *name, int *words_out)
{
	const size_t length = strlen(name);

	if (strncmp(argv[i], name, length) != 0)
		return NULL;
	*words_out = argv[i][length] == '=' ? 1 : 2;
	if (argv[i][length] == '=')
		return argv[i] + length + 1;
	return !argv[i][length] && i + 1 < argc ? argv[i + 1] : NULL;
}

static int is_file(const char *value)
{
	const char *ending = value ? strrchr(value, '.') : NULL;

	return ending && strcmp(ending, ".json") == 0;
}

/* Option NAME of a command; NULL: it has none. */
static const struct cli_option *option_of(const char *command, const char *name)
{
	const struct cli_command *found = cli_command_find(command);

	for (const struct cli_option *option = found ? found->options : NULL; option && !cli_option_is_end(option);
	     option++)
		if (option->name && strcmp(option->name, name) == 0)
			return option;
	return NULL;
}

static int is_given(const struct cli_words *words, const char *option)
{
	const size_t length = strlen(option);

	for (int i = 0; i < words->count; i++)
		if (strncmp(words->list[i], option, length) == 0 &&
		    (!words->list[i][length] || words->list[i][length] == '='))
			return 1;
	return 0;
}

enum tcb_status cli_kernel_sizes(const char *text, const struct tcb_kernel_file *file, size_t size[TCB_FILE_SIZES_MAX],
				 struct tcb_error *err)
{
	memcpy(size, file->size, sizeof file->size);
	for (const char *at = text; *at;) {
		const size_t length = strcspn(at, "=");
		size_t i = 0;
		char *end;

		while (i < file->size_count && !(file->size_name[i] && strlen(file->size_name[i]) == length &&
						 strncmp(file->size_name[i], at, length) == 0))
			i++;
		if (i == file->size_count)
			return tcb_fail(err, TCB_E_USAGE, "--problem: '%.*s' is not a size of %.200s", (int)length, at,
					file->path);
		errno = 0;
		size[i] = at[length] ? strtoull(at + length + 1, &end, 10) : 0;
		if (!at[length] || errno || !size[i] || at[length + 1] == '-' || (*end && *end != ','))
			return tcb_fail(err, TCB_E_USAGE,
					"--problem: %.*s is not a whole number from 1 on; the form is M=512,N=512",
					(int)length, at);
		at = *end ? end + 1 : end;
	}
	return TCB_OK;
}

/* The sizes that TEXT names as a shape in words. */
static enum tcb_status read_problem(const char *text, const struct tcb_kernel_file *file, char **out,
				    struct tcb_error *err)
{
	size_t size[TCB_FILE_SIZES_MAX];
	struct tcb_shape shape;
	char printed[TCB_SHAPE_TEXT_MAX];

	TCB_TRY(cli_kernel_sizes(text, file, size, err));
	shape = tcb_kernel_file_shape(file, size);
	tcb_shape_print(&shape, printed);
	*out = strdup(printed);
	return *out ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory");
}

/* Adds OPTION and what MADE says, which OUT takes. */
static void add_words(struct cli_words *out, size_t at, const char *option, char *made)
{
	out->made[at] = made;
	out->list[out->count++] = (char *)(uintptr_t)option;
	out->list[out->count++] = made;
}

static enum tcb_status add_listed(const char *listed, struct tcb_registry *registry, struct cli_words *words,
				  struct added *added, struct tcb_error *err)
{
	enum tcb_status status = TCB_OK;

	while (status == TCB_OK && listed && *listed) {
		const size_t length = strcspn(listed, ":");
		char *path = strndup(listed, length);

		status = !path   ? tcb_fail(err, TCB_E_NOMEM, "out of memory")
			 : *path ? add_file(path, registry, words, added, err)
				 : TCB_OK;
		free(path);
		listed += length + (listed[length] == ':');
	}
	return status;
}

enum tcb_status cli_kernel_files(const char *listed, int argc, char **argv, struct tcb_registry *registry,
				 struct cli_words *out, struct tcb_error *err)
{
	const char *path = NULL, *problem = NULL;
	struct added added = { NULL, NULL };
	const int reads_itself = argc > 1 && option_of(argv[1], "problem") != NULL; /* the command, what we read here */
	int words;

	*out = (struct cli_words){ .list = calloc((size_t)argc + 5, sizeof *out->list) };
	if (!out->list)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	TCB_TRY(add_listed(listed, registry, out, &added, err));
	for (int i = 0; i < argc; i += words) {
		const char *value = reads_itself ? NULL : value_at(argv, argc, i, "--kernel", &words);

		if (is_file(value)) {
			if (path)
				return tcb_fail(err, TCB_E_USAGE,
						"--kernel is given twice; TCBTUNE_KERNELS takes several");
			path = value;
		} else if (!reads_itself && (value = value_at(argv, argc, i, "--problem", &words)) != NULL) {
			problem = value;
		} else {
			words = 1;
			out->list[out->count++] = argv[i];
		}
	}
	if (path)
		TCB_TRY(add_file(path, registry, out, &added, err));
	if (problem && !added.file)
		return tcb_fail(err, TCB_E_USAGE,
				"--problem has sizes of a kernel that is not ours: give --kernel FILE.json");
	if (path && argc > 1 && option_of(argv[1], "op") && !is_given(out, "--op"))
		add_words(out, 0, "--op", strdup(added.op->name));
	if (path && argc > 1 && !problem && !is_given(out, "--shape")) {
		const struct cli_option *shape = option_of(argv[1], "shape");

		problem = shape && shape->required ? "" : NULL; /* the file's sizes */
	}
	if (problem) {
		char *shape = NULL;

		TCB_TRY(read_problem(problem, added.file, &shape, err));
		add_words(out, 1, "--shape", shape);
	}
	return TCB_OK;
}

void cli_words_fini(struct cli_words *words)
{
	for (size_t i = 0; i < sizeof words->made / sizeof *words->made; i++)
		free(words->made[i]);
	for (size_t i = 0; i < words->op_count; i++)
		tcb_file_op_destroy(words->ops[i]);
	free(words->ops);
	free(words->list);
}
