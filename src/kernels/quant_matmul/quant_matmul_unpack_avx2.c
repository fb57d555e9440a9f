/* SPDX-License-Identifier: MIT
 *
 * Unpacking of weights (quant_matmul_unpack.h) on 256-bit vectors.
 */
#include "kernels/quant_matmul/quant_matmul_unpack.h"

const struct qmm_unpacker qmm_unpackers_avx2[TCB_FORMAT_COUNT] = QMM_UNPACKERS;
