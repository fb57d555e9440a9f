/* SPDX-License-Identifier: MIT
 *
 * The process of a GPU's kernel.
 */
#ifndef TCB_JUDGE_PARTY_GPU_H
#define TCB_JUDGE_PARTY_GPU_H

#include "judge/party_page.h"

/* Loads the kernel and answers questions; never returns. */
_Noreturn void tcb_party_gpu(const struct tcb_party_process *process);

#endif
