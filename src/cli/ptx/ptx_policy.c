/* SPDX-License-Identifier: MIT
 *
 * In: the words of --rule and --no-rule, a file of suppressions, a baseline.
 * Out: whether a finding counts.
 *
 * A line of suppressions is a rule, or * for all, and what else must hold:
 *
 *     bank-conflict kernel=transpose*  # the old one
 *     * source=reduce.cuh:57
 *
 * A baseline is JSON (schemas/ptx-baseline.schema.json): the fingerprints of
 * what was found when it was written.
 */
#include "cli/ptx/ptx_policy.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/demangle.h"
#include "cli/core/lines.h"

/* --- rules --- */

void ptx_rule_suggestion(const char *word, char out[PTX_SUGGESTION_MAX])
{
	const char *names[TCB_PTX_RULE_COUNT];

	for (int i = 0; i < TCB_PTX_RULE_COUNT; i++)
		names[i] = tcb_ptx_rule_name((enum tcb_ptx_rule)i);
	cli_suggestion(word, names, TCB_PTX_RULE_COUNT, out, PTX_SUGGESTION_MAX);
}

static enum tcb_status find_rule(const char *where, const char *word, size_t length, enum tcb_ptx_rule *out,
				 struct tcb_error *err)
{
	char copy[64], suggestion[PTX_SUGGESTION_MAX];

	*out = tcb_ptx_rule_find(word, length);
	if (*out != TCB_PTX_RULE_COUNT)
		return TCB_OK;
	snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : sizeof copy - 1), word);
	ptx_rule_suggestion(copy, suggestion);
	return tcb_fail(err, TCB_E_USAGE, "%s: no rule is called '%s'%s", where, copy, suggestion);
}

/* Sets left_out of each rule in LIST to VALUE. */
static enum tcb_status mark_rules(struct ptx_policy *policy, const char *option, const struct cli_list *list,
				  unsigned char value, struct tcb_error *err)
{
	for (size_t i = 0; i < list->count; i++)
		for (const char *at = list->items[i];; at++) {
			size_t length = strcspn(at, ",");
			enum tcb_ptx_rule rule;

			TCB_TRY(find_rule(option, at, length, &rule, err));
			policy->left_out[rule] = value;
			at += length;
			if (!*at)
				break;
		}
	return TCB_OK;
}

/* --- suppressions --- */

static int copy_pattern(struct ptx_policy *policy, const char *word, const char *key, const char **out, int *failed)
{
	if (strncmp(word, key, strlen(key)) != 0 || word[strlen(key)] != '=')
		return 0;
	word += strlen(key) + 1;
	*out = tcb_arena_text(&policy->arena, word, strlen(word));
	*failed |= !*out;
	return 1;
}

/* One line, which is cut into its words; a blank one is none. */
static enum tcb_status read_suppression(void *ctx, const char *where, char *line, struct tcb_error *err)
{
	struct ptx_policy *policy = ctx;
	struct ptx_suppression one = { .rule = -1 };
	char *save = NULL, *word;
	int failed = 0;

	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, " \t\r\n", &save);
	if (!word)
		return TCB_OK;
	if (strcmp(word, "*") != 0) {
		enum tcb_ptx_rule rule;

		TCB_TRY(find_rule(where, word, strlen(word), &rule, err));
		one.rule = (int)rule;
	}
	while ((word = strtok_r(NULL, " \t\r\n", &save)))
		if (!copy_pattern(policy, word, "file", &one.file, &failed) &&
		    !copy_pattern(policy, word, "kernel", &one.kernel, &failed) &&
		    !copy_pattern(policy, word, "source", &one.source, &failed))
			return tcb_fail(err, TCB_E_USAGE,
					"%s: '%.60s' is not file=, kernel= or source= with a pattern behind it", where,
					word);
	if (one.rule < 0 && !one.file && !one.kernel && !one.source)
		return tcb_fail(err, TCB_E_USAGE,
				"%s: '*' alone would suppress everything; say file=, kernel= or source=", where);
	if ((policy->suppression_count & (policy->suppression_count - 1)) == 0) {
		size_t count = policy->suppression_count;
		struct ptx_suppression *grown = tcb_arena_regrow(&policy->arena, policy->suppressions, count,
								 count ? 2 * count : 1, sizeof *grown);

		failed |= !grown;
		policy->suppressions = grown ? grown : policy->suppressions;
	}
	if (failed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the suppressions");
	policy->suppressions[policy->suppression_count++] = one;
	return TCB_OK;
}

enum tcb_status ptx_policy_init(struct ptx_policy *policy, const struct cli_list *only, const struct cli_list *without,
				const struct cli_list *files, struct tcb_error *err)
{
	*policy = (struct ptx_policy){ 0 };
	if (only->count)
		memset(policy->left_out, 1, sizeof policy->left_out);
	TCB_TRY(mark_rules(policy, "--rule", only, 0, err));
	/* Nothing is judged in a text that cannot be read, and the other two speak of findings that are wanted. */
	policy->left_out[TCB_PTX_RULE_SYNTAX] = 0;
	policy->left_out[TCB_PTX_RULE_BLOCK_ASSUMED] = 0;
	policy->left_out[TCB_PTX_RULE_UNKNOWN_RULE] = 0;
	TCB_TRY(mark_rules(policy, "--no-rule", without, 1, err));
	for (size_t i = 0; i < files->count; i++)
		TCB_TRY(cli_each_line("--suppress", files->items[i], read_suppression, policy, err));
	return TCB_OK;
}

void ptx_policy_fini(struct ptx_policy *policy)
{
	tcb_arena_fini(&policy->arena);
	*policy = (struct ptx_policy){ 0 };
}

/* PATTERN against all of PATH, or against its last part. */
static int matches_path(const char *pattern, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return path && (fnmatch(pattern, path, 0) == 0 || (slash && fnmatch(pattern, slash + 1, 0) == 0));
}

/* "reduce.cuh", or "reduce.cuh:57" */
static int matches_source(const char *pattern, const struct ptx_finding *finding)
{
	char place[4096];

	for (size_t i = 0; i < finding->frame_count; i++) {
		const struct ptx_frame *frame = &finding->frames[i];

		if (matches_path(pattern, frame->file))
			return 1;
		snprintf(place, sizeof place, "%.4000s:%u", frame->file ? frame->file : "", frame->line);
		if (matches_path(pattern, place))
			return 1;
	}
	return 0;
}

static int matches_kernel(const char *pattern, const char *kernel)
{
	struct tcb_str shown = { 0 };
	int found = kernel && fnmatch(pattern, kernel, 0) == 0;

	if (kernel && !found) {
		cli_add_demangled(&shown, kernel);
		found = !shown.failed && fnmatch(pattern, shown.data, 0) == 0;
		tcb_str_fini(&shown);
	}
	return found;
}

static int suppresses(const struct ptx_suppression *one, const char *file, const struct ptx_finding *finding)
{
	return (one->rule < 0 || one->rule == (int)finding->rule) && (!one->file || matches_path(one->file, file)) &&
	       (!one->source || matches_source(one->source, finding)) &&
	       (!one->kernel || matches_kernel(one->kernel, finding->function));
}

/* --- baselines --- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum tcb_status take_known(struct ptx_policy *policy, const char *path, const json_t *root,
				  struct tcb_error *err)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	const json_t *rows = json_object_get(root, "findings");
	size_t count = json_array_size(rows);

	if (!schema || strcmp(schema, "tcbtune.ptx-baseline.1") != 0 || !json_is_array(rows))
		return tcb_fail(err, TCB_E_FORMAT, "--baseline %s is not what --write-baseline writes", path);
	policy->known = tcb_arena_array(&policy->arena, count + 1, sizeof *policy->known);
	for (size_t i = 0; policy->known && i < count; i++) {
		const char *text = json_string_value(json_object_get(json_array_get(rows, i), "fingerprint"));

		if (!text)
			return tcb_fail(err, TCB_E_FORMAT, "--baseline %s: finding %zu has no fingerprint", path,
					i + 1);
		policy->known[i] = tcb_arena_text(&policy->arena, text, strlen(text));
		if (!policy->known[i])
			break;
		policy->known_count++;
	}
	if (!policy->known || policy->known_count < count)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the baseline");
	qsort(policy->known, count, sizeof *policy->known, by_text);
	policy->has_baseline = 1;
	return TCB_OK;
}

enum tcb_status ptx_policy_read_baseline(struct ptx_policy *policy, const char *path, struct tcb_error *err)
{
	FILE *file = fopen(path, "re");
	json_error_t problem;
	json_t *root;
	enum tcb_status status;

	if (!file)
		return tcb_fail(err, TCB_E_IO, "--baseline: cannot read %s: %s; --write-baseline makes it", path,
				strerror(errno));
	root = json_loadf(file, 0, &problem);
	fclose(file);
	if (!root)
		return tcb_fail(err, TCB_E_FORMAT, "--baseline %s:%d: %s", path, problem.line, problem.text);
	status = take_known(policy, path, root, err);
	json_decref(root);
	return status;
}

enum ptx_finding_state ptx_policy_state(const struct ptx_policy *policy, const char *file,
					const struct ptx_finding *finding)
{
	const char *fingerprint = finding->fingerprint;

	for (size_t i = 0; i < policy->suppression_count; i++)
		if (suppresses(&policy->suppressions[i], file, finding))
			return PTX_SUPPRESSED;
	if (policy->known_count &&
	    bsearch(&fingerprint, policy->known, policy->known_count, sizeof *policy->known, by_text))
		return PTX_KNOWN;
	return PTX_COUNTED;
}
