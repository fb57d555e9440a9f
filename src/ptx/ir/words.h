/* SPDX-License-Identifier: MIT
 *
 * Every word that may follow a dot in PTX: types first, then modifiers, then
 * the special registers.  opcodes_core.c says where each word may stand.
 *
 * A modifier fills a slot of its instruction.  The slot given here is the
 * usual one; a row of the opcode table may name another ("bool=and|or").
 */
#ifndef TCB_PTX_WORDS_H
#define TCB_PTX_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* X(id, text, bits, class): what a register or a memory cell of the type holds. */
#define TCB_PTX_TYPE_LIST(X)           \
	X(PRED, "pred", 1, PRED)       \
	X(B8, "b8", 8, BITS)           \
	X(B16, "b16", 16, BITS)        \
	X(B32, "b32", 32, BITS)        \
	X(B64, "b64", 64, BITS)        \
	X(B128, "b128", 128, BITS)     \
	X(U8, "u8", 8, UINT)           \
	X(U16, "u16", 16, UINT)        \
	X(U32, "u32", 32, UINT)        \
	X(U64, "u64", 64, UINT)        \
	X(S8, "s8", 8, SINT)           \
	X(S16, "s16", 16, SINT)        \
	X(S32, "s32", 32, SINT)        \
	X(S64, "s64", 64, SINT)        \
	X(F16, "f16", 16, FLOAT)       \
	X(F16X2, "f16x2", 32, FLOAT)   \
	X(F32, "f32", 32, FLOAT)       \
	X(F64, "f64", 64, FLOAT)       \
	X(BF16, "bf16", 16, ALT)       \
	X(BF16X2, "bf16x2", 32, ALT)   \
	X(TF32, "tf32", 32, ALT)       \
	X(F32X2, "f32x2", 64, ALT)     \
	X(U16X2, "u16x2", 32, ALT)     \
	X(S16X2, "s16x2", 32, ALT)     \
	X(E4M3, "e4m3", 8, ALT)        \
	X(E5M2, "e5m2", 8, ALT)        \
	X(E3M2, "e3m2", 8, ALT)        \
	X(E2M3, "e2m3", 8, ALT)        \
	X(E2M1, "e2m1", 8, ALT)        \
	X(E4M3X2, "e4m3x2", 16, ALT)   \
	X(E5M2X2, "e5m2x2", 16, ALT)   \
	X(E3M2X2, "e3m2x2", 16, ALT)   \
	X(E2M3X2, "e2m3x2", 16, ALT)   \
	X(E2M1X2, "e2m1x2", 8, ALT)    \
	X(UE8M0X2, "ue8m0x2", 16, ALT) \
	X(B1, "b1", 1, ALT)            \
	X(U4, "u4", 4, ALT)            \
	X(S4, "s4", 4, ALT)

/* X(id, text, slot) */
#define TCB_PTX_MODIFIER_LIST(X)                                         \
	/* rounding */                                                   \
	X(RN, "rn", ROUND)                                               \
	X(RZ, "rz", ROUND)                                               \
	X(RM, "rm", ROUND)                                               \
	X(RP, "rp", ROUND)                                               \
	X(RNA, "rna", ROUND)                                             \
	X(RNI, "rni", ROUND)                                             \
	X(RZI, "rzi", ROUND)                                             \
	X(RMI, "rmi", ROUND)                                             \
	X(RPI, "rpi", ROUND)                                             \
	X(APPROX, "approx", APPROX)                                      \
	X(FULL, "full", APPROX)                                          \
	X(FTZ, "ftz", FTZ)                                               \
	X(NOFTZ, "noftz", FTZ)                                           \
	X(SAT, "sat", SAT)                                               \
	X(SATFINITE, "satfinite", SAT)                                   \
	X(RELU, "relu", RELU)                                            \
	X(NAN_, "NaN", NAN)                                              \
	X(XORSIGN, "xorsign", XORSIGN)                                   \
	X(ABS, "abs", ABS)                                               \
	X(CC, "cc", CARRY)                                               \
	/* comparisons */                                                \
	X(EQ, "eq", COMPARE)                                             \
	X(NE, "ne", COMPARE)                                             \
	X(LT, "lt", COMPARE)                                             \
	X(LE, "le", COMPARE)                                             \
	X(GT, "gt", COMPARE)                                             \
	X(GE, "ge", COMPARE)                                             \
	X(LO, "lo", COMPARE) /* also the low half of mul */              \
	X(LS, "ls", COMPARE)                                             \
	X(HI, "hi", COMPARE) /* also the high half of mul */             \
	X(HS, "hs", COMPARE)                                             \
	X(EQU, "equ", COMPARE)                                           \
	X(NEU, "neu", COMPARE)                                           \
	X(LTU, "ltu", COMPARE)                                           \
	X(LEU, "leu", COMPARE)                                           \
	X(GTU, "gtu", COMPARE)                                           \
	X(GEU, "geu", COMPARE)                                           \
	X(NUM, "num", COMPARE)                                           \
	X(NAN_CMP, "nan", COMPARE)                                       \
	X(WIDE, "wide", MODE)                                            \
	/* read-modify-write and reductions */                           \
	X(AND, "and", ATOMIC)                                            \
	X(OR, "or", ATOMIC)                                              \
	X(XOR, "xor", ATOMIC)                                            \
	X(ADD, "add", ATOMIC)                                            \
	X(INC, "inc", ATOMIC)                                            \
	X(DEC, "dec", ATOMIC)                                            \
	X(MIN, "min", ATOMIC)                                            \
	X(MAX, "max", ATOMIC)                                            \
	X(EXCH, "exch", ATOMIC)                                          \
	X(CAS, "cas", ATOMIC)                                            \
	X(POPC, "popc", ATOMIC)                                          \
	/* state spaces */                                               \
	X(CONST, "const", SPACE)                                         \
	X(GLOBAL, "global", SPACE)                                       \
	X(LOCAL, "local", SPACE)                                         \
	X(PARAM, "param", SPACE)                                         \
	X(PARAM_ENTRY, "param::entry", SPACE)                            \
	X(PARAM_FUNC, "param::func", SPACE)                              \
	X(SHARED, "shared", SPACE)                                       \
	X(SHARED_CTA, "shared::cta", SPACE)                              \
	X(SHARED_CLUSTER, "shared::cluster", SPACE)                      \
	/* memory model */                                               \
	X(WEAK, "weak", ORDER)                                           \
	X(RELAXED, "relaxed", ORDER)                                     \
	X(ACQUIRE, "acquire", ORDER)                                     \
	X(RELEASE, "release", ORDER)                                     \
	X(ACQ_REL, "acq_rel", ORDER)                                     \
	X(SC, "sc", ORDER)                                               \
	X(VOLATILE, "volatile", ORDER)                                   \
	X(CTA, "cta", SCOPE)                                             \
	X(CLUSTER, "cluster", SCOPE)                                     \
	X(GPU, "gpu", SCOPE)                                             \
	X(SYS, "sys", SCOPE)                                             \
	X(GL, "gl", SCOPE)                                               \
	/* caches */                                                     \
	X(CA, "ca", CACHE)                                               \
	X(CG, "cg", CACHE)                                               \
	X(CS, "cs", CACHE)                                               \
	X(LU, "lu", CACHE)                                               \
	X(CV, "cv", CACHE)                                               \
	X(WB, "wb", CACHE)                                               \
	X(WT, "wt", CACHE)                                               \
	X(NC, "nc", NONCOHERENT)                                         \
	X(L1_NORMAL, "L1::evict_normal", EVICT1)                         \
	X(L1_UNCHANGED, "L1::evict_unchanged", EVICT1)                   \
	X(L1_FIRST, "L1::evict_first", EVICT1)                           \
	X(L1_LAST, "L1::evict_last", EVICT1)                             \
	X(L1_NO_ALLOCATE, "L1::no_allocate", EVICT1)                     \
	X(L2_NORMAL, "L2::evict_normal", EVICT2)                         \
	X(L2_FIRST, "L2::evict_first", EVICT2)                           \
	X(L2_LAST, "L2::evict_last", EVICT2)                             \
	X(L2_UNCHANGED, "L2::evict_unchanged", EVICT2)                   \
	X(L2_HINT, "L2::cache_hint", HINT)                               \
	X(L2_64, "L2::64B", PREFETCH)                                    \
	X(L2_128, "L2::128B", PREFETCH)                                  \
	X(L2_256, "L2::256B", PREFETCH)                                  \
	X(LEVEL1, "L1", PREFETCH)                                        \
	X(LEVEL2, "L2", PREFETCH)                                        \
	X(TENSORMAP, "tensormap", PREFETCH)                              \
	/* vectors and matrices */                                       \
	X(V2, "v2", VECTOR)                                              \
	X(V4, "v4", VECTOR)                                              \
	X(V8, "v8", VECTOR)                                              \
	X(X1, "x1", MATRICES)                                            \
	X(X2, "x2", MATRICES)                                            \
	X(X4, "x4", MATRICES)                                            \
	X(X8, "x8", MATRICES)                                            \
	X(X16, "x16", MATRICES)                                          \
	X(X32, "x32", MATRICES)                                          \
	X(X64, "x64", MATRICES)                                          \
	X(X128, "x128", MATRICES)                                        \
	X(TRANS, "trans", TRANSPOSE)                                     \
	X(ROW, "row", LAYOUT)                                            \
	X(COL, "col", LAYOUT2)                                           \
	X(M8N8, "m8n8", SHAPE)                                           \
	X(M8N8K4, "m8n8k4", SHAPE)                                       \
	X(M8N8K16, "m8n8k16", SHAPE)                                     \
	X(M8N8K32, "m8n8k32", SHAPE)                                     \
	X(M8N8K128, "m8n8k128", SHAPE)                                   \
	X(M16N8K4, "m16n8k4", SHAPE)                                     \
	X(M16N8K8, "m16n8k8", SHAPE)                                     \
	X(M16N8K16, "m16n8k16", SHAPE)                                   \
	X(M16N8K32, "m16n8k32", SHAPE)                                   \
	X(M16N8K64, "m16n8k64", SHAPE)                                   \
	X(M16N8K128, "m16n8k128", SHAPE)                                 \
	X(M16N8K256, "m16n8k256", SHAPE)                                 \
	X(L32X32B, "32x32b", SHAPE)                                      \
	X(L16X64B, "16x64b", SHAPE)                                      \
	X(L16X128B, "16x128b", SHAPE)                                    \
	X(L16X256B, "16x256b", SHAPE)                                    \
	X(L16X32BX2, "16x32bx2", SHAPE)                                  \
	X(L4X256B, "4x256b", SHAPE)                                      \
	X(L32X128B, "32x128b", SHAPE)                                    \
	X(L64X128B, "64x128b", SHAPE)                                    \
	X(L128X128B, "128x128b", SHAPE)                                  \
	X(L128X256B, "128x256b", SHAPE)                                  \
	X(KIND_F16, "kind::f16", KIND)                                   \
	X(KIND_TF32, "kind::tf32", KIND)                                 \
	X(KIND_I8, "kind::i8", KIND)                                     \
	X(KIND_F8F6F4, "kind::f8f6f4", KIND)                             \
	X(KIND_MXF8F6F4, "kind::mxf8f6f4", KIND)                         \
	X(KIND_MXF4, "kind::mxf4", KIND)                                 \
	X(KIND_MXF4NVF4, "kind::mxf4nvf4", KIND)                         \
	X(BLOCK_SCALE, "block_scale", SCALED)                            \
	X(SCALE_VEC_1, "scale_vec::1X", SCALES)                          \
	X(SCALE_VEC_2, "scale_vec::2X", SCALES)                          \
	X(SCALE_VEC_4, "scale_vec::4X", SCALES)                          \
	X(BLOCK16, "block16", SCALES)                                    \
	X(BLOCK32, "block32", SCALES)                                    \
	X(UE8M0, "ue8m0", SCALE_TYPE)                                    \
	X(UE4M3, "ue4m3", SCALE_TYPE)                                    \
	X(PACK16, "pack::16b", PACK)                                     \
	X(UNPACK16, "unpack::16b", PACK)                                 \
	X(ASHIFT, "ashift", ASHIFT)                                      \
	X(COLLECT_A_FILL, "collector::a::fill", COLLECTOR)               \
	X(COLLECT_A_USE, "collector::a::use", COLLECTOR)                 \
	X(COLLECT_A_LASTUSE, "collector::a::lastuse", COLLECTOR)         \
	X(COLLECT_A_DISCARD, "collector::a::discard", COLLECTOR)         \
	X(COLLECT_B0_FILL, "collector::b0::fill", COLLECTOR)             \
	X(COLLECT_B0_USE, "collector::b0::use", COLLECTOR)               \
	X(COLLECT_B0_LASTUSE, "collector::b0::lastuse", COLLECTOR)       \
	X(COLLECT_B0_DISCARD, "collector::b0::discard", COLLECTOR)       \
	X(COLLECT_B1_FILL, "collector::b1::fill", COLLECTOR)             \
	X(COLLECT_B1_USE, "collector::b1::use", COLLECTOR)               \
	X(COLLECT_B1_LASTUSE, "collector::b1::lastuse", COLLECTOR)       \
	X(COLLECT_B1_DISCARD, "collector::b1::discard", COLLECTOR)       \
	X(COLLECT_B2_FILL, "collector::b2::fill", COLLECTOR)             \
	X(COLLECT_B2_USE, "collector::b2::use", COLLECTOR)               \
	X(COLLECT_B2_LASTUSE, "collector::b2::lastuse", COLLECTOR)       \
	X(COLLECT_B2_DISCARD, "collector::b2::discard", COLLECTOR)       \
	X(COLLECT_B3_FILL, "collector::b3::fill", COLLECTOR)             \
	X(COLLECT_B3_USE, "collector::b3::use", COLLECTOR)               \
	X(COLLECT_B3_LASTUSE, "collector::b3::lastuse", COLLECTOR)       \
	X(COLLECT_B3_DISCARD, "collector::b3::discard", COLLECTOR)       \
	X(WARPX2_02_13, "warpx2::02_13", WARPS)                          \
	X(WARPX2_01_23, "warpx2::01_23", WARPS)                          \
	X(WARPX4, "warpx4", WARPS)                                       \
	X(B8X16, "b8x16", UNPACKED)                                      \
	X(B6X16_P32, "b6x16_p32", PACKED)                                \
	X(B4X16_P64, "b4x16_p64", PACKED)                                \
	/* one of a kind */                                              \
	X(SYNC, "sync", SYNC)                                            \
	X(ALIGNED, "aligned", ALIGNED)                                   \
	X(UNI, "uni", UNIFORM)                                           \
	X(TO, "to", DIRECTION)                                           \
	X(L, "l", DIRECTION)                                             \
	X(R, "r", DIRECTION)                                             \
	X(CLAMP, "clamp", MODE)                                          \
	X(WRAP, "wrap", MODE)                                            \
	X(SHIFTAMT, "shiftamt", MODE)                                    \
	X(UP, "up", MODE)                                                \
	X(DOWN, "down", MODE)                                            \
	X(BFLY, "bfly", MODE)                                            \
	X(IDX, "idx", MODE)                                              \
	X(ALL, "all", MODE)                                              \
	X(ANY, "any", MODE)                                              \
	X(BALLOT, "ballot", MODE)                                        \
	X(F4E, "f4e", MODE)                                              \
	X(B4E, "b4e", MODE)                                              \
	X(RC8, "rc8", MODE)                                              \
	X(ECL, "ecl", MODE)                                              \
	X(ECR, "ecr", MODE)                                              \
	X(RC16, "rc16", MODE)                                            \
	X(FINITE, "finite", MODE)                                        \
	X(INFINITE, "infinite", MODE)                                    \
	X(NUMBER, "number", MODE)                                        \
	X(NOTANUMBER, "notanumber", MODE)                                \
	X(NORMAL, "normal", MODE)                                        \
	X(SUBNORMAL, "subnormal", MODE)                                  \
	X(NOINC, "noinc", MODE)                                          \
	X(NOCOMPLETE, "noComplete", MODE)                                \
	X(PARITY, "parity", MODE)                                        \
	X(READ, "read", MODE)                                            \
	X(WAIT, "wait", MODE)                                            \
	X(LAUNCH_DEPENDENTS, "launch_dependents", MODE)                  \
	X(MBARRIER_COMPLETE, "mbarrier::complete_tx::bytes", COMPLETION) \
	X(BULK_GROUP, "bulk_group", COMPLETION)                          \
	X(MULTICAST, "multicast::cluster", MULTICAST)                    \
	X(DIM1, "1d", DIMENSION)                                         \
	X(DIM2, "2d", DIMENSION)                                         \
	X(DIM3, "3d", DIMENSION)                                         \
	X(DIM4, "4d", DIMENSION)                                         \
	X(DIM5, "5d", DIMENSION)                                         \
	X(TILE, "tile", TENSOR_MODE)                                     \
	X(IM2COL, "im2col", TENSOR_MODE)                                 \
	X(IM2COL_NO_OFFS, "im2col_no_offs", TENSOR_MODE)                 \
	X(ALIAS, "alias", PROXY)                                         \
	X(ASYNC, "async", PROXY)                                         \
	X(TENSORMAP_GENERIC, "tensormap::generic", PROXY)                \
	X(MMIO, "mmio", MMIO)                                            \
	X(CTA_GROUP_1, "cta_group::1", CTA_GROUP)                        \
	X(CTA_GROUP_2, "cta_group::2", CTA_GROUP)                        \
	X(ARRIVE_ONE, "mbarrier::arrive::one", COMPLETION)               \
	/* fields of a tensor map */                                     \
	X(B1024, "b1024", MAP_BITS)                                      \
	X(GLOBAL_ADDRESS, "global_address", FIELD)                       \
	X(RANK, "rank", FIELD)                                           \
	X(BOX_DIM, "box_dim", FIELD)                                     \
	X(GLOBAL_DIM, "global_dim", FIELD)                               \
	X(GLOBAL_STRIDE, "global_stride", FIELD)                         \
	X(ELEMENT_STRIDE, "element_stride", FIELD)                       \
	X(ELEMTYPE, "elemtype", FIELD)                                   \
	X(INTERLEAVE_LAYOUT, "interleave_layout", FIELD)                 \
	X(SWIZZLE_MODE, "swizzle_mode", FIELD)                           \
	X(FILL_MODE, "fill_mode", FIELD)

/* X(id, text, type, least PTX version * 10, least sm): registers that hold what the hardware knows. */
#define TCB_PTX_SPECIAL_LIST(X)                                            \
	X(TID_X, "%tid.x", U32, 20, 0)                                     \
	X(TID_Y, "%tid.y", U32, 20, 0)                                     \
	X(TID_Z, "%tid.z", U32, 20, 0)                                     \
	X(NTID_X, "%ntid.x", U32, 20, 0)                                   \
	X(NTID_Y, "%ntid.y", U32, 20, 0)                                   \
	X(NTID_Z, "%ntid.z", U32, 20, 0)                                   \
	X(CTAID_X, "%ctaid.x", U32, 20, 0)                                 \
	X(CTAID_Y, "%ctaid.y", U32, 20, 0)                                 \
	X(CTAID_Z, "%ctaid.z", U32, 20, 0)                                 \
	X(NCTAID_X, "%nctaid.x", U32, 20, 0)                               \
	X(NCTAID_Y, "%nctaid.y", U32, 20, 0)                               \
	X(NCTAID_Z, "%nctaid.z", U32, 20, 0)                               \
	X(CLUSTERID_X, "%clusterid.x", U32, 78, 90)                        \
	X(CLUSTERID_Y, "%clusterid.y", U32, 78, 90)                        \
	X(CLUSTERID_Z, "%clusterid.z", U32, 78, 90)                        \
	X(NCLUSTERID_X, "%nclusterid.x", U32, 78, 90)                      \
	X(NCLUSTERID_Y, "%nclusterid.y", U32, 78, 90)                      \
	X(NCLUSTERID_Z, "%nclusterid.z", U32, 78, 90)                      \
	X(CLUSTER_CTAID_X, "%cluster_ctaid.x", U32, 78, 90)                \
	X(CLUSTER_CTAID_Y, "%cluster_ctaid.y", U32, 78, 90)                \
	X(CLUSTER_CTAID_Z, "%cluster_ctaid.z", U32, 78, 90)                \
	X(CLUSTER_NCTAID_X, "%cluster_nctaid.x", U32, 78, 90)              \
	X(CLUSTER_NCTAID_Y, "%cluster_nctaid.y", U32, 78, 90)              \
	X(CLUSTER_NCTAID_Z, "%cluster_nctaid.z", U32, 78, 90)              \
	X(CLUSTER_CTARANK, "%cluster_ctarank", U32, 78, 90)                \
	X(CLUSTER_NCTARANK, "%cluster_nctarank", U32, 78, 90)              \
	X(IS_EXPLICIT_CLUSTER, "%is_explicit_cluster", PRED, 78, 90)       \
	X(LANEID, "%laneid", U32, 13, 0)                                   \
	X(WARPID, "%warpid", U32, 13, 0)                                   \
	X(NWARPID, "%nwarpid", U32, 20, 20)                                \
	X(SMID, "%smid", U32, 13, 0)                                       \
	X(NSMID, "%nsmid", U32, 20, 20)                                    \
	X(GRIDID, "%gridid", U64, 30, 30)                                  \
	X(LANEMASK_EQ, "%lanemask_eq", U32, 20, 20)                        \
	X(LANEMASK_LE, "%lanemask_le", U32, 20, 20)                        \
	X(LANEMASK_LT, "%lanemask_lt", U32, 20, 20)                        \
	X(LANEMASK_GE, "%lanemask_ge", U32, 20, 20)                        \
	X(LANEMASK_GT, "%lanemask_gt", U32, 20, 20)                        \
	X(CLOCK, "%clock", U32, 10, 0)                                     \
	X(CLOCK_HI, "%clock_hi", U32, 50, 20)                              \
	X(CLOCK64, "%clock64", U64, 20, 20)                                \
	X(GLOBALTIMER, "%globaltimer", U64, 31, 30)                        \
	X(GLOBALTIMER_LO, "%globaltimer_lo", U32, 31, 30)                  \
	X(GLOBALTIMER_HI, "%globaltimer_hi", U32, 31, 30)                  \
	X(TOTAL_SMEM_SIZE, "%total_smem_size", U32, 41, 20)                \
	X(AGGR_SMEM_SIZE, "%aggr_smem_size", U32, 81, 90)                  \
	X(DYNAMIC_SMEM_SIZE, "%dynamic_smem_size", U32, 41, 20)            \
	X(ENVREG0, "%envreg0", U32, 21, 0)                                 \
	X(ENVREG1, "%envreg1", U32, 21, 0)                                 \
	X(ENVREG2, "%envreg2", U32, 21, 0)                                 \
	X(ENVREG3, "%envreg3", U32, 21, 0)                                 \
	X(ENVREG4, "%envreg4", U32, 21, 0)                                 \
	X(ENVREG5, "%envreg5", U32, 21, 0)                                 \
	X(ENVREG6, "%envreg6", U32, 21, 0)                                 \
	X(ENVREG7, "%envreg7", U32, 21, 0)                                 \
	X(ENVREG8, "%envreg8", U32, 21, 0)                                 \
	X(ENVREG9, "%envreg9", U32, 21, 0)                                 \
	X(ENVREG10, "%envreg10", U32, 21, 0)                               \
	X(ENVREG11, "%envreg11", U32, 21, 0)                               \
	X(ENVREG12, "%envreg12", U32, 21, 0)                               \
	X(ENVREG13, "%envreg13", U32, 21, 0)                               \
	X(ENVREG14, "%envreg14", U32, 21, 0)                               \
	X(ENVREG15, "%envreg15", U32, 21, 0)                               \
	X(ENVREG16, "%envreg16", U32, 21, 0)                               \
	X(ENVREG17, "%envreg17", U32, 21, 0)                               \
	X(ENVREG18, "%envreg18", U32, 21, 0)                               \
	X(ENVREG19, "%envreg19", U32, 21, 0)                               \
	X(ENVREG20, "%envreg20", U32, 21, 0)                               \
	X(ENVREG21, "%envreg21", U32, 21, 0)                               \
	X(ENVREG22, "%envreg22", U32, 21, 0)                               \
	X(ENVREG23, "%envreg23", U32, 21, 0)                               \
	X(ENVREG24, "%envreg24", U32, 21, 0)                               \
	X(ENVREG25, "%envreg25", U32, 21, 0)                               \
	X(ENVREG26, "%envreg26", U32, 21, 0)                               \
	X(ENVREG27, "%envreg27", U32, 21, 0)                               \
	X(ENVREG28, "%envreg28", U32, 21, 0)                               \
	X(ENVREG29, "%envreg29", U32, 21, 0)                               \
	X(ENVREG30, "%envreg30", U32, 21, 0)                               \
	X(ENVREG31, "%envreg31", U32, 21, 0)                               \
	X(RESERVED_SMEM_BEGIN, "%reserved_smem_offset_begin", U32, 76, 80) \
	X(RESERVED_SMEM_END, "%reserved_smem_offset_end", U32, 76, 80)     \
	X(RESERVED_SMEM_CAP, "%reserved_smem_offset_cap", U32, 76, 80)     \
	X(RESERVED_SMEM_0, "%reserved_smem_offset_0", U32, 76, 80)         \
	X(RESERVED_SMEM_1, "%reserved_smem_offset_1", U32, 76, 80)         \
	X(CURRENT_GRAPH_EXEC, "%current_graph_exec", U64, 80, 50)

enum tcb_ptx_word {
	TCB_PTX_NO_WORD,
#define TCB_PTX_TYPE_ENUM(id, text, bits, class) TCB_PTX_##id,
	TCB_PTX_TYPE_LIST(TCB_PTX_TYPE_ENUM)
#undef TCB_PTX_TYPE_ENUM
		TCB_PTX_TYPE_END, /* types are the words in [1, TYPE_END) */
	TCB_PTX_LAST_TYPE = TCB_PTX_TYPE_END - 1,
#define TCB_PTX_MODIFIER_ENUM(id, text, slot) TCB_PTX_##id,
	TCB_PTX_MODIFIER_LIST(TCB_PTX_MODIFIER_ENUM)
#undef TCB_PTX_MODIFIER_ENUM
	/* shapes m64nNkK of wgmma: N = 8, 16, ... 256 within each K of 8, 16, 32, 256 */
	TCB_PTX_WGMMA_K8,
	TCB_PTX_WGMMA_K16 = TCB_PTX_WGMMA_K8 + 32,
	TCB_PTX_WGMMA_K32 = TCB_PTX_WGMMA_K16 + 32,
	TCB_PTX_WGMMA_K256 = TCB_PTX_WGMMA_K32 + 32,
	TCB_PTX_WORD_COUNT = TCB_PTX_WGMMA_K256 + 32
};

enum tcb_ptx_class {
	TCB_PTX_CLASS_NONE,
	TCB_PTX_CLASS_PRED,
	TCB_PTX_CLASS_BITS,
	TCB_PTX_CLASS_UINT,
	TCB_PTX_CLASS_SINT,
	TCB_PTX_CLASS_FLOAT,
	TCB_PTX_CLASS_ALT /* instruction types only: registers that hold them are .b16, .b32 or .b64 */
};

enum tcb_ptx_special {
#define TCB_PTX_SPECIAL_ENUM(id, text, type, version, sm) TCB_PTX_SR_##id,
	TCB_PTX_SPECIAL_LIST(TCB_PTX_SPECIAL_ENUM)
#undef TCB_PTX_SPECIAL_ENUM
		TCB_PTX_SPECIAL_COUNT
};

#define TCB_PTX_SLOT_LIST(X) \
	X(TYPE)              \
	X(TYPE2)             \
	X(TYPE3)             \
	X(TYPE4)             \
	X(ROUND)             \
	X(APPROX)            \
	X(FTZ)               \
	X(SAT)               \
	X(RELU)              \
	X(NAN)               \
	X(XORSIGN)           \
	X(ABS)               \
	X(CARRY)             \
	X(COMPARE)           \
	X(BOOL)              \
	X(MODE)              \
	X(ATOMIC)            \
	X(SPACE)             \
	X(SPACE2)            \
	X(ORDER)             \
	X(SCOPE)             \
	X(CACHE)             \
	X(NONCOHERENT)       \
	X(EVICT1)            \
	X(EVICT2)            \
	X(HINT)              \
	X(PREFETCH)          \
	X(VECTOR)            \
	X(MATRICES)          \
	X(TRANSPOSE)         \
	X(LAYOUT)            \
	X(LAYOUT2)           \
	X(SHAPE)             \
	X(KIND)              \
	X(SCALED)            \
	X(SCALES)            \
	X(SCALE_TYPE)        \
	X(SYNC)              \
	X(ALIGNED)           \
	X(UNIFORM)           \
	X(DIRECTION)         \
	X(COMPLETION)        \
	X(MULTICAST)         \
	X(DIMENSION)         \
	X(TENSOR_MODE)       \
	X(PROXY)             \
	X(MMIO)              \
	X(CTA_GROUP)         \
	X(PACK)              \
	X(ASHIFT)            \
	X(COLLECTOR)         \
	X(WARPS)             \
	X(UNPACKED)          \
	X(PACKED)            \
	X(MAP_BITS)          \
	X(FIELD)

enum tcb_ptx_slot {
#define TCB_PTX_SLOT_ENUM(id) TCB_PTX_SLOT_##id,
	TCB_PTX_SLOT_LIST(TCB_PTX_SLOT_ENUM)
#undef TCB_PTX_SLOT_ENUM
		TCB_PTX_SLOT_COUNT
};

static inline int tcb_ptx_is_type(enum tcb_ptx_word word)
{
	return word > TCB_PTX_NO_WORD && word < TCB_PTX_TYPE_END;
}

/* words.c */
const char *tcb_ptx_word_text(enum tcb_ptx_word word);
unsigned tcb_ptx_type_bits(enum tcb_ptx_word type);
enum tcb_ptx_class tcb_ptx_type_class(enum tcb_ptx_word type);
const char *tcb_ptx_special_text(enum tcb_ptx_special special);
enum tcb_ptx_word tcb_ptx_special_type(enum tcb_ptx_special special);
/* Whether a thread may read another value the next time. */
int tcb_ptx_special_varies(enum tcb_ptx_special special);
/* The word or special register called TEXT (LENGTH bytes; special registers with their %); NO_WORD or
 * SPECIAL_COUNT when there is none. */
enum tcb_ptx_word tcb_ptx_word_find(const char *text, size_t length);
enum tcb_ptx_special tcb_ptx_special_find(const char *text, size_t length);
/* How many matrices or columns a word of the slot MATRICES stands for; 1 without one. */
static inline unsigned tcb_ptx_matrices(enum tcb_ptx_word word)
{
	return word == TCB_PTX_NO_WORD ? 1 : 1u << (word - TCB_PTX_X1);
}
/* How many elements a word of the slot VECTOR stands for; 1 without one. */
static inline unsigned tcb_ptx_vector_of(enum tcb_ptx_word word)
{
	return word == TCB_PTX_V2 ? 2 : word == TCB_PTX_V4 ? 4 : word == TCB_PTX_V8 ? 8 : 1;
}
/* M, N and K of a shape word; zeros for other words. */
void tcb_ptx_shape(enum tcb_ptx_word word, unsigned *m, unsigned *n, unsigned *k);
/* The usual slot of a modifier; TYPE for types; SLOT_COUNT for words that fill none. */
enum tcb_ptx_slot tcb_ptx_word_slot(enum tcb_ptx_word word);

#endif
