/* SPDX-License-Identifier: MIT
 *
 * tcbtune defaults: rules that pick a default geometry by the shape, made of
 * what databases hold, judged on shapes that they were not made of, and written
 * as the table that the program is built with.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/stats.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/tune/default_cells.h"
#include "cli/tune/default_features.h"
#include "cli/tune/default_fill.h"

enum format { FORMAT_TEXT, FORMAT_TABLE, FORMAT_FEATURES, FORMAT_CARRIED };

struct defaults_args {
	const struct tcb_registry *ops;
	struct cli_list files, judges, own;
	const char *op, *arch, *out;
	uint64_t worst, least, folds;
	int format; /* enum format */
	int fill, json;
	const char *device, *db;
	uint64_t threads;
	double budget_s;
};

static const struct cli_option options[] = {
	{ NULL, "FILE", CLI_LIST, offsetof(struct defaults_args, files), "a tuning database", .required = 1 },
	{ "judge", "FILE", CLI_LIST, offsetof(struct defaults_args, judges),
	  "a database whose shapes the rules are judged on and not made of", .note = "none" },
	CLI_OPTION_OP(struct defaults_args, 0, "of this op only"),
	{ "own", "OP", CLI_LIST, offsetof(struct defaults_args, own),
	  "the rule of this op is its own default, which is newer than what was measured", .note = "none" },
	{ "arch", "ARCH", CLI_TEXT, offsetof(struct defaults_args, arch),
	  "of this architecture only, as in sm_90 or x86_64-avx512vnni", .note = "all" },
	{ "worst", "PERCENT", CLI_COUNT, offsetof(struct defaults_args, worst),
	  "a rule has as few geometries as lose at most this at each of its shapes", .fallback = "10" },
	{ "least", "N", CLI_COUNT, offsetof(struct defaults_args, least),
	  "shapes with fewer measured geometries are left out", .fallback = "50" },
	{ "folds", "N", CLI_COUNT, offsetof(struct defaults_args, folds),
	  "parts into which the shapes are dealt; each part is judged by a rule that is made of the others",
	  .fallback = "0", .note = "as many as shapes" },
	{ "format", "FORMAT", CLI_WORD, offsetof(struct defaults_args, format),
	  "text: rules and what they lose; table: the C source of one architecture's rules; features: what "
	  "scripts/train-defaults.py learns from, a line for each geometry that was measured; carried: one "
	  "for each geometry that was good at some problem of --op's family, at all of them",
	  .words = "text|table|features|carried", .fallback = "text" },
	{ "out", "FILE", CLI_TEXT, offsetof(struct defaults_args, out), "where it goes", .note = "stdout" },
	{ "fill", NULL, CLI_FLAG, offsetof(struct defaults_args, fill),
	  "measure what is missing: the geometries of all rules, and the best three of each shape, at the other "
	  "shapes; the trials go to --db" },
	CLI_OPTION_DEVICE(struct defaults_args),
	CLI_OPTION_THREADS(struct defaults_args),
	{ "budget", "TIME", CLI_SECONDS, offsetof(struct defaults_args, budget_s),
	  "time for all that --fill measures, as in 60s", .words = "none", .fallback = "none" },
	CLI_OPTION_DB(struct defaults_args),
	CLI_OPTION_JSON(struct defaults_args),
	CLI_OPTION_END,
};

/* --- one group --- */

enum { OWN = 0 }; /* the candidate that is the op's own default */
enum { BEST_FEW = 3 };

/* What one way to choose loses, over the shapes that it was asked for. */
struct losses {
	double all[TCB_RULE_SHAPES_MAX];
	size_t count, unknown;
};

struct judged {
	const struct cli_default_group *group;
	struct tcb_rule_tree tree;
	tcb_rule_set train;
	unsigned char *wanted; /* [candidate]: of a rule, or the best at some shape; owned */
	int is_own;            /* whatever was measured */
	double made[TCB_RULE_SHAPES_MAX], left_out[TCB_RULE_SHAPES_MAX]; /* [row] */
};

static void add_loss(struct losses *losses, double loss)
{
	if (isfinite(loss))
		losses->all[losses->count++] = loss;
	else
		losses->unknown++;
}

static double median(struct losses *losses)
{
	qsort(losses->all, losses->count, sizeof *losses->all, tcb_ascending);
	const size_t half = losses->count / 2;
	return !losses->count      ? NAN
	       : losses->count % 2 ? losses->all[half]
				   : (losses->all[half - 1] + losses->all[half]) / 2;
}

static double largest(const struct losses *losses)
{
	double most = NAN;
	for (size_t i = 0; i < losses->count; i++)
		most = fmax(most, losses->all[i]);
	return most;
}

static void want_rule(struct judged *j, const struct tcb_rule_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		j->wanted[tree->leaf[i].candidate] = 1;
}

/* The BEST_FEW of row S. */
static void want_best(struct judged *j, size_t s)
{
	const struct tcb_rule_cells *cells = &j->group->cells;
	double more_than = 0;
	for (int found = 0; found < BEST_FEW; found++) {
		size_t best = SIZE_MAX;
		for (size_t c = 0; c < cells->candidate_count; c++) {
			const double loss = cells->loss[c * cells->shape_count + s];
			if (loss > more_than && (best == SIZE_MAX || loss < cells->loss[best * cells->shape_count + s]))
				best = c;
		}
		if (best == SIZE_MAX || !isfinite(cells->loss[best * cells->shape_count + s]))
			return;
		more_than = cells->loss[best * cells->shape_count + s];
		j->wanted[best] = 1;
	}
}

static enum tcb_status leave_out(struct judged *j, tcb_rule_set part, double worst, struct tcb_error *err)
{
	const struct tcb_rule_cells *cells = &j->group->cells;
	struct tcb_rule_tree tree;
	if (!(j->train & ~part) || !(j->train & part))
		return TCB_OK;
	TCB_TRY(tcb_rule_learn(cells, j->train & ~part, worst, &tree, err));
	want_rule(j, &tree);
	for (size_t s = 0; s < cells->shape_count; s++)
		if (part & TCB_RULE_BIT(s))
			j->left_out[s] = tcb_rule_loss(cells, &tree, s, OWN, NULL);
	return TCB_OK;
}

/* Rows of one shape are in one part. */
static enum tcb_status judge_parts(struct judged *j, const struct defaults_args *args, double worst,
				   struct tcb_error *err)
{
	const struct cli_default_group *group = j->group;
	tcb_rule_set part[TCB_RULE_SHAPES_MAX] = { 0 };
	size_t shapes = 0;
	for (size_t s = 0; s < group->row_count; s++) {
		if (!(j->train & TCB_RULE_BIT(s)))
			continue;
		shapes += !s || memcmp(&group->shapes[s], &group->shapes[s - 1], sizeof *group->shapes) != 0;
		part[args->folds ? (shapes - 1) % args->folds : shapes - 1] |= TCB_RULE_BIT(s);
	}
	for (size_t p = 0; p < shapes; p++)
		TCB_TRY(leave_out(j, part[p], worst, err));
	return TCB_OK;
}

static enum tcb_status judge(struct judged *j, const struct defaults_args *args, struct tcb_error *err)
{
	const struct tcb_rule_cells *cells = &j->group->cells;
	const double worst = 1 + (double)args->worst / 100;
	for (size_t s = 0; s < cells->shape_count; s++)
		if (!j->group->rows[s].is_judged)
			j->train |= TCB_RULE_BIT(s);
	j->wanted = calloc(cells->candidate_count, 1);
	if (!j->wanted)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu candidates", cells->candidate_count);
	TCB_TRY(tcb_rule_learn(cells, j->train, worst, &j->tree, err));
	if (j->is_own) {
		j->tree.count = 1;
		j->tree.leaf[0] = (struct tcb_rule_leaf){ .candidate = OWN };
	}
	want_rule(j, &j->tree);
	j->wanted[OWN] = 1;
	for (size_t s = 0; s < cells->shape_count; s++)
		if (j->train & TCB_RULE_BIT(s))
			want_best(j, s);
	for (size_t s = 0; s < cells->shape_count; s++)
		j->made[s] = tcb_rule_loss(cells, &j->tree, s, OWN, NULL);
	return j->is_own ? TCB_OK : judge_parts(j, args, worst, err);
}

/* --- text --- */

static void add_bounds(struct tcb_str *out, const struct tcb_rule_leaf *leaf)
{
	const struct {
		const char *name;
		size_t bound;
	} bounds[] = { { "m", leaf->m }, { "n", leaf->n }, { "k", leaf->k }, { "m*n", leaf->mn } };
	const char *before = "";
	for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
		if (!bounds[i].bound)
			continue;
		tcb_str_addf(out, "%s%s <= %zu", before, bounds[i].name, bounds[i].bound);
		before = ", ";
	}
	if (!*before)
		tcb_str_add(out, "otherwise");
}

static void add_percent(struct cli_table *table, double loss)
{
	if (isnan(loss))
		cli_table_cell(table, "?");
	else if (isinf(loss))
		cli_table_cell(table, "-");
	else
		cli_table_cell(table, "%.1f", 100 * (loss - 1));
}

static void add_summary(struct tcb_str *out, const char *what, struct losses *losses)
{
	if (losses->count + losses->unknown == 0)
		return;
	const double middle = median(losses), most = largest(losses);
	tcb_str_addf(out, "  %-32s", what);
	if (losses->count)
		tcb_str_addf(out, " median %5.1f %%, worst %6.1f %%, %zu shapes", 100 * (middle - 1), 100 * (most - 1),
			     losses->count);
	if (losses->unknown)
		tcb_str_addf(out, "%s %zu not measured", losses->count ? "," : "", losses->unknown);
	tcb_str_add(out, "\n");
}

static void add_summaries(struct tcb_str *out, const struct judged *j)
{
	struct losses made = { .count = 0 }, left_out = { .count = 0 }, others = { .count = 0 };
	struct losses own = { .count = 0 }, own_others = { .count = 0 };
	for (size_t s = 0; s < j->group->row_count; s++) {
		const double own_loss = j->group->cells.loss[OWN * j->group->row_count + s];
		if (j->train & TCB_RULE_BIT(s)) {
			add_loss(&made, j->made[s]);
			add_loss(&left_out, j->left_out[s]);
			add_loss(&own, own_loss);
		} else {
			add_loss(&others, j->made[s]);
			add_loss(&own_others, own_loss);
		}
	}
	add_summary(out, "the rule, where it was made", &made);
	add_summary(out, "rules without these shapes", &left_out);
	add_summary(out, "the op's own default there", &own);
	add_summary(out, "the rule on shapes to judge", &others);
	add_summary(out, "the op's own default there", &own_others);
}

static enum tcb_status add_rows(struct tcb_str *out, const struct judged *j, struct tcb_error *err)
{
	static const struct cli_column columns[] = {
		{ "  shape", 0 }, { "device", 0 }, { "measured", 1 }, { "row", 1 },         { "cold %", 1 },
		{ "hot %", 1 },   { "loss", 1 },   { "left out", 1 }, { "own default", 1 },
	};
	const struct cli_default_group *group = j->group;
	struct cli_table table;
	cli_table_init(&table, columns, sizeof columns / sizeof *columns);
	for (size_t s = 0; s < group->row_count; s++) {
		const struct cli_shape_row *row = &group->rows[s];
		char shape[TCB_SHAPE_TEXT_MAX];
		size_t candidate, at = 0;
		tcb_shape_print(&row->problem.shape, shape);
		(void)tcb_rule_loss(&group->cells, &j->tree, s, OWN, &candidate);
		while (at < j->tree.count && j->tree.leaf[at].candidate != candidate)
			at++;
		cli_table_cell(&table, "  %s", shape);
		cli_table_cell(&table, "%s %.4s%s", row->device.model, row->device.key,
			       row->is_judged ? " (judged)" : "");
		cli_table_cell(&table, "%zu", row->count);
		cli_table_cell(&table, at < j->tree.count ? "%zu" : "own", at + 1);
		for (int state = 0; state < TCB_STATE_COUNT; state++)
			add_percent(&table, group->state_loss[state][candidate * group->row_count + s]);
		add_percent(&table, j->made[s]);
		add_percent(&table, j->left_out[s]);
		add_percent(&table, group->cells.loss[OWN * group->row_count + s]);
	}
	return cli_table_finish(&table, CLI_TABLE_TEXT, out, err);
}

static void add_name(struct tcb_str *out, const struct cli_default_group *group)
{
	tcb_str_addf(out, "%s %s %s", group->op->name, tcb_contract_text(group->contract), group->arch);
	if (group->threads)
		tcb_str_addf(out, ", threads=%u", group->threads);
	tcb_str_add(out, "\n");
}

static enum tcb_status add_text(struct tcb_str *out, const struct judged *j, struct tcb_error *err)
{
	const struct cli_default_group *group = j->group;
	tcb_str_add(out, out->length ? "\n" : "");
	add_name(out, group);
	for (size_t i = 0; i < j->tree.count; i++) {
		const struct tcb_rule_leaf *leaf = &j->tree.leaf[i];
		tcb_str_addf(out, "  %zu. ", i + 1);
		add_bounds(out, leaf);
		tcb_str_addf(out, ": %s\n",
			     leaf->candidate == OWN ? "the op's own default" : group->forms[leaf->candidate]);
	}
	TCB_TRY(add_rows(out, j, err));
	add_summaries(out, j);
	return TCB_OK;
}

/* --- JSON --- */

/* A ratio as it is; null where it is unknown, or nothing can be used. */
static json_t *json_row(const struct judged *j, size_t s, int *failed)
{
	const struct cli_default_group *group = j->group;
	const struct cli_shape_row *row = &group->rows[s];
	json_t *object = json_object();
	size_t candidate;
	(void)tcb_rule_loss(&group->cells, &j->tree, s, OWN, &candidate);
	cli_json_set(object, "shape", cli_json_shape(&row->problem.shape), failed);
	cli_json_set(object, "device", cli_json_text(row->device.model), failed);
	cli_json_set(object, "device_key", cli_json_text(row->device.key), failed);
	cli_json_set(object, "judged", json_boolean(row->is_judged), failed);
	cli_json_set(object, "measured", cli_json_size(row->count), failed);
	for (int state = 0; state < TCB_STATE_COUNT; state++)
		cli_json_set(object, tcb_state_text((enum tcb_state)state),
			     cli_json_real(group->state_loss[state][candidate * group->row_count + s]), failed);
	cli_json_set(object, "loss", cli_json_real(j->made[s]), failed);
	cli_json_set(object, "left_out", cli_json_real(j->left_out[s]), failed);
	cli_json_set(object, "own_default", cli_json_real(group->cells.loss[OWN * group->row_count + s]), failed);
	return object;
}

static json_t *json_leaf(const struct judged *j, const struct tcb_rule_leaf *leaf, int *failed)
{
	const char *form = j->group->forms[leaf->candidate];
	json_t *object = json_object();
	cli_json_set(object, "m", cli_json_size(leaf->m), failed);
	cli_json_set(object, "n", cli_json_size(leaf->n), failed);
	cli_json_set(object, "k", cli_json_size(leaf->k), failed);
	cli_json_set(object, "mn", cli_json_size(leaf->mn), failed);
	cli_json_set(object, "geometry", form ? cli_json_text(form) : json_null(), failed);
	return object;
}

static json_t *json_rule(const struct judged *j, int *failed)
{
	const struct cli_default_group *group = j->group;
	json_t *object = json_object(), *rows = json_array(), *shapes = json_array();
	cli_json_set(object, "op", cli_json_text(group->op->name), failed);
	cli_json_set(object, "contract", cli_json_text(tcb_contract_text(group->contract)), failed);
	cli_json_set(object, "arch", cli_json_text(group->arch), failed);
	cli_json_set(object, "threads", cli_json_size(group->threads), failed);
	for (size_t i = 0; i < j->tree.count; i++)
		cli_json_add(rows, json_leaf(j, &j->tree.leaf[i], failed), failed);
	for (size_t s = 0; s < group->row_count; s++)
		cli_json_add(shapes, json_row(j, s, failed), failed);
	cli_json_set(object, "rows", rows, failed);
	cli_json_set(object, "shapes", shapes, failed);
	return object;
}

static enum tcb_status print_json(const struct judged *judged, size_t count, const struct defaults_args *args,
				  struct tcb_error *err)
{
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.defaults.1", &failed), *rules = json_array();
	for (size_t i = 0; i < count; i++)
		cli_json_add(rules, json_rule(&judged[i], &failed), &failed);
	cli_json_set(root, "rules", rules, &failed);
	return cli_emit_json_to(args->out, cli_json_end(root, failed), err);
}

/* --- table --- */

static void add_files(struct tcb_str *out, const struct cli_list *files)
{
	for (size_t i = 0; i < files->count; i++) {
		const char *slash = strrchr(files->items[i], '/');
		tcb_str_addf(out, "%s%s", i ? "\n *     " : " *     ", slash ? slash + 1 : files->items[i]);
	}
	tcb_str_add(out, "\n");
}

static void add_array_name(struct tcb_str *out, const char *arch)
{
	char name[TCB_ARCH_TEXT_MAX];
	(void)snprintf(name, sizeof name, "%s", arch);
	for (char *c = name; *c; c++)
		*c = (char)(*c == '-' ? '_' : *c);
	tcb_str_add(out, name);
}

/* A rule that is no better than the op's own default is none, but where it is to be that. */
static int is_worth_it(const struct judged *j)
{
	struct losses made = { .count = 0 }, own = { .count = 0 };
	for (size_t s = 0; s < j->group->row_count; s++)
		if (j->train & TCB_RULE_BIT(s)) {
			add_loss(&made, j->made[s]);
			add_loss(&own, j->group->cells.loss[OWN * j->group->row_count + s]);
		}
	return j->is_own || (made.count > 0 && (own.unknown > made.unknown || largest(&made) < largest(&own)));
}

static void add_rule_rows(struct tcb_str *out, const struct judged *j, size_t number)
{
	tcb_str_addf(out, "static const struct tcb_default_row rows_%zu[] = {\n", number);
	for (size_t i = 0; i < j->tree.count; i++) {
		const struct tcb_rule_leaf *leaf = &j->tree.leaf[i];
		tcb_str_addf(out, "\t{ %zu, %zu, %zu, %zu, ", leaf->m, leaf->n, leaf->k, leaf->mn);
		if (leaf->candidate == OWN)
			tcb_str_add(out, "NULL },\n");
		else
			tcb_str_addf(out, "\"%s\" },\n", j->group->forms[leaf->candidate]);
	}
	tcb_str_add(out, "};\n");
}

static void add_evidence(struct tcb_str *out, const struct judged *j)
{
	const struct cli_default_group *group = j->group;
	struct losses made = { .count = 0 };
	size_t rows = 0, first = group->row_count;
	for (size_t s = 0; s < group->row_count; s++)
		if (j->train & TCB_RULE_BIT(s)) {
			add_loss(&made, j->made[s]);
			first = rows++ ? first : s;
		}
	tcb_str_addf(out, "%zu shapes on %s, worst loss %.0f %%", rows, group->rows[first].device.model,
		     100 * (largest(&made) - 1));
}

static void add_entry(struct tcb_str *out, const struct judged *j, size_t number)
{
	const struct tcb_shape *least = &j->tree.least, *most = &j->tree.most;
	const char *contract = tcb_contract_text(j->group->contract);
	tcb_str_addf(out, "\t{ \"%s\", TCB_CONTRACT_%c%s, \"%s\", %u,\n", j->group->op->name, contract[0] - 'a' + 'A',
		     contract + 1, j->group->arch, j->group->threads);
	tcb_str_addf(out, "\t  { %zu, %zu, %zu }, { %zu, %zu, %zu },\n\t  \"", least->m, least->n, least->k, most->m,
		     most->n, most->k);
	add_evidence(out, j);
	tcb_str_addf(out, "\",\n\t  sizeof rows_%zu / sizeof *rows_%zu, rows_%zu },\n", number, number, number);
}

static void add_head(struct tcb_str *out, const struct defaults_args *args)
{
	char date[32];
	const time_t now = time(NULL);
	struct tm tm;
	(void)strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &tm));
	tcb_str_addf(out,
		     "/* SPDX-License-Identifier: MIT\n *\n"
		     " * Written by `tcbtune defaults --format table --worst %llu --least %llu` on %s, from\n",
		     (unsigned long long)args->worst, (unsigned long long)args->least, date);
	add_files(out, &args->files);
	tcb_str_add(out, " * Not edited by hand: measure more (--fill) and write it again.\n */\n"
			 "#include \"kernels/default_rules.h\"\n\n/* clang-format off */\n");
}

/* The shapes are not in it: FORMAT_TEXT tells them. */
static enum tcb_status add_table(struct tcb_str *out, struct judged *judged, size_t count,
				 const struct defaults_args *args, struct tcb_error *err)
{
	size_t number = 0;
	for (size_t i = 1; i < count; i++)
		if (strcmp(judged[i].group->arch, judged[0].group->arch) != 0)
			return tcb_fail(
				err, TCB_E_USAGE,
				"a table has the rules of one architecture, and these are %s and %s; say --arch",
				judged[0].group->arch, judged[i].group->arch);
	add_head(out, args);
	for (size_t i = 0; i < count; i++) {
		if (!is_worth_it(&judged[i]))
			continue;
		struct tcb_str text = { 0 };
		add_summaries(&text, &judged[i]);
		tcb_str_add(out, "\n/* ");
		add_name(out, judged[i].group);
		for (char *line = text.data, *end; line && *line; line = end) {
			end = strchr(line, '\n') + 1;
			tcb_str_addf(out, " * %.*s", (int)(end - line), line);
		}
		tcb_str_fini(&text);
		tcb_str_add(out, " */\n");
		add_rule_rows(out, &judged[i], ++number);
	}
	tcb_str_add(out, "\nconst struct tcb_default_rule tcb_defaults_");
	add_array_name(out, judged[0].group->arch);
	tcb_str_add(out, "[] = {\n");
	number = 0;
	for (size_t i = 0; i < count; i++)
		if (is_worth_it(&judged[i]))
			add_entry(out, &judged[i], ++number);
	tcb_str_add(out, "\t{ .op = NULL },\n};\n");
	return TCB_OK;
}

/* --- the whole --- */

static enum tcb_status read_all(struct cli_default_groups *groups, const struct defaults_args *args,
				struct tcb_error *err)
{
	for (size_t i = 0; i < args->files.count; i++)
		TCB_TRY(cli_defaults_add(args->ops, groups, args->files.items[i], 0, err));
	for (size_t i = 0; i < args->judges.count; i++)
		TCB_TRY(cli_defaults_add(args->ops, groups, args->judges.items[i], 1, err));
	if (args->format >= FORMAT_FEATURES)
		return TCB_OK;
	TCB_TRY(cli_defaults_fill(groups, args->op, args->arch, args->least, err));
	if (groups->count == 0)
		return tcb_fail(err, TCB_E_NOT_FOUND,
				"no op has two shapes with %llu measured geometries each; sweep more, or say --least",
				(unsigned long long)args->least);
	return TCB_OK;
}

static enum tcb_status judge_all(struct judged *judged, const struct cli_default_groups *groups,
				 const struct defaults_args *args, struct tcb_error *err)
{
	for (size_t i = 0; i < groups->count; i++) {
		judged[i].group = &groups->items[i];
		for (size_t o = 0; o < args->own.count; o++)
			judged[i].is_own |= strcmp(args->own.items[o], judged[i].group->op->name) == 0;
		for (size_t s = 0; s < TCB_RULE_SHAPES_MAX; s++)
			judged[i].left_out[s] = NAN;
		TCB_TRY(judge(&judged[i], args, err));
	}
	return TCB_OK;
}

static enum tcb_status print(struct judged *judged, size_t count, const struct defaults_args *args,
			     struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	enum tcb_status status = TCB_OK;
	if (args->json)
		return print_json(judged, count, args, err);
	if (args->format == FORMAT_TABLE)
		status = add_table(&out, judged, count, args, err);
	for (size_t i = 0; status == TCB_OK && args->format == FORMAT_TEXT && i < count; i++)
		status = add_text(&out, &judged[i], err);
	if (status == TCB_OK)
		return cli_emit_text_to(args->out, &out, err);
	tcb_str_fini(&out);
	return status;
}

static enum tcb_status fill(const struct judged *judged, const struct cli_default_groups *groups,
			    const struct defaults_args *args, struct tcb_error *err)
{
	const unsigned char **wanted = calloc(groups->count, sizeof *wanted);
	if (!wanted)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu rules", groups->count);
	for (size_t i = 0; i < groups->count; i++)
		wanted[i] = judged[i].wanted;
	const struct cli_fill what = { args->ops,      args->device,  args->db, args->threads,
				       args->budget_s, groups->items, wanted,   groups->count };
	enum tcb_status status = cli_fill_run(&what, err);
	free(wanted);
	return status;
}

static enum tcb_status judge_and_print(const struct cli_default_groups *groups, const struct defaults_args *args,
				       struct tcb_error *err)
{
	struct judged *judged = calloc(groups->count, sizeof *judged);
	if (!judged)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu rules", groups->count);
	enum tcb_status status = judge_all(judged, groups, args, err);
	if (status == TCB_OK)
		status = args->fill ? fill(judged, groups, args, err) : print(judged, groups->count, args, err);
	for (size_t i = 0; i < groups->count; i++)
		free(judged[i].wanted);
	free(judged);
	return status;
}

static enum tcb_status print_features(struct cli_default_groups *groups, const struct defaults_args *args,
				      const struct tcb_op *op, struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	const enum tcb_status status =
		cli_default_features(groups, op, args->arch, args->format == FORMAT_CARRIED, &out, err);
	if (status == TCB_OK)
		return cli_emit_text_to(args->out, &out, err);
	tcb_str_fini(&out);
	return status;
}

static enum tcb_status run_defaults(const void *arguments, struct tcb_error *err)
{
	const struct defaults_args *args = arguments;
	struct cli_default_groups groups = { 0 };
	const struct tcb_op *op = NULL;
	if (args->op)
		TCB_TRY(cli_find_op(args->ops, args->op, &op, err));
	enum tcb_status status = read_all(&groups, args, err);
	if (status == TCB_OK)
		status = args->format >= FORMAT_FEATURES ? print_features(&groups, args, op, err)
							 : judge_and_print(&groups, args, err);
	cli_defaults_fini(&groups);
	return status;
}

const struct cli_command cli_command_defaults = {
	.name = "defaults",
	.summary = "rules that pick default geometries by the shape, from databases",
	.description = "For each op, contract, architecture and number of threads with at least two measured shapes: "
		       "the fewest geometries that lose at most --worst at each of them, and the rule that picks one "
		       "by m, n, k and m*n.  M, N and K in a geometry stand for tiles as large as the shape.  A loss "
		       "is the time over the best of the shape's, in percent: with cold caches, or a third of that "
		       "with hot ones where it is more; ? was not measured.  'left out' is what a rule that was made "
		       "without the shape loses there, 'own default' what the op's hand-written one does.",
	.examples = "  tcbtune defaults tuning.db\n"
		    "  tcbtune defaults half.db --judge other.db --op @OP\n"
		    "  tcbtune defaults h200.db --format table --out src/kernels/defaults/defaults_sm_90.c\n",
	.options = options,
	.args_bytes = sizeof(struct defaults_args),
	.run = run_defaults,
};
