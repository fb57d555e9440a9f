/* SPDX-License-Identifier: MIT
 *
 * The matrix units as functions of lanes: fragments in, fragments out, and the
 * addresses that a shared-memory matrix descriptor stands for.  The emulator's
 * handlers gather registers and memory around them; tests call them bare.
 *
 * Accuracy.  Integers are exact, then wrapped or clamped; f64 is a chain of
 * fused multiply-adds in the order of k.  Other floats do what tensor cores do:
 * products are exact; a group of them and the accumulator are cut, towards zero,
 * to a fixed number of bits below the largest exponent among them; the sum of
 * those is exact and becomes an f32 by cutting again (an f16 by rounding), the
 * accumulator of the next group.  On Hopper that is 25 bits and groups of 32
 * bytes for f16, bf16 and tf32, for mma.sync and wgmma alike; 13 bits, groups of
 * 32 and 13 bits of the f32 for the 8-bit floats of wgmma.  With these numbers
 * over 250,000 random results of an H200 came out bit for bit (some are in
 * tests/fixtures/ptx_h200_mma.txt, some as hashes in test_emu_wgmma.c).  Targets
 * before sm_90 get 24 bits and groups of 16 bytes, from Fasi, Higham, Mikaitis
 * and Pranesh, "Numerical behavior of NVIDIA tensor cores", 2021; not measured
 * here.  mma.sync of 8-bit and smaller floats is summed in double and rounded
 * once, to nearest; a GPU differs from that in the last bits.
 */
#ifndef TCB_PTX_EMU_MATRIX_H
#define TCB_PTX_EMU_MATRIX_H

#include "ptx/ir/ir.h"

/* D = A * B + C of one instruction. */
struct tcb_ptx_product {
	unsigned m, n, k;
	enum tcb_ptx_word d, a, b, c; /* types of the elements */
	int padded;                   /* kind::f8f6f4: an element has a byte to itself */
	int satfinite;                /* integers are clamped, not wrapped */
	int bit_and;                  /* of b1: and, not exclusive or */
	int packed;                   /* e2m1 in half a byte: kind::mxf4, kind::mxf4nvf4 */
	unsigned scales;              /* of a row of A, of a column of B: each of k / SCALES elements; 0: none */
	enum tcb_ptx_word scale_type; /* UE8M0, UE4M3 */
	/* how tensor cores add: products added at once, bits kept below their largest exponent, bits of an f32 that are
	 * kept of a sum; zeros: in double */
	unsigned group, fraction, mantissa;
};

enum { TCB_PTX_LANES = 32, TCB_PTX_FRAGMENT_REGS = 8 };
enum { TCB_PTX_PRODUCT_MAX_M = 64, TCB_PTX_PRODUCT_MAX_N = 256, TCB_PTX_PRODUCT_MAX_K = 256 };
enum { TCB_PTX_TENSOR_M = 16, TCB_PTX_TENSOR_K = 32 }; /* of what tensor cores add in their own way */

/* What mma.sync and wgmma.mma_async ask for; 0 when INS is neither. */
int tcb_ptx_product_of(const struct tcb_ptx_ins *ins, struct tcb_ptx_product *out);
/* Sets how the tensor cores of INS's target add. */
void tcb_ptx_product_sums(struct tcb_ptx_product *product, const struct tcb_ptx_ins *ins);
/* Bits that an element of TYPE takes in a register of A or B of wgmma or mma. */
unsigned tcb_ptx_element_bits(enum tcb_ptx_word type, int padded);
/* COUNT elements of TYPE packed in WORD, the lowest first, as doubles. */
void tcb_ptx_elements(enum tcb_ptx_word type, int padded, uint64_t word, unsigned count, double *out);
/* d[m][n] = A[m][k] * B[k][n] + c[m][n], each a value of D's type.  D may be C. */
void tcb_ptx_product_run(const struct tcb_ptx_product *product, const double *a, const double *b, const double *c,
			 double *d);
/* The bits of such a value, and back. */
uint64_t tcb_ptx_product_bits(const struct tcb_ptx_product *product, double value);
double tcb_ptx_product_value(const struct tcb_ptx_product *product, uint64_t bits);

/* --- emu_tensor_sums.c --- */

/* D += A * B as tensor cores add, in float, D of at most TCB_PTX_TENSOR_M rows; 0, and D is as it was: the numbers or
 * the shape are not such that float will do. */
int tcb_ptx_tensor_sums(const struct tcb_ptx_product *product, const float *a, const float *b, float *d);
/* The same on a processor that has AVX2. */
int tcb_ptx_tensor_sums_avx2(const struct tcb_ptx_product *product, const float *a, const float *b, float *d);

/* 16 bytes of TYPE (f16, bf16, tf32, or a smaller float) as floats. */
void tcb_ptx_near_chunk(enum tcb_ptx_word type, const uint8_t *bytes, float *out);

/* mma.sync: registers by number, then lane; each holds 32 bits (f64: 64).  D may be C. */
void tcb_ptx_mma(const struct tcb_ptx_product *product, uint64_t a[][TCB_PTX_LANES], uint64_t b[][TCB_PTX_LANES],
		 uint64_t c[][TCB_PTX_LANES], uint64_t d[][TCB_PTX_LANES]);

/* The same of f16, bf16 and tf32 whose numbers are such that float will do; 0: they are not, and D is untouched.
 * Registers are of 32 bits. */
int tcb_ptx_mma_near(const struct tcb_ptx_product *product, const uint32_t *const *a, const uint32_t *const *b,
		     const uint32_t *const *c, uint32_t d[][TCB_PTX_LANES]);

/* Which bytes of the lanes' words are scales. */
struct tcb_ptx_scales {
	const uint32_t *lanes;
	unsigned byte, thread; /* the first byte; which of a quad's pairs of lanes (A), or lanes (B) */
};

/* mma with block scaling, D = (A scales_a) (B scales_b) + C. */
void tcb_ptx_mma_scaled(const struct tcb_ptx_product *product, uint64_t a[][TCB_PTX_LANES], uint64_t b[][TCB_PTX_LANES],
			const struct tcb_ptx_scales *scales_a, const struct tcb_ptx_scales *scales_b,
			uint64_t c[][TCB_PTX_LANES], uint64_t d[][TCB_PTX_LANES]);

/* ldmatrix, stmatrix, movmatrix on one 8 x 8 matrix of 16-bit elements, its rows in ROWS: lane L holds elements
 * 2 (L mod 4) and the next of row L / 4, or of that column when TRANSPOSED. */
void tcb_ptx_matrix_load(uint16_t rows[8][8], int transposed, uint32_t lanes[TCB_PTX_LANES]);
void tcb_ptx_matrix_store(uint16_t rows[8][8], int transposed, const uint32_t lanes[TCB_PTX_LANES]);

/* --- wgmma --- */

/* The 64-bit matrix descriptor (PTX ISA, "Matrix Descriptor Format" of wgmma); all in bytes. */
struct tcb_ptx_matrix_descriptor {
	uint32_t start, leading, stride;
	unsigned base_offset; /* 128-byte rows from the pattern's own boundary to where it begins */
	unsigned swizzle;     /* 0, 32, 64, 128 */
};

struct tcb_ptx_matrix_descriptor tcb_ptx_matrix_descriptor(uint64_t bits);
uint64_t tcb_ptx_matrix_descriptor_bits(const struct tcb_ptx_matrix_descriptor *descriptor);
/* An address after the swizzling of 32, 64 or 128 bytes: chunks of 16 bytes, exchanged by the bits above 7. */
static inline uint32_t tcb_ptx_swizzle(uint32_t address, unsigned swizzle)
{
	return swizzle ? address ^ ((address >> 7 & (swizzle / 16 - 1)) << 4) : address;
}
/* Where the element at ROW (of A's M or B's N) and K lies.  K_MAJOR: k runs fastest, else M or N does. */
uint32_t tcb_ptx_matrix_address(const struct tcb_ptx_matrix_descriptor *descriptor, int k_major, unsigned bytes,
				unsigned row, unsigned k);
/* The same of all chunks of 16 bytes of ROWS rows from FIRST on, those of one row (K_MAJOR) or one k side by side;
 * returns how many there are. */
unsigned tcb_ptx_matrix_chunks(const struct tcb_ptx_matrix_descriptor *descriptor, int k_major, unsigned bytes,
			       unsigned first, unsigned rows, unsigned k, uint32_t *out);
/* Row and column of accumulator register REG (of 32-bit elements; halves: element 2 REG and the next) in lane LANE of
 * warp WARP of four. */
static inline unsigned tcb_ptx_wgmma_row(unsigned element, unsigned warp, unsigned lane)
{
	return 16 * warp + lane / 4 + 8 * (element / 2 % 2);
}
static inline unsigned tcb_ptx_wgmma_column(unsigned element, unsigned lane)
{
	return element / 4 * 8 + lane % 4 * 2 + element % 2;
}

#endif
