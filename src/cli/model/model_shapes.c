/* SPDX-License-Identifier: MIT
 *
 * Sorts tensors, by llama.cpp's names and their types, into products and what
 * is left out.  A stack of three dimensions is a mixture's experts where its
 * name says so (_exps), else matrices that are all used, as of heads.  A layer's
 * gate and up of one shape are a pair, of experts always and of others where calls are
 * joined; its shared expert (_shexp) is one more of its stacks, where it has their
 * shapes.
 */
#include "cli/model/model_shapes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/formats.h"

static const struct {
	int is_product;
	const char *text;
} left_outs[] = {
#define CLI_LEFT_OUT_ROW(id, is_product, text) { is_product, text },
	CLI_LEFT_OUT_LIST(CLI_LEFT_OUT_ROW)
#undef CLI_LEFT_OUT_ROW
};

const char *cli_left_out_text(enum cli_left_out_why why)
{
	return left_outs[why].text;
}

int cli_left_out_is_product(enum cli_left_out_why why)
{
	return left_outs[why].is_product;
}

static int is_named(const struct tcb_gguf_string *name, const char *text)
{
	return name->length == strlen(text) && memcmp(name->data, text, name->length) == 0;
}

static int has_part(const struct tcb_gguf_string *name, const char *part)
{
	return memmem(name->data, name->length, part, strlen(part)) != NULL;
}

static int ends_with(const struct tcb_gguf_string *name, const char *end)
{
	const size_t length = strlen(end);

	return name->length >= length && memcmp(name->data + name->length - length, end, length) == 0;
}

/* Shortened, always a string; whoever prints it sees to control characters. */
static void copy_text(const struct tcb_gguf_string *text, char out[CLI_TENSOR_NAME_MAX])
{
	const size_t length = text->length < CLI_TENSOR_NAME_MAX ? text->length : CLI_TENSOR_NAME_MAX - 1;

	if (length)
		memcpy(out, text->data, length);
	out[length] = '\0';
}

static int is_table(const struct tcb_gguf_string *name)
{
	return is_named(name, "token_embd.weight") || is_named(name, "position_embd.weight") ||
	       is_named(name, "token_types.weight") || is_named(name, "per_layer_token_embd.weight");
}

/* Grows an array whose COUNT is a power of two or 0; NULL: out of memory. */
static void *grown(void *items, size_t count, size_t bytes)
{
	return count & (count - 1) ? items : realloc(items, (count ? 2 * count : 1) * bytes);
}

static enum tcb_status no_memory(struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_NOMEM, "out of memory for the model's tensors");
}

/* The share of a stack's bytes that one token goes through. */
static double expert_share(const struct cli_model *model)
{
	return (double)model->experts_used / (double)model->experts;
}

static enum tcb_status leave_out(struct cli_model *model, const struct tcb_gguf_tensor *tensor,
				 enum cli_left_out_why why, struct tcb_error *err)
{
	struct cli_left_out *row;
	char type[sizeof row->type];
	size_t i = 0;

	if (tcb_gguf_type(tensor->type))
		(void)snprintf(type, sizeof type, "%s", tensor->type_name);
	else
		(void)snprintf(type, sizeof type, "type %u", tensor->type);
	while (i < model->left_out_count &&
	       (model->left_out[i].why != why || strcmp(model->left_out[i].type, type) != 0))
		i++;
	if (i == model->left_out_count) {
		struct cli_left_out *rows = grown(model->left_out, model->left_out_count, sizeof *rows);
		if (!rows)
			return no_memory(err);
		model->left_out = rows;
		rows[i] = (struct cli_left_out){ .why = why };
		memcpy(rows[i].type, type, sizeof type);
		copy_text(&tensor->name, rows[i].first);
		model->left_out_count++;
	}
	row = &model->left_out[i];
	row->tensors++;
	row->bytes += tensor->bytes;
	if (cli_left_out_is_product(why))
		model->left_out_token_bytes +=
			(cli_model_is_expert(&tensor->name) && model->experts ? expert_share(model) : 1) *
			(double)tensor->bytes;
	return TCB_OK;
}

/* TENSORS, together BYTES, the first of which is NAMED; a token goes through MATRICES of MADE. */
static enum tcb_status add_product(struct cli_model *model, const struct cli_product *made, const char *name,
				   size_t tensors, size_t matrices, uint64_t bytes, struct tcb_error *err)
{
	struct cli_product *product;
	size_t i = 0;

	for (; i < model->product_count; i++) {
		product = &model->products[i];
		if (product->format == made->format && product->n == made->n && product->k == made->k &&
		    product->is_output == made->is_output && product->is_expert == made->is_expert &&
		    product->is_pair == made->is_pair && product->is_down == made->is_down &&
		    product->has_shared == made->has_shared && product->is_normed == made->is_normed)
			break;
	}
	if (i == model->product_count) {
		struct cli_product *products = grown(model->products, model->product_count, sizeof *products);
		if (!products)
			return no_memory(err);
		model->products = products;
		products[i] = *made;
		(void)snprintf(products[i].first, sizeof products[i].first, "%s", name);
		model->product_count++;
	}
	product = &model->products[i];
	product->tensors += tensors;
	product->matrices += matrices;
	product->bytes += bytes;
	return TCB_OK;
}

/* --- what is gated --- */

/* Where TENSOR belongs among a layer's, if it is gated or an expert's: PART_OUT CLI_GATED_PARTS is gate and up in one.
 * *PREFIX_OUT is as long as what comes before "ffn_". */
static int find_part(const struct tcb_gguf_string *name, enum cli_gated_part *part_out, enum cli_gated_kind *kind_out,
		     size_t *prefix_out)
{
	static const char *const parts[] = { "ffn_gate", "ffn_up", "ffn_down", "ffn_gate_up" };
	static const char *const kinds[] = { "_exps", "_shexp", "" };

	for (int part = 0; part <= CLI_GATED_PARTS; part++)
		for (int kind = 0; kind < CLI_GATED_KINDS; kind++) {
			char end[48];
			(void)snprintf(end, sizeof end, "%s%s.weight", parts[part], kinds[kind]);
			if (!ends_with(name, end) || name->length - strlen(end) >= CLI_TENSOR_NAME_MAX)
				continue;
			*part_out = (enum cli_gated_part)part;
			*kind_out = (enum cli_gated_kind)kind;
			*prefix_out = name->length - strlen(end);
			return 1;
		}
	return 0;
}

/* Keeps TENSOR of FORMAT with its layer. */
static enum tcb_status keep_part(struct cli_model *model, const struct tcb_gguf_tensor *tensor,
				 const struct tcb_format *format, enum cli_gated_part part, enum cli_gated_kind kind,
				 size_t prefix, struct tcb_error *err)
{
	const struct tcb_gguf_string of = { tensor->name.data, prefix };
	char text[CLI_TENSOR_NAME_MAX];
	size_t i = model->layer_count;

	copy_text(&of, text);
	while (i > 0 && strcmp(model->layers[i - 1].prefix, text) != 0)
		i--;
	if (i-- == 0) {
		struct cli_gated_layer *layers = grown(model->layers, model->layer_count, sizeof *layers);
		if (!layers)
			return no_memory(err);
		model->layers = layers;
		i = model->layer_count;
		memset(&layers[i], 0, sizeof layers[i]);
		memcpy(layers[i].prefix, text, sizeof text);
		model->layer_count++;
	}
	struct cli_gated_tensor *to = model->layers[i].part[kind], made = { .format = format };
	const int is_both = part == CLI_GATED_PARTS;
	made.n = (size_t)tensor->dims[1] / (is_both ? 2 : 1);
	made.k = (size_t)tensor->dims[0];
	made.bytes = tensor->bytes / (is_both ? 2 : 1);
	copy_text(&tensor->name, made.name);
	to[is_both ? CLI_GATED_GATE : part] = made;
	if (is_both)
		to[CLI_GATED_UP] = made;
	return TCB_OK;
}

/* How many tensors the first COUNT of PARTS are: gate and up may be one. */
static size_t tensors_of(const struct cli_gated_tensor *parts, size_t count)
{
	return count == 2 && strcmp(parts[0].name, parts[1].name) == 0 ? 1 : count;
}

static int is_alike(const struct cli_gated_tensor *a, const struct cli_gated_tensor *b)
{
	return a->format && a->format == b->format && a->n == b->n && a->k == b->k;
}

/* COUNT of a layer's PARTS, alike, as one product MADE; with those of SHARED (NULL: none) in their stacks. */
static enum tcb_status add_experts(struct cli_model *model, struct cli_product made,
				   const struct cli_gated_tensor *parts, const struct cli_gated_tensor *shared,
				   size_t count, struct tcb_error *err)
{
	uint64_t bytes = 0, shared_bytes = 0;

	for (size_t i = 0; i < count; i++) {
		bytes += parts[i].bytes;
		shared_bytes += shared ? shared[i].bytes : 0;
	}
	made.format = parts->format;
	made.n = parts->n;
	made.k = parts->k;
	made.is_expert = 1;
	made.has_shared = shared != NULL;
	model->token_bytes += expert_share(model) * (double)bytes + (double)shared_bytes;
	return add_product(model, &made, parts->name,
			   tensors_of(parts, count) + (shared ? tensors_of(shared, count) : 0), 1, bytes + shared_bytes,
			   err);
}

/* COUNT of PARTS, alike, each a matrix that every token goes through, as one product MADE. */
static enum tcb_status add_dense(struct cli_model *model, struct cli_product made, const struct cli_gated_tensor *parts,
				 size_t count, struct tcb_error *err)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += parts[i].bytes;
	made.format = parts->format;
	made.n = parts->n;
	made.k = parts->k;
	model->token_bytes += (double)bytes;
	return add_product(model, &made, parts->name, tensors_of(parts, count), 1, bytes, err);
}

static enum tcb_status settle_dense(struct cli_model *model, const struct cli_gated_tensor *parts,
				    struct tcb_error *err)
{
	const struct cli_product pair = { .is_pair = 1, .is_normed = 1 };
	const int is_pair = model->is_joined && model->gate != CLI_GATE_OAI &&
			    is_alike(&parts[CLI_GATED_GATE], &parts[CLI_GATED_UP]);

	if (is_pair)
		TCB_TRY(add_dense(model, pair, parts, 2, err));
	for (int part = is_pair ? CLI_GATED_DOWN : CLI_GATED_GATE; part < CLI_GATED_PARTS; part++) {
		const struct cli_product single = { .is_normed = model->is_joined && part != CLI_GATED_DOWN };
		if (parts[part].format)
			TCB_TRY(add_dense(model, single, &parts[part], 1, err));
	}
	return TCB_OK;
}

static enum tcb_status settle_layer(struct cli_model *model, const struct cli_gated_layer *layer, struct tcb_error *err)
{
	const struct cli_gated_tensor *routed = layer->part[CLI_GATED_ROUTED], *shared = layer->part[CLI_GATED_SHARED];
	const struct cli_product single = { .is_expert = 1 }, pair = { .is_pair = 1 }, down = { .is_down = 1 };
	const int is_pair = is_alike(&routed[CLI_GATED_GATE], &routed[CLI_GATED_UP]);
	int has_shared = is_pair;

	for (int part = 0; part < CLI_GATED_PARTS; part++)
		has_shared &= is_alike(&routed[part], &shared[part]);
	if (is_pair)
		TCB_TRY(add_experts(model, pair, routed, has_shared ? shared : NULL, 2, err));
	for (int part = is_pair ? CLI_GATED_DOWN : CLI_GATED_GATE; part < CLI_GATED_PARTS; part++)
		if (routed[part].format)
			TCB_TRY(add_experts(model, part == CLI_GATED_DOWN ? down : single, &routed[part],
					    has_shared ? &shared[part] : NULL, 1, err));
	if (!has_shared)
		TCB_TRY(settle_dense(model, shared, err));
	return settle_dense(model, layer->part[CLI_GATED_DENSE], err);
}

enum tcb_status cli_model_settle(struct cli_model *model, struct tcb_error *err)
{
	for (size_t i = 0; i < model->layer_count; i++)
		TCB_TRY(settle_layer(model, &model->layers[i], err));
	free(model->layers);
	model->layers = NULL;
	model->layer_count = 0;
	return TCB_OK;
}

/* Of what is not gated: do models with norms have one before it? */
static int is_behind_norm(const struct tcb_gguf_string *name, int is_output)
{
	static const char *const ends[] = { ".attn_q.weight", ".attn_k.weight", ".attn_v.weight", ".attn_qkv.weight" };
	int is_behind = is_output;

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		is_behind |= ends_with(name, ends[i]);
	return is_behind;
}

/* What is no part of a layer's gated tensors. */
static enum tcb_status add_tensor(struct cli_model *model, const struct tcb_gguf_tensor *tensor,
				  const struct tcb_format *format, int is_output, struct tcb_error *err)
{
	const int is_expert = cli_model_is_expert(&tensor->name) && model->experts;
	const struct cli_product made = { .format = format,
					  .n = (size_t)tensor->dims[1],
					  .k = (size_t)tensor->dims[0],
					  .is_output = is_output,
					  .is_expert = is_expert,
					  .is_normed = model->is_joined && is_behind_norm(&tensor->name, is_output) };
	char name[CLI_TENSOR_NAME_MAX];

	copy_text(&tensor->name, name);
	model->token_bytes += (is_expert ? expert_share(model) : 1) * (double)tensor->bytes;
	return add_product(model, &made, name, 1, is_expert ? 1 : (size_t)(tensor->dims[2] * tensor->dims[3]),
			   tensor->bytes, err);
}

enum tcb_status cli_model_add(struct cli_model *model, const struct tcb_gguf_tensor *tensor, int is_output,
			      struct tcb_error *err)
{
	const struct tcb_format *format = tcb_format_find(tensor->type_name);
	enum cli_gated_part part;
	enum cli_gated_kind kind;
	size_t prefix;

	model->tensors++;
	if (tensor->dims[1] * tensor->dims[2] * tensor->dims[3] == 1 || ends_with(&tensor->name, ".bias") ||
	    has_part(&tensor->name, "_norm"))
		return leave_out(model, tensor, CLI_LEFT_OUT_VECTOR, err);
	if (is_table(&tensor->name) && !is_output)
		return leave_out(model, tensor, CLI_LEFT_OUT_TABLE, err);
	if (has_part(&tensor->name, "_conv1d"))
		return leave_out(model, tensor, CLI_LEFT_OUT_TAPS, err);
	if (!format)
		return leave_out(model, tensor, CLI_LEFT_OUT_FORMAT, err);
	if (find_part(&tensor->name, &part, &kind, &prefix) &&
	    (kind == CLI_GATED_DENSE ? model->is_joined : model->experts > 0))
		return keep_part(model, tensor, format, part, kind, prefix, err);
	return add_tensor(model, tensor, format, is_output, err);
}

void cli_model_fini(struct cli_model *model)
{
	free(model->products);
	free(model->layers);
	free(model->left_out);
	memset(model, 0, sizeof *model);
}

void cli_model_spread(const struct cli_model *model, size_t tokens, size_t *rows_out, double *calls_out)
{
	const double rows_of_all = (double)tokens * (double)model->experts_used;
	const double rows = fmax(1, round(rows_of_all / (double)model->experts));

	*rows_out = (size_t)rows;
	*calls_out = fmin((double)model->experts, rows_of_all / rows);
}

/* KEY after the architecture, "llama.expert_count"; 0 where the file does not say. */
static uint64_t number_of(const struct tcb_gguf *gguf, const char *architecture, const char *key)
{
	char full[CLI_TENSOR_NAME_MAX + 32];
	const struct tcb_gguf_value *value;
	uint64_t number = 0;

	(void)snprintf(full, sizeof full, "%s%s%s", architecture, architecture[0] ? "." : "", key);
	value = tcb_gguf_find_value(gguf, full);
	return value && tcb_gguf_value_unsigned(value, &number) ? number : 0;
}

static void text_of(const struct tcb_gguf *gguf, const char *key, char out[CLI_TENSOR_NAME_MAX])
{
	const struct tcb_gguf_value *value = tcb_gguf_find_value(gguf, key);
	const struct tcb_gguf_string text = value ? tcb_gguf_value_string(value) : (struct tcb_gguf_string){ NULL, 0 };

	copy_text(&text, out);
}

void cli_model_experts(const struct tcb_gguf *gguf, size_t *experts_out, size_t *used_out, enum cli_gate *gate_out)
{
	char architecture[CLI_TENSOR_NAME_MAX];

	text_of(gguf, "general.architecture", architecture);
	*experts_out = (size_t)number_of(gguf, architecture, "expert_count");
	*used_out = (size_t)number_of(gguf, architecture, "expert_used_count");
	*gate_out = cli_model_gate(architecture);
}

int cli_model_is_expert(const struct tcb_gguf_string *name)
{
	return has_part(name, "_exps");
}

int cli_model_has_rows_each(const struct tcb_gguf_string *name)
{
	return has_part(name, "ffn_down_exps");
}

enum cli_gate cli_model_gate(const char *architecture)
{
	static const struct {
		const char *begin;
		enum cli_gate gate;
	} others[] = { { "gpt-oss", CLI_GATE_OAI }, { "gemma", CLI_GATE_GELU }, { "grok", CLI_GATE_GELU } };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strncmp(architecture, others[i].begin, strlen(others[i].begin)) == 0)
			return others[i].gate;
	return CLI_GATE_SILU;
}

static enum tcb_status check_experts(const struct cli_model *model, const char *label, struct tcb_error *err)
{
	if (model->experts && (model->experts_used == 0 || model->experts_used > model->experts))
		return tcb_fail(err, TCB_E_FORMAT,
				"%s: the metadata has %zu experts, of which a token uses %zu; expert_used_count should "
				"be 1 to %zu",
				label, model->experts, model->experts_used, model->experts);
	return TCB_OK;
}

static const struct tcb_gguf_tensor *find_tensor(const struct tcb_gguf *const *parts, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		const struct tcb_gguf_tensor *tensor = tcb_gguf_find(parts[i], name);
		if (tensor)
			return tensor;
	}
	return NULL;
}

/* Norms that have a bias are not RMSNorm, and some models have none before attention. */
static int has_rms_norms(const struct tcb_gguf *const *parts, size_t count)
{
	return find_tensor(parts, count, "blk.0.attn_norm.weight") &&
	       !find_tensor(parts, count, "blk.0.attn_norm.bias");
}

enum tcb_status cli_model_from(const struct tcb_gguf *const *parts, size_t count, const char *label, int is_joined,
			       struct cli_model *out, struct tcb_error *err)
{
	const uint64_t split = number_of(parts[0], "", "split.count");
	enum tcb_status status;

	memset(out, 0, sizeof *out);
	if (split > 1 ? split != count : count > 1)
		return tcb_fail(err, TCB_E_USAGE, "%s is of a model in %llu part%s, but %zu %s given; give all of them",
				label, (unsigned long long)(split ? split : 1), split > 1 ? "s" : "", count,
				count == 1 ? "is" : "are");
	text_of(parts[0], "general.architecture", out->architecture);
	text_of(parts[0], "general.name", out->name);
	out->is_joined = is_joined && has_rms_norms(parts, count);
	cli_model_experts(parts[0], &out->experts, &out->experts_used, &out->gate);
	/* Encoders have a table of tokens and no output head. */
	out->is_tied = !find_tensor(parts, count, "output.weight") && find_tensor(parts, count, "token_embd.weight") &&
		       !strstr(out->architecture, "bert");
	status = check_experts(out, label, err);
	for (size_t p = 0; p < count; p++)
		for (size_t i = 0; i < tcb_gguf_tensor_count(parts[p]) && status == TCB_OK; i++) {
			const struct tcb_gguf_tensor *tensor = tcb_gguf_tensor(parts[p], i);
			const int is_output = is_named(&tensor->name, "output.weight") ||
					      (out->is_tied && is_named(&tensor->name, "token_embd.weight"));
			status = cli_model_add(out, tensor, is_output, err);
		}
	if (status == TCB_OK)
		status = cli_model_settle(out, err);
	if (status != TCB_OK)
		cli_model_fini(out);
	return status;
}

enum tcb_status cli_model_read(const char *const *paths, size_t count, int is_joined, struct cli_model *out,
			       struct tcb_error *err)
{
	struct tcb_gguf **parts = calloc(count, sizeof *parts);
	enum tcb_status status = parts ? TCB_OK : no_memory(err);

	memset(out, 0, sizeof *out);
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		status = tcb_gguf_open_tables(paths[i], &parts[i], err);
	if (status == TCB_OK)
		status = cli_model_from((const struct tcb_gguf *const *)parts, count, paths[0], is_joined, out, err);
	for (size_t i = 0; i < count && parts; i++)
		tcb_gguf_close(parts[i]);
	free(parts);
	return status;
}
