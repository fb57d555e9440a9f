/* SPDX-License-Identifier: MIT
 *
 * Nothing but fma or dot4I8Packed, in WGSL: in: what is multiplied; out: the
 * kernel that does so, in as many sums of an invocation as hide the instruction's
 * latency.  A sum is a factor of its own next product, so that no compiler may
 * multiply once for all rounds.  What comes out is folded into a store that never
 * happens.
 */
#include <string.h>

#include "kernels/compute_limit.h"
#include "kernels/wgsl/wgsl.h"
#include "kernels/wgsl/wgsl_limit.h"

enum {
	WORKGROUP = 256,
	GROUPS = 64, /* of a step; steps run side by side */
	CHAINS = 16, /* sums of an invocation */
	UNROLL = 8,  /* products of each, in a round */
	ROUNDS = 16,
};

static void write_products(struct tcb_wgsl *w, int is_bytes)
{
	for (unsigned i = 0; i < CHAINS; i++)
		tcb_wgsl_add(w, is_bytes ? "var sum%u = i32(seed + %uu);\n" : "var sum%u = f32(seed + %uu);\n", i, i);
	tcb_wgsl_add(w, is_bytes ? "let y = seed * 0x9e3779b1u;\n"
				 : "let y = 0.5 + f32(seed & 255u) / 1024.0;\n"
				   "let z = 1.0 - y;\n");
	tcb_wgsl_add(w, "for (var round = 0u; round < %uu; round++) {\n", (unsigned)ROUNDS);
	for (unsigned i = 0; i < CHAINS * UNROLL; i++) {
		const unsigned at = i % CHAINS;

		if (is_bytes)
			tcb_wgsl_add(w, "sum%u += dot4I8Packed(u32(sum%u), y);\n", at, at);
		else
			tcb_wgsl_add(w, "sum%u = fma(sum%u, y, z);\n", at, at);
	}
	tcb_wgsl_add(w, "}\n"
			"var folded = 0u;\n");
	for (unsigned i = 0; i < CHAINS; i++)
		tcb_wgsl_add(w, "folded = folded * 3u + bitcast<u32>(sum%u);\n", i);
}

static enum tcb_status make_kernel(const struct tcb_problem *problem, int is_bytes, struct tcb_kernel *out,
				   struct tcb_error *err)
{
	struct tcb_wgsl w;

	TCB_TRY(tcb_wgsl_open(&w, problem, NULL, out, err));
	const int to = tcb_wgsl_workspace(&w, "never", "array<u32>", TCB_WGSL_ALIGN);
	tcb_wgsl_begin(&w, is_bytes ? "compute_dp4a_int8" : "compute_fma_f32",
		       &(struct tcb_wgsl_entry){ .workgroup = WORKGROUP, .grid = { GROUPS }, .uses = { to } });
	tcb_wgsl_add(&w, "let seed = group.x * %uu + local;\n", (unsigned)WORKGROUP);
	write_products(&w, is_bytes);
	tcb_wgsl_add(&w, "if (folded == 0x5eed1e55u && group.y == 0xffffffffu) { never[0] = folded; }\n");
	tcb_wgsl_end(&w);
	return tcb_wgsl_close(&w, err);
}

enum tcb_status tcb_compute_limit_wgsl(const struct tcb_problem *problem, const struct tcb_target *target,
				       struct tcb_code_image **out, struct tcb_error *err)
{
	const int is_bytes =
		tcb_compute_need(problem, target).kind == TCB_COMPUTE_INT8 && tcb_target_has(target, TCB_ISA_WGSL_DP4A);
	struct tcb_kernel kernel;
	enum tcb_status status;

	memset(&kernel, 0, sizeof kernel);
	status = make_kernel(problem, is_bytes, &kernel, err);
	if (status == TCB_OK)
		status = tcb_code_compile(&kernel, 1, target, out, err);
	if (status == TCB_OK)
		(*out)->unit[0].step_operations =
			2.0 * (is_bytes ? 4 : 1) * CHAINS * UNROLL * ROUNDS * WORKGROUP * GROUPS;
	tcb_kernel_fini(&kernel);
	return status;
}
