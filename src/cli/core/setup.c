/* SPDX-License-Identifier: MIT
 *
 * Turns the words of the command line into ops, devices, problems and
 * geometries, with a suggestion where a word is nearly right.
 */
#include "cli/core/setup.h"
#include "cli/core/aliases.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/kind.h"
#include "cli/core/emit.h"
#include "kernels/constraint.h"
#include "kernels/judged.h"

enum { NEAR_FILES_MAX = 200 };
/* Where it is remembered which results of GPUs are of today's kernels, in the user's cache folder. */
static const char JUDGED[] = "kernels.judged";

/* The ops of the family NAME, as "a, b". */
static size_t add_family(const struct tcb_registry *ops, const char *name, struct tcb_str *out)
{
	const size_t length = strlen(name);
	size_t found = 0;

	for (const struct tcb_op *const *op = ops->ops; *op; op++)
		if (strncmp((*op)->name, name, length) == 0 && (*op)->name[length] == '_')
			tcb_str_addf(out, "%s%s", found++ ? ", " : "", (*op)->name);
	return found;
}

enum tcb_status cli_find_op(const struct tcb_registry *ops, const char *name, const struct tcb_op **out,
			    struct tcb_error *err)
{
	char advice[CLI_ADVICE_MAX];
	struct tcb_str family = { 0 };
	enum tcb_status status = TCB_E_USAGE;

	*out = tcb_registry_find(ops, name);
	if (*out)
		return TCB_OK;
	if (add_family(ops, name, &family)) {
		tcb_fail(err, status, "'%.60s' stands for several ops (%s); name one of them", name, family.data);
	} else {
		cli_alias_advice(ops, CLI_NAMES_OP, name, advice);
		tcb_fail(err, status, "unknown op '%.60s'%s; 'tcbtune ops' lists all", name, advice);
	}
	tcb_str_fini(&family);
	return status;
}

enum tcb_status cli_check_device(const char *name, struct tcb_error *err)
{
	struct tcb_str forms = { 0 };
	char advice[CLI_ADVICE_MAX];

	if (tcb_kind_asked(name))
		return TCB_OK;
	cli_alias_advice(NULL, CLI_NAMES_DEVICE, name, advice);
	if (advice[0] == ';')
		return tcb_fail(err, TCB_E_USAGE,
				"unknown device '%.60s'%s; 'tcbtune devices' shows what this machine has", name,
				advice);
	for (size_t i = 0; tcb_kinds[i]; i++) {
		tcb_str_add(&forms, i ? ", " : "");
		tcb_kinds[i]->add_forms(&forms);
	}
	tcb_fail(err, TCB_E_USAGE,
		 "unknown device '%.60s'%s; devices are %s, and 'tcbtune devices' shows which this machine has", name,
		 advice, forms.failed ? "those of" : forms.data);
	tcb_str_fini(&forms);
	return TCB_E_USAGE;
}

enum tcb_status cli_check_threads(uint64_t threads, struct tcb_error *err)
{
	if (threads > TCB_CPUS_MAX)
		return tcb_fail(err, TCB_E_USAGE, "--threads %llu is more than tcbtune can pin (%d)",
				(unsigned long long)threads, TCB_CPUS_MAX);
	return TCB_OK;
}

enum tcb_status cli_open_device(const char *name, uint64_t threads, struct tcb_place *out, struct tcb_error *err)
{
	TCB_TRY(cli_check_device(name, err));
	TCB_TRY(cli_check_threads(threads, err));
	TCB_TRY(tcb_place_open(name, (unsigned)threads, 0, out, err));
	if (out->is_nearest)
		cli_say("%s is not recorded: %s stands for it", name, out->device.model);
	return TCB_OK;
}

/* What stands for several contracts: the word, and after a colon the least exact of them. */
static const char AUTO[] = "auto";

/* What follows the word in TEXT; NULL: TEXT is something else. */
static const char *behind_auto(const char *text)
{
	const size_t length = strlen(AUTO);

	if (!text || strncmp(text, AUTO, length) != 0 || (text[length] && text[length] != ':'))
		return NULL;
	return text + length;
}

enum tcb_status cli_find_contract(const struct tcb_op *op, const char *text, enum tcb_contract *out,
				  struct tcb_error *err)
{
	char offered[64] = "";

	*out = op->default_contract;
	if (!text)
		return TCB_OK;
	if (behind_auto(text))
		return tcb_fail(err, TCB_E_USAGE, "contract %s stands for several; here one is wanted: f32, f16 or q8",
				text);
	TCB_TRY(tcb_contract_parse(text, out, err));
	if (op->contracts >> *out & 1u)
		return TCB_OK;
	for (int contract = 0; contract < TCB_CONTRACT_COUNT; contract++) {
		if (!(op->contracts >> contract & 1u))
			continue;
		if (offered[0])
			strcat(offered, ", ");
		strcat(offered, tcb_contract_text((enum tcb_contract)contract));
	}
	return tcb_fail(err, TCB_E_USAGE, "op %s has no contract %s; it has %s", op->name, text, offered);
}

enum tcb_status cli_find_contracts(const struct tcb_op *op, const char *text, struct cli_contracts *out,
				   struct tcb_error *err)
{
	const char *behind = behind_auto(text);

	out->is_auto = behind != NULL;
	return cli_find_contract(op, !behind ? text : *behind ? behind + 1 : NULL, &out->least, err);
}

/* What people write between and around the numbers of a shape, as 'x'; 0: nothing was changed. */
static int tidy_shape(const char *text, char out[TCB_SHAPE_TEXT_MAX])
{
	static const char *const marks[] = { "\xc3\x97", ",", "*", "X" }; /* the first is a multiplication sign */
	size_t length = 0;
	const char *at = text;

	while (*at && length < TCB_SHAPE_TEXT_MAX - 1) {
		size_t mark = 0;
		while (mark < sizeof marks / sizeof *marks && strncmp(at, marks[mark], strlen(marks[mark])) != 0)
			mark++;
		if (mark < sizeof marks / sizeof *marks) {
			out[length++] = 'x';
			at += strlen(marks[mark]);
		} else if (strchr(" []()", *at)) {
			at++;
		} else {
			out[length++] = *at++;
		}
	}
	out[length] = '\0';
	return !*at && strcmp(text, out) != 0;
}

/* One row of activations is all that OP is asked for by default: a matrix is then a shape, too. */
static int is_of_one_row(const struct tcb_op *op)
{
	for (size_t i = 0; i < op->default_shape_count; i++)
		if (op->default_shapes[i].m != 1 || !op->default_shapes[i].k)
			return 0;
	return 1;
}

/* OP multiplies by a matrix, and TEXT was that alone. */
static enum tcb_status complete_shape(const struct tcb_op *op, struct tcb_shape *shape, struct tcb_error *err)
{
	const size_t rows = op->default_shapes[op->default_shape_count - 1].m;

	if (!is_of_one_row(op))
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes a shape MxNxK: %zu rows of activations with a matrix of %zu outputs by "
				"%zu inputs are %zux%zux%zu",
				op->name, rows, shape->m, shape->n, rows, shape->m, shape->n);
	*shape = (struct tcb_shape){ 1, shape->m, shape->n };
	return TCB_OK;
}

int cli_shape_has_axes(const char *text)
{
	int has_sizes = 0, has_axis = 0;

	for (; *text && !(text[0] == ',' && isalpha((unsigned char)text[1])); text++) {
		has_sizes |= *text == 'x';
		has_axis |= *text == ',' || *text == ':';
	}
	return has_sizes && has_axis;
}

/* A product of one output is hardly meant: M and N have changed places. */
static enum tcb_status check_order(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	if (tcb_op_needs_words(op) || !shape->k || shape->n != 1 || shape->m == 1)
		return TCB_OK;
	if (is_of_one_row(op))
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes a shape MxNxK, M rows of activations and N outputs: %zux1x%zu would be "
				"%zu rows and 1 output; did you mean 1x%zux%zu?",
				op->name, shape->m, shape->k, shape->m, shape->m, shape->k);
	cli_say("%zux1x%zu is %zu rows of activations (M) and 1 output (N); one row and %zu outputs are 1x%zux%zu",
		shape->m, shape->k, shape->m, shape->m, shape->m, shape->k);
	return TCB_OK;
}

enum tcb_status cli_read_shape(const struct tcb_op *op, const char *text, struct tcb_shape *out, struct tcb_error *err)
{
	char tidied[TCB_SHAPE_TEXT_MAX], printed[TCB_SHAPE_TEXT_MAX];

	if (cli_shape_has_axes(text))
		return tcb_fail(err, TCB_E_USAGE, "'%.80s' stands for several shapes; one is wanted here", text);
	const int is_tidied = tcb_shape_parse(text, out, NULL) != TCB_OK && tidy_shape(text, tidied);
	const enum tcb_status status = tcb_shape_parse(is_tidied ? tidied : text, out, is_tidied ? NULL : err);

	const char *comma = strchr(text, ',');
	if (status != TCB_OK && comma && isalpha((unsigned char)comma[1])) /* words, whose error says more */
		return tcb_shape_parse(text, out, err);
	if (status != TCB_OK)
		return is_tidied ? tcb_shape_parse(text, out, err) : status;
	const int is_matrix = op && !out->k && op->default_shapes[0].k;
	if (is_matrix)
		TCB_TRY(complete_shape(op, out, err));
	if (op)
		TCB_TRY(check_order(op, out, err));
	if (is_matrix || is_tidied) {
		tcb_shape_print(out, printed);
		cli_say("--shape %s is taken as %s%s", text, printed,
			is_matrix ? ": one row of activations, N outputs by K inputs" : "");
	}
	return TCB_OK;
}

enum tcb_status cli_make_problem(const struct tcb_op *op, const char *contract, const char *shape,
				 struct tcb_problem *out, struct tcb_error *err)
{
	enum tcb_contract which;
	struct tcb_shape parsed = op->default_shapes[0];

	TCB_TRY(cli_find_contract(op, contract, &which, err));
	if (shape)
		TCB_TRY(cli_read_shape(op, shape, &parsed, err));
	return tcb_problem_init(op, which, &parsed, out, err);
}

enum tcb_status cli_find_geometry(const struct tcb_op *op, const struct tcb_problem *problem,
				  const struct tcb_target *target, const char *text, struct tcb_geometry *out,
				  struct tcb_error *err)
{
	char why[TCB_WHY_MAX];
	struct tcb_plan plan;

	TCB_TRY(tcb_geometry_parse_of(text, op->parameters, out, err));
	TCB_TRY(tcb_op_require(op, target, err));
	if (tcb_constraint_violated(op, problem, target, out, 1, why))
		return tcb_fail(err, TCB_E_ILLEGAL, "illegal geometry: %s", why);
	return tcb_kind_of(target)->is_emitted ? TCB_OK : tcb_op_side(op, target)->plan(problem, out, &plan, err);
}

/* What earlier commands found out, and what was installed with the system's database. */
static void read_judged(void)
{
	char path[CLI_PATH_MAX], system[CLI_PATH_MAX + 16];

	tcb_judged_begin(tcb_kernels_id());
	if (tcb_file_in_cache(JUDGED, 0, path, sizeof path))
		tcb_judged_read(path);
	if (tcb_db_system_path(path, sizeof path)) {
		snprintf(system, sizeof system, "%s%s", path, TCB_JUDGED_SUFFIX);
		tcb_judged_read(system);
	}
}

static int is_database(const struct dirent *entry)
{
	const char *ending = strrchr(entry->d_name, '.');

	return ending && strcmp(ending, ".db") == 0;
}

/* " (did you mean X?)" of the databases in the folder where PATH is not; 0: none is near. */
static int suggest_file(const char *path, char out[CLI_ADVICE_MAX])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *nearest = NULL;
	const char *names[NEAR_FILES_MAX];
	char folder[CLI_PATH_MAX];
	struct dirent **entries = NULL;
	int count;

	(void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
	count = scandir(folder, &entries, is_database, alphasort);
	for (int i = 0; i < count && i < NEAR_FILES_MAX; i++)
		names[i] = entries[i]->d_name;
	if (count > 0)
		nearest = cli_nearest(name, names, (size_t)(count < NEAR_FILES_MAX ? count : NEAR_FILES_MAX));
	if (nearest)
		(void)snprintf(out, CLI_ADVICE_MAX, " (did you mean %.90s%.200s?)", slash ? folder : "", nearest);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	return nearest != NULL;
}

enum tcb_status cli_open_db_file(const struct tcb_registry *ops, const char *path, enum tcb_db_mode mode,
				 struct tcb_db **out, struct tcb_error *err)
{
	const struct tcb_op_names names = tcb_registry_names(ops);

	TCB_TRY(tcb_db_open(path, mode, out, err));
	tcb_db_know_ops(*out, &names);
	return TCB_OK;
}

enum tcb_status cli_open_db(const struct tcb_registry *ops, const char *option, enum tcb_db_mode mode,
			    char path_out[CLI_PATH_MAX], struct tcb_db **out, struct tcb_error *err)
{
	char suggestion[CLI_ADVICE_MAX];
	enum tcb_status status;

	TCB_TRY(tcb_db_path(option, mode, path_out, CLI_PATH_MAX, err));
	read_judged();
	status = cli_open_db_file(ops, path_out, mode, out, err);
	if (status == TCB_E_NOT_FOUND && option && access(path_out, F_OK) && suggest_file(path_out, suggestion))
		return tcb_fail(err, status, "%s does not exist%s", path_out, suggestion);
	return status;
}

enum tcb_status cli_check_out_db(const char *out, const char *option, struct tcb_error *err)
{
	static const char *const endings[] = { "", "-wal", "-shm", "-journal" };
	char path[CLI_PATH_MAX], file[CLI_PATH_MAX + 16];

	/* A place that cannot be found is another step's error. */
	if (!out || tcb_db_path(option, TCB_DB_READ, path, sizeof path, NULL) != TCB_OK)
		return TCB_OK;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		snprintf(file, sizeof file, "%s%s", path, endings[i]);
		TCB_TRY(cli_check_out(out, file, "the database", err));
	}
	return TCB_OK;
}

void cli_close_db(struct tcb_db *db)
{
	const char *first = "";
	size_t count = db ? tcb_db_unreadable(db, &first) : 0;
	char path[CLI_PATH_MAX];

	if (count)
		cli_say("%zu row%s of the database cannot be read and %s left out, the first: %s; 'tcbtune db check' "
			"names all",
			count, count == 1 ? "" : "s", count == 1 ? "was" : "were", first);
	tcb_db_close(db);
	if (tcb_file_in_cache(JUDGED, 1, path, sizeof path))
		tcb_judged_write(path);
}
