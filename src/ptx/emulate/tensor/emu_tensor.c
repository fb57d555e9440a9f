/* SPDX-License-Identifier: MIT
 *
 * cp.async.bulk.tensor in tile mode: a box of a tensor to or from shared memory.
 *
 * The box lies packed in shared memory, its fastest dimension first, after the
 * map's swizzling of the address.  What is outside of the tensor arrives as
 * zeros (or NaN) and is not written back; the barrier counts the whole box.
 */
#include <string.h>

#include "ptx/emulate/emu_bulk.h"
#include "ptx/emulate/emu_program.h"
#include "ptx/emulate/tensor/emu_matrix.h"

/* One row of the box: elements along dimension 0. */
struct row {
	int64_t at[TCB_PTX_TENSOR_RANK]; /* of its first element */
	uint32_t first;                  /* byte of the box where it begins */
	uint32_t count;                  /* elements */
};

static unsigned step_of(const struct tcb_ptx_tensor_map *map, unsigned i)
{
	return map->element_stride[i] ? map->element_stride[i] : 1;
}

static unsigned copied(const struct tcb_ptx_tensor_map *map, unsigned i)
{
	return (map->box[i] + step_of(map, i) - 1) / step_of(map, i);
}

/* Bytes from a row of the box to the next: swizzled rows are as wide as the pattern (seen on an H200). */
static unsigned pitch_of(const struct tcb_ptx_tensor_map *map)
{
	unsigned bytes = copied(map, 0) * (tcb_ptx_type_bits(map->type) / 8);

	return bytes > map->swizzle ? bytes : map->swizzle;
}

/* Row INDEX of the box of COPY; 0 when there are no more. */
static int row_of(const struct tcb_emu_bulk *copy, uint32_t index, struct row *row)
{
	const struct tcb_ptx_tensor_map *map = &copy->map;
	uint32_t rest = index;

	row->at[0] = copy->at[0];
	row->count = copied(map, 0);
	row->first = index * pitch_of(map);
	for (unsigned i = 1; i < map->rank; i++) {
		row->at[i] = copy->at[i] + (int64_t)(rest % copied(map, i) * step_of(map, i));
		rest /= copied(map, i);
	}
	return rest == 0;
}

/* Byte of the tensor where the row's dimension 0 begins; 0 when the row is outside. */
static int row_start(const struct tcb_ptx_tensor_map *map, const struct row *row, uint64_t *start_out)
{
	uint64_t start = 0;

	for (unsigned i = 1; i < map->rank; i++) {
		if (row->at[i] < 0 || (uint64_t)row->at[i] >= map->size[i])
			return 0;
		start += (uint64_t)row->at[i] * map->stride[i];
	}
	*start_out = start;
	return 1;
}

static void fill_of(const struct tcb_ptx_tensor_map *map, uint8_t *to, unsigned bytes)
{
	static const uint64_t nan64 = 0x7fffffffffffffff;
	static const uint32_t nan32 = 0x7fffffff;
	static const uint16_t nan16 = 0x7ff7; /* as an H200 fills f16; the others are a guess */

	memset(to, 0, bytes);
	if (map->fill_nan)
		memcpy(to, bytes == 8 ? (const void *)&nan64 : bytes == 4 ? (const void *)&nan32 : &nan16, bytes);
}

static void move_box(struct tcb_emu_bulk *copy)
{
	const struct tcb_ptx_tensor_map *map = &copy->map;
	unsigned bytes = tcb_ptx_type_bits(map->type) / 8, step = step_of(map, 0);
	enum tcb_ptx_word op = tcb_ptx_mod(copy->in->ins, TCB_PTX_SLOT_ATOMIC);
	struct row row;

	for (uint32_t index = 0; row_of(copy, index, &row); index++) {
		uint64_t start = 0;
		int is_inside = row_start(map, &row, &start);

		for (uint32_t i = 0; i < row.count; i++) {
			int64_t x = row.at[0] + (int64_t)i * step;
			uint32_t linear = TCB_EMU_SHARED_START + copy->offset + row.first + i * bytes;
			uint8_t *shared =
				copy->block->shared + tcb_ptx_swizzle(linear, map->swizzle) - TCB_EMU_SHARED_START;
			int here = is_inside && x >= 0 && (uint64_t)x < map->size[0];
			uint8_t *global = here ? copy->tensor + start + (uint64_t)x * bytes : NULL;

			if (copy->barrier_block && here)
				memcpy(shared, global, bytes);
			else if (copy->barrier_block)
				fill_of(map, shared, bytes);
			else if (here && op)
				tcb_emu_bulk_reduce(global, shared, bytes, map->type, op);
			else if (here)
				memcpy(global, shared, bytes);
		}
	}
}

/* All that the copy will touch in global memory, row by row. */
static int check_tensor(struct tcb_emu_bulk *copy, unsigned flags)
{
	const struct tcb_ptx_tensor_map *map = &copy->map;
	unsigned bytes = tcb_ptx_type_bits(map->type) / 8;
	struct row row;

	for (uint32_t index = 0; row_of(copy, index, &row); index++) {
		int64_t first = row.at[0] > 0 ? row.at[0] : 0, end = row.at[0] + (int64_t)map->box[0];
		uint64_t start;
		uint8_t *host;

		if (end > (int64_t)map->size[0])
			end = (int64_t)map->size[0];
		if (first >= end || !row_start(map, &row, &start))
			continue;
		start += (uint64_t)first * bytes;
		host = tcb_emu_global(copy->warp, copy->in, (int)copy->lane, map->address + start,
				      (unsigned)(end - first) * bytes, bytes, flags, NULL);
		if (!host)
			return 0;
		copy->tensor = host - start;
	}
	return 1;
}

/* What a GPU refuses as an illegal instruction, though the manual does not say so: seen on sm_90 (tests/ptx/edges). */
static int may_begin_there(struct tcb_emu_bulk *copy, int is_store)
{
	if (copy->at[0] * (int64_t)(tcb_ptx_type_bits(copy->map.type) / 8) % 16) {
		tcb_emu_fault(copy->warp, copy->in, (int)copy->lane, TCB_PTX_RULE_BULK_COPY,
			      "coordinate %d of the fastest dimension is not a multiple of 16 bytes: an illegal "
			      "instruction on a GPU",
			      copy->at[0]);
		return 0;
	}
	for (unsigned i = 0; is_store && i < copy->map.rank; i++)
		if (copy->at[i] < 0) {
			tcb_emu_fault(copy->warp, copy->in, (int)copy->lane, TCB_PTX_RULE_BULK_COPY,
				      "a box that is written begins at the negative coordinate %d of dimension %u, "
				      "the fastest being 0: an illegal instruction on a GPU",
				      copy->at[i], i);
			return 0;
		}
	return 1;
}

/* The map and the coordinates of LANE's [map, {coordinates}]. */
static int read_map(struct tcb_emu_bulk *copy, const struct tcb_emu_operand *op, int is_store)
{
	struct tcb_emu_warp *warp = copy->warp;
	uint64_t address = tcb_emu_address(warp, op, copy->lane);
	const uint8_t *bytes = tcb_emu_generic(warp, copy->in, (int)copy->lane, address, TCB_PTX_TENSOR_MAP_BYTES,
					       TCB_PTX_TENSOR_MAP_ALIGN, TCB_EMU_READ, NULL);
	const struct tcb_emu_operand *at = op->items;
	unsigned count = op->count;
	struct tcb_error err;

	if (!bytes)
		return 0;
	if (tcb_ptx_tensor_map_decode(bytes, &copy->map, &err) != TCB_OK) {
		tcb_emu_fault(warp, copy->in, (int)copy->lane, TCB_PTX_RULE_BULK_COPY, "%s", err.message);
		return 0;
	}
	if (count == 1 && at[0].kind == TCB_EMU_VECTOR) {
		count = at[0].count;
		at = at[0].items;
	}
	if (count != copy->map.rank) {
		tcb_emu_fault(warp, copy->in, (int)copy->lane, TCB_PTX_RULE_BULK_COPY,
			      "%u coordinates for a tensor map of %u dimensions", count, copy->map.rank);
		return 0;
	}
	for (unsigned i = 0; i < count; i++)
		copy->at[i] = (int32_t)tcb_emu_get(warp, &at[i], copy->lane);
	if (!may_begin_there(copy, is_store))
		return 0;
	copy->bytes = tcb_ptx_tensor_map_box_bytes(&copy->map);
	copy->span =
		copy->bytes / (copied(&copy->map, 0) * (tcb_ptx_type_bits(copy->map.type) / 8)) * pitch_of(&copy->map);
	return 1;
}

/* Shared memory of a box begins at a multiple of 128. */
static int is_aligned(const struct tcb_emu_bulk *copy, uint32_t address)
{
	if (address % 128 == 0)
		return 1;
	tcb_emu_fault(copy->warp, copy->in, (int)copy->lane, TCB_PTX_RULE_MISALIGNED,
		      "shared address 0x%x of a tensor copy: a multiple of 128 is needed", address);
	return 0;
}

static void run_tensor(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	int is_store = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SPACE) == TCB_PTX_GLOBAL;
	unsigned reduces = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_ATOMIC) ? TCB_EMU_ATOMIC : 0;

	TCB_EMU_EACH(lane, active)
	{
		struct tcb_emu_bulk copy = { .warp = warp, .in = in, .move = move_box, .lane = lane };
		uint32_t blocks = in->a ? (uint32_t)tcb_emu_get(warp, &in->op[in->a], lane) & 0xffff : 0;
		uint32_t address = (uint32_t)tcb_emu_address(warp, &in->op[is_store ? 1 : 0], lane);

		if (!read_map(&copy, &in->op[is_store ? 0 : 1], is_store) || !is_aligned(&copy, address))
			return;
		if (!is_store) {
			if (!check_tensor(&copy, TCB_EMU_READ | TCB_EMU_ASYNC_AGENT) ||
			    !tcb_emu_bulk_into_shared(&copy, address, (uint32_t)tcb_emu_address(warp, &in->op[2], lane),
						      blocks))
				return;
			continue;
		}
		if (!tcb_emu_shared(warp, in, (int)lane, address, copy.span, 128, TCB_EMU_READ | TCB_EMU_ASYNC_AGENT,
				    NULL))
			return;
		copy.block = tcb_emu_shared_block(warp, address, &copy.offset);
		if (!check_tensor(&copy, TCB_EMU_WRITE | TCB_EMU_ASYNC_AGENT | reduces) ||
		    !tcb_emu_bulk_out_of_shared(&copy))
			return;
	}
}

enum tcb_status tcb_emu_bind_tensor(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	enum tcb_ptx_word mode = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TENSOR_MODE);

	decoder->program->reads_async = 1;
	if (mode != TCB_PTX_NO_WORD && mode != TCB_PTX_TILE)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "tensor copies in im2col mode are not emulated");
	in->a = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MULTICAST) ? 3 : 0;
	in->run = run_tensor;
	return TCB_OK;
}
