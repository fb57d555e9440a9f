/* SPDX-License-Identifier: MIT
 *
 * tcbtune ops: the registry, as a table (docs/ops.md has it, too) or as JSON.
 */
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "kernels/formats.h"
#include "kernels/op.h"

struct ops_args {
	const struct tcb_registry *ops;
	int json, markdown, variants;
};

static const struct cli_option options[] = {
	{ "markdown", NULL, CLI_FLAG, offsetof(struct ops_args, markdown),
	  "print the table that docs/ops.md begins with" },
	{ "variants", NULL, CLI_FLAG, offsetof(struct ops_args, variants),
	  "print the name of every compiled kernel, as traces and profiles show it, instead of a table of ops" },
	CLI_OPTION_JSON(struct ops_args),
	CLI_OPTION_END,
};

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

static enum tcb_status print_table(const struct tcb_op *const *ops, size_t count, struct tcb_error *err)
{
	static const struct cli_column columns[] = {
		{ "OP", 0 }, { "SHAPE", 0 }, { "WEIGHTS", 0 }, { "CONTRACTS", 0 }, { "VARIANTS", 1 }, { "SUMMARY", 0 },
	};
	struct cli_table table;
	struct tcb_str out = { 0 };

	cli_table_init(&table, columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < count; i++) {
		struct tcb_str contracts = { 0 };
		contracts_text(ops[i], &contracts);
		cli_table_cell(&table, "%s", ops[i]->name);
		cli_table_cell(&table, "%s", ops[i]->shape_form);
		cli_table_cell(&table, "%s", ops[i]->format ? ops[i]->format->gguf_name : "-");
		cli_table_cell(&table, "%s", contracts.data ? contracts.data : "");
		cli_table_cell(&table, "%zu", variant_count(ops[i]));
		cli_table_cell(&table, "%s", ops[i]->summary);
		tcb_str_fini(&contracts);
	}
	return cli_emit_made(cli_table_finish(&table, CLI_TABLE_TEXT, &out, err), &out, err);
}

/* What does not depend on the machine that this was built for. */
static enum tcb_status print_markdown(const struct tcb_op *const *ops, size_t count, struct tcb_error *err)
{
	static const struct cli_column columns[] = {
		{ "op", 0 }, { "what", 0 }, { "weights", 0 }, { "contracts", 0 }, { "default shapes", 0 },
	};
	struct cli_table table;
	struct tcb_str out = { 0 };
	enum tcb_status status;

	cli_table_init(&table, columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < count; i++) {
		struct tcb_str contracts = { 0 }, shapes = { 0 };
		contracts_text(ops[i], &contracts);
		for (size_t s = 0; s < ops[i]->default_shape_count; s++) {
			char text[TCB_SHAPE_TEXT_MAX];
			tcb_shape_print(&ops[i]->default_shapes[s], text);
			tcb_str_addf(&shapes, "%s%s", s ? ", " : "", text);
		}
		cli_table_cell(&table, "%s", ops[i]->name);
		cli_table_cell(&table, "%s", ops[i]->summary);
		cli_table_cell(&table, "%s", ops[i]->format ? ops[i]->format->gguf_name : "");
		cli_table_cell(&table, "%s", contracts.data ? contracts.data : "");
		cli_table_cell(&table, "%s %s", ops[i]->shape_form, shapes.data ? shapes.data : "");
		tcb_str_fini(&contracts);
		tcb_str_fini(&shapes);
	}
	status = cli_table_finish(&table, CLI_TABLE_MD, &out, err);
	if (status == TCB_OK)
		return cli_emit(&out, err);
	tcb_str_fini(&out);
	return status;
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
static json_t *words_json(unsigned mask, int *failed)
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
	if (args->markdown)
		return print_markdown(ops, count, err);
	if (!args->json)
		return print_table(ops, count, err);
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
	.description = "Lists every op: the form of its shapes, the GGUF type of its weights, its numeric contracts "
		       "(the default one is marked *) and how many kernels were built for it.",
	.options = options,
	.args_bytes = sizeof(struct ops_args),
	.run = run_ops,
};
