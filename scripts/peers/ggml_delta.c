/* SPDX-License-Identifier: MIT
 *
 * Times ggml's own gated delta net on a CPU, for delta-beside-ggml.py.
 *
 *     ggml_delta M N HEADS KEY_HEADS SEQUENCES THREADS SECONDS
 *
 * M new tokens of each sequence, heads of N keys and N values (ggml has no others), states in f32.  Copies of the
 * states, together 600 MB and more, are used in turn (cold), then one of them again and again (hot); results share one
 * memory. Queries and keys are normed in the same graph (ggml_l2_norm), as models have it and tcbtune's op does itself
 * ("delta"), and left as they are ("delta_alone").  A line for each way: way, median cold and median hot microseconds.
 */
#include "ggml_peer.h"

enum { NODES = 16 };

struct shape {
	int64_t m, n, heads, keys, sequences;
};

static void run(const struct shape *s, int is_normed, ggml_backend_t cpu, double seconds)
{
	const size_t bytes = sizeof(float) * (size_t)(s->n * s->n * s->heads * s->sequences);
	struct graphs g = graphs_of(cpu, bytes);
	struct ggml_tensor *states[COPIES_MAX];
	struct ggml_init_params init = {
		(ggml_tensor_overhead() + ggml_graph_overhead_custom(NODES, 0)) * NODES * g.count + (1 << 20), NULL,
		true
	};
	struct ggml_context *data = ggml_init(init), *rest = ggml_init(init);
	struct ggml_tensor *q = ggml_new_tensor_4d(data, GGML_TYPE_F32, s->n, s->keys, s->m, s->sequences);
	struct ggml_tensor *k = ggml_new_tensor_4d(data, GGML_TYPE_F32, s->n, s->keys, s->m, s->sequences);
	struct ggml_tensor *v = ggml_new_tensor_4d(data, GGML_TYPE_F32, s->n, s->heads, s->m, s->sequences);
	struct ggml_tensor *decay = ggml_new_tensor_4d(data, GGML_TYPE_F32, 1, s->heads, s->m, s->sequences);
	struct ggml_tensor *beta = ggml_new_tensor_4d(data, GGML_TYPE_F32, 1, s->heads, s->m, s->sequences);
	for (size_t i = 0; i < g.count; i++)
		states[i] = ggml_new_tensor_4d(data, GGML_TYPE_F32, s->n, s->n, s->heads, s->sequences);
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(data, cpu);
	ggml_gallocr_t work = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
	if (!buffer || !work) {
		fprintf(stderr, "ggml_delta: out of memory\n");
		exit(1);
	}
	struct ggml_tensor *inputs[] = { q, k, v, decay, beta };
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		fill(&inputs[i], 1);
	/* All decays below 1. */
	float *numbers = memory(ggml_nbytes(decay));
	for (int64_t i = 0; i < ggml_nelements(decay); i++)
		numbers[i] = -(float)rand() / (float)RAND_MAX;
	ggml_backend_tensor_set(decay, numbers, 0, ggml_nbytes(decay));
	free(numbers);
	fill(states, g.count);
	for (size_t i = 0; i < g.count; i++) {
		struct ggml_tensor *query = is_normed ? ggml_l2_norm(rest, q, 1e-6f) : q;
		struct ggml_tensor *key = is_normed ? ggml_l2_norm(rest, k, 1e-6f) : k;
		g.graph[i] = ggml_new_graph_custom(rest, NODES, false);
		ggml_build_forward_expand(g.graph[i],
					  ggml_gated_delta_net(rest, query, key, v, decay, beta, states[i], 1));
	}
	/* The graphs take turns in one memory for what is between. */
	for (size_t i = 0; i < g.count; i++)
		if (!ggml_gallocr_alloc_graph(work, g.graph[i]))
			exit(1);
	print_times(is_normed ? "delta" : "delta_alone", &g, seconds);
	ggml_gallocr_free(work);
	ggml_backend_buffer_free(buffer);
	ggml_free(data);
	ggml_free(rest);
}

int main(int argc, char **argv)
{
	if (argc != 8) {
		fprintf(stderr, "usage: ggml_delta M N HEADS KEY_HEADS SEQUENCES THREADS SECONDS\n");
		return 2;
	}
	const struct shape s = { atoll(argv[1]), atoll(argv[2]), atoll(argv[3]), atoll(argv[4]), atoll(argv[5]) };
	ggml_backend_t cpu = ggml_backend_cpu_init();
	ggml_backend_cpu_set_n_threads(cpu, atoi(argv[6]));
	run(&s, 1, cpu, atof(argv[7]));
	run(&s, 0, cpu, atof(argv[7]));
	ggml_backend_free(cpu);
	return 0;
}
