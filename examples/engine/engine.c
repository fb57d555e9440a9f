/* SPDX-License-Identifier: MIT
 *
 * A model file becomes programs: chains of calls of libtcbrt, one program for each number of tokens that are computed
 * at once.  A program is written once and run as often as needed, since what changes, lengths and positions, is data.
 * Read attend, recur and feed_forward first: they are the model.  Above them is how a line of it becomes a plan with
 * its weights, below them memory and running.
 */
#include "engine.h"

#include <err.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tcbrt_gguf.h>

enum { TEXT = 192, NO_LAYER = -1, FEW = 8, DECODED = 32 }; /* tokens that a MatVec and attention_decode take */

/* What families of models do in ways of their own. */
enum {
	PAIRS = 1, /* rotates neighbours, not values half a head apart */
	OAI = 2,   /* gpt-oss: its gate, and windows in every other layer */
	GEMMA = 4, /* embeddings scaled, GELU, norms behind attention and feed-forward, windows in five of six layers */
	GEMMA_4 = 8, /* also V normed, scores as they are, layers that are scaled */
	GATED = 16,  /* the rows of q are a head's, then its gate's, in turns */
	TILED = 32   /* of recurrent layers head i has keys i % heads of keys, not neighbours the same */
};
static const struct {
	const char *name;
	unsigned ways;
} families[] = { { "llama", PAIRS },
		 { "qwen2", 0 },
		 { "qwen3", 0 },
		 { "qwen3moe", 0 },
		 { "qwen3next", GATED },
		 { "qwen35", GATED | TILED },
		 { "qwen35moe", GATED | TILED },
		 { "gpt-oss", OAI },
		 { "gemma3", GEMMA },
		 { "gemma4", GEMMA | GEMMA_4 },
		 { NULL, 0 } };

/* What is kept of each token while it is computed: rows of the hidden size up to H, of the widest up to UP, few values;
 * and what is of all: how many tokens there are, the likeliest ones to follow with their scores, and zeros. */
enum { X, X2, H, Q, K, V, ROTATED, SEEN, GATE, UP, SCORES, IDS, SHARES, TOKENS, LENGTH, BEST, LIKELY, ZEROS, BUFFERS };

struct layer {
	size_t head, kv_heads, rotated; /* values of a head, and of these */
	int is_near;                    /* sees its window alone */
	address k, v, *rotation;        /* cache, or a recurrent layer's states; cos and sin of positions */
};

/* A plan, or what weights have become. */
struct kept {
	char key[3 * TEXT];
	struct tcbrt_plan *plan;
	struct tcbrt_gpu *gpu;
	address at;
};

/* Calls and, with options.times, the time that each took. */
struct program {
	size_t tokens, count, runs;
	struct tcbrt_call *calls;
	struct tcbrt_chain *chain;
	address workspace;
	double *seconds, spent; /* of all runs but the first */
};

struct engine {
	struct tcbrt_gguf *file;
	struct options options;
	unsigned ways;
	size_t layers, hidden, heads, ffn, window, experts, used, shared_ffn, vocabulary, past;
	size_t key_heads, value_heads, key, value; /* of recurrent layers; 0: there are none */
	double epsilon, cap;
	struct layer *layer;
	struct tcbrt *rt;
	struct device device;
	struct kept *kept;
	struct program *programs, *program; /* the one that is being written, for m tokens, in layer index */
	size_t kept_count, program_count, m;
	int index;
	/* rotation[1]: of Gemma's windows; counts: m; half: what holds bf16, or 0 */
	address at[BUFFERS], logits, ones, embedding, keys_of, rotation[2], counts, half;
	float *host_logits;
};

/* COUNT items at AT, and one more, which is zeros. */
static void *grow(void *at, size_t count, size_t bytes)
{
	if (!(at = realloc(at, (count + 1) * bytes)))
		errx(1, "out of memory");
	memset((char *)at + count * bytes, 0, bytes);
	return at;
}

/* ---- the file ---- */

/* A name, of the layer that is at hand, ends where it does, or before a plus. */
static int find(const struct engine *e, const char *name, struct tcbrt_gguf_tensor *out)
{
	char full[TEXT];

	snprintf(full, TEXT, e->index < 0 ? "%.*s" : "blk.%3$d.%2$.*1$s", (int)strcspn(name, "+"), name, e->index);
	return tcbrt_gguf_find(e->file, full, out, NULL) == TCBRT_OK;
}

static double number(const struct engine *e, const char *key, size_t layer, double otherwise)
{
	tcbrt_gguf_parameter(e->file, key, layer, &otherwise);
	return otherwise;
}

static size_t size(const struct engine *e, const char *key, size_t layer, size_t otherwise)
{
	const double value = number(e, key, layer, (double)otherwise);

	if (!(value >= 1 && value <= 1 << 24))
		errx(1, "the model's %s is missing, or not from 1 to 2^24", key);
	return (size_t)value;
}

static void read_family(struct engine *e)
{
	size_t length = 0, i = 0;
	const char *text = "";

	tcbrt_gguf_text(e->file, "general.architecture", 0, &text, &length);
	while (families[i].name && (strlen(families[i].name) != length || memcmp(families[i].name, text, length) != 0))
		i++;
	if (!families[i].name)
		errx(1, "a model of architecture '%.*s' is not one that this engine knows", (int)length, text);
	e->ways = families[i].ways;
}

static void read_sizes(struct engine *e)
{
	const double epsilon = -log10(number(e, "attention.layer_norm_rms_epsilon", 0, 1e-5));
	struct tcbrt_gguf_tensor embeddings;
	struct tcbrt_error err;

	e->layers = size(e, "block_count", 0, 0);
	e->hidden = size(e, "embedding_length", 0, 0);
	e->heads = size(e, "attention.head_count", 0, 0);
	e->experts = (size_t)number(e, "expert_count", 0, 0);
	e->used = e->experts ? size(e, "expert_used_count", 0, 0) : 1;
	e->ffn = size(e, e->experts ? "expert_feed_forward_length" : "feed_forward_length", 0, 0);
	e->shared_ffn =
		size(e, e->ways & GEMMA_4 ? "feed_forward_length" : "expert_shared_feed_forward_length", 0, e->ffn);
	if (number(e, "embedding_length_per_layer_input", 0, 0) + number(e, "attention.shared_kv_layers", 0, 0) > 0)
		errx(1, "embeddings of each layer, and layers that share K and V (Gemma 4 E2B, E4B), are not known");
	e->key_heads = (size_t)number(e, "ssm.group_count", 0, 0);
	e->value_heads = size(e, "ssm.time_step_rank", 0, 1);
	e->key = size(e, "ssm.state_size", 0, 1);
	e->value = size(e, "ssm.inner_size", 0, e->value_heads) / e->value_heads;
	e->window = size(e, "attention.sliding_window", 0, 1 << 24);
	e->cap = number(e, "final_logit_softcapping", 0, 0);
	e->epsilon = rint(epsilon);
	if (!(fabs(epsilon - e->epsilon) < 1e-3))
		errx(1, "norms with an epsilon of 10^-%g are not known: it is 10^-5 or another whole power", epsilon);
	if (e->key_heads && e->value_heads % e->key_heads != 0)
		errx(1, "the model's heads of values are not a multiple of its heads of keys");
	must(tcbrt_gguf_find(e->file, "token_embd.weight", &embeddings, &err), &err);
	e->vocabulary = embeddings.dims[1];
}

/* ---- plans and weights ---- */

/* What is kept by that key, zeros where it is new; until the next one is. */
static struct kept *keep(struct engine *e, const char *key)
{
	for (size_t i = 0; i < e->kept_count; i++)
		if (strcmp(e->kept[i].key, key) == 0)
			return &e->kept[i];
	e->kept = grow(e->kept, e->kept_count, sizeof(*e->kept));
	strcpy(e->kept[e->kept_count].key, key);
	return &e->kept[e->kept_count++];
}

/* The plan of a problem, made when it is first asked for. */
static struct kept plan_of(struct engine *e, struct tcbrt_query query)
{
	struct tcbrt_error err;
	char key[3 * TEXT];

	snprintf(key, sizeof(key), "%s %zux%zux%zu,%s", query.op, query.m, query.n, query.k, query.words);
	struct kept *kept = keep(e, key);
	query.device = e->device.name;
	query.threads = e->device.threads;
	if (!kept->plan) {
		must(tcbrt_plan_create(e->rt, &query, &kept->plan, &err), &err);
		if (!e->device.pool)
			must(tcbrt_gpu_load(kept->plan, &kept->gpu, &err), &err);
	}
	return *kept;
}

/* COUNT values of 4 bytes on the device. */
static address copy(const struct engine *e, const void *values, size_t count)
{
	const address place = device_alloc(&e->device, 4 * count);

	device_write(&e->device, place, values, 4 * count);
	return place;
}

/* ---- a program: what is computed of M tokens, call after call ---- */

/* An address, or the weights of that name, of the layer that is being written, or of several with plus signs between
 * them, the rows of one after those of another; zeros: none.  Of a GROUP that is not 0 every other group of so many
 * rows, from the first on or, with IS_SECOND, from the second. */
struct operand {
	address at;
	const char *weights;
	size_t group;
	int is_second;
};
#define OPERANDS(...) ((const struct operand[TCBRT_OPERANDS_MAX]){ __VA_ARGS__ })

static int has(const struct engine *e, const char *name)
{
	return find(e, name, &(struct tcbrt_gguf_tensor){ 0 });
}

/* WANTED's rows, of COLUMNS and BYTES in all: where they are in the file, or, put together, in *OWN. */
static const char *rows_of(const struct engine *e, const struct operand *wanted, size_t columns, size_t bytes,
			   char **own)
{
	const size_t parts = wanted->group ? 2 : 1;
	struct tcbrt_gguf_tensor t;
	size_t done = 0, all = 0;

	if (parts > 1 || strchr(wanted->weights, '+'))
		*own = grow(NULL, bytes, 1);
	for (const char *name = wanted->weights; *name; name += strcspn(name, "+"), name += *name == '+') {
		if (!find(e, name, &t) || t.dims[0] != columns)
			errx(1, "the model has no %s with rows of %zu in layer %d", name, columns, e->index);
		const size_t group = wanted->group ? wanted->group * (t.bytes / (t.dims[1] * t.dims[2])) : t.bytes;
		const char *from = (const char *)t.data + wanted->is_second * group;
		all += t.bytes / parts;
		for (; from < (const char *)t.data + t.bytes && done + group <= bytes;
		     from += parts * group, done += group)
			if (*own)
				memcpy(*own + done, from, group);
	}
	if (done != bytes || all != bytes)
		errx(1, "%s in layer %d: %zu bytes are wanted, %zu there", wanted->weights, e->index, bytes, all);
	return *own ? *own : t.data;
}

/* WANTED on the device, as operand INDEX of PLAN reads it: packed once for all plans of a layout. */
static address weights_of(struct engine *e, const struct tcbrt_plan *plan, size_t index, const struct operand *wanted)
{
	const int is_cpu = e->device.pool != NULL;
	struct tcbrt_plan_info info;
	struct tcbrt_operand operand;
	char key[3 * TEXT], *own = NULL;
	void *host = NULL;

	tcbrt_plan_info(plan, &info);
	tcbrt_plan_operand(plan, index, &operand);
	const size_t bytes = operand.packed_bytes ? operand.packed_bytes : operand.bytes;
	snprintf(key, sizeof(key), "%d %s %d %s", e->index, wanted->weights, wanted->is_second,
		 operand.packed_bytes ? info.layout : "");
	address *place = &keep(e, key)->at;
	if (*place)
		return *place;
	const char *data = rows_of(e, wanted, operand.columns, operand.bytes, &own);
	*place = device_alloc(&e->device, bytes);
	if (operand.packed_bytes) {
		host = is_cpu ? (void *)(uintptr_t)*place
			      : aligned_alloc(TCBRT_ALIGNMENT, (bytes | (TCBRT_ALIGNMENT - 1)) + 1);
		if (!host || tcbrt_pack_operand(plan, index, data, host) != TCBRT_OK)
			errx(1, "%s cannot be packed: out of memory?", wanted->weights);
	}
	if (!host || !is_cpu)
		device_write(&e->device, *place, host ? host : data, bytes);
	if (!is_cpu)
		free(host);
	free(own);
	return *place;
}

/* A call of the op that FORM says: its name, where * is the format of its weights, then perhaps a blank or a comma and
 * the words of its shape.  The problem is M x N x K. */
__attribute__((format(printf, 6, 7))) static void add(struct engine *e, size_t m, size_t n, size_t k,
						      const struct operand *operands, const char *form, ...)
{
	struct tcbrt_gguf_tensor tensor = { .format = "" };
	char text[TEXT], op[TEXT + TCBRT_FORMAT_MAX], *words;
	struct tcbrt_query query = { .op = op, .m = m, .n = n, .k = k, .contract = TCBRT_CONTRACT_F32 };
	va_list arguments;

	va_start(arguments, form);
	vsnprintf(text, sizeof(text), form, arguments);
	va_end(arguments);
	words = text + strcspn(text, " ,");
	query.words = *words ? words + 1 : "";
	*words = 0;
	if (*text == '*' && !find(e, operands[0].weights, &tensor))
		errx(1, "the model has no %s in layer %d", operands[0].weights, e->index);
	snprintf(op, sizeof(op), "%s%s", tensor.format, text + (*text == '*'));
	if (*text == '*') {
		/* On a CPU one packing serves any M and contract. */
		query.contract = e->device.pool ? TCBRT_CONTRACT_AUTO : TCBRT_CONTRACT_DEFAULT;
		query.layout = e->device.pool ? TCBRT_LAYOUT_ANY_M : NULL;
	}
	struct program *p = e->program;
	const struct kept planned = plan_of(e, query);
	p->calls = grow(p->calls, p->count, sizeof(*p->calls));
	struct tcbrt_call *call = &p->calls[p->count++];
	*call = (struct tcbrt_call){ .plan = planned.gpu ? NULL : planned.plan, .gpu = planned.gpu };
	for (size_t i = 0; i < TCBRT_OPERANDS_MAX; i++)
		call->operand[i] = operands[i].weights ? weights_of(e, planned.plan, i, &operands[i]) : operands[i].at;
}

/* The LENGTH values of that name times FACTOR, COUNT times: a bias, say, as rows that a product adds.  Of a matrix with
 * rows of TAPS the columns one after another. */
static address vector(struct engine *e, const char *name, size_t length, size_t count, size_t taps, float factor)
{
	const size_t rows = length / taps;
	struct tcbrt_gguf_tensor tensor;
	char key[2 * TEXT];

	if (!find(e, name, &tensor) || strcmp(tensor.format, "f32") || tensor.bytes != 4 * length)
		errx(1, "the model has no %s of %zu values in f32 in layer %d", name, length, e->index);
	snprintf(key, sizeof(key), "%d %s, %zu times", e->index, name, count);
	address *place = &keep(e, key)->at;
	if (*place)
		return *place;
	float *values = grow(NULL, count * length, sizeof(*values));
	for (size_t i = 0; i < count * length; i++)
		values[i] = factor * ((const float *)tensor.data)[i % rows * taps + i % length / rows];
	*place = copy(e, values, count * length);
	free(values);
	return *place;
}

/* f(x, b) of each of M x N elements */
static void add_elements(struct engine *e, const char *f, size_t n, address x, address b, address y)
{
	add(e, e->m, n, 0, OPERANDS({ x }, { b }, { y }), "elementwise_%s_f32", f);
}

/* y = norm(x) of ROWS rows of N, times the weights of that name (NULL: ones) */
static void add_norm(struct engine *e, size_t rows, size_t n, address x, const char *weights, address y)
{
	const char *form = e->epsilon == 5 ? "rmsnorm" : "rmsnorm eps%.0f";

	add(e, rows, n, 0, OPERANDS({ x }, { weights ? 0 : e->ones, weights }, { y }), form, e->epsilon);
}

/* y = W x, with the bias where there is one, + past (0: nothing), by the op that reads the weights once for so many
 * tokens; W is the rows of PART. */
static void add_part(struct engine *e, struct operand part, size_t n, size_t k, address x, address past, address y)
{
	char weight[TEXT], bias[TEXT];

	snprintf(weight, sizeof(weight), "%s.weight", part.weights);
	snprintf(bias, sizeof(bias), "%s.bias", part.weights);
	part.weights = weight;
	const address added = has(e, bias) ? vector(e, bias, n, e->options.batch, 1, 1) : past;
	add(e, e->m, n, k, OPERANDS(part, { x }, { y }, { added }), "*_%s%s%s", e->m <= FEW ? "matvec" : "matmul",
	    added ? ",add" : "", x == e->half ? ",xbf16" : "");
	if (past && added != past)
		add_elements(e, "add", n, y, past, y);
}

static void add_product(struct engine *e, const char *name, size_t n, size_t k, address x, address past, address y)
{
	add_part(e, (struct operand){ .weights = name }, n, k, x, past, y);
}

/* y = past + h, of Gemma past + norm(h) */
static void add_past(struct engine *e, const char *norm, address past, address y)
{
	if (e->ways & GEMMA)
		add_norm(e, e->m, e->hidden, e->at[H], norm, e->at[H]);
	add_elements(e, "add", e->hidden, past, e->at[H], y);
}

/* The same with W x as h. */
static void add_back(struct engine *e, const char *name, size_t k, address x, const char *norm, address past, address y)
{
	const int is_gemma = e->ways & GEMMA;

	add_product(e, name, e->hidden, k, x, is_gemma ? 0 : past, is_gemma ? e->at[H] : y);
	if (is_gemma)
		add_past(e, norm, past, y);
}

/* Is what a norm and products by A and B make of a token one call?  On a GPU, where each call costs a microsecond or
 * two. */
static int joins(const struct engine *e, const char *a, const char *b)
{
	struct tcbrt_gguf_tensor one, other;

	return !e->device.pool && e->m == 1 && find(e, a, &one) && find(e, b, &other) &&
	       strcmp(one.format, other.format) == 0;
}

/* y = W norm(x), W all of NAMES, or what WHAT says of it; in bf16 where that says so. */
static void add_joined(struct engine *e, const char *names, const char *what, size_t n, address x, const char *norm,
		       address y)
{
	const char *form = e->epsilon == 5 ? "*_rmsnorm_%s" : "*_rmsnorm_%s,eps%.0f";

	add(e, 1, n, e->hidden, OPERANDS({ 0, names }, { x }, { y }, { 0, norm }), form, what, e->epsilon);
}

/* x2 = x + attention(norm(x)) */
static void attend(struct engine *e)
{
	const struct layer *layer = &e->layer[e->index];
	const address *b = e->at;
	address k = b[K], v = has(e, "attn_v.weight") ? b[V] : b[K];
	const size_t m = e->m, context = e->options.context, head = layer->head, q = e->heads * head;
	const size_t kv = layer->kv_heads * head;
	const int has_norms = has(e, "attn_q_norm.weight"), has_sinks = has(e, "attn_sinks.weight");
	const int is_gated = e->ways & GATED, has_bias = has(e, "attn_q.bias");
	const int is_one = !is_gated && !has_bias && v != k && joins(e, "attn_q.weight", "attn_k.weight");
	const int has_all = is_one && joins(e, "attn_q.weight", "attn_v.weight");
	char words[TEXT] = "", rotation[TEXT] = "", window[TEXT] = "";
	address norm = 0;

	if (is_one) {
		k = b[Q] + 4 * q;
		v = has_all ? k + 4 * kv : v;
		add_joined(e, has_all ? "attn_q.weight+attn_k.weight+attn_v.weight" : "attn_q.weight+attn_k.weight",
			   "matvec", q + kv + has_all * kv, b[X], "attn_norm.weight", b[Q]);
	} else {
		add_norm(e, m, e->hidden, b[X], "attn_norm.weight", b[H]);
		add_part(e, (struct operand){ 0, "attn_q", is_gated ? head : 0, 0 }, q, e->hidden, b[H], 0, b[Q]);
		add_product(e, "attn_k", kv, e->hidden, b[H], 0, k);
	}
	if (is_gated)
		add_part(e, (struct operand){ 0, "attn_q", head, 1 }, q, e->hidden, b[H], 0, b[GATE]);
	if (is_one && !has_all)
		add_joined(e, "attn_v.weight", "matvec", kv, b[X], "attn_norm.weight", v);
	else if (!is_one && v != k)
		add_product(e, "attn_v", kv, e->hidden, b[H], 0, v);
	if (e->ways & GEMMA_4)
		add_norm(e, m * layer->kv_heads, head, v, NULL, b[V]), v = b[V];
	if (has_norms) { /* attention divides scores by the root of a head, which Gemma 4 does not */
		norm = vector(e, "attn_q_norm.weight", head, 1, 1, e->ways & GEMMA_4 ? sqrtf((float)head) : 1);
		snprintf(words, sizeof(words), ",qknorm%.0f", e->epsilon);
	}
	if (layer->rotated < head)
		snprintf(rotation, sizeof(rotation), ",rot%zu", layer->rotated);
	add(e, m, context, head,
	    OPERANDS({ b[Q] }, { *layer->rotation }, { e->at[LENGTH] }, { b[ROTATED] }, { layer->k }, { layer->v },
		     { has_norms ? norm : k }, { v, has_norms ? "attn_k_norm.weight" : NULL }, { has_norms ? k : 0 },
		     { has_norms ? v : 0 }),
	    "rope_append_%s h%zu/%zu%s%s%s,apart", e->options.kv, e->heads, layer->kv_heads,
	    e->ways & PAIRS ? ",pairs" : "", rotation, words);
	if (layer->is_near)
		snprintf(window, sizeof(window), ",w%zu", e->window);
	add(e, m, context, head,
	    OPERANDS({ b[ROTATED] }, { layer->k }, { layer->v }, { e->at[LENGTH] }, { b[SEEN] },
		     { 0, has_sinks ? "attn_sinks.weight" : NULL }),
	    "attention_%s_%s h%zu/%zu%s%s%s", m <= DECODED ? "decode" : "prefill", e->options.kv, e->heads,
	    layer->kv_heads, m > 1 ? ",causal" : "", window, has_sinks ? ",sinks" : "");
	if (is_gated)
		add_elements(e, "sigmoid_mul", q, b[GATE], b[SEEN], b[SEEN]);
	add_back(e, "attn_output", q, b[SEEN], "post_attention_norm.weight", b[X], b[X2]);
}

/* x2 = x + the gated delta rule(norm(x)): delta.h's recurrence, of which Q is queries, keys and values, K what gates
 * the result, V the logarithm of the decay. */
static void recur(struct engine *e)
{
	const struct layer *layer = &e->layer[e->index];
	const address *b = e->at;
	const size_t m = e->m, heads = e->value_heads, values = heads * e->value, batch = e->options.batch;
	const size_t channels = 2 * e->key_heads * e->key + values, each = heads / e->key_heads;
	const int is_joined = has(e, "ssm_ba.weight"); /* of each head of keys beta's rows, then alpha's */
	const char *form = m > 1 ? "%s_prefill_f32 h%zu/%zu" : "%s_decode_f32 h%zu/%zu";
	const struct operand alpha = { 0, is_joined ? "ssm_ba" : "ssm_alpha", is_joined ? each : 0, is_joined };
	const struct operand beta = { 0, is_joined ? "ssm_ba" : "ssm_beta", is_joined ? each : 0, 0 };

	add_norm(e, m, e->hidden, b[X], "attn_norm.weight", b[H]);
	add_product(e, "attn_qkv", channels, e->hidden, b[H], 0, b[Q]);
	add_product(e, "attn_gate", values, e->hidden, b[H], 0, b[K]);
	add_part(e, alpha, heads, e->hidden, b[H], vector(e, "ssm_dt.bias", heads, batch, 1, 1), b[V]);
	add_part(e, beta, heads, e->hidden, b[H], 0, b[SCORES]);
	add_elements(e, "softplus_mul", heads, b[V], vector(e, "ssm_a", heads, batch, 1, 1), b[V]);
	add_elements(e, "sigmoid_mul", heads, b[SCORES], e->ones, b[SCORES]);
	add(e, m, e->value, e->key,
	    OPERANDS({ b[Q] }, { vector(e, "ssm_conv1d.weight", 4 * channels, 1, 4, 1) }, { b[ZEROS] }, { b[ROTATED] },
		     { layer->v }, { layer->v }, { e->counts }, { b[ZEROS] }),
	    form, "short_conv", heads, e->key_heads);
	add(e, m, e->value, e->key,
	    OPERANDS({ b[ROTATED] }, { b[V] }, { b[SCORES] }, { b[SEEN] }, { layer->k }, { layer->k }, { e->keys_of },
		     { e->counts }, { b[ZEROS] }),
	    form, "delta", heads, e->key_heads);
	add_norm(e, m * heads, e->value, b[SEEN], "ssm_norm.weight", b[SEEN]);
	add_elements(e, "silu_mul", values, b[K], b[SEEN], b[SEEN]);
	add_back(e, "ssm_out", values, b[SEEN], NULL, b[X], b[X2]);
}

/* gate = what joins W x of both names */
static void add_gated(struct engine *e, const char *gate, const char *up, size_t ffn)
{
	const address *b = e->at;

	add_product(e, gate, ffn, e->hidden, b[H], 0, b[GATE]);
	add_product(e, up, ffn, e->hidden, b[H], 0, b[UP]);
	add_elements(e, e->ways & GEMMA ? "gelu_mul" : "silu_mul", ffn, b[GATE], b[UP], b[GATE]);
}

/* x2 += the expert that all tokens use, times the sigmoid of its score: a sum over one expert */
static void add_shared(struct engine *e)
{
	const address *b = e->at;

	add_gated(e, "ffn_gate_shexp", "ffn_up_shexp", e->shared_ffn);
	add_product(e, "ffn_gate_inp_shexp", 1, e->hidden, b[H], 0, b[SCORES]);
	add_elements(e, "sigmoid_mul", 1, b[SCORES], e->ones, b[SHARES]);
	add(e, e->m, e->hidden, e->shared_ffn,
	    OPERANDS({ 0, "ffn_down_shexp.weight" }, { b[GATE] }, { b[X] }, { b[ZEROS] }, { b[SHARES] }),
	    "*_experts_sum_matmul e1/1");
	add_elements(e, "add", e->hidden, b[X2], b[X], b[X2]);
}

/* h = the sum of what each token's experts make of h, of Gemma 4 of norms of x2, and of the dense part's gate */
static void add_experts(struct engine *e)
{
	const address *b = e->at;
	const int has_bias = has(e, "ffn_gate_exps.bias"), is_stacked = has(e, "ffn_gate_up_exps.weight");
	const char *bias = has_bias ? ",bias" : "", *gate = e->ways & OAI ? ",oai" : e->ways & GEMMA ? ",gelu" : "";
	const char *both = "ffn_gate_up_exps.weight"; /* of each expert gate's rows, then up's */
	const size_t group = is_stacked ? e->ffn : 0;
	const float root = 1 / sqrtf((float)e->hidden);

	if (e->ways & GEMMA_4) {
		add_product(e, "ffn_down", e->hidden, e->shared_ffn, b[GATE], 0, b[X]);
		add_norm(e, e->m, e->hidden, b[X], "post_ffw_norm_1.weight", b[X]);
		add(e, e->m, e->hidden, 0,
		    OPERANDS({ b[X2] }, { vector(e, "ffn_gate_inp.scale", e->hidden, 1, 1, root) }, { b[H] }),
		    "rmsnorm eps%.0f", e->epsilon);
	}
	add_product(e, "ffn_gate_inp", e->experts, e->hidden, b[H], 0, b[SCORES]);
	add(e, e->m, e->experts, e->used, OPERANDS({ b[SCORES] }, { b[IDS] }, { b[SHARES] }), "route_f32");
	if (e->ways & GEMMA_4) { /* what an expert's results are multiplied with */
		add(e, e->m * e->used, e->experts, 1,
		    OPERANDS({ vector(e, "ffn_down_exps.scale", e->experts, 1, 1, 1) }, { b[IDS] }, { b[SCORES] }),
		    "f32_get_rows");
		add_elements(e, "mul", e->used, b[SHARES], b[SCORES], b[SHARES]);
		add_norm(e, e->m, e->hidden, b[X2], "pre_ffw_norm_2.weight", b[H]);
	}
	add(e, e->m, e->ffn, e->hidden,
	    OPERANDS({ 0, is_stacked ? both : "ffn_gate_exps.weight", group, 0 }, { b[H] }, { b[GATE] }, { b[IDS] },
		     { 0, is_stacked ? both : "ffn_up_exps.weight", group, is_stacked },
		     { 0, has_bias ? "ffn_gate_exps.bias" : NULL }, { 0, has_bias ? "ffn_up_exps.bias" : NULL }),
	    "*_experts_swiglu_matmul e%zu/%zu%s%s", e->experts, e->used, bias, gate);
	add(e, e->m, e->hidden, e->ffn,
	    OPERANDS({ 0, "ffn_down_exps.weight" }, { b[GATE] }, { b[H] }, { b[IDS] }, { b[SHARES] },
		     { 0, has_bias ? "ffn_down_exps.bias" : NULL }),
	    "*_experts_sum_matmul e%zu/%zu%s", e->experts, e->used, bias);
	if (e->ways & GEMMA_4)
		add_past(e, "post_ffw_norm_2.weight", b[X], b[H]);
}

/* x = x2 + feed_forward(norm(x2)) */
static void feed_forward(struct engine *e)
{
	const address *b = e->at;
	const char *scale = "layer_output_scale.weight";
	const char *norm = has(e, "ffn_norm.weight") ? "ffn_norm.weight" : "post_attention_norm.weight";
	const int is_one = joins(e, "ffn_gate.weight", "ffn_up.weight"), is_mixture = has(e, "ffn_gate_inp.weight");
	const size_t ffn = is_mixture ? e->shared_ffn : e->ffn;

	e->half = is_one ? b[GATE] : 0; /* which every block of ffn_down reads all of */
	if (is_one)
		add_joined(e, "ffn_gate.weight+ffn_up.weight",
			   e->ways & GEMMA ? "swiglu_matvec,ybf16,gelu" : "swiglu_matvec,ybf16", ffn, b[X2], norm,
			   b[GATE]);
	else
		add_norm(e, e->m, e->hidden, b[X2], norm, b[H]);
	if (!is_one && has(e, "ffn_gate.weight"))
		add_gated(e, "ffn_gate", "ffn_up", ffn);
	if (has(e, "ffn_up_shexp.weight"))
		add_shared(e);
	if (is_mixture) {
		add_experts(e);
		add_past(e, "post_ffw_norm.weight", b[X2], b[X]);
	} else {
		add_back(e, "ffn_down", ffn, b[GATE], "post_ffw_norm.weight", b[X2], b[X]);
	}
	if (has(e, scale))
		add_elements(e, "mul", e->hidden, b[X], vector(e, scale, 1, e->options.batch * e->hidden, 1, 1), b[X]);
}

/* The program for M tokens, written when it is first asked for. */
static struct program *program_for(struct engine *e, size_t m)
{
	const size_t rows = e->options.logits ? m : 1;
	const address *b = e->at, last = b[X] + 4 * (m - rows) * e->hidden;

	for (size_t i = 0; i < e->program_count; i++)
		if (e->programs[i].tokens == m)
			return &e->programs[i];
	e->programs = grow(e->programs, e->program_count, sizeof(*e->programs));
	e->program = &e->programs[e->program_count++];
	e->program->tokens = e->m = m;
	e->index = NO_LAYER;
	e->counts = copy(e, &(const int32_t){ (int32_t)m }, 1);
	add(e, m, e->vocabulary, e->hidden, OPERANDS({ 0, "token_embd.weight" }, { b[TOKENS] }, { b[X] }),
	    "*_get_rows");
	if (e->ways & GEMMA)
		add_elements(e, "mul", e->hidden, b[X], e->embedding, b[X]);
	for (e->index = 0; e->index < (int)e->layers; e->index++) {
		(has(e, "ssm_out.weight") ? recur : attend)(e);
		feed_forward(e);
	}
	e->index = NO_LAYER;
	e->m = rows;
	add_norm(e, rows, e->hidden, last, "output_norm.weight", b[H]);
	add_product(e, has(e, "output.weight") ? "output" : "token_embd", e->vocabulary, e->hidden, b[H], 0, e->logits);
	add(e, rows, e->vocabulary, e->options.top_k, OPERANDS({ e->logits }, { b[LIKELY] }, { b[BEST] }), "topk");
	e->program->chain = device_chain(&e->device, e->program->calls, e->program->count, &e->program->workspace);
	e->program->seconds = e->options.times ? calloc(e->program->count, sizeof(double)) : NULL;
	return e->program;
}

/* ---- memory ---- */

/* Layer I with its cache or states; *WIDEST grows to what a token has at most. */
static void make_layer(struct engine *e, size_t i, size_t *widest)
{
	/* The last one of so many layers sees all; or the file says it of each, 1 or 0. */
	const size_t usual = e->ways & GEMMA ? 6 : e->ways & OAI ? 2 : e->window < e->options.context;
	const size_t period = (size_t)number(e, "attention.sliding_window_pattern", i, (double)usual);
	const int is_near = period > 1 ? (i + 1) % period != 0 : period == 1, has_own = is_near && e->ways & GEMMA;
	const size_t whole = size(e, "attention.key_length", i, e->hidden / e->heads);
	const size_t head = is_near ? size(e, "attention.key_length_swa", i, whole) : whole;
	const size_t kv_heads = size(e, "attention.head_count_kv", i, e->heads);
	const size_t given = size(e, "rope.dimension_count", 0, head), rotated = given < head ? given : head;
	/* Values of f16 take 32 of 34 bytes, blocks of 32 values half of these. */
	size_t width = e->heads * head, k = e->options.context * kv_heads * head * 34 / 16, v = k;
	struct tcbrt_error err;

	if (has(e, "ssm_out.weight")) {
		width = e->value_heads * e->value + 2 * e->key_heads * e->key;
		k = 4 * e->value_heads * e->value * e->key;
		v = 4 * 3 * width;
	}
	struct layer *layer = (e->layer = grow(e->layer, i, sizeof(*e->layer))) + i;
	*layer = (struct layer){ head, kv_heads, rotated, is_near, 0, 0, e->rotation + has_own };
	layer->k = device_alloc(&e->device, k);
	layer->v = device_alloc(&e->device, v);
	*widest = width > *widest ? width : *widest;
	if (!*layer->rotation) {
		float *rows = grow(NULL, e->options.context * layer->rotated, sizeof(*rows));
		must(tcbrt_gguf_rotation(e->file, layer->rotated, has_own, e->options.context, rows, &err), &err);
		*layer->rotation = copy(e, rows, e->options.context * layer->rotated);
		free(rows);
	}
}

static void make_buffers(struct engine *e)
{
	const size_t m = e->options.batch, rows = e->options.logits ? m : 1, heads = e->value_heads;
	const size_t period = e->ways & TILED ? e->key_heads : heads;
	int32_t *keys_of = grow(NULL, heads, sizeof(*keys_of));
	size_t widest = e->used * e->ffn > e->shared_ffn ? e->used * e->ffn : e->shared_ffn;

	for (e->index = 0; e->index < (int)e->layers; e->index++)
		make_layer(e, (size_t)e->index, &widest);
	for (size_t i = 0; i < BUFFERS; i++) {
		const size_t each = i <= H ? e->hidden : i <= UP ? widest : e->experts + heads + TOP_MAX;
		e->at[i] = device_alloc(&e->device, (m * each + widest) * sizeof(float));
	}
	const size_t constants = m * (e->hidden + heads) + widest;
	float *ones = grow(NULL, constants, sizeof(*ones));
	for (size_t i = 0; i < heads && e->key_heads; i++)
		keys_of[i] = (int32_t)(i % period / (period / e->key_heads));
	e->keys_of = copy(e, keys_of, heads);
	for (size_t i = 0; i < constants; i++)
		ones[i] = 1;
	e->ones = copy(e, ones, constants);
	for (size_t i = 0; i < constants; i++)
		ones[i] = sqrtf((float)e->hidden);
	e->embedding = copy(e, ones, constants);
	e->logits = device_alloc(&e->device, rows * e->vocabulary * sizeof(float));
	e->host_logits = grow(NULL, rows * e->vocabulary, sizeof(float));
	free(keys_of);
	free(ones);
}

/* ---- the engine ---- */

struct engine *engine_open(const char *model, const struct options *options)
{
	static struct engine one, *const e = &one; /* whose arrays last as long as the process */
	struct tcbrt_error err;

	e->options = *options;
	must(tcbrt_gguf_open(model, &e->file, &err), &err);
	read_family(e);
	read_sizes(e);
	device_open(&e->device, options->is_gpu, (unsigned)options->threads);
	if (tcbrt_open(NULL, &e->rt, &err) != TCBRT_OK)
		must(tcbrt_open_empty(&e->rt, &err), &err);
	make_buffers(e);
	program_for(e, 1); /* packs the weights */
	return e;
}

/* Gemma's bound on what COUNT logits are. */
static void cap(const struct engine *e, float *logits, size_t count)
{
	for (size_t i = 0; e->cap > 0 && i < count; i++)
		logits[i] = (float)e->cap * tanhf(logits[i] / (float)e->cap);
}

void engine_run(struct engine *e, const int32_t *tokens, size_t count, struct best *best)
{
	const size_t m = count < e->options.batch ? count : e->options.batch, top = e->options.top_k;
	const size_t logits = e->options.logits ? m * e->vocabulary : 0, last = logits ? 4 * (m - 1) * top : 0;
	const int32_t length = (int32_t)(e->past += m);
	struct program *program = program_for(e, m);

	if (e->past > e->options.context)
		errx(1, "the cache is full: --context %zu is too small", e->options.context);
	for (size_t i = 0; i < m; i++)
		if (tokens[i] < 0 || (size_t)tokens[i] >= e->vocabulary)
			errx(1, "token %d is not in the vocabulary of %zu", (int)tokens[i], e->vocabulary);
	device_write(&e->device, e->at[TOKENS], tokens, m * sizeof(*tokens));
	device_write(&e->device, e->at[LENGTH], &length, sizeof(length));
	device_wait(&e->device);
	const double from = now();
	device_run(&e->device, program->chain, program->workspace, program->seconds);
	device_wait(&e->device);
	program->spent += program->runs++ ? now() - from : 0;
	device_read(&e->device, best->scores, e->at[LIKELY] + last, top * sizeof(float));
	device_read(&e->device, best->tokens, e->at[BEST] + last, top * sizeof(int32_t));
	device_read(&e->device, e->host_logits, e->logits, logits * sizeof(float));
	cap(e, best->scores, top);
	cap(e, e->host_logits, logits);
	if (logits && fwrite(e->host_logits, sizeof(float), logits, e->options.logits) != logits)
		errx(1, "logits cannot be written");
	if (count > m)
		engine_run(e, tokens + m, count - m, best);
}

/* To standard error: how long a program takes, and with options.times the share of each op of it. */
static void print_times(const struct engine *e, const struct program *p)
{
	double all = 0;

	if (p->runs > 1)
		fprintf(stderr, "at once %5zu %10.1f us\n", p->tokens, 1e6 * p->spent / (double)(p->runs - 1));
	for (size_t i = 0; i < p->count && p->seconds; i++)
		all += p->seconds[i];
	for (const struct kept *plan = e->kept; plan < e->kept + e->kept_count && p->seconds; plan++) {
		double part = 0;
		for (const struct tcbrt_call *call = p->calls; call < p->calls + p->count; call++)
			if (call->gpu ? call->gpu == plan->gpu : call->plan == plan->plan)
				part += p->seconds[call - p->calls];
		if (part > 0)
			fprintf(stderr, "    %5.1f %% %10.1f us  %s\n", 100 * part / all, 1e6 * part / (double)p->runs,
				plan->key);
	}
}

void engine_close(struct engine *e)
{
	for (struct program *p = e->programs; p < e->programs + e->program_count; p++) {
		print_times(e, p);
		tcbrt_chain_destroy(p->chain);
	}
	for (size_t i = 0; i < e->kept_count; tcbrt_plan_destroy(e->kept[i++].plan))
		tcbrt_gpu_unload(e->kept[i].gpu);
	tcbrt_pool_destroy(e->device.pool);
	tcbrt_close(e->rt);
	tcbrt_gguf_close(e->file);
}
