/* SPDX-License-Identifier: MIT
 *
 * Text and numbers as people read them.  Text that others wrote (in a database,
 * a model file, an environment) is shown with what a terminal would obey
 * escaped.  Numbers have four significant digits at most for times, and no more
 * digits for a ratio than its interval has.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/core/emit.h"

/* Bytes of the UTF-8 character at TEXT (RFC 3629); 0: none begins there, or it is a control character. */
static size_t printable_bytes(const unsigned char *text)
{
	size_t bytes = text[0] < 0x80 ? 1 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;

	if (text[0] < 0x20 || (text[0] >= 0x7f && text[0] < 0xc2) || text[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < bytes; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	/* U+0080 to U+009f; overlong forms; surrogates; beyond U+10ffff. */
	if ((text[0] == 0xc2 && text[1] < 0xa0) || (text[0] == 0xe0 && text[1] < 0xa0) ||
	    (text[0] == 0xed && text[1] > 0x9f) || (text[0] == 0xf0 && text[1] < 0x90) ||
	    (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	/* What ends a line or turns the direction of what follows: U+2028 to U+202e, U+2066 to U+2069. */
	if (text[0] == 0xe2 && ((text[1] == 0x80 && text[2] >= 0xa8 && text[2] <= 0xae) ||
				(text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9)))
		return 0;
	return bytes;
}

void cli_add_shown(struct tcb_str *out, const char *text)
{
	while (*text) {
		size_t good = 0, bytes;

		while (text[good] && (bytes = printable_bytes((const unsigned char *)text + good)))
			good += bytes;
		tcb_str_addf(out, "%.*s", (int)good, text);
		text += good;
		if (*text)
			tcb_str_addf(out, "\\x%02x", (unsigned char)*text++);
	}
}

/* Bytes at TEXT that our own output has beside printable characters: ends of lines, tabs, colors; 0: none. */
static size_t layout_bytes(const char *text)
{
	size_t bytes;

	if (*text == '\n' || *text == '\t')
		return 1;
	if (text[0] == '\r' && text[1] == '\n') /* of CSV */
		return 2;
	if (text[0] != '\x1b' || text[1] != '[')
		return 0;
	bytes = 2 + strspn(text + 2, "0123456789;");
	return text[bytes] == 'm' ? bytes + 1 : 0;
}

static size_t harmless_bytes(const char *text)
{
	const size_t layout = layout_bytes(text);

	return layout ? layout : printable_bytes((const unsigned char *)text);
}

void cli_seal(struct tcb_str *text)
{
	struct tcb_str sealed = { 0 };
	size_t good = 0, bytes;
	const char *at = text->data;

	while (at && at[good] && (bytes = harmless_bytes(at + good)))
		good += bytes;
	if (!at || text->failed || good == text->length)
		return;
	while (at < text->data + text->length) {
		for (good = 0; at[good] && (bytes = harmless_bytes(at + good));)
			good += bytes;
		tcb_str_add_bytes(&sealed, at, good);
		at += good;
		if (at < text->data + text->length)
			tcb_str_addf(&sealed, "\\x%02x", (unsigned char)*at++);
	}
	tcb_str_fini(text);
	*text = sealed;
}

void cli_add_word(struct tcb_str *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";

	if (*text && strspn(text, plain) == strlen(text)) {
		tcb_str_add(out, text);
		return;
	}
	tcb_str_add(out, "'");
	for (const char *quote; (quote = strchr(text, '\'')); text = quote + 1) {
		tcb_str_add_bytes(out, text, (size_t)(quote - text));
		tcb_str_add(out, "'\\''");
	}
	tcb_str_addf(out, "%s'", text);
}

void cli_add_markdown(struct tcb_str *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			tcb_str_add(out, "&lt;");
		else if (*text == '&')
			tcb_str_add(out, "&amp;");
		else if (strchr("\\|`", *text) || (text[0] == ']' && strchr("([:", text[1]) && text[1]))
			tcb_str_addf(out, "\\%c", *text);
		else
			tcb_str_add_bytes(out, text, 1);
	}
}

void cli_add_shownv(struct tcb_str *out, const char *format, va_list list)
{
	char *text;

	if (vasprintf(&text, format, list) < 0) {
		out->failed = 1;
		return;
	}
	cli_add_shown(out, text);
	free(text);
}

void cli_add_shownf(struct tcb_str *out, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	cli_add_shownv(out, format, list);
	va_end(list);
}

void cli_add_line(struct tcb_str *out, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	cli_add_shownv(out, format, list);
	tcb_str_add(out, "\n");
	va_end(list);
}

void cli_add_markdown_line(struct tcb_str *out, const char *format, ...)
{
	struct tcb_str shown = { 0 };
	va_list list;

	va_start(list, format);
	cli_add_shownv(&shown, format, list);
	va_end(list);
	cli_add_markdown(out, shown.data ? shown.data : "");
	tcb_str_add(out, "\n");
	out->failed |= shown.failed;
	tcb_str_fini(&shown);
}

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

/* The largest unit that leaves at least 1 before the point. */
struct time_unit {
	const char *name;
	double ns;
};

static struct time_unit unit_of(double ns)
{
	static const struct time_unit units[] = { { "s", 1e9 }, { "ms", 1e6 }, { "µs", 1e3 }, { "ns", 1 } };
	size_t i = 0;

	while (i + 1 < sizeof units / sizeof *units && ns < units[i].ns)
		i++;
	return units[i];
}

void cli_text_time(double ns, char out[CLI_NUMBER_MAX])
{
	const struct time_unit unit = unit_of(ns);

	if (!(ns > 0) || !isfinite(ns))
		strcpy(out, "-");
	else
		snprintf(out, CLI_NUMBER_MAX, "%.*f %s", decimals(ns / unit.ns), ns / unit.ns, unit.name);
}

void cli_text_time_interval(const struct tcb_interval *ns, char out[CLI_NUMBER_MAX])
{
	const struct time_unit unit = unit_of(ns->median);
	const int digits = decimals(ns->median / unit.ns);

	if (!(ns->median > 0) || !isfinite(ns->median))
		strcpy(out, "-");
	else
		snprintf(out, CLI_NUMBER_MAX, "%.*f [%.*f, %.*f] %s", digits, ns->median / unit.ns, digits,
			 ns->lo / unit.ns, digits, ns->hi / unit.ns, unit.name);
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

void cli_text_duration(double seconds, char out[CLI_NUMBER_MAX])
{
	if (seconds < 60)
		snprintf(out, CLI_NUMBER_MAX, "%.0fs", seconds);
	else if (seconds < 3600)
		snprintf(out, CLI_NUMBER_MAX, "%dm %02ds", (int)seconds / 60, (int)seconds % 60);
	else
		snprintf(out, CLI_NUMBER_MAX, "%.0fh %02dm", floor(seconds / 3600), (int)fmod(seconds / 60, 60));
}

void cli_text_now(char out[CLI_DATE_MAX])
{
	struct timespec now;
	struct tm utc;
	size_t length;

	clock_gettime(CLOCK_REALTIME, &now);
	length = strftime(out, CLI_DATE_MAX, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &utc));
	snprintf(out + length, CLI_DATE_MAX - length, ".%03ldZ", now.tv_nsec / 1000000);
}
