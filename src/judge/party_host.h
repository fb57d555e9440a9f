/* SPDX-License-Identifier: MIT
 *
 * The process of a kernel in C or C++.
 */
#ifndef TCB_JUDGE_PARTY_HOST_H
#define TCB_JUDGE_PARTY_HOST_H

#include "judge/party_page.h"

/* Loads the kernel and answers questions; never returns. */
_Noreturn void tcb_party_host(const struct tcb_party_process *process);

#endif
