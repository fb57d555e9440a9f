/* SPDX-License-Identifier: MIT
 *
 * Times ggml's own CPU product of quantised weights, for beside-ggml.py.
 *
 *     ggml_product TYPE N K M THREADS SECONDS
 *
 * Weights in ggml's type TYPE ("mxfp4"), N rows of K values, and M tokens of f32.  Copies of the weights, together
 * 600 MB and more, are used in turn (cold), then one of them again and again (hot).  Prints a line for each way in
 * which this ggml stores them (as they are, and repacked if it can): way, median cold and median hot microseconds.
 */
#include "ggml_peer.h"

static void run(const char *way, ggml_backend_t cpu, ggml_backend_buffer_type_t where, enum ggml_type type, int64_t n,
		int64_t k, int64_t m, double seconds)
{
	const size_t bytes = ggml_row_size(type, k) * (size_t)n;
	struct graphs g = graphs_of(cpu, bytes);
	struct ggml_init_params init = {
		(ggml_tensor_overhead() * 8 + ggml_graph_overhead_custom(8, 0)) * g.count + (1 << 20), NULL, true
	};
	struct ggml_context *weights = ggml_init(init), *rest = ggml_init(init);
	struct ggml_tensor *w[COPIES_MAX], *x = ggml_new_tensor_2d(rest, GGML_TYPE_F32, k, m);
	for (size_t i = 0; i < g.count; i++)
		w[i] = ggml_new_tensor_2d(weights, type, k, n);
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(weights, where);
	for (size_t i = 0; i < g.count; i++) {
		g.graph[i] = ggml_new_graph_custom(rest, 8, false);
		ggml_build_forward_expand(g.graph[i], ggml_mul_mat(rest, w[i], x));
	}
	if (buffer && where != ggml_backend_cpu_buffer_type() && !w[0]->extra) { /* it cannot repack this type here */
		ggml_backend_buffer_free(buffer);
		ggml_free(weights);
		ggml_free(rest);
		return;
	}
	ggml_backend_buffer_t others = ggml_backend_alloc_ctx_tensors(rest, cpu);
	if (!buffer || !others) {
		fprintf(stderr, "ggml_product: out of memory\n");
		exit(1);
	}
	fill(w, g.count);
	fill(&x, 1);
	print_times(way, &g, seconds);
	ggml_backend_buffer_free(buffer);
	ggml_backend_buffer_free(others);
	ggml_free(weights);
	ggml_free(rest);
}

int main(int argc, char **argv)
{
	if (argc != 7) {
		fprintf(stderr, "usage: ggml_product TYPE N K M THREADS SECONDS\n");
		return 2;
	}
	const enum ggml_type type = type_named(argv[1]);
	const int64_t n = atoll(argv[2]), k = atoll(argv[3]), m = atoll(argv[4]);
	const double seconds = atof(argv[6]);
	ggml_backend_t cpu = ggml_backend_cpu_init();
	ggml_backend_cpu_set_n_threads(cpu, atoi(argv[5]));
	run("plain", cpu, ggml_backend_cpu_buffer_type(), type, n, k, m, seconds);
	for (ggml_backend_buffer_type_t *where = repacking_types(cpu); where && *where; where++)
		run(ggml_backend_buft_name(*where), cpu, *where, type, n, k, m, seconds);
	ggml_backend_free(cpu);
	return 0;
}
