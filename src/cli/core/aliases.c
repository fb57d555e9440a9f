/* SPDX-License-Identifier: MIT
 *
 * In: a word of the command line.  Out: the name that it certainly means, or
 * what it may mean.  Words are compared without case, blanks, '_' and '-'.  Names
 * of ops, formats and devices are asked of their own tables; what follows from
 * none of them is a row of the tables below.
 */
#include "cli/core/aliases.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/util.h"
#include "cli/core/cli.h"
#include "gguf/gguf.h"
#include "kernels/formats.h"
#include "kernels/op.h"

/* Of ops and contracts; of devices their kinds have them.  In advice @PART stands for the ops whose name has the part
 * that `meaning` names then. */
static const struct tcb_alias op_words[] = {
	{ "sgemm", "matmul_f32", NULL },
	{ "hgemm", "matmul_f16", NULL },
	{ "gemv", "matvec", "a product with one row of activations is named after its weights: @PART" },
	{ "mulmatvec", "matvec", "a product with one row of activations is named after its weights: @PART" },
	{ "gemm", "matmul", "a product of matrices is named after its weights: @PART" },
	{ "mulmat", "matmul", "a product of matrices is named after its weights: @PART" },
	{ "moe", "experts_matmul", "products of a mixture of experts are named after its weights: @PART" },
	{ "mulmatid", "experts_matmul", "products of a mixture of experts are named after its weights: @PART" },
	{ "rms", "rmsnorm", NULL },
	{ "sum", "reduce2d_sum", NULL },
	{ "max", "reduce2d_max", NULL },
	{ "min", "reduce2d_min", NULL },
	{ NULL, NULL, NULL },
};
static const struct tcb_alias contract_words[] = {
	{ "fp32", "f32", NULL }, { "float", "f32", NULL },   { "float32", "f32", NULL }, { "fp16", "f16", NULL },
	{ "half", "f16", NULL }, { "float16", "f16", NULL }, { "int8", "q8", NULL },     { "i8", "q8", NULL },
	{ "q80", "q8", NULL },   { "q81", "q8", NULL },      { "q8k", "q8", NULL },      { NULL, NULL, NULL },
};

/* What is compared of TEXT; 0: it is too long to be a name. */
static int fold(const char *text, char out[CLI_NAME_MAX])
{
	size_t length = 0;

	for (; *text && length < CLI_NAME_MAX - 1; text++)
		if (!strchr("_- ", *text))
			out[length++] = (char)tolower((unsigned char)*text);
	out[length] = '\0';
	return !*text && length > 0;
}

/* Both folded. */
static int is_same(const char *folded, const char *name)
{
	char other[CLI_NAME_MAX];

	return fold(name, other) && strcmp(folded, other) == 0;
}

static void set(char out[CLI_NAME_MAX], const char *name)
{
	snprintf(out, CLI_NAME_MAX, "%s", name);
}

static const struct tcb_alias *find_in(const struct tcb_alias *word, const char *folded)
{
	for (; word && word->typed; word++)
		if (strcmp(word->typed, folded) == 0)
			return word;
	return NULL;
}

static const struct tcb_alias *find(enum cli_names names, const char *folded)
{
	const struct tcb_alias *found = NULL;

	if (names == CLI_NAMES_OP)
		return find_in(op_words, folded);
	if (names == CLI_NAMES_CONTRACT)
		return find_in(contract_words, folded);
	for (size_t i = 0; tcb_kinds[i] && !found; i++)
		found = find_in(tcb_kinds[i]->words, folded);
	return found;
}

static const struct tcb_format *find_format(const char *folded)
{
	for (int i = 0; i < TCB_FORMAT_COUNT; i++)
		if (is_same(folded, tcb_formats[i].gguf_name))
			return &tcb_formats[i];
	return NULL;
}

/* The ops of FORMAT as a family: what their names have before the underscore. */
static int format_family(const struct tcb_registry *ops, const struct tcb_format *format, char out[CLI_NAME_MAX])
{
	for (size_t i = 0; i < ops->count; i++)
		if (ops->ops[i]->format == format) {
			snprintf(out, CLI_NAME_MAX, "%.*s", (int)strcspn(ops->ops[i]->name, "_"), ops->ops[i]->name);
			return 1;
		}
	return 0;
}

static int understand_op(const struct tcb_registry *ops, const char *folded, char out[CLI_NAME_MAX])
{
	const struct tcb_format *format = find_format(folded);

	for (size_t i = 0; i < ops->count; i++)
		if (is_same(folded, ops->ops[i]->name)) {
			set(out, ops->ops[i]->name);
			return 1;
		}
	if (strcmp(folded, "all") == 0) {
		set(out, folded);
		return 1;
	}
	return format && format_family(ops, format, out);
}

static int understand_device(const struct tcb_registry *ops, const char *folded, char out[CLI_NAME_MAX])
{
	(void)ops;
	if (tcb_kind_asked(folded)) {
		set(out, folded);
		return 1;
	}
	for (size_t i = 0; tcb_kinds[i]; i++)
		if (tcb_kinds[i]->understand && tcb_kinds[i]->understand(folded, out))
			return 1;
	return 0;
}

static int understand_contract(const struct tcb_registry *ops, const char *folded, char out[CLI_NAME_MAX])
{
	enum tcb_contract contract;

	(void)ops;
	if (tcb_contract_parse(folded, &contract, NULL) != TCB_OK)
		return 0;
	set(out, tcb_contract_text(contract));
	return 1;
}

int cli_alias_understand(const struct tcb_registry *ops, enum cli_names names, const char *typed,
			 char out[CLI_NAME_MAX])
{
	static int (*const understands[])(const struct tcb_registry *, const char *, char[CLI_NAME_MAX]) = {
		[CLI_NAMES_OP] = understand_op,
		[CLI_NAMES_DEVICE] = understand_device,
		[CLI_NAMES_CONTRACT] = understand_contract,
	};
	char folded[CLI_NAME_MAX];

	if (names == CLI_NAMES_ANY || !fold(typed, folded))
		return 0;
	const struct tcb_alias *alias = find(names, folded);
	if (alias && alias->advice)
		return 0;
	if (alias && alias->meaning)
		set(out, alias->meaning);
	else if (!understands[names](ops, folded, out))
		return 0;
	return strcmp(typed, out) != 0;
}

static int has_part(const char *name, const char *part)
{
	const char *at = strstr(name, part);
	const char end = at ? at[strlen(part)] : 'x';

	return at && (at == name || at[-1] == '_') && (end == '\0' || end == '_');
}

/* The ops whose name has PART, as "a, b, c", those of experts where it says so; of those with weights of a format some,
 * and how many more; how many all are.
 */
static size_t add_ops_with(const struct tcb_registry *ops, const char *part, struct tcb_str *out)
{
	enum { FORMATS_MOST = 8 };
	static const char experts[] = "experts";
	const int is_of_experts = strncmp(part, experts, strlen(experts)) == 0;
	size_t found = 0, of_formats = 0;

	for (size_t i = 0; i < ops->count; i++) {
		if (!has_part(ops->ops[i]->name, part) || (!is_of_experts && has_part(ops->ops[i]->name, experts)))
			continue;
		of_formats += ops->ops[i]->format != NULL;
		if (!ops->ops[i]->format || of_formats <= FORMATS_MOST)
			tcb_str_addf(out, "%s%s", found ? ", " : "", ops->ops[i]->name);
		found++;
	}
	if (of_formats > FORMATS_MOST)
		tcb_str_addf(out, ", and %zu with weights of other formats", of_formats - FORMATS_MOST);
	return found;
}

/* TEXT with @PART replaced by the ops that have the part. */
static void add_advice(const struct tcb_registry *ops, const char *text, const char *part, struct tcb_str *out)
{
	const char *mark = strstr(text, "@PART");

	tcb_str_addf(out, "; %.*s", (int)(mark ? mark - text : (long)strlen(text)), text);
	if (mark)
		(void)add_ops_with(ops, part, out);
}

/* "Q4_K_M" is what llama.cpp calls files of mostly Q4_K. */
static const struct tcb_format *format_of_file(const char *folded)
{
	static const char *const sizes[] = { "xs", "xl", "s", "m", "l" };
	char head[CLI_NAME_MAX];
	const size_t length = strlen(folded);

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const size_t end = strlen(sizes[i]);
		if (length <= end || strcmp(folded + length - end, sizes[i]) != 0)
			continue;
		snprintf(head, sizeof head, "%.*s", (int)(length - end), folded);
		if (find_format(head))
			return find_format(head);
	}
	return NULL;
}

/* The type of GGUF that has this name; NULL: none. */
static const char *gguf_type_named(const char *folded)
{
	enum { TYPES = 64 };

	for (uint32_t i = 0; i < TYPES; i++) {
		const struct tcb_gguf_type *type = tcb_gguf_type(i);
		if (type && is_same(folded, type->name))
			return type->name;
	}
	return NULL;
}

static void advise_op(const struct tcb_registry *ops, const char *folded, struct tcb_str *out)
{
	const struct tcb_format *format = format_of_file(folded);
	struct tcb_str with = { 0 };
	char family[CLI_NAME_MAX];

	if (format && format_family(ops, format, family))
		tcb_str_addf(out,
			     "; files of that name hold mostly %s: --op %s, and 'tcbtune model FILE' is for all that a "
			     "file holds",
			     format->gguf_name, family);
	else if (add_ops_with(ops, folded, &with))
		tcb_str_addf(out, "; there are %s", with.data ? with.data : "");
	else if (gguf_type_named(folded))
		tcb_str_addf(out, "; no op has %s weights", gguf_type_named(folded));
	tcb_str_fini(&with);
}

static void add_nearest(const struct tcb_registry *ops, enum cli_names names, const char *typed, struct tcb_str *out)
{
	enum { MOST = 512 }; /* as many ops as libtcbrt has room for */
	const char *all[MOST];
	struct tcb_str devices = { 0 };
	char suggestion[96];
	size_t count = 0;

	if (names == CLI_NAMES_OP)
		for (size_t i = 0; i < ops->count && count < MOST; i++)
			all[count++] = ops->ops[i]->name;
	if (names == CLI_NAMES_DEVICE) {
		tcb_kind_add_names(&devices);
		for (char *at = devices.data, *word; at && (word = strtok_r(at, " ", &at)) && count < MOST;)
			all[count++] = word;
	}
	cli_suggestion(typed, all, count, suggestion, sizeof suggestion);
	tcb_str_add(out, suggestion);
	tcb_str_fini(&devices);
}

void cli_alias_advice(const struct tcb_registry *ops, enum cli_names names, const char *typed, char out[CLI_ADVICE_MAX])
{
	struct tcb_str text = { 0 };
	char folded[CLI_NAME_MAX];

	if (fold(typed, folded)) {
		const struct tcb_alias *alias = find(names, folded);
		if (alias && alias->advice)
			add_advice(ops, alias->advice, alias->meaning, &text);
		else if (names == CLI_NAMES_OP)
			advise_op(ops, folded, &text);
		for (size_t i = 0; !text.length && names == CLI_NAMES_DEVICE && tcb_kinds[i]; i++)
			if (tcb_kinds[i]->advise)
				tcb_kinds[i]->advise(folded, &text);
		if (!text.length)
			add_nearest(ops, names, typed, &text);
	}
	snprintf(out, CLI_ADVICE_MAX, "%s", text.data ? text.data : "");
	tcb_str_fini(&text);
}
