/* SPDX-License-Identifier: MIT
 *
 * What the files of `tcbtune wgsl` share: a kernel in WGSL, and where its geometry
 * came from.
 */
#ifndef TCB_CLI_CMD_WGSL_H
#define TCB_CLI_CMD_WGSL_H

#include "cli/core/emit.h"
#include "cli/core/setup.h"
#include "tcbrt.h"

struct wgsl_served {
	const struct tcb_op *op;
	struct tcb_place place;
	enum tcb_state state;
	char geometry[TCB_GEOMETRY_TEXT_MAX];
	struct tcbrt_tuning tuning; /* the answer that GEOMETRY is of; zeros where it was given by hand */
	int is_looked_up;
	struct tcb_kernel kernel;
	struct tcb_str text; /* the module */
};

/* wgsl_case.c */
/* One call of it as files in FOLDER; OUT: what they are, owned. */
enum tcb_status wgsl_write_case(const struct wgsl_served *served, const char *folder, json_t **out,
				struct tcb_error *err);

/* wgsl_print.c */
/* Comments that say all that a program needs to run the module. */
void wgsl_add_head(const struct wgsl_served *served, struct tcb_str *out);
/* The same as members of ROOT. */
void wgsl_set_json(const struct wgsl_served *served, json_t *root, int *failed);

#endif
