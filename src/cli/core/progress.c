/* SPDX-License-Identifier: MIT
 *
 * Draws a sweep's progress.  On a terminal the line is cut to its width, so
 * that it can be redrawn in place; elsewhere a full line every ten seconds
 * keeps logs short.
 */
#include "cli/core/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/core/emit.h"

static const uint64_t REDRAW_NS = 200000000, LINE_NS = 10000000000;

void cli_progress_begin(struct cli_progress *progress, const char *label, double bytes)
{
	memset(progress, 0, sizeof *progress);
	snprintf(progress->label, sizeof progress->label, "%s", label);
	progress->bytes = bytes;
	progress->terminal = isatty(STDERR_FILENO);
	progress->said_ns = tcb_clock_ns();
}

static void add_best(struct tcb_str *line, const struct cli_progress *progress, const struct tcb_progress *now,
		     enum tcb_state state)
{
	char us[CLI_NUMBER_MAX];

	if (!now->best[state] || !(now->best_ns[state] > 0))
		return;
	cli_text_us(now->best_ns[state], us);
	tcb_str_addf(line, " | %s %s µs %.1f GB/s", tcb_state_text(state), us, progress->bytes / now->best_ns[state]);
	if (now->default_ns[state] > 0)
		tcb_str_addf(line, " x%.2f", now->default_ns[state] / now->best_ns[state]);
}

/* What a narrow terminal cuts off is the end, so what is waited for comes first. */
static void compose(struct tcb_str *line, const struct cli_progress *progress, const struct tcb_progress *now)
{
	char time[CLI_NUMBER_MAX];

	cli_text_duration(now->left_s >= 0 ? now->left_s : now->elapsed_s, time);
	tcb_str_addf(line, "%s%s", time, now->left_s >= 0 ? " left" : "");
	if (now->left_s >= 0 && progress->later_s > 0) {
		cli_text_duration(now->left_s + progress->later_s, time);
		tcb_str_addf(line, ", %s for all", time);
	}
	tcb_str_addf(line, " | %s: %s %zu/%zu (%.0f %%)", progress->label, now->phase, now->done, now->total,
		     now->total ? 100.0 * (double)now->done / (double)now->total : 0);
	for (int state = 0; state < TCB_STATE_COUNT; state++)
		add_best(line, progress, now, (enum tcb_state)state);
	if (isfinite(now->expected_gain))
		tcb_str_addf(line, " | gain %.1f %% expected", 100 * now->expected_gain);
	if (now->known)
		tcb_str_addf(line, ", %zu known", now->known);
	if (now->failed)
		tcb_str_addf(line, ", %zu failed", now->failed);
	if (now->too_slow)
		tcb_str_addf(line, ", %zu too slow to run", now->too_slow);
}

/* The bytes of TEXT that fill at most WIDTH columns; UTF-8 characters stay whole. */
static int fitting_bytes(const char *text, size_t width)
{
	size_t bytes = 0, columns = 0;

	for (; text[bytes]; bytes++) {
		columns += (text[bytes] & 0xc0) != 0x80;
		if (columns > width)
			break;
	}
	return (int)bytes;
}

static int is_due(struct cli_progress *progress)
{
	const uint64_t time_ns = tcb_clock_ns(), every_ns = progress->terminal ? REDRAW_NS : LINE_NS;

	if (time_ns - progress->said_ns < every_ns && (progress->drawn || !progress->terminal))
		return 0;
	progress->said_ns = time_ns;
	progress->drawn = 1;
	return 1;
}

static void draw(const struct cli_progress *progress, const struct tcb_str *line)
{
	struct winsize size = { .ws_col = 0 };

	if (!line->failed && progress->terminal) {
		ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
		fprintf(stderr, "\r\033[K%.*s", fitting_bytes(line->data, size.ws_col ? size.ws_col - 1u : 79u),
			line->data);
		fflush(stderr);
	} else if (!line->failed) {
		cli_say("%s", line->data);
	}
}

void cli_progress_show(void *ctx, const struct tcb_progress *now)
{
	struct cli_progress *progress = ctx;
	struct tcb_str line = { 0 };

	if (!is_due(progress))
		return;
	compose(&line, progress, now);
	draw(progress, &line);
	tcb_str_fini(&line);
}

void cli_progress_count(struct cli_progress *progress, size_t done, size_t total, const char *what)
{
	struct tcb_str line = { 0 };

	if (!is_due(progress))
		return;
	tcb_str_addf(&line, "%s %zu/%zu (%.0f %%): %s", progress->label, done, total,
		     total ? 100.0 * (double)done / (double)total : 0, what);
	draw(progress, &line);
	tcb_str_fini(&line);
}

void cli_progress_end(struct cli_progress *progress)
{
	if (progress->terminal && progress->drawn)
		fputs("\r\033[K", stderr);
	progress->drawn = 0;
}
