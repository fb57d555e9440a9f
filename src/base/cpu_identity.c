/* SPDX-License-Identifier: MIT
 *
 * CPUID leaves 0, 1, 4, 7 and 0x8000000x, XCR0, and what the OS tells.  An
 * instruction family counts as present only if the kernel saves its registers
 * (XCR0), as the processor manuals ask.
 */
#include "base/cpu_identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cpu_isas.h"
#include "base/util.h"

#if defined(__x86_64__)
#include <cpuid.h>

static uint32_t read_xcr0(void)
{
	uint32_t low, high;

	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

static void read_words(uint32_t words[TCB_CPU_WORD_COUNT])
{
	uint32_t eax, ebx, ecx, edx, unused;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE))
		return;
	words[TCB_CPU_1_ECX] = ecx;
	words[TCB_CPU_XCR0] = read_xcr0();
	if (!__get_cpuid_count(7, 0, &eax, &words[TCB_CPU_7_EBX], &words[TCB_CPU_7_ECX], &words[TCB_CPU_7_EDX]))
		return;
	if (eax >= 1) /* so many leaves below the first */
		__get_cpuid_count(7, 1, &words[TCB_CPU_7_1_EAX], &unused, &unused, &unused);
}

static void detect_model(struct tcb_device *out, char vendor[13])
{
	uint32_t eax, ebx, ecx, edx, words[12];

	memset(vendor, 0, 13);
	if (__get_cpuid(0, &eax, &ebx, &ecx, &edx)) {
		memcpy(vendor, &ebx, 4);
		memcpy(vendor + 4, &edx, 4);
		memcpy(vendor + 8, &ecx, 4);
	}
	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) {
		unsigned family = eax >> 8 & 15;

		out->family = family == 15 ? family + (eax >> 20 & 255) : family;
		out->stepping_model = (eax >> 4 & 15) | (family == 6 || family == 15 ? eax >> 12 & 0xf0 : 0);
		out->stepping = eax & 15;
		out->is_virtual = (int)(ecx >> 31);
	}
	for (uint32_t i = 0; i < 3; i++)
		if (!__get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
				 &words[4 * i + 3]))
			return;
	memcpy(out->model, words, sizeof words);
	out->model[sizeof words] = '\0';
}

/* Deterministic cache parameters: leaf 4 (Intel) or 0x8000001d (AMD). */
static void detect_caches(struct tcb_target *target, const char *vendor)
{
	uint32_t leaf = strcmp(vendor, "AuthenticAMD") == 0 || strcmp(vendor, "HygonGenuine") == 0 ? 0x8000001du : 4;
	uint32_t eax, ebx, ecx, edx;

	for (uint32_t i = 0; i < 16 && __get_cpuid_count(leaf, i, &eax, &ebx, &ecx, &edx); i++) {
		unsigned type = eax & 31, level = eax >> 5 & 7;
		size_t line = (ebx & 0xfff) + 1;
		size_t bytes = ((ebx >> 22) + 1) * ((ebx >> 12 & 0x3ff) + 1) * line * ((size_t)ecx + 1);

		if (type == 0)
			break;
		if (type == 2) /* instructions only */
			continue;
		target->line_bytes = line;
		if (level == 1)
			target->l1d_bytes = bytes;
		else if (level == 2)
			target->l2_bytes = bytes;
		if (level >= 2)
			target->llc_bytes = bytes;
	}
}
#else
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

static void read_words(uint32_t words[TCB_CPU_WORD_COUNT])
{
#if defined(__aarch64__)
	words[TCB_CPU_HWCAP] = (uint32_t)getauxval(AT_HWCAP);
#else
	(void)words;
#endif
}

static void detect_model(struct tcb_device *out, char vendor[13])
{
	struct utsname uts;

	memset(vendor, 0, 13);
	uname(&uts);
	snprintf(out->model, sizeof out->model, "%s", uts.machine);
}

/* What the system tells of processor 0's cache INDEX: "" if nothing. */
static void cache_text(int index, const char *what, char out[32])
{
	char path[96];
	FILE *file;

	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, what);
	out[0] = '\0';
	file = fopen(path, "r");
	if (file && !fgets(out, 32, file))
		out[0] = '\0';
	if (file)
		fclose(file);
}

/* The same as a number, "64K" as 65536. */
static size_t cache_number(int index, const char *what)
{
	char text[32], *end;
	unsigned long value;

	cache_text(index, what, text);
	value = strtoul(text, &end, 10);
	return (size_t)value << (*end == 'K' ? 10 : *end == 'M' ? 20 : 0);
}

static void detect_caches(struct tcb_target *target, const char *vendor)
{
	size_t line = cache_number(0, "coherency_line_size");

	(void)vendor;
	target->line_bytes = line ? line : 64;
	for (int index = 0; index < 8; index++) {
		size_t level = cache_number(index, "level"), bytes = cache_number(index, "size");
		char type[32];

		cache_text(index, "type", type);
		if (type[0] == 'I') /* instructions only */
			continue;
		if (level == 1)
			target->l1d_bytes = bytes;
		else if (level == 2)
			target->l2_bytes = bytes;
		if (level >= 2 && bytes > target->llc_bytes)
			target->llc_bytes = bytes;
	}
}
#endif

enum tcb_status tcb_isa_parse(const char *text, enum tcb_isa *out, struct tcb_error *err)
{
	char known[TCB_FAMILIES_TEXT_MAX];

	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (strcmp(text, tcb_isa_text((enum tcb_isa)isa)) == 0) {
			*out = (enum tcb_isa)isa;
			return TCB_OK;
		}
	tcb_cpu_families("", known);
	return tcb_fail(err, TCB_E_USAGE, "unknown instruction family '%.40s': there are %s", text, known);
}

void tcb_cpu_families(const char *prefix, char out[TCB_FAMILIES_TEXT_MAX])
{
	size_t used = 0;

	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (tcb_isa_is_of_cpu((enum tcb_isa)isa))
			used += (size_t)snprintf(out + used, TCB_FAMILIES_TEXT_MAX - used, "%s%s%s", isa ? ", " : "",
						 prefix, tcb_isa_text((enum tcb_isa)isa));
}

/* Trailing and doubled blanks of the brand string carry nothing. */
static void tidy(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (*from != ' ' || (to > text && to[-1] != ' '))
			*to++ = *from;
	while (to > text && to[-1] == ' ')
		to--;
	*to = '\0';
}

static enum tcb_status restrict_isa(const char *name, uint32_t host_mask, uint32_t *mask_out, struct tcb_error *err)
{
	char families[TCB_FAMILIES_TEXT_MAX];
	enum tcb_isa isa;

	if (strcmp(name, "cpu") == 0) {
		*mask_out = host_mask;
		return TCB_OK;
	}
	if (strncmp(name, "cpu:", 4) != 0)
		return tcb_fail(err, TCB_E_USAGE,
				"unknown CPU device '%.40s': use cpu or cpu:FAMILY, for example cpu:avx2", name);
	TCB_TRY(tcb_isa_parse(name + 4, &isa, err));
	if (!tcb_isa_is_of_cpu(isa)) {
		tcb_cpu_families("cpu:", families);
		return tcb_fail(err, TCB_E_USAGE, "'%.40s': %s is a GPU instruction family; there are %s", name,
				tcb_isa_text(isa), families);
	}
	if (!(host_mask >> isa & 1))
		return tcb_fail(err, TCB_E_UNSUPPORTED, "this processor has no %s: `tcbtune devices` lists what it has",
				tcb_isa_text(isa));
	*mask_out = 1u << isa | 1u << TCB_ISA_SCALAR;
	return TCB_OK;
}

enum tcb_status tcb_cpu_identify(const char *name, unsigned threads, struct tcb_device *out, struct tcb_error *err)
{
	struct tcb_device device = { .target = { .kind = TCB_TARGET_CPU, .threads = threads }, .has_ecc = -1 };
	struct tcb_target *target = &device.target;
	uint32_t words[TCB_CPU_WORD_COUNT] = { 0 }, host_mask;
	char vendor[13], identity[512];
	struct utsname uts;
	long count;

	read_words(words);
	host_mask = tcb_cpu_isas_of(words);
	TCB_TRY(restrict_isa(name, host_mask, &target->isa_mask, err));
	detect_model(&device, vendor);
	tidy(device.model);
	detect_caches(target, vendor);
	uname(&uts);
	snprintf(device.name, sizeof device.name, "%s", name);
	snprintf(device.os, sizeof device.os, "%.40s %.80s", uts.sysname, uts.release);
	snprintf(device.arch, sizeof device.arch, "%.16s-%s", uts.machine, tcb_isa_text(tcb_cpu_isa_widest(host_mask)));
	count = sysconf(_SC_NPROCESSORS_ONLN);
	device.cores = count > 0 ? (unsigned)count : 1;
	device.memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	/*
	 * Neither the key nor the architecture's text tells families that were added to the list after results had been
	 * stored: the same processor would have another key, and its results and its group of default rules would be
	 * lost.  Nothing is confused by that.  Model and stepping, which the key has, tell all families but those that
	 * a hypervisor hides; and whether a stored geometry's family is here is asked of the mask (V1) whenever it is
	 * looked up, as it must be for results of the same architecture.
	 */
	snprintf(identity, sizeof identity, "cpu|%s|%u|%u|%u|%s|%" PRIx32 "|%zu|%zu|%zu", vendor, device.family,
		 device.stepping_model, device.stepping, device.model, tcb_cpu_isas_keyed(host_mask), target->l1d_bytes,
		 target->l2_bytes, target->llc_bytes);
	tcb_hash_hex(identity, strlen(identity), device.key);
	*out = device;
	return TCB_OK;
}
