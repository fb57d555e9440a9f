/* SPDX-License-Identifier: MIT
 *
 * Tensor Memory in the emulator: each mistake with a twin that is right; and
 * tensor maps whose fields a kernel replaces.
 */
#include "emu_bench.h"
#include "ptx/ir/tensor_map.h"
#include "ptx_tools.h"

/* One warp for each 32 threads; %r1 tid, %r2 the address of what was allocated, %d4 this thread's word. */
#define HEAD                                                                                             \
	".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 q)\n{\n"         \
	".reg .b32 %r<20>; .reg .b64 %d<8>; .reg .pred %p<8>; .shared .align 16 .b32 slot;\n"            \
	"ld.param.u64 %d1, [q]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d4, %d1, %d2;\n" \
	"mov.u32 %r3, slot; setp.lt.u32 %p1, %r1, 32;\n"
#define ALLOC                                                                                             \
	"@!%p1 bra A; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 64; A: bar.sync 0; " \
	"ld.shared.u32 %r2, [%r3];\n"
#define FREE "bar.sync 0; @!%p1 bra F; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 64; F:\n"
#define OWN "and.b32 %r4, %r1, 96; shl.b32 %r4, %r4, 16; add.u32 %r5, %r2, %r4;\n" /* this warp's lanes */
#define PUT "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r5], {%r1, %r4}; tcgen05.wait::st.sync.aligned;\n"
#define GET "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r6}, [%r5]; "
#define WAIT "tcgen05.wait::ld.sync.aligned;\n"
#define STORE "st.global.u32 [%d4], %r6;\n"
#define TAIL "ret;\n}\n"

static const struct pair {
	const char *name, *bad, *good;
	enum tcb_ptx_rule rule;
} pairs[] = {
	{ "what is not given back", ALLOC OWN PUT GET WAIT STORE,
	  ALLOC OWN PUT GET STORE WAIT FREE, /* no wait before */
	  TCB_PTX_RULE_TENSOR_MEMORY },
	{ "columns beyond the allocation", ALLOC OWN PUT "add.u32 %r5, %r5, 64; " GET WAIT STORE FREE,
	  ALLOC OWN PUT "add.u32 %r5, %r5, 1; " GET WAIT STORE FREE, TCB_PTX_RULE_OUT_OF_BOUNDS },
	{ "lanes of another warp", ALLOC OWN "mov.u32 %r5, %r2; " PUT GET WAIT STORE FREE,
	  ALLOC OWN PUT GET WAIT STORE FREE, TCB_PTX_RULE_TENSOR_MEMORY },
	{ "a number of columns that there is not",
	  "@!%p1 bra A; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 48; A: bar.sync 0;\n",
	  ALLOC FREE, TCB_PTX_RULE_OUT_OF_BOUNDS },
	{ "more columns than there are",
	  "@!%p1 bra A; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 512;\n"
	  "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 32; A: bar.sync 0;\n",
	  ALLOC FREE, TCB_PTX_RULE_DEADLOCK },
	{ "an allocation behind the permit",
	  "@!%p1 bra R; tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; R:\n" ALLOC FREE,
	  ALLOC "@!%p1 bra R; tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; R:\n" FREE,
	  TCB_PTX_RULE_TENSOR_MEMORY },
	{ "words that nobody wrote", ALLOC OWN GET WAIT STORE FREE, ALLOC OWN PUT GET WAIT STORE FREE,
	  TCB_PTX_RULE_TENSOR_MEMORY },
	{ "a store that is not waited for",
	  ALLOC OWN "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r5], {%r1, %r4};" GET WAIT STORE FREE,
	  ALLOC OWN PUT GET WAIT STORE FREE, TCB_PTX_RULE_ASYNC_PENDING },
	{ "a store over what is still loaded, though its register was read",
	  ALLOC OWN PUT GET "add.u32 %r6, %r6, 0; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r5], {%r1};" WAIT STORE FREE,
	  ALLOC OWN PUT GET WAIT "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r5], {%r1};" STORE
				 "tcgen05.wait::st.sync.aligned;" FREE,
	  TCB_PTX_RULE_ASYNC_PENDING },
	{ "what is given back while others load",
	  ALLOC OWN PUT "@%p1 bra G; " GET WAIT
			"bra H; G: tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 64; mov.u32 %r6, 0; H: " STORE,
	  ALLOC OWN PUT "@%p1 bra G; " GET WAIT "bra H; G: mov.u32 %r6, 0; H: " STORE FREE,
	  TCB_PTX_RULE_OUT_OF_BOUNDS },
	{ "lanes below the second half",
	  ALLOC OWN PUT
	  "add.u32 %r5, %r5, 524288; tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r6}, [%r5]; " WAIT STORE FREE,
	  ALLOC OWN PUT
	  "add.u32 %r5, %r5, 1048576; tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r6}, [%r5]; " WAIT STORE FREE,
	  TCB_PTX_RULE_TENSOR_MEMORY },
	{ "columns beyond the allocation, by a wide shape",
	  ALLOC OWN PUT
	  "add.u32 %r5, %r5, 60; tcgen05.ld.sync.aligned.16x256b.x1.b32 {%r6, %r7, %r8, %r9}, [%r5];" WAIT STORE FREE,
	  ALLOC OWN PUT "tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r6}, [%r5];" WAIT STORE FREE,
	  TCB_PTX_RULE_OUT_OF_BOUNDS },
	{ "a commit that nobody counted on", /* the mbarrier is slot's place */
	  ".shared .align 8 .b64 bar; mov.u32 %r7, bar; setp.eq.u32 %p2, %r1, 0; @!%p2 bra I;\n"
	  "mbarrier.init.shared.b64 [%r7], 1; mbarrier.arrive.expect_tx.shared.b64 %d5, [%r7], 16;\n"
	  "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7]; I:\n",
	  ".shared .align 8 .b64 bar; mov.u32 %r7, bar; setp.eq.u32 %p2, %r1, 0; @!%p2 bra I;\n"
	  "mbarrier.init.shared.b64 [%r7], 1;\n"
	  "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7]; I: bar.sync 0;\n"
	  "W: mbarrier.try_wait.parity.shared.b64 %p3, [%r7], 0; @!%p3 bra W;\n",
	  TCB_PTX_RULE_MBARRIER },
};

static void run(const char *body, uint32_t *out, struct emu_bench *b)
{
	struct tcb_str text = { 0 };

	tcb_str_addf(&text, "%s%s%s", HEAD, body, TAIL);
	emu_open(b, text.data, "k", 128);
	tcb_str_fini(&text);
	b->launch.step_limit = 100000;
	b->launch.seed = 3;
	emu_buffer(b, "out", out, 128 * sizeof *out, TCB_PTX_MAY_WRITE);
	emu_run(b);
}

static void mistakes_are_told(void **state)
{
	uint32_t out[128];
	struct emu_bench b;

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		run(pairs[i].bad, out, &b);
		if (!b.found[pairs[i].rule])
			fail_msg("%s: not told (%s)", pairs[i].name, b.first);
		emu_close(&b);
		run(pairs[i].good, out, &b);
		if (b.errors || b.warnings)
			fail_msg("%s, mended: %s", pairs[i].name, b.first);
		emu_close(&b);
	}
}

/* What a thread stores it reads again, in the column that is asked for. */
static void words_come_back(void **state)
{
	uint32_t out[128];
	struct emu_bench b;

	(void)state;
	run(ALLOC OWN PUT GET WAIT STORE FREE, out, &b);
	for (uint32_t i = 0; i < 128; i++)
		assert_int_equal(out[i], i);
	emu_close(&b);
	run(ALLOC OWN PUT "add.u32 %r5, %r5, 1; " GET WAIT STORE FREE, out, &b);
	for (uint32_t i = 0; i < 128; i++)
		assert_int_equal(out[i], i / 32 * 32 << 16);
	emu_close(&b);
}

/* --- tensor maps --- */

static void replace(uint8_t *map, enum tcb_ptx_word field, unsigned ordinal, uint64_t value)
{
	struct tcb_error err = { TCB_OK, "" };

	if (tcb_ptx_tensor_map_replace(map, field, ordinal, value, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static void fields_of_maps(void **state)
{
	struct tcb_ptx_tensor_map map = {
		.type = TCB_PTX_F32, .rank = 1, .address = 4096, .size = { 64 }, .box = { 32 }
	};
	struct tcb_error err = { TCB_OK, "" };
	uint8_t bytes[TCB_PTX_TENSOR_MAP_BYTES];

	(void)state;
	assert_int_equal(tcb_ptx_tensor_map_encode(&map, bytes, &err), TCB_OK);
	replace(bytes, TCB_PTX_GLOBAL_ADDRESS, 0, 8192);
	replace(bytes, TCB_PTX_RANK, 0, 1);
	replace(bytes, TCB_PTX_GLOBAL_DIM, 1, 100);
	replace(bytes, TCB_PTX_GLOBAL_STRIDE, 0, 256);
	replace(bytes, TCB_PTX_BOX_DIM, 1, 8);
	replace(bytes, TCB_PTX_ELEMENT_STRIDE, 1, 1);
	replace(bytes, TCB_PTX_ELEMTYPE, 0, 10);
	replace(bytes, TCB_PTX_SWIZZLE_MODE, 0, 2);
	replace(bytes, TCB_PTX_FILL_MODE, 0, 1);
	replace(bytes, TCB_PTX_INTERLEAVE_LAYOUT, 0, 0);
	assert_int_equal(tcb_ptx_tensor_map_decode(bytes, &map, &err), TCB_OK);
	assert_int_equal(map.address, 8192);
	assert_int_equal(map.rank, 2);
	assert_int_equal(map.size[0], 64);
	assert_int_equal(map.size[1], 100);
	assert_int_equal(map.stride[1], 256);
	assert_int_equal(map.box[1], 8);
	assert_int_equal(map.type, TCB_PTX_BF16);
	assert_int_equal(map.swizzle, 64);
	assert_int_equal(map.fill_nan, 1);
	assert_int_equal(tcb_ptx_tensor_map_replace(bytes, TCB_PTX_ELEMTYPE, 0, 99, &err), TCB_E_ILLEGAL);
	assert_int_equal(tcb_ptx_tensor_map_replace(bytes, TCB_PTX_GLOBAL_STRIDE, 4, 16, &err), TCB_E_ILLEGAL);
	/* what no map can hold is found by who takes it */
	replace(bytes, TCB_PTX_BOX_DIM, 1, 1000);
	assert_int_not_equal(tcb_ptx_tensor_map_decode(bytes, &map, &err), TCB_OK);
}

/* The whole kernels tmapr.ptx and tc5.ptx of tests/ptx/emulated. */
static void kernels_by_file(void **state)
{
	struct tcb_ptx_tensor_map map = {
		.type = TCB_PTX_F32, .rank = 1, .address = 4096, .size = { 64 }, .box = { 32 }
	};
	struct tcb_error err = { TCB_OK, "" };
	const uint64_t address = 65536;
	uint8_t bytes[TCB_PTX_TENSOR_MAP_BYTES];
	uint32_t word[32] = { 0 };
	struct emu_bench b;
	char *text;

	(void)state;
	assert_int_equal(tcb_ptx_tensor_map_encode(&map, bytes, &err), TCB_OK);
	text = ptx_read(TCB_SOURCE_DIR "/tests/ptx/emulated/tmapr.ptx");
	emu_open(&b, text, NULL, 32);
	free(text);
	emu_buffer(&b, "map", bytes, sizeof bytes, TCB_PTX_MAY_WRITE);
	emu_param(&b, &address, sizeof address);
	emu_run(&b);
	if (b.errors || b.warnings)
		fail_msg("%s", b.first);
	assert_int_equal(tcb_ptx_tensor_map_decode(bytes, &map, &err), TCB_OK);
	assert_int_equal(map.address, address);
	assert_int_equal(map.size[0], 64);
	emu_close(&b);
	text = ptx_read(TCB_SOURCE_DIR "/tests/ptx/emulated/tc5.ptx");
	emu_open(&b, text, NULL, 32);
	free(text);
	emu_buffer(&b, "out", word, sizeof word, TCB_PTX_MAY_WRITE);
	emu_run(&b);
	assert_int_equal(b.errors, 0);
	assert_int_equal(b.found[TCB_PTX_RULE_TENSOR_MEMORY], 1); /* a warning: nobody wrote it */
	emu_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_are_told),
		cmocka_unit_test(words_come_back),
		cmocka_unit_test(fields_of_maps),
		cmocka_unit_test(kernels_by_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
