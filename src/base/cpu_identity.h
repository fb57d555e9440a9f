/* SPDX-License-Identifier: MIT
 *
 * This host's processor as CPUID and XCR0 tell it: which instruction families
 * both the processor and the kernel support, cache sizes, and the identity
 * that keys CPU results.  Needs libc only, so that libtcbrt can compute the
 * same key as the tuner.
 */
#ifndef TCB_BASE_CPU_IDENTITY_H
#define TCB_BASE_CPU_IDENTITY_H

#include "base/cpu_isas.h"
#include "base/target.h"

/*
 * Fills name, key, arch, model, os, family, stepping, is_virtual, isa_mask,
 * line and cache sizes of OUT for this host, restricted to NAME: "cpu" for all
 * families the host has, or "cpu:FAMILY" for that family and scalar code.
 * THREADS is stored as given.  cores and memory_bytes come from the OS.
 * The key hashes vendor, family, model, stepping, model name, ISA mask of the
 * whole host (without families that came later: cpu_identity.c) and cache sizes; name and threads are separate parts of
 * a result's key, and the kernel release is stored but not hashed. TCB_E_UNSUPPORTED if the host lacks the family,
 * TCB_E_USAGE if NAME is not a CPU device.  Asks the system for nothing: whoever runs AMX kernels asks for the tiles
 * (tiles.h).
 */
enum tcb_status tcb_cpu_identify(const char *name, unsigned threads, struct tcb_device *out, struct tcb_error *err);

/* TCB_E_USAGE names the families of CPUs. */
enum tcb_status tcb_isa_parse(const char *text, enum tcb_isa *out, struct tcb_error *err);
/* The families of CPUs, each after PREFIX: "cpu:scalar, cpu:avx2, ...". */
enum { TCB_FAMILIES_TEXT_MAX = 160 };
void tcb_cpu_families(const char *prefix, char out[TCB_FAMILIES_TEXT_MAX]);

#endif
