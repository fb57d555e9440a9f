/* SPDX-License-Identifier: MIT
 *
 * A model file becomes programs: chains of calls of libtcbrt, one program for each number of tokens that are computed
 * at once.  A program is written once and run as often as needed, since what changes, lengths and positions, is data.
 * Read attend, recur and feed_forward first: they are the model.  Above them is how a line of it becomes a plan with
 * its weights, below them memory and running.
 */
#include "engine.h"

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
	GEMMA_4 = 8 /* also V normed, scores as they are, layers that are scaled */
};
static const struct {
	const char *name;
	unsigned ways;
} families[] = { { "llama", PAIRS },
		 { "qwen2", 0 },
		 { "qwen3", 0 },
		 { "qwen3moe", 0 },
		 { "gpt-oss", OAI },
		 { "gemma3", GEMMA },
		 { "gemma4", GEMMA | GEMMA_4 } };

/* For the table of times. */
enum kind { NORM, TO_QKV, ROTATE, ATTENTION, TO_O, GATE_UP, DOWN, ELEMENTS, ROUTER, OUTPUT, ALL, KINDS };
static const char *const kind_names[KINDS] = { "norms", "q, k, v",  "rotation", "attention", "o",  "gate, up",
					       "down",  "elements", "router",   "output",    "all" };

/* What is kept of each token while it is computed; LOGITS is of those that are asked for. */
enum buffer { X, X2, H, Q, K, V, ROTATED, SEEN, GATE, UP, SCORES, IDS, SHARES, BUFFERS };

struct layer {
	size_t head, kv_heads, rotated; /* values of a head, and of these */
	int is_near;                    /* sees its window alone */
	address k, v, rotation;         /* cache; cos and sin of its positions */
};

struct planned {
	char key[3 * TEXT];
	struct tcbrt_plan *plan;
	struct tcbrt_gpu *gpu;
};

/* What weights have become. */
struct packed {
	const void *stored;
	char layout[TCBRT_LAYOUT_MAX];
	address at;
};

struct step {
	enum kind kind;
	struct tcbrt_chain *chain;
	address workspace;
	union mark end;
};

struct program {
	size_t tokens, count;
	union mark begin;
	struct step *steps;
};

struct engine {
	struct tcbrt_gguf *file;
	struct options options;
	char family[TEXT];
	unsigned ways;
	int is_yarn;
	size_t layers, hidden, heads, ffn, window, experts, used, vocabulary, past;
	double epsilon, cap, seconds[2][KINDS], tokens[2]; /* of one token, of more */
	struct layer *layer;
	struct tcbrt *rt;
	struct device device;
	struct planned *plans;
	struct packed *packed;
	struct program *programs;
	size_t plan_count, packed_count, program_count;
	address at[BUFFERS], logits, length, rotation[2], ones; /* rotation[1]: of Gemma's windows */
	struct tcbrt_plan *embedding;                           /* of the host, for its rows */
	struct tcbrt_gguf_tensor embeddings;
	float *host_x, *host_logits;
};

/* COUNT items at AT, and one more. */
static void *grow(void *at, size_t count, size_t bytes)
{
	at = realloc(at, (count + 1) * bytes);
	if (!at)
		die("out of memory");
	memset((char *)at + count * bytes, 0, bytes);
	return at;
}

/* ---- the file ---- */

static int find(const struct engine *e, const char *name, int layer, struct tcbrt_gguf_tensor *out)
{
	char full[TEXT];

	snprintf(full, sizeof(full), layer == NO_LAYER ? "%s" : "blk.%2$d.%1$s", name, layer);
	return tcbrt_gguf_find(e->file, full, out, NULL) == TCBRT_OK;
}

/* Of a key that is one number or one for each layer. */
static double number(const struct engine *e, const char *key, size_t layer, double otherwise)
{
	char name[2 * TEXT];

	snprintf(name, sizeof(name), "%s.%s", e->family, key);
	if (tcbrt_gguf_number(e->file, name, layer, &otherwise) != TCBRT_OK)
		tcbrt_gguf_number(e->file, name, 0, &otherwise);
	return otherwise;
}

static size_t size(const struct engine *e, const char *key, size_t layer, size_t otherwise)
{
	const double value = number(e, key, layer, (double)otherwise);

	if (!(value >= 1 && value <= 1 << 24))
		die("the model's %s.%s is missing, or not from 1 to 2^24", e->family, key);
	return (size_t)value;
}

static void read_family(struct engine *e)
{
	size_t length = 0, family = 0, count = sizeof(families) / sizeof(*families);
	const char *text = "";
	char name[2 * TEXT];

	tcbrt_gguf_text(e->file, "general.architecture", 0, &text, &length);
	snprintf(e->family, sizeof(e->family), "%.*s", (int)(length < TEXT ? length : TEXT), text);
	while (family < count && strcmp(families[family].name, e->family) != 0)
		family++;
	if (family == count)
		die("a model of architecture '%s' is not one that this engine knows", e->family);
	e->ways = families[family].ways;
	snprintf(name, sizeof(name), "%s.rope.scaling.type", e->family);
	e->is_yarn = !tcbrt_gguf_text(e->file, name, 0, &text, &length) && length == 4 && !memcmp(text, "yarn", 4);
}

static struct layer read_layer(const struct engine *e, size_t i)
{
	struct layer layer = { .head = size(e, "attention.key_length", i, e->hidden / e->heads),
			       .kv_heads = size(e, "attention.head_count_kv", i, e->heads) };
	/* The last one of so many layers sees all; or the file says it of each, 1 or 0. */
	const size_t usual = e->ways & GEMMA ? 6 : e->ways & OAI ? 2 : e->window < e->options.context;
	const size_t period = (size_t)number(e, "attention.sliding_window_pattern", i, (double)usual);

	layer.is_near = period > 1 ? (i + 1) % period != 0 : period == 1;
	layer.head = layer.is_near ? size(e, "attention.key_length_swa", i, layer.head) : layer.head;
	layer.rotated = size(e, "rope.dimension_count", 0, layer.head);
	layer.rotated = layer.rotated < layer.head ? layer.rotated : layer.head;
	return layer;
}

static void read_sizes(struct engine *e)
{
	const double epsilon = -log10(number(e, "attention.layer_norm_rms_epsilon", 0, 1e-5));

	e->layers = size(e, "block_count", 0, 0);
	e->hidden = size(e, "embedding_length", 0, 0);
	e->heads = size(e, "attention.head_count", 0, 0);
	e->experts = (size_t)number(e, "expert_count", 0, 0);
	e->used = e->experts ? size(e, "expert_used_count", 0, 0) : 1;
	e->ffn = size(e, e->experts ? "expert_feed_forward_length" : "feed_forward_length", 0, 0);
	e->window = size(e, "attention.sliding_window", 0, 1 << 24);
	e->cap = number(e, "final_logit_softcapping", 0, 0);
	e->epsilon = rint(epsilon);
	if (!(fabs(epsilon - e->epsilon) < 1e-3))
		die("norms with an epsilon of 10^-%g are not known: it is 10^-5 or another whole power", epsilon);
	e->layer = grow(NULL, e->layers, sizeof(*e->layer));
	for (size_t i = 0; i < e->layers; i++)
		e->layer[i] = read_layer(e, i);
	if (!find(e, "token_embd.weight", NO_LAYER, &e->embeddings))
		die("the model has no token_embd.weight");
	e->vocabulary = e->embeddings.dims[1];
}

/* ---- plans and weights ---- */

/* The plan of a problem, made when it is first asked for. */
static struct planned plan_of(struct engine *e, struct tcbrt_query query)
{
	struct tcbrt_error err;
	char key[3 * TEXT];

	snprintf(key, sizeof(key), "%s %zux%zux%zu,%s", query.op, query.m, query.n, query.k, query.words);
	for (size_t i = 0; i < e->plan_count; i++)
		if (strcmp(e->plans[i].key, key) == 0)
			return e->plans[i];
	e->plans = grow(e->plans, e->plan_count, sizeof(*e->plans));
	struct planned *planned = &e->plans[e->plan_count++];
	strcpy(planned->key, key);
	query.device = e->device.name;
	query.threads = e->device.threads;
	must(tcbrt_plan_create(e->rt, &query, &planned->plan, &err), &err);
	if (!e->device.pool)
		must(tcbrt_gpu_load(planned->plan, &planned->gpu, &err), &err);
	return *planned;
}

/* COUNT values of 4 bytes on the device. */
static address copy(const struct engine *e, const void *values, size_t count)
{
	const address place = device_alloc(&e->device, 4 * count);

	device_write(&e->device, place, values, 4 * count);
	return place;
}

/* Where the weights STORED are in LAYOUT; NULL: nowhere yet, and BYTES of the device are made the place. */
static address place_of(struct engine *e, const void *stored, const char *layout, size_t bytes, int *is_new)
{
	*is_new = 0;
	for (size_t i = 0; i < e->packed_count; i++)
		if (e->packed[i].stored == stored && strcmp(e->packed[i].layout, layout) == 0)
			return e->packed[i].at;
	e->packed = grow(e->packed, e->packed_count, sizeof(*e->packed));
	struct packed *packed = &e->packed[e->packed_count++];
	packed->stored = stored;
	strcpy(packed->layout, layout);
	*is_new = 1;
	return packed->at = device_alloc(&e->device, bytes);
}

/* TENSOR on the device, as operand INDEX of PLAN reads it: packed once for all plans of a layout. */
static address weights_of(struct engine *e, const struct tcbrt_plan *plan, size_t index,
			  const struct tcbrt_gguf_tensor *t)
{
	struct tcbrt_plan_info info;
	struct tcbrt_operand operand;
	struct tcbrt_error err;
	int is_new;

	tcbrt_plan_info(plan, &info);
	tcbrt_plan_operand(plan, index, &operand);
	if (t->dims[0] != operand.columns || t->dims[1] * t->dims[2] != operand.rows || t->bytes != operand.bytes)
		die("tensor %.*s has %zu x %zu x %zu values of type %u; %zu x %zu of type %s are wanted",
		    (int)t->name_length, t->name, t->dims[2], t->dims[1], t->dims[0], t->type, operand.rows,
		    operand.columns, operand.type);
	const size_t bytes = operand.packed_bytes ? operand.packed_bytes : operand.bytes;
	const address place = place_of(e, t->data, operand.packed_bytes ? info.layout : "", bytes, &is_new);
	void *host = (void *)(uintptr_t)place;
	if (!is_new)
		return place;
	if (!e->device.pool)
		must(tcbrt_weights_alloc(bytes, &host, NULL, &err), &err);
	if (!operand.packed_bytes)
		memcpy(host, t->data, bytes);
	else if (tcbrt_pack_operand(plan, index, t->data, host) != TCBRT_OK)
		die("tensor %.*s cannot be packed: out of memory?", (int)t->name_length, t->name);
	if (e->device.pool)
		return place;
	device_write(&e->device, place, host, bytes);
	tcbrt_weights_free(host);
	return place;
}

/* ---- sampling ---- */

void engine_choose(float *scores, size_t count, size_t top, int32_t *chosen, float *shares)
{
	float sum = 0;

	for (size_t t = 0; t < top; t++) {
		chosen[t] = 0;
		for (size_t i = 1; i < count; i++)
			if (scores[i] > scores[chosen[t]])
				chosen[t] = (int32_t)i;
		shares[t] = scores[chosen[t]];
		scores[chosen[t]] = -INFINITY;
	}
	for (size_t t = top; t-- > 0;)
		sum += shares[t] = expf(shares[t] - shares[0]);
	for (size_t t = 0; t < top; t++)
		shares[t] /= sum;
}

/* ---- a program: what is computed of M tokens, step after step ---- */

struct writer {
	struct engine *e;
	struct program *program;
	size_t m, count;
	int layer;
	struct tcbrt_call *calls; /* that go into the next chain */
};

static int has(const struct writer *w, const char *name)
{
	struct tcbrt_gguf_tensor tensor;

	return find(w->e, name, w->layer, &tensor);
}

/* Calls so far become a step of the program. */
static void end_chain(struct writer *w, enum kind kind)
{
	struct program *p = w->program;

	p->steps = grow(p->steps, p->count, sizeof(*p->steps));
	struct step *step = &p->steps[p->count++];
	step->kind = kind;
	step->chain = device_chain(&w->e->device, w->calls, w->count, &step->workspace);
	w->count = 0;
}

/* An address, or the weights of that name, of the layer that is being written; zeros: none. */
struct operand {
	address at;
	const char *weights;
};
#define OPERANDS(...) ((const struct operand[TCBRT_OPERANDS_MAX]){ __VA_ARGS__ })

/* A call of the op that FORM says: its name, where * is the format of its weights, then perhaps a blank and the words
 * of its shape.  The problem is M x N x K. */
__attribute__((format(printf, 7, 8))) static void add(struct writer *w, enum kind kind, size_t m, size_t n, size_t k,
						      const struct operand *operands, const char *form, ...)
{
	struct tcbrt_gguf_tensor tensor[TCBRT_OPERANDS_MAX];
	char text[TEXT], op[TEXT + TCBRT_FORMAT_MAX], *words;
	struct tcbrt_query query = { .op = op, .m = m, .n = n, .k = k, .contract = TCBRT_CONTRACT_F32 };
	va_list arguments;

	va_start(arguments, form);
	vsnprintf(text, sizeof(text), form, arguments);
	va_end(arguments);
	words = text + strcspn(text, " ");
	query.words = *words ? words + 1 : "";
	*words = 0;
	snprintf(op, sizeof(op), "%s", text);
	for (size_t i = 0; i < TCBRT_OPERANDS_MAX; i++)
		if (operands[i].weights && !find(w->e, operands[i].weights, w->layer, &tensor[i]))
			die("the model has no %s in layer %d", operands[i].weights, w->layer);
	if (*text == '*') {
		snprintf(op, sizeof(op), "%s%s", tensor[0].format, text + 1);
		query.contract = TCBRT_CONTRACT_DEFAULT;
		query.layout = w->e->device.pool ? TCBRT_LAYOUT_ANY_M : NULL; /* on a CPU one packing serves any M */
	}
	const struct planned planned = plan_of(w->e, query);
	w->calls = grow(w->calls, w->count, sizeof(*w->calls));
	struct tcbrt_call *call = &w->calls[w->count++];
	call->plan = planned.gpu ? NULL : planned.plan;
	call->gpu = planned.gpu;
	for (size_t i = 0; i < TCBRT_OPERANDS_MAX; i++)
		call->operand[i] = operands[i].weights ? weights_of(w->e, planned.plan, i, &tensor[i]) : operands[i].at;
	if (w->e->options.times == 1)
		end_chain(w, kind);
}

/* The LENGTH values of that name times FACTOR, COUNT times: a bias, say, as rows that a product adds. */
static address vector(struct writer *w, const char *name, size_t length, size_t count, float factor)
{
	struct tcbrt_gguf_tensor tensor;
	int is_new;

	if (!find(w->e, name, w->layer, &tensor) || strcmp(tensor.format, "f32") != 0 ||
	    tensor.bytes != length * sizeof(float))
		die("the model has no %s of %zu values in f32 in layer %d", name, length, w->layer);
	const address place = place_of(w->e, tensor.data, "vector", count * tensor.bytes, &is_new);
	if (!is_new)
		return place;
	float *values = grow(NULL, count * length, sizeof(*values));
	for (size_t i = 0; i < count * length; i++)
		values[i] = factor * ((const float *)tensor.data)[i % length];
	device_write(&w->e->device, place, values, count * tensor.bytes);
	free(values);
	return place;
}

/* f(x, b) of each of M x N elements */
static void add_elements(struct writer *w, const char *f, size_t n, address x, address b, address y)
{
	add(w, ELEMENTS, w->m, n, 0, OPERANDS({ x }, { b }, { y }), "elementwise_%s_f32", f);
}

/* y = norm(x) of ROWS rows of N, times the weights of that name (NULL: ones) */
static void add_norm(struct writer *w, size_t rows, size_t n, address x, const char *weights, address y)
{
	const char *form = w->e->epsilon == 5 ? "rmsnorm" : "rmsnorm eps%.0f";

	add(w, NORM, rows, n, 0, OPERANDS({ x }, { weights ? 0 : w->e->ones, weights }, { y }), form, w->e->epsilon);
}

/* y = W x, with the bias where there is one, + past (0: nothing) of ROWS rows, by the op that reads the weights once
 * for so many. */
static void add_product(struct writer *w, enum kind kind, const char *name, size_t rows, size_t n, size_t k, address x,
			address past, address y)
{
	char weight[TEXT], bias[TEXT];

	snprintf(weight, sizeof(weight), "%s.weight", name);
	snprintf(bias, sizeof(bias), "%s.bias", name);
	const address added = has(w, bias) ? vector(w, bias, n, w->e->options.batch, 1) : past;
	add(w, kind, rows, n, k, OPERANDS({ 0, weight }, { x }, { y }, { added }), "*_%s%s",
	    rows <= FEW ? "matvec" : "matmul", added ? " add" : "");
	if (past && added != past)
		add_elements(w, "add", n, y, past, y);
}

/* y = past + W x, of Gemma past + norm(W x) */
static void add_back(struct writer *w, enum kind kind, const char *name, size_t k, address x, const char *norm,
		     address past, address y)
{
	const struct engine *e = w->e;
	const int is_gemma = e->ways & GEMMA;

	add_product(w, kind, name, w->m, e->hidden, k, x, is_gemma ? 0 : past, is_gemma ? e->at[H] : y);
	if (is_gemma) {
		add_norm(w, w->m, e->hidden, e->at[H], norm, e->at[H]);
		add_elements(w, "add", e->hidden, past, e->at[H], y);
	}
}

/* x2 = x + attention(norm(x)) */
static void attend(struct writer *w)
{
	struct engine *e = w->e;
	const struct layer *layer = &e->layer[w->layer];
	const address *b = e->at, k = b[K], v = has(w, "attn_v.weight") ? b[V] : b[K];
	const size_t m = w->m, context = e->options.context, head = layer->head, q = e->heads * head;
	const size_t kv = layer->kv_heads * head;
	const int has_norms = has(w, "attn_q_norm.weight"), has_sinks = has(w, "attn_sinks.weight");
	char words[TEXT] = "", rotation[TEXT] = "", window[TEXT] = "";
	address norms[2] = { 0 };

	add_norm(w, m, e->hidden, b[X], "attn_norm.weight", b[H]);
	add_product(w, TO_QKV, "attn_q", m, q, e->hidden, b[H], 0, b[Q]);
	add_product(w, TO_QKV, "attn_k", m, kv, e->hidden, b[H], 0, k);
	if (v != k)
		add_product(w, TO_QKV, "attn_v", m, kv, e->hidden, b[H], 0, v);
	if (e->ways & GEMMA_4)
		add_norm(w, m * layer->kv_heads, head, v, NULL, b[V]);
	if (has_norms) { /* attention divides scores by the root of a head, which Gemma 4 does not */
		norms[0] = vector(w, "attn_q_norm.weight", head, 1, e->ways & GEMMA_4 ? sqrtf((float)head) : 1);
		norms[1] = vector(w, "attn_k_norm.weight", head, 1, 1);
		snprintf(words, sizeof(words), ",qknorm%.0f", e->epsilon);
	}
	if (layer->rotated < head)
		snprintf(rotation, sizeof(rotation), ",rot%zu", layer->rotated);
	add(w, ROTATE, m, context, head,
	    OPERANDS({ b[Q] }, { layer->rotation }, { e->length }, { b[ROTATED] }, { layer->k }, { layer->v },
		     { has_norms ? norms[0] : k }, { has_norms ? norms[1] : b[V] }, { has_norms ? k : 0 },
		     { has_norms ? b[V] : 0 }),
	    "rope_append_%s h%zu/%zu%s%s%s,apart", e->options.kv, e->heads, layer->kv_heads,
	    e->ways & PAIRS ? ",pairs" : "", rotation, words);
	if (layer->is_near)
		snprintf(window, sizeof(window), ",w%zu", e->window);
	add(w, ATTENTION, m, context, head,
	    OPERANDS({ b[ROTATED] }, { layer->k }, { layer->v }, { e->length }, { b[SEEN] },
		     { 0, has_sinks ? "attn_sinks.weight" : NULL }),
	    "attention_%s_%s h%zu/%zu%s%s%s", m <= DECODED ? "decode" : "prefill", e->options.kv, e->heads,
	    layer->kv_heads, m > 1 ? ",causal" : "", window, has_sinks ? ",sinks" : "");
	add_back(w, TO_O, "attn_output", q, b[SEEN], "post_attention_norm.weight", b[X], b[X2]);
}

/* h = the sum of what each token's experts make of h */
static void add_experts(struct writer *w)
{
	struct engine *e = w->e;
	const address *b = e->at;
	const int has_bias = has(w, "ffn_gate_exps.bias");
	const char *bias = has_bias ? ",bias" : "";

	add_product(w, ROUTER, "ffn_gate_inp", w->m, e->experts, e->hidden, b[H], 0, b[SCORES]);
	add(w, ROUTER, w->m, e->experts, e->used, OPERANDS({ b[SCORES] }, { b[IDS] }, { b[SHARES] }), "route_f32");
	add(w, GATE_UP, w->m, e->ffn, e->hidden,
	    OPERANDS({ 0, "ffn_gate_exps.weight" }, { b[H] }, { b[GATE] }, { b[IDS] }, { 0, "ffn_up_exps.weight" },
		     { 0, has_bias ? "ffn_gate_exps.bias" : NULL }, { 0, has_bias ? "ffn_up_exps.bias" : NULL }),
	    "*_experts_swiglu_matmul e%zu/%zu%s%s", e->experts, e->used, bias, e->ways & OAI ? ",oai" : "");
	add(w, DOWN, w->m, e->hidden, e->ffn,
	    OPERANDS({ 0, "ffn_down_exps.weight" }, { b[GATE] }, { b[H] }, { b[IDS] }, { b[SHARES] },
		     { 0, has_bias ? "ffn_down_exps.bias" : NULL }),
	    "*_experts_sum_matmul e%zu/%zu%s", e->experts, e->used, bias);
}

/* x = x2 + feed_forward(norm(x2)) */
static void feed_forward(struct writer *w)
{
	struct engine *e = w->e;
	const address *b = e->at;
	const char *scale = "layer_output_scale.weight";

	add_norm(w, w->m, e->hidden, b[X2],
		 has(w, "ffn_norm.weight") ? "ffn_norm.weight" : "post_attention_norm.weight", b[H]);
	if (e->experts) {
		add_experts(w);
		add_elements(w, "add", e->hidden, b[X2], b[H], b[X]);
	} else {
		add_product(w, GATE_UP, "ffn_gate", w->m, e->ffn, e->hidden, b[H], 0, b[GATE]);
		add_product(w, GATE_UP, "ffn_up", w->m, e->ffn, e->hidden, b[H], 0, b[UP]);
		add_elements(w, e->ways & GEMMA ? "gelu_mul" : "silu_mul", e->ffn, b[GATE], b[UP], b[GATE]);
		add_back(w, DOWN, "ffn_down", e->ffn, b[GATE], "post_ffw_norm.weight", b[X2], b[X]);
	}
	if (has(w, scale))
		add_elements(w, "mul", e->hidden, b[X], vector(w, scale, 1, e->options.batch * e->hidden, 1), b[X]);
}

/* The program for M tokens, written when it is first asked for. */
static struct program *program_for(struct engine *e, size_t m)
{
	const size_t rows = e->options.all_logits ? m : 1;
	const address last = e->at[X] + 4 * (m - rows) * e->hidden;
	struct writer w = { .e = e, .m = m };

	for (size_t i = 0; i < e->program_count; i++)
		if (e->programs[i].tokens == m)
			return &e->programs[i];
	e->programs = grow(e->programs, e->program_count, sizeof(*e->programs));
	w.program = &e->programs[e->program_count++];
	w.program->tokens = m;
	for (; w.layer < (int)e->layers; w.layer++) {
		attend(&w);
		feed_forward(&w);
	}
	w.layer = NO_LAYER;
	add_norm(&w, rows, e->hidden, last, "output_norm.weight", e->at[H]);
	add_product(&w, OUTPUT, has(&w, "output.weight") ? "output" : "token_embd", rows, e->vocabulary, e->hidden,
		    e->at[H], 0, e->logits);
	if (w.count)
		end_chain(&w, ALL);
	free(w.calls);
	return w.program;
}

/* ---- memory ---- */

/* What a token adds to angle I of ROTATED values, and what cos and sin are multiplied with. */
static double frequency(const struct engine *e, size_t i, size_t rotated, int is_near, double *scale)
{
	const double factor = is_near ? 1 : number(e, "rope.scaling.factor", 0, 1), head = (double)rotated;
	const double base = number(e, is_near ? "rope.freq_base_swa" : "rope.freq_base", 0, 10000);
	const double plain = pow(base, -2 * (double)i / head), pi = 3.14159265358979323846;
	const double trained = number(e, "rope.scaling.original_context_length", 0, 0);
	/* YaRN: angles that turn 32 times and more in training stay, those that turn once or less are interpolated. */
	const double per = head / (2 * log(base)), first = fmax(floor(per * log(trained / (64 * pi))), 0);
	const double last = fmin(ceil(per * log(trained / (2 * pi))), head - 1);
	const double ramp = fmin(fmax(((double)i - first) / fmax(last - first, 0.001), 0), 1);

	*scale = e->is_yarn ? 1 + 0.1 * log(factor) : 1;
	return e->is_yarn ? plain * (1 - ramp) + plain / factor * ramp : plain / factor;
}

/* cos, then sin of the angles of each position. */
static void write_rotation(struct engine *e, size_t rotated, int is_near)
{
	const size_t half = rotated / 2, context = e->options.context;
	struct tcbrt_gguf_tensor factors;
	const int has_factors = !is_near && find(e, "rope_freqs.weight", NO_LAYER, &factors);
	float *rows = grow(NULL, context * rotated, sizeof(*rows));
	double scale;

	if (has_factors && (strcmp(factors.format, "f32") != 0 || factors.dims[0] != half))
		die("rope_freqs.weight is not a factor in f32 for each angle");
	for (size_t i = 0; i < half; i++) {
		const double step = frequency(e, i, rotated, is_near, &scale);
		const double factor = has_factors ? (double)((const float *)factors.data)[i] : 1;

		for (size_t position = 0; position < context; position++) {
			rows[position * rotated + i] = (float)(scale * cos((double)position * step / factor));
			rows[position * rotated + half + i] = (float)(scale * sin((double)position * step / factor));
		}
	}
	e->rotation[is_near] = copy(e, rows, context * rotated);
	free(rows);
}

/* The cache of a layer; *Q and *KV grow to what a token has at most. */
static void make_layer(struct engine *e, struct layer *layer, size_t *q, size_t *kv)
{
	const size_t heads = e->heads * layer->head, kv_heads = layer->kv_heads * layer->head;
	const size_t bytes = 2 * e->options.context * kv_heads; /* of f16; blocks of 32 values take 34 bytes */
	const int is_near = layer->is_near && e->ways & GEMMA;

	layer->k = device_alloc(&e->device, bytes + bytes / 16);
	layer->v = device_alloc(&e->device, bytes + bytes / 16);
	*q = heads > *q ? heads : *q;
	*kv = kv_heads > *kv ? kv_heads : *kv;
	if (!e->rotation[is_near])
		write_rotation(e, layer->rotated, is_near);
	layer->rotation = e->rotation[is_near];
}

static void make_buffers(struct engine *e)
{
	const size_t m = e->options.batch, rows = e->options.all_logits ? m : 1, hidden = e->hidden;
	size_t q = 0, kv = 0;

	for (size_t i = 0; i < e->layers; i++)
		make_layer(e, &e->layer[i], &q, &kv);
	const size_t floats[BUFFERS] = { hidden,           hidden, hidden,         q,       kv,     kv, q, q,
					 e->used * e->ffn, e->ffn, e->experts + 1, e->used, e->used };
	float *ones = grow(NULL, kv, sizeof(*ones));

	for (size_t i = 0; i < BUFFERS; i++)
		e->at[i] = device_alloc(&e->device, m * floats[i] * sizeof(float));
	for (size_t i = 0; i < kv; i++)
		ones[i] = 1;
	e->ones = copy(e, ones, kv);
	e->logits = device_alloc(&e->device, rows * e->vocabulary * sizeof(float));
	e->length = device_alloc(&e->device, sizeof(int32_t));
	e->host_x = grow(NULL, m * hidden, sizeof(float));
	e->host_logits = grow(NULL, rows * e->vocabulary, sizeof(float));
	free(ones);
}

/* ---- the engine ---- */

struct engine *engine_open(const char *model, const struct options *options, size_t *vocabulary)
{
	struct engine *e = grow(NULL, 0, sizeof(*e));
	struct tcbrt_error err;
	char op[TEXT];

	e->options = *options;
	must(tcbrt_gguf_open(model, &e->file, &err), &err);
	read_family(e);
	read_sizes(e);
	device_open(&e->device, options->is_gpu, (unsigned)options->threads);
	if (tcbrt_open(NULL, &e->rt, &err) != TCBRT_OK)
		must(tcbrt_open_empty(&e->rt, &err), &err);
	snprintf(op, sizeof(op), "%s_matvec", e->embeddings.format);
	const struct tcbrt_query rows = { .op = op, .m = 1, .n = e->vocabulary, .k = e->hidden, .layout = "native" };
	must(tcbrt_plan_create(e->rt, &rows, &e->embedding, &err), &err);
	make_buffers(e);
	program_for(e, 1); /* packs the weights */
	*vocabulary = e->vocabulary;
	return e;
}

static void embed(struct engine *e, const int32_t *tokens, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (tcbrt_read_row(e->embedding, (size_t)tokens[i], e->embeddings.data, e->host_x + i * e->hidden))
			die("token %d is not in the vocabulary of %zu", (int)tokens[i], e->vocabulary);
	for (size_t i = 0; e->ways & GEMMA && i < count * e->hidden; i++)
		e->host_x[i] *= sqrtf((float)e->hidden);
	device_write(&e->device, e->at[X], e->host_x, count * e->hidden * sizeof(float));
}

float *engine_run(struct engine *e, const int32_t *tokens, size_t count)
{
	struct program *program = program_for(e, count);
	const size_t logits = (e->options.all_logits ? count : 1) * e->vocabulary;
	const int32_t length = (int32_t)(e->past += count);

	if (e->past > e->options.context)
		die("the cache is full: --context %zu is too small", e->options.context);
	embed(e, tokens, count);
	device_write(&e->device, e->length, &length, sizeof(length));
	device_wait(&e->device);
	device_mark(&e->device, &program->begin);
	for (struct step *step = program->steps; step < program->steps + program->count; step++) {
		device_run(&e->device, step->chain, step->workspace);
		device_mark(&e->device, &step->end);
	}
	device_read(&e->device, e->host_logits, e->logits, logits * sizeof(float));
	for (size_t i = 0; i < program->count; i++)
		e->seconds[count > 1][program->steps[i].kind] += device_between(
			&e->device, i ? &program->steps[i - 1].end : &program->begin, &program->steps[i].end);
	e->tokens[count > 1] += count;
	for (size_t i = 0; e->cap > 0 && i < logits; i++)
		e->host_logits[i] = (float)e->cap * tanhf(e->host_logits[i] / (float)e->cap);
	return e->host_logits;
}

/* To standard error, with options.times: the share of each kind of op. */
static void print_times(const struct engine *e, const char *what, const double seconds[KINDS], double tokens)
{
	double all = 0;

	for (size_t i = 0; i < KINDS; i++)
		all += seconds[i];
	for (size_t i = 0; i < KINDS && e->options.times; i++)
		if (seconds[i] > 0)
			fprintf(stderr, "%-10s %-10s %5.1f %% %10.1f us per token\n", what, kind_names[i],
				100 * seconds[i] / all, 1e6 * seconds[i] / tokens);
}

void engine_close(struct engine *e)
{
	print_times(e, "prompt", e->seconds[1], e->tokens[1]);
	print_times(e, "generation", e->seconds[0], e->tokens[0]);
	for (size_t p = 0; p < e->program_count; free(e->programs[p++].steps))
		for (size_t i = 0; i < e->programs[p].count; i++)
			tcbrt_chain_destroy(e->programs[p].steps[i].chain);
	for (size_t i = 0; i < e->plan_count; tcbrt_plan_destroy(e->plans[i++].plan))
		tcbrt_gpu_unload(e->plans[i].gpu);
	tcbrt_plan_destroy(e->embedding);
	tcbrt_pool_destroy(e->device.pool);
	tcbrt_close(e->rt);
	tcbrt_gguf_close(e->file);
	free(e->programs);
	free(e->plans);
	free(e->packed);
	free(e->layer);
	free(e->host_x);
	free(e->host_logits);
	free(e);
}
