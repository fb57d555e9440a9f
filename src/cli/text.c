/* SPDX-License-Identifier: MIT
 *
 * Numbers as people read them: four significant digits at most for times, no
 * more digits for a ratio than its interval has.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/emit.h"

static int decimals(double value)
{
	if (value >= 1000)
		return 0;
	return value >= 100 ? 1 : value >= 10 ? 2 : 3;
}

void cli_text_us(double ns, char out[CLI_NUMBER_MAX])
{
	if (!(ns > 0) || !isfinite(ns))
		strcpy(out, "-");
	else
		snprintf(out, CLI_NUMBER_MAX, "%.*f", decimals(ns / 1e3), ns / 1e3);
}

void cli_text_us_interval(const struct tcb_interval *ns, char out[CLI_NUMBER_MAX])
{
	int digits = decimals(ns->median / 1e3);

	if (!(ns->median > 0) || !isfinite(ns->median))
		strcpy(out, "-");
	else
		snprintf(out, CLI_NUMBER_MAX, "%.*f [%.*f, %.*f]", digits, ns->median / 1e3, digits, ns->lo / 1e3,
			 digits, ns->hi / 1e3);
}

void cli_text_ratio(double ratio, char out[CLI_NUMBER_MAX])
{
	if (!(ratio > 0) || !isfinite(ratio))
		strcpy(out, "-");
	else
		snprintf(out, CLI_NUMBER_MAX, "%.3f", ratio);
}

void cli_text_ratio_interval(const struct tcb_interval *ratio, char out[CLI_NUMBER_MAX])
{
	if (!(ratio->median > 0) || !isfinite(ratio->median))
		strcpy(out, "-");
	else
		snprintf(out, CLI_NUMBER_MAX, "%.3f [%.3f, %.3f]", ratio->median, ratio->lo, ratio->hi);
}

void cli_text_percent(double ratio, char out[CLI_NUMBER_MAX])
{
	if (!(ratio > 0) || !isfinite(ratio))
		strcpy(out, "-");
	else
		snprintf(out, CLI_NUMBER_MAX, "%.1f", ratio * 100);
}

void cli_text_bytes(uint64_t bytes, char out[CLI_NUMBER_MAX])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;
	double value = (double)bytes;

	while (value >= 1024 && unit + 1 < sizeof units / sizeof *units) {
		value /= 1024;
		unit++;
	}
	snprintf(out, CLI_NUMBER_MAX, "%.*f %s", value == floor(value) ? 0 : 1, value, units[unit]);
}

void cli_text_duration(double seconds, char out[CLI_NUMBER_MAX])
{
	if (seconds < 60)
		snprintf(out, CLI_NUMBER_MAX, "%.0fs", seconds);
	else if (seconds < 3600)
		snprintf(out, CLI_NUMBER_MAX, "%dm %02ds", (int)seconds / 60, (int)seconds % 60);
	else
		snprintf(out, CLI_NUMBER_MAX, "%.0fh %02dm", floor(seconds / 3600), (int)fmod(seconds / 60, 60));
}
