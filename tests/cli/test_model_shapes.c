/* SPDX-License-Identifier: MIT
 *
 * Which products a model has: of files that are made here, and of the presets,
 * whose sizes must be those of the files that people download.
 */
#include "cli/model/model_shapes.h"

#include <math.h>
#include <string.h>

#include "cli/model/model_presets.h"
#include "gguf/gguf_writer.h"
#include "kernels/formats.h"

enum { F32 = 0, F16 = 1, Q5_0 = 6, Q8_0 = 8, Q4_K = 12, Q6_K = 14, UNKNOWN = 99 };

static void put_text(struct writer *w, const char *key, const char *text)
{
	put_string(w, key);
	put(w, TCB_GGUF_STRING, 4);
	put_string(w, text);
}

static void put_number(struct writer *w, const char *key, uint32_t number)
{
	put_string(w, key);
	put(w, TCB_GGUF_U32, 4);
	put(w, number, 4);
}

/* What a tensor is; its data is nowhere. */
static void put_shape(struct writer *w, const char *name, uint32_t type, uint64_t k, uint64_t n, uint64_t stack)
{
	put_tensor(w, name, stack > 1 ? 3 : n > 1 ? 2 : 1, (const uint64_t[]){ k, n, stack }, type, 0);
}

/* The model of a file without data, for calls that are joined or not. */
static enum tcb_status read_for(const struct writer *w, int is_joined, struct cli_model *out, struct tcb_error *err)
{
	struct tcb_gguf *gguf;
	enum tcb_status status;

	assert_int_equal(tcb_gguf_parse_tables(w->data, w->bytes, &gguf, err), TCB_OK);
	status = cli_model_from((const struct tcb_gguf *const[]){ gguf }, 1, "test.gguf", is_joined, out, err);
	tcb_gguf_close(gguf); /* the model lends nothing of it */
	return status;
}

static enum tcb_status read_writer(const struct writer *w, struct cli_model *out, struct tcb_error *err)
{
	return read_for(w, 0, out, err);
}

static const struct cli_product *find_product(const struct cli_model *model, const char *format, size_t n, size_t k)
{
	for (size_t i = 0; i < model->product_count; i++)
		if (strcmp(model->products[i].format->gguf_name, format) == 0 && model->products[i].n == n &&
		    model->products[i].k == k)
			return &model->products[i];
	fail_msg("no product %s %zux%zu", format, n, k);
	return NULL;
}

static size_t left_out(const struct cli_model *model, enum cli_left_out_why why, const char *type)
{
	for (size_t i = 0; i < model->left_out_count; i++)
		if (model->left_out[i].why == why && strcmp(model->left_out[i].type, type) == 0)
			return model->left_out[i].tensors;
	return 0;
}

static void test_dense_model(void **state)
{
	(void)state;
	struct writer w;
	struct cli_model model;
	struct tcb_error err = { .message = "" };
	put_header(&w, 3, 15, 2);
	put_text(&w, "general.architecture", "llama");
	put_text(&w, "general.name", "tiny");
	put_shape(&w, "token_embd.weight", Q4_K, 512, 1000, 1);
	put_shape(&w, "blk.0.attn_norm.weight", F32, 512, 1, 1);
	put_shape(&w, "blk.0.attn_q.weight", Q4_K, 512, 512, 1);
	put_shape(&w, "blk.0.attn_q.bias", F32, 512, 1, 1);
	put_shape(&w, "blk.0.attn_k.weight", Q4_K, 512, 128, 1);
	put_shape(&w, "blk.0.attn_v.weight", Q6_K, 512, 128, 1);
	put_shape(&w, "blk.1.attn_q.weight", Q4_K, 512, 512, 1);
	put_shape(&w, "blk.1.attn_k.weight", Q5_0, 512, 128, 1);
	put_shape(&w, "blk.1.attn_v.weight", F16, 512, 128, 1);
	put_shape(&w, "blk.1.attn_k_norm.weight", F32, 64, 2, 1);
	put_shape(&w, "blk.1.odd.weight", UNKNOWN, 512, 128, 1);
	put_shape(&w, "blk.1.attn_k_b.weight", Q8_0, 64, 128, 4); /* of heads: all are used */
	put_shape(&w, "blk.1.ssm_conv1d.weight", F32, 4, 512, 1);
	put_shape(&w, "output_norm.weight", F32, 512, 1, 1);
	put_shape(&w, "output.weight", Q6_K, 512, 1000, 1);
	assert_int_equal(read_writer(&w, &model, &err), TCB_OK);
	assert_string_equal(model.architecture, "llama");
	assert_string_equal(model.name, "tiny");
	assert_int_equal(model.tensors, 15);
	assert_int_equal(model.is_tied, 0);
	assert_int_equal(model.product_count, 7);
	const struct cli_product *q = find_product(&model, "Q4_K", 512, 512);
	assert_int_equal(q->tensors, 2);
	assert_int_equal(q->matrices, 2);
	assert_int_equal(q->bytes, 2 * 512 * 2 * 144);
	assert_string_equal(q->first, "blk.0.attn_q.weight");
	assert_int_equal(q->is_output, 0);
	assert_int_equal(find_product(&model, "Q6_K", 1000, 512)->is_output, 1);
	const struct cli_product *heads = find_product(&model, "Q8_0", 128, 64);
	assert_int_equal(heads->tensors, 1);
	assert_int_equal(heads->matrices, 4);
	assert_int_equal(left_out(&model, CLI_LEFT_OUT_TABLE, "Q4_K"), 1);
	assert_int_equal(left_out(&model, CLI_LEFT_OUT_VECTOR, "F32"), 4);
	assert_int_equal(left_out(&model, CLI_LEFT_OUT_TAPS, "F32"), 1);
	assert_int_equal(find_product(&model, "F16", 128, 512)->tensors, 1);
	assert_int_equal(find_product(&model, "Q5_0", 128, 512)->tensors, 1);
	assert_int_equal(left_out(&model, CLI_LEFT_OUT_FORMAT, "type 99"), 1);
	assert_int_equal(model.left_out_count, 4);
	assert_true(model.left_out_token_bytes == 0);
	cli_model_fini(&model);
}

static void test_tied(void **state)
{
	(void)state;
	struct writer w;
	struct cli_model model;
	struct tcb_error err = { .message = "" };
	for (int is_encoder = 0; is_encoder < 2; is_encoder++) {
		put_header(&w, 3, 2, 1);
		put_text(&w, "general.architecture", is_encoder ? "nomic-bert" : "llama");
		put_shape(&w, "token_embd.weight", Q6_K, 256, 1000, 1);
		put_shape(&w, "blk.0.attn_q.weight", Q4_K, 256, 256, 1);
		assert_int_equal(read_writer(&w, &model, &err), TCB_OK);
		assert_int_equal(model.is_tied, !is_encoder);
		assert_int_equal(model.product_count, is_encoder ? 1 : 2);
		if (!is_encoder)
			assert_int_equal(find_product(&model, "Q6_K", 1000, 256)->is_output, 1);
		assert_int_equal(left_out(&model, CLI_LEFT_OUT_TABLE, "Q6_K"), is_encoder);
		cli_model_fini(&model);
	}
}

static void put_mixture(struct writer *w, uint32_t experts, uint32_t used)
{
	put_header(w, 3, 4, 3);
	put_text(w, "general.architecture", "qwen3moe");
	put_number(w, "qwen3moe.expert_count", experts);
	put_number(w, "qwen3moe.expert_used_count", used);
	put_shape(w, "blk.0.ffn_up_exps.weight", Q4_K, 256, 64, 16);
	put_shape(w, "blk.1.ffn_up_exps.weight", Q4_K, 256, 64, 16);
	put_shape(w, "blk.0.ffn_down_exps.weight", Q4_K, 256, 512, 16);
	put_shape(w, "blk.0.ffn_gate_inp.weight", F32, 256, 16, 1);
}

static void test_mixture(void **state)
{
	(void)state;
	static const struct {
		size_t tokens, rows;
		double calls;
	} rows[] = {
		{ 1, 1, 4 }, { 2, 1, 8 }, { 4, 1, 16 }, { 8, 2, 16 }, { 32, 8, 16 }, { 512, 128, 16 },
	};
	struct writer w;
	struct cli_model model;
	struct tcb_error err = { .message = "" };
	put_mixture(&w, 16, 4);
	assert_int_equal(read_writer(&w, &model, &err), TCB_OK);
	assert_int_equal(model.product_count, 3);
	const struct cli_product *up = find_product(&model, "Q4_K", 64, 256);
	assert_int_equal(up->is_expert, 1);
	assert_int_equal(up->is_pair, 0); /* no gate */
	assert_int_equal(up->is_down, 0);
	assert_int_equal(up->matrices, 2); /* stacks */
	assert_int_equal(find_product(&model, "Q4_K", 512, 256)->is_down, 1);
	assert_true(model.token_bytes == (2 * 64 + 512) * 144 * 4 + 16 * 256 * 4);
	assert_int_equal(find_product(&model, "F32", 16, 256)->tensors, 1);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t each;
		double calls;
		cli_model_spread(&model, rows[i].tokens, &each, &calls);
		assert_int_equal(each, rows[i].rows);
		assert_true(calls == rows[i].calls);
	}
	cli_model_fini(&model);

	for (uint32_t used = 0; used <= 17; used += 17) {
		put_mixture(&w, 16, used);
		assert_int_equal(read_writer(&w, &model, &err), TCB_E_FORMAT);
		assert_non_null(strstr(err.message, "expert_used_count should be 1 to 16"));
	}
}

/* Layer 0 has a shared expert of the others' shape; that of layer 1 is wider, and its gate and up are of two formats.
 */
static void put_pairs(struct writer *w, const char *architecture)
{
	char key[64];
	put_header(w, 3, 12, 3);
	put_text(w, "general.architecture", architecture);
	snprintf(key, sizeof key, "%s.expert_count", architecture);
	put_number(w, key, 16);
	snprintf(key, sizeof key, "%s.expert_used_count", architecture);
	put_number(w, key, 4);
	put_shape(w, "blk.0.ffn_gate_exps.weight", Q4_K, 512, 256, 16);
	put_shape(w, "blk.0.ffn_down_exps.weight", Q6_K, 256, 512, 16);
	put_shape(w, "blk.0.ffn_up_exps.weight", Q4_K, 512, 256, 16);
	put_shape(w, "blk.0.ffn_gate_shexp.weight", Q4_K, 512, 256, 1);
	put_shape(w, "blk.0.ffn_up_shexp.weight", Q4_K, 512, 256, 1);
	put_shape(w, "blk.0.ffn_down_shexp.weight", Q6_K, 256, 512, 1);
	put_shape(w, "blk.1.ffn_gate_exps.weight", Q4_K, 512, 256, 16);
	put_shape(w, "blk.1.ffn_up_exps.weight", Q6_K, 512, 256, 16);
	put_shape(w, "blk.1.ffn_down_exps.weight", Q6_K, 256, 512, 16);
	put_shape(w, "blk.1.ffn_gate_shexp.weight", Q4_K, 512, 768, 1);
	put_shape(w, "blk.1.ffn_up_shexp.weight", Q4_K, 512, 768, 1);
	put_shape(w, "blk.1.ffn_down_shexp.weight", Q6_K, 768, 512, 1);
}

static const struct cli_product *find_named(const struct cli_model *model, const char *name)
{
	for (size_t i = 0; i < model->product_count; i++)
		if (strcmp(model->products[i].first, name) == 0)
			return &model->products[i];
	fail_msg("no product that begins with %s", name);
	return NULL;
}

static void test_pairs(void **state)
{
	(void)state;
	struct writer w;
	struct cli_model model;
	struct tcb_error err = { .message = "" };
	put_pairs(&w, "qwen3moe");
	assert_int_equal(read_writer(&w, &model, &err), TCB_OK);
	const struct cli_product *pair = find_named(&model, "blk.0.ffn_gate_exps.weight");
	assert_true(pair->is_expert && pair->is_pair && pair->has_shared);
	assert_int_equal(pair->tensors, 4);
	assert_int_equal(pair->matrices, 1);
	assert_int_equal(pair->bytes, 2 * 17 * 256 * 2 * 144);
	const struct cli_product *down = find_named(&model, "blk.0.ffn_down_exps.weight");
	assert_true(down->is_down && down->has_shared && down->tensors == 2);
	assert_true(!find_named(&model, "blk.1.ffn_gate_exps.weight")->is_pair);
	assert_true(!find_named(&model, "blk.1.ffn_up_exps.weight")->has_shared);
	down = find_named(&model, "blk.1.ffn_down_exps.weight");
	assert_true(down->is_down && !down->has_shared);
	const struct cli_product *wide = find_named(&model, "blk.1.ffn_gate_shexp.weight");
	assert_true(!wide->is_expert && wide->tensors == 2 && wide->matrices == 2);
	cli_model_fini(&model);

	/* Where gate and up are joined otherwise than by silu. */
	put_pairs(&w, "gemma4");
	assert_int_equal(read_writer(&w, &model, &err), TCB_OK);
	assert_int_equal(model.gate, CLI_GATE_GELU);
	assert_true(find_named(&model, "blk.0.ffn_gate_exps.weight")->is_pair);
	cli_model_fini(&model);
	put_pairs(&w, "gpt-oss");
	assert_int_equal(read_writer(&w, &model, &err), TCB_OK);
	assert_int_equal(model.gate, CLI_GATE_OAI);
	assert_true(find_named(&model, "blk.0.ffn_gate_exps.weight")->is_pair);
	cli_model_fini(&model);
}

/* Gate and up in one tensor are the pair that they are apart, and as many bytes. */
static void test_stacked_pair(void **state)
{
	(void)state;
	struct writer w;
	struct cli_model model;
	struct tcb_error err = { .message = "" };
	put_header(&w, 3, 2, 3);
	put_text(&w, "general.architecture", "gemma4");
	put_number(&w, "gemma4.expert_count", 16);
	put_number(&w, "gemma4.expert_used_count", 4);
	put_shape(&w, "blk.0.ffn_gate_up_exps.weight", Q4_K, 512, 2 * 256, 16);
	put_shape(&w, "blk.0.ffn_down_exps.weight", Q6_K, 256, 512, 16);
	assert_int_equal(read_writer(&w, &model, &err), TCB_OK);
	assert_int_equal(model.product_count, 2);
	const struct cli_product *pair = find_named(&model, "blk.0.ffn_gate_up_exps.weight");
	assert_true(pair->is_expert && pair->is_pair && !pair->has_shared);
	assert_true(pair->n == 256 && pair->k == 512 && pair->tensors == 1 && pair->matrices == 1);
	assert_int_equal(pair->bytes, 2 * 16 * 256 * 2 * 144);
	cli_model_fini(&model);
}

static void put_dense(struct writer *w, const char *architecture, int has_bias)
{
	put_header(w, 3, 8 + (uint64_t)has_bias, 1);
	put_text(w, "general.architecture", architecture);
	put_shape(w, "blk.0.attn_norm.weight", F32, 512, 1, 1);
	if (has_bias)
		put_shape(w, "blk.0.attn_norm.bias", F32, 512, 1, 1);
	put_shape(w, "blk.0.attn_q.weight", Q4_K, 512, 512, 1);
	put_shape(w, "blk.0.attn_output.weight", Q4_K, 512, 512, 1);
	put_shape(w, "blk.0.ffn_gate.weight", Q4_K, 512, 1024, 1);
	put_shape(w, "blk.0.ffn_up.weight", Q4_K, 512, 1024, 1);
	put_shape(w, "blk.0.ffn_down.weight", Q4_K, 1024, 512, 1);
	put_shape(w, "blk.1.ffn_up.weight", Q4_K, 512, 1024, 1);
	put_shape(w, "output.weight", Q4_K, 512, 1000, 1);
}

/* What is behind a norm, and gate and up, where calls are joined. */
static void test_joined(void **state)
{
	(void)state;
	struct writer w;
	struct cli_model model;
	struct tcb_error err = { .message = "" };
	put_dense(&w, "llama", 0);
	assert_int_equal(read_for(&w, 1, &model, &err), TCB_OK);
	assert_int_equal(model.product_count, 6);
	const struct cli_product *pair = find_named(&model, "blk.0.ffn_gate.weight");
	assert_true(pair->is_pair && pair->is_normed && !pair->is_expert);
	assert_true(pair->tensors == 2 && pair->matrices == 1 && pair->n == 1024);
	assert_true(find_named(&model, "blk.0.attn_q.weight")->is_normed);
	assert_true(find_named(&model, "output.weight")->is_normed);
	assert_true(find_named(&model, "blk.1.ffn_up.weight")->is_normed);
	assert_false(find_named(&model, "blk.1.ffn_up.weight")->is_pair);
	assert_false(find_named(&model, "blk.0.attn_output.weight")->is_normed);
	assert_false(find_named(&model, "blk.0.ffn_down.weight")->is_normed);
	const double bytes = model.token_bytes;
	cli_model_fini(&model);

	/* As many bytes as where nothing is joined. */
	assert_int_equal(read_writer(&w, &model, &err), TCB_OK);
	assert_int_equal(model.product_count, 4);
	assert_true(bytes == model.token_bytes);
	cli_model_fini(&model);

	/* Norms with a bias; and a gate by gelu. */
	put_dense(&w, "falcon", 1);
	assert_int_equal(read_for(&w, 1, &model, &err), TCB_OK);
	assert_int_equal(model.product_count, 4);
	cli_model_fini(&model);
	put_dense(&w, "gemma3", 0);
	assert_int_equal(read_for(&w, 1, &model, &err), TCB_OK);
	assert_int_equal(model.gate, CLI_GATE_GELU);
	assert_true(find_named(&model, "blk.0.ffn_gate.weight")->is_pair);
	assert_true(find_named(&model, "blk.0.ffn_gate.weight")->is_normed);
	cli_model_fini(&model);
}

/* Two parts of one model, and one of them alone. */
static void test_split(void **state)
{
	(void)state;
	struct writer w[2];
	struct tcb_gguf *parts[2];
	struct cli_model model;
	struct tcb_error err = { .message = "" };
	for (int i = 0; i < 2; i++) {
		put_header(&w[i], 3, 1, 1);
		put_number(&w[i], "split.count", 2);
		put_shape(&w[i], i ? "output.weight" : "token_embd.weight", Q4_K, 256, 1000, 1);
		assert_int_equal(tcb_gguf_parse_tables(w[i].data, w[i].bytes, &parts[i], &err), TCB_OK);
	}
	const struct tcb_gguf *const both[2] = { parts[0], parts[1] };
	assert_int_equal(cli_model_from(both, 2, "a.gguf", 0, &model, &err), TCB_OK);
	assert_int_equal(model.product_count, 1);
	assert_int_equal(model.is_tied, 0);
	cli_model_fini(&model);
	assert_int_equal(cli_model_from(both, 1, "a.gguf", 0, &model, &err), TCB_E_USAGE);
	assert_string_equal(err.message, "a.gguf is of a model in 2 parts, but 1 is given; give all of them");
	for (int i = 0; i < 2; i++)
		tcb_gguf_close(parts[i]);
}

/* Sizes of published files in GB: Q4_K_M, of gpt-oss the one in MXFP4.  They hold a vocabulary of up to 8 MB, norms and
 * biases besides. */
/* What authors say of models whose files differ from quantiser to quantiser: parameters, in units of 10^9, without
 * encoders of images and layers that predict further tokens; how many of them a token uses. */
static void check_parameters(const char *name, double all, double used)
{
	struct cli_model model;
	struct tcb_error err = { .message = "" };
	double found_all = 0, found_used = 0;
	int found;
	assert_int_equal(cli_preset_model(name, 0, &model, &found, &err), TCB_OK);
	assert_int_equal(found, 1);
	for (size_t p = 0; p < model.product_count; p++) {
		const struct cli_product *product = &model.products[p];
		const double values = (double)product->bytes / (double)product->format->block_bytes *
				      (double)product->format->block_values;
		const double shared = (double)product->has_shared;
		found_all += values;
		found_used += product->is_expert ? values * ((double)model.experts_used + shared) /
							   ((double)model.experts + shared)
						 : values;
	}
	for (size_t l = 0; l < model.left_out_count; l++) /* the table of tokens; a token uses a row of it */
		if (model.left_out[l].why == CLI_LEFT_OUT_TABLE)
			found_all += (double)model.left_out[l].bytes /
				     (strcmp(model.left_out[l].type, "BF16") == 0 ? 2 : 144.0 / 256);
	if (fabs(1e-9 * found_all - all) > 0.015 * all || fabs(1e-9 * found_used - used) > 0.06 * used)
		fail_msg("%s: %.2f and %.2f, should be %.2f and %.2f", name, 1e-9 * found_all, 1e-9 * found_used, all,
			 used);
	cli_model_fini(&model);
}

static void test_parameters(void **state)
{
	(void)state;
	check_parameters("qwen3.6-27b", 26.9, 25.6);
	check_parameters("qwen3.8-27b", 26.9, 25.6);
	check_parameters("qwen3.6-35b-a3b", 34.7, 3.0);
	check_parameters("gemma-4-31b", 30.7, 30.7);
	check_parameters("gemma-4-26b-a4b", 25.2, 3.8);
	check_parameters("glm-4.5-air", 107, 12.6);
	check_parameters("glm-4.6", 355, 32);
	check_parameters("deepseek-v3", 671, 37);
	check_parameters("deepseek-v3-fp8", 671, 37);
	check_parameters("kimi-k2", 1026, 32);
}

static void test_presets(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		double gb;
	} files[] = {
		{ "llama-2-7b", 4.08 },     { "llama-3-8b", 4.92 },     { "llama-3-70b", 42.52 },
		{ "llama-3.2-1b", 0.808 },  { "llama-3.2-3b", 2.02 },   { "mistral-7b", 4.37 },
		{ "mixtral-8x7b", 28.45 },  { "qwen2.5-0.5b", 0.398 },  { "qwen2.5-1.5b", 0.986 },
		{ "qwen2.5-3b", 1.93 },     { "qwen2.5-7b", 4.68 },     { "qwen2.5-14b", 8.99 },
		{ "qwen2.5-32b", 19.85 },   { "qwen3-0.6b", 0.397 },    { "qwen3-1.7b", 1.11 },
		{ "qwen3-4b", 2.50 },       { "qwen3-8b", 5.03 },       { "qwen3-14b", 9.00 },
		{ "qwen3-32b", 19.76 },     { "qwen3-30b-a3b", 18.56 }, { "gemma-2-2b", 1.71 },
		{ "gemma-2-9b", 5.76 },     { "phi-3.5-mini", 2.39 },   { "phi-4", 9.05 },
		{ "gpt-oss-20b", 12.11 },   { "gpt-oss-120b", 63.39 },  { "llama-3.1-8b", 4.92 },
		{ "llama-3.1-70b", 42.52 }, { "llama-3.3-70b", 42.52 }, { "qwen3-coder-30b-a3b", 18.56 },
	};
	enum {
		FILES = sizeof files / sizeof *files,
		WITHOUT_FILE = 12 /* test_parameters, and two of the same sizes */
	};
	assert_int_equal(cli_preset_names(NULL, 0), FILES + WITHOUT_FILE);
	for (size_t i = 0; i < FILES; i++) {
		struct cli_model model;
		struct tcb_error err = { .message = "" };
		char text[CLI_PRESET_TEXT_MAX];
		double bytes = 0;
		int found;
		assert_int_equal(cli_preset_model(files[i].name, 0, &model, &found, &err), TCB_OK);
		assert_int_equal(found, 1);
		cli_preset_text(files[i].name, text);
		assert_non_null(strstr(text, "layers"));
		for (size_t p = 0; p < model.product_count; p++)
			bytes += (double)model.products[p].bytes;
		for (size_t l = 0; l < model.left_out_count; l++)
			bytes += (double)model.left_out[l].bytes;
		if (fabs(1e-9 * bytes - files[i].gb) > 0.004 * files[i].gb + 0.008)
			fail_msg("%s has %.3f GB of weights, its file %.3f", files[i].name, 1e-9 * bytes, files[i].gb);
		cli_model_fini(&model);
	}
	struct cli_model none;
	int found;
	assert_int_equal(cli_preset_model("llama-9", 0, &none, &found, NULL), TCB_OK);
	assert_int_equal(found, 0);
}

static void test_preset_shapes(void **state)
{
	(void)state;
	struct cli_model model;
	int found;
	assert_int_equal(cli_preset_model("llama-3-8b", 0, &model, &found, NULL), TCB_OK);
	assert_int_equal(find_product(&model, "Q4_K", 14336, 4096)->matrices, 64);
	assert_int_equal(find_product(&model, "Q6_K", 4096, 14336)->matrices, 16);
	assert_int_equal(find_product(&model, "Q4_K", 4096, 14336)->matrices, 16);
	assert_int_equal(find_product(&model, "Q4_K", 1024, 4096)->matrices, 48);
	assert_int_equal(find_product(&model, "Q6_K", 1024, 4096)->matrices, 16);
	assert_int_equal(find_product(&model, "Q6_K", 128256, 4096)->is_output, 1);
	assert_int_equal(model.product_count, 7);
	cli_model_fini(&model);
	assert_int_equal(cli_preset_model("gpt-oss-20b", 0, &model, &found, NULL), TCB_OK);
	assert_int_equal(find_product(&model, "MXFP4", 2880, 2880)->matrices, 24); /* down is another product */
	assert_int_equal(find_product(&model, "MXFP4", 2880, 2880)->is_pair, 1);
	assert_int_equal(find_product(&model, "MXFP4", 2880, 2880)->tensors, 48);
	assert_int_equal(find_product(&model, "Q8_0", 4096, 2880)->matrices, 24);
	cli_model_fini(&model);
	assert_int_equal(cli_preset_model("llama-3-70b", 0, &model, &found, NULL), TCB_OK);
	assert_int_equal(find_product(&model, "Q5_K", 1024, 8192)->matrices, 40);
	cli_model_fini(&model);
	assert_int_equal(cli_preset_model("phi-4", 0, &model, &found, NULL), TCB_OK);
	assert_int_equal(find_product(&model, "Q5_K", 7680, 5120)->matrices, 40);
	assert_int_equal(find_product(&model, "Q4_K", 35840, 5120)->matrices, 40);
	cli_model_fini(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dense_model), cmocka_unit_test(test_tied),
		cmocka_unit_test(test_mixture),     cmocka_unit_test(test_joined),
		cmocka_unit_test(test_split),       cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_presets),     cmocka_unit_test(test_preset_shapes),
		cmocka_unit_test(test_parameters),  cmocka_unit_test(test_stacked_pair),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
