/* SPDX-License-Identifier: MIT
 *
 * The languages that kernels are written in, a row each.  A kernel's code is
 * opened by the makers and the runners of its language alone (PTX:
 * gpu/ptx_code.h); all others print it, sign it and carry it by its row.
 */
#ifndef TCB_KERNELS_LANGUAGE_H
#define TCB_KERNELS_LANGUAGE_H

#include <stddef.h>

#include "base/status.h"
#include "base/util.h"
#include "ptx/ir/ir.h"

struct tcb_argument;
struct tcb_kernel;

enum { TCB_LAUNCH_OWN_MAX = 576 }; /* bytes of what a launch has of its language's own, in an image (code.h) */

struct tcb_language {
	const char *name;            /* "PTX" */
	void (*destroy)(void *code); /* NULL is fine */
	/* The code as text: what is assembled, or what drivers read; kernels of the same text are one kernel's. */
	void (*print)(const void *code, struct tcb_str *out);
	/* KERNEL's launches, a line each and more: what signatures hash beside the text. */
	void (*describe)(const struct tcb_kernel *kernel, struct tcb_str *out);
	/* What the knob passes does, of a kind that has passes. */
	enum tcb_status (*optimise)(void *code, struct tcb_error *err);
	/* What the assemblers that are found here make of the text is for this; NULL: only drivers read it. */
	struct tcb_ptx_target (*assembled_for)(const void *code);
	/* The own part of launch INDEX, without pointers; and of such a part that came from elsewhere: is it valid, and
	 * what those of its COUNT arguments say that are of kind OWN? */
	void (*pack_own)(const struct tcb_kernel *kernel, size_t index, void *own_out);
	int (*is_own_valid)(const void *own, const struct tcb_argument *arguments, size_t count);
};

extern const struct tcb_language tcb_language_ptx, tcb_language_wgsl,
	tcb_language_opencl; /* gpu/ptx_code.c, wgsl/wgsl_code.c, opencl/opencl_code.c */

/* languages.c: by enum tcb_target_kind, of those whose candidates are emitted. */
extern const struct tcb_language *const tcb_languages[];

#endif
