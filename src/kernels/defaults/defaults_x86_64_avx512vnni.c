/* SPDX-License-Identifier: MIT
 *
 * No rules yet.
 */
#include "kernels/default_rules.h"

const struct tcb_default_rule tcb_defaults_x86_64_avx512vnni[] = { { .op = NULL } };
