/* SPDX-License-Identifier: MIT
 *
 * What the plug-in exports: two functions that ggml looks for, and one that
 * tests and benchmarks read.
 */
#ifndef TCB_GGML_PLUGIN_H
#define TCB_GGML_PLUGIN_H

struct ggml_backend_reg;

#pragma GCC visibility push(default)

/* 0: not for this host. */
int ggml_backend_score(void);
/* NULL: not for this host. */
struct ggml_backend_reg *ggml_backend_init(void);

/* "products" ("experts" among them), "rows" (read), "tokens", "graphs", "compute_ns"; "packed" (tensors), "pack_ns",
 * "unpacked"; "gathered"; "refused".  0 for any other. */
unsigned long long tcbtune_ggml_counter(const char *name);

#pragma GCC visibility pop

#endif
