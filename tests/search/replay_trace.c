/* SPDX-License-Identifier: MIT
 *
 * What `tcbtune replay` does with one file, laid open: the candidates that each
 * run of a strategy tried, in their order, by their numbers in the file; and the
 * score.  check_replay_score.py computes the score from these and the file.
 *
 *     replay_trace FILE STRATEGY REPEATS SEED
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/replay/replay.h"

/* The strategy that runs, and what it asked for on the way. */
static const struct tcb_strategy *traced;

static size_t ask(void *self, double spent)
{
	const size_t index = traced->ask(self, spent);
	if (index != TCB_ASK_NONE)
		printf(" %zu", index);
	return index;
}

static char *read_all(const char *path, size_t *bytes_out)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;
	long bytes = -1;
	if (file && fseek(file, 0, SEEK_END) == 0 && (bytes = ftell(file)) > 0)
		text = malloc((size_t)bytes);
	if (text) {
		rewind(file);
		*bytes_out = fread(text, 1, (size_t)bytes, file);
	}
	if (file)
		fclose(file);
	return text;
}

static enum tcb_status trace(const struct tcb_recorded *space, size_t repeats, uint64_t seed, struct tcb_error *err)
{
	struct tcb_strategy strategy = *traced;
	struct tcb_replay replay;
	struct tcb_replay_run *runs = calloc(repeats, sizeof *runs);
	struct tcb_replay_score score;
	enum tcb_status status = runs ? tcb_replay_init(&replay, space, err) : TCB_E_NOMEM;
	if (status != TCB_OK) {
		free(runs);
		return status;
	}
	strategy.ask = ask;
	for (size_t r = 0; r < repeats && status == TCB_OK; r++) {
		printf("run");
		status = tcb_replay_run(&replay, &strategy, seed + r, &runs[r], err);
		printf("\n");
	}
	if (status == TCB_OK)
		status = tcb_replay_judge(&replay, runs, repeats, &score, err);
	if (status == TCB_OK)
		printf("score %.17g\n", score.score);
	for (size_t r = 0; r < repeats; r++)
		tcb_replay_run_fini(&runs[r]);
	free(runs);
	tcb_replay_fini(&replay);
	return status;
}

int main(int argc, char **argv)
{
	struct tcb_recorded space;
	struct tcb_error err = { TCB_OK, "" };
	size_t bytes = 0;
	char *text = argc == 5 ? read_all(argv[1], &bytes) : NULL;
	traced = argc == 5 ? tcb_strategy_find(argv[2]) : NULL;
	if (!text || !traced) {
		fprintf(stderr, "usage: replay_trace FILE STRATEGY REPEATS SEED\n");
		free(text);
		return 2;
	}
	enum tcb_status status = tcb_recorded_parse(text, bytes, argv[1], &space, &err);
	free(text);
	if (status == TCB_OK) {
		status = trace(&space, strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10), &err);
		tcb_recorded_fini(&space);
	}
	if (status != TCB_OK)
		fprintf(stderr, "replay_trace: %s\n", err.message);
	return status != TCB_OK;
}
