/* SPDX-License-Identifier: MIT
 *
 * tcgen05 in the emulator: loads and stores of all shapes against the manual's
 * strides, and products against sums in long double.  No GPU that has them was at
 * hand: what is held here is the text of the PTX ISA.
 */
#include <math.h>

#include "base/util.h"
#include "emu_bench.h"
#include "ptx/emulate/emu_float.h"
#include "ptx_tools.h"

/* 128 threads; %r1 tid, %r2 what was allocated, %r5 that with this warp's lanes, %d4 this thread's words. */
#define HEAD                                                                                                    \
	".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q)\n{\n" \
	".reg .b32 %r<20>; .reg .b32 %v<128>; .reg .b64 %d<12>; .reg .b16 %h<4>; .reg .pred %p<8>;\n"           \
	".shared .align 1024 .b8 tile[32768]; .shared .align 16 .b32 slot; .shared .align 8 .b64 bar;\n"        \
	"ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q]; mov.u32 %r1, %tid.x; mov.u32 %r3, slot;\n"               \
	"setp.lt.u32 %p1, %r1, 32; setp.eq.u32 %p2, %r1, 0; mov.u32 %r9, bar; mov.u32 %r10, tile;\n"            \
	"@!%p2 bra I; mbarrier.init.shared.b64 [%r9], 1; I: @!%p1 bra A;\n"                                     \
	"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 256; A: bar.sync 0;\n"                  \
	"ld.shared.u32 %r2, [%r3]; and.b32 %r4, %r1, 96; shl.b32 %r4, %r4, 16; add.u32 %r5, %r2, %r4;\n"
#define TAIL "bar.sync 0; @!%p1 bra F; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 256; F: ret;\n}\n"

enum { THREADS = 128, COLUMNS = 64 };

static void start(struct emu_bench *b, const char *text)
{
	emu_open(b, text, "k", THREADS);
	b->launch.seed = 5;
}

/* --- shapes --- */

/* PTX ISA 9.1, 9.7.16.2.3.1. */
static const struct shape {
	const char *name;
	unsigned rows, width, registers; /* bits and registers of one repetition */
	unsigned most;                   /* repetitions that are tried */
} shapes[] = {
	{ "32x32b", 32, 32, 1, 64 },  { "16x64b", 16, 64, 1, 32 },   { "16x128b", 16, 128, 2, 16 },
	{ "16x256b", 16, 256, 4, 8 }, { "16x32bx2", 16, 32, 1, 32 },
};

/* The place of a register as strides in bits: of the lane's digits and of the register's. */
static void place(const struct shape *s, unsigned number, unsigned lane, unsigned reg, unsigned *row, unsigned *column)
{
	const unsigned width = s->width * number; /* of a row */
	unsigned bit = lane % s->rows * width + reg * 32;

	if (s->width == 64)
		bit = lane % 2 * 8 * width + lane / 2 % 2 * 32 + lane / 4 * width + reg * 64;
	else if (s->width == 128)
		bit = lane % 4 * 32 + lane / 4 * width + reg % 2 * 8 * width + reg / 2 * 128;
	else if (s->width == 256)
		bit = lane % 4 * 64 + lane / 4 * width + reg % 2 * 32 + reg / 2 % 2 * 8 * width + reg / 4 * 256;
	*row = bit / width;
	*column = bit % width / 32;
}

static void add_registers(struct tcb_str *text, unsigned count)
{
	tcb_str_add(text, "{");
	for (unsigned r = 0; r < count; r++)
		tcb_str_addf(text, "%s%%v%u", r ? ", " : "", r);
	tcb_str_add(text, "}");
}

/* One load or store of shape S at %r6; the second half of two is HALF columns on. */
static void add_access(struct tcb_str *text, const struct shape *s, unsigned number, int is_load, int is_packed)
{
	const int has_halves = strcmp(s->name, "16x32bx2") == 0;
	const unsigned half = number * (is_packed ? 2 : 1) + 3, count = s->registers * number;

	tcb_str_addf(text, "tcgen05.%s.sync.aligned.%s.x%u%s.b32 ", is_load ? "ld" : "st", s->name, number,
		     !is_packed ? ""
		     : is_load  ? ".pack::16b"
				: ".unpack::16b");
	if (is_load)
		add_registers(text, count);
	tcb_str_add(text, is_load ? ", [%r6]" : "[%r6]");
	if (has_halves)
		tcb_str_addf(text, ", %u", half);
	if (!is_load) {
		tcb_str_add(text, ", ");
		add_registers(text, count);
	}
	tcb_str_addf(text, "; tcgen05.wait::%s.sync.aligned;\n", is_load ? "ld" : "st");
}

/* Each cell is loaded or stored as (thread << 16 | column) by the plain shape, which words_come_back holds. */
static void add_cells(struct tcb_str *text, int is_load)
{
	tcb_str_add(text, "shl.b32 %r7, %r1, 16;\n");
	for (unsigned c = 0; c < COLUMNS + 8; c++)
		tcb_str_addf(text,
			     is_load ? "add.u32 %%r6, %%r5, %u; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%%r8}, [%%r6]; "
				       "tcgen05.wait::ld.sync.aligned; st.global.u32 [%%d4+%u], %%r8;\n"
				     : "or.b32 %%r8, %%r7, %u; add.u32 %%r6, %%r5, %u; "
				       "tcgen05.st.sync.aligned.32x32b.x1.b32 [%%r6], {%%r8};\n",
			     c, is_load ? 4 * c : c);
	tcb_str_add(text, "tcgen05.wait::st.sync.aligned;\n");
}

enum { WORDS = COLUMNS + 8 };

/* What cell (ROW, COLUMN) of the shape's own is in Tensor Memory's columns, for one half of a pair. */
static unsigned cell_column(const struct shape *s, unsigned number, unsigned lane, unsigned column, int is_packed)
{
	const int is_second = strcmp(s->name, "16x32bx2") == 0 && lane >= 16;

	return column * (is_packed ? 2 : 1) + (is_second ? number * (is_packed ? 2 : 1) + 3 : 0);
}

static void check_load(const struct shape *s, unsigned number, unsigned half, int is_packed)
{
	const unsigned count = s->registers * number;
	static uint32_t out[THREADS * WORDS];
	struct tcb_str text = { 0 };
	struct emu_bench b;

	tcb_str_addf(&text, "%smul.wide.u32 %%d3, %%r1, %u; add.u64 %%d4, %%d2, %%d3;\n", HEAD, 4 * WORDS);
	add_cells(&text, 0);
	tcb_str_addf(&text, "add.u32 %%r6, %%r5, %u;\n", half << 20);
	add_access(&text, s, number, 1, is_packed);
	for (unsigned r = 0; r < count; r++)
		tcb_str_addf(&text, "st.global.u32 [%%d4+%u], %%v%u;\n", 4 * r, r);
	tcb_str_add(&text, TAIL);
	start(&b, text.data);
	tcb_str_fini(&text);
	emu_buffer(&b, "in", out, 4, TCB_PTX_MAY_WRITE);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run_clean(&b);
	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned r = 0; r < count; r++) {
			unsigned row, column;
			uint32_t wanted;

			place(s, number, t % 32, r, &row, &column);
			column = cell_column(s, number, t % 32, column, is_packed);
			row += t / 32 * 32 + 16 * half;
			wanted = is_packed ? column | (column + 1) << 16 : row << 16 | column;
			if (out[t * WORDS + r] != wanted)
				fail_msg("%s.x%u, thread %u, register %u: 0x%x, not 0x%x", s->name, number, t, r,
					 out[t * WORDS + r], wanted);
		}
	emu_close(&b);
}

static void check_store(const struct shape *s, unsigned number, unsigned half, int is_packed)
{
	const unsigned count = s->registers * number;
	static uint32_t out[THREADS * WORDS], wanted[THREADS * WORDS];
	struct tcb_str text = { 0 };
	struct emu_bench b;

	tcb_str_addf(&text, "%smul.wide.u32 %%d3, %%r1, %u; add.u64 %%d4, %%d2, %%d3;\n", HEAD, 4 * WORDS);
	add_cells(&text, 0);
	tcb_str_addf(&text, "add.u32 %%r6, %%r5, %u; shl.b32 %%r7, %%r1, 8; or.b32 %%r7, %%r7, 0x80000000;\n",
		     half << 20);
	for (unsigned r = 0; r < count; r++)
		tcb_str_addf(&text, "or.b32 %%v%u, %%r7, %u;\n", r, r);
	add_access(&text, s, number, 0, is_packed);
	add_cells(&text, 1);
	tcb_str_add(&text, TAIL);
	start(&b, text.data);
	tcb_str_fini(&text);
	emu_buffer(&b, "in", out, 4, TCB_PTX_MAY_WRITE);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run_clean(&b);
	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned c = 0; c < WORDS; c++)
			wanted[t * WORDS + c] = t << 16 | c;
	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned r = 0; r < count; r++) {
			const uint32_t value = 0x80000000 | t << 8 | r;
			unsigned row, column;
			uint32_t *cell;

			place(s, number, t % 32, r, &row, &column);
			cell = &wanted[(row + t / 32 * 32 + 16 * half) * WORDS +
				       cell_column(s, number, t % 32, column, is_packed)];
			cell[0] = is_packed ? value & 0xffff : value;
			if (is_packed)
				cell[1] = value >> 16;
		}
	assert_memory_equal(out, wanted, sizeof out);
	emu_close(&b);
}

static void shapes_are_those_of_the_manual(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (unsigned number = 1; number <= shapes[i].most; number *= 2)
			for (unsigned half = 0; half < (shapes[i].rows == 16 ? 2 : 1); half++) {
				check_load(&shapes[i], number, half, 0);
				check_store(&shapes[i], number, half, 0);
				if (number * 2 <= shapes[i].most) {
					check_load(&shapes[i], number, half, 1);
					check_store(&shapes[i], number, half, 1);
				}
			}
}

/* --- products --- */

enum { A_BYTES = 128 * 32, TILE_B = 16384, TILE_BYTES = 32768 };

/* A product; bits of the instruction descriptor are from table 42. */
struct product {
	const char *kind;
	enum tcb_ptx_word type;
	unsigned number; /* of the type, of A and of B */
	unsigned d_type; /* 0: f16, 1: f32, 2: s32 */
	unsigned m, n;
	unsigned swizzle; /* bytes */
	int a_transposed, b_transposed, a_negated;
	int a_in_tensor;
	unsigned first_lane; /* of M = 64 */
	unsigned scale;      /* of D */
	int is_masked;       /* lanes 3 and 40 are left out */
};

static const struct product products[] = {
	{ "f16", TCB_PTX_F16, 0, 1, 128, 64, .swizzle = 0 },
	{ "f16", TCB_PTX_F16, 0, 1, 128, 128, .swizzle = 128 },
	{ "f16", TCB_PTX_F16, 0, 1, 128, 256, .swizzle = 32 },
	{ "f16", TCB_PTX_BF16, 1, 1, 128, 32, .swizzle = 64 },
	{ "f16", TCB_PTX_BF16, 1, 1, 64, 40, .swizzle = 32, .first_lane = 16 },
	{ "f16", TCB_PTX_F16, 0, 0, 64, 16, .swizzle = 0 },
	{ "f16", TCB_PTX_F16, 0, 1, 128, 64, .swizzle = 128, .a_transposed = 1, .b_transposed = 1 },
	{ "f16", TCB_PTX_F16, 0, 1, 128, 64, .swizzle = 0, .b_transposed = 1, .a_negated = 1 },
	{ "f16", TCB_PTX_F16, 0, 1, 128, 32, .swizzle = 32, .a_in_tensor = 1 },
	{ "f16", TCB_PTX_F16, 0, 1, 128, 32, .swizzle = 32, .scale = 3 },
	{ "f16", TCB_PTX_F16, 0, 1, 128, 32, .swizzle = 32, .is_masked = 1 },
	{ "tf32", TCB_PTX_TF32, 2, 1, 128, 24, .swizzle = 128 },
	{ "tf32", TCB_PTX_TF32, 2, 1, 64, 64, .swizzle = 0, .a_in_tensor = 1 },
	{ "f8f6f4", TCB_PTX_E4M3, 0, 1, 128, 128, .swizzle = 128 },
	{ "f8f6f4", TCB_PTX_E5M2, 1, 0, 128, 16, .swizzle = 64 },
	{ "i8", TCB_PTX_S8, 1, 2, 128, 32, .swizzle = 32 },
};

static unsigned bytes_of(const struct product *p)
{
	return tcb_ptx_type_bits(p->type) / 8;
}

static unsigned k_of(const struct product *p)
{
	return 32 / bytes_of(p);
}

/* Where the chunk of 16 bytes number C of LINE lies in a tile of 32-byte lines along K (not transposed), or of lines of
 * ROWS along M or N: table of canonical layouts, 9.7.16.3.3, with strides in bytes. */
static size_t offset_of(unsigned swizzle, int transposed, unsigned line, unsigned byte, unsigned leading,
			unsigned stride)
{
	const unsigned width = swizzle ? swizzle : 16;
	size_t at = line % 8 * width + byte % width;

	if (transposed && !swizzle)
		at += line / 8 * leading + byte / width * stride;
	else
		at += line / 8 * stride + byte / width * leading;
	return swizzle ? at ^ ((at >> 7 & (swizzle / 16 - 1)) << 4) : at;
}

/* Strides of a tile of ROWS: leading and stride. */
static void strides_of(const struct product *p, int transposed, unsigned rows, unsigned *leading, unsigned *stride)
{
	const unsigned width = p->swizzle ? p->swizzle : 16, line = transposed ? rows * bytes_of(p) : 32;
	const unsigned lines = transposed ? k_of(p) : rows, patterns = (line + width - 1) / width;

	*stride = 8 * width; /* from eight lines to the next */
	*leading = (lines + 7) / 8 * 8 * width;
	if (transposed && !p->swizzle) { /* they change places */
		*leading = 8 * width * patterns;
		*stride = 8 * width;
	}
}

static uint64_t descriptor_of(const struct product *p, unsigned start, int transposed, unsigned rows)
{
	const uint64_t mode = p->swizzle == 128 ? 2 : p->swizzle == 64 ? 4 : p->swizzle == 32 ? 6 : 0;
	unsigned leading, stride;

	strides_of(p, transposed, rows, &leading, &stride);
	return start >> 4 | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 | 1ull << 46 | mode << 61;
}

static uint32_t instruction_of(const struct product *p)
{
	return p->d_type << 4 | p->number << 7 | p->number << 10 | (uint32_t)p->a_negated << 13 |
	       (uint32_t)p->a_transposed << 15 | (uint32_t)p->b_transposed << 16 | p->n / 8 << 17 | p->m / 16 << 24;
}

/* A number of small size, as bits of the product's type. */
static uint32_t number(struct tcb_rng *rng, const struct product *p, double *value)
{
	const double x = ((double)tcb_rng_below(rng, 2001) - 1000) / 256;
	uint32_t bits;

	if (p->type == TCB_PTX_S8) {
		*value = (double)(int)(tcb_rng_below(rng, 256)) - 128;
		return (uint32_t)(int)*value & 0xff;
	}
	bits = (uint32_t)tcb_ptx_float_narrow(p->type, x, TCB_PTX_RN, TCB_PTX_FLOAT_SATFINITE);
	*value = tcb_ptx_float_widen(p->type, bits);
	return bits;
}

/* Fills a tile of ROWS and keeps its numbers as [row][k]. */
static void fill(struct tcb_rng *rng, const struct product *p, int transposed, unsigned rows, uint8_t *tile,
		 double *values)
{
	unsigned leading, stride;

	strides_of(p, transposed, rows, &leading, &stride);
	for (unsigned row = 0; row < rows; row++)
		for (unsigned k = 0; k < k_of(p); k++) {
			const uint32_t bits = number(rng, p, &values[row * k_of(p) + k]);
			const unsigned line = transposed ? k : row, along = transposed ? row : k;

			memcpy(tile + offset_of(p->swizzle, transposed, line, along * bytes_of(p), leading, stride),
			       &bits, bytes_of(p));
		}
}

/* Words of the tile into shared memory, A's to Tensor Memory if it is there; D as (thread + column / 4) of f32 or s32,
 * two products, and D back to Q. */
static char *kernel_of(const struct product *p)
{
	struct tcb_str text = { 0 };

	tcb_str_addf(&text,
		     "%smul.wide.u32 %%d3, %%r1, 4; add.u64 %%d5, %%d1, %%d3; mov.u32 %%r6, %%r1;\n"
		     "C: shl.b32 %%r7, %%r6, 2; add.u32 %%r8, %%r10, %%r7; ld.global.u32 %%r11, [%%d5];\n"
		     "st.shared.u32 [%%r8], %%r11; add.u64 %%d5, %%d5, 512; add.u32 %%r6, %%r6, 128;\n"
		     "setp.lt.u32 %%p3, %%r6, %u; @%%p3 bra C; fence.proxy.async;\n",
		     HEAD, TILE_BYTES / 4);
	for (unsigned c = 0; c < 8 && p->a_in_tensor; c++) /* A, row by row, 32 bytes of each thread behind the tiles */
		tcb_str_addf(&text,
			     "mul.wide.u32 %%d6, %%r1, 32; add.u64 %%d6, %%d1, %%d6; ld.global.u32 %%r11, [%%d6+%u]; "
			     "add.u32 %%r6, %%r5, %u; tcgen05.st.sync.aligned.32x32b.x1.b32 [%%r6], {%%r11};\n",
			     TILE_BYTES + 4 * c, 200 + c);
	for (unsigned c = 0; c < (p->n < 200 ? p->n : 0); c++) /* D before */
		tcb_str_addf(&text,
			     "add.u32 %%r11, %%r1, %u; cvt.rn.f32.u32 %%r12, %%r11; %s add.u32 %%r6, %%r5, %u; "
			     "tcgen05.st.sync.aligned.32x32b.x1.b32 [%%r6], {%%r12};\n",
			     c / 4,
			     p->d_type == 2   ? "mov.b32 %r12, %r11;"
			     : p->d_type == 0 ? "cvt.rn.f16.f32 %h1, %r12; cvt.u32.u16 %r12, %h1;"
					      : "",
			     c);
	tcb_str_addf(&text,
		     "tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0;\n"
		     "tcgen05.fence::after_thread_sync; @!%%p2 bra M; mov.u32 %%r13, %u; mov.b32 %%r14, 0;\n"
		     "mov.u64 %%d7, %llu; mov.u64 %%d8, %llu; cvt.u64.u32 %%d9, %%r10; shr.u64 %%d9, %%d9, 4;\n"
		     "add.u64 %%d7, %%d7, %%d9; add.u64 %%d8, %%d8, %%d9; add.u32 %%r15, %%r2, %u; setp.%s.u32 %%p4, "
		     "%%r1, 0;\n",
		     instruction_of(p), (unsigned long long)descriptor_of(p, 0, p->a_transposed, p->m),
		     (unsigned long long)descriptor_of(p, TILE_B, p->b_transposed, p->n), p->first_lane << 16,
		     p->n < 200 ? "eq" : "ne");
	tcb_str_add(&text, "mov.u32 %r16, 8; mov.u32 %r17, 256;\n"); /* lanes 3 and 40 */
	if (p->a_in_tensor)
		tcb_str_addf(&text, "add.u32 %%r18, %%r2, %u;\n", 200 + (p->first_lane << 16));
	for (unsigned i = 0; i < 2; i++)
		tcb_str_addf(&text, "tcgen05.mma.cta_group::1.kind::%s [%%r15], %s, %%d8, %%r13%s, %s%s;\n", p->kind,
			     p->a_in_tensor ? "[%r18]" : "%d7", p->is_masked ? ", {%r16, %r17, %r14, %r14}" : "",
			     i ? "1" : "%p4",
			     !p->scale ? ""
			     : i       ? ", 0"
				       : ", 3");
	tcb_str_add(&text, "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9]; M:\n"
			   "W: mbarrier.try_wait.parity.shared.b64 %p5, [%r9], 0; @!%p5 bra W;\n"
			   "tcgen05.fence::after_thread_sync;\n");
	tcb_str_addf(&text, "mul.wide.u32 %%d3, %%r1, %u; add.u64 %%d4, %%d2, %%d3;\n", 4 * p->n);
	for (unsigned c = 0; c < p->n; c++)
		tcb_str_addf(&text,
			     "add.u32 %%r6, %%r5, %u; tcgen05.ld.sync.aligned.%s.x1.b32 {%%r11}, [%%r6]; "
			     "tcgen05.wait::ld.sync.aligned; st.global.u32 [%%d4+%u], %%r11;\n",
			     c, "32x32b", 4 * c);
	tcb_str_add(&text, "tcgen05.fence::before_thread_sync;\n" TAIL);
	return text.data;
}

/* D of row I and column J. */
static double expected(const struct product *p, const double *a, const double *b, unsigned thread, unsigned i,
		       unsigned j)
{
	const double before = p->n < 200 ? (double)(thread + j / 4) : 0, sign = p->a_negated ? -1 : 1;
	const double narrow =
		p->d_type == 0
			? tcb_ptx_float_widen(TCB_PTX_F16, tcb_ptx_float_narrow(TCB_PTX_F16, before, TCB_PTX_RN, 0))
			: before;
	double once = 0, d = narrow / (1 << p->scale);

	for (unsigned k = 0; k < k_of(p); k++)
		once += sign * a[i * k_of(p) + k] * b[j * k_of(p) + k];
	for (unsigned round = 0; round < 2; round++) {
		d += once;
		if (p->d_type != 2)
			d = tcb_ptx_float_widen(
				p->d_type ? TCB_PTX_F32 : TCB_PTX_F16,
				tcb_ptx_float_narrow(p->d_type ? TCB_PTX_F32 : TCB_PTX_F16, d, TCB_PTX_RN, 0));
	}
	return d;
}

static double result_of(const struct product *p, uint32_t bits)
{
	return p->d_type == 2   ? (double)(int32_t)bits
	       : p->d_type == 1 ? (double)tcb_ptx_float_of_bits(bits)
				: tcb_ptx_float_widen(TCB_PTX_F16, bits);
}

static void check_product(const struct product *p)
{
	static uint8_t in[TILE_BYTES + A_BYTES];
	static uint32_t out[THREADS * 256];
	static double a[128 * 32], b[256 * 32];
	struct tcb_rng rng;
	struct emu_bench bench;
	char *text = kernel_of(p);

	tcb_rng_init(&rng, 7);
	memset(in, 0, sizeof in);
	fill(&rng, p, p->a_transposed, p->m, in, a);
	fill(&rng, p, p->b_transposed, p->n, in + TILE_B, b);
	for (unsigned row = 0; row < p->m; row++) /* by lane of Tensor Memory */
		for (unsigned k = 0; k < k_of(p); k++) {
			const unsigned lane = p->m == 64 ? row / 16 * 32 + row % 16 + p->first_lane : row;
			const uint32_t bits =
				p->type == TCB_PTX_S8
					? (uint32_t)(int)a[row * k_of(p) + k]
					: (uint32_t)tcb_ptx_float_narrow(p->type, a[row * k_of(p) + k], TCB_PTX_RN, 0);

			memcpy(in + TILE_BYTES + 32 * lane + k * bytes_of(p), &bits, bytes_of(p));
		}
	start(&bench, text);
	free(text);
	emu_buffer(&bench, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	emu_buffer(&bench, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run(&bench);
	if (bench.errors || bench.warnings)
		fail_msg("%s, M %u, N %u: %s", p->kind, p->m, p->n, bench.first);
	for (unsigned i = 0; i < p->m; i++)
		for (unsigned j = 0; j < p->n; j++) {
			const unsigned lane = p->m == 64 ? i / 16 * 32 + i % 16 + p->first_lane : i;
			const int is_kept = p->is_masked && (lane == 3 || lane == 40);
			const double wanted = is_kept ? (double)(lane + j / 4) : expected(p, a, b, lane, i, j);
			const double got = result_of(p, out[lane * p->n + j]);

			if (!(fabs(got - wanted) <= 1e-6 * (1 + fabs(wanted))))
				fail_msg("%s, M %u, N %u, row %u, column %u: %.9g, not %.9g", p->kind, p->m, p->n, i, j,
					 got, wanted);
		}
	emu_close(&bench);
}

static void products_are_sums(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof products / sizeof *products; i++)
		check_product(&products[i]);
}

/* --- mistakes --- */

/* A is 128 x 16 of f16 at the tile's begin, B 16 columns behind it, neither swizzled. */
#define FILL                                                                                            \
	"mov.u32 %r6, %r1; C: shl.b32 %r7, %r6, 2; add.u32 %r8, %r10, %r7; mov.u32 %r11, 0x3c003c00;\n" \
	"st.shared.u32 [%r8], %r11; add.u32 %r6, %r6, 128; setp.lt.u32 %p3, %r6, 2048; @%p3 bra C;\n"
#define PROXY "fence.proxy.async;\n"
#define D_THERE "mov.u32 %r12, 0; add.u32 %r6, %r5, 3; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {%r12};\n"
#define STORED "tcgen05.wait::st.sync.aligned;\n"
#define MEET "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;\n"
/* idesc: f32 = f16 * f16, M 128, N 16; strides of 128 bytes from eight rows to the next */
#define OPERANDS                                                                                              \
	"mov.u32 %r13, 0x8040010; mov.u64 %d7, 0x400800800000; cvt.u64.u32 %d9, %r10; shr.u64 %d9, %d9, 4;\n" \
	"add.u64 %d7, %d7, %d9; add.u64 %d8, %d7, 256; mov.u64 %d10, 0x7ffffffff; setp.ne.u32 %p4, %r1, %r1;\n"
#define ISSUE "@!%p2 bra M; tcgen05.mma.cta_group::1.kind::f16 [%r2], %d7, %d8, %r13, %p4;\n"
#define COMMIT "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9]; "
#define JOIN "M:\n"
#define WAIT "W: mbarrier.try_wait.parity.shared.b64 %p5, [%r9], 0; @!%p5 bra W;\n"
#define AFTER "tcgen05.fence::after_thread_sync;\n"
#define LOAD                                                                                                         \
	"add.u32 %r6, %r5, 3; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r11}, [%r6]; tcgen05.wait::ld.sync.aligned;\n" \
	"mul.wide.u32 %d3, %r1, 4; add.u64 %d4, %d2, %d3; st.global.u32 [%d4], %r11;\n"
#define END "tcgen05.fence::before_thread_sync;\n" TAIL
#define GOOD HEAD FILL PROXY D_THERE STORED MEET OPERANDS ISSUE COMMIT JOIN WAIT AFTER LOAD END

static const struct mistake {
	const char *name, *text;
	enum tcb_ptx_rule rule;
} mistakes[] = {
	{ "nobody waits", HEAD FILL PROXY D_THERE STORED MEET OPERANDS ISSUE COMMIT JOIN LOAD WAIT END,
	  TCB_PTX_RULE_ASYNC_PENDING },
	{ "no commit", HEAD FILL PROXY D_THERE STORED MEET OPERANDS ISSUE JOIN END, TCB_PTX_RULE_ASYNC_PENDING },
	{ "no fence behind the wait", HEAD FILL PROXY D_THERE STORED MEET OPERANDS ISSUE COMMIT JOIN WAIT LOAD END,
	  TCB_PTX_RULE_TENSOR_MEMORY },
	{ "A is written before the wait",
	  HEAD FILL PROXY D_THERE STORED MEET OPERANDS ISSUE COMMIT JOIN
	  "st.shared.u32 [%r10], %r9;" WAIT AFTER LOAD END,
	  TCB_PTX_RULE_RACE },
	{ "no fence between the proxies", HEAD FILL D_THERE STORED MEET OPERANDS ISSUE COMMIT JOIN WAIT AFTER LOAD END,
	  TCB_PTX_RULE_PROXY_FENCE },
	{ "a store to D that was not waited for",
	  HEAD FILL PROXY D_THERE MEET OPERANDS ISSUE COMMIT JOIN WAIT AFTER LOAD END, TCB_PTX_RULE_ASYNC_PENDING },
	{ "a store to D of other warps",
	  HEAD FILL PROXY MEET D_THERE STORED OPERANDS ISSUE COMMIT JOIN WAIT AFTER LOAD END, TCB_PTX_RULE_RACE },
	{ "a store over D in flight",
	  HEAD FILL PROXY D_THERE STORED MEET OPERANDS ISSUE COMMIT JOIN D_THERE STORED WAIT AFTER LOAD END,
	  TCB_PTX_RULE_ASYNC_PENDING },
	{ "D at a lane of its middle",
	  HEAD FILL PROXY D_THERE STORED MEET OPERANDS
	  "add.u32 %r2, %r2, 1048576;" ISSUE COMMIT JOIN WAIT AFTER LOAD END,
	  TCB_PTX_RULE_TENSOR_MEMORY },
	{ "D beyond the allocation",
	  HEAD FILL PROXY D_THERE STORED MEET OPERANDS "add.u32 %r2, %r2, 248;" ISSUE COMMIT JOIN WAIT AFTER LOAD END,
	  TCB_PTX_RULE_OUT_OF_BOUNDS },
	{ "a type that there is not",
	  HEAD FILL PROXY D_THERE STORED MEET OPERANDS
	  "or.b32 %r13, %r13, 0x380;" ISSUE COMMIT JOIN WAIT AFTER LOAD END,
	  TCB_PTX_RULE_TENSOR_MEMORY },
	{ "a matrix descriptor of wgmma's",
	  HEAD FILL PROXY D_THERE STORED MEET OPERANDS
	  "and.b64 %d8, %d8, 0x3fffffffffff;" ISSUE COMMIT JOIN WAIT AFTER LOAD END,
	  TCB_PTX_RULE_TENSOR_MEMORY },
	{ "a sparse product",
	  HEAD FILL PROXY D_THERE STORED MEET OPERANDS "or.b32 %r13, %r13, 4;" ISSUE COMMIT JOIN WAIT AFTER LOAD END,
	  TCB_PTX_RULE_NOT_EMULATED },
	{ "it adds to what nobody wrote",
	  HEAD FILL PROXY D_THERE STORED MEET OPERANDS
	  "setp.eq.u32 %p4, %r1, %r1;" ISSUE COMMIT JOIN WAIT AFTER LOAD END,
	  TCB_PTX_RULE_TENSOR_MEMORY },
	{ "it is given back while a product writes",
	  HEAD FILL PROXY D_THERE STORED MEET OPERANDS ISSUE COMMIT JOIN
	  "@!%p1 bra X; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 256; X: ret; }\n",
	  TCB_PTX_RULE_ASYNC_PENDING },
};

static void run_text(struct emu_bench *b, const char *text, uint32_t *out)
{
	start(b, text);
	b->launch.step_limit = 100000;
	emu_buffer(b, "in", out, 4, TCB_PTX_MAY_WRITE);
	emu_buffer(b, "out", out, THREADS * sizeof *out, TCB_PTX_MAY_WRITE);
	emu_run(b);
}

static void mistakes_are_told(void **state)
{
	static uint32_t out[THREADS];
	struct emu_bench b;

	(void)state;
	run_text(&b, GOOD, out);
	if (b.errors || b.warnings)
		fail_msg("%s", b.first);
	for (unsigned i = 0; i < THREADS; i++)
		assert_true(tcb_ptx_float_of_bits(out[i]) == 16);
	emu_close(&b);
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		run_text(&b, mistakes[i].text, out);
		if (!b.found[mistakes[i].rule])
			fail_msg("%s: not told (%s)", mistakes[i].name, b.first);
		emu_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_are_those_of_the_manual),
		cmocka_unit_test(products_are_sums),
		cmocka_unit_test(mistakes_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
