/* SPDX-License-Identifier: MIT
 *
 * A ggml of our own, as far as the plug-in calls it, of one generation of the
 * interface: what fake_ggml.c exports from the program.
 */
#ifndef TCB_TESTS_FAKE_GGML_H
#define TCB_TESTS_FAKE_GGML_H

#include "integrations/ggml/host.h"
#include "integrations/ggml/interface.h"

enum { FAKE_NODES_MAX = 8, FAKE_HEAD_MAX = 256 };

struct ggml_cgraph {
	int count;
	struct ggml_tensor *node[FAKE_NODES_MAX];
};

/* As its ops are numbered. */
enum fake_op {
	FAKE_NONE,
	FAKE_ADD,
	FAKE_RESHAPE,
	FAKE_VIEW,
	FAKE_PERMUTE,
	FAKE_TRANSPOSE,
	FAKE_GET_ROWS,
	FAKE_MUL_MAT,
	FAKE_MUL_MAT_ID,
	FAKE_FLASH_ATTN_EXT,
	FAKE_OPS
};

/* What is wrong with it. */
enum fake_fault {
	FAKE_FINE,
	FAKE_LAYS_OUT_OTHERWISE, /* its buffer types have their device where no generation has it */
	FAKE_COPIES_LESS,        /* its buffers have a function less than its version says */
	FAKE_SETS_ELSEWHERE,     /* tensors, a byte off */
	FAKE_CRASHES,            /* as it computes */
	FAKE_SCALES_OTHERWISE    /* its attention has its parameters in another order */
};
extern enum fake_fault fake_fault;

/* Flags of the nodes that a graph is made for. */
extern int fake_node_flags;

/* What a product of its own CPU backend takes for each token, in ns; negative: it has no such backend. */
extern long fake_cpu_token_ns;

/* The parameters of attention, as a node has them: scores are multiplied, heads have biases, up to which scores go. */
struct fake_scores {
	float scale, bias, cap;
};
/* Y becomes the node. */
void fake_attend(struct ggml_tensor *y, struct ggml_tensor *q, struct ggml_tensor *k, struct ggml_tensor *v,
		 struct ggml_tensor *mask, const struct fake_scores *scores);
/* As the CPU backend does: any mask, no biases. */
void fake_compute_attention(const struct ggml_tensor *y);

/* Functions of host.h's list, under the names that they have there. */
#define FAKE_DECLARE(member, result, parameters, name) \
	__attribute__((visibility("default"))) result fake_##member parameters __asm__(name);
GGML_HOST_FUNCTIONS(FAKE_DECLARE)
#undef FAKE_DECLARE

#endif
