/* SPDX-License-Identifier: MIT
 *
 * Several threads run the clusters of a launch.  Each takes the next cluster in
 * order and has blocks, clock, counts and findings of its own.  As long as no
 * cluster touches what another one wrote (emu_claim.c) that leaves what one
 * thread leaves; counts are added up, and of findings the one of the first
 * cluster is told.  Whatever could come out otherwise (a cluster that depends on
 * another, a fault, a clock that is read, a limit that is reached) is no result:
 * memory is put back, and one thread does the launch from its beginning.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "ptx/emulate/emu_crew.h"

struct member {
	struct tcb_emu_run run;
	struct tcb_ptx_emulation out;
	struct tcb_rng rng;
	struct tcb_error err;
	struct tcb_emu_found found;
	int is_caller; /* in whose thread the launch was asked for */
	pthread_t thread;
	int has_thread;
};

static void *work(void *context)
{
	struct member *self = context;
	struct tcb_emu_run *run = &self->run;
	struct tcb_emu_crew *crew = run->crew;
	uint64_t index;

	while (!run->fault &&
	       (index = atomic_fetch_add_explicit(&crew->next, 1, memory_order_relaxed)) < run->cluster_count) {
		uint64_t done;

		tcb_emu_run_clusters(run, index, index + 1);
		done = atomic_fetch_add_explicit(&crew->done, 1, memory_order_relaxed) + 1;
		if (self->is_caller && run->launch->progress)
			run->launch->progress(run->launch->progress_ctx, done * run->cluster_blocks);
	}
	if (run->fault)
		atomic_store_explicit(&crew->has_given_up, 1, memory_order_relaxed);
	return NULL;
}

/* Words: beyond this a region is not worth the memory, and whoever writes there runs alone. */
static const uint64_t claims_max = 1u << 26;

static void end_claims(struct tcb_emu_run *run)
{
	for (uint32_t i = 0; i < run->memory->region_count; i++) {
		free(run->memory->regions[i].claims);
		run->memory->regions[i].claims = NULL;
	}
}

static int begin_claims(struct tcb_emu_run *run)
{
	for (uint32_t i = 0; i < run->memory->region_count; i++) {
		struct tcb_emu_region *region = &run->memory->regions[i];
		const uint64_t count = region->bytes / run->program->global_grain + 1;

		if (region->permission == TCB_PTX_READ_ONLY || count > claims_max)
			continue;
		region->claims = calloc(count, sizeof *region->claims);
		if (!region->claims || !tcb_emu_cells(run, region)) {
			end_claims(run);
			return 0;
		}
	}
	return 1;
}

static int open_member(struct member *m, const struct tcb_emu_run *run, struct tcb_emu_crew *crew)
{
	const struct tcb_ptx_program *program = run->program;

	m->run = *run;
	m->run.out = &m->out;
	m->run.rng = &m->rng;
	m->run.err = &m->err;
	m->run.found = &m->found;
	m->run.crew = crew;
	m->run.counts = calloc(program->count_total + 1u, sizeof *m->run.counts);
	m->run.reported = calloc(program->count_total + 1u, TCB_EMU_REPORTED_WORDS * sizeof *m->run.reported);
	m->run.blocks = calloc(run->room, sizeof *m->run.blocks);
	m->run.shadows = calloc(run->room, sizeof *m->run.shadows);
	return m->run.counts && m->run.reported && m->run.blocks && m->run.shadows;
}

static void close_member(struct member *m)
{
	if (m->run.shadows)
		tcb_emu_shadows_free(&m->run);
	tcb_emu_places_free(&m->run);
	tcb_emu_found_fini(&m->found);
	free(m->run.counts);
	free(m->run.reported);
	free(m->run.blocks);
}

/* Each member's part is added to RUN. */
static void merge(struct tcb_emu_run *run, struct member *members, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct tcb_emu_run *part = &members[i].run;

		for (uint32_t k = 0; k <= run->program->count_total; k++)
			tcb_emu_counts_add(&run->counts[k], &part->counts[k]);
		run->out->global_read_bytes += part->out->global_read_bytes;
		run->out->global_write_bytes += part->out->global_write_bytes;
	}
	for (;;) {
		struct tcb_emu_found *first = NULL;

		for (unsigned i = 0; i < count; i++) {
			struct tcb_emu_found *f = &members[i].found;

			if (f->told < f->count &&
			    (!first || f->items[f->told].cluster < first->items[first->told].cluster))
				first = f;
		}
		if (!first)
			return;
		tcb_emu_found_tell(run, &first->items[first->told++]);
	}
}

/* Whether all went well that the members did. */
static int is_result(const struct tcb_emu_run *run, const struct member *members, unsigned count)
{
	const uint64_t limit = tcb_emu_step_limit(run);
	uint64_t steps = 0, ticks = 0;

	for (unsigned i = 0; i < count; i++) {
		if (members[i].run.fault || members[i].found.has_failed)
			return 0;
		steps += members[i].run.steps;
		ticks += members[i].run.tick;
	}
	return steps < limit && ticks < UINT32_MAX / 2;
}

static int run_members(struct tcb_emu_run *run, struct member *members, unsigned count)
{
	struct tcb_emu_crew crew = { 0 };
	int is_ready = 1;

	for (unsigned i = 0; i < count; i++)
		is_ready &= open_member(&members[i], run, &crew);
	members[0].is_caller = 1;
	for (unsigned i = 1; i < count && is_ready; i++)
		members[i].has_thread = pthread_create(&members[i].thread, NULL, work, &members[i]) == 0;
	if (is_ready)
		work(&members[0]);
	for (unsigned i = 1; i < count; i++)
		if (members[i].has_thread)
			pthread_join(members[i].thread, NULL);
	is_ready = is_ready && is_result(run, members, count);
	if (is_ready)
		merge(run, members, count);
	for (unsigned i = 0; i < count; i++)
		close_member(&members[i]);
	return is_ready;
}

/* Whether clusters could be independent at all. */
static int is_worth_it(const struct tcb_emu_run *run)
{
	if (run->launch->threads < 2 || run->cluster_count < 2 || run->cluster_count > tcb_emu_claim_clusters ||
	    run->launch->is_cooperative || run->program->waits_for_launch || run->program->clusters_depend)
		return 0;
	for (uint32_t i = 0; i < run->memory->region_count; i++)
		if (run->memory->regions[i].texture && run->memory->regions[i].permission == TCB_PTX_MAY_WRITE)
			return 0;
	return 1;
}

int tcb_emu_crew_run(struct tcb_emu_run *run)
{
	uint64_t count = run->launch->threads;
	struct member *members;
	int is_done = 0;

	if (!is_worth_it(run) || !tcb_emu_run_keep(run))
		return 0;
	count = count < run->cluster_count ? count : run->cluster_count;
	members = calloc(count, sizeof *members);
	if (members && begin_claims(run)) {
		is_done = run_members(run, members, (unsigned)count);
		if (!is_done)
			tcb_emu_restore(run->memory, run->kept);
		run->program->clusters_depend = !is_done;
	}
	end_claims(run);
	tcb_emu_shadows_free(run);
	tcb_emu_races_end(run);
	free(members);
	return is_done;
}
