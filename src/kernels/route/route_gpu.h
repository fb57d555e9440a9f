/* SPDX-License-Identifier: MIT
 *
 * Routing on GPUs: a warp has a token, `warps` of them are a block (midi.m).  A lane has neighbouring scores in
 * registers; the largest of all lanes is found and taken out, as often as a token uses experts.  Tiles' m are tokens,
 * n and k 1, as on CPUs.
 */
#ifndef TCB_KERNELS_ROUTE_GPU_H
#define TCB_KERNELS_ROUTE_GPU_H

#include "kernels/route/route.h"

enum { ROUTE_GPU_SCORES_MOST = ROUTE_EXPERTS_MAX / 32 }; /* of a lane */

extern const struct tcb_side route_gpu;

#endif
