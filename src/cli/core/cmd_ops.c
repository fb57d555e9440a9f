/* SPDX-License-Identifier: MIT
 *
 * tcbtune ops: the registry, as a table (docs/ops.md has it, too) or as JSON.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "kernels/formats.h"
#include "kernels/op.h"

struct ops_args {
	const struct tcb_registry *ops;
	int json, markdown, variants, all;
};

static const struct cli_option options[] = {
	{ "all", NULL, CLI_FLAG, offsetof(struct ops_args, all),
	  "a row for each op, not one for all formats of weights" },
	{ "markdown", NULL, CLI_FLAG, offsetof(struct ops_args, markdown),
	  "print the table that docs/ops.md begins with" },
	{ "variants", NULL, CLI_FLAG, offsetof(struct ops_args, variants),
	  "print the name of every compiled kernel, as traces and profiles show it, instead of a table of ops" },
	CLI_OPTION_JSON(struct ops_args),
	CLI_OPTION_END,
};

/*
 * A row of the table: an op, or all that differ in nothing but the format of their weights.  FMT stands for the
 * formats, in names and in what is said of the op.
 */
struct family {
	const struct tcb_op *first;
	int is_shared; /* FMT stands in its name */
	size_t count, variants;
	struct tcb_str weights; /* names of the formats */
};

enum { FORMATS_NAMED = 4 }; /* as text; of more their number is told */

static size_t variant_count(const struct tcb_op *op)
{
	size_t count = 0;

	while (tcb_variant_at(tcb_op_cpu(op), count))
		count++;
	return count;
}

static void contracts_text(const struct tcb_op *op, struct tcb_str *out)
{
	for (int contract = 0; contract < TCB_CONTRACT_COUNT; contract++)
		if (op->contracts >> contract & 1u)
			tcb_str_addf(out, "%s%s%s", out->length ? ", " : "",
				     tcb_contract_text((enum tcb_contract)contract),
				     contract == (int)op->default_contract ? "*" : "");
}

/* What follows the format in the name of an op with weights: "_matvec". */
static const char *behind_format(const struct tcb_op *op)
{
	const char *rest = strchr(op->name, '_');
	return rest ? rest : op->name;
}

static int is_of_family(const struct family *family, const struct tcb_op *op)
{
	const struct tcb_op *first = family->first;

	return first->format && op->format && !strcmp(behind_format(first), behind_format(op)) &&
	       first->contracts == op->contracts && first->default_contract == op->default_contract;
}

/* The families of OPS in order of their first ops; FAMILIES has room for all. */
static size_t find_families(const struct tcb_registry *ops, int is_each, struct family *families)
{
	size_t count = 0;

	for (size_t i = 0; i < ops->count; i++) {
		const struct tcb_op *op = ops->ops[i];
		size_t at = 0;
		while (at < count && (is_each || !is_of_family(&families[at], op)))
			at++;
		if (at == count)
			families[count++] = (struct family){ .first = op, .is_shared = !is_each && op->format };
		families[at].count++;
		families[at].variants += variant_count(op);
		if (op->format)
			tcb_str_addf(&families[at].weights, "%s%s", families[at].weights.length ? ", " : "",
				     op->format->gguf_name);
	}
	return count;
}

static void add_name(struct cli_table *table, const struct family *family)
{
	if (family->is_shared)
		cli_table_cell(table, "FMT%s", behind_format(family->first));
	else
		cli_table_cell(table, "%s", family->first->name);
}

static void add_summary(struct cli_table *table, const struct family *family)
{
	const char *summary = family->first->summary;
	const char *name = family->is_shared ? family->first->format->gguf_name : NULL;
	const char *at = name ? strstr(summary, name) : NULL;

	if (at)
		cli_table_cell(table, "%.*sFMT%s", (int)(at - summary), summary, at + strlen(name));
	else
		cli_table_cell(table, "%s", summary);
}

static void add_contracts(struct cli_table *table, const struct tcb_op *op)
{
	struct tcb_str contracts = { 0 };

	contracts_text(op, &contracts);
	cli_table_cell(table, "%s", contracts.data ? contracts.data : "");
	tcb_str_fini(&contracts);
}

static void add_text_row(struct cli_table *table, const struct family *family)
{
	add_name(table, family);
	cli_table_cell(table, "%s", family->first->shape_form);
	if (family->count > FORMATS_NAMED)
		cli_table_cell(table, "%zu formats", family->count);
	else
		cli_table_cell(table, "%s", family->weights.data ? family->weights.data : "-");
	add_contracts(table, family->first);
	cli_table_cell(table, "%zu", family->variants);
	add_summary(table, family);
}

/* What does not depend on the machine that this was built for. */
static void add_markdown_row(struct cli_table *table, const struct family *family)
{
	const struct tcb_op *op = family->first;
	struct tcb_str shapes = { 0 };

	for (size_t i = 0; i < op->default_shape_count; i++) {
		char text[TCB_SHAPE_TEXT_MAX];
		tcb_shape_print(&op->default_shapes[i], text);
		tcb_str_addf(&shapes, "%s%s", i ? ", " : "", text);
	}
	add_name(table, family);
	add_summary(table, family);
	cli_table_cell(table, "%s", family->weights.data ? family->weights.data : "");
	add_contracts(table, op);
	cli_table_cell(table, "%s %s", op->shape_form, shapes.data ? shapes.data : "");
	tcb_str_fini(&shapes);
}

/* What FMT stands for, as names of ops have it. */
static void add_formats(const struct tcb_registry *ops, struct tcb_str *out)
{
	struct tcb_str names = { 0 };
	uint64_t seen = 0;

	for (size_t i = 0; i < ops->count; i++) {
		const struct tcb_op *op = ops->ops[i];
		if (!op->format || seen >> op->format->id & 1u)
			continue;
		seen |= UINT64_C(1) << op->format->id;
		tcb_str_addf(&names, " %.*s", (int)(behind_format(op) - op->name), op->name);
	}
	cli_add_wrapped(out, 2, "FMT, the format of the weights, is one of:%s", names.data ? names.data : "");
	tcb_str_fini(&names);
}

static enum tcb_status print_table(const struct tcb_registry *ops, const struct ops_args *args, struct tcb_error *err)
{
	static const struct cli_column text[] = {
		{ "OP", 0 }, { "SHAPE", 0 }, { "WEIGHTS", 0 }, { "CONTRACTS", 0 }, { "VARIANTS", 1 }, { "SUMMARY", 0 },
	};
	static const struct cli_column markdown[] = {
		{ "op", 0 }, { "what", 0 }, { "weights", 0 }, { "contracts", 0 }, { "default shapes", 0 },
	};
	struct family *families = calloc(ops->count, sizeof *families);
	struct cli_table table;
	struct tcb_str out = { 0 };
	enum tcb_status status;
	size_t count;

	if (!families)
		return tcb_fail(err, TCB_E_NOMEM, "not enough memory for the list of ops");
	count = find_families(ops, args->all, families);
	cli_table_init(&table, args->markdown ? markdown : text,
		       args->markdown ? sizeof markdown / sizeof *markdown : sizeof text / sizeof *text);
	for (size_t i = 0; i < count; i++) {
		(args->markdown ? add_markdown_row : add_text_row)(&table, &families[i]);
		tcb_str_fini(&families[i].weights);
	}
	free(families);
	status = cli_table_finish(&table, args->markdown ? CLI_TABLE_MD : CLI_TABLE_TEXT, &out, err);
	if (!args->markdown && !args->all)
		add_formats(ops, &out);
	return cli_emit_made(status, &out, err);
}

static enum tcb_status print_variants(const struct tcb_op *const *ops, size_t count, struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	const struct tcb_variant *variant;

	for (size_t i = 0; i < count; i++)
		for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(ops[i]), v)); v++)
			tcb_str_addf(&out, "%s\n", variant->name);
	return cli_emit(&out, err);
}

/* The words of shapes in MASK, each with the bounds of its numbers. */
static json_t *words_json(uint64_t mask, int *failed)
{
	json_t *words = json_array();

	for (unsigned i = 0; i < TCB_WORD_COUNT; i++) {
		const struct tcb_word_row *row = &tcb_word_rows[i];
		json_t *word, *numbers;

		if (!(mask >> i & 1u) || tcb_word_is_second(row))
			continue;
		word = json_pack("{s:s, s:s}", "word", row->text, "example", row->example);
		numbers = json_array();
		if (row->kind == TCB_WORD_TYPE) {
			json_t *types = json_array();

			for (uint32_t t = row->least; t <= row->most; t++)
				cli_json_add(types, json_string(tcb_word_types[t - 1]), failed);
			cli_json_set(word, "types", types, failed);
		}
		for (; row && row->kind != TCB_WORD_FLAG && row->kind != TCB_WORD_TYPE;
		     row = row->kind == TCB_WORD_NUMBER ? tcb_word_second(i) : NULL)
			cli_json_add(
				numbers,
				json_pack("{s:I, s:I}", "least", (json_int_t)row->least, "most", (json_int_t)row->most),
				failed);
		cli_json_set(word, "numbers", numbers, failed);
		cli_json_add(words, word, failed);
	}
	return words;
}

static json_t *op_json(const struct tcb_op *op, int *failed)
{
	char signature[TCB_SIGNATURE_MAX];
	json_t *row = json_object(), *contracts = json_array(), *shapes = json_array(), *variants = json_array();
	const struct tcb_variant *variant;

	tcb_op_signature(op, signature);
	cli_json_set(row, "name", json_string(op->name), failed);
	cli_json_set(row, "summary", json_string(op->summary), failed);
	cli_json_set(row, "shape_form", json_string(op->shape_form), failed);
	cli_json_set(row, "words", words_json(op->words, failed), failed);
	cli_json_set(row, "weight_type", op->format ? json_string(op->format->gguf_name) : json_null(), failed);
	for (int contract = 0; contract < TCB_CONTRACT_COUNT; contract++)
		if (op->contracts >> contract & 1u)
			cli_json_add(contracts, json_string(tcb_contract_text((enum tcb_contract)contract)), failed);
	cli_json_set(row, "contracts", contracts, failed);
	cli_json_set(row, "default_contract", json_string(tcb_contract_text(op->default_contract)), failed);
	for (size_t i = 0; i < op->default_shape_count; i++)
		cli_json_add(shapes, cli_json_shape(&op->default_shapes[i]), failed);
	cli_json_set(row, "default_shapes", shapes, failed);
	cli_json_set(row, "signature", json_string(signature), failed);
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(op), i)); i++)
		cli_json_add(variants,
			     json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", variant->name, "contract",
				       tcb_contract_text(variant->contract), "isa", tcb_isa_text(variant->isa), "class",
				       tcb_class_text(variant->class), "signature", tcb_variant_signature(variant)),
			     failed);
	cli_json_set(row, "variants", variants, failed);
	return row;
}

static enum tcb_status run_ops(const void *arguments, struct tcb_error *err)
{
	const struct ops_args *args = arguments;
	const struct tcb_op *const *ops = args->ops->ops;
	const size_t count = args->ops->count;
	int failed = 0;
	json_t *root, *rows;

	if (args->json + args->markdown + args->variants > 1)
		return tcb_fail(err, TCB_E_USAGE, "--json, --markdown and --variants exclude each other");
	if (args->variants)
		return print_variants(ops, count, err);
	if (!args->json)
		return print_table(args->ops, args, err);
	root = cli_json_start("tcbtune.ops.1", &failed);
	rows = json_array();
	for (size_t i = 0; i < count; i++)
		cli_json_add(rows, op_json(ops[i], &failed), &failed);
	cli_json_set(root, "ops", rows, &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

const struct cli_command cli_command_ops = {
	.name = "ops",
	.summary = "list the operations of this build",
	.description =
		"Lists the ops: the form of their shapes, the GGUF type of their weights, their numeric contracts "
		"(the default one is marked *) and how many kernels were built for them. Ops that differ only in "
		"the format of the weights share a row, with FMT in place of the format: FMT_matvec for "
		"q4k_matvec, q6k_matvec and so on.",
	.options = options,
	.args_bytes = sizeof(struct ops_args),
	.run = run_ops,
};
