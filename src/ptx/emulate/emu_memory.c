/* SPDX-License-Identifier: MIT
 *
 * Loads and stores of every space, scalar and vector; fences; address
 * arithmetic between spaces.
 */
#include "ptx/emulate/emu_program.h"

#include <string.h>

enum space { GENERIC, GLOBAL, SHARED, LOCAL };
/* in->a: space, b: bytes of an element, c: elements, d: flags of the access | SIGNED << 8; wide: the local base is
 * added */
enum { SIGNED = 256 };

static void addresses(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, uint32_t active, uint64_t *out)
{
	uint64_t base = op->special == TCB_EMU_LOCAL_ADDRESS ? warp->frame->local_base : 0;

	TCB_EMU_EACH(lane, active)
	out[lane] = tcb_emu_address(warp, op, lane) + base;
}

/* Every lane's address with that of the first active one where a lane is not active. */
static void count(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint64_t *address, uint32_t active,
		  unsigned bytes, unsigned flags)
{
	uint64_t first = address[__builtin_ctz(active)];
	uint32_t narrow[TCB_EMU_LANES];
	int is_shared = in->a == SHARED || (in->a == GENERIC && TCB_EMU_WINDOW(first) == TCB_EMU_SHARED_WINDOW);

	if (is_shared) {
		TCB_EMU_EACH(lane, active)
		narrow[lane] = (uint32_t)address[lane];
		tcb_emu_count_shared(warp, in, narrow, active, bytes);
	} else if (in->a == GLOBAL || (in->a == GENERIC && !TCB_EMU_WINDOW(first))) {
		tcb_emu_count_global(warp, in, address, active, bytes, flags);
	} else {
		warp->run->counts[in->count].requests++;
	}
}

uint8_t *tcb_emu_at(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane, uint64_t address,
		    unsigned bytes, unsigned flags, const void *value)
{
	switch ((enum space)in->a) {
	case SHARED:
		return tcb_emu_shared(warp, in, (int)lane, (uint32_t)address, bytes, bytes, flags, value);
	case GLOBAL:
		return tcb_emu_global(warp, in, (int)lane, address, bytes, bytes, flags, value);
	case LOCAL:
		return tcb_emu_local(warp, in, (int)lane, address, bytes, bytes);
	default:
		return tcb_emu_generic(warp, in, (int)lane, address, bytes, bytes, flags, value);
	}
}

static const struct tcb_emu_operand *element(const struct tcb_emu_operand *op, unsigned i)
{
	return op->kind == TCB_EMU_VECTOR ? &op->items[i] : op;
}

/* Whether all of ACTIVE have one address. */
static int are_alike(const uint64_t *address, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	if (address[lane] != address[__builtin_ctz(active)])
		return 0;
	return 1;
}

/* All of ACTIVE load COUNT elements from one place of shared memory. */
static void broadcast32(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active, uint32_t address)
{
	const uint8_t *from = tcb_emu_shared_by_all(warp, in, active, address, 4 * in->c, 4 * in->c);

	for (unsigned i = 0; from && i < in->c; i++) {
		uint32_t value[TCB_EMU_LANES];

		memcpy(value, from + 4 * i, 4);
		for (unsigned lane = 1; lane < TCB_EMU_LANES; lane++)
			value[lane] = value[0];
		tcb_emu_put32(warp, element(&in->op[0], i), value, active);
	}
}

/* The usual load: elements of 4 bytes into registers of 32 bits. */
static void run_ld32(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	uint64_t address[TCB_EMU_LANES];
	uint32_t *to[TCB_EMU_BYTES_MAX / 4];
	unsigned count_of = in->c, bytes = 4 * count_of;

	for (unsigned i = 0; i < count_of; i++)
		to[i] = (uint32_t *)(warp->lanes + element(&in->op[0], i)->offset);
	addresses(warp, &in->op[1], active, address);
	count(warp, in, address, active, bytes, TCB_EMU_READ);
	if (in->a == SHARED && active & (active - 1) && are_alike(address, active)) {
		broadcast32(warp, in, active, (uint32_t)address[__builtin_ctz(active)]);
		return;
	}
	if (in->a == SHARED && tcb_emu_shared_loads(warp, in, address, active, bytes)) {
		TCB_EMU_EACH(lane, active)
		{
			const uint8_t *from = warp->block->shared + ((uint32_t)address[lane] - TCB_EMU_SHARED_START);

			for (unsigned i = 0; i < count_of; i++)
				memcpy(&to[i][lane], from + 4 * i, 4);
		}
		return;
	}
	TCB_EMU_EACH(lane, active)
	{
		const uint8_t *from = tcb_emu_at(warp, in, lane, address[lane], bytes, in->d & 0xff, NULL);

		if (!from)
			return;
		for (unsigned i = 0; i < count_of; i++)
			memcpy(&to[i][lane], from + 4 * i, 4);
	}
}

static void run_ld(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	unsigned size = in->b, bytes = in->b * in->c;
	uint64_t address[TCB_EMU_LANES];
	int together;

	addresses(warp, &in->op[1], active, address);
	count(warp, in, address, active, bytes, TCB_EMU_READ);
	together = in->d & TCB_EMU_STRONG ? are_alike(address, active) : 0;
	TCB_EMU_EACH(lane, active)
	{
		const uint8_t *from = tcb_emu_at(warp, in, lane, address[lane], bytes, in->d & 0xff, NULL);

		if (!from)
			return;
		if (in->d & TCB_EMU_STRONG && (!together || lane == (uint32_t)__builtin_ctz(active)))
			tcb_emu_strong(warp, in, together ? active : 1u << lane, from, TCB_EMU_READ);
		for (unsigned i = 0; i < in->c; i++) {
			uint64_t value = 0;

			memcpy(&value, from + i * size, size);
			if (in->d & SIGNED && size < 8 && value >> (8 * size - 1))
				value |= UINT64_MAX << 8 * size;
			tcb_emu_set(warp, element(&in->op[0], i), lane, value);
		}
	}
}

/* The usual store, as run_ld32. */
static void run_st32(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	uint64_t address[TCB_EMU_LANES];
	uint8_t data[TCB_EMU_LANES][TCB_EMU_BYTES_MAX];
	unsigned count_of = in->c, bytes = 4 * count_of;

	for (unsigned i = 0; i < count_of; i++) {
		const uint32_t *from = tcb_emu_get32(warp, element(&in->op[1], i));

		for (unsigned lane = 0; lane < TCB_EMU_LANES; lane++)
			memcpy(data[lane] + 4 * i, &from[lane], 4);
	}
	addresses(warp, &in->op[0], active, address);
	count(warp, in, address, active, bytes, TCB_EMU_WRITE);
	if (in->a == SHARED &&
	    tcb_emu_shared_stores(warp, in, address, active, bytes, (const uint8_t(*)[TCB_EMU_BYTES_MAX])data))
		return;
	TCB_EMU_EACH(lane, active)
	{
		uint8_t *to = tcb_emu_at(warp, in, lane, address[lane], bytes, in->d & 0xff, data[lane]);

		if (!to)
			return;
		memcpy(to, data[lane], bytes);
	}
}

static void run_st(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	unsigned size = in->b, bytes = in->b * in->c;
	uint64_t address[TCB_EMU_LANES];

	addresses(warp, &in->op[0], active, address);
	count(warp, in, address, active, bytes, TCB_EMU_WRITE);
	TCB_EMU_EACH(lane, active)
	{
		uint8_t data[TCB_EMU_BYTES_MAX], *to;

		for (unsigned i = 0; i < in->c; i++) {
			uint64_t value = tcb_emu_get(warp, element(&in->op[1], i), lane);

			memcpy(data + i * size, &value, size);
		}
		to = tcb_emu_at(warp, in, lane, address[lane], bytes, in->d & 0xff, data);
		if (!to)
			return;
		if (in->d & TCB_EMU_STRONG)
			tcb_emu_strong(warp, in, 1u << lane, to, TCB_EMU_WRITE);
		memcpy(to, data, bytes);
	}
}

static void run_fence(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	tcb_emu_fence(warp, active, tcb_emu_scope_of(in->ins));
}

/* --- addresses --- */

static uint64_t window_of(enum tcb_ptx_word space)
{
	switch ((int)space) {
	case TCB_PTX_SHARED:
	case TCB_PTX_SHARED_CTA:
	case TCB_PTX_SHARED_CLUSTER:
		return TCB_EMU_SHARED_WINDOW;
	case TCB_PTX_LOCAL:
		return TCB_EMU_LOCAL_WINDOW;
	}
	return 0; /* addresses in the other spaces are generic */
}

static uint64_t source(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, unsigned lane)
{
	if (op->kind == TCB_EMU_SPECIAL && op->special == TCB_EMU_LOCAL_ADDRESS)
		return (uint64_t)op->add + warp->frame->local_base;
	return tcb_emu_get(warp, op, lane);
}

static void run_cvta(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	tcb_emu_set(warp, &in->op[0], lane, source(warp, &in->op[1], lane) + in->wide);
}

/* A generic address in local memory says whose it is. */
static void run_cvta_local(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	tcb_emu_set(warp, &in->op[0], lane,
		    source(warp, &in->op[1], lane) + TCB_EMU_LOCAL_WINDOW + tcb_emu_local_owner(warp, lane));
}

static void run_cvta_to_local(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	tcb_emu_set(warp, &in->op[0], lane, (uint32_t)source(warp, &in->op[1], lane));
}

static void run_isspacep(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	uint32_t result = 0;

	TCB_EMU_EACH(lane, active)
	{
		uint64_t address = tcb_emu_get(warp, &in->op[1], lane), window = TCB_EMU_WINDOW(address);
		enum tcb_ptx_word space = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SPACE);
		const struct tcb_emu_region *region = window ? NULL : tcb_emu_region_find(warp->run->memory, address);
		int is_const = region && region->is_owned && region->permission == TCB_PTX_READ_ONLY &&
			       address - region->address < region->bytes;
		int holds = window_of(space)          ? window == window_of(space)
			    : space == TCB_PTX_CONST  ? is_const
			    : space == TCB_PTX_GLOBAL ? !window && !is_const
						      : window == TCB_EMU_PARAM_WINDOW;

		if ((space == TCB_PTX_SHARED || space == TCB_PTX_SHARED_CTA) && holds)
			holds = !((uint32_t)address >> TCB_EMU_RANK_SHIFT) ||
				(uint32_t)address >> TCB_EMU_RANK_SHIFT == warp->block->rank + 1;
		result |= (uint32_t)holds << lane;
	}
	tcb_emu_put_pred(warp, &in->op[0], result, active);
}

/* --- binding --- */

/* The space of an access: that of its symbol when it has one. */
static enum space space_of(const struct tcb_ptx_ins *ins, const struct tcb_emu_operand *op,
			   const struct tcb_ptx_operand *from)
{
	if (op->special == TCB_EMU_LOCAL_ADDRESS)
		return LOCAL;
	if (from->symbol && from->reg == TCB_PTX_NO_REG)
		return from->symbol->space == TCB_PTX_SHARED  ? SHARED
		       : from->symbol->space == TCB_PTX_PARAM ? GENERIC
							      : GLOBAL;
	switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE)) {
	case TCB_PTX_GLOBAL:
	case TCB_PTX_CONST:
		return GLOBAL;
	case TCB_PTX_SHARED:
	case TCB_PTX_SHARED_CTA:
	case TCB_PTX_SHARED_CLUSTER:
		return SHARED;
	case TCB_PTX_LOCAL:
		return LOCAL;
	}
	return GENERIC;
}

enum tcb_status tcb_emu_bind_access(struct tcb_emu_ins *in, unsigned index, struct tcb_error *err)
{
	enum tcb_ptx_word type = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE),
			  order = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_ORDER);
	const struct tcb_ptx_operand *from = &in->ins->operands[index];

	if (in->op[index].kind != TCB_EMU_ADDRESS)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "operand %u is not an address", index + 1);
	in->a = space_of(in->ins, &in->op[index], from);
	in->b = tcb_ptx_type_bits(type) / 8;
	in->c = tcb_ptx_vector_count(in->ins);
	in->d = order && order != TCB_PTX_WEAK ? TCB_EMU_STRONG : 0;
	if (order == TCB_PTX_VOLATILE)
		in->d |= TCB_EMU_VOLATILE;
	if (!in->b || in->b > 16 || in->b * in->c > TCB_EMU_BYTES_MAX)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "an access of %u times %u bytes", in->c, in->b);
	return TCB_OK;
}

static int is_plain(const struct tcb_emu_ins *in, const struct tcb_emu_operand *data)
{
	for (unsigned i = 0; i < in->c; i++)
		if (element(data, i)->kind != TCB_EMU_REG || element(data, i)->bits != 32)
			return 0;
	return in->b == 4 && !(in->d & TCB_EMU_STRONG);
}

static int is_parameter(enum tcb_ptx_word space)
{
	return space == TCB_PTX_PARAM || space == TCB_PTX_PARAM_FUNC;
}

static enum tcb_status bind_ld_st(struct tcb_emu_ins *in, int is_load, struct tcb_error *err)
{
	const struct tcb_emu_operand *data = &in->op[is_load ? 0 : 1];

	TCB_TRY(tcb_emu_bind_access(in, is_load ? 1 : 0, err));
	if (in->c != (data->kind == TCB_EMU_VECTOR ? data->count : 1u))
		return tcb_fail(err, TCB_E_UNSUPPORTED, "as many registers as the vector has elements are needed");
	for (unsigned i = 0; i < in->c; i++)
		if (element(data, i)->bits > 64 || element(data, i)->bits == 1 ||
		    (!is_load && element(data, i)->kind != TCB_EMU_REG && element(data, i)->kind != TCB_EMU_CONST))
			return tcb_fail(err, TCB_E_UNSUPPORTED, "a register of %u bits", element(data, i)->bits);
	in->d |= is_load ? TCB_EMU_READ : TCB_EMU_WRITE;
	if (tcb_ptx_type_class(tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE)) == TCB_PTX_CLASS_SINT)
		in->d |= SIGNED;
	in->is_copy = !is_load && is_parameter(tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SPACE)); /* as of empty structs */
	in->run = is_load ? run_ld : run_st;
	if (is_load && is_plain(in, data))
		in->run = run_ld32;
	else if (!is_load && is_plain(in, data))
		in->run = run_st32;
	return TCB_OK;
}

enum tcb_status tcb_emu_bind_memory(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	uint64_t window = window_of(tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SPACE));

	switch ((enum tcb_ptx_op)in->ins->op) {
	case TCB_PTX_OP_LD:
	case TCB_PTX_OP_LDU:
		return bind_ld_st(in, 1, err);
	case TCB_PTX_OP_ST:
		return bind_ld_st(in, 0, err);
	case TCB_PTX_OP_CVTA:
		in->wide = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_DIRECTION) == TCB_PTX_TO ? 0 - window : window;
		in->run = window != TCB_EMU_LOCAL_WINDOW                 ? run_cvta
			  : tcb_ptx_mod(in->ins, TCB_PTX_SLOT_DIRECTION) ? run_cvta_to_local
									 : run_cvta_local;
		return TCB_OK;
	case TCB_PTX_OP_ISSPACEP:
		in->run = run_isspacep;
		return TCB_OK;
	default:
		decoder->program->has_fences = 1;
		in->run = run_fence;
		return TCB_OK;
	}
}
