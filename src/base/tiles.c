/* SPDX-License-Identifier: MIT
 *
 * In: nothing.  Out: whether this process may use AMX's tiles: Linux hands out
 * their 8 KiB of state to processes that ask (Documentation/arch/x86/xstate.rst);
 * children and threads inherit the permission.  It is refused where a thread has
 * an alternate signal stack that is too small for a frame with tiles (ENOSPC), by
 * a seccomp filter (EPERM and others), and where there are none.
 */
#include "base/tiles.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum tcb_status tcb_tiles_ask(struct tcb_error *err)
{
	int reason = ENOSYS;
#if defined(__linux__) && defined(__x86_64__)
	enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };

	if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0)
		return TCB_OK;
	reason = errno;
#endif
	return tcb_fail(err, TCB_E_UNSUPPORTED, "this process may not use AMX's tiles (%s)",
			reason == ENOSPC ? "a thread has a signal stack that is too small for them" : strerror(reason));
}
