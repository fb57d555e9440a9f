/* SPDX-License-Identifier: MIT
 *
 * Numbers that all NVIDIA GPUs have in common, for emitters and their rules.
 */
#ifndef TCB_KERNELS_GPU_HARDWARE_H
#define TCB_KERNELS_GPU_HARDWARE_H

enum {
	WARP = 32,          /* threads */
	WARPS_MAX = 32,     /* of a block */
	CLUSTER_MAX = 8,    /* blocks, that every GPU with clusters takes */
	GRID_YZ_MAX = 65535 /* blocks of a grid along y, and along z */
};

#endif
