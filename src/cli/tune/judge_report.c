/* SPDX-License-Identifier: MIT
 *
 * A verdict comes in, lines and JSON go out.
 */
#include "cli/tune/judge_report.h"

#include <math.h>
#include <stdio.h>

#include "cli/core/emit.h"

static const struct tcb_judge_kernel *rival_of(const struct tcb_judge_options *options)
{
	return &options->kernel[options->kernel[TCB_SEAT_RIVAL].file ? TCB_SEAT_RIVAL : TCB_SEAT_RIGHT];
}

static const char *name_of(const struct tcb_judge_kernel *kernel)
{
	return kernel->is_reference ? kernel->file->reference.name : kernel->file->kernel.name;
}

enum tcb_status cli_judge_status(const struct tcb_judge_options *options, const struct tcb_ruling *verdict)
{
	static const enum tcb_status statuses[] = { [TCB_RULING_RIGHT] = TCB_OK,
						    [TCB_RULING_WRONG] = TCB_E_VERIFY,
						    [TCB_RULING_CHEATS] = TCB_E_CHEATS,
						    [TCB_RULING_UNDECIDED] = TCB_E_UNDECIDED };

	if (verdict->kind == TCB_RULING_RIGHT && options->at_least > 0 && !(verdict->ratio.lo >= options->at_least))
		return TCB_E_NOT_FASTER;
	return statuses[verdict->kind];
}

static void add_speed(const struct tcb_judge_options *options, const struct tcb_ruling *verdict, struct tcb_str *out)
{
	char judged[CLI_NUMBER_MAX], rival[CLI_NUMBER_MAX], ratio[CLI_NUMBER_MAX];

	cli_text_ratio_interval(&verdict->ratio, ratio);
	cli_text_time_interval(&verdict->ns[TCB_SEAT_JUDGED], judged);
	cli_text_time_interval(&verdict->ns[TCB_SEAT_RIVAL], rival);
	cli_add_line(out, "  speed       %s times as fast as %s, %s", ratio, name_of(rival_of(options)),
		     tcb_state_text(options->state));
	cli_add_line(out, "              %s per call, %s of the other; %zu batches of %zu calls", judged, rival,
		     verdict->rounds, verdict->batch);
	if (verdict->hand_over > 0)
		cli_add_line(out, "              question and answer were %.2f %% of a batch, and are subtracted",
			     100 * verdict->hand_over);
	if (verdict->wall_over_events > 0)
		cli_add_line(out, "              by the host's clock %.3f times what events say",
			     verdict->wall_over_events);
}

void cli_judge_text(const char *kernel, const struct tcb_judge_options *options, const struct tcb_ruling *verdict,
		    struct tcb_str *out)
{
	static const char *const marks[] = { "held", "FAILED", "not tried" };
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&options->shape, shape);
	cli_add_line(out, "%s of %s at %s, beside %s of %s", name_of(&options->kernel[TCB_SEAT_JUDGED]), kernel, shape,
		     name_of(rival_of(options)), rival_of(options)->file->path);
	for (size_t i = 0; i < verdict->tried_count; i++)
		cli_add_line(out, "  %-11s %-9s %s", verdict->tried[i].name, marks[verdict->tried[i].how],
			     verdict->tried[i].text);
	if (verdict->calls)
		cli_add_line(out,
			     "  compared    %zu calls at %zu size%s, %zu values; the largest error is %.3g of what is "
			     "allowed",
			     verdict->calls, verdict->sizes, verdict->sizes == 1 ? "" : "s", verdict->values,
			     verdict->worst);
	if (verdict->rounds)
		add_speed(options, verdict, out);
	for (size_t i = 0; i < verdict->note_count; i++)
		cli_add_line(out, "  note        %s", verdict->notes[i]);
	if (verdict->rule)
		cli_add_line(out, "verdict: %s (%s): %s", tcb_ruling_text(verdict->kind), verdict->rule,
			     verdict->reason);
	else if (cli_judge_status(options, verdict) == TCB_E_NOT_FASTER)
		cli_add_line(out, "verdict: right, but not %.3g times as fast", options->at_least);
	else
		cli_add_line(out, "verdict: right");
}

static json_t *tried_json(const struct tcb_ruling *verdict, int *failed)
{
	static const char *const words[] = { "held", "failed", "not-tried" };
	json_t *list = json_array();

	for (size_t i = 0; i < verdict->tried_count; i++) {
		json_t *row = json_object();

		cli_json_set(row, "name", cli_json_text(verdict->tried[i].name), failed);
		cli_json_set(row, "outcome", cli_json_text(words[verdict->tried[i].how]), failed);
		cli_json_set(row, "text", cli_json_text(verdict->tried[i].text), failed);
		cli_json_add(list, row, failed);
	}
	return list;
}

static json_t *samples_json(const struct tcb_ruling *verdict, int *failed)
{
	json_t *list = json_array();

	for (size_t i = 0; i < verdict->rounds; i++) {
		json_t *pair = json_array();

		cli_json_add(pair, cli_json_real(verdict->sample_ns[i][0]), failed);
		cli_json_add(pair, cli_json_real(verdict->sample_ns[i][1]), failed);
		cli_json_add(list, pair, failed);
	}
	return list;
}

static json_t *speed_json(const struct tcb_judge_options *options, const struct tcb_ruling *verdict, int *failed)
{
	json_t *speed = json_object();

	cli_json_set(speed, "state", cli_json_text(tcb_state_text(options->state)), failed);
	cli_json_set(speed, "ratio", cli_json_interval(&verdict->ratio), failed);
	cli_json_set(speed, "ns", cli_json_interval(&verdict->ns[TCB_SEAT_JUDGED]), failed);
	cli_json_set(speed, "reference_ns", cli_json_interval(&verdict->ns[TCB_SEAT_RIVAL]), failed);
	cli_json_set(speed, "batches", cli_json_size(verdict->rounds), failed);
	cli_json_set(speed, "calls_per_batch", cli_json_size(verdict->batch), failed);
	cli_json_set(speed, "hand_over", cli_json_real(verdict->hand_over), failed);
	cli_json_set(speed, "clock_spread", cli_json_real(verdict->clock_spread), failed);
	cli_json_set(speed, "wall_over_events",
		     cli_json_real(verdict->wall_over_events > 0 ? verdict->wall_over_events : NAN), failed);
	cli_json_set(speed, "samples_ns", samples_json(verdict, failed), failed);
	cli_json_set(speed, "flushed", json_boolean(verdict->is_flushed), failed);
	return speed;
}

static json_t *notes_json(const struct tcb_ruling *verdict, int *failed)
{
	json_t *list = json_array();

	for (size_t i = 0; i < verdict->note_count; i++)
		cli_json_add(list, cli_json_text(verdict->notes[i]), failed);
	return list;
}

json_t *cli_judge_json(const char *kernel, const struct tcb_judge_options *options, const struct tcb_ruling *verdict)
{
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.judge.1", &failed);
	const enum tcb_status status = cli_judge_status(options, verdict);
	char seed[24];

	snprintf(seed, sizeof seed, "%llu", (unsigned long long)verdict->seed);
	cli_json_set(root, "kernel", cli_json_text(kernel), &failed);
	cli_json_set(root, "name", cli_json_text(name_of(&options->kernel[TCB_SEAT_JUDGED])), &failed);
	cli_json_set(root, "reference", cli_json_text(name_of(rival_of(options))), &failed);
	cli_json_set(root, "shape", cli_json_shape(&options->shape), &failed);
	cli_json_set(root, "threads", cli_json_size(options->threads), &failed);
	cli_json_set(root, "seed", cli_json_text(seed), &failed);
	cli_json_set(root, "verdict", cli_json_text(tcb_ruling_text(verdict->kind)), &failed);
	cli_json_set(root, "accepted", json_boolean(status == TCB_OK), &failed);
	cli_json_set(root, "rule", verdict->rule ? cli_json_text(verdict->rule) : json_null(), &failed);
	cli_json_set(root, "reason", verdict->rule ? cli_json_text(verdict->reason) : json_null(), &failed);
	cli_json_set(root, "tried", tried_json(verdict, &failed), &failed);
	cli_json_set(root, "notes", notes_json(verdict, &failed), &failed);
	cli_json_set(root, "calls", cli_json_size(verdict->calls), &failed);
	cli_json_set(root, "values", cli_json_size(verdict->values), &failed);
	cli_json_set(root, "sizes", cli_json_size(verdict->sizes), &failed);
	cli_json_set(root, "worst_error", cli_json_real(verdict->worst), &failed);
	cli_json_set(root, "at_least", cli_json_real(options->at_least > 0 ? options->at_least : NAN), &failed);
	cli_json_set(root, "speed", verdict->rounds ? speed_json(options, verdict, &failed) : json_null(), &failed);
	return cli_json_end(root, failed);
}
