/* SPDX-License-Identifier: MIT
 *
 * Filling an answer and reading it (knobs by name), and words for enums.
 */
#include <stdio.h>
#include <string.h>

#include "rt/runtime.h"

_Static_assert((int)TCB_KNOBS_MAX <= (int)TCBRT_KNOBS_MAX, "every knob and parameter has room in struct tcbrt_tuning");
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
	out->verdict = TCBRT_VERDICT_NONE;
	out->plain_ns = 0;
	memset(out->reserved, 0, sizeof(out->reserved));
	for (int knob = TCB_KNOBS_MAX; knob < TCBRT_KNOBS_MAX; knob++)
		out->knobs[knob] = TCB_KNOB_UNSET;
}

void rt_tuning_fill(struct tcbrt_tuning *out, enum tcbrt_source source, const struct tcb_geometry *geometry,
		    const struct tcb_variant *variant, unsigned threads)
{
	const int knob = geometry->knob[TCB_KNOB_THREADS];

	out->source = source;
	out->threads = knob > 0 ? (unsigned)knob : threads;
	rt_tuning_geometry(out, geometry);
	tcb_geometry_print(geometry, out->geometry);
	snprintf(out->variant, sizeof(out->variant), "%s", variant ? variant->name : "");
}

void rt_tuning_stored(struct tcbrt_tuning *out, const struct rt_found *found)
{
	const struct rt_entry *entry = found->entry;
	const struct rt_texts texts = rt_entry_texts(found);
	const int threads = entry->geometry.knob[TCB_KNOB_THREADS];

	out->modelled = entry->modelled;
	out->provisional = entry->provisional;
	out->threads = threads > 0 ? (unsigned)threads : entry->key.threads;
	rt_tuning_geometry(out, &entry->geometry);
	out->verdict = (enum tcbrt_verdict)entry->verdict;
	out->expected_ns = entry->ns.median;
	out->speedup = entry->speedup.median;
	out->speedup_lo = entry->speedup.lo;
	out->plain_ns = entry->plain_ns;
	out->tuned_m = entry->key.m;
	out->tuned_n = entry->key.n;
	out->tuned_k = entry->key.k;
	out->tuned_query_heads = entry->key.words.query;
	out->tuned_kv_heads = entry->key.words.kv;
	out->tuned_sequences = entry->key.words.sequences;
	memcpy(out->geometry, texts.geometry, entry->geometry_length + 1u);
	memcpy(out->variant, texts.variant, entry->variant_length + 1u);
}

/* TCB_KNOB_COUNT if there is none of that name. */
static enum tcb_knob find_knob(const char *name)
{
	int knob = 0;

	while (knob < TCB_KNOB_COUNT && strcmp(name, tcb_knob_key((enum tcb_knob)knob)) != 0)
		knob++;
	return (enum tcb_knob)knob;
}

static int is_tile(const char *key)
{
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		if (strcmp(key, tcb_level_text((enum tcb_level)level)) == 0)
			return 1;
	return 0;
}

/*
 * The value of a parameter of the op's own; -1: there is none of that name.  An answer does not know its op: the text
 * of its geometry has the names of the parameters that are set, behind the knobs and in the order of their values.
 */
static int parameter(const struct tcbrt_tuning *tuning, const char *name)
{
	const size_t length = strlen(name);
	int place = TCB_KNOB_COUNT;

	for (const char *at = tuning->geometry; *at; at += *at == ',') {
		char key[TCB_PARAMETER_KEY_MAX];
		const size_t end = strcspn(at, "=,");

		snprintf(key, sizeof(key), "%.*s", (int)end, at);
		if (find_knob(key) == TCB_KNOB_COUNT && !is_tile(key)) {
			while (place < TCB_KNOBS_MAX && tuning->knobs[place] == TCB_KNOB_UNSET)
				place++;
			if (place == TCB_KNOBS_MAX)
				return -1;
			if (end == length && strncmp(at, name, length) == 0)
				return tuning->knobs[place];
			place++;
		}
		at += strcspn(at, ",");
	}
	return -1;
}

int tcbrt_knob(const struct tcbrt_tuning *tuning, const char *name)
{
	if (!tuning || !name || tuning->source == TCBRT_SOURCE_NONE)
		return -1;

	const enum tcb_knob knob = find_knob(name);

	return knob == TCB_KNOB_COUNT ? parameter(tuning, name) : tuning->knobs[knob];
}

const char *tcbrt_knob_word(const struct tcbrt_tuning *tuning, const char *name)
{
	enum tcb_knob knob = tuning && name ? find_knob(name) : TCB_KNOB_COUNT;

	return knob == TCB_KNOB_COUNT || tuning->source == TCBRT_SOURCE_NONE ? NULL
									     : tcb_knob_word(knob, tuning->knobs[knob]);
}

const char *tcbrt_source_text(enum tcbrt_source source)
{
	static const char *const texts[] = { "none",     "exact",       "nearest", "architecture", "default",
					     "modelled", "provisional", "asked",   "earlier" };

	return (unsigned)source < sizeof(texts) / sizeof(texts[0]) ? texts[source] : "none";
}

const char *tcbrt_verdict_text(enum tcbrt_verdict verdict)
{
	static const char *const texts[] = { "none", "tuned", "thin", "noisy", "provisional", "modelled" };

	return (unsigned)verdict < sizeof(texts) / sizeof(texts[0]) ? texts[verdict] : "none";
}
