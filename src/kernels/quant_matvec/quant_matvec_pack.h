/* SPDX-License-Identifier: MIT
 *
 * What rows of weights take in the layouts for CPUs: r16, which all formats and ops share, r16g (quant_lines.h), and
 * those of a format's own (struct qmv_own).
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_PACK_H
#define TCB_KERNELS_QUANT_MATVEC_PACK_H

#include "kernels/quant_matvec/quant_matvec_layout.h"

size_t qmv_layout_rows(enum tcb_layout layout); /* rows in a group; 1 for native and for those of GPUs */
/* Bytes of a superblock of a row, or of a row group; of a row as stored, or of a row group. */
size_t qmv_block_bytes(const struct tcb_problem *problem, enum tcb_layout layout);
size_t qmv_group_bytes(const struct tcb_problem *problem, enum tcb_layout layout);

#endif
