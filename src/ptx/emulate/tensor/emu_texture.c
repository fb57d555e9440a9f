/* SPDX-License-Identifier: MIT
 *
 * tex.1d, tex.2d and tex.3d of texture objects: addressing and filtering as the
 * CUDA programming guide has them ("Texture Fetching"), weights of linear
 * filtering with 8 fractional bits.  The opcode table has no rows for them, so
 * their words are read here.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ptx/emulate/emu_async.h"
#include "ptx/emulate/emu_float.h"
#include "ptx/emulate/emu_program.h"

enum { COMPONENTS = 4 };

struct fetch {
	unsigned rank;
	enum tcb_ptx_word result; /* F32, U32, S32 */
	int is_index;             /* coordinates are integers */
};

enum tcb_status tcb_ptx_memory_texture(struct tcb_ptx_memory *memory, uint64_t address,
				       const struct tcb_ptx_texture *texture, struct tcb_error *err)
{
	struct tcb_emu_region *region = tcb_emu_region_find(memory, address);
	uint64_t bytes = texture->channels * (tcb_ptx_type_bits(texture->type) / 8u);

	for (unsigned i = 0; i < texture->rank; i++)
		if (__builtin_mul_overflow(bytes, texture->size[i], &bytes))
			bytes = UINT64_MAX;
	if (!region || region->address != address || bytes > region->bytes || !texture->rank || !bytes)
		return tcb_fail(err, TCB_E_USAGE, "the texture is larger than its memory");
	region->texture = texture;
	return TCB_OK;
}

/* --- one element --- */

/* The integer INDEX where the texture has one; 0: it lies outside, where the border is. */
static int settle(const struct tcb_ptx_texture *t, unsigned dimension, double *index)
{
	const double size = (double)t->size[dimension];

	if (*index >= 0 && *index < size)
		return 1;
	switch (t->beyond) {
	case TCB_PTX_TEXTURE_WRAP:
		*index -= floor(*index / size) * size;
		return 1;
	case TCB_PTX_TEXTURE_MIRROR:
		*index -= floor(*index / (2 * size)) * 2 * size;
		*index = *index < size ? *index : 2 * size - 1 - *index;
		return 1;
	case TCB_PTX_TEXTURE_CLAMP:
		*index = *index < 0 ? 0 : size - 1;
		return 1;
	default:
		return 0;
	}
}

static uint64_t element_bits(const struct tcb_emu_region *region, uint64_t at)
{
	const unsigned bytes = tcb_ptx_type_bits(region->texture->type) / 8;
	uint64_t bits = 0;

	memcpy(&bits, region->host + at * bytes, bytes);
	return bits;
}

/* Of the type's bits as a number; small integers that are read as reals are shares of the largest. */
static double element_value(enum tcb_ptx_word type, uint64_t bits)
{
	const unsigned width = tcb_ptx_type_bits(type), unused = 64 - width;
	double value;

	switch (type) {
	case TCB_PTX_F32:
		return (double)tcb_ptx_float_of_bits((uint32_t)bits);
	case TCB_PTX_F16:
		return (double)tcb_ptx_f16_to_f32((uint32_t)bits);
	default:
		if (tcb_ptx_type_class(type) != TCB_PTX_CLASS_SINT)
			return (double)bits / (double)(~0ull >> unused);
		value = (double)((int64_t)(bits << unused) >> unused) / (double)(~0ull >> (unused + 1));
		return value < -1 ? -1 : value;
	}
}

/* The place of the element at INDEX, in elements without channels; 0: beyond the border. */
static int find(const struct tcb_ptx_texture *t, const double *index, uint64_t *out)
{
	uint64_t stride = 1;

	*out = 0;
	for (unsigned i = 0; i < t->rank; i++) {
		double at = index[i];

		if (!settle(t, i, &at))
			return 0;
		*out += (uint64_t)at * stride;
		stride *= t->size[i];
	}
	return 1;
}

/* --- one fetch --- */

/* The element that AT lies in. */
static void fetch_point(const struct tcb_emu_region *region, enum tcb_ptx_word result, const double *at, uint32_t *out)
{
	const struct tcb_ptx_texture *t = region->texture;
	double index[TCB_PTX_TEXTURE_RANK];
	uint64_t place;

	for (unsigned i = 0; i < t->rank; i++)
		index[i] = floor(at[i]);
	if (!find(t, index, &place))
		return;
	for (unsigned c = 0; c < t->channels; c++) {
		const uint64_t bits = element_bits(region, place * t->channels + c);
		const unsigned unused = 64 - tcb_ptx_type_bits(t->type);

		if (result == TCB_PTX_F32)
			out[c] = tcb_ptx_float_bits((float)element_value(t->type, bits));
		else if (tcb_ptx_type_class(t->type) == TCB_PTX_CLASS_SINT)
			out[c] = (uint32_t)((int64_t)(bits << unused) >> unused);
		else
			out[c] = (uint32_t)bits;
	}
}

static void fetch_linear(const struct tcb_emu_region *region, const double *at, uint32_t *out)
{
	const struct tcb_ptx_texture *t = region->texture;
	double low[TCB_PTX_TEXTURE_RANK], share[TCB_PTX_TEXTURE_RANK], sum[COMPONENTS] = { 0 };

	for (unsigned i = 0; i < t->rank; i++) {
		low[i] = floor(at[i] - 0.5);
		share[i] = floor((at[i] - 0.5 - low[i]) * 256 + 0.5) / 256;
	}
	for (unsigned corner = 0; corner < 1u << t->rank; corner++) {
		double index[TCB_PTX_TEXTURE_RANK], weight = 1;
		uint64_t place;

		for (unsigned i = 0; i < t->rank; i++) {
			const unsigned is_high = corner >> i & 1;

			index[i] = low[i] + is_high;
			weight *= is_high ? share[i] : 1 - share[i];
		}
		if (weight == 0 || !find(t, index, &place))
			continue;
		for (unsigned c = 0; c < t->channels; c++)
			sum[c] += weight * element_value(t->type, element_bits(region, place * t->channels + c));
	}
	for (unsigned c = 0; c < t->channels; c++)
		out[c] = tcb_ptx_float_bits((float)sum[c]);
}

static const struct tcb_emu_operand *coordinate(const struct tcb_emu_operand *op, unsigned index)
{
	return op->count == 1 && op->items[0].kind == TCB_EMU_VECTOR ? &op->items[0].items[index] : &op->items[index];
}

static int fetch_lane(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane, uint32_t *out)
{
	const struct fetch *f = in->extra;
	const uint64_t handle = tcb_emu_address(warp, &in->op[1], lane);
	const struct tcb_emu_region *region = tcb_emu_region_find(warp->run->memory, handle);
	const struct tcb_ptx_texture *t;
	double at[TCB_PTX_TEXTURE_RANK];

	if (!region || region->address != handle || !region->texture) {
		tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_OUT_OF_BOUNDS, "0x%llx is not a texture",
			      (unsigned long long)handle);
		return 0;
	}
	t = region->texture;
	if (t->rank != f->rank ||
	    (f->result == TCB_PTX_F32 && tcb_ptx_type_bits(t->type) == 32 && t->type != TCB_PTX_F32)) {
		tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_OPERAND_TYPE,
			      "the texture '%s' has %u dimensions, of .%s", region->name, t->rank,
			      tcb_ptx_word_text(t->type));
		return 0;
	}
	for (unsigned i = 0; i < f->rank; i++) {
		const uint32_t bits = (uint32_t)tcb_emu_get(warp, coordinate(&in->op[1], i), lane);

		at[i] = f->is_index ? (double)(int32_t)bits : (double)tcb_ptx_float_of_bits(bits);
		if (!f->is_index && t->is_normalised)
			at[i] *= (double)t->size[i];
		if (!isfinite(at[i]))
			at[i] = 0;
	}
	if (t->is_linear && !f->is_index && f->result == TCB_PTX_F32)
		fetch_linear(region, at, out);
	else
		fetch_point(region, f->result, at, out);
	return 1;
}

static void run_fetch(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	{
		uint32_t values[COMPONENTS] = { 0 };

		if (!fetch_lane(warp, in, lane, values))
			return;
		for (unsigned c = 0; c < COMPONENTS; c++)
			tcb_emu_set(warp, tcb_emu_item(&in->op[0], c), lane, values[c]);
	}
}

/* --- binding --- */

int tcb_emu_bind_texture(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in)
{
	struct fetch *f = tcb_arena_alloc(decoder->arena, sizeof *f);
	char result[8], type[8];

	if (!f || sscanf(in->ins->opaque->mnemonic, "tex.%1ud.v4.%3[a-z0-9].%3[a-z0-9]", &f->rank, result, type) != 3 ||
	    f->rank < 1 || f->rank > TCB_PTX_TEXTURE_RANK || in->op_count != 2)
		return 0;
	f->result = tcb_ptx_word_find(result, strlen(result));
	f->is_index = strcmp(type, "s32") == 0;
	if ((f->result != TCB_PTX_F32 && f->result != TCB_PTX_U32 && f->result != TCB_PTX_S32) ||
	    (!f->is_index && strcmp(type, "f32") != 0) || tcb_emu_items(&in->op[0]) != COMPONENTS ||
	    in->op[1].kind != TCB_EMU_ADDRESS || !in->op[1].count ||
	    (in->op[1].items[0].kind == TCB_EMU_VECTOR ? in->op[1].items[0].count : in->op[1].count) < f->rank)
		return 0;
	for (unsigned i = 0; i < f->rank; i++)
		if (coordinate(&in->op[1], i)->bits != 32)
			return 0;
	for (unsigned c = 0; c < COMPONENTS; c++)
		if (tcb_emu_item(&in->op[0], c)->kind == TCB_EMU_REG && tcb_emu_item(&in->op[0], c)->bits != 32)
			return 0;
	in->extra = f;
	in->class = TCB_PTX_COUNT_GLOBAL;
	in->run = run_fetch;
	return 1;
}
