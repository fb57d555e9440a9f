/* SPDX-License-Identifier: MIT
 *
 * In, a line each: ID, op, contract, M, N, K, geometry, capability, multiprocessors, bytes of shared memory of a
 * block, with tabs between.  Out: ID and a hash of all that the GPU kernel of it is (PTX, launches, what becomes of
 * weights), or "-" where there is none.  scripts/prove-same-kernels.sh compiles it with the sources of earlier
 * commits, too, and compares: it asks for nothing that changed since GPU results are stored.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernels/op.h"
#if __has_include("ptx/text/text.h")
#include "ptx/text/text.h"
#else
#include "ptx/text.h"
#endif

#if __has_include("kernels/gpu/ptx_code.h")
#include "kernels/gpu/ptx_code.h"
#define MODULE(kernel) tcb_kernel_ptx(kernel)->module
#define OWN(kernel, i) (&tcb_kernel_ptx(kernel)->launch[i])
#define TCB_ARGUMENT_TENSOR TCB_ARGUMENT_OWN
#else
#define MODULE(kernel) (kernel)->module
#define OWN(kernel, i) (&(kernel)->launch[i])
#endif

enum { FIELDS = 10, ROWS_MOST = 128, VALUES_MOST = 2048 };

#ifdef WITHOUT_TENSORS /* a commit that had none */
#define TCB_ARGUMENT_TENSOR TCB_ARGUMENT_U32 + 1
#define add_tensor(tensor, out)
#else
static void add_tensor(const struct tcb_tensor *tensor, struct tcb_str *out)
{
	const struct tcb_ptx_tensor_map *map = &tensor->map;
	tcb_str_addf(out, " %zu %d %u %d", tensor->operand, (int)map->type, map->swizzle, map->fill_nan);
	for (unsigned d = 0; d < map->rank; d++)
		tcb_str_addf(out, " %llu %llu %u %u", (unsigned long long)map->size[d],
			     d ? (unsigned long long)map->stride[d] : 0, map->box[d], map->element_stride[d]);
}
#endif

static void add_launch(const struct tcb_kernel *kernel, size_t at, struct tcb_str *out)
{
	const struct tcb_launch *launch = &kernel->launch[at];
	tcb_str_addf(out, "%s %u %u %d %zu", launch->entry, launch->shared_bytes, launch->grid[0],
		     OWN(kernel, at)->is_dependent, launch->argument_count);
	for (int i = 0; i < 3; i++)
		tcb_str_addf(out, " %u %u %u", launch->grid[i], launch->block[i], OWN(kernel, at)->cluster[i]);
	for (size_t i = 0; i < launch->argument_count; i++) {
		const struct tcb_argument *argument = &launch->argument[i];
		tcb_str_addf(out, " %d %zu", (int)argument->kind, argument->value);
		if (argument->kind == TCB_ARGUMENT_TENSOR)
			add_tensor(&OWN(kernel, at)->tensor[argument->value], out);
	}
}

/* What KERNEL's layout makes of some rows. */
static uint64_t packing(const struct tcb_op *op, const struct tcb_kernel *kernel)
{
	struct tcb_problem small = kernel->problem;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_rng rng;
	if (small.shape.n > ROWS_MOST)
		small.shape.n = 64 + small.shape.n % 64;
	if (small.shape.k > VALUES_MOST)
		small.shape.k = 1024 + small.shape.k % 1024;
	const int which = tcb_operand_weights(operands, op->operands(&small, operands));
	const size_t bytes = operands[which].bytes;
	const size_t room = 8 * (small.shape.n + 128) * small.shape.k;
	uint8_t *weights = malloc(bytes), *packed = calloc(1, room);
	if (!weights || !packed)
		abort();
	tcb_rng_init(&rng, 1);
	for (size_t i = 0; i < bytes; i++)
		weights[i] = (uint8_t)tcb_rng_next(&rng);
	op->pack(&small, (size_t)which, (enum tcb_layout)kernel->geometry.knob[TCB_KNOB_LAYOUT], weights, packed);
	const uint64_t hash = tcb_hash64(packed, room, 0);
	free(weights);
	free(packed);
	return hash;
}

/* 0 where there is no such kernel. */
static uint64_t hash_of(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_target *target,
			const struct tcb_geometry *geometry)
{
	struct tcb_kernel kernel = { .launch_count = 0 };
	struct tcb_str text = { 0 };
	uint64_t hash = 0;
	/* Earlier commits have no tcb_kernel_emit. */
	if (tcb_op_side(op, target)->emit(problem, target, geometry, &kernel, NULL) == TCB_OK) {
		tcb_ptx_print(MODULE(&kernel), &text);
		tcb_str_addf(&text, "%zu %zu", tcb_packed_total(kernel.packed_bytes), kernel.workspace_bytes);
		for (size_t i = 0; i < kernel.launch_count; i++)
			add_launch(&kernel, i, &text);
		hash = text.failed ? 0 : tcb_hash64(text.data, text.length, 0);
		if (tcb_packed_total(kernel.packed_bytes))
			hash ^= packing(op, &kernel);
	}
	tcb_str_fini(&text);
	tcb_kernel_fini(&kernel);
	return hash;
}

static uint64_t take(char *field[FIELDS])
{
	const struct tcb_op *op = tcb_op_find(field[1]);
	const unsigned capability = (unsigned)atoi(field[7]);
	struct tcb_shape shape = { strtoull(field[3], NULL, 10), strtoull(field[4], NULL, 10),
				   strtoull(field[5], NULL, 10) };
	struct tcb_target target = { .kind = TCB_TARGET_CUDA,
				     .isa_mask = 1u << TCB_ISA_FMA | 1u << TCB_ISA_DP4A | 1u << TCB_ISA_MMA,
				     .line_bytes = 128,
				     .cuda.capability = capability,
				     .cuda.sm_count = (unsigned)atoi(field[8]),
				     .cuda.warp_threads = 32,
				     .cuda.block_threads_max = 1024,
				     .cuda.thread_registers_max = 255,
				     .cuda.block_registers_max = 65536,
				     .cuda.shared_optin_bytes = strtoull(field[9], NULL, 10) };
	enum tcb_contract contract;
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	if (capability == 90)
		target.isa_mask |= 1u << TCB_ISA_WGMMA;
	if (!op || !tcb_op_gpu(op) || tcb_contract_parse(field[2], &contract, NULL) != TCB_OK ||
	    tcb_problem_init(op, contract, &shape, &problem, NULL) != TCB_OK ||
	    tcb_geometry_parse(field[6], &geometry, NULL) != TCB_OK)
		return 0;
	return hash_of(op, &problem, &target, &geometry);
}

int main(void)
{
	char line[2048];
	while (fgets(line, sizeof line, stdin)) {
		char *field[FIELDS], *rest = line;
		size_t count = 0;
		while (count < FIELDS && (field[count] = strsep(&rest, "\t\n")))
			count++;
		if (count < FIELDS)
			return 2;
		const uint64_t hash = take(field);
		if (hash)
			printf("%s %016llx\n", field[0], (unsigned long long)hash);
		else
			printf("%s -\n", field[0]);
	}
	return 0;
}
