/* SPDX-License-Identifier: MIT
 *
 * This host's processor as CPUID and XCR0 tell it: which instruction families
 * both the processor and the kernel support, cache sizes, and the identity
 * that keys CPU results.  Needs libc only, so that libtcbrt can compute the
 * same key as the tuner.
 */
#ifndef TCB_BASE_CPU_IDENTITY_H
#define TCB_BASE_CPU_IDENTITY_H

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

/* cpu_kind.c: the family that names TARGET's group: the last in the list's order, but for those that are not part of
 * its key (cpu_identity.c). */
enum tcb_isa tcb_cpu_widest(const struct tcb_target *target);

#endif
