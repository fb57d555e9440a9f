/* SPDX-License-Identifier: MIT
 *
 * The variants of attention_prefill_bf16 on AMX without AMX, for tests: for one thread at a time.
 */
#ifndef TCB_TESTS_KERNELS_ATTENTION_AMX_IN_C_H
#define TCB_TESTS_KERNELS_ATTENTION_AMX_IN_C_H

#include "kernels/op.h"

extern const struct tcb_variant attention_amx_in_c_any[];
extern const struct tcb_variant attention_amx_in_c_vectors[]; /* x86: needs AVX-512 BF16 */

#endif
