/* SPDX-License-Identifier: MIT
 *
 * Which binder serves which opcode.  A new unit is its file and its lines here.
 */
#include "ptx/emu.h"

static tcb_emu_bind_fn *const binders[TCB_PTX_OP_COUNT] = {
	[TCB_PTX_OP_PRAGMA] = NULL, /* nothing to execute: the decoder drops it */
};

tcb_emu_bind_fn *tcb_emu_binder(enum tcb_ptx_op op)
{
	return op < TCB_PTX_OP_COUNT ? binders[op] : NULL;
}
