/* SPDX-License-Identifier: MIT
 *
 * Values go to all parties alike; answers are compared with those of who says what is
 * right, byte zones and poison with what was written there before.
 */
#include "judge/hearing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/sizes.h"
#include "kernelfile/file_c.h"
#include "kernels/code.h"

/* A call of who says what is right that takes longer is not made for each check. */
static const double SLOW_NS = 0.2e9;
enum { LOAD_S = 20, PROBES = 32, SHORT_BATCH = 2 };

/* --- opening --- */

/* The op's configuration for SHAPE, on a host of THREADS: the default, or the next that breaks no condition. */
static enum tcb_status find_geometry(const struct tcb_judge_kernel *kernel, const struct tcb_shape *shape,
				     unsigned threads, struct tcb_problem *problem, struct tcb_geometry *out,
				     struct tcb_error *err)
{
	const struct tcb_op *op = tcb_file_op(kernel->made);
	const struct tcb_target target = { .threads = threads };
	size_t side = 0;

	TCB_TRY(tcb_problem_init(op, op->default_contract, shape, problem, err));
	while (side + 1 < TCB_SIDES_MAX && !op->side[side])
		side++;
	op->side[side]->space->default_geometry(problem, &target, out);
	return TCB_OK;
}

static int is_host_language(enum tcb_file_language language)
{
	return language == TCB_FILE_C || language == TCB_FILE_CXX;
}

static enum tcb_status compile_gpu(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				   const struct tcb_place *place, struct tcb_code_image **out, struct tcb_error *err)
{
	struct tcb_kernel kernel = { .code = NULL };
	enum tcb_status status = tcb_kernel_emit(problem, &place->device.target, geometry, &kernel, err);

	if (status == TCB_OK)
		status = tcb_code_compile(&kernel, 1, &place->device.target, out, err);
	tcb_kernel_fini(&kernel);
	return status;
}

static enum tcb_status start(struct tcb_hearing *hearing, enum tcb_seat seat, struct tcb_error *err)
{
	const struct tcb_judge_options *options = hearing->options;
	const struct tcb_judge_kernel *kernel = &options->kernel[seat];
	const struct tcb_file_source *from = kernel->is_reference ? &kernel->file->reference : &kernel->file->kernel;
	const int is_host = is_host_language(from->language);
	struct tcb_party_start how = { .place = is_host ? options->host : options->place,
				       .slots = &hearing->slots,
				       .inputs = &hearing->inputs,
				       .threads = options->threads };
	char object[TCB_FILE_OBJECT_MAX];
	struct tcb_problem problem;
	struct tcb_geometry geometry;

	TCB_TRY(find_geometry(kernel, &hearing->problem.shape, options->threads, &problem, &geometry, err));
	if (is_host) {
		TCB_TRY(tcb_file_c_object(tcb_file_op_c(kernel->made, kernel->is_reference), &problem.shape, &geometry,
					  NULL, object, err));
		how.object = object;
	} else {
		TCB_TRY(compile_gpu(&problem, &geometry, options->place, &hearing->image[seat], err));
		how.image = hearing->image[seat];
	}
	return tcb_party_start(&how, &hearing->party[seat], err);
}

/* What became of SEAT, as a verdict. */
static int tell(struct tcb_hearing *hearing, enum tcb_seat seat, const struct tcb_party_end *end)
{
	struct tcb_ruling *verdict = hearing->verdict;

	if (end->how == TCB_PARTY_NOT_STARTED)
		tcb_ruling_find(verdict, TCB_RULING_UNDECIDED, "system", "%s", end->what);
	else if (seat != TCB_SEAT_JUDGED)
		tcb_ruling_find(verdict, TCB_RULING_UNDECIDED, "reference", "the reference cannot be run: %s",
				end->what);
	else if (end->how == TCB_PARTY_HUNG)
		tcb_ruling_find(verdict, TCB_RULING_WRONG, "hang", "%s", end->what);
	else if (end->how == TCB_PARTY_NOT_LOADED)
		tcb_ruling_find(verdict, TCB_RULING_WRONG, "compile", "%s", end->what);
	else if (end->is_forbidden)
		tcb_ruling_find(verdict, TCB_RULING_CHEATS, "forbidden", "%s", end->what);
	else
		tcb_ruling_find(verdict, TCB_RULING_WRONG, "crash", "%s", end->what);
	return -1;
}

static int is_there(const struct tcb_hearing *hearing, enum tcb_seat seat)
{
	return hearing->options->kernel[seat].file != NULL;
}

static enum tcb_status start_all(struct tcb_hearing *hearing, struct tcb_error *err)
{
	struct tcb_party_end end;

	for (int seat = TCB_SEAT_COUNT - 1; seat >= 0; seat--) {
		struct tcb_error error;
		const enum tcb_status status =
			is_there(hearing, (enum tcb_seat)seat) ? start(hearing, (enum tcb_seat)seat, &error) : TCB_OK;

		if (status == TCB_E_FORMAT && seat == TCB_SEAT_JUDGED)
			tcb_ruling_find(hearing->verdict, TCB_RULING_WRONG, "compile", "%s", error.message);
		else if (status != TCB_OK)
			return tcb_fail(err, status, "%s%s",
					seat == TCB_SEAT_JUDGED ? "" : "the reference: ", error.message);
	}
	for (int seat = 0; seat < TCB_SEAT_COUNT && tcb_ruling_stands(hearing->verdict); seat++)
		if (is_there(hearing, (enum tcb_seat)seat) && tcb_party_ready(&hearing->party[seat], LOAD_S, &end) != 0)
			(void)tell(hearing, (enum tcb_seat)seat, &end);
	return TCB_OK;
}

/* Operands of the task, which the other files have alike. */
static void set_operands(struct tcb_hearing *hearing)
{
	const struct tcb_kernel_file *task = hearing->options->task;

	hearing->operand_count = hearing->problem.op->operands(&hearing->problem, hearing->operand);
	tcb_kernel_file_bind(task, &hearing->problem.shape, NULL, hearing->bound);
	for (size_t i = 0; i < task->argument_count; i++) {
		const struct tcb_file_argument *argument = &task->argument[i];

		if (argument->memory != TCB_FILE_VECTOR)
			continue;
		hearing->argument[argument->operand] = argument;
		hearing->elements[argument->operand] =
			hearing->operand[argument->operand].bytes / argument->type.element_bytes;
		tcb_values_bound(argument, &hearing->tolerance[argument->operand]);
	}
}

enum tcb_status tcb_hearing_open(const struct tcb_judge_options *options, const struct tcb_shape *shape,
				 struct tcb_ruling *verdict, struct tcb_hearing **out, struct tcb_error *err)
{
	struct tcb_hearing *hearing = calloc(1, sizeof *hearing);
	const struct tcb_op *op = tcb_file_op(options->kernel[TCB_SEAT_RIGHT].made);
	enum tcb_status status;

	*out = NULL;
	if (!hearing)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	hearing->options = options;
	hearing->verdict = verdict;
	status = tcb_problem_init(op, op->default_contract, shape, &hearing->problem, err);
	if (status == TCB_OK) {
		set_operands(hearing);
		status = tcb_slots_lay(hearing->operand, hearing->operand_count, options->memory_bytes, &hearing->slots,
				       err);
	}
	if (status == TCB_OK)
		status = tcb_region_create(tcb_slots_bytes(&hearing->slots, TCB_REGION_INPUTS), &hearing->inputs, err);
	if (status == TCB_OK)
		status = start_all(hearing, err);
	if (status != TCB_OK) {
		tcb_hearing_close(hearing);
		return status;
	}
	*out = hearing;
	return TCB_OK;
}

void tcb_hearing_close(struct tcb_hearing *hearing)
{
	if (!hearing)
		return;
	for (int seat = 0; seat < TCB_SEAT_COUNT; seat++) {
		tcb_party_stop(&hearing->party[seat]);
		free(hearing->image[seat]);
	}
	tcb_region_destroy(&hearing->inputs);
	free(hearing);
}

void tcb_hearing_begin(struct tcb_hearing *hearing, uint64_t seed)
{
	tcb_rng_init(&hearing->rng, seed);
	hearing->key = tcb_rng_next(&hearing->rng);
	hearing->standard = TCB_SEAT_RIGHT;
}

/* --- inputs --- */

static char *input_at(const struct tcb_hearing *hearing, size_t slot, size_t i)
{
	return hearing->inputs.at + tcb_slots_first(&hearing->slots, slot, i);
}

static int is_output(const struct tcb_hearing *hearing, size_t i)
{
	return hearing->operand[i].role == TCB_ROLE_OUTPUT;
}

enum tcb_status tcb_hearing_draw(struct tcb_hearing *hearing, enum tcb_values_kind kind, size_t slot,
				 struct tcb_error *err)
{
	for (size_t i = 0; i < hearing->operand_count; i++)
		if (!is_output(hearing, i))
			TCB_TRY(tcb_values_draw(hearing->argument[i], hearing->bound, kind, hearing->elements[i],
						&hearing->rng, input_at(hearing, slot, i), err));
	return TCB_OK;
}

void tcb_hearing_copy(struct tcb_hearing *hearing, size_t from, size_t to)
{
	for (size_t i = 0; i < hearing->operand_count; i++)
		if (!is_output(hearing, i))
			memcpy(input_at(hearing, to, i), input_at(hearing, from, i), hearing->operand[i].bytes);
}

void tcb_hearing_change(struct tcb_hearing *hearing, size_t slot)
{
	for (size_t i = 0; i < hearing->operand_count; i++)
		if (!is_output(hearing, i) && hearing->argument[i]->fill == TCB_FILE_RANDOM)
			tcb_values_change(hearing->argument[i], tcb_rng_below(&hearing->rng, hearing->elements[i]),
					  &hearing->rng, input_at(hearing, slot, i));
}

/* --- calls --- */

static char *output_at(const struct tcb_hearing *hearing, enum tcb_seat seat, size_t slot, size_t i)
{
	return hearing->party[seat].outputs.at + tcb_slots_first(&hearing->slots, slot, i);
}

const void *tcb_hearing_output(const struct tcb_hearing *hearing, enum tcb_seat seat, size_t slot, size_t i)
{
	return output_at(hearing, seat, slot, i);
}

enum tcb_seat tcb_hearing_rival(const struct tcb_hearing *hearing)
{
	return is_there(hearing, TCB_SEAT_RIVAL) ? TCB_SEAT_RIVAL : TCB_SEAT_RIGHT;
}

void tcb_hearing_poison(struct tcb_hearing *hearing, enum tcb_seat seat, const uint32_t *slots, size_t count)
{
	for (size_t i = 0; i < hearing->operand_count; i++)
		if (is_output(hearing, i))
			hearing->poison[i] = tcb_values_poison(&hearing->argument[i]->type, &hearing->rng);
	for (size_t s = 0; s < count; s++) {
		for (size_t i = 0; i < hearing->operand_count; i++)
			if (is_output(hearing, i))
				tcb_values_fill(hearing->poison[i], hearing->operand[i].bytes,
						output_at(hearing, seat, slots[s], i));
		tcb_slots_guard(&hearing->slots, &hearing->party[seat].outputs, TCB_REGION_OUTPUTS, slots[s],
				hearing->key);
	}
}

/* Probes behind some of the calls, in their order, each at an element that nobody knows. */
static size_t set_probes(struct tcb_hearing *hearing, const uint32_t *slots, size_t count,
			 struct tcb_probe probe[TCB_PROBES_MAX])
{
	const size_t few = count ? tcb_least(count - 1, PROBES) : 0;
	const size_t most = hearing->party[TCB_SEAT_JUDGED].is_host && count >= SHORT_BATCH ? few : 0;
	const size_t step = most ? (count - 1) / most : 1;

	for (size_t p = 0; p < most; p++) {
		const size_t call = p * step + tcb_rng_below(&hearing->rng, step);
		const size_t later = call + 1 + tcb_rng_below(&hearing->rng, count - call - 1);
		size_t i = tcb_rng_below(&hearing->rng, hearing->operand_count);

		while (!is_output(hearing, i))
			i = (i + 1) % hearing->operand_count;
		const size_t each = hearing->argument[i]->type.element_bytes;
		const size_t at = each * tcb_rng_below(&hearing->rng, hearing->elements[i]);

		probe[p] = (struct tcb_probe){ .call = (uint32_t)call,
					       .bytes = (uint32_t)each,
					       .own = tcb_slots_first(&hearing->slots, slots[call], i) + at,
					       .other = tcb_slots_first(&hearing->slots, slots[later], i) + at };
	}
	return most;
}

/* What probes saw: the call's own output as it is now, a later call's as it was poisoned. */
static int check_probes(struct tcb_hearing *hearing, const struct tcb_probe *set, size_t count, const char *before)
{
	const struct tcb_party *party = &hearing->party[TCB_SEAT_JUDGED];

	for (size_t p = 0; p < count; p++) {
		const struct tcb_probe *seen = &party->page->probe[p];
		uint64_t own = 0, other = 0;

		memcpy(&own, party->outputs.at + set[p].own, set[p].bytes);
		memcpy(&other, before + 8 * p, set[p].bytes);
		if (seen->seen_own != own)
			tcb_ruling_find(hearing->verdict, TCB_RULING_CHEATS, "deferred",
					"it returns before its output is there: call %u of a batch was completed later",
					set[p].call + 1);
		else if (seen->seen_other != other)
			tcb_ruling_find(hearing->verdict, TCB_RULING_CHEATS, "ahead",
					"in call %u of a batch it writes to the output of a later one",
					set[p].call + 1);
	}
	return tcb_ruling_stands(hearing->verdict) ? 0 : -1;
}

static int check_threads(struct tcb_hearing *hearing, enum tcb_seat seat)
{
	const unsigned threads = hearing->options->threads;
	const unsigned count = hearing->party[seat].is_host ? tcb_party_threads(&hearing->party[seat]) : 0;

	if (seat == TCB_SEAT_JUDGED && count > threads)
		tcb_ruling_find(hearing->verdict, TCB_RULING_CHEATS, "threads",
				"%u threads are there when it has returned, where it may have %u (--threads)", count,
				threads);
	return tcb_ruling_stands(hearing->verdict) ? 0 : -1;
}

/* What it has written that is not an output of the calls. */
static int check_zones(struct tcb_hearing *hearing, enum tcb_seat seat, const uint32_t *slots, size_t count)
{
	const struct tcb_party *party = &hearing->party[seat];
	int which = -1;

	for (size_t s = 0; s < count && which < 0; s++)
		which = tcb_slots_damaged(&hearing->slots, &party->outputs, TCB_REGION_OUTPUTS, slots[s], hearing->key);
	if (!party->is_host && party->page->damaged >= 0)
		which = party->page->damaged;
	if (which >= 0 && which < (int)hearing->operand_count)
		tcb_ruling_find(hearing->verdict, seat == TCB_SEAT_JUDGED ? TCB_RULING_CHEATS : TCB_RULING_UNDECIDED,
				seat == TCB_SEAT_JUDGED ? "outside" : "reference", "%s writes outside of %s",
				seat == TCB_SEAT_JUDGED ? "it" : "the reference", hearing->operand[which].name);
	which = party->is_host ? -1 : party->page->written;
	if (which >= 0 && which < (int)hearing->operand_count)
		tcb_ruling_find(hearing->verdict, seat == TCB_SEAT_JUDGED ? TCB_RULING_CHEATS : TCB_RULING_UNDECIDED,
				seat == TCB_SEAT_JUDGED ? "inputs" : "reference", "%s writes to input %s",
				seat == TCB_SEAT_JUDGED ? "it" : "the reference", hearing->operand[which].name);
	return tcb_ruling_stands(hearing->verdict) ? 0 : -1;
}

int tcb_hearing_call(struct tcb_hearing *hearing, enum tcb_seat seat, const uint32_t *slots, size_t count,
		     double *ns_out)
{
	struct tcb_party *party = &hearing->party[seat];
	struct tcb_probe probe[TCB_PROBES_MAX];
	char before[8 * TCB_PROBES_MAX] = { 0 };
	struct tcb_party_end end;
	const size_t probes = seat == TCB_SEAT_JUDGED ? set_probes(hearing, slots, count, probe) : 0;

	for (size_t p = 0; p < probes; p++)
		memcpy(before + 8 * p, party->outputs.at + probe[p].other, probe[p].bytes);
	memcpy(party->page->slot, slots, tcb_most(count, hearing->touched) * sizeof *slots);
	party->page->touched = (uint32_t)hearing->touched;
	memcpy(party->page->probe, probe, probes * sizeof *probe);
	party->page->probe_count = (uint32_t)probes;
	party->page->count = (uint32_t)count;
	party->page->is_hot = hearing->options->state == TCB_HOT;
	party->page->is_timed = (uint32_t)hearing->is_timed;
	if (tcb_party_ask(party, TCB_WISH_CALLS, hearing->options->timeout_s, ns_out, &end) != 0)
		return tell(hearing, seat, &end);
	if (!party->is_host && party->page->words[0]) {
		snprintf(end.what, sizeof end.what, "%.*s", (int)sizeof end.what - 1, party->page->words);
		return tell(hearing, seat, &end);
	}
	if (!party->is_host)
		*ns_out = party->page->event_ns;
	if (check_threads(hearing, seat) != 0 || check_zones(hearing, seat, slots, count) != 0)
		return -1;
	return seat == TCB_SEAT_JUDGED ? check_probes(hearing, probe, probes, before) : 0;
}

int tcb_hearing_run(struct tcb_hearing *hearing, enum tcb_seat seat, const uint32_t *slots, size_t count,
		    double *ns_out)
{
	tcb_hearing_poison(hearing, seat, slots, count);
	return tcb_hearing_call(hearing, seat, slots, count, ns_out);
}

/* --- comparing --- */

/* Finding against SEAT: MISS of output I. */
static void accuse(struct tcb_hearing *hearing, enum tcb_seat seat, size_t slot, size_t i,
		   const struct tcb_values_miss *miss, const struct tcb_charge *charge)
{
	const size_t bytes = hearing->operand[i].bytes;
	const size_t left = tcb_values_left(hearing->poison[i], output_at(hearing, seat, slot, i), bytes);

	if (seat != TCB_SEAT_JUDGED)
		tcb_ruling_find(
			hearing->verdict, TCB_RULING_UNDECIDED, "reference",
			"the reference's kernel is wrong by the reference of its own file: %s[%zu] is %.9g, not "
			"%.9g",
			hearing->operand[i].name, miss->first, miss->got, miss->right);
	else if (left > bytes / 2 && hearing->argument[i]->type.element < TCB_FILE_SIGNED)
		tcb_ruling_find(hearing->verdict, charge->kind, charge->rule,
				"it leaves %.1f %% of output %s unwritten %s", 100 * (double)left / (double)bytes,
				hearing->operand[i].name, charge->when);
	else
		tcb_ruling_find(
			hearing->verdict, charge->kind, charge->rule,
			"%zu of %zu values of output %s are wrong %s; the first is [%zu]: %.9g instead of %.9g, "
			"where %.3g is allowed",
			miss->wrong, hearing->elements[i], hearing->operand[i].name, charge->when, miss->first,
			miss->got, miss->right, miss->allowed);
}

int tcb_hearing_is_slow(double right_ns)
{
	return right_ns > SLOW_NS;
}

void tcb_hearing_hurry(struct tcb_hearing *hearing, double right_ns)
{
	if (hearing->standard == TCB_SEAT_RIVAL || !is_there(hearing, TCB_SEAT_RIVAL) || !tcb_hearing_is_slow(right_ns))
		return;
	hearing->standard = TCB_SEAT_RIVAL;
	for (size_t i = 0; i < hearing->operand_count; i++) { /* both may miss what is right */
		hearing->tolerance[i].relative *= 2;
		hearing->tolerance[i].absolute *= 2;
		hearing->tolerance[i].share_of_rms *= 2;
	}
}

int tcb_hearing_compare(struct tcb_hearing *hearing, enum tcb_seat seat, const uint32_t *slots, size_t count,
			const struct tcb_charge *charge)
{
	struct tcb_ruling *verdict = hearing->verdict;

	for (size_t s = 0; s < count; s++)
		for (size_t i = 0; i < hearing->operand_count; i++) {
			struct tcb_values_miss miss;

			if (!is_output(hearing, i))
				continue;
			tcb_values_compare(
				hearing->argument[i], &hearing->tolerance[i], output_at(hearing, seat, slots[s], i),
				output_at(hearing, hearing->standard, slots[s], i), hearing->elements[i], &miss);
			if (miss.not_finite)
				tcb_ruling_find(verdict, TCB_RULING_UNDECIDED, "reference",
						"the reference has %zu values in output %s that are not finite",
						miss.not_finite, hearing->operand[i].name);
			else if (miss.wrong)
				accuse(hearing, seat, slots[s], i, &miss, charge);
			if (!tcb_ruling_stands(verdict))
				return -1;
			if (seat == TCB_SEAT_JUDGED) {
				verdict->values += hearing->elements[i];
				verdict->worst = fmax(verdict->worst, miss.worst);
			}
		}
	verdict->calls += seat == TCB_SEAT_JUDGED ? count : 0;
	return 0;
}
