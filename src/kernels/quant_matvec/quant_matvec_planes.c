/* SPDX-License-Identifier: MIT
 *
 * Weight layouts of q4k_matvec for GPUs: codes and headers in planes of their
 * own, so that a warp's lanes read consecutive bytes.  In: Q4_K blocks as
 * stored, N rows of K/256.  Out, as many bytes: 128 bytes of codes for each
 * block, then 16 bytes of header for each.
 *   p  both as stored
 *   s  byte i of sub-block j's 16 has value i in the low nibble and value
 *      i + 16 in the high one; the header is d, dmin and eight fields of 12 bits,
 *      scale + 64 min, field j from bit 12 j on
 */
#include <assert.h>
#include <string.h>

#include "kernels/formats.h"
#include "kernels/quant_matvec/quant_matvec.h"

enum { CODE_BYTES = 128, HEADER_BYTES = 16, SUB_BLOCKS = 8, HALF = 16, SCALE_BYTES = 12 };

static void pack_codes(const uint8_t *in, uint8_t *out)
{
	for (unsigned j = 0; j < SUB_BLOCKS; j++)
		for (unsigned i = 0; i < HALF; i++) {
			const uint8_t *run = in + j / 2 * 32;
			const unsigned low = run[i] >> 4 * (j % 2) & 15, high = run[i + HALF] >> 4 * (j % 2) & 15;
			out[HALF * j + i] = (uint8_t)(low | high << 4);
		}
}

static void unpack_codes(const uint8_t *in, uint8_t *out)
{
	memset(out, 0, CODE_BYTES);
	for (unsigned j = 0; j < SUB_BLOCKS; j++)
		for (unsigned i = 0; i < HALF; i++) {
			const uint8_t byte = in[HALF * j + i];
			uint8_t *run = out + j / 2 * 32;
			run[i] = (uint8_t)(run[i] | (byte & 15) << 4 * (j % 2));
			run[i + HALF] = (uint8_t)(run[i + HALF] | byte >> 4 << 4 * (j % 2));
		}
}

/* Two fields make three bytes. */
static void pack_header(const uint8_t *in, uint8_t *out)
{
	uint8_t scale[SUB_BLOCKS], min[SUB_BLOCKS];
	memcpy(out, in, 4);
	tcb_k_scales(in + 4, scale, min);
	for (unsigned j = 0; j < SUB_BLOCKS; j += 2) {
		const unsigned even = scale[j] | min[j] << 6, odd = scale[j + 1] | min[j + 1] << 6;
		uint8_t *field = out + 4 + 3 * j / 2;
		field[0] = (uint8_t)even;
		field[1] = (uint8_t)(even >> 8 | odd << 4);
		field[2] = (uint8_t)(odd >> 4);
	}
}

static void unpack_header(const uint8_t *in, uint8_t *out)
{
	uint8_t scale[SUB_BLOCKS], min[SUB_BLOCKS];
	memcpy(out, in, 4);
	for (unsigned j = 0; j < SUB_BLOCKS; j += 2) {
		const uint8_t *field = in + 4 + 3 * j / 2;
		const unsigned even = field[0] | (field[1] & 15u) << 8, odd = field[1] >> 4 | (unsigned)field[2] << 4;
		scale[j] = even & 63;
		min[j] = (uint8_t)(even >> 6);
		scale[j + 1] = odd & 63;
		min[j + 1] = (uint8_t)(odd >> 6);
	}
	tcb_k_scales_pack(scale, min, out + 4);
}

void q4k_plane_pack(enum tcb_layout layout, size_t n, size_t k, const void *weights, void *packed)
{
	const size_t blocks = n * (k / Q4K_BLOCK_VALUES);
	const uint8_t *in = weights;
	uint8_t *codes = packed, *headers = codes + blocks * CODE_BYTES;
	assert(layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S);
	for (size_t b = 0; b < blocks; b++, in += Q4K_BLOCK_BYTES, codes += CODE_BYTES, headers += HEADER_BYTES) {
		if (layout == TCB_LAYOUT_P) {
			memcpy(headers, in, HEADER_BYTES);
			memcpy(codes, in + HEADER_BYTES, CODE_BYTES);
		} else {
			pack_header(in, headers);
			pack_codes(in + HEADER_BYTES, codes);
		}
	}
}

void q4k_plane_unpack(enum tcb_layout layout, size_t n, size_t k, const void *packed, void *weights)
{
	const size_t blocks = n * (k / Q4K_BLOCK_VALUES);
	const uint8_t *codes = packed, *headers = codes + blocks * CODE_BYTES;
	uint8_t *out = weights;
	assert(layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S);
	for (size_t b = 0; b < blocks; b++, out += Q4K_BLOCK_BYTES, codes += CODE_BYTES, headers += HEADER_BYTES) {
		if (layout == TCB_LAYOUT_P) {
			memcpy(out, headers, HEADER_BYTES);
			memcpy(out + HEADER_BYTES, codes, CODE_BYTES);
		} else {
			unpack_header(headers, out);
			unpack_codes(codes, out + HEADER_BYTES);
		}
	}
}
