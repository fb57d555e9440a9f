/* SPDX-License-Identifier: MIT
 *
 * Times ggml's own attention on a CPU, for attention-beside-ggml.py.
 *
 *     ggml_attention TYPE M N K QUERY_HEADS KV_HEADS CAUSAL THREADS SECONDS
 *
 * M query tokens of f32, the last of N KV tokens in ggml's type TYPE ("f16", "bf16", "q8_0", "q4_0"), heads of K
 * values; K and V as llama.cpp keeps them: rows of all KV heads of a token.  Copies of K and V, together 600 MB and
 * more, are used in turn (cold), then one of them again and again (hot).  Prints a line for each way: "flash" is
 * ggml_flash_attn_ext, "plain" the products with ggml_soft_max_ext between them (V transposed, which types in blocks do
 * not allow): way, median cold and median hot microseconds.
 */
#include <math.h>

#include "ggml_peer.h"

enum { NODES = 16 };

struct shape {
	enum ggml_type type;
	int64_t m, n, k, query, kv;
	int causal;
};

static struct ggml_tensor *attention(struct ggml_context *ctx, const struct shape *s, int is_flash,
				     struct ggml_tensor *q, struct ggml_tensor *k, struct ggml_tensor *v,
				     struct ggml_tensor *mask)
{
	const float scale = 1 / sqrtf((float)s->k);
	if (is_flash)
		return ggml_flash_attn_ext(ctx, q, k, v, mask, scale, 0, 0);
	struct ggml_tensor *scores = ggml_mul_mat(ctx, k, q);
	scores = ggml_soft_max_ext(ctx, scores, mask, scale, 0);
	return ggml_cont(ctx, ggml_permute(ctx, ggml_mul_mat(ctx, v, scores), 0, 2, 1, 3));
}

static void fill_mask(const struct shape *s, struct ggml_tensor *mask)
{
	ggml_fp16_t *values = memory(ggml_nbytes(mask));
	const ggml_fp16_t sees = ggml_fp32_to_fp16(0), sees_not = ggml_fp32_to_fp16(-INFINITY);
	for (int64_t i = 0; i < s->m; i++)
		for (int64_t t = 0; t < s->n; t++)
			values[i * s->n + t] = t <= s->n - s->m + i ? sees : sees_not;
	ggml_backend_tensor_set(mask, values, 0, ggml_nbytes(mask));
	free(values);
}

static void run(const struct shape *s, int is_flash, ggml_backend_t cpu, double seconds)
{
	const size_t bytes = 2 * ggml_row_size(s->type, s->k * s->kv) * (size_t)s->n;
	struct graphs g = graphs_of(cpu, bytes);
	struct ggml_tensor *k[COPIES_MAX], *v[COPIES_MAX];
	struct ggml_init_params init = {
		(ggml_tensor_overhead() + ggml_graph_overhead_custom(NODES, 0)) * NODES * g.count + (1 << 20), NULL,
		true
	};
	struct ggml_context *data = ggml_init(init), *rest = ggml_init(init);
	struct ggml_tensor *q = ggml_new_tensor_3d(data, GGML_TYPE_F32, s->k, s->query, s->m);
	struct ggml_tensor *mask = s->causal ? ggml_new_tensor_2d(data, GGML_TYPE_F16, s->n, s->m) : NULL;
	for (size_t i = 0; i < g.count; i++) {
		k[i] = ggml_new_tensor_3d(data, s->type, s->k, s->kv, s->n);
		v[i] = is_flash ? ggml_new_tensor_3d(data, s->type, s->k, s->kv, s->n)
				: ggml_new_tensor_3d(data, s->type, s->n, s->k, s->kv);
	}
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(data, cpu);
	ggml_gallocr_t work = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
	if (!buffer || !work) {
		fprintf(stderr, "ggml_attention: out of memory\n");
		exit(1);
	}
	fill(&q, 1);
	fill(k, g.count);
	fill(v, g.count);
	if (mask)
		fill_mask(s, mask);
	for (size_t i = 0; i < g.count; i++) {
		g.graph[i] = ggml_new_graph_custom(rest, NODES, false);
		struct ggml_tensor *rows = ggml_permute(rest, k[i], 0, 2, 1, 3);
		struct ggml_tensor *values = is_flash ? ggml_permute(rest, v[i], 0, 2, 1, 3) : v[i];
		ggml_build_forward_expand(g.graph[i], attention(rest, s, is_flash, ggml_permute(rest, q, 0, 2, 1, 3),
								rows, values, mask));
	}
	/* The graphs take turns in one memory for what is between. */
	for (size_t i = 0; i < g.count; i++)
		if (!ggml_gallocr_alloc_graph(work, g.graph[i]))
			exit(1);
	print_times(is_flash ? "flash" : "plain", &g, seconds);
	ggml_gallocr_free(work);
	ggml_backend_buffer_free(buffer);
	ggml_free(data);
	ggml_free(rest);
}

int main(int argc, char **argv)
{
	struct shape s = { GGML_TYPE_F16, 0, 0, 0, 0, 0, 0 };
	if (argc != 10) {
		fprintf(stderr, "usage: ggml_attention TYPE M N K QUERY_HEADS KV_HEADS CAUSAL THREADS SECONDS\n");
		return 2;
	}
	if (strcmp(argv[1], "q8_0") == 0)
		s.type = GGML_TYPE_Q8_0;
	else if (strcmp(argv[1], "q4_0") == 0)
		s.type = GGML_TYPE_Q4_0;
	else if (strcmp(argv[1], "bf16") == 0)
		s.type = GGML_TYPE_BF16;
	s.m = atoll(argv[2]), s.n = atoll(argv[3]), s.k = atoll(argv[4]);
	s.query = atoll(argv[5]), s.kv = atoll(argv[6]), s.causal = atoi(argv[7]);
	ggml_backend_t cpu = ggml_backend_cpu_init();
	ggml_backend_cpu_set_n_threads(cpu, atoi(argv[8]));
	run(&s, 1, cpu, atof(argv[9]));
	if (!ggml_is_quantized(s.type))
		run(&s, 0, cpu, atof(argv[9]));
	ggml_backend_free(cpu);
	return 0;
}
