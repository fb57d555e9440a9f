/* SPDX-License-Identifier: MIT
 *
 * What the plug-in exports, and the choice of a shim for the host: of those whose
 * structs are laid out as the host's are measured to be, the first whose test
 * passes.  Both run in a sandbox, so that a ggml which nobody has tried can crash
 * them and not the host.  No list of versions is kept.
 */
#include <stdlib.h>
#include <string.h>

#include "attention_test.h"
#include "guarded.h"
#include "host.h"
#include "host_attention.h"
#include "packed.h"
#include "plugin.h"
#include "probe.h"
#include "shim.h"

#define HOW_TO_BUILD                                                                             \
	"build the plug-in for it from its sources: cmake --preset release -DTCB_BUILD_GGML=ON " \
	"-DTCB_GGML_INCLUDE=(the folder of its include/ggml.h and src/ggml-backend-impl.h)"

#ifdef TCB_GGML_HAS_NATIVE
extern const struct ggml_shim ggml_shim_native;
#endif
extern const struct ggml_shim ggml_shim_1, ggml_shim_2, ggml_shim_3;

/* Likeliest first. */
static const struct ggml_shim *const shims[] = {
#ifdef TCB_GGML_HAS_NATIVE
	&ggml_shim_native,
#endif
	&ggml_shim_3,
	&ggml_shim_2,
	&ggml_shim_1,
};
enum { SHIMS = sizeof(shims) / sizeof(shims[0]) };

/* What a child tells. */
struct trial {
	struct ggml_layout layout;
	struct ggml_test test;
	const struct ggml_shim *shim;
};

static const struct ggml_shim *chosen;

static void measure(void *ctx)
{
	struct trial *trial = ctx;

	probe_layout(&trial->layout);
}

static void try_shim(void *ctx)
{
	struct trial *trial = ctx;

	trial->shim->self_test(trial->shim->init(), &trial->test);
}

static void refuse(const char *why)
{
	ggml_host_warn("not used: with ggml %s %s; %s", ggml_host.version, why, HOW_TO_BUILD);
}

/* No shim has this layout: says what differs from the one that is nearest. */
static void refuse_layout(const struct ggml_layout *layout)
{
	struct probe_difference nearest = { NULL, 0, 0 }, other;
	size_t shim = 0, least = GGML_LAYOUT_FACTS + 1;

	for (size_t i = 0; i < SHIMS; i++) {
		const size_t count = probe_differences(layout, &shims[i]->layout, &other);

		if (count >= least)
			continue;
		least = count;
		nearest = other;
		shim = i;
	}
	ggml_host_warn("not used: ggml %s lays out its structs as no version that this build knows (%s: %zu, with %s "
		       "%zu); %s",
		       ggml_host.version, nearest.what, nearest.of_host, shims[shim]->name, nearest.of_shim,
		       HOW_TO_BUILD);
}

static const char *failure(enum guarded_end end)
{
	static const char *const ends[] = { "gave something else than was expected", "crashed", "did not come back",
					    "could not be tried in a process of its own" };

	return ends[end];
}

static void refuse_test(const struct trial *trial, enum guarded_end end)
{
	ggml_host_warn("not used: with ggml %s the plug-in's test %s (%s, as of %s); %s", ggml_host.version,
		       failure(end), trial->test.what ? trial->test.what : "its start", trial->shim->name,
		       HOW_TO_BUILD);
}

/* The last shim that was tried is left in TRIAL where none passes. */
static const struct ggml_shim *choose_of(struct trial *trial, enum guarded_end *end)
{
	struct probe_difference difference;

	for (size_t i = 0; i < SHIMS; i++) {
		if (probe_differences(&trial->layout, &shims[i]->layout, &difference))
			continue;
		trial->shim = shims[i];
		trial->test = (struct ggml_test){ NULL, 0 };
		*end = guarded_run(try_shim, trial);
		if (*end == GUARDED_RETURNED && trial->test.has_passed)
			return shims[i];
	}
	return NULL;
}

static const struct ggml_shim *choose(void)
{
	struct trial *trial = guarded_alloc(sizeof(*trial));
	const struct ggml_shim *found = NULL;
	enum guarded_end end;

	if (!trial) {
		refuse("there is no memory to try it in");
		return NULL;
	}
	if ((end = guarded_run(measure, trial)) != GUARDED_RETURNED)
		ggml_host_warn("not used: measuring how ggml %s lays out its structs %s; %s", ggml_host.version,
			       failure(end), HOW_TO_BUILD);
	else if (!(found = choose_of(trial, &end)) && trial->shim)
		refuse_test(trial, end);
	else if (!found)
		refuse_layout(&trial->layout);
	guarded_free(trial, sizeof(*trial));
	return found;
}

/* Attention is tried by itself: a host whose op is another keeps that. */
struct attention_trial {
	const struct ggml_shim *shim;
	int has_passed;
};

static void try_attention(void *ctx)
{
	struct attention_trial *trial = ctx;

	trial->has_passed = attention_test(trial->shim->init());
}

static void choose_attention(const struct ggml_shim *shim)
{
	struct attention_trial *trial;
	enum guarded_end end;

	if (getenv("TCBTUNE_NO_ATTENTION") || !ggml_host_has_turns() || !ggml_host.flash_attn_ext ||
	    !(trial = guarded_alloc(sizeof(*trial))))
		return;
	trial->shim = shim;
	end = guarded_run(try_attention, trial);
	if (end == GUARDED_RETURNED && trial->has_passed)
		attention_enable();
	else
		ggml_host_say("attention stays with the host: in ggml %s the test of it %s", ggml_host.version,
			      failure(end));
	guarded_free(trial, sizeof(*trial));
}

/* A host is tried once: what is refused stays so. */
static const struct ggml_shim *shim_for(void *caller)
{
	static const void *tried;

	if (!ggml_host_find(caller))
		return NULL;
	if (tried == ggml_host.version)
		return chosen;
	tried = ggml_host.version;
	if (!weights_open())
		ggml_host_warn("not used: out of memory");
	else if ((chosen = choose()))
		choose_attention(chosen);
	return chosen;
}

int ggml_backend_score(void)
{
	return shim_for(__builtin_return_address(0)) != NULL;
}

struct ggml_backend_reg *ggml_backend_init(void)
{
	static struct ggml_backend_reg *registry;
	const struct ggml_shim *shim = shim_for(__builtin_return_address(0));

	if (registry || !shim)
		return registry;
	registry = shim->init();
	ggml_host_say("in ggml %s, as of %s; threads: %s; %s", ggml_host.version, shim->name,
		      ggml_host.parallel ? "the host's, of its OpenMP runtime" : "as many as the host's, its own",
		      weights_has_database() ? "tuned by a database" : "no tuning database, default geometries");
	return registry;
}
