/* SPDX-License-Identifier: MIT
 *
 * The strings that cmake/write_build_info.cmake generated.
 */
#include "base/build_info.h"

#include "tcb_build_info.h"

const struct tcb_build_info *tcb_build_info(void)
{
	static const struct tcb_build_info info = { TCB_BUILD_VERSION, TCB_BUILD_COMMIT, TCB_BUILD_COMPILER,
						    TCB_BUILD_TYPE };
	return &info;
}
