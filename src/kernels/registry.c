/* SPDX-License-Identifier: MIT
 *
 * The ops of this build, in the order in which `tcbtune ops` and `--op all`
 * take them; the first one stands in the examples of the help.  A new op is its
 * folder, one line of TCB_OP_LIST and one line of CMakeLists.txt; the ops of a
 * weight format come with its row (formats.h), those of a format of KV caches
 * with its line (kv_cache.h).
 */
#include <string.h>

#include "kernels/formats.h"
#include "kernels/kv_cache.h"
#include "kernels/op.h"

/* A line an op. */
/* clang-format off */
#define TCB_OP_LIST(X) \
	X(matmul_f32) \
	X(matmul_f16) \
	X(matmul_bf16) \
	X(softmax) \
	X(rmsnorm) \
	X(layernorm) \
	X(topk) \
	X(reduce2d_sum) \
	X(reduce2d_max) \
	X(reduce2d_min) \
	X(reduce2d_absmax) \
	X(elementwise_relu_f32) \
	X(elementwise_gelu_f32) \
	X(elementwise_silu_f32) \
	X(elementwise_add_f32) \
	X(elementwise_mul_f32) \
	X(elementwise_silu_mul_f32) \
	X(elementwise_gelu_mul_f32) \
	X(elementwise_sigmoid_mul_f32) \
	X(elementwise_softplus_mul_f32) \
	X(elementwise_relu_f16) \
	X(elementwise_gelu_f16) \
	X(elementwise_silu_f16) \
	X(elementwise_add_f16) \
	X(elementwise_mul_f16) \
	X(elementwise_silu_mul_f16) \
	X(elementwise_gelu_mul_f16) \
	X(elementwise_sigmoid_mul_f16) \
	X(elementwise_softplus_mul_f16) \
	TCB_KV_LIST(TCB_OP_OF_KV, X, attention_decode) \
	TCB_KV_LIST(TCB_OP_OF_KV, X, attention_prefill) \
	TCB_KV_LIST(TCB_OP_OF_KV, X, rope_append) \
	X(route_f32) \
	X(delta_decode_f32) \
	X(delta_decode_bf16) \
	X(delta_prefill_f32) \
	X(delta_prefill_bf16) \
	X(ssd_decode_f32) \
	X(ssd_decode_bf16) \
	X(ssd_prefill_f32) \
	X(ssd_prefill_bf16) \
	X(short_conv_decode_f32) \
	X(short_conv_prefill_f32)
#define TCB_OP_OF_KV(word, id, k, v, io, text, X, op) X(op##_##word)
/* clang-format on */

#define TCB_OP_DECLARE(name) extern const struct tcb_op tcb_op_##name;
#define TCB_OP_DECLARE_QUANT(id, name, op, ...) \
	TCB_OP_DECLARE(op##_matvec)             \
	TCB_OP_DECLARE(op##_matmul)             \
	TCB_OP_DECLARE(op##_get_rows)           \
	TCB_OP_DECLARE(op##_rmsnorm_matvec)     \
	TCB_OP_DECLARE(op##_swiglu_matvec) TCB_OP_DECLARE(op##_rmsnorm_swiglu_matvec)
#define TCB_OP_DECLARE_EXPERTS(id, name, op, ...) \
	TCB_OP_DECLARE(op##_experts_matmul)       \
	TCB_OP_DECLARE(op##_experts_swiglu_matmul) TCB_OP_DECLARE(op##_experts_sum_matmul)
TCB_FORMAT_LIST(TCB_OP_DECLARE_QUANT)
TCB_FORMAT_EXPERTS_LIST(TCB_OP_DECLARE_EXPERTS)
TCB_OP_LIST(TCB_OP_DECLARE)
#undef TCB_OP_DECLARE_EXPERTS
#undef TCB_OP_DECLARE_QUANT
#undef TCB_OP_DECLARE

#define TCB_OP_ROW(name) &tcb_op_##name,
#define TCB_OP_ROW_MATVEC(id, name, op, ...) TCB_OP_ROW(op##_matvec)
#define TCB_OP_ROW_MATMUL(id, name, op, ...) TCB_OP_ROW(op##_matmul)
#define TCB_OP_ROW_NORMED(id, name, op, ...) TCB_OP_ROW(op##_rmsnorm_matvec)
#define TCB_OP_ROW_GATED(id, name, op, ...) TCB_OP_ROW(op##_swiglu_matvec)
#define TCB_OP_ROW_NORMED_GATED(id, name, op, ...) TCB_OP_ROW(op##_rmsnorm_swiglu_matvec)
#define TCB_OP_ROW_GET_ROWS(id, name, op, ...) TCB_OP_ROW(op##_get_rows)
#define TCB_OP_ROW_EXPERTS(id, name, op, ...) TCB_OP_ROW(op##_experts_matmul)
#define TCB_OP_ROW_GATED_EXPERTS(id, name, op, ...) TCB_OP_ROW(op##_experts_swiglu_matmul)
#define TCB_OP_ROW_SUMMED_EXPERTS(id, name, op, ...) TCB_OP_ROW(op##_experts_sum_matmul)
/* clang-format off */
static const struct tcb_op *const ops[] = {
	TCB_FORMAT_LIST(TCB_OP_ROW_MATVEC)
	TCB_FORMAT_LIST(TCB_OP_ROW_MATMUL)
	TCB_FORMAT_LIST(TCB_OP_ROW_NORMED)
	TCB_FORMAT_LIST(TCB_OP_ROW_GATED)
	TCB_FORMAT_LIST(TCB_OP_ROW_NORMED_GATED)
	TCB_FORMAT_EXPERTS_LIST(TCB_OP_ROW_EXPERTS)
	TCB_FORMAT_EXPERTS_LIST(TCB_OP_ROW_GATED_EXPERTS)
	TCB_FORMAT_EXPERTS_LIST(TCB_OP_ROW_SUMMED_EXPERTS)
	TCB_FORMAT_LIST(TCB_OP_ROW_GET_ROWS)
	TCB_OP_LIST(TCB_OP_ROW)
	NULL,
};
/* clang-format on */
#undef TCB_OP_ROW_GET_ROWS
#undef TCB_OP_ROW_SUMMED_EXPERTS
#undef TCB_OP_ROW_GATED_EXPERTS
#undef TCB_OP_ROW_EXPERTS
#undef TCB_OP_ROW_NORMED_GATED
#undef TCB_OP_ROW_GATED
#undef TCB_OP_ROW_NORMED
#undef TCB_OP_ROW_MATMUL
#undef TCB_OP_ROW_MATVEC
#undef TCB_OP_ROW

const struct tcb_op *const *tcb_ops(size_t *count_out)
{
	*count_out = sizeof(ops) / sizeof(ops[0]) - 1;
	return ops;
}

const struct tcb_op *tcb_op_find(const char *name)
{
	for (size_t i = 0; ops[i]; i++) {
		if (strcmp(ops[i]->name, name) == 0)
			return ops[i];
	}
	return NULL;
}
