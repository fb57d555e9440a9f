/* SPDX-License-Identifier: MIT
 *
 * In: the flags that somebody's build gives ptxas, as a text.  Out: the words,
 * checked: what says where to read and write, for which target, and what else
 * than to compile, is ours to say.
 */
#include <string.h>

#include "ptx/assemble/assemble.h"

/* NAME, or "NAME=..." */
static int is_flag(const char *word, const char *name)
{
	const size_t length = strlen(name);

	return strncmp(word, name, length) == 0 && (!word[length] || word[length] == '=');
}

static int is_any(const char *word, const char *const *names)
{
	while (*names && !is_flag(word, *names))
		names++;
	return *names != NULL;
}

static enum tcb_status see_word(const char *word, int is_first, struct tcb_assemble_build *build, struct tcb_error *err)
{
	static const char *const ours[] = {
		"-arch",       "--gpu-name",     "-o", "--output-file", "-ias", "--input-as-string",
		"-optf",       "--options-file", "-h", "--help",        "-V",   "--version",
		"-version-ls", "--list-version", NULL
	};
	static const char *const objects[] = { "-c", "--compile-only", "-ewp", "--extensible-whole-program", NULL };

	if (is_any(word, ours))
		return tcb_fail(err, TCB_E_USAGE,
				"'%.60s' cannot be among the assembler's flags: it is tcbtune's to say", word);
	if (is_first && word[0] != '-')
		return tcb_fail(err, TCB_E_USAGE, "'%.60s' is not a flag of the assembler", word);
	if (is_any(word, objects))
		build->is_whole = 0;
	return TCB_OK;
}

enum tcb_status tcb_assemble_build(const char *text, struct tcb_assemble_build *out, struct tcb_error *err)
{
	size_t used = 0;
	int is_first = 1;

	*out = (struct tcb_assemble_build){ .is_whole = 1 };
	for (const char *at = text ? text : ""; *at; is_first = 0) {
		size_t length = 0;
		at += strspn(at, " \t\n,");
		/* A comma ends a flag where the next one follows: -maxntid=128,1,1 has none. */
		while (at[length] && !strchr(" \t\n", at[length]) && !(at[length] == ',' && at[length + 1] == '-'))
			length++;
		if (!length)
			break;
		if (used + length + 2 > sizeof out->flags)
			return tcb_fail(err, TCB_E_USAGE, "the assembler's flags are longer than %zu bytes",
					sizeof out->flags - 2);
		memcpy(out->flags + used, at, length);
		TCB_TRY(see_word(out->flags + used, is_first, out, err));
		used += length + 1;
		at += length;
	}
	return TCB_OK;
}
