/* SPDX-License-Identifier: MIT
 *
 * A library with nvJitLink's functions that does what the text says: "CRASH"
 * ends the process by a signal, "EXIT" by exit, "HANG" never returns, "REJECT"
 * is refused with a message; anything else gives an ELF-like cubin and the
 * usual log with as many registers as the text is long.  As a whole program, a
 * string among the options, it takes 100 more and one for each other option of
 * ptxas; "OLD" does not read LTO-IR then, "LATE" fails later, "WEAK" crashes.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct fake {
	char error[256], info[512], text[256];
	unsigned options;
	int is_late;
};

EXPORT int nvJitLinkCreate(void **handle, uint32_t count, const char *const *options);
EXPORT int nvJitLinkDestroy(void **handle);
EXPORT int nvJitLinkAddData(void *handle, int type, const void *data, size_t bytes, const char *name);
EXPORT int nvJitLinkComplete(void *handle);
EXPORT int nvJitLinkGetLinkedCubinSize(void *handle, size_t *bytes);
EXPORT int nvJitLinkGetLinkedCubin(void *handle, void *cubin);
EXPORT int nvJitLinkGetErrorLogSize(void *handle, size_t *bytes);
EXPORT int nvJitLinkGetErrorLog(void *handle, char *log);
EXPORT int nvJitLinkGetInfoLogSize(void *handle, size_t *bytes);
EXPORT int nvJitLinkGetInfoLog(void *handle, char *log);
EXPORT int nvJitLinkVersion(unsigned *major, unsigned *minor);

int nvJitLinkCreate(void **handle, uint32_t count, const char *const *options)
{
	if (!count || (strcmp(options[0], "-arch=sm_89") != 0 && strcmp(options[0], "-arch=sm_90") != 0))
		return 17;
	struct fake *fake = *handle = calloc(1, sizeof *fake);
	for (uint32_t i = 1; i < count; i++) {
		if (strncmp(options[i], "-Xptxas=-ias=", 13) == 0)
			snprintf(fake->text, sizeof fake->text, "%s", options[i] + 13);
		else
			fake->options += strncmp(options[i], "-Xptxas=", 8) == 0;
	}
	return 0;
}

int nvJitLinkDestroy(void **handle)
{
	free(*handle);
	*handle = NULL;
	return 0;
}

int nvJitLinkAddData(void *handle, int type, const void *data, size_t bytes, const char *name)
{
	struct fake *fake = handle;
	const char *text = data;
	size_t registers = bytes - 1 + fake->options;

	if (type == 3 && fake->text[0]) {
		text = fake->text;
		registers = strlen(text) + 100 + fake->options;
		fake->is_late = strstr(text, "LATE") != NULL;
		if (fake->is_late || strstr(text, "OLD"))
			return fake->is_late ? 0 : 3;
		if (strstr(text, "WEAK"))
			raise(SIGSEGV);
	} else if (type != 2 || !name || !bytes || text[bytes - 1]) {
		return 3;
	}
	if (strstr(text, "CRASH"))
		raise(SIGSEGV);
	if (strstr(text, "EXIT"))
		_exit(7);
	while (strstr(text, "HANG"))
		pause();
	if (strstr(text, "REJECT")) {
		strcpy(fake->error, "ptxas application ptx input, line 3; error   : it says REJECT\n");
		return 4;
	}
	snprintf(fake->info, sizeof fake->info,
		 "ptxas info    : Compiling entry function 'k' for 'sm_89'\n"
		 "ptxas info    : Function properties for k\n"
		 "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
		 "ptxas info    : Used %zu registers, used 0 barriers, 364 bytes cmem[0]\n",
		 registers);
	return 0;
}

int nvJitLinkComplete(void *handle)
{
	return ((struct fake *)handle)->is_late ? 5 : 0;
}

int nvJitLinkGetLinkedCubinSize(void *handle, size_t *bytes)
{
	(void)handle;
	*bytes = 4;
	return 0;
}

int nvJitLinkGetLinkedCubin(void *handle, void *cubin)
{
	(void)handle;
	memcpy(cubin, "\177ELF", 4);
	return 0;
}

int nvJitLinkGetErrorLogSize(void *handle, size_t *bytes)
{
	*bytes = strlen(((struct fake *)handle)->error);
	return 0;
}

int nvJitLinkGetErrorLog(void *handle, char *log)
{
	memcpy(log, ((struct fake *)handle)->error, strlen(((struct fake *)handle)->error));
	return 0;
}

int nvJitLinkGetInfoLogSize(void *handle, size_t *bytes)
{
	*bytes = strlen(((struct fake *)handle)->info);
	return 0;
}

int nvJitLinkGetInfoLog(void *handle, char *log)
{
	memcpy(log, ((struct fake *)handle)->info, strlen(((struct fake *)handle)->info));
	return 0;
}

int nvJitLinkVersion(unsigned *major, unsigned *minor)
{
	*major = 12;
	*minor = 9;
	return 0;
}
