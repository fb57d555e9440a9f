/* SPDX-License-Identifier: MIT
 *
 * The kinds of arithmetic that compute limits are told of: what is multiplied.
 * Bytes on a GPU that has wgmma are a kind of their own: what our kernels multiply
 * them with there is mma.sync, which is slower.
 */
#ifndef TCB_BASE_COMPUTE_H
#define TCB_BASE_COMPUTE_H

#define TCB_COMPUTE_LIST(X) X(INT8, "int8") X(F32, "f32") X(BF16, "bf16") X(F16, "f16") X(INT8_SYNC, "int8 by mma.sync")
enum tcb_compute_kind {
#define TCB_COMPUTE_ENUM(id, text) TCB_COMPUTE_##id,
	TCB_COMPUTE_LIST(TCB_COMPUTE_ENUM)
#undef TCB_COMPUTE_ENUM
		TCB_COMPUTE_COUNT
};

static inline const char *tcb_compute_text(enum tcb_compute_kind kind)
{
#define TCB_COMPUTE_TEXT(id, text) text,
	static const char *const texts[] = { TCB_COMPUTE_LIST(TCB_COMPUTE_TEXT) };
#undef TCB_COMPUTE_TEXT
	return texts[kind];
}

#endif
