/* SPDX-License-Identifier: MIT
 *
 * Attention of one head as the host's own functions make it, by a mask that is
 * intervals and by one that is not, against plain loops.  Parameters and sources that
 * are elsewhere in a newer op are found so.
 */
#include "attention_test.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "host.h"
#include "host_attention.h"

enum { HEAD = 32, TOKENS = 64, CELLS = 96, VALUES = 4 };
enum { TYPE_F32 = 0, TYPE_F16 = 1 }; /* as numbered in GGUF files */
enum { SEEN = 0, HIDDEN = 0xFC00 };

static const float value[VALUES] = { 0, 1, -2, 0.5f };
static const uint16_t half[VALUES] = { 0x0000, 0x3C00, 0xC000, 0x3800 };

static int q_at(int token, int i)
{
	return (token + 3 * i) % VALUES;
}

static int k_at(int cell, int i)
{
	return (cell * cell + i) % VALUES;
}

static int v_at(int cell, int i)
{
	return (7 * cell + i * i + cell / 5) % VALUES;
}

typedef int sees_fn(int token, int cell);

static int sees_before(int token, int cell)
{
	return cell <= token + 20;
}

static int sees_some(int token, int cell)
{
	return (cell + token) % 3 > 0;
}

struct data {
	float q[TOKENS][HEAD], expected[TOKENS][HEAD];
	uint16_t k[CELLS][HEAD], v[CELLS][HEAD], mask[TOKENS][CELLS];
};

static void expect(struct data *data, sees_fn *sees, int token)
{
	double sum = 0, out[HEAD] = { 0 };

	for (int cell = 0; cell < CELLS; cell++) {
		double score = 0;

		data->mask[token][cell] = sees(token, cell) ? SEEN : HIDDEN;
		if (!sees(token, cell))
			continue;
		for (int i = 0; i < HEAD; i++)
			score += (double)value[q_at(token, i)] * (double)value[k_at(cell, i)];
		const double weight = exp(score / sqrt(HEAD)); /* scores are small here */

		sum += weight;
		for (int i = 0; i < HEAD; i++)
			out[i] += weight * (double)value[v_at(cell, i)];
	}
	for (int i = 0; i < HEAD; i++)
		data->expected[token][i] = (float)(out[i] / sum);
}

static void fill(struct data *data, sees_fn *sees)
{
	for (int cell = 0; cell < CELLS; cell++)
		for (int i = 0; i < HEAD; i++) {
			data->k[cell][i] = half[k_at(cell, i)];
			data->v[cell][i] = half[v_at(cell, i)];
		}
	for (int token = 0; token < TOKENS; token++) {
		for (int i = 0; i < HEAD; i++)
			data->q[token][i] = value[q_at(token, i)];
		expect(data, sees, token);
	}
}

/* The host's sums of values may be in binary16. */
static int is_near(const float *out, const struct data *data)
{
	for (int token = 0; token < TOKENS; token++)
		for (int i = 0; i < HEAD; i++)
			if (!(fabsf(out[token * HEAD + i] - data->expected[token][i]) < 0.02f))
				return 0;
	return 1;
}

static int is_right(struct ggml_backend_device *device, struct ggml_backend *backend, sees_fn *sees)
{
	static struct data data;
	struct ggml_context *own = ggml_host_new_context();
	struct ggml_tensor *q = ggml_host.new_tensor_2d(own, TYPE_F32, HEAD, TOKENS);
	struct ggml_tensor *k = ggml_host.new_tensor_2d(own, TYPE_F16, HEAD, CELLS);
	struct ggml_tensor *v = ggml_host.new_tensor_2d(own, TYPE_F16, HEAD, CELLS);
	struct ggml_tensor *mask = ggml_host.new_tensor_2d(own, TYPE_F16, CELLS, TOKENS);
	struct ggml_tensor *y = ggml_host.flash_attn_ext(own, q, k, v, mask, 1 / sqrtf(HEAD), 0, 0);
	struct ggml_cgraph *graph = ggml_host.new_graph(own);
	struct ggml_backend_buffer *buffer = ggml_host.alloc_ctx_tensors(own, ggml_host.cpu_buffer_type());
	int is_fine;

	if (!buffer)
		return 0;
	fill(&data, sees);
	ggml_host.build_forward_expand(graph, y);
	ggml_host.tensor_set(q, data.q, 0, sizeof(data.q));
	ggml_host.tensor_set(k, data.k, 0, sizeof(data.k));
	ggml_host.tensor_set(v, data.v, 0, sizeof(data.v));
	ggml_host.tensor_set(mask, data.mask, 0, sizeof(data.mask));
	is_fine = ggml_host.dev_supports_op(device, y) && ggml_host.graph_compute(backend, graph) == 0 &&
		  is_near(ggml_host.get_data(y), &data);
	ggml_host.buffer_free(buffer);
	ggml_host.free(own);
	return is_fine;
}

int attention_test(struct ggml_backend_reg *reg)
{
	struct ggml_backend_device *device = ggml_host.reg_dev_get(reg, 0);
	struct ggml_backend *backend = ggml_host.dev_init(device, NULL);
	int is_fine;

	attention_enable();
	is_fine = backend && is_right(device, backend, sees_before) && is_right(device, backend, sees_some);
	if (backend)
		ggml_host.backend_free(backend);
	return is_fine;
}
