/* SPDX-License-Identifier: MIT
 *
 * Tensor maps for cp.async.bulk.tensor.  A GPU takes the 128 bytes that
 * cuTensorMapEncodeTiled makes, whose layout is not documented; the emulator
 * takes 128 bytes of its own, made here from the same facts.  Whoever launches
 * fills in the one or the other; a kernel cannot tell.
 *
 *     struct tcb_ptx_tensor_map map = { .type = TCB_PTX_F16, .rank = 2, .address = address,
 *                                       .size = { k, m }, .stride = { 0, 2 * k }, .box = { 64, 128 }, .swizzle = 128 };
 *     tcb_ptx_tensor_map_encode(&map, params + offset, err);
 */
#ifndef TCB_PTX_TENSOR_MAP_H
#define TCB_PTX_TENSOR_MAP_H

#include "base/status.h"
#include "ptx/ir/words.h"

enum { TCB_PTX_TENSOR_RANK = 5, TCB_PTX_TENSOR_MAP_BYTES = 128, TCB_PTX_TENSOR_MAP_ALIGN = 64 };

struct tcb_ptx_tensor_map {
	enum tcb_ptx_word type; /* of the elements: U8, U16, U32, S32, U64, S64, F16, BF16, F32, TF32, F64 */
	unsigned rank;
	uint64_t address;                             /* in device memory, a multiple of 16 */
	uint64_t size[TCB_PTX_TENSOR_RANK];           /* elements; the fastest dimension first */
	uint64_t stride[TCB_PTX_TENSOR_RANK];         /* bytes from one to the next; of dimension 0 not used */
	unsigned box[TCB_PTX_TENSOR_RANK];            /* elements that one copy spans */
	unsigned element_stride[TCB_PTX_TENSOR_RANK]; /* every how many of them are copied; 0 means 1 */
	unsigned swizzle;                             /* 0, 32, 64, 128 */
	int fill_nan;                                 /* what lies outside: NaN instead of 0 */
};

/* Checks the rules of cuTensorMapEncodeTiled (TCB_E_ILLEGAL names the one that is broken) and writes 128 bytes. */
enum tcb_status tcb_ptx_tensor_map_encode(const struct tcb_ptx_tensor_map *map, void *out, struct tcb_error *err);
/* Back from 128 bytes; TCB_E_FORMAT when they are no such map. */
enum tcb_status tcb_ptx_tensor_map_decode(const void *bytes, struct tcb_ptx_tensor_map *out, struct tcb_error *err);
/* tensormap.replace: puts VALUE, as the instruction has it, into FIELD of the map in BYTES, for dimension ORDINAL where
 * the field has one.  What the map holds is not looked at before a copy takes it; TCB_E_ILLEGAL for values that no map
 * can hold. */
enum tcb_status tcb_ptx_tensor_map_replace(void *bytes, enum tcb_ptx_word field, unsigned ordinal, uint64_t value,
					   struct tcb_error *err);
/* Bytes in shared memory of one copy. */
uint32_t tcb_ptx_tensor_map_box_bytes(const struct tcb_ptx_tensor_map *map);

#endif
