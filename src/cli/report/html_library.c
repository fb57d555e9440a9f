/* SPDX-License-Identifier: MIT
 *
 * Looks for D3 (BSD-3-Clause, https://d3js.org) where Debian's package libjs-d3
 * puts it.  A library without its licence, or one that would end the element that
 * it is put in, is not taken.
 */
#include "cli/report/html_library.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static const long BYTES_MOST = 2 << 20; /* D3 3.5.17 has 150 KB, the largest bundles a megabyte */

static int read_all(const char *path, struct tcb_str *out)
{
	const int fd = tcb_file_open_regular(path, O_RDONLY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
	char chunk[4096];
	size_t got;

	if (!file)
		return -1;
	while ((got = fread(chunk, 1, sizeof chunk, file)) > 0 && out->length < (size_t)BYTES_MOST)
		tcb_str_add_bytes(out, chunk, got);
	const int is_bad = ferror(file) || got > 0 || out->failed || !out->length;
	(void)fclose(file);
	/* A NUL inside would hide what follows it from the check below. */
	return is_bad || strlen(out->data) != out->length ? -1 : 0;
}

static int is_closed_by(const char *text, const char *what)
{
	const size_t length = strlen(what);

	for (; *text; text++)
		if (strncasecmp(text, what, length) == 0)
			return 1;
	return 0;
}

void cli_html_library_find(struct cli_html_library *out)
{
	static const char DEBIAN[] = "/usr/share/javascript/d3", COPYRIGHT[] = "/usr/share/doc/libjs-d3/copyright";
	const char *named = getenv("TCBTUNE_D3");
	char code[512], licence[512];

	*out = (struct cli_html_library){ .note = "" };
	snprintf(code, sizeof code, "%.480s/d3.min.js", named ? named : DEBIAN);
	if (named)
		snprintf(licence, sizeof licence, "%.480s/LICENSE", named);
	else
		snprintf(licence, sizeof licence, "%s", COPYRIGHT);
	if (read_all(code, &out->code) != 0)
		snprintf(out->note, sizeof out->note, "there is no library at %.150s", code);
	else if (read_all(licence, &out->licence) != 0)
		snprintf(out->note, sizeof out->note, "the library's licence is not at %.150s", licence);
	else if (is_closed_by(out->code.data, "</script") || is_closed_by(out->code.data, "<!--"))
		snprintf(out->note, sizeof out->note, "%.100s cannot stand inside a page", code);
	else
		return;
	cli_html_library_fini(out);
}

void cli_html_library_fini(struct cli_html_library *library)
{
	tcb_str_fini(&library->code);
	tcb_str_fini(&library->licence);
}
