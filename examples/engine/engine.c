/* SPDX-License-Identifier: MIT
 *
 * A model file becomes programs: chains of calls of libtcbrt, one program for each number of tokens that are computed
 * at once.  A program is written once and run as often as needed, since what changes, lengths and positions, is data.
 * Read attend and feed_forward first: they are the model.  Above them is how a line of it becomes a plan with its
 * weights, below them memory and running.
 */
#include "engine.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tcbrt_gguf.h>

enum { TEXT = 192, NO_LAYER = -1 };
enum { FEW = 8, DECODED = 32 }; /* tokens that a MatVec and attention_decode take */

/* What families of models do in ways of their own. */
enum {
	PAIRS = 1, /* rotates neighbours, not values half a head apart */
	OAI = 2,   /* gpt-oss: its gate, and windows in every other layer */
	GEMMA = 4  /* embeddings scaled, GELU, norms behind attention and feed-forward, windows in five of six layers */
};
static const struct {
	const char *name;
	unsigned ways;
} families[] = { { "llama", PAIRS }, { "qwen2", 0 },     { "qwen3", 0 },
		 { "qwen3moe", 0 },  { "gpt-oss", OAI }, { "gemma3", GEMMA } };

/* For the table of times. */
enum kind { NORM, TO_QKV, ROTATE, ATTENTION, TO_O, GATE_UP, DOWN, ELEMENTS, ROUTER, OUTPUT, COPIES, ALL, KINDS };
static const char *const kind_names[KINDS] = { "norms", "q, k, v",  "rotation", "attention", "o",      "gate, up",
					       "down",  "elements", "router",   "output",    "copies", "all" };

/* What is kept of each token while it is computed, then the last three, which are of all: cos and sin of positions, for
 * layers that see all and for those with a window. */
enum buffer {
	X,
	X2,
	H,
	QKV,
	Q,
	K,
	V,
	ROTATED,
	SEEN,
	GATE,
	UP,
	SCORES,
	IDS,
	SHARES,
	LOGITS,
	LENGTH,
	FAR,
	NEAR,
	BUFFERS
};

struct planned {
	char key[3 * TEXT];
	struct tcbrt_plan *plan;
	struct tcbrt_gpu *gpu;
};

struct packed {
	const void *stored;
	char layout[TCBRT_LAYOUT_MAX];
	address at;
};

/* A chain of calls, or what no op does. */
struct step {
	enum kind kind;
	struct tcbrt_chain *chain;
	void (*own)(const struct engine *e, const address *operand);
	address operand[5], workspace;
};

struct program {
	size_t tokens, count;
	struct step *steps;
};

struct engine {
	struct tcbrt_gguf *file;
	struct options options;
	char family[TEXT];
	unsigned ways;
	int is_yarn;
	size_t layers, hidden, heads, kv_heads, head, ffn, window, experts, used, vocabulary, past;
	double epsilon, seconds[2][KINDS]; /* of one token, of more */
	struct tcbrt *rt;
	struct device device;
	struct planned *plans;
	struct packed *packed;
	struct program *programs;
	size_t plan_count, packed_count, program_count;
	address at[BUFFERS], cache;
	size_t cache_bytes;           /* of K, or of V, of a layer */
	struct tcbrt_plan *embedding; /* of the host, for its rows */
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

static double number(const struct engine *e, const char *key, double otherwise)
{
	char name[2 * TEXT];

	snprintf(name, sizeof(name), "%s.%s", e->family, key);
	tcbrt_gguf_number(e->file, name, 0, &otherwise);
	return otherwise;
}

static size_t size(const struct engine *e, const char *key, size_t otherwise)
{
	const double value = number(e, key, (double)otherwise);

	if (!(value >= 1 && value <= 1 << 24))
		die("the model's %s.%s is missing, or not from 1 to 2^24", e->family, key);
	return (size_t)value;
}

static void read_sizes(struct engine *e)
{
	const size_t count = sizeof(families) / sizeof(*families);
	const char *text = "";
	size_t length = 0, family = 0;
	char name[2 * TEXT];

	tcbrt_gguf_text(e->file, "general.architecture", 0, &text, &length);
	snprintf(e->family, sizeof(e->family), "%.*s", (int)(length < TEXT ? length : TEXT), text);
	while (family < count && strcmp(families[family].name, e->family) != 0)
		family++;
	if (family == count)
		die("a model of architecture '%s' is not one that this engine knows", e->family);
	e->ways = families[family].ways;
	snprintf(name, sizeof(name), "%s.rope.scaling.type", e->family);
	e->is_yarn = tcbrt_gguf_text(e->file, name, 0, &text, &length) == TCBRT_OK && length == 4 &&
		     !memcmp(text, "yarn", 4);
	e->layers = size(e, "block_count", 0);
	e->hidden = size(e, "embedding_length", 0);
	e->heads = size(e, "attention.head_count", 0);
	e->kv_heads = size(e, "attention.head_count_kv", e->heads);
	e->head = size(e, "attention.key_length", e->hidden / e->heads);
	e->experts = (size_t)number(e, "expert_count", 0);
	e->used = e->experts ? size(e, "expert_used_count", 0) : 1;
	e->ffn = size(e, e->experts ? "expert_feed_forward_length" : "feed_forward_length", 0);
	e->window = size(e, "attention.sliding_window", 1 << 24);
	e->epsilon = number(e, "attention.layer_norm_rms_epsilon", 1e-5);
	if (!find(e, "token_embd.weight", NO_LAYER, &e->embeddings))
		die("the model has no token_embd.weight");
	e->vocabulary = e->embeddings.dims[1];
}

/* ---- plans and weights ---- */

/* The plan of a problem, made when it is first asked for. */
static struct planned plan_of(struct engine *e, struct tcbrt_query query)
{
	struct tcbrt_error err;
	struct planned *planned;
	char key[3 * TEXT];

	snprintf(key, sizeof(key), "%s %zux%zux%zu,%s", query.op, query.m, query.n, query.k, query.words);
	for (size_t i = 0; i < e->plan_count; i++)
		if (strcmp(e->plans[i].key, key) == 0)
			return e->plans[i];
	e->plans = grow(e->plans, e->plan_count, sizeof(*e->plans));
	planned = &e->plans[e->plan_count++];
	strcpy(planned->key, key);
	query.device = e->device.name;
	query.threads = e->device.threads;
	must(tcbrt_plan_create(e->rt, &query, &planned->plan, &err), &err);
	if (!e->device.pool)
		must(tcbrt_gpu_load(planned->plan, &planned->gpu, &err), &err);
	return *planned;
}

/* TENSOR on the device, as operand INDEX of PLAN reads it, or as it is: packed once for all plans of a layout. */
static address weights_of(struct engine *e, const struct tcbrt_plan *plan, size_t index,
			  const struct tcbrt_gguf_tensor *tensor)
{
	struct tcbrt_plan_info info = { .packed_bytes = 0 };
	struct tcbrt_operand operand = { .rows = 1, .columns = tensor->dims[0], .bytes = tensor->bytes };
	struct packed *packed;
	void *host = NULL;

	if (plan) {
		tcbrt_plan_info(plan, &info);
		tcbrt_plan_operand(plan, index, &operand);
	}
	if (tensor->dims[0] != operand.columns || tensor->dims[1] * tensor->dims[2] != operand.rows ||
	    tensor->bytes != operand.bytes)
		die("tensor %.*s has %zu x %zu x %zu values of type %u; %zu x %zu of type %s are wanted",
		    (int)tensor->name_length, tensor->name, tensor->dims[2], tensor->dims[1], tensor->dims[0],
		    tensor->type, operand.rows, operand.columns, operand.type);
	for (size_t i = 0; i < e->packed_count; i++)
		if (e->packed[i].stored == tensor->data && strcmp(e->packed[i].layout, info.layout) == 0)
			return e->packed[i].at;
	e->packed = grow(e->packed, e->packed_count, sizeof(*e->packed));
	packed = &e->packed[e->packed_count++];
	packed->stored = tensor->data;
	strcpy(packed->layout, info.layout);
	packed->at = device_alloc(&e->device, operand.packed_bytes ? operand.packed_bytes : operand.bytes);
	if (!operand.packed_bytes) {
		device_write(&e->device, packed->at, tensor->data, operand.bytes);
		return packed->at;
	}
	if (!e->device.pool)
		host = aligned_alloc(TCBRT_ALIGNMENT, (operand.packed_bytes / TCBRT_ALIGNMENT + 1) * TCBRT_ALIGNMENT);
	if (tcbrt_pack_operand(plan, index, tensor->data, host ? host : (void *)(uintptr_t)packed->at) != TCBRT_OK)
		die("tensor %.*s cannot be packed: out of memory?", (int)tensor->name_length, tensor->name);
	if (host)
		device_write(&e->device, packed->at, host, operand.packed_bytes);
	free(host);
	return packed->at;
}

/* ---- what no op does, on CPUs ---- */

#define FLOATS(at) ((float *)(uintptr_t)(at))

/* to, bytes between its rows, from, bytes of its rows, rows */
static void copy_rows(const struct engine *e, const address *o)
{
	(void)e;
	for (size_t i = 0; i < o[4]; i++)
		memcpy((char *)(uintptr_t)o[0] + i * o[1], (const char *)(uintptr_t)o[2] + i * o[3], o[3]);
}

/* to in f32, from in f16 and finite, values: its bits where a float has them are 2^-112 of its value */
static void widen(const struct engine *e, const address *o)
{
	(void)e;
	for (size_t i = 0; i < o[2]; i++) {
		const uint32_t half = ((const uint16_t *)(uintptr_t)o[1])[i];
		const uint32_t bits = (half & 0x8000) << 16 | (half & 0x7fff) << 13;

		memcpy(&FLOATS(o[0])[i], &bits, sizeof(bits));
		FLOATS(o[0])[i] *= 0x1p112f;
	}
}

/* y, bias, values of a row, rows */
static void add_bias(const struct engine *e, const address *o)
{
	(void)e;
	for (size_t i = 0; i < o[2] * o[3]; i++)
		FLOATS(o[0])[i] += FLOATS(o[1])[i % o[2]];
}

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

/* scores, ids, factors, tokens: the experts of each */
static void route(const struct engine *e, const address *o)
{
	for (size_t t = 0; t < o[3]; t++)
		engine_choose(FLOATS(o[0]) + t * e->experts, e->experts, e->used,
			      (int32_t *)(uintptr_t)o[1] + t * e->used, FLOATS(o[2]) + t * e->used);
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

/* Does a token of this layer see its window alone? */
static int has_window(const struct writer *w)
{
	return w->e->ways & GEMMA ? w->layer % 6 != 5
	       : w->e->ways & OAI ? w->layer % 2 == 0
				  : w->e->window < w->e->options.context;
}

static struct step *add_step(struct writer *w, enum kind kind)
{
	struct program *p = w->program;

	p->steps = grow(p->steps, p->count, sizeof(*p->steps));
	p->steps[p->count].kind = kind;
	return &p->steps[p->count++];
}

static void end_chain(struct writer *w, enum kind kind)
{
	struct step *step = w->count ? add_step(w, kind) : NULL;

	if (step)
		step->chain = device_chain(&w->e->device, w->calls, w->count, &step->workspace);
	w->count = 0;
}

struct operand {
	address at;
	const char *weights;
};
#define OPERANDS(...)                              \
	(const struct operand[TCBRT_OPERANDS_MAX]) \
	{                                          \
		__VA_ARGS__                        \
	}

static struct operand at(address at)
{
	return (struct operand){ at, NULL };
}

/* The weights of that name, of the layer that is being written. */
static struct operand weights(const char *name)
{
	return (struct operand){ 0, name };
}

/* A call of the op that OP says: its name, where * is the format of its weights, then perhaps a blank and the words of
 * its shape.  The problem is M x N x K. */
__attribute__((format(printf, 7, 8))) static void add(struct writer *w, enum kind kind, size_t m, size_t n, size_t k,
						      const struct operand *operands, const char *form, ...)
{
	struct tcbrt_gguf_tensor tensor[TCBRT_OPERANDS_MAX];
	char text[TEXT], op[TEXT + TCBRT_FORMAT_MAX], *words;
	struct tcbrt_query query = { .op = op, .m = m, .n = n, .k = k, .contract = TCBRT_CONTRACT_F32 };
	struct planned planned;
	struct tcbrt_call *call;
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
	planned = plan_of(w->e, query);
	w->calls = grow(w->calls, w->count, sizeof(*w->calls));
	call = &w->calls[w->count++];
	call->plan = planned.gpu ? NULL : planned.plan;
	call->gpu = planned.gpu;
	for (size_t i = 0; i < TCBRT_OPERANDS_MAX; i++)
		call->operand[i] = operands[i].weights ? weights_of(w->e, planned.plan, i, &tensor[i]) : operands[i].at;
	if (w->e->options.times)
		end_chain(w, kind);
}

static void add_own(struct writer *w, enum kind kind, void (*own)(const struct engine *, const address *),
		    const address operand[5])
{
	struct step *step;

	if (!w->e->device.pool)
		die("on a GPU no op does what this model wants: %s", kind_names[kind]);
	end_chain(w, kind == COPIES ? ALL : kind);
	step = add_step(w, kind);
	step->own = own;
	memcpy(step->operand, operand, sizeof(step->operand));
}

/* The vector of that name, which no plan packs; 0: there is none. */
static address vector(struct writer *w, const char *name)
{
	struct tcbrt_gguf_tensor tensor;

	if (!find(w->e, name, w->layer, &tensor))
		return 0;
	if (strcmp(tensor.format, "f32") != 0)
		die("%s of layer %d is not in f32", name, w->layer);
	return weights_of(w->e, NULL, 0, &tensor);
}

/* y = W x, and the bias where there is one, of ROWS rows, by the op that reads the weights once for so many. */
static void add_product(struct writer *w, enum kind kind, const char *name, size_t rows, size_t n, size_t k, address x,
			address y)
{
	char weight[TEXT], bias[TEXT];

	snprintf(weight, sizeof(weight), "%s.weight", name);
	snprintf(bias, sizeof(bias), "%s.bias", name);
	add(w, kind, rows, n, k, OPERANDS(weights(weight), at(x), at(y)), "*_%s", rows <= FEW ? "matvec" : "matmul");
	if (has(w, bias))
		add_own(w, COPIES, add_bias, (const address[5]){ y, vector(w, bias), n, rows });
}

/* y = norm(x) of M rows */
static void add_norm(struct writer *w, const char *name, size_t m, address x, address y)
{
	const double exponent = -log10(w->e->epsilon);
	char words[TEXT] = "";

	if (fabs(exponent - 5) > 1e-4)
		snprintf(words, sizeof(words), " eps%.0f", exponent);
	add(w, NORM, m, w->e->hidden, 0, OPERANDS(at(x), weights(name), at(y)), "rmsnorm%s", words);
}

/* f(x, b) of each element */
static void add_elements(struct writer *w, const char *f, size_t n, address x, address b, address y)
{
	add(w, ELEMENTS, w->m, n, 0, OPERANDS(at(x), at(b ? b : y), at(b ? y : 0)), "elementwise_%s_f32", f);
}

/* x2 = x + attention(norm(x)) */
static void attend(struct writer *w)
{
	struct engine *e = w->e;
	const address *b = e->at,
		      cache[2] = { e->cache + 2 * (size_t)w->layer * e->cache_bytes, cache[0] + e->cache_bytes };
	const size_t m = w->m, context = e->options.context, q = e->heads * e->head, kv = e->kv_heads * e->head;
	const size_t from[3] = { 0, 4 * q, 4 * (q + kv) }, bytes[3] = { 4 * q, 4 * kv, 4 * kv }; /* in a row of QKV */
	const char *kv_type = e->options.kv, *names[3] = { "attn_q", "attn_k", "attn_v" };
	const int has_norms = has(w, "attn_q_norm.weight"), has_sinks = has(w, "attn_sinks.weight");
	const int is_f16 = strcmp(kv_type, "f16") == 0, is_near = has_window(w);
	char words[TEXT] = "";

	add_norm(w, "attn_norm.weight", m, b[X], b[H]);
	for (size_t i = 0; i < 3; i++)
		add_product(w, TO_QKV, names[i], m, bytes[i] / 4, e->hidden, b[H],
			    m == 1 ? b[QKV] + from[i] : b[Q + i]);
	for (size_t i = 0; m > 1 && i < 3; i++)
		add_own(w, COPIES, copy_rows,
			(const address[5]){ b[QKV] + from[i], 4 * (q + 2 * kv), b[Q + i], bytes[i], m });
	if (has_norms)
		snprintf(words, sizeof(words), ",qknorm%.0f", -log10(e->epsilon));
	add(w, ROTATE, m, context, e->head,
	    OPERANDS(at(b[QKV]), at(b[is_near ? NEAR : FAR]), at(b[LENGTH]), at(b[ROTATED]), at(cache[0]), at(cache[1]),
		     has_norms ? weights("attn_q_norm.weight") : at(0),
		     has_norms ? weights("attn_k_norm.weight") : at(0)),
	    "rope_append_%s h%zu/%zu%s%s", kv_type, e->heads, e->kv_heads, e->ways & PAIRS ? ",pairs" : "", words);
	if (is_f16)
		add_own(w, COPIES, widen, (const address[5]){ b[Q], b[ROTATED], m * q });
	strcpy(words, m > 1 ? ",causal" : "");
	if (is_near)
		snprintf(words, sizeof(words), ",w%zu", e->window);
	add(w, ATTENTION, m, context, e->head,
	    OPERANDS(at(b[is_f16 ? Q : ROTATED]), at(cache[0]), at(cache[1]), at(b[LENGTH]), at(b[SEEN]),
		     has_sinks ? weights("attn_sinks.weight") : at(0)),
	    "attention_%s_%s h%zu/%zu%s%s", m <= DECODED ? "decode" : "prefill", kv_type, e->heads, e->kv_heads, words,
	    has_sinks ? ",sinks" : "");
	add_product(w, TO_O, "attn_output", m, e->hidden, q, b[SEEN], b[H]);
	if (e->ways & GEMMA)
		add_norm(w, "post_attention_norm.weight", m, b[H], b[H]);
	add_elements(w, "add", e->hidden, b[X], b[H], b[X2]);
}

/* h = the sum of what each token's experts make of h */
static void add_experts(struct writer *w)
{
	struct engine *e = w->e;
	const address *b = e->at;
	const int has_bias = has(w, "ffn_gate_exps.bias");

	add_product(w, ROUTER, "ffn_gate_inp", w->m, e->experts, e->hidden, b[H], b[SCORES]);
	add_own(w, ROUTER, route, (const address[5]){ b[SCORES], b[IDS], b[SHARES], w->m });
	add(w, GATE_UP, w->m, e->ffn, e->hidden,
	    OPERANDS(weights("ffn_gate_exps.weight"), at(b[H]), at(b[GATE]), at(b[IDS]), weights("ffn_up_exps.weight"),
		     has_bias ? weights("ffn_gate_exps.bias") : at(0), has_bias ? weights("ffn_up_exps.bias") : at(0)),
	    "*_experts_swiglu_matmul e%zu/%zu%s%s", e->experts, e->used, has_bias ? ",bias" : "",
	    e->ways & OAI ? ",oai" : "");
	add(w, DOWN, w->m, e->hidden, e->ffn,
	    OPERANDS(weights("ffn_down_exps.weight"), at(b[GATE]), at(b[H]), at(b[IDS]), at(b[SHARES]),
		     has_bias ? weights("ffn_down_exps.bias") : at(0)),
	    "*_experts_sum_matmul e%zu/%zu%s", e->experts, e->used, has_bias ? ",bias" : "");
}

/* x = x2 + feed_forward(norm(x2)) */
static void feed_forward(struct writer *w)
{
	struct engine *e = w->e;
	const address *b = e->at;
	const size_t m = w->m;

	add_norm(w, e->ways & OAI ? "post_attention_norm.weight" : "ffn_norm.weight", m, b[X2], b[H]);
	if (e->experts) {
		add_experts(w);
	} else {
		add_product(w, GATE_UP, "ffn_gate", m, e->ffn, e->hidden, b[H], b[GATE]);
		add_product(w, GATE_UP, "ffn_up", m, e->ffn, e->hidden, b[H], b[UP]);
		if (e->ways & GEMMA)
			add_elements(w, "gelu", e->ffn, b[GATE], 0, b[GATE]);
		add_elements(w, e->ways & GEMMA ? "mul" : "silu_mul", e->ffn, b[GATE], b[UP], b[GATE]);
		add_product(w, DOWN, "ffn_down", m, e->hidden, e->ffn, b[GATE], b[H]);
	}
	if (e->ways & GEMMA)
		add_norm(w, "post_ffw_norm.weight", m, b[H], b[H]);
	add_elements(w, "add", e->hidden, b[X2], b[H], b[X]);
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
	add_norm(&w, "output_norm.weight", rows, last, e->at[H]);
	add_product(&w, OUTPUT, has(&w, "output.weight") ? "output" : "token_embd", rows, e->vocabulary, e->hidden,
		    e->at[H], e->at[LOGITS]);
	end_chain(&w, ALL);
	free(w.calls);
	return w.program;
}

/* ---- memory ---- */

/* What a token adds to angle I, and what cos and sin are multiplied with. */
static double frequency(const struct engine *e, size_t i, int is_near, double *scale)
{
	const double base = number(e, is_near ? "rope.freq_base_swa" : "rope.freq_base", 10000), head = (double)e->head;
	const double factor = is_near ? 1 : number(e, "rope.scaling.factor", 1),
		     plain = pow(base, -2 * (double)i / head);
	const double trained = number(e, "rope.scaling.original_context_length", 0), pi = 3.14159265358979323846;
	/* YaRN: angles that turn 32 times and more in training stay, those that turn once or less are interpolated. */
	const double first = fmax(floor(head * log(trained / (64 * pi)) / (2 * log(base))), 0);
	const double last = fmin(ceil(head * log(trained / (2 * pi)) / (2 * log(base))), head - 1);
	const double ramp = fmin(fmax(((double)i - first) / fmax(last - first, 0.001), 0), 1);

	*scale = e->is_yarn ? 1 + 0.1 * log(factor) : 1;
	return e->is_yarn ? plain * (1 - ramp) + plain / factor * ramp : plain / factor;
}

/* cos, then sin of the angles of each position. */
static void write_rotation(struct engine *e, int is_near)
{
	const size_t half = e->head / 2, context = e->options.context;
	struct tcbrt_gguf_tensor factors;
	const int has_factors = find(e, "rope_freqs.weight", NO_LAYER, &factors);
	float *rows = grow(NULL, context * e->head, sizeof(*rows));
	double scale;

	if (has_factors && (strcmp(factors.format, "f32") != 0 || factors.dims[0] != half))
		die("rope_freqs.weight is not a factor in f32 for each angle");
	for (size_t i = 0; i < half; i++) {
		const double step = frequency(e, i, is_near, &scale);
		const double factor = has_factors ? (double)((const float *)factors.data)[i] : 1;

		for (size_t position = 0; position < context; position++) {
			rows[position * e->head + i] = (float)(scale * cos((double)position * step / factor));
			rows[position * e->head + half + i] = (float)(scale * sin((double)position * step / factor));
		}
	}
	e->at[is_near ? NEAR : FAR] = device_alloc(&e->device, context * e->head * sizeof(*rows));
	device_write(&e->device, e->at[is_near ? NEAR : FAR], rows, context * e->head * sizeof(*rows));
	free(rows);
}

static void make_buffers(struct engine *e)
{
	const size_t m = e->options.batch, q = e->heads * e->head, kv = e->kv_heads * e->head, hidden = e->hidden;
	const size_t logits = (e->options.all_logits ? m : 1) * e->vocabulary;
	const size_t floats[BUFFERS] = { hidden, hidden,           hidden, q + 2 * kv,     q,       kv,      kv, q,
					 q,      e->used * e->ffn, e->ffn, e->experts + 1, e->used, e->used, 1 };

	for (size_t i = 0; i < LENGTH; i++)
		e->at[i] = device_alloc(&e->device, m * floats[i] * sizeof(float));
	e->at[LOGITS] = device_alloc(&e->device, logits * sizeof(float));
	e->at[LENGTH] = device_alloc(&e->device, sizeof(int32_t));
	/* f16; blocks of 32 values take 34 bytes */
	e->cache_bytes = (2 * e->options.context * kv / TCBRT_ALIGNMENT + 1) * TCBRT_ALIGNMENT;
	e->cache = device_alloc(&e->device, 2 * e->layers * e->cache_bytes);
	e->host_x = grow(NULL, m * hidden, sizeof(float));
	e->host_logits = grow(NULL, logits, sizeof(float));
	write_rotation(e, 0);
	e->at[NEAR] = e->at[FAR];
	if (e->ways & GEMMA)
		write_rotation(e, 1);
}

/* ---- the engine ---- */

struct engine *engine_open(const char *model, const struct options *options, size_t *vocabulary)
{
	struct engine *e = grow(NULL, 0, sizeof(*e));
	struct tcbrt_error err;
	char op[TEXT];

	e->options = *options;
	must(tcbrt_gguf_open(model, &e->file, &err), &err);
	read_sizes(e);
	device_open(&e->device, options->is_gpu, (unsigned)options->threads);
	if (options->db)
		must(tcbrt_open(options->db, &e->rt, &err), &err);
	else if (tcbrt_open(NULL, &e->rt, &err) != TCBRT_OK)
		must(tcbrt_open_empty(&e->rt, &err), &err);
	snprintf(op, sizeof(op), "%s_matvec", e->embeddings.format);
	const struct tcbrt_query rows = { .op = op, .m = 1, .n = e->vocabulary, .k = e->hidden, .layout = "native" };
	must(tcbrt_plan_create(e->rt, &rows, &e->embedding, &err), &err);
	make_buffers(e);
	program_for(e, 1); /* packs the weights */
	*vocabulary = e->vocabulary;
	return e;
}

float *engine_run(struct engine *e, const int32_t *tokens, size_t count)
{
	struct program *program = program_for(e, count);
	const size_t rows = e->options.all_logits ? count : 1;
	const int32_t length = (int32_t)(e->past += count);

	if (e->past > e->options.context)
		die("the cache is full: --context %zu is too small", e->options.context);
	for (size_t i = 0; i < count; i++)
		if (tcbrt_read_row(e->embedding, (size_t)tokens[i], e->embeddings.data, e->host_x + i * e->hidden))
			die("token %d is not in the vocabulary of %zu", (int)tokens[i], e->vocabulary);
	for (size_t i = 0; e->ways & GEMMA && i < count * e->hidden; i++)
		e->host_x[i] *= sqrtf((float)e->hidden);
	device_write(&e->device, e->at[X], e->host_x, count * e->hidden * sizeof(float));
	device_write(&e->device, e->at[LENGTH], &length, sizeof(length));
	device_wait(&e->device);
	for (size_t i = 0; i < program->count; i++) {
		const struct step *step = &program->steps[i];
		const double from = now();

		if (step->own)
			step->own(e, step->operand);
		else
			device_run(&e->device, step->chain, step->workspace);
		if (e->options.times)
			device_wait(&e->device);
		e->seconds[count > 1][step->kind] += now() - from;
	}
	device_read(&e->device, e->host_logits, e->at[LOGITS], rows * e->vocabulary * sizeof(float));
	return e->host_logits;
}

/* To standard error: the share of each kind of op. */
static void print_times(const struct engine *e, const char *what, const double seconds[KINDS])
{
	double all = 0;

	for (size_t i = 0; i < KINDS; i++)
		all += seconds[i];
	for (size_t i = 0; i < KINDS && e->options.times; i++)
		if (seconds[i] > 0)
			fprintf(stderr, "%-10s %-10s %5.1f %%\n", what, kind_names[i], 100 * seconds[i] / all);
}

void engine_close(struct engine *e)
{
	print_times(e, "prompt", e->seconds[1]);
	print_times(e, "generation", e->seconds[0]);
	for (size_t p = 0; p < e->program_count; free(e->programs[p++].steps))
		for (size_t i = 0; i < e->programs[p].count; i++)
			tcbrt_chain_destroy(e->programs[p].steps[i].chain);
	for (size_t i = 0; i < e->plan_count; i++) {
		tcbrt_gpu_unload(e->plans[i].gpu);
		tcbrt_plan_destroy(e->plans[i].plan);
	}
	tcbrt_plan_destroy(e->embedding);
	tcbrt_pool_destroy(e->device.pool);
	tcbrt_close(e->rt);
	tcbrt_gguf_close(e->file);
	free(e->programs);
	free(e->plans);
	free(e->packed);
	free(e->host_x);
	free(e->host_logits);
	free(e);
}
