/* SPDX-License-Identifier: MIT
 *
 * The emulator's encoding of tensor maps, and the rules that a map must keep
 * (CUDA driver API 13.0, cuTensorMapEncodeTiled).
 */
#include <string.h>

#include "ptx/ir/tensor_map.h"

/* The 128 bytes.  Fields are wide enough for every legal map; reserved bytes are zero. */
struct encoded {
	uint64_t magic;
	uint64_t address;
	uint64_t stride[TCB_PTX_TENSOR_RANK - 1];
	uint32_t last[TCB_PTX_TENSOR_RANK]; /* size - 1 */
	uint16_t box[TCB_PTX_TENSOR_RANK];
	uint8_t element_stride[TCB_PTX_TENSOR_RANK];
	uint8_t type, rank, swizzle, fill_nan;
	uint8_t reserved[41];
};

#define MAGIC 0x50414d5443425431ull

_Static_assert(sizeof(struct encoded) == TCB_PTX_TENSOR_MAP_BYTES, "a tensor map has 128 bytes");

static int is_element(enum tcb_ptx_word type)
{
	switch (type) {
	case TCB_PTX_U8:
	case TCB_PTX_U16:
	case TCB_PTX_U32:
	case TCB_PTX_S32:
	case TCB_PTX_U64:
	case TCB_PTX_S64:
	case TCB_PTX_F16:
	case TCB_PTX_BF16:
	case TCB_PTX_F32:
	case TCB_PTX_TF32:
	case TCB_PTX_F64:
		return 1;
	default:
		return 0;
	}
}

static enum tcb_status check(const struct tcb_ptx_tensor_map *map, struct tcb_error *err)
{
	unsigned bytes = tcb_ptx_type_bits(map->type) / 8;

	if (!is_element(map->type))
		return tcb_fail(err, TCB_E_ILLEGAL,
				"a tensor map of %s: the element types are u8, u16, u32, s32, u64, s64, "
				"f16, bf16, f32, tf32 and f64",
				tcb_ptx_word_text(map->type));
	if (map->rank < 1 || map->rank > TCB_PTX_TENSOR_RANK)
		return tcb_fail(err, TCB_E_ILLEGAL, "a tensor map of %u dimensions: 1 to 5 are possible", map->rank);
	if (map->address % 16)
		return tcb_fail(err, TCB_E_ILLEGAL, "a tensor at 0x%llx: its address must be a multiple of 16",
				(unsigned long long)map->address);
	if (map->swizzle && map->swizzle != 32 && map->swizzle != 64 && map->swizzle != 128)
		return tcb_fail(err, TCB_E_ILLEGAL, "swizzling of %u bytes: there is 32, 64 and 128", map->swizzle);
	for (unsigned i = 0; i < map->rank; i++) {
		unsigned step = map->element_stride[i] ? map->element_stride[i] : 1;

		if (map->size[i] < 1 || map->size[i] > 1ull << 32)
			return tcb_fail(err, TCB_E_ILLEGAL, "dimension %u of a tensor map has %llu elements: 1 to 2^32",
					i, (unsigned long long)map->size[i]);
		if (i && (map->stride[i] % 16 || map->stride[i] >= 1ull << 40))
			return tcb_fail(err, TCB_E_ILLEGAL,
					"stride %llu of dimension %u: a multiple of 16 below 2^40 is needed",
					(unsigned long long)map->stride[i], i);
		if (map->box[i] < 1 || map->box[i] > 256)
			return tcb_fail(err, TCB_E_ILLEGAL, "dimension %u of the box has %u elements: 1 to 256", i,
					map->box[i]);
		if (step > 8)
			return tcb_fail(err, TCB_E_ILLEGAL, "every %uth element of dimension %u: 1 to 8", step, i);
	}
	if (map->box[0] * bytes % 16)
		return tcb_fail(err, TCB_E_ILLEGAL, "the box is %u bytes wide: a multiple of 16 is needed",
				map->box[0] * bytes);
	if (map->swizzle && map->box[0] * bytes > map->swizzle)
		return tcb_fail(err, TCB_E_ILLEGAL,
				"the box is %u bytes wide, and swizzling of %u bytes allows no more",
				map->box[0] * bytes, map->swizzle);
	if (map->fill_nan && tcb_ptx_type_class(map->type) != TCB_PTX_CLASS_FLOAT && map->type != TCB_PTX_BF16 &&
	    map->type != TCB_PTX_TF32)
		return tcb_fail(err, TCB_E_ILLEGAL, "integers cannot be filled with NaN");
	return TCB_OK;
}

enum tcb_status tcb_ptx_tensor_map_encode(const struct tcb_ptx_tensor_map *map, void *out, struct tcb_error *err)
{
	struct encoded e = { .magic = MAGIC,
			     .address = map->address,
			     .type = (uint8_t)map->type,
			     .rank = (uint8_t)map->rank,
			     .swizzle = (uint8_t)map->swizzle,
			     .fill_nan = map->fill_nan != 0 };

	TCB_TRY(check(map, err));
	for (unsigned i = 0; i < map->rank; i++) {
		e.last[i] = (uint32_t)(map->size[i] - 1);
		e.box[i] = (uint16_t)map->box[i];
		e.element_stride[i] = (uint8_t)(map->element_stride[i] ? map->element_stride[i] : 1);
		if (i)
			e.stride[i - 1] = map->stride[i];
	}
	memcpy(out, &e, sizeof e);
	return TCB_OK;
}

enum tcb_status tcb_ptx_tensor_map_decode(const void *bytes, struct tcb_ptx_tensor_map *out, struct tcb_error *err)
{
	struct encoded e;

	memcpy(&e, bytes, sizeof e);
	if (e.magic != MAGIC || e.rank > TCB_PTX_TENSOR_RANK || e.type >= TCB_PTX_TYPE_END)
		return tcb_fail(err, TCB_E_FORMAT,
				"no tensor map that the emulator knows: it needs those of tcb_ptx_tensor_map_encode");
	*out = (struct tcb_ptx_tensor_map){ .type = (enum tcb_ptx_word)e.type,
					    .rank = e.rank,
					    .address = e.address,
					    .swizzle = e.swizzle,
					    .fill_nan = e.fill_nan };
	for (unsigned i = 0; i < e.rank; i++) {
		out->size[i] = (uint64_t)e.last[i] + 1;
		out->box[i] = e.box[i];
		out->element_stride[i] = e.element_stride[i];
		out->stride[i] = i ? e.stride[i - 1] : tcb_ptx_type_bits(out->type) / 8;
	}
	return check(out, err);
}

/* The table of values of tensormap.replace: element types (those with .ftz count as those without), swizzling. */
static const uint8_t element_types[] = { TCB_PTX_U8,   TCB_PTX_U16,  TCB_PTX_U32, TCB_PTX_S32, TCB_PTX_U64,
					 TCB_PTX_S64,  TCB_PTX_F16,  TCB_PTX_F32, TCB_PTX_F32, TCB_PTX_F64,
					 TCB_PTX_BF16, TCB_PTX_TF32, TCB_PTX_TF32 };
static const uint8_t swizzles[] = { 0, 32, 64, 128 };

/* A field that is a number out of a table. */
static enum tcb_status replace_choice(struct encoded *e, enum tcb_ptx_word field, uint64_t value, struct tcb_error *err)
{
	switch ((int)field) {
	case TCB_PTX_ELEMTYPE:
		if (value >= sizeof element_types)
			break;
		e->type = element_types[value];
		return TCB_OK;
	case TCB_PTX_SWIZZLE_MODE:
		if (value >= sizeof swizzles)
			break;
		e->swizzle = swizzles[value];
		return TCB_OK;
	case TCB_PTX_FILL_MODE:
		if (value > 1)
			break;
		e->fill_nan = (uint8_t)value;
		return TCB_OK;
	case TCB_PTX_INTERLEAVE_LAYOUT:
		if (value)
			break;
		return TCB_OK;
	}
	return tcb_fail(err, TCB_E_ILLEGAL, ".%s %llu is not a value that is emulated", tcb_ptx_word_text(field),
			(unsigned long long)value);
}

enum tcb_status tcb_ptx_tensor_map_replace(void *bytes, enum tcb_ptx_word field, unsigned ordinal, uint64_t value,
					   struct tcb_error *err)
{
	const unsigned dimensions = field == TCB_PTX_GLOBAL_STRIDE ? TCB_PTX_TENSOR_RANK - 1 : TCB_PTX_TENSOR_RANK;
	struct encoded e;

	memcpy(&e, bytes, sizeof e);
	if (ordinal >= dimensions)
		return tcb_fail(err, TCB_E_ILLEGAL, ".%s of dimension %u: there are %u", tcb_ptx_word_text(field),
				ordinal, dimensions);
	switch ((int)field) {
	case TCB_PTX_GLOBAL_ADDRESS:
		e.address = value;
		break;
	case TCB_PTX_RANK: /* one less than the dimensions */
		e.rank = (uint8_t)(value < TCB_PTX_TENSOR_RANK ? value + 1 : UINT8_MAX);
		break;
	case TCB_PTX_BOX_DIM:
		e.box[ordinal] = (uint16_t)(value <= 256 ? value : 0);
		break;
	case TCB_PTX_GLOBAL_DIM:
		e.last[ordinal] = (uint32_t)value - 1;
		break;
	case TCB_PTX_GLOBAL_STRIDE: /* of the next dimension, in bytes */
		e.stride[ordinal] = value;
		break;
	case TCB_PTX_ELEMENT_STRIDE:
		e.element_stride[ordinal] = (uint8_t)(value <= 8 ? value : UINT8_MAX);
		break;
	default:
		TCB_TRY(replace_choice(&e, field, value, err));
	}
	memcpy(bytes, &e, sizeof e);
	return TCB_OK;
}

uint32_t tcb_ptx_tensor_map_box_bytes(const struct tcb_ptx_tensor_map *map)
{
	uint32_t bytes = tcb_ptx_type_bits(map->type) / 8;

	for (unsigned i = 0; i < map->rank; i++) {
		unsigned step = map->element_stride[i] ? map->element_stride[i] : 1;

		bytes *= (map->box[i] + step - 1) / step;
	}
	return bytes;
}
