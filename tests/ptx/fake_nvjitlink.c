/* SPDX-License-Identifier: MIT
 *
 * A library with nvJitLink's functions that does what the text says: "CRASH"
 * ends the process by a signal, "EXIT" by exit, "HANG" never returns, "REJECT"
 * is refused with a message; anything else gives an ELF-like cubin and the
 * usual log with as many registers as the text is long.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct fake {
	char error[256], info[512];
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
	*handle = calloc(1, sizeof(struct fake));
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

	if (type != 2 || !name || !bytes || text[bytes - 1])
		return 3;
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
		 bytes - 1);
	return 0;
}

int nvJitLinkComplete(void *handle)
{
	(void)handle;
	return 0;
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
