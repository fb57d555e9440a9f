/* SPDX-License-Identifier: MIT
 *
 * A model file becomes programs: lists of calls of libtcbrt, one list for each number of tokens that are computed at
 * once.  A program is written once and run as often as needed, since what changes, lengths and positions, is data.
 * Read add_attention and add_ffn first: they are the model.  Above them is how a problem becomes a plan and a tensor
 * the weights of it, below them memory and running.
 */
#include "engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tcbrt_gguf.h>

enum { TEXT = 192, KINDS = 16 };
enum { FEW = 8, DECODED = 32 }; /* tokens that a MatVec and attention_decode take */

/* What families of models do in ways of their own. */
enum { PAIRS = 1 /* rotates neighbours, not values half a head apart */ };
static const struct {
	const char *name;
	size_t ways;
} families[] = { { "llama", PAIRS } };

struct planned {
	char key[TEXT];
	struct tcbrt_plan *plan;
	struct tcbrt_gpu *gpu;
};

struct packed {
	const void *stored;
	char layout[TCBRT_LAYOUT_MAX];
	address at;
};

struct program {
	size_t tokens, count;
	struct call *calls;
};

struct engine {
	struct tcbrt_gguf *file;
	struct options options;
	char family[TEXT];
	size_t ways, layers, hidden, heads, kv_heads, head, ffn, vocabulary, past;
	struct tcbrt *rt;
	struct device device;
	struct planned *plans;
	struct packed *packed;
	struct program *programs;
	size_t plan_count, packed_count, program_count;
	address x, x2, h, q, k, v, qkv, rotated, attended, gate, up, logits, lengths, rotation, *k_cache, *v_cache;
	address workspace;
	size_t workspace_bytes, workspace_has;
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

static int find(const struct engine *e, const char *form, size_t layer, struct tcbrt_gguf_tensor *out)
{
	char name[TEXT];

	snprintf(name, sizeof(name), form, layer);
	return tcbrt_gguf_find(e->file, name, out, NULL) == TCBRT_OK;
}

static struct tcbrt_gguf_tensor need(const struct engine *e, const char *form, size_t layer, size_t k, size_t n)
{
	struct tcbrt_gguf_tensor tensor;
	struct tcbrt_error err;
	char name[TEXT];

	snprintf(name, sizeof(name), form, layer);
	must(tcbrt_gguf_find(e->file, name, &tensor, &err), &err);
	if (!*tensor.format || tensor.dims[0] != k || tensor.dims[1] != n)
		die("tensor %s is %zu x %zu of type %u; %zu x %zu of a type with ops are wanted", name, tensor.dims[1],
		    tensor.dims[0], tensor.type, n, k);
	return tensor;
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

	tcbrt_gguf_text(e->file, "general.architecture", 0, &text, &length);
	snprintf(e->family, sizeof(e->family), "%.*s", (int)(length < TEXT ? length : TEXT), text);
	while (family < count && strcmp(families[family].name, e->family) != 0)
		family++;
	if (family == count)
		die("a model of architecture '%s' is not one that this engine knows", e->family);
	e->ways = families[family].ways;
	e->layers = size(e, "block_count", 0);
	e->hidden = size(e, "embedding_length", 0);
	e->heads = size(e, "attention.head_count", 0);
	e->kv_heads = size(e, "attention.head_count_kv", e->heads);
	e->head = size(e, "attention.key_length", e->hidden / e->heads);
	e->ffn = size(e, "feed_forward_length", 0);
	find(e, "token_embd.weight", 0, &e->embeddings);
	e->vocabulary = e->embeddings.dims[1];
	need(e, "token_embd.weight", 0, e->hidden, e->vocabulary);
}

/* ---- plans and weights ---- */

/* The plan of a problem, made when it is first asked for. */
static struct planned plan_of(struct engine *e, struct tcbrt_query query)
{
	struct tcbrt_plan_info info;
	struct tcbrt_error err;
	struct planned *planned;
	char key[TEXT];

	snprintf(key, sizeof(key), "%s %zux%zux%zu,%s %d", query.op, query.m, query.n, query.k,
		 query.words ? query.words : "", (int)query.contract);
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
	tcbrt_plan_info(planned->plan, &info);
	if (info.workspace_bytes > e->workspace_bytes)
		e->workspace_bytes = info.workspace_bytes;
	return *planned;
}

/* TENSOR as operand INDEX of PLAN reads it: packed once for all plans of a layout. */
static address weights_of(struct engine *e, const struct tcbrt_plan *plan, size_t index,
			  const struct tcbrt_gguf_tensor *tensor)
{
	struct tcbrt_plan_info info;
	struct tcbrt_operand operand;
	struct packed *packed;
	void *host;

	tcbrt_plan_info(plan, &info);
	tcbrt_plan_operand(plan, index, &operand);
	for (size_t i = 0; i < e->packed_count; i++)
		if (e->packed[i].stored == tensor->data && strcmp(e->packed[i].layout, info.layout) == 0)
			return e->packed[i].at;
	if (operand.bytes != tensor->bytes)
		die("tensor %.*s has %zu bytes, and %zu are wanted", (int)tensor->name_length, tensor->name,
		    tensor->bytes, operand.bytes);
	e->packed = grow(e->packed, e->packed_count, sizeof(*e->packed));
	packed = &e->packed[e->packed_count++];
	packed->stored = tensor->data;
	strcpy(packed->layout, info.layout);
	packed->at = device_alloc(&e->device, operand.packed_bytes ? operand.packed_bytes : operand.bytes);
	if (!operand.packed_bytes) {
		device_write(&e->device, packed->at, tensor->data, operand.bytes);
	} else if (e->device.pool) {
		tcbrt_pack_operand(plan, index, tensor->data, (void *)(uintptr_t)packed->at);
	} else {
		host = aligned_alloc(TCBRT_ALIGNMENT, (operand.packed_bytes / TCBRT_ALIGNMENT + 1) * TCBRT_ALIGNMENT);
		if (!host)
			die("out of memory");
		tcbrt_pack_operand(plan, index, tensor->data, host);
		device_write(&e->device, packed->at, host, operand.packed_bytes);
		free(host);
	}
	return packed->at;
}

/* ---- a program: what is computed of M tokens, call after call ---- */

struct writer {
	struct engine *e;
	struct program *program;
	size_t m;
};

#define ADDRESSES(...)                      \
	(const address[TCBRT_OPERANDS_MAX]) \
	{                                   \
		__VA_ARGS__                 \
	}

static struct call *add_call(struct writer *w, const char *what, const address operand[TCBRT_OPERANDS_MAX])
{
	struct program *p = w->program;
	struct call *call;

	p->calls = grow(p->calls, p->count, sizeof(*p->calls));
	call = &p->calls[p->count++];
	call->what = what;
	memcpy(call->operand, operand, sizeof(call->operand));
	return call;
}

static void add(struct writer *w, const char *what, struct tcbrt_query query, const address *operand)
{
	const struct planned planned = plan_of(w->e, query);
	struct call *call = add_call(w, what, operand);

	call->plan = planned.plan;
	call->gpu = planned.gpu;
}

/* y = W x of ROWS rows: by the op that reads the weights once for so many.  On a CPU one packing serves any number. */
static void add_product(struct writer *w, const char *what, const char *form, size_t layer, size_t rows, size_t n,
			size_t k, address x, address y)
{
	const struct tcbrt_gguf_tensor tensor = need(w->e, form, layer, k, n);
	const char *layout = w->e->device.pool ? TCBRT_LAYOUT_ANY_M : NULL;
	char op[TEXT];
	const struct tcbrt_query query = { .op = op, .m = rows, .n = n, .k = k, .layout = layout };

	snprintf(op, sizeof(op), "%s_%s", tensor.format, rows <= FEW ? "matvec" : "matmul");
	add(w, what, query, ADDRESSES(weights_of(w->e, plan_of(w->e, query).plan, 0, &tensor), x, y));
}

static void add_norm(struct writer *w, const char *form, size_t layer, size_t rows, size_t n, address x, address y)
{
	const struct tcbrt_gguf_tensor tensor = need(w->e, form, layer, n, 1);
	const struct tcbrt_query query = { .op = "rmsnorm", .m = rows, .n = n };

	add(w, "norms", query, ADDRESSES(x, weights_of(w->e, plan_of(w->e, query).plan, 1, &tensor), y));
}

/* f(x, b) of each element. */
static void add_elementwise(struct writer *w, const char *op, size_t n, address x, address b, address y)
{
	add(w, "elements", (struct tcbrt_query){ .op = op, .m = w->m, .n = n }, ADDRESSES(x, b, y));
}

/* x2 = x + attention(norm(x)) */
static void add_attention(struct writer *w, size_t l)
{
	struct engine *e = w->e;
	const size_t m = w->m, q = e->heads * e->head, kv = e->kv_heads * e->head, row = sizeof(float) * (q + 2 * kv);
	const address qkv[3] = { e->qkv, e->qkv + 4 * q, e->qkv + 4 * (q + kv) };
	char words[TEXT];
	struct tcbrt_query query = {
		.m = m, .n = e->options.context, .k = e->head, .contract = TCBRT_CONTRACT_F32, .words = words
	};

	add_norm(w, "blk.%zu.attn_norm.weight", l, m, e->hidden, e->x, e->h);
	/* One token's q, k and v are a row of qkv as they come. */
	add_product(w, "q, k, v", "blk.%zu.attn_q.weight", l, m, q, e->hidden, e->h, m == 1 ? qkv[0] : e->q);
	add_product(w, "q, k, v", "blk.%zu.attn_k.weight", l, m, kv, e->hidden, e->h, m == 1 ? qkv[1] : e->k);
	add_product(w, "q, k, v", "blk.%zu.attn_v.weight", l, m, kv, e->hidden, e->h, m == 1 ? qkv[2] : e->v);
	if (m > 1) {
		add_call(w, "copies", ADDRESSES(qkv[0], row, e->q, 4 * q, m))->own = device_copy_rows;
		add_call(w, "copies", ADDRESSES(qkv[1], row, e->k, 4 * kv, m))->own = device_copy_rows;
		add_call(w, "copies", ADDRESSES(qkv[2], row, e->v, 4 * kv, m))->own = device_copy_rows;
	}
	query.op = "rope_append_f16";
	snprintf(words, sizeof(words), "h%zu/%zu%s", e->heads, e->kv_heads, e->ways & PAIRS ? ",pairs" : "");
	add(w, "rotation", query, ADDRESSES(e->qkv, e->rotation, e->lengths, e->rotated, e->k_cache[l], e->v_cache[l]));
	add_call(w, "copies", ADDRESSES(e->q, e->rotated, m * q))->own = device_widen;
	query.op = m <= DECODED ? "attention_decode_f16" : "attention_prefill_f16";
	snprintf(words, sizeof(words), "h%zu/%zu%s", e->heads, e->kv_heads, m > 1 ? ",causal" : "");
	add(w, "attention", query, ADDRESSES(e->q, e->k_cache[l], e->v_cache[l], e->lengths, e->attended));
	add_product(w, "o", "blk.%zu.attn_output.weight", l, m, e->hidden, q, e->attended, e->h);
	add_elementwise(w, "elementwise_add_f32", e->hidden, e->x, e->h, e->x2);
}

/* x = x2 + feed_forward(norm(x2)) */
static void add_ffn(struct writer *w, size_t l)
{
	struct engine *e = w->e;
	const size_t m = w->m;

	add_norm(w, "blk.%zu.ffn_norm.weight", l, m, e->hidden, e->x2, e->h);
	add_product(w, "gate, up", "blk.%zu.ffn_gate.weight", l, m, e->ffn, e->hidden, e->h, e->gate);
	add_product(w, "gate, up", "blk.%zu.ffn_up.weight", l, m, e->ffn, e->hidden, e->h, e->up);
	add_elementwise(w, "elementwise_silu_mul_f32", e->ffn, e->gate, e->up, e->gate);
	add_product(w, "down", "blk.%zu.ffn_down.weight", l, m, e->hidden, e->ffn, e->gate, e->h);
	add_elementwise(w, "elementwise_add_f32", e->hidden, e->x2, e->h, e->x);
}

/* The program for M tokens, written when it is first asked for. */
static struct program *program_for(struct engine *e, size_t m)
{
	const size_t rows = e->options.all_logits ? m : 1;
	struct writer w = { .e = e, .m = m };
	struct tcbrt_gguf_tensor output;

	for (size_t i = 0; i < e->program_count; i++)
		if (e->programs[i].tokens == m)
			return &e->programs[i];
	e->programs = grow(e->programs, e->program_count, sizeof(*e->programs));
	w.program = &e->programs[e->program_count++];
	w.program->tokens = m;
	for (size_t l = 0; l < e->layers; l++) {
		add_attention(&w, l);
		add_ffn(&w, l);
	}
	add_norm(&w, "output_norm.weight", 0, rows, e->hidden, e->x + 4 * (m - rows) * e->hidden, e->h);
	add_product(&w, "output", find(e, "output.weight", 0, &output) ? "output.weight" : "token_embd.weight", 0, rows,
		    e->vocabulary, e->hidden, e->h, e->logits);
	return w.program;
}

/* ---- memory ---- */

/* cos, then sin of the angles of each position. */
static void write_rotation(struct engine *e)
{
	const size_t half = e->head / 2, context = e->options.context;
	const double base = number(e, "rope.freq_base", 10000), scale = number(e, "rope.scaling.factor", 1);
	struct tcbrt_gguf_tensor factors;
	const int has_factors = find(e, "rope_freqs.weight", 0, &factors);
	float *rows = malloc(context * e->head * sizeof(*rows));

	if (!rows || (has_factors && (strcmp(factors.format, "f32") != 0 || factors.dims[0] != half)))
		die(rows ? "rope_freqs.weight is not a factor in f32 for each angle" : "out of memory");
	for (size_t position = 0; position < context; position++)
		for (size_t i = 0; i < half; i++) {
			const double factor = has_factors ? (double)((const float *)factors.data)[i] : scale;
			const double angle = (double)position * pow(base, -2.0 * (double)i / (double)e->head) / factor;

			rows[position * e->head + i] = (float)cos(angle);
			rows[position * e->head + half + i] = (float)sin(angle);
		}
	device_write(&e->device, e->rotation, rows, context * e->head * sizeof(*rows));
	free(rows);
}

static address floats(const struct engine *e, size_t count)
{
	return device_alloc(&e->device, count * sizeof(float));
}

static void make_buffers(struct engine *e)
{
	const size_t m = e->options.batch, q = e->heads * e->head, kv = e->kv_heads * e->head;
	const size_t logits = (e->options.all_logits ? m : 1) * e->vocabulary;

	e->x = floats(e, m * e->hidden);
	e->x2 = floats(e, m * e->hidden);
	e->h = floats(e, m * e->hidden);
	e->q = floats(e, m * q);
	e->k = floats(e, m * kv);
	e->v = floats(e, m * kv);
	e->qkv = floats(e, m * (q + 2 * kv));
	e->rotated = floats(e, m * q);
	e->attended = floats(e, m * q);
	e->gate = floats(e, m * e->ffn);
	e->up = floats(e, m * e->ffn);
	e->logits = floats(e, logits);
	e->lengths = floats(e, 1);
	e->rotation = floats(e, e->options.context * e->head);
	for (size_t l = 0; l < e->layers; l++) {
		e->k_cache = grow(e->k_cache, l, sizeof(*e->k_cache));
		e->v_cache = grow(e->v_cache, l, sizeof(*e->v_cache));
		e->k_cache[l] = floats(e, (e->options.context * kv + 1) / 2); /* of f16 */
		e->v_cache[l] = floats(e, (e->options.context * kv + 1) / 2);
	}
	e->host_x = grow(NULL, m * e->hidden, sizeof(float));
	e->host_logits = grow(NULL, logits, sizeof(float));
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
	write_rotation(e);
	program_for(e, 1); /* packs the weights */
	*vocabulary = e->vocabulary;
	return e;
}

const float *engine_run(struct engine *e, const int32_t *tokens, size_t count)
{
	const struct program *program = program_for(e, count);
	const size_t rows = e->options.all_logits ? count : 1;
	const int32_t length = (int32_t)(e->past += count);

	if (e->past > e->options.context)
		die("the cache is full: --context %zu is too small", e->options.context);
	if (e->workspace_bytes > e->workspace_has) {
		e->workspace_has = e->workspace_bytes;
		e->workspace = device_alloc(&e->device, e->workspace_bytes); /* zeros, as all plans want it */
	}
	for (size_t i = 0; i < count; i++)
		if (tcbrt_read_row(e->embedding, (size_t)tokens[i], e->embeddings.data, e->host_x + i * e->hidden))
			die("token %d is not in the vocabulary of %zu", (int)tokens[i], e->vocabulary);
	device_write(&e->device, e->x, e->host_x, count * e->hidden * sizeof(float));
	device_write(&e->device, e->lengths, &length, sizeof(length));
	for (size_t i = 0; i < program->count; i++) {
		const double from = e->options.times ? now() : 0;

		device_execute(&e->device, &program->calls[i], e->workspace);
		if (e->options.times) {
			device_wait(&e->device);
			program->calls[i].seconds += now() - from;
		}
	}
	device_read(&e->device, e->host_logits, e->logits, rows * e->vocabulary * sizeof(float));
	return e->host_logits;
}

/* To standard error: the share of each kind of op, for one token at a time or for more. */
static void print_times(const struct engine *e, int of_many)
{
	struct call kinds[KINDS] = { { .what = NULL } };
	double all = 0;

	for (size_t p = 0; p < e->program_count; p++)
		for (size_t i = 0; i < e->programs[p].count && (e->programs[p].tokens > 1) == of_many; i++) {
			const struct call *call = &e->programs[p].calls[i];
			size_t kind = 0;

			while (kind + 1 < KINDS && kinds[kind].what && strcmp(kinds[kind].what, call->what) != 0)
				kind++;
			kinds[kind].what = call->what;
			kinds[kind].seconds += call->seconds;
			all += call->seconds;
		}
	for (size_t i = 0; i < KINDS && kinds[i].what && all > 0; i++)
		fprintf(stderr, "%-10s %-10s %5.1f %%\n", of_many ? "prompt" : "generation", kinds[i].what,
			100 * kinds[i].seconds / all);
}

void engine_close(struct engine *e)
{
	print_times(e, 1);
	print_times(e, 0);
	for (size_t i = 0; i < e->plan_count; i++) {
		tcbrt_gpu_unload(e->plans[i].gpu);
		tcbrt_plan_destroy(e->plans[i].plan);
	}
	tcbrt_plan_destroy(e->embedding);
	tcbrt_pool_destroy(e->device.pool);
	tcbrt_close(e->rt);
	tcbrt_gguf_close(e->file);
	free(e);
}
