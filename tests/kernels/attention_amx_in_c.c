/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of attention_prefill on AMX with the tile instructions taken
 * from plain C.  Compiled twice: for any processor, and with AVX-512 BF16, whose
 * vectors are between the tiles where there is AMX.
 */
#include "kernels/amx_ops_in_c.h"

#include "kernels/attention_amx_in_c.h"

#ifdef __AVX512BF16__
#define ATTENTION_AMX_TABLE attention_amx_in_c_vectors
#else
#define ATTENTION_AMX_TABLE attention_amx_in_c_any
#endif
#include "kernels/attention/attention_amx_kernels.c"
