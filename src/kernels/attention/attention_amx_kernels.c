/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of attention_prefill_bf16 on AMX (attention_amx.h), contract f16.  A test includes this with tile
 * instructions in plain C and a name of its own for the table.
 */
#include "kernels/attention/attention_amx.h"

#ifndef ATTENTION_AMX_TABLE
#define ATTENTION_AMX_TABLE SIMD_NAME(attention_prefill_bf16_half_variants)
#endif

static __attribute__((noinline)) void pack(const struct attention_call *call)
{
	pack_k(call);
	pack_v(call);
}

static __attribute__((noinline)) void around(const struct attention_call *call)
{
	around_tiles_amx(call);
}

/* Chunks of KV tokens. */
#define SIZES(X) X(64) X(128) X(256)

#define ATTENTION_KERNEL(n)                                                               \
	static __attribute__((noinline)) void tile_##n(const struct attention_call *call) \
	{                                                                                 \
		amx_tile(call, n);                                                        \
	}                                                                                 \
	static void micro_bf16_32x##n(const struct attention_call *call)                  \
	{                                                                                 \
		const unsigned before = v_flush_begin();                                  \
		if (call->stage == ATTENTION_TILE && !call->is_packed)                    \
			pack(call);                                                       \
		if (call->stage == ATTENTION_TILE)                                        \
			tile_##n(call);                                                   \
		else                                                                      \
			around(call);                                                     \
		v_flush_end(before);                                                      \
	}
#define ATTENTION_ROWS(n) ATTENTION_ROW(prefill_bf16, TCB_CONTRACT_F16, "half", 32, n, micro_bf16_32x##n)

SIZES(ATTENTION_KERNEL)
const struct tcb_variant ATTENTION_AMX_TABLE[] = {
	SIZES(ATTENTION_ROWS){ .name = NULL },
};
