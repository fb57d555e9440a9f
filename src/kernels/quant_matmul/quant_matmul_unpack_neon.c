/* SPDX-License-Identifier: MIT
 *
 * Unpacking of weights (quant_matmul_unpack.h) on the vectors of NEON.
 */
#include "kernels/quant_matmul/quant_matmul_unpack.h"

const struct qmm_unpacker qmm_unpackers_neon[TCB_FORMAT_COUNT] = QMM_UNPACKERS;
