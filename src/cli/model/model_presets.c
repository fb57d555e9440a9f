/* SPDX-License-Identifier: MIT
 *
 * A preset is a row of sizes.  Out of it come the tensors that a GGUF file of
 * the model has, in the formats that llama.cpp's quantiser gives them
 * (llama_tensor_get_type in src/llama-quant.cpp).
 *
 * Sizes are those of the models' config.json: num_hidden_layers, hidden_size,
 * num_attention_heads, num_key_value_heads, head_dim, intermediate_size (of an
 * expert: moe_intermediate_size), vocab_size, num_experts (num_local_experts),
 * num_experts_per_tok, tie_word_embeddings.  Those of Llama 3.1 and 3.2, Qwen2.5
 * and Qwen3 were held against the model scripts of the slime trainer
 * (scripts/models/), Llama 3.2 1B and Phi-4 against copies of their config.json,
 * gpt-oss against NVIDIA's Megatron Bridge documentation, Qwen3.8 27B against the shapes of its published tensors,
 * which are those of 3.6; the others are as their authors' model cards and config.json state them.  Layers that predict
 * further tokens (num_nextn_predict_layers, MTP) and encoders of images are left out.
 */
#include "cli/model/model_presets.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "kernels/formats.h"

/* ggml's numbers of tensor types. */
enum ggml_type {
	GGML_F32 = 0,
	GGML_Q5_0 = 6,
	GGML_Q5_1 = 7,
	GGML_Q8_0 = 8,
	GGML_Q4_K = 12,
	GGML_Q5_K = 13,
	GGML_Q6_K = 14,
	GGML_BF16 = 30,
	GGML_MXFP4 = 39,
	NO_GGML_FP8 = 1000 /* ggml has none: of files that vLLM and SGLang read */
};

/* FUSED: attn_qkv and a ffn_up that is gate and up, as in files of Phi.  GATED: what attention gives is multiplied by a
 * gate of each of its values, which comes with q.  STACKED: gate and up of experts are one tensor.  FP8: as the authors
 * published it, blocks of 128 x 128 that share a scale, tables, output and routers in BF16. */
enum traits { TIED = 1, FUSED = 2, MXFP4_MOE = 4, GATED = 8, STACKED = 16, FP8 = 32 };

/* What not every model has; zeros: it has not. */
struct more {
	uint64_t dense_layers, dense_ffn; /* first_k_dense_replace: layers without experts, and how wide they are */
	uint64_t beside_ffn; /* what every token goes through beside the experts: shared ones, or a dense part */
	/* Each layer whose number is a multiple of EVERY has attention over all tokens. */
	uint64_t every;
	uint64_t whole_kv_heads, whole_head_dim; /* then, heads of its own; V is K */
	/* The others are gated delta nets: linear_num_key_heads, linear_num_value_heads, linear_value_head_dim. */
	uint64_t delta_qk_heads, delta_v_heads, delta_head_dim;
	/* q_lora_rank, kv_lora_rank, qk_rope_head_dim; head_dim is then that of V and of the part of q and k that is
	 * not rotated. */
	uint64_t q_rank, kv_rank, rope_dim;
};

struct preset {
	const char *name;
	uint64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, experts, experts_used;
	unsigned traits;
	struct more more;
};

#define QWEN_DELTA(v_heads, ...)                                                                                 \
	{                                                                                                        \
		.every = 4, .delta_qk_heads = 16, .delta_v_heads = (v_heads), .delta_head_dim = 128, __VA_ARGS__ \
	}
#define DEEPSEEK(dense)                                                                                          \
	{                                                                                                        \
		.dense_layers = (dense), .dense_ffn = 18432, .beside_ffn = 2048, .q_rank = 1536, .kv_rank = 512, \
		.rope_dim = 64                                                                                   \
	}

static const struct preset presets[] = {
	{ "llama-2-7b", 32, 4096, 32, 32, 128, 11008, 32000, 0, 0, 0 },
	{ "llama-3-8b", 32, 4096, 32, 8, 128, 14336, 128256, 0, 0, 0 },
	{ "llama-3-70b", 80, 8192, 64, 8, 128, 28672, 128256, 0, 0, 0 },
	{ "llama-3.1-8b", 32, 4096, 32, 8, 128, 14336, 128256, 0, 0, 0 },
	{ "llama-3.1-70b", 80, 8192, 64, 8, 128, 28672, 128256, 0, 0, 0 },
	{ "llama-3.2-1b", 16, 2048, 32, 8, 64, 8192, 128256, 0, 0, TIED },
	{ "llama-3.2-3b", 28, 3072, 24, 8, 128, 8192, 128256, 0, 0, TIED },
	{ "llama-3.3-70b", 80, 8192, 64, 8, 128, 28672, 128256, 0, 0, 0 },
	{ "mistral-7b", 32, 4096, 32, 8, 128, 14336, 32768, 0, 0, 0 }, /* v0.3; v0.1 has 32000 tokens */
	{ "mixtral-8x7b", 32, 4096, 32, 8, 128, 14336, 32000, 8, 2, 0 },
	{ "qwen2.5-0.5b", 24, 896, 14, 2, 64, 4864, 151936, 0, 0, TIED },
	{ "qwen2.5-1.5b", 28, 1536, 12, 2, 128, 8960, 151936, 0, 0, TIED },
	{ "qwen2.5-3b", 36, 2048, 16, 2, 128, 11008, 151936, 0, 0, TIED },
	{ "qwen2.5-7b", 28, 3584, 28, 4, 128, 18944, 152064, 0, 0, 0 },
	{ "qwen2.5-14b", 48, 5120, 40, 8, 128, 13824, 152064, 0, 0, 0 },
	{ "qwen2.5-32b", 64, 5120, 40, 8, 128, 27648, 152064, 0, 0, 0 },
	{ "qwen3-0.6b", 28, 1024, 16, 8, 128, 3072, 151936, 0, 0, TIED },
	{ "qwen3-1.7b", 28, 2048, 16, 8, 128, 6144, 151936, 0, 0, TIED },
	{ "qwen3-4b", 36, 2560, 32, 8, 128, 9728, 151936, 0, 0, TIED },
	{ "qwen3-8b", 36, 4096, 32, 8, 128, 12288, 151936, 0, 0, 0 },
	{ "qwen3-14b", 40, 5120, 40, 8, 128, 17408, 151936, 0, 0, 0 },
	{ "qwen3-32b", 64, 5120, 64, 8, 128, 25600, 151936, 0, 0, 0 },
	{ "qwen3-30b-a3b", 48, 2048, 32, 4, 128, 768, 151936, 128, 8, 0 },
	{ "qwen3-coder-30b-a3b", 48, 2048, 32, 4, 128, 768, 151936, 128, 8, 0 },
	{ "qwen3.5-27b", 64, 5120, 24, 4, 256, 17408, 248320, 0, 0, GATED, QWEN_DELTA(48) },
	{ "qwen3.6-27b", 64, 5120, 24, 4, 256, 17408, 248320, 0, 0, GATED, QWEN_DELTA(48) },
	{ "qwen3.8-27b", 64, 5120, 24, 4, 256, 17408, 248320, 0, 0, GATED, QWEN_DELTA(48) },
	{ "qwen3.5-35b-a3b", 40, 2048, 16, 2, 256, 512, 248320, 256, 8, GATED, QWEN_DELTA(32, .beside_ffn = 512) },
	{ "qwen3.6-35b-a3b", 40, 2048, 16, 2, 256, 512, 248320, 256, 8, GATED, QWEN_DELTA(32, .beside_ffn = 512) },
	{ "gemma-2-2b", 26, 2304, 8, 4, 256, 9216, 256000, 0, 0, TIED },
	{ "gemma-2-9b", 42, 3584, 16, 8, 256, 14336, 256000, 0, 0, TIED },
	{ "gemma-4-31b",
	  60,
	  5376,
	  32,
	  16,
	  256,
	  21504,
	  262144,
	  0,
	  0,
	  TIED,
	  { .every = 6, .whole_kv_heads = 4, .whole_head_dim = 512 } },
	{ "gemma-4-26b-a4b",
	  30,
	  2816,
	  16,
	  8,
	  256,
	  704,
	  262144,
	  128,
	  8,
	  TIED | STACKED,
	  { .every = 6, .whole_kv_heads = 2, .whole_head_dim = 512, .beside_ffn = 2112 } },
	{ "glm-4.5-air",
	  46,
	  4096,
	  96,
	  8,
	  128,
	  1408,
	  151552,
	  128,
	  8,
	  0,
	  { .dense_layers = 1, .dense_ffn = 10944, .beside_ffn = 1408 } },
	{ "glm-4.6",
	  92,
	  5120,
	  96,
	  8,
	  128,
	  1536,
	  151552,
	  160,
	  8,
	  0,
	  { .dense_layers = 3, .dense_ffn = 12288, .beside_ffn = 1536 } },
	{ "deepseek-v3", 61, 7168, 128, 128, 128, 2048, 129280, 256, 8, 0, DEEPSEEK(3) },
	{ "deepseek-v3-fp8", 61, 7168, 128, 128, 128, 2048, 129280, 256, 8, FP8, DEEPSEEK(3) },
	{ "kimi-k2", 61, 7168, 64, 64, 128, 2048, 163840, 384, 8, 0, DEEPSEEK(1) },
	{ "phi-3.5-mini", 32, 3072, 32, 32, 96, 8192, 32064, 0, 0, FUSED },
	{ "phi-4", 40, 5120, 40, 10, 128, 17920, 100352, 0, 0, FUSED },
	{ "gpt-oss-20b", 24, 2880, 64, 8, 64, 2880, 201088, 32, 4, MXFP4_MOE },
	{ "gpt-oss-120b", 36, 2880, 64, 8, 64, 2880, 201088, 128, 4, MXFP4_MOE },
};

enum { PRESETS = sizeof presets / sizeof *presets };

size_t cli_preset_names(const char *names[], size_t capacity)
{
	for (size_t i = 0; i < PRESETS && i < capacity; i++)
		names[i] = presets[i].name;
	return PRESETS;
}

/* In whatever case it is typed: authors write "Llama-3-8B". */
static const struct preset *find_preset(const char *name)
{
	for (size_t i = 0; i < PRESETS; i++)
		if (strcasecmp(presets[i].name, name) == 0)
			return &presets[i];
	return NULL;
}

void cli_preset_text(const char *name, char out[CLI_PRESET_TEXT_MAX])
{
	const struct preset *preset = find_preset(name);
	char experts[48] = "";

	out[0] = '\0';
	if (!preset)
		return;
	if (preset->experts)
		(void)snprintf(experts, sizeof experts, ", %u of %u experts", (unsigned)preset->experts_used,
			       (unsigned)preset->experts);
	(void)snprintf(out, CLI_PRESET_TEXT_MAX, "%u layers, %u wide%s, %s", (unsigned)preset->layers,
		       (unsigned)preset->hidden, experts,
		       preset->traits & FP8         ? "FP8 and BF16"
		       : preset->traits & MXFP4_MOE ? "MXFP4 and Q8_0"
						    : "Q4_K_M");
}

/* use_more_bits there: the first and the last eighth of the layers, and every third between. */
static int has_more_bits(uint64_t layer, uint64_t layers)
{
	return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

/* What rows that are no whole superblocks get instead. */
static enum ggml_type fitting(enum ggml_type type, uint64_t k)
{
	if (k % tcb_gguf_type(type)->block_values == 0)
		return type;
	return type == GGML_Q4_K ? GGML_Q5_0 : type == GGML_Q5_K ? GGML_Q5_1 : GGML_Q8_0;
}

/* What a tensor that Q4_K_M would have as WANTED is of. */
static enum ggml_type stored(const struct preset *preset, enum ggml_type wanted, uint64_t k, int is_head)
{
	if (preset->traits & FP8)
		return is_head || wanted == GGML_F32 ? GGML_BF16 : NO_GGML_FP8;
	return fitting(preset->traits & MXFP4_MOE && wanted != GGML_F32 && wanted != GGML_MXFP4 ? GGML_Q8_0 : wanted,
		       k);
}

struct adding {
	const struct preset *preset;
	struct cli_model *model;
	enum tcb_status status;
	struct tcb_error *err;
	uint64_t layer;
};

/* A tensor of LAYER called "blk.0.NAME.weight", or of none; later failures keep the first one's status. */
static void add(struct adding *adding, const char *name, enum ggml_type wanted, uint64_t k, uint64_t n, uint64_t stack)
{
	const struct tcb_format *fp8 = tcb_format(TCB_FORMAT_FP8);
	const int is_head = strcmp(name, "output") == 0 || strcmp(name, "token_embd") == 0;
	const enum ggml_type type = stored(adding->preset, wanted, k, is_head);
	const struct tcb_gguf_type of_fp8 = { fp8->gguf_name, (uint32_t)fp8->block_values, (uint32_t)fp8->block_bytes };
	const struct tcb_gguf_type *row = type == NO_GGML_FP8 ? &of_fp8 : tcb_gguf_type(type);
	const int is_output = strcmp(name, adding->preset->traits & TIED ? "token_embd" : "output") == 0;
	char full[CLI_TENSOR_NAME_MAX];
	struct tcb_gguf_tensor tensor = { .type = type,
					  .type_name = row->name,
					  .dim_count = stack > 1 ? 3 : 2,
					  .dims = { k, n, stack, 1 },
					  .bytes = k / row->block_values * row->block_bytes * n * stack };

	if (is_head)
		(void)snprintf(full, sizeof full, "%s.weight", name);
	else
		(void)snprintf(full, sizeof full, "blk.%u.%s.weight", (unsigned)adding->layer, name);
	tensor.name = (struct tcb_gguf_string){ full, strlen(full) };
	if (adding->status == TCB_OK)
		adding->status = cli_model_add(adding->model, &tensor, is_output, adding->err);
}

/* A gated delta net: q, k and v, its gate, and for each head of v what it forgets and how much it learns. */
static void add_delta(struct adding *adding)
{
	const struct preset *p = adding->preset;
	const struct more *more = &p->more;
	const uint64_t v = more->delta_v_heads * more->delta_head_dim;

	add(adding, "attn_qkv", GGML_Q5_K, p->hidden, 2 * more->delta_qk_heads * more->delta_head_dim + v, 1);
	add(adding, "attn_gate", GGML_Q4_K, p->hidden, v, 1);
	add(adding, "ssm_beta", GGML_Q4_K, p->hidden, more->delta_v_heads, 1);
	add(adding, "ssm_alpha", GGML_Q4_K, p->hidden, more->delta_v_heads, 1);
	add(adding, "ssm_out", GGML_Q4_K, v, p->hidden, 1);
}

/* Attention whose q, and whose k and v of all heads, come from a few values each; k and v as llama.cpp splits them. */
static void add_latent(struct adding *adding)
{
	const struct preset *p = adding->preset;
	const struct more *more = &p->more;

	add(adding, "attn_q_a", GGML_Q4_K, p->hidden, more->q_rank, 1);
	add(adding, "attn_q_b", GGML_Q4_K, more->q_rank, p->heads * (p->head_dim + more->rope_dim), 1);
	add(adding, "attn_kv_a_mqa", GGML_Q4_K, p->hidden, more->kv_rank + more->rope_dim, 1);
	add(adding, "attn_k_b", GGML_Q4_K, p->head_dim, more->kv_rank, p->heads);
	add(adding, "attn_v_b", GGML_Q4_K, more->kv_rank, p->head_dim, p->heads);
	add(adding, "attn_output", GGML_Q4_K, p->heads * p->head_dim, p->hidden, 1);
}

static void add_attention(struct adding *adding, int more_bits)
{
	const struct preset *p = adding->preset;
	const struct more *more = &p->more;
	const int is_whole = more->every && (adding->layer + 1) % more->every == 0;
	const int is_own = is_whole && more->whole_head_dim; /* then V is K */
	const uint64_t head_dim = is_own ? more->whole_head_dim : p->head_dim;
	const uint64_t q = p->heads * head_dim, kv = (is_own ? more->whole_kv_heads : p->kv_heads) * head_dim;
	const int is_of_eight = p->experts == 8; /* small beside the experts: more bits cost little */
	/* Of models with 80 layers and grouped heads likewise. */
	const enum ggml_type least_v = p->layers == 80 && p->kv_heads < p->heads ? GGML_Q5_K : GGML_Q4_K;

	if (more->kv_rank) {
		add_latent(adding);
		return;
	}
	if (more->delta_v_heads && !is_whole) {
		add_delta(adding);
		return;
	}
	if (p->traits & FUSED) {
		add(adding, "attn_qkv", GGML_Q5_K, p->hidden, q + 2 * kv, 1);
	} else {
		add(adding, "attn_q", GGML_Q4_K, p->hidden, p->traits & GATED ? 2 * q : q, 1);
		add(adding, "attn_k", is_of_eight ? GGML_Q8_0 : GGML_Q4_K, p->hidden, kv, 1);
		if (!is_own)
			add(adding, "attn_v",
			    is_of_eight ? GGML_Q8_0
			    : more_bits ? GGML_Q6_K
					: least_v,
			    p->hidden, kv, 1);
	}
	add(adding, "attn_output", is_of_eight ? GGML_Q5_K : GGML_Q4_K, q, p->hidden, 1);
}

/* Tensors "ffn_gateSUFFIX", ...: gate, up and down, WIDE values between them. */
static void add_gated(struct adding *adding, const char *suffix, uint64_t wide, enum ggml_type base,
		      enum ggml_type down)
{
	const uint64_t hidden = adding->preset->hidden;
	char name[32];

	(void)snprintf(name, sizeof name, "ffn_gate%s", suffix);
	add(adding, name, base, hidden, wide, 1);
	(void)snprintf(name, sizeof name, "ffn_up%s", suffix);
	add(adding, name, base, hidden, wide, 1);
	(void)snprintf(name, sizeof name, "ffn_down%s", suffix);
	add(adding, name, down, wide, hidden, 1);
}

static void add_ffn(struct adding *adding, int more_bits)
{
	const struct preset *p = adding->preset;
	const struct more *more = &p->more;
	const enum ggml_type base = p->traits & MXFP4_MOE ? GGML_MXFP4 : GGML_Q4_K;
	const enum ggml_type down = base == GGML_Q4_K && more_bits ? GGML_Q6_K : base;

	if (adding->layer < more->dense_layers) {
		add_gated(adding, "", more->dense_ffn, base, down);
	} else if (p->experts) {
		add(adding, "ffn_gate_inp", GGML_F32, p->hidden, p->experts, 1);
		if (p->traits & STACKED) {
			add(adding, "ffn_gate_up_exps", base, p->hidden, 2 * p->ffn, p->experts);
		} else {
			add(adding, "ffn_gate_exps", base, p->hidden, p->ffn, p->experts);
			add(adding, "ffn_up_exps", base, p->hidden, p->ffn, p->experts);
		}
		add(adding, "ffn_down_exps", down, p->ffn, p->hidden, p->experts);
		if (more->beside_ffn)
			add_gated(adding, p->traits & STACKED ? "" : "_shexp", more->beside_ffn, base, down);
	} else if (p->traits & FUSED) {
		add(adding, "ffn_up", base, p->hidden, 2 * p->ffn, 1);
		add(adding, "ffn_down", down, p->ffn, p->hidden, 1);
	} else {
		add_gated(adding, "", p->ffn, base, down);
	}
}

enum tcb_status cli_preset_model(const char *name, int is_joined, struct cli_model *out, int *found_out,
				 struct tcb_error *err)
{
	const struct preset *preset = find_preset(name);
	struct adding adding = { .preset = preset, .model = out, .status = TCB_OK, .err = err };

	memset(out, 0, sizeof *out);
	*found_out = preset != NULL;
	if (!preset)
		return TCB_OK;
	(void)snprintf(out->name, sizeof out->name, "%s", preset->name);
	out->experts = preset->experts;
	out->experts_used = preset->experts_used;
	out->is_tied = (preset->traits & TIED) != 0;
	out->is_joined = is_joined;
	out->gate = cli_model_gate(preset->name);
	add(&adding, "token_embd", out->is_tied ? GGML_Q6_K : GGML_Q4_K, preset->hidden, preset->vocab, 1);
	for (; adding.layer < preset->layers; adding.layer++) {
		const int more_bits = has_more_bits(adding.layer, preset->layers);
		add_attention(&adding, more_bits);
		add_ffn(&adding, more_bits);
	}
	if (!out->is_tied)
		add(&adding, "output", GGML_Q6_K, preset->hidden, preset->vocab, 1);
	if (adding.status == TCB_OK)
		adding.status = cli_model_settle(out, err);
	if (adding.status != TCB_OK)
		cli_model_fini(out);
	return adding.status;
}
