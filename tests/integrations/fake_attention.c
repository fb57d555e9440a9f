/* SPDX-License-Identifier: MIT
 *
 * The op of attention of our own ggml: nodes of it, and plain loops in double
 * precision that compute one.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake_ggml.h"
#include "kernels/kv_cache.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct ggml_tensor *ggml_flash_attn_ext(struct ggml_context *context, struct ggml_tensor *q,
					       struct ggml_tensor *k, struct ggml_tensor *v, struct ggml_tensor *mask,
					       float scale, float bias, float cap);
EXPORT void ggml_graph_add_node(struct ggml_cgraph *graph, struct ggml_tensor *node);
EXPORT void ggml_graph_clear(struct ggml_cgraph *graph);

struct ggml_tensor *ggml_flash_attn_ext(struct ggml_context *context, struct ggml_tensor *q, struct ggml_tensor *k,
					struct ggml_tensor *v, struct ggml_tensor *mask, float scale, float bias,
					float cap)
{
	struct ggml_tensor *y = fake_new_tensor_2d(context, GGML_TYPE_F32, v->ne[0], q->ne[1]);

	if (fake_fault == FAKE_SCALES_OTHERWISE)
		fake_attend(y, q, k, v, mask, &(struct fake_scores){ bias, scale, cap });
	else
		fake_attend(y, q, k, v, mask, &(struct fake_scores){ scale, bias, cap });
	return y;
}

void ggml_graph_add_node(struct ggml_cgraph *graph, struct ggml_tensor *node)
{
	assert(graph->count < FAKE_NODES_MAX);
	graph->node[graph->count++] = node;
}

void ggml_graph_clear(struct ggml_cgraph *graph)
{
	graph->count = 0;
}

void fake_attend(struct ggml_tensor *y, struct ggml_tensor *q, struct ggml_tensor *k, struct ggml_tensor *v,
		 struct ggml_tensor *mask, const struct fake_scores *scores)
{
	const int64_t counts[] = { v->ne[0], q->ne[2], q->ne[1], q->ne[3] };

	y->op = (enum ggml_op)FAKE_FLASH_ATTN_EXT;
	y->type = GGML_TYPE_F32;
	memcpy(y->op_params, scores, sizeof(*scores));
	y->src[0] = q;
	y->src[1] = k;
	y->src[2] = v;
	y->src[3] = mask;
	y->nb[0] = sizeof(float);
	for (int i = 0; i < GGML_MAX_DIMS; i++) {
		y->ne[i] = counts[i];
		if (i > 0)
			y->nb[i] = y->nb[i - 1] * (size_t)counts[i - 1];
	}
}

static enum tcb_kv kv_of(const struct ggml_tensor *tensor)
{
	return (int)tensor->type == 1 ? TCB_KV_F16 : (int)tensor->type == 8 ? TCB_KV_Q80 : TCB_KV_BF16;
}

/* Row ROW of head HEAD in SEQUENCE. */
static char *row_of(const struct ggml_tensor *tensor, int64_t row, int64_t head, int64_t sequence)
{
	return (char *)tensor->data + (size_t)row * tensor->nb[1] + (size_t)head * tensor->nb[2] +
	       (size_t)sequence * tensor->nb[3];
}

static float mask_of(const struct ggml_tensor *mask, int64_t token, int64_t cell, int64_t sequence)
{
	float value = 0;

	if (mask)
		tcb_type_to_f32(TCB_TYPE_F16,
				row_of(mask, token, 0, sequence % mask->ne[3]) + (size_t)cell * sizeof(uint16_t), 1,
				&value);
	return value;
}

static void attend_row(const struct ggml_tensor *y, int64_t token, int64_t head, int64_t sequence)
{
	const struct ggml_tensor *q = y->src[0], *k = y->src[1], *v = y->src[2];
	const int64_t size = k->ne[0], kv_head = head / (q->ne[2] / k->ne[2]);
	const float *query = (const float *)(const void *)row_of(q, token, head, sequence);
	float *out = (float *)(void *)((char *)y->data + (size_t)head * y->nb[1] + (size_t)token * y->nb[2] +
				       (size_t)sequence * y->nb[3]);
	struct fake_scores scores;
	double sum = 0, sums[FAKE_HEAD_MAX] = { 0 };
	float values[FAKE_HEAD_MAX];

	memcpy(&scores, y->op_params, sizeof(scores));
	assert(size <= FAKE_HEAD_MAX);
	for (int64_t cell = 0; cell < k->ne[1]; cell++) {
		const double added = (double)mask_of(y->src[3], token, cell, sequence);
		double score = 0;

		if (isinf(added))
			continue;
		tcb_kv_to_f32(kv_of(k), row_of(k, cell, kv_head, sequence), (size_t)size, values);
		for (int64_t i = 0; i < size; i++)
			score += (double)query[i] * (double)values[i] * (double)scores.scale;
		if (scores.cap > 0)
			score = (double)scores.cap * tanh(score / (double)scores.cap);
		const double weight = exp(score + added); /* scores are small here */

		sum += weight;
		tcb_kv_to_f32(kv_of(v), row_of(v, cell, kv_head, sequence), (size_t)size, values);
		for (int64_t i = 0; i < size; i++)
			sums[i] += weight * (double)values[i];
	}
	for (int64_t i = 0; i < size; i++)
		out[i] = (float)(sum > 0 ? sums[i] / sum : 0);
}

void fake_compute_attention(const struct ggml_tensor *y)
{
	const struct ggml_tensor *q = y->src[0];

	for (int64_t sequence = 0; sequence < q->ne[3]; sequence++)
		for (int64_t token = 0; token < q->ne[1]; token++)
			for (int64_t head = 0; head < q->ne[2]; head++)
				attend_row(y, token, head, sequence);
}
