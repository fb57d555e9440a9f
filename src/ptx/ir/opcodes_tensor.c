/* SPDX-License-Identifier: MIT
 *
 * The rows of the opcode table that are of tensor cores: mma, wgmma and tcgen05.
 * PTX ISA 9.1, sections 9.7.14 to 9.7.16; opcodes_core.c explains the language.
 */
#include "ptx/ir/opcode_rows.h"

#define FP8 "e4m3|e5m2"
#define FP6 "e3m2|e2m3|e2m1"
#define S8U8 "u8|s8"
#define S4U4 "u4|s4"
#define CTA_GROUP "cta_group::1|cta_group::2"
#define TC5 "100f 110f"
#define TC5_NUM "x1|x2|x4|x8|x16|x32|x64|x128"
#define TC5_NUM64 "x1|x2|x4|x8|x16|x32|x64"
#define TC5_NUM32 "x1|x2|x4|x8|x16|x32"
#define TC5_NUM_RED "x2|x4|x8|x16|x32|x64|x128"
#define TC5_RED "103f 110f"
#define TC5_KIND CTA_GROUP " kind::f16|kind::tf32"
#define TC5_KIND8 CTA_GROUP " kind::f8f6f4"
#define TC5_KINDI CTA_GROUP " kind::i8"
#define TC5_I8 "100a 110a"
#define TC5_BLOCK CTA_GROUP " kind::mxf8f6f4 block_scale block32?"
#define TC5_BLOCKS CTA_GROUP " kind::mxf8f6f4|kind::mxf4 block_scale block32?"
#define TC5_BLOCK4 CTA_GROUP " kind::mxf4 block_scale block32?"
#define TC5_BLOCKNV CTA_GROUP " kind::mxf4nvf4 block_scale block16|block32"
#define TC5_VEC CTA_GROUP " kind::mxf8f6f4 block_scale scale_vec::1X"
#define TC5_VEC4 CTA_GROUP " kind::mxf4 block_scale scale_vec::2X"
#define TC5_VECNV CTA_GROUP " kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X"
#define TC5_A "100a 103a 110a"
#define TC5_WS "cta_group::1 kind::f16|kind::tf32|kind::f8f6f4"
#define TC5_WSI "cta_group::1 kind::i8"
#define TC5_PACKED " b8x16 b6x16_p32|b4x16_p64"
#define COLLECT_A " collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard?"
#define COLLECT_BUFFER(b) \
	"collector::" b "::fill|collector::" b "::use|collector::" b "::lastuse|collector::" b "::discard"
#define COLLECT_B \
	" " COLLECT_BUFFER("b0") "|" COLLECT_BUFFER("b1") "|" COLLECT_BUFFER("b2") "|" COLLECT_BUFFER("b3") "?"
/* the descriptor of A, or its place in Tensor Memory, and that of B; scales */
#define FROM_SHARED "A S:b64 S:b64 "
#define FROM_TENSOR "A A S:b64 "
/* the scales of A and of B, each with {byte, thread} that select them */
#define SCALED "D{4} S{4}:b32 S{2}:b32 S{4} S:b32 S{2}:b16 S:b32 S{2}:b16"

#define F(op, modifiers, operands, version, targets)                   \
	{                                                              \
		TCB_PTX_OP_##op, modifiers, operands, version, targets \
	}

/* clang-format off: one row per line */
const struct tcb_ptx_row tcb_ptx_tensor_rows[] = {
	/* 9.7.14 matrix products */
	F(MMA, "sync aligned m16n8k8 row col f16 f16 f16 f16", "D{2}:b32 S{2}:b32 S{1}:b32 S{2}:b32", 65, "75"),
	F(MMA, "sync aligned m16n8k8 row col f32 f16 f16 f32", "D{4} S{2}:b32 S{1}:b32 S{4}", 65, "75"),
	F(MMA, "sync aligned m16n8k16 row col f16 f16 f16 f16", "D{2}:b32 S{4}:b32 S{2}:b32 S{2}:b32", 70, "80"),
	F(MMA, "sync aligned m16n8k16 row col f32 f16 f16 f32", "D{4} S{4}:b32 S{2}:b32 S{4}", 70, "80"),
	F(MMA, "sync aligned m16n8k8 row col f32 bf16 bf16 f32", "D{4} S{2}:b32 S{1}:b32 S{4}", 70, "80"),
	F(MMA, "sync aligned m16n8k16 row col f32 bf16 bf16 f32", "D{4} S{4}:b32 S{2}:b32 S{4}", 70, "80"),
	F(MMA, "sync aligned m16n8k4 row col f32 tf32 tf32 f32", "D{4} S{2}:b32 S{1}:b32 S{4}", 70, "80"),
	F(MMA, "sync aligned m16n8k8 row col f32 tf32 tf32 f32", "D{4} S{4}:b32 S{2}:b32 S{4}", 70, "80"),
	F(MMA, "sync aligned m16n8k16 row col f32 " FP8 " " FP8 " f32", "D{4} S{2}:b32 S{1}:b32 S{4}", 87, "89"),
	F(MMA, "sync aligned m16n8k32 row col f32 " FP8 " " FP8 " f32", "D{4} S{4}:b32 S{2}:b32 S{4}", 84, "89"),
	F(MMA, "sync aligned m16n8k32 row col f16 " FP8 " " FP8 " f16", "D{2}:b32 S{4}:b32 S{2}:b32 S{2}:b32", 87,
	  "89"),
	F(MMA, "sync aligned m16n8k16 row col f16 " FP8 " " FP8 " f16", "D{2}:b32 S{2}:b32 S{1}:b32 S{2}:b32", 87,
	  "89"),
	F(MMA, "sync aligned m16n8k32 row col kind::f8f6f4 f32 " FP8 " " FP8 " f32", "D{4} S{4}:b32 S{2}:b32 S{4}", 87,
	  "100f 110f 120f"),
	F(MMA, "sync aligned m16n8k32 row col kind::f8f6f4 f32 " FP8 " " FP6 " f32", "D{4} S{4}:b32 S{2}:b32 S{4}", 87,
	  "120f"),
	F(MMA, "sync aligned m16n8k32 row col kind::f8f6f4 f32 " FP6 " " FP8 "|" FP6 " f32",
	  "D{4} S{4}:b32 S{2}:b32 S{4}", 87, "120f"),
	F(MMA,
	  "sync aligned m16n8k32 row col kind::mxf8f6f4 block_scale scale_vec::1X? f32 " FP8 "|" FP6 " " FP8 "|" FP6
	  " f32 ue8m0",
	  SCALED, 87, "120f"),
	F(MMA, "sync aligned m16n8k64 row col kind::mxf4 block_scale scale_vec::2X? f32 e2m1 e2m1 f32 ue8m0", SCALED,
	  87, "120f"),
	F(MMA, "sync aligned m16n8k64 row col kind::mxf4nvf4 block_scale scale_vec::2X f32 e2m1 e2m1 f32 ue8m0", SCALED,
	  87, "120f"),
	F(MMA, "sync aligned m16n8k64 row col kind::mxf4nvf4 block_scale scale_vec::4X f32 e2m1 e2m1 f32 ue4m3", SCALED,
	  87, "120f"),
	F(MMA, "sync aligned m8n8k16 row col satfinite? s32 " S8U8 " " S8U8 " s32", "D{2} S{1}:b32 S{1}:b32 S{2}", 65,
	  "75"),
	F(MMA, "sync aligned m16n8k16 row col satfinite? s32 " S8U8 " " S8U8 " s32", "D{4} S{2}:b32 S{1}:b32 S{4}", 70,
	  "80"),
	F(MMA, "sync aligned m16n8k32 row col satfinite? s32 " S8U8 " " S8U8 " s32", "D{4} S{4}:b32 S{2}:b32 S{4}", 70,
	  "80"),
	F(MMA, "sync aligned m8n8k32 row col satfinite? s32 " S4U4 " " S4U4 " s32", "D{2} S{1}:b32 S{1}:b32 S{2}", 65,
	  "75"),
	F(MMA, "sync aligned m16n8k32 row col satfinite? s32 " S4U4 " " S4U4 " s32", "D{4} S{2}:b32 S{1}:b32 S{4}", 70,
	  "80"),
	F(MMA, "sync aligned m16n8k64 row col satfinite? s32 " S4U4 " " S4U4 " s32", "D{4} S{4}:b32 S{2}:b32 S{4}", 70,
	  "80"),
	F(MMA, "sync aligned m8n8k128 row col s32 b1 b1 s32 bool=xor atomic=popc", "D{2} S{1}:b32 S{1}:b32 S{2}", 70,
	  "75"),
	F(MMA, "sync aligned m16n8k128 row col s32 b1 b1 s32 bool=xor|and atomic=popc", "D{4} S{2}:b32 S{1}:b32 S{4}",
	  70, "80"),
	F(MMA, "sync aligned m16n8k256 row col s32 b1 b1 s32 bool=xor|and atomic=popc", "D{4} S{4}:b32 S{2}:b32 S{4}",
	  70, "80"),
	F(MMA, "sync aligned m8n8k4 row col f64 f64 f64 f64", "D{2} S{1} S{1} S{2}", 70, "80"),
	F(MMA, "sync aligned m16n8k4 row col f64 f64 f64 f64", "D{4} S{2} S{1} S{4}", 78, "90"),
	F(MMA, "sync aligned m16n8k8 row col f64 f64 f64 f64", "D{4} S{4} S{2} S{4}", 78, "90"),
	F(MMA, "sync aligned m16n8k16 row col f64 f64 f64 f64", "D{4} S{8} S{4} S{4}", 78, "90"),
	F(WGMMA, "sync aligned wgmma16 f32 f16 f16", "X{n/2} S:b64 S:b64 P I I I I", 80, "90a"),
	F(WGMMA, "sync aligned wgmma16 f32 f16 f16", "X{n/2} S{4}:b32 S:b64 P I I I", 80, "90a"),
	F(WGMMA, "sync aligned wgmma16 f16 f16 f16", "X{n/4}:b32 S:b64 S:b64 P I I I I", 80, "90a"),
	F(WGMMA, "sync aligned wgmma16 f16 f16 f16", "X{n/4}:b32 S{4}:b32 S:b64 P I I I", 80, "90a"),
	F(WGMMA, "sync aligned wgmma16 f32 bf16 bf16", "X{n/2} S:b64 S:b64 P I I I I", 80, "90a"),
	F(WGMMA, "sync aligned wgmma16 f32 bf16 bf16", "X{n/2} S{4}:b32 S:b64 P I I I", 80, "90a"),
	F(WGMMA, "sync aligned wgmma8 f32 tf32 tf32", "X{n/2} S:b64 S:b64 P I I", 80, "90a"),
	F(WGMMA, "sync aligned wgmma8 f32 tf32 tf32", "X{n/2} S{4}:b32 S:b64 P I I", 80, "90a"),
	F(WGMMA, "sync aligned wgmma32 f32 " FP8 " " FP8, "X{n/2} S:b64 S:b64 P I I", 80, "90a"),
	F(WGMMA, "sync aligned wgmma32 f32 " FP8 " " FP8, "X{n/2} S{4}:b32 S:b64 P I I", 80, "90a"),
	F(WGMMA, "sync aligned wgmma32 f16 " FP8 " " FP8, "X{n/4}:b32 S:b64 S:b64 P I I", 80, "90a"),
	F(WGMMA, "sync aligned wgmma32 f16 " FP8 " " FP8, "X{n/4}:b32 S{4}:b32 S:b64 P I I", 80, "90a"),
	F(WGMMA, "sync aligned wgmmai32 satfinite? s32 " S8U8 " " S8U8, "X{n/2} S:b64 S:b64 P", 80, "90a"),
	F(WGMMA, "sync aligned wgmmai32 satfinite? s32 " S8U8 " " S8U8, "X{n/2} S{4}:b32 S:b64 P", 80, "90a"),
	F(WGMMA_FENCE, "sync aligned", "", 80, "90a"),
	F(WGMMA_COMMIT_GROUP, "sync aligned", "", 80, "90a"),
	F(WGMMA_WAIT_GROUP, "sync aligned", "I", 80, "90a"),

	/* 9.7.16 the fifth generation of tensor cores */
	F(TCGEN05_ALLOC, CTA_GROUP " sync aligned shared::cta? b32", "A S", 86, TC5),
	F(TCGEN05_DEALLOC, CTA_GROUP " sync aligned b32", "S S", 86, TC5),
	F(TCGEN05_RELINQUISH, CTA_GROUP " sync aligned", "", 86, TC5),
	F(TCGEN05_LD, "sync aligned 32x32b|16x64b " TC5_NUM " pack::16b? b32", "Dx A", 86, TC5),
	F(TCGEN05_LD, "sync aligned 16x128b " TC5_NUM64 " pack::16b? b32", "D{2x} A", 86, TC5),
	F(TCGEN05_LD, "sync aligned 16x256b " TC5_NUM32 " pack::16b? b32", "D{4x} A", 86, TC5),
	F(TCGEN05_LD, "sync aligned 16x32bx2 " TC5_NUM " pack::16b? b32", "Dx A I", 86, TC5),
	F(TCGEN05_LD_RED, "sync aligned 32x32b " TC5_NUM_RED " min|max abs? NaN? f32", "Dx:b32 D:b32 A", 88, TC5_RED),
	F(TCGEN05_LD_RED, "sync aligned 32x32b " TC5_NUM_RED " min|max u32|s32", "Dx:b32 D:b32 A", 88, TC5_RED),
	F(TCGEN05_LD_RED, "sync aligned 16x32bx2 " TC5_NUM_RED " min|max abs? NaN? f32", "Dx:b32 D:b32 A I", 88,
	  TC5_RED),
	F(TCGEN05_LD_RED, "sync aligned 16x32bx2 " TC5_NUM_RED " min|max u32|s32", "Dx:b32 D:b32 A I", 88, TC5_RED),
	F(TCGEN05_ST, "sync aligned 32x32b|16x64b " TC5_NUM " unpack::16b? b32", "A Sx", 86, TC5),
	F(TCGEN05_ST, "sync aligned 16x128b " TC5_NUM64 " unpack::16b? b32", "A S{2x}", 86, TC5),
	F(TCGEN05_ST, "sync aligned 16x256b " TC5_NUM32 " unpack::16b? b32", "A S{4x}", 86, TC5),
	F(TCGEN05_ST, "sync aligned 16x32bx2 " TC5_NUM " unpack::16b? b32", "A I Sx", 86, TC5),
	F(TCGEN05_WAIT_LD, "sync aligned", "", 86, TC5),
	F(TCGEN05_WAIT_ST, "sync aligned", "", 86, TC5),
	F(TCGEN05_FENCE_BEFORE, "", "", 86, TC5),
	F(TCGEN05_FENCE_AFTER, "", "", 86, TC5),
	F(TCGEN05_MMA, TC5_KIND COLLECT_A, FROM_SHARED "S:b32 P I?", 86, TC5),
	F(TCGEN05_MMA, TC5_KIND " ashift?" COLLECT_A, FROM_TENSOR "S:b32 P I?", 86, TC5),
	F(TCGEN05_MMA, TC5_KIND COLLECT_A, FROM_SHARED "S:b32 S{}:b32 P I?", 86, TC5),
	F(TCGEN05_MMA, TC5_KIND " ashift?" COLLECT_A, FROM_TENSOR "S:b32 S{}:b32 P I?", 86, TC5),
	F(TCGEN05_MMA, TC5_KIND8 COLLECT_A, FROM_SHARED "S:b32 P", 86, TC5),
	F(TCGEN05_MMA, TC5_KIND8 " ashift?" COLLECT_A, FROM_TENSOR "S:b32 P", 86, TC5),
	F(TCGEN05_MMA, TC5_KIND8 COLLECT_A, FROM_SHARED "S:b32 S{}:b32 P", 86, TC5),
	F(TCGEN05_MMA, TC5_KIND8 " ashift?" COLLECT_A, FROM_TENSOR "S:b32 S{}:b32 P", 86, TC5),
	F(TCGEN05_MMA, TC5_KINDI COLLECT_A, FROM_SHARED "S:b32 P", 86, TC5_I8),
	F(TCGEN05_MMA, TC5_KINDI " ashift?" COLLECT_A, FROM_TENSOR "S:b32 P", 86, TC5_I8),
	F(TCGEN05_MMA, TC5_KINDI COLLECT_A, FROM_SHARED "S:b32 S{}:b32 P", 86, TC5_I8),
	F(TCGEN05_MMA, TC5_KINDI " ashift?" COLLECT_A, FROM_TENSOR "S:b32 S{}:b32 P", 86, TC5_I8),
	F(TCGEN05_MMA, TC5_BLOCKS COLLECT_A, FROM_SHARED "S:b32 A A P", 88, TC5),
	F(TCGEN05_MMA, TC5_BLOCKNV COLLECT_A, FROM_SHARED "S:b32 A A P", 88, TC5),
	F(TCGEN05_MMA, TC5_VEC COLLECT_A, FROM_SHARED "S:b32 A A P", 87, TC5_A),
	F(TCGEN05_MMA, TC5_VEC4 COLLECT_A, FROM_SHARED "S:b32 A A P", 87, TC5_A),
	F(TCGEN05_MMA, TC5_VECNV COLLECT_A, FROM_SHARED "S:b32 A A P", 87, TC5_A),
	F(TCGEN05_MMA, TC5_BLOCKS COLLECT_A, FROM_TENSOR "S:b32 A A P", 88, TC5),
	F(TCGEN05_MMA, TC5_BLOCKNV COLLECT_A, FROM_TENSOR "S:b32 A A P", 88, TC5),
	F(TCGEN05_MMA, TC5_VEC COLLECT_A, FROM_TENSOR "S:b32 A A P", 87, TC5_A),
	F(TCGEN05_MMA, TC5_VEC4 COLLECT_A, FROM_TENSOR "S:b32 A A P", 87, TC5_A),
	F(TCGEN05_MMA, TC5_VECNV COLLECT_A, FROM_TENSOR "S:b32 A A P", 87, TC5_A),
	F(TCGEN05_MMA_SP, TC5_KIND COLLECT_A, FROM_SHARED "A S:b32 P I?", 86, TC5),
	F(TCGEN05_MMA_SP, TC5_KIND " ashift?" COLLECT_A, FROM_TENSOR "A S:b32 P I?", 86, TC5),
	F(TCGEN05_MMA_SP, TC5_KIND COLLECT_A, FROM_SHARED "A S:b32 S{}:b32 P I?", 86, TC5),
	F(TCGEN05_MMA_SP, TC5_KIND " ashift?" COLLECT_A, FROM_TENSOR "A S:b32 S{}:b32 P I?", 86, TC5),
	F(TCGEN05_MMA_SP, TC5_KIND8 COLLECT_A, FROM_SHARED "A S:b32 P", 86, TC5),
	F(TCGEN05_MMA_SP, TC5_KIND8 " ashift?" COLLECT_A, FROM_TENSOR "A S:b32 P", 86, TC5),
	F(TCGEN05_MMA_SP, TC5_KIND8 COLLECT_A, FROM_SHARED "A S:b32 S{}:b32 P", 86, TC5),
	F(TCGEN05_MMA_SP, TC5_KIND8 " ashift?" COLLECT_A, FROM_TENSOR "A S:b32 S{}:b32 P", 86, TC5),
	F(TCGEN05_MMA_SP, TC5_KINDI COLLECT_A, FROM_SHARED "A S:b32 P", 86, TC5_I8),
	F(TCGEN05_MMA_SP, TC5_KINDI " ashift?" COLLECT_A, FROM_TENSOR "A S:b32 P", 86, TC5_I8),
	F(TCGEN05_MMA_SP, TC5_KINDI COLLECT_A, FROM_SHARED "A S:b32 S{}:b32 P", 86, TC5_I8),
	F(TCGEN05_MMA_SP, TC5_KINDI " ashift?" COLLECT_A, FROM_TENSOR "A S:b32 S{}:b32 P", 86, TC5_I8),
	F(TCGEN05_MMA_SP, TC5_BLOCK COLLECT_A, FROM_SHARED "A S:b32 A A P", 88, TC5),
	F(TCGEN05_MMA_SP, TC5_BLOCK4 COLLECT_A, FROM_SHARED "A S:b32 A A P", 88, TC5_A),
	F(TCGEN05_MMA_SP, TC5_BLOCKNV COLLECT_A, FROM_SHARED "A S:b32 A A P", 88, TC5_A),
	F(TCGEN05_MMA_SP, TC5_VEC COLLECT_A, FROM_SHARED "A S:b32 A A P", 87, TC5_A),
	F(TCGEN05_MMA_SP, TC5_VEC4 COLLECT_A, FROM_SHARED "A S:b32 A A P", 87, TC5_A),
	F(TCGEN05_MMA_SP, TC5_VECNV COLLECT_A, FROM_SHARED "A S:b32 A A P", 87, TC5_A),
	F(TCGEN05_MMA_SP, TC5_BLOCK COLLECT_A, FROM_TENSOR "A S:b32 A A P", 88, TC5),
	F(TCGEN05_MMA_SP, TC5_BLOCK4 COLLECT_A, FROM_TENSOR "A S:b32 A A P", 88, TC5_A),
	F(TCGEN05_MMA_SP, TC5_BLOCKNV COLLECT_A, FROM_TENSOR "A S:b32 A A P", 88, TC5_A),
	F(TCGEN05_MMA_SP, TC5_VEC COLLECT_A, FROM_TENSOR "A S:b32 A A P", 87, TC5_A),
	F(TCGEN05_MMA_SP, TC5_VEC4 COLLECT_A, FROM_TENSOR "A S:b32 A A P", 87, TC5_A),
	F(TCGEN05_MMA_SP, TC5_VECNV COLLECT_A, FROM_TENSOR "A S:b32 A A P", 87, TC5_A),
	F(TCGEN05_MMA_WS, TC5_WS COLLECT_B, FROM_SHARED "S:b32 P S:b64?", 86, TC5),
	F(TCGEN05_MMA_WS, TC5_WSI COLLECT_B, FROM_SHARED "S:b32 P S:b64?", 86, TC5_I8),
	F(TCGEN05_MMA_WS, TC5_WS COLLECT_B, FROM_TENSOR "S:b32 P S:b64?", 86, TC5),
	F(TCGEN05_MMA_WS, TC5_WSI COLLECT_B, FROM_TENSOR "S:b32 P S:b64?", 86, TC5_I8),
	F(TCGEN05_MMA_WS_SP, TC5_WS COLLECT_B, FROM_SHARED "A S:b32 P S:b64?", 86, TC5),
	F(TCGEN05_MMA_WS_SP, TC5_WSI COLLECT_B, FROM_SHARED "A S:b32 P S:b64?", 86, TC5_I8),
	F(TCGEN05_MMA_WS_SP, TC5_WS COLLECT_B, FROM_TENSOR "A S:b32 P S:b64?", 86, TC5),
	F(TCGEN05_MMA_WS_SP, TC5_WSI COLLECT_B, FROM_TENSOR "A S:b32 P S:b64?", 86, TC5_I8),
	F(TCGEN05_CP, CTA_GROUP " 128x256b|4x256b|128x128b" TC5_PACKED, "A S:b64", 86, TC5),
	F(TCGEN05_CP, CTA_GROUP " 64x128b warpx2::02_13|warpx2::01_23" TC5_PACKED, "A S:b64", 86, TC5),
	F(TCGEN05_CP, CTA_GROUP " 32x128b warpx4" TC5_PACKED, "A S:b64", 86, TC5),
	F(TCGEN05_CP, CTA_GROUP " 128x256b|4x256b|128x128b", "A S:b64", 86, TC5),
	F(TCGEN05_CP, CTA_GROUP " 64x128b warpx2::02_13|warpx2::01_23", "A S:b64", 86, TC5),
	F(TCGEN05_CP, CTA_GROUP " 32x128b warpx4", "A S:b64", 86, TC5),
	F(TCGEN05_SHIFT, CTA_GROUP " down", "A", 86, "100a 101a 103a 110a"),
	F(TCGEN05_COMMIT, CTA_GROUP " mbarrier::arrive::one shared::cluster? multicast::cluster? b64", "A C", 86, TC5),
};
/* clang-format on */

const unsigned tcb_ptx_tensor_row_count = sizeof tcb_ptx_tensor_rows / sizeof *tcb_ptx_tensor_rows;
