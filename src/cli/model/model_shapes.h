/* SPDX-License-Identifier: MIT
 *
 * The matrix products of a model: which weights there are, each format and
 * shape once however many layers share it, and how often a token goes through
 * them.  From the tensors of GGUF files, whose data may be absent, or from a
 * preset (model_presets.h).
 */
#ifndef TCB_CLI_MODEL_SHAPES_H
#define TCB_CLI_MODEL_SHAPES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "gguf/gguf.h"

struct tcb_format;

enum { CLI_TENSOR_NAME_MAX = 72 };

/* Weights of one format and shape. */
struct cli_product {
	const struct tcb_format *format;
	size_t n, k;
	/* 1: the output head.  Of a prompt, only the last token goes through it. */
	int is_output;
	/* Of a mixture: a token goes through the model's experts_used of its experts. */
	int is_expert;
	int is_pair;    /* gate and up, which one call joins */
	int is_down;    /* of these: behind such a pair, added up over a token's experts */
	int has_shared; /* of these: an expert more is in the stack, which every token goes through */
	int is_normed;  /* of others: behind a norm that a call for few tokens joins, and a pair with it */
	size_t tensors;
	size_t matrices; /* that a token goes through; of a mixture, stacks of experts, or pairs of them */
	uint64_t bytes;  /* of all */
	char first[CLI_TENSOR_NAME_MAX];
};

/* Why tensors are left out; those that are products make a model slower than what is projected. */
#define CLI_LEFT_OUT_LIST(X)                                     \
	X(VECTOR, 0, "vectors (norms, biases): no products")     \
	X(TABLE, 0, "a table that is looked up, not multiplied") \
	X(TAPS, 0, "a convolution's taps, not a product")        \
	X(FORMAT, 1, "there are no kernels for this format")
enum cli_left_out_why {
#define CLI_LEFT_OUT_ID(id, is_product, text) CLI_LEFT_OUT_##id,
	CLI_LEFT_OUT_LIST(CLI_LEFT_OUT_ID)
#undef CLI_LEFT_OUT_ID
};

/* Tensors of one type that are left out for one reason. */
struct cli_left_out {
	char type[16];
	enum cli_left_out_why why;
	size_t tensors;
	uint64_t bytes; /* 0: unknown */
	char first[CLI_TENSOR_NAME_MAX];
};
const char *cli_left_out_text(enum cli_left_out_why why);
int cli_left_out_is_product(enum cli_left_out_why why);

/* How a model joins gate and up. */
enum cli_gate {
	CLI_GATE_SILU,
	CLI_GATE_OAI, /* as gpt-oss, whose experts have biases, too */
	CLI_GATE_GELU
};
/* By the beginning of ARCHITECTURE, a file's or of a preset's name. */
enum cli_gate cli_model_gate(const char *architecture);

/* The gated tensors of a layer, which become products when all are known: stacks of experts, those of the expert for
 * all, and one of each where calls are joined.  Those without a format are not there. */
enum cli_gated_part { CLI_GATED_GATE, CLI_GATED_UP, CLI_GATED_DOWN, CLI_GATED_PARTS };
enum cli_gated_kind { CLI_GATED_ROUTED, CLI_GATED_SHARED, CLI_GATED_DENSE, CLI_GATED_KINDS };
struct cli_gated_tensor {
	const struct tcb_format *format; /* NULL: there is none */
	char name[CLI_TENSOR_NAME_MAX];  /* gate's and up's, where they are one tensor */
	size_t n, k;
	uint64_t bytes;
};
struct cli_gated_layer {
	char prefix[CLI_TENSOR_NAME_MAX]; /* "blk.0." */
	struct cli_gated_tensor part[CLI_GATED_KINDS][CLI_GATED_PARTS];
};

struct cli_model {
	char name[CLI_TENSOR_NAME_MAX], architecture[CLI_TENSOR_NAME_MAX]; /* "" where the file does not say */
	size_t tensors;
	size_t experts, experts_used; /* 0: not a mixture */
	enum cli_gate gate;
	int is_joined; /* said before its tensors: norms, and gate and up, are joined with products where they can be */
	struct cli_gated_layer *layers; /* until they are settled */
	size_t layer_count;
	int is_tied; /* the table of tokens is the output head too */
	struct cli_product *products;
	size_t product_count;
	struct cli_left_out *left_out;
	size_t left_out_count;
	/* Bytes of weights that a token goes through: of the products, and of those that are left out. */
	double token_bytes, left_out_token_bytes;
};

/* PATHS are the parts of one model, all of them. */
enum tcb_status cli_model_read(const char *const *paths, size_t count, int is_joined, struct cli_model *out,
			       struct tcb_error *err);
/* The same of files that are open; LABEL, a path, is for errors. */
enum tcb_status cli_model_from(const struct tcb_gguf *const *parts, size_t count, const char *label, int is_joined,
			       struct cli_model *out, struct tcb_error *err);
/* One tensor into MODEL, whose experts and gate are known, as those of a file are; behind the last one experts become
 * products; TCB_E_NOMEM. */
enum tcb_status cli_model_add(struct cli_model *model, const struct tcb_gguf_tensor *tensor, int is_output,
			      struct tcb_error *err);
enum tcb_status cli_model_settle(struct cli_model *model, struct tcb_error *err);
void cli_model_fini(struct cli_model *model);

/* What a file says of its mixture: zeros where it has none; and how it joins gate and up. */
void cli_model_experts(const struct tcb_gguf *gguf, size_t *experts_out, size_t *used_out, enum cli_gate *gate_out);
/* Is tensor NAME a stack of experts; and does it have a row of activations for each token and expert, as down has? */
int cli_model_is_expert(const struct tcb_gguf_string *name);
int cli_model_has_rows_each(const struct tcb_gguf_string *name);

/* How an expert's weights are used by TOKENS tokens that spread evenly over the experts: calls for each stack, each
 * with so many rows. */
void cli_model_spread(const struct cli_model *model, size_t tokens, size_t *rows_out, double *calls_out);

#endif
