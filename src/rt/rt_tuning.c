/* SPDX-License-Identifier: MIT
 *
 * Reading an answer (knobs by name), words for enums, and walking over what is
 * loaded.
 */
#include <string.h>

#include "rt/runtime.h"

_Static_assert((int)TCB_KNOB_COUNT <= (int)TCBRT_KNOBS_MAX, "every knob has room in struct tcbrt_tuning");
_Static_assert((int)TCB_GEOMETRY_TEXT_MAX <= (int)TCBRT_GEOMETRY_MAX, "every geometry's text fits");
_Static_assert((int)TCB_VARIANT_NAME_MAX <= (int)TCBRT_VARIANT_MAX, "every variant's name fits");
_Static_assert(sizeof(int) == sizeof(int32_t), "knobs are copied as they are");

int tcbrt_version(void)
{
	return TCBRT_VERSION;
}

void rt_tuning_geometry(struct tcbrt_tuning *out, const struct tcb_geometry *geometry)
{
	const struct tcb_tile *tile = geometry->tile;

	out->macro = (struct tcbrt_tile){ tile[TCB_MACRO].m, tile[TCB_MACRO].n, tile[TCB_MACRO].k };
	out->midi = (struct tcbrt_tile){ tile[TCB_MIDI].m, tile[TCB_MIDI].n, tile[TCB_MIDI].k };
	out->micro = (struct tcbrt_tile){ tile[TCB_MICRO].m, tile[TCB_MICRO].n, tile[TCB_MICRO].k };
	memcpy(out->knobs, geometry->knob, sizeof(geometry->knob));
	for (int knob = TCB_KNOB_COUNT; knob < TCBRT_KNOBS_MAX; knob++)
		out->knobs[knob] = TCB_KNOB_UNSET;
}

/* TCB_KNOB_COUNT if there is none of that name. */
static enum tcb_knob find_knob(const char *name)
{
	int knob = 0;

	while (knob < TCB_KNOB_COUNT && strcmp(name, tcb_knob_key((enum tcb_knob)knob)) != 0)
		knob++;
	return (enum tcb_knob)knob;
}

int tcbrt_knob(const struct tcbrt_tuning *tuning, const char *name)
{
	enum tcb_knob knob = tuning && name ? find_knob(name) : TCB_KNOB_COUNT;

	return knob == TCB_KNOB_COUNT || tuning->source == TCBRT_SOURCE_NONE ? -1 : tuning->knobs[knob];
}

const char *tcbrt_knob_word(const struct tcbrt_tuning *tuning, const char *name)
{
	enum tcb_knob knob = tuning && name ? find_knob(name) : TCB_KNOB_COUNT;

	return knob == TCB_KNOB_COUNT || tuning->source == TCBRT_SOURCE_NONE ? NULL
									     : tcb_knob_word(knob, tuning->knobs[knob]);
}

const char *tcbrt_source_text(enum tcbrt_source source)
{
	static const char *const texts[] = { "none",    "exact",    "nearest",    "architecture",
					     "default", "modelled", "provisional" };

	return (unsigned)source < sizeof(texts) / sizeof(texts[0]) ? texts[source] : "none";
}

const char *rt_refusal_text(enum rt_refusal refusal)
{
	static const char *const texts[RT_REFUSAL_COUNT] = {
		[RT_FINE] = NULL,
		[RT_NO_OP] = "this library has no such op",
		[RT_NO_VARIANT] = "this library has no such kernel",
		[RT_OTHER_KERNEL] = "its kernel changed since it was measured: sweep again",
		[RT_OTHER_GEOMETRY] = "its geometry cannot be read by this library",
		[RT_ILLEGAL] = "its geometry is not legal for its shape",
	};

	return texts[refusal];
}

int tcbrt_each(const struct tcbrt *rt, int (*each)(void *ctx, const struct tcbrt_entry *entry), void *ctx)
{
	for (uint32_t i = 0; rt && each && i < rt->entry_count; i++) {
		const struct rt_entry *entry = &rt->entries[i];
		const struct rt_device *device = &rt->devices[entry->key.device];
		struct tcbrt_entry shown = {
			.op = rt->ops[entry->key.op].name,
			.contract = tcb_contract_text((enum tcb_contract)entry->key.contract),
			.state = tcb_state_text((enum tcb_state)entry->key.state),
			.device = device->name,
			.device_key = device->key,
			.arch = device->arch,
			.model = device->model,
			.is_this_host = device->is_this_host,
			.threads = entry->key.threads,
			.m = entry->key.m,
			.n = entry->key.n,
			.k = entry->key.k,
			.geometry = rt->strings + entry->text,
			.variant = rt->strings + entry->variant,
			.signature = rt->strings + entry->signature,
			.measured_at = rt->strings + entry->measured_at,
			.modelled = entry->modelled,
			.provisional = entry->provisional,
			.ns = entry->ns.median,
			.ns_lo = entry->ns.lo,
			.ns_hi = entry->ns.hi,
			.speedup = entry->speedup.median,
			.speedup_lo = entry->speedup.lo,
			.speedup_hi = entry->speedup.hi,
			.refused = rt_refusal_text(rt_refusal(rt, entry)),
		};
		int stop = each(ctx, &shown);

		if (stop)
			return stop;
	}
	return 0;
}

size_t tcbrt_count(const struct tcbrt *rt, size_t *refused_out)
{
	size_t refused = rt ? rt->unreadable : 0;

	for (uint32_t i = 0; rt && i < rt->entry_count; i++)
		refused += rt_refusal(rt, &rt->entries[i]) != RT_FINE;
	if (refused_out)
		*refused_out = refused;
	return rt ? rt->entry_count + rt->unreadable : 0;
}
