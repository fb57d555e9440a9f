/* SPDX-License-Identifier: MIT
 *
 * Is the host's op of attention the one that the plug-in knows?
 */
#ifndef TCB_GGML_ATTENTION_TEST_H
#define TCB_GGML_ATTENTION_TEST_H

struct ggml_backend_reg;

/* By the plug-in's backend of REG, whose attention is enabled for it, so in a sandbox (guarded.h). */
int attention_test(struct ggml_backend_reg *reg);

#endif
