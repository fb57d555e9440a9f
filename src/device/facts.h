/* SPDX-License-Identifier: MIT
 *
 * What a kind tells of a device beside its identity: for people as lines of a
 * label and a text, for programs as members of a JSON object.
 */
#ifndef TCB_DEVICE_FACTS_H
#define TCB_DEVICE_FACTS_H

#include "base/util.h"

struct tcb_facts {
	struct tcb_str lines;   /* "  L2           1 MiB\n" */
	struct tcb_str members; /* ",\"l2_bytes\":1048576" */
};

__attribute__((format(printf, 3, 4))) void tcb_fact_line(struct tcb_facts *facts, const char *label, const char *format,
							 ...);
/* FORMAT makes JSON: a number, a list. */
__attribute__((format(printf, 3, 4))) void tcb_fact_member(struct tcb_facts *facts, const char *name,
							   const char *format, ...);
/* A size of memory, for both; 0: it is unknown. */
void tcb_fact_size(struct tcb_facts *facts, const char *label, const char *name, size_t bytes);
void tcb_facts_fini(struct tcb_facts *facts);

#endif
