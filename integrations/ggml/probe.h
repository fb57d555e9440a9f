/* SPDX-License-Identifier: MIT
 *
 * Measuring how a host's ggml lays out its structs.
 */
#ifndef TCB_GGML_PROBE_H
#define TCB_GGML_PROBE_H

#include "shim.h"

/*
 * By functions that read a pointer from a struct and return it, handed memory whose words all say where they are: what
 * is returned tells where it was read.  Called in a sandbox: the host's functions may do more than that one day.
 */
void probe_layout(struct ggml_layout *out);

/* Facts that are known of the host and differ from the shim's; 0: they agree.  FIRST gets the first of them. */
struct probe_difference {
	const char *what; /* in words */
	size_t of_host, of_shim;
};
size_t probe_differences(const struct ggml_layout *host, const struct ggml_layout *shim,
			 struct probe_difference *first);

#endif
