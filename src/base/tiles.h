/* SPDX-License-Identifier: MIT
 *
 * Permission to use AMX, which Linux gives to a whole process at once and only if it is asked.
 */
#ifndef TCB_BASE_TILES_H
#define TCB_BASE_TILES_H

#include "base/status.h"

/*
 * tiles.c: asks for AMX's tiles for this process, its threads and those that it will have.  From then on every
 * alternate signal stack must have room for the tiles' 8 KiB, so it is asked by whoever is about to run a kernel that
 * needs them, and by nobody else.  TCB_E_UNSUPPORTED says why it is refused; once granted it stays.
 */
enum tcb_status tcb_tiles_ask(struct tcb_error *err);

#endif
