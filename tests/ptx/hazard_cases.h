/* SPDX-License-Identifier: MIT
 *
 * Small kernels of 256 threads with barriers that are needed or not, and races:
 * for the tests of hazards, of barrier removal and of the emulator.
 */
#ifndef TCB_TESTS_HAZARD_CASES_H
#define TCB_TESTS_HAZARD_CASES_H

#define HAZARD_KERNEL(body)                                                                                 \
	".version 8.0\n.target sm_80\n.address_size 64\n"                                                   \
	".visible .entry k(.param .u64 .ptr .global .align 16 out, .param .u32 n)\n.reqntid 256, 1, 1\n{\n" \
	"\t.reg .b32 %r<32>;\n\t.reg .b64 %d<8>;\n\t.reg .pred %p<8>;\n"                                    \
	"\t.shared .align 16 .b8 tile[8192];\n\t.shared .align 16 .b8 other[4096];\n"                       \
	"\tld.param.u64 %d0, [out];\n\tld.param.u32 %r0, [n];\n"                                            \
	"\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, tile;\n\tmov.u32 %r3, other;\n"                             \
	"\tmad.lo.u32 %r4, %r1, 4, %r2;\n"                           /* tile[tid] */                        \
	"\tsub.u32 %r5, 255, %r1;\n\tmad.lo.u32 %r6, %r5, 4, %r2;\n" /* tile[255 - tid] */                  \
	"\tmad.lo.u32 %r7, %r1, 4, %r3;\n"                           /* other[tid] */                       \
	"\tmad.lo.u32 %r8, %r5, 4, %r3;\n"                           /* other[255 - tid] */                 \
	"\tmad.wide.u32 %d1, %r1, 4, %d0;\n"                         /* out[tid] */                         \
	"\tmov.u32 %r9, 0;\n\tmov.u32 %r10, 0;\n\tmov.u32 %r11, 0;\n" body "\tst.global.u32 [%d1], %r9;\n\tret;\n}\n"

#define HAZARD_ROWS                                                                                              \
	"\tst.shared.u32 [%r4+1024], %r1;\n\tst.shared.u32 [%r4+2048], %r1;\n\tst.shared.u32 [%r4+3072], %r1;\n" \
	"\tst.shared.u32 [%r4+4096], %r1;\n\tbar.sync 0;\n"
#define HAZARD_NEXT                                                                                  \
	"\tst.shared.u32 [%r16], %r11;\n\tbar.sync 0;\n\tld.shared.u32 %r10, [%r21];\n"              \
	"\tld.shared.u32 %r12, [%r21+1024];\n\tadd.u32 %r9, %r9, %r10;\n\tadd.u32 %r9, %r9, %r12;\n" \
	"\tbar.sync 0;\n\tadd.u32 %r11, %r11, 1;\n\tsetp.lt.u32 %p0, %r11, %r0;\n\t@%p0 bra LOOP;\n"

/* X(name, barriers, redundant, race without them, body): RACE tells whether taking away all barriers makes a race that
 * is certain.  n is at least 4 and the same in all threads. */
#define HAZARD_CASES(X)                                                                                                \
	X(exchange, 1, 0, 1, "\tst.shared.u32 [%r4], %r1;\n\tbar.sync 0;\n\tld.shared.u32 %r9, [%r6];\n")              \
	X(own_word, 1, 1, 0, "\tst.shared.u32 [%r4], %r1;\n\tbar.sync 0;\n\tld.shared.u32 %r9, [%r4];\n")              \
	X(twice, 2, 1, 1, "\tst.shared.u32 [%r4], %r1;\n\tbar.sync 0;\n\tbar.sync 0;\n\tld.shared.u32 %r9, [%r6];\n")  \
	X(at_the_end, 2, 1, 1,                                                                                         \
	  "\tst.shared.u32 [%r4], %r1;\n\tbar.sync 0;\n\tld.shared.u32 %r9, [%r6];\n\tbar.sync 0;\n")                  \
	X(two_variables, 2, 1, 1,                                                                                      \
	  "\tst.shared.u32 [%r4], %r1;\n\tbar.sync 0;\n\tst.shared.u32 [%r7], %r1;\n\tbar.sync 0;\n"                   \
	  "\tld.shared.u32 %r9, [%r6];\n\tld.shared.u32 %r10, [%r8];\n\tadd.u32 %r9, %r9, %r10;\n")                    \
	X(overwrite, 2, 0, 1,                                                                                          \
	  "\tst.shared.u32 [%r4], %r1;\n\tbar.sync 0;\n\tld.shared.u32 %r9, [%r6];\n\tbar.sync 0;\n"                   \
	  "\tst.shared.u32 [%r4], %r9;\n")                                                                             \
	X(read_only, 2, 1, 1,                                                                                          \
	  "\tst.shared.u32 [%r4], %r1;\n\tbar.sync 0;\n\tld.shared.u32 %r9, [%r6];\n\tbar.sync 0;\n"                   \
	  "\tld.shared.u32 %r10, [%r4];\n\tadd.u32 %r9, %r9, %r10;\n")                                                 \
	X(loop_both, 2, 0, 1,                                                                                          \
	  "LOOP:\n\tst.shared.u32 [%r4], %r11;\n\tbar.sync 0;\n\tld.shared.u32 %r10, [%r6];\n\tbar.sync 0;\n"          \
	  "\tadd.u32 %r9, %r9, %r10;\n\tadd.u32 %r11, %r11, 1;\n\tsetp.lt.u32 %p0, %r11, %r0;\n\t@%p0 bra LOOP;\n")    \
	X(loop_own_word, 2, 2, 0,                                                                                      \
	  "LOOP:\n\tst.shared.u32 [%r4], %r11;\n\tbar.sync 0;\n\tld.shared.u32 %r10, [%r4];\n\tbar.sync 0;\n"          \
	  "\tadd.u32 %r9, %r9, %r10;\n\tadd.u32 %r11, %r11, 1;\n\tsetp.lt.u32 %p0, %r11, %r0;\n\t@%p0 bra LOOP;\n")    \
	X(loop_three, 3, 1, 1,                                                                                         \
	  "LOOP:\n\tst.shared.u32 [%r4], %r11;\n\tbar.sync 0;\n\tld.shared.u32 %r10, [%r6];\n\tbar.sync 0;\n"          \
	  "\tadd.u32 %r9, %r9, %r10;\n\tadd.u32 %r11, %r11, 1;\n\tbar.sync 0;\n\tsetp.lt.u32 %p0, %r11, %r0;\n"        \
	  "\t@%p0 bra LOOP;\n")                                                                                        \
	X(loop_rows, 1, 0, 1, /* 4 rows of 1 KiB, one per round, read back when all are written */                     \
	  "LOOP:\n\tst.shared.u32 [%r4], %r11;\n\tadd.u32 %r4, %r4, 1024;\n\tadd.u32 %r11, %r11, 1;\n"                 \
	  "\tsetp.lt.u32 %p0, %r11, 4;\n\t@%p0 bra LOOP;\n\tbar.sync 0;\n\tld.shared.u32 %r9, [%r6];\n")               \
	X(loop_own_rows, 1, 1, 0, /* each thread its own word of each row */                                           \
	  "LOOP:\n\tst.shared.u32 [%r4], %r11;\n\tbar.sync 0;\n\tadd.u32 %r4, %r4, 1024;\n"                            \
	  "\tadd.u32 %r11, %r11, 1;\n\tsetp.lt.u32 %p0, %r11, 4;\n\t@%p0 bra LOOP;\n")                                 \
	X(loop_next_row, 3, 1, 1, /* reads a row that others write in the next round */                                \
	  HAZARD_ROWS "LOOP:\n\tmad.lo.u32 %r16, %r11, 1024, %r4;\n\tmad.lo.u32 %r21, %r11, 1024, %r6;\n" HAZARD_NEXT) \
	X(loop_next_stage, 3, 1, 0, /* the same with two rows in turn */                                               \
	  HAZARD_ROWS "LOOP:\n\tand.b32 %r19, %r11, 1;\n\tmad.lo.u32 %r16, %r19, 1024, %r4;\n"                         \
		      "\tmad.lo.u32 %r21, %r19, 1024, %r6;\n" HAZARD_NEXT)                                             \
	X(one_writer, 1, 0, 1,                                                                                         \
	  "\tsetp.ne.u32 %p0, %r1, 0;\n\t@%p0 bra SKIP;\n\tst.shared.u32 [tile], %r0;\nSKIP:\n\tbar.sync 0;\n"         \
	  "\tld.shared.u32 %r9, [tile];\n")                                                                            \
	X(guarded_writer, 1, 0, 1,                                                                                     \
	  "\tsetp.eq.u32 %p0, %r1, 0;\n\t@%p0 st.shared.u32 [tile], %r0;\n\tbar.sync 0;\n"                             \
	  "\tld.shared.u32 %r9, [tile];\n")                                                                            \
	X(uniform_branch, 2, 1, 1, /* read behind the first barrier; nothing needs the second */                       \
	  "\tst.shared.u32 [%r4], %r1;\n\tsetp.eq.u32 %p0, %r0, 9;\n\t@%p0 bra SKIP;\n\tbar.sync 0;\n"                 \
	  "\tld.shared.u32 %r9, [%r6];\nSKIP:\n\tbar.sync 0;\n")                                                       \
	X(no_accesses, 3, 3, 0, "\tbar.sync 0;\n\tbarrier.sync 1;\n\tbar.sync 0;\n")                                   \
	X(unknown_address, 2, 0, 1,                                                                                    \
	  "\tst.shared.u32 [%r4], %r1;\n\tbar.sync 0;\n\tld.shared.u32 %r9, [%r6];\n\tbar.sync 0;\n"                   \
	  "\tand.b32 %r9, %r9, 255;\n\tmad.lo.u32 %r9, %r9, 4, %r2;\n\tst.shared.u32 [%r9], %r1;\n")                   \
	X(atomics, 2, 0, 1, /* they may tell others what came before */                                                \
	  "\tst.shared.u32 [%r4], %r1;\n\tbar.sync 0;\n\tatom.shared.add.u32 %r9, [tile], 1;\n\tbar.sync 0;\n"         \
	  "\tld.shared.u32 %r9, [%r4];\n")                                                                             \
	X(global_memory, 1, 0, 1, /* out[256 + tid], read by others */                                                 \
	  "\tmad.wide.u32 %d2, %r5, 4, %d0;\n\tst.global.u32 [%d1+1024], %r1;\n\tbar.sync 0;\n"                        \
	  "\tld.global.u32 %r9, [%d2+1024];\n")                                                                        \
	X(fence, 1, 0, 0, "\tst.shared.u32 [%r4], %r1;\n\tmembar.cta;\n\tbar.sync 0;\n\tld.shared.u32 %r9, [%r4];\n")  \
	X(half_the_block, 2, 0, 1, /* named barriers of some threads are left alone */                                 \
	  "\tst.shared.u32 [%r4], %r1;\n\tbar.sync 1, 256;\n\tld.shared.u32 %r9, [%r6];\n\tbar.sync 2, %r0;\n")

#endif
