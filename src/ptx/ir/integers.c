/* SPDX-License-Identifier: MIT
 *
 * What comparisons of integers become where their sides or their sense change.
 */
#include "ptx/ir/integers.h"

enum tcb_ptx_word tcb_ptx_compare_inverse(enum tcb_ptx_word compare)
{
	static const enum tcb_ptx_word inverse[] = { TCB_PTX_NE, TCB_PTX_EQ, TCB_PTX_GE,
						     TCB_PTX_GT, TCB_PTX_LE, TCB_PTX_LT };

	return tcb_ptx_compare_is_plain(compare) ? inverse[compare - TCB_PTX_EQ] : TCB_PTX_LT;
}

enum tcb_ptx_word tcb_ptx_compare_swapped(enum tcb_ptx_word compare)
{
	static const enum tcb_ptx_word swapped[] = { TCB_PTX_EQ, TCB_PTX_NE, TCB_PTX_GT,
						     TCB_PTX_GE, TCB_PTX_LT, TCB_PTX_LE };

	return tcb_ptx_compare_is_plain(compare) ? swapped[compare - TCB_PTX_EQ] : compare;
}
