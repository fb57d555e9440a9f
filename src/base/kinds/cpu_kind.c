/* SPDX-License-Identifier: MIT
 *
 * The processors of this host: "cpu", and "cpu:FAMILY" for one instruction
 * family and scalar code.
 */
#include <stdio.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "base/kind.h"

static int is_asked(const char *name)
{
	enum tcb_isa isa;

	return strcmp(name, "cpu") == 0 || (strncmp(name, "cpu:", 4) == 0 &&
					    tcb_isa_parse(name + 4, &isa, NULL) == TCB_OK && tcb_isa_is_of_cpu(isa));
}

/* "avx2", "cpu-avx2", "AVX-512". */
static int understand(const char *folded, char out[TCB_DEVICE_NAME_MAX])
{
	const char *family = strncmp(folded, "cpu", 3) == 0 ? folded + 3 + (folded[3] == ':') : folded;
	enum tcb_isa isa;

	if (!*family || tcb_isa_parse(family, &isa, NULL) != TCB_OK || !tcb_isa_is_of_cpu(isa))
		return 0;
	snprintf(out, TCB_DEVICE_NAME_MAX, "cpu:%s", tcb_isa_text(isa));
	return 1;
}

static void add_names(struct tcb_str *out)
{
	tcb_str_add(out, " cpu");
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (tcb_isa_is_of_cpu((enum tcb_isa)isa))
			tcb_str_addf(out, " cpu:%s", tcb_isa_text((enum tcb_isa)isa));
}

static void add_forms(struct tcb_str *out)
{
	char families[TCB_FAMILIES_TEXT_MAX];

	tcb_cpu_families("cpu:", families);
	tcb_str_addf(out, "cpu, %s", families);
}

static int is_stored(const char *name, const char **key_out)
{
	*key_out = NULL;
	return is_asked(name);
}

/* Asked once: CPUID is slow in virtual machines.  The families share the key, see cpu_identity.h. */
static size_t known(struct tcb_device *out, size_t capacity, struct tcb_error *err)
{
	size_t count = 1;

	if (capacity == 0 || tcb_cpu_identify("cpu", 1, &out[0], err) != TCB_OK)
		return 0;
	for (int isa = 0; isa < TCB_ISA_COUNT && count < capacity; isa++) {
		if (!tcb_target_has(&out[0].target, (enum tcb_isa)isa))
			continue;
		out[count] = out[0];
		snprintf(out[count].name, sizeof out->name, "cpu:%s", tcb_isa_text((enum tcb_isa)isa));
		out[count++].target.isa_mask = 1u << isa | 1u << TCB_ISA_SCALAR;
	}
	return count;
}

/* All, where it is this machine; else what its name and architecture say. */
static int recall(struct tcb_device *device)
{
	const unsigned threads = device->target.threads;
	const char *family = strchr(device->name, ':'), *last = strrchr(device->arch, '-');
	struct tcb_device host;
	enum tcb_isa isa;

	if (tcb_cpu_identify(device->name, threads, &host, NULL) == TCB_OK && !strcmp(host.key, device->key)) {
		device->target = host.target;
		return 1;
	}
	family = family ? family + 1 : last ? last + 1 : "";
	if (tcb_isa_parse(family, &isa, NULL) != TCB_OK || !tcb_isa_is_of_cpu(isa))
		return 0;
	device->target = (struct tcb_target){ .kind = TCB_TARGET_CPU, .threads = threads, .line_bytes = 64 };
	device->target.isa_mask = tcb_cpu_isa_within(isa);
	return 1;
}

static void name_arch(const struct tcb_target *target, char *out, size_t capacity)
{
	const enum tcb_isa widest = tcb_cpu_isa_widest(target->isa_mask);

	snprintf(out, capacity, "%s-%s", tcb_cpu_isa(widest)->machine, tcb_isa_text(widest));
}

static const struct tcb_alias words[] = {
	{ "host", "cpu", NULL }, { "cpu0", "cpu", NULL },  { "cpu:0", "cpu", NULL },
	{ "x86", "cpu", NULL },  { "x8664", "cpu", NULL }, { "vnni", "cpu:avx512vnni", NULL },
	{ NULL, NULL, NULL },
};

static const struct tcb_kind_limit limits[] = {
	{ "line_bytes", offsetof(struct tcb_target, line_bytes), 1 },
	{ "l1d_bytes", offsetof(struct tcb_target, l1d_bytes), 1 },
	{ "l2_bytes", offsetof(struct tcb_target, l2_bytes), 1 },
	{ "llc_bytes", offsetof(struct tcb_target, llc_bytes), 1 },
	{ NULL, 0, 0 },
};

const struct tcb_kind tcb_kind_cpu = {
	.name = "cpu",
	.side = TCB_TARGET_CPU,
	.has_threads = 1,
	.unit = TCB_MICRO,
	.knobs = TCB_SCOPE_CPU,
	.counters = "papi",
	.advice = { .launch = "fewer and larger calls: several products in one, a pool whose threads do not sleep, "
			      "fewer threads",
		    .compute = "cheaper operations: a contract of smaller types (q8, f16); no other geometry can gain "
			       "more than what is left to the limit",
		    .issue = "fewer instructions per value: a wider instruction family, a contract of smaller types, "
			     "larger register tiles",
		    .latency = "more loads in flight: prefetch further ahead, more threads, longer runs through memory",
		    .cache = "the cache" },
	.limits = limits,
	.is_asked = is_asked,
	.words = words,
	.understand = understand,
	.add_names = add_names,
	.add_forms = add_forms,
	.is_stored = is_stored,
	.known = known,
	.recall = recall,
	.name_arch = name_arch,
};
