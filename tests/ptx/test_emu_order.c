/* SPDX-License-Identifier: MIT
 *
 * What an arrive, a release, an acquire and a fence order: the accesses of the
 * threads that execute them and of those that met these before.  Each pair of
 * kernels hands a tile from warp 0 to warp 1; the first has a race that is told
 * at the reading (or overwriting) warp, the second has none.
 */
#include "emu_bench.h"
#include "ptx_tools.h"

/* %r1 tid, %r2 lane, %r4 the tile, %r5 this lane's word of it, %r6 two mbarriers, %r7 a flag; %p1 lane 0, %p2 the last
 * warp; %d4 this thread's word of the result. */
#define HEAD                                                                                             \
	".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 q)\n{\n"           \
	".reg .b32 %r<20>; .reg .b64 %d<12>; .reg .pred %p<10>; .shared .align 8 .b64 bars[2];\n"        \
	".shared .align 4 .b32 flag; .shared .align 16 .b8 tile[512];\n"                                 \
	"ld.param.u64 %d1, [q]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; mov.u32 %r4, tile;\n"         \
	"mov.u32 %r6, bars; mov.u32 %r7, flag; shl.b32 %r8, %r1, 2; mul.wide.u32 %d2, %r1, 4;\n"         \
	"add.u64 %d4, %d1, %d2; shl.b32 %r9, %r2, 2; add.u32 %r5, %r4, %r9; mov.u32 %r10, 1;\n"          \
	"mov.u32 %r11, 0; setp.eq.u32 %p1, %r2, 0; mov.u32 %r12, %ntid.x; sub.u32 %r12, %r12, 33;\n"     \
	"setp.gt.u32 %p2, %r1, %r12; setp.eq.u32 %p3, %r1, 0;\n"                                         \
	"@!%p3 bra I; mbarrier.init.shared.b64 [%r6], COUNT; mbarrier.init.shared.b64 [%r6+8], COUNT;\n" \
	"st.shared.u32 [%r7], %r11; st.shared.u32 [%r4+256], %r11; I: bar.sync 0;\n"                     \
	"@%p2 bra CONSUMER;\n"
#define ELSE "\nbra DONE;\nCONSUMER:\n"
#define TAIL "\nDONE: ret;\n}\n"
#define PUT "st.shared.u32 [%r5], %r1; "
#define GET "ld.shared.u32 %r13, [%r5]; st.global.u32 [%d4], %r13; "
#define MEET "bar.warp.sync 0xffffffff; "
#define ARRIVE(at) "mbarrier.arrive.shared.b64 %d5, [%r6+" at "]; "
#define WAIT(at, label)                                                      \
	label ": mbarrier.try_wait.parity.shared.b64 %p5, [%r6+" at "], 0; " \
	      "@!%p5 bra " label "; "
/* one of many lanes does it */
#define ONE(what, label) "@!%p1 bra " label "; " what label ": "
#define SPIN(load, label) label ": " load " %r14, [%r7]; setp.eq.u32 %p6, %r14, 0; @%p6 bra " label "; "

#define SIXTH "setp.eq.u32 %p8, %r2, 5; @!%p8 bra C; " ARRIVE("0") "C: "

static const struct pair {
	const char *name, *bad, *good;
	unsigned threads;
	const char *count; /* of arrivals */
	const char *told;  /* by the message of the first; NULL: anything */
} pairs[] = {
	{ "one lane arrives for all that stored", PUT ONE(ARRIVE("0"), "A") ELSE WAIT("0", "W") GET,
	  PUT MEET ONE(ARRIVE("0"), "A") ELSE WAIT("0", "W") GET, 64, "1", "bar.warp.sync before it" },
	{ "one lane of two warps arrives",
	  "st.shared.u32 [%r5], %r10; @!%p3 bra A; " ARRIVE("0") "A:" ELSE WAIT("0", "W") GET,
	  PUT MEET ONE(ARRIVE("0"), "A") ELSE WAIT("0", "W") GET, 64, "1", NULL },
	{ "each warp's lane arrives for its warp",
	  "add.u32 %r5, %r4, %r8; " PUT ONE(ARRIVE("0"), "A") ELSE WAIT("0", "W") GET "ld.shared.u32 %r13, [%r5+128];",
	  "add.u32 %r5, %r4, %r8; " PUT MEET ONE(ARRIVE("0"), "A") ELSE WAIT("0", "W") GET
	  "ld.shared.u32 %r13, [%r5+128];",
	  96, "2", "bar.warp.sync before it" },
	{ "a shuffle is no meeting",
	  PUT "shfl.sync.idx.b32 %r15, %r1, 0, 31, 0xffffffff; " ONE(ARRIVE("0"), "A") ELSE WAIT("0", "W") GET,
	  PUT "shfl.sync.idx.b32 %r15, %r1, 0, 31, 0xffffffff; " MEET ONE(ARRIVE("0"), "A") ELSE WAIT("0", "W") GET, 64,
	  "1", NULL },
	{ "half a warp stores, and half of it arrives",
	  PUT "setp.lt.u32 %p7, %r2, 16; @!%p7 bra A; " ARRIVE("0") "A:" ELSE WAIT("0", "W") GET,
	  "setp.lt.u32 %p7, %r2, 16; @!%p7 bra A; " PUT ARRIVE("0") "A:" ELSE WAIT("0", "W") "setp.lt.u32 %p7, %r2, "
											     "16; @!%p7 bra "
											     "DONE; " GET,
	  64, "16", NULL },
	{ "one lane releases a flag for all",
	  PUT ONE("st.release.cta.shared.u32 [%r7], %r10; ", "A") ELSE SPIN("ld.acquire.cta.shared.u32", "W") GET,
	  PUT MEET ONE("st.release.cta.shared.u32 [%r7], %r10; ", "A") ELSE SPIN("ld.acquire.cta.shared.u32", "W") GET,
	  64, "1", "bar.warp.sync before it" },
	{ "one lane releases by an atomic",
	  PUT ONE("atom.release.cta.shared.exch.b32 %r15, [%r7], 1; ", "A") ELSE SPIN("ld.acquire.cta.shared.u32", "W")
		  GET,
	  PUT MEET ONE("atom.release.cta.shared.exch.b32 %r15, [%r7], 1; ", "A")
		  ELSE SPIN("ld.acquire.cta.shared.u32", "W") GET,
	  64, "1", NULL },
	{ "all fence and one says so, or one fences for all that met",
	  PUT "fence.acq_rel.cta; " ONE("st.relaxed.cta.shared.u32 [%r7], %r10; ", "A")
		  ELSE SPIN("ld.acquire.cta.shared.u32", "W") GET,
	  PUT MEET ONE("fence.acq_rel.cta; st.relaxed.cta.shared.u32 [%r7], %r10; ", "A")
		  ELSE SPIN("ld.acquire.cta.shared.u32", "W") GET,
	  64, "1", NULL },
	{ "one lane acquires for all that read",
	  PUT MEET ONE("st.release.cta.shared.u32 [%r7], %r10; ", "A")
		  ELSE ONE(SPIN("ld.acquire.cta.shared.u32", "W"), "B") GET,
	  PUT MEET ONE("st.release.cta.shared.u32 [%r7], %r10; ", "A")
		  ELSE ONE(SPIN("ld.acquire.cta.shared.u32", "W"), "B") MEET GET,
	  64, "1", "bar.warp.sync behind that wait" },
	{ "one lane waits for all that read", PUT ARRIVE("0") ELSE ONE(WAIT("0", "W"), "B") GET,
	  PUT ARRIVE("0") ELSE ONE(WAIT("0", "W"), "B") MEET GET, 64, NULL, "bar.warp.sync behind that wait" },
	{ "one lane frees what all have read", /* the word of all, then written again */
	  WAIT("8", "W") "@!%p1 bra A; st.shared.u32 [%r4+256], %r10; A:" ELSE
			 "ld.shared.u32 %r13, [%r4+256]; st.global.u32 [%d4], %r13; " ONE(ARRIVE("8"), "B"),
	  WAIT("8", "W") "@!%p1 bra A; st.shared.u32 [%r4+256], %r10; A:" ELSE
			 "ld.shared.u32 %r13, [%r4+256]; st.global.u32 [%d4], %r13; " MEET ONE(ARRIVE("8"), "B"),
	  64, "1", NULL },
	{ "half a warp frees what all, or half of it, have read",
	  WAIT("8", "W") "@!%p1 bra A; st.shared.u32 [%r4+256], %r10; A:" ELSE
			 "ld.shared.u32 %r13, [%r4+256]; setp.lt.u32 %p7, %r2, 16; @!%p7 bra B; " ARRIVE("8") "B:",
	  WAIT("8", "W") "@!%p1 bra A; st.shared.u32 [%r4+256], %r10; A:" ELSE
			 "setp.lt.u32 %p7, %r2, 16; @!%p7 bra B; ld.shared.u32 %r13, [%r4+256]; " ARRIVE("8") "B:",
	  64, "16", NULL },
	{ "some lanes met and one of them, or another, releases",
	  PUT "setp.lt.u32 %p7, %r2, 31; @!%p7 bra A; bar.warp.sync 0x7fffffff; "
	      "@!%p1 bra A; " ARRIVE("0") "A:" ELSE WAIT("0", "W") GET,
	  PUT "setp.lt.u32 %p7, %r2, 31; @!%p7 bra A; bar.warp.sync 0x7fffffff; "
	      "@!%p1 bra A; " ARRIVE("0") "A:" ELSE WAIT("0", "W") "setp.gt.u32 %p7, %r2, 30; @%p7 bra DONE; " GET,
	  64, "1", NULL },
	{ "what one lane acquired another one hands on",
	  "@!%p3 bra Y; Y: setp.gt.u32 %p7, %r1, 31; @%p7 bra X; " PUT MEET ONE(
		  "st.release.cta.shared.u32 [%r7], %r10; ",
		  "A") "bra DONE; X: " ONE(SPIN("ld.acquire.cta.shared.u32", "W"), "B") SIXTH ELSE WAIT("0", "V") GET,
	  "@!%p3 bra Y; Y: setp.gt.u32 %p7, %r1, 31; @%p7 bra X; " PUT MEET ONE(
		  "st.release.cta.shared.u32 [%r7], %r10; ",
		  "A") "bra DONE; X: " ONE(SPIN("ld.acquire.cta.shared.u32", "W"), "B") MEET SIXTH ELSE WAIT("0", "V")
		  GET,
	  96, "1", NULL },
};

static void run(const struct pair *pair, const char *body, uint64_t seed, struct emu_bench *b)
{
	static uint32_t out[256];
	char count[96];
	struct tcb_str text = { 0 };

	snprintf(count, sizeof count, "%s", pair->count ? pair->count : "32");
	for (const char *at = HEAD, *next; at; at = next) {
		next = strstr(at, "COUNT");
		tcb_str_addf(&text, "%.*s%s", next ? (int)(next - at) : (int)strlen(at), at, next ? count : "");
		next = next ? next + 5 : NULL;
	}
	tcb_str_addf(&text, "%s%s", body, TAIL);
	emu_open(b, text.data, "k", pair->threads);
	tcb_str_fini(&text);
	b->launch.seed = seed;
	b->launch.step_limit = 100000;
	emu_buffer(b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run(b);
}

static void races_are_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		for (uint64_t seed = 0; seed < 4; seed++) {
			struct emu_bench b;

			run(&pairs[i], pairs[i].bad, seed, &b);
			if (!b.found[TCB_PTX_RULE_RACE])
				fail_msg("%s: not told (seed %d; %s)", pairs[i].name, (int)seed, b.first);
			if (pairs[i].told && !strstr(b.first, pairs[i].told))
				fail_msg("%s: told without \"%s\": %s", pairs[i].name, pairs[i].told, b.first);
			for (unsigned rule = 0; rule < TCB_PTX_RULE_COUNT; rule++)
				if (b.found[rule] && rule != TCB_PTX_RULE_RACE)
					fail_msg("%s: also %s", pairs[i].name, b.first);
			emu_close(&b);
		}
}

static void what_is_ordered_is_not_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		for (uint64_t seed = 0; seed < 8; seed++) {
			struct emu_bench b;

			run(&pairs[i], pairs[i].good, seed, &b);
			if (b.errors || b.warnings)
				fail_msg("%s, mended: %s", pairs[i].name, b.first);
			emu_close(&b);
		}
}

/* --- the launch before --- */

static void launched(const char *body, struct emu_bench *b)
{
	static uint32_t out[256];
	struct tcb_str text = { 0 };

	tcb_str_addf(&text,
		     ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 q)\n{\n"
		     ".reg .b32 %%r<9>; .reg .b64 %%d<9>; ld.param.u64 %%d1, [q]; mov.u32 %%r1, %%tid.x;\n"
		     "mul.wide.u32 %%d2, %%r1, 4; add.u64 %%d4, %%d1, %%d2; %s ret;\n}\n",
		     body);
	emu_open(b, text.data, "k", 64);
	tcb_str_fini(&text);
	emu_buffer(b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run(b);
}

/* Bytes that are read before griddepcontrol.wait and written behind it are an error, other ones of that memory a
 * warning, and what is read behind the wait is neither. */
static void reads_before_the_wait(void **state)
{
	struct emu_bench b;

	(void)state;
	launched("ld.global.u32 %r2, [%d4]; griddepcontrol.wait; st.global.u32 [%d4], %r2;", &b);
	assert_int_equal(b.found[TCB_PTX_RULE_GRIDDEPCONTROL], 1);
	assert_int_equal(b.errors, 1);
	emu_close(&b);
	/* the neighbour's word, by a warp that has not begun */
	launched("ld.global.u32 %r2, [%d1]; griddepcontrol.wait; st.global.u32 [%d4+512], %r2; bar.sync 0; "
		 ".reg .pred %p<2>; setp.eq.u32 %p1, %r1, 33; @%p1 st.global.u32 [%d1], %r2;",
		 &b);
	assert_int_equal(b.found[TCB_PTX_RULE_GRIDDEPCONTROL], 1);
	emu_close(&b);
	launched("ld.global.u32 %r2, [%d4]; griddepcontrol.wait; st.global.u32 [%d4+512], %r2;", &b);
	assert_int_equal(b.errors, 0);
	assert_int_equal(b.warnings, 1);
	emu_close(&b);
	launched("griddepcontrol.wait; ld.global.u32 %r2, [%d4]; st.global.u32 [%d4], %r2;", &b);
	assert_int_equal(b.errors + b.warnings, 0);
	emu_close(&b);
}

/* Whole kernels of tests/ptx/emulated, with the lines that read what was not handed over. */
static void kernels_by_file(void **state)
{
	static const struct {
		const char *file;
		unsigned threads, races;
	} cases[] = { { "onelane", 64, 2 }, { "onelane_ok", 64, 0 }, { "twowarps", 96, 2 } };
	static uint32_t in[128], out[32];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[512], *text;
		struct emu_bench b;

		snprintf(path, sizeof path, "%s/tests/ptx/emulated/%s.ptx", TCB_SOURCE_DIR, cases[i].file);
		text = ptx_read(path);
		assert_non_null(text);
		emu_open(&b, text, NULL, cases[i].threads);
		free(text);
		emu_buffer(&b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
		emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
		emu_run(&b);
		assert_int_equal(b.found[TCB_PTX_RULE_RACE], cases[i].races);
		assert_int_equal(b.errors + b.warnings, cases[i].races);
		if (cases[i].races)
			assert_int_equal(b.line, 43); /* and 44: the two ld.shared */
		emu_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(races_are_told),
		cmocka_unit_test(what_is_ordered_is_not_told),
		cmocka_unit_test(reads_before_the_wait),
		cmocka_unit_test(kernels_by_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
