/* SPDX-License-Identifier: MIT
 *
 * In place of NVRTC: its "PTX" is the options, after a tenth of a second; sources ask it to crash, to refuse or to
 * sleep longer.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct program {
	const char *source;
	char text[4096];
};

EXPORT int nvrtcVersion(int *major, int *minor);
EXPORT int nvrtcCreateProgram(struct program **out, const char *source, const char *name, int count,
			      const char *const *headers, const char *const *names);
EXPORT int nvrtcDestroyProgram(struct program **program);
EXPORT int nvrtcAddNameExpression(struct program *program, const char *name);
EXPORT int nvrtcCompileProgram(struct program *program, int count, const char *const *options);
EXPORT int nvrtcGetProgramLogSize(struct program *program, size_t *out);
EXPORT int nvrtcGetProgramLog(struct program *program, char *out);
EXPORT int nvrtcGetPTXSize(struct program *program, size_t *out);
EXPORT int nvrtcGetPTX(struct program *program, char *out);
EXPORT int nvrtcGetLoweredName(struct program *program, const char *name, const char **out);

int nvrtcVersion(int *major, int *minor)
{
	*major = 99;
	*minor = 7;
	return 0;
}

int nvrtcCreateProgram(struct program **out, const char *source, const char *name, int count,
		       const char *const *headers, const char *const *names)
{
	(void)name, (void)count, (void)headers, (void)names;
	*out = calloc(1, sizeof **out);
	(*out)->source = source;
	return 0;
}

int nvrtcDestroyProgram(struct program **program)
{
	free(*program);
	return 0;
}

int nvrtcAddNameExpression(struct program *program, const char *name)
{
	(void)program, (void)name;
	return 0;
}

int nvrtcCompileProgram(struct program *program, int count, const char *const *options)
{
	usleep(100000);
	for (int i = 0; i < count; i++)
		snprintf(program->text + strlen(program->text), sizeof program->text - strlen(program->text), "%s\n",
			 options[i]);
	if (strstr(program->text, "-Dwhat=7\n"))
		raise(SIGSEGV);
	if (!strstr(program->text, "-Dwhat=8\n"))
		return 0;
	strcpy(program->text, "1 warning here\nk.cu(3): error: no such thing\nmore\n");
	return 6;
}

int nvrtcGetProgramLogSize(struct program *program, size_t *out)
{
	*out = strlen(program->text) + 1;
	return 0;
}

int nvrtcGetProgramLog(struct program *program, char *out)
{
	strcpy(out, program->text);
	return 0;
}

int nvrtcGetPTXSize(struct program *program, size_t *out)
{
	*out = strlen(program->text) + 1;
	return 0;
}

int nvrtcGetPTX(struct program *program, char *out)
{
	strcpy(out, program->text);
	return 0;
}

int nvrtcGetLoweredName(struct program *program, const char *name, const char **out)
{
	(void)program, (void)name;
	*out = "_Z1k";
	return 0;
}
