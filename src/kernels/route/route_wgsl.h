/* SPDX-License-Identifier: MIT
 *
 * Routing in WGSL: a workgroup has a token (midi.m is 1), whose scores are words in workgroup memory (midi.n) that are
 * the larger the score is, made of bits, so that NaNs and infinities are what they are on every device.  Of each expert
 * it is counted how many come before it, which is its place; the scores of those that are used stay (midi.k), and their
 * exponentials are added up one after the other.
 */
#ifndef TCB_KERNELS_ROUTE_WGSL_H
#define TCB_KERNELS_ROUTE_WGSL_H

#include "kernels/route/route.h"

enum { ROUTE_WGSL_EXPERTS_MOST = 2048 }; /* 8 KiB of the 16 that every device has */

extern const struct tcb_side route_wgsl;

#endif
