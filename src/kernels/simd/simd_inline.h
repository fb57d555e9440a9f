/* SPDX-License-Identifier: MIT
 *
 * How functions and loops on vectors are written, whatever the instruction
 * family: inlined into each kernel, so that what is constant there is constant
 * in them too.
 */
#ifndef TCB_KERNELS_SIMD_INLINE_H
#define TCB_KERNELS_SIMD_INLINE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMD_INLINE static inline __attribute__((always_inline))

/* Words of the vocabulary that are one instruction: from one operand, or from operands of the result's type. */
#define SIMD_FROM(result, name, type, instruction) \
	SIMD_INLINE result name(type value)        \
	{                                          \
		return instruction(value);         \
	}
#define SIMD_OF_2(type, name, instruction)    \
	SIMD_INLINE type name(type a, type b) \
	{                                     \
		return instruction(a, b);     \
	}
#define SIMD_OF_3(type, name, instruction)            \
	SIMD_INLINE type name(type a, type b, type c) \
	{                                             \
		return instruction(a, b, c);          \
	}

/* Where a kernel is compiled soon and not well: with sanitizers, which would take minutes, and where the build says
 * that nobody will time it (TCB_SOON). */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(TCB_SOON)
#define SIMD_SOON 1
#else
#define SIMD_SOON 0
#endif

/* A loop with a constant count: unrolled before arrays of vectors are split into registers. */
#if SIMD_SOON
#define SIMD_FOR(...) for (__VA_ARGS__)
#elif defined(__clang__)
#define SIMD_FOR(...) _Pragma("clang loop unroll(full)") for (__VA_ARGS__)
#else
#define SIMD_FOR(...) _Pragma("GCC unroll 32") for (__VA_ARGS__)
#endif

/* A function that holds a kernel's loops, inlined for the constants that it is called with; or one for all of them. */
#if SIMD_SOON
#define SIMD_BODY static __attribute__((noinline, unused))
#else
#define SIMD_BODY SIMD_INLINE
#endif

/* POINTER is worked out here: compilers otherwise keep an offset of each access in a register of its own, and run out.
 */
#define SIMD_ADDRESS(pointer) __asm__("" : "+r"(pointer))

#endif
