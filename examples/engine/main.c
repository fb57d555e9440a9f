/* SPDX-License-Identifier: MIT
 *
 * A decoder on libtcbrt: a model file and the numbers of a prompt's tokens come in, the numbers of those that follow go
 * out, one in a line.  README.md says what to read first.
 */
#define _GNU_SOURCE 1 /* fmemopen */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static const char usage[] =
	"usage: engine MODEL.gguf --prompt TOKEN,TOKEN,...|@FILE [--generate 32] [--device cpu|gpu] [--threads 1]\n"
	"    [--batch 512] [--context 0] [--top-k 1] [--seed 1] [--kv f16|q80] [--logits FILE] [--times 0]\n"
	"--context 0: as long as prompt and generation.  --top-k: a token is drawn from the K likeliest.\n"
	"--logits: of each token, vocabulary x f32.  --times 1: the share of each kind of op, run one by one; 2: of "
	"all.";

enum { TOP_MAX = 64 };
static const char *prompt, *logits_path, *device = "cpu";
static size_t generate = 32, top_k = 1, seed = 1;
static struct options options = { .threads = 1, .batch = 512, .kv = "f16" };
static const struct {
	const char *name, **text;
	size_t *number, most;
} known[] = { { "--prompt", &prompt, NULL, 0 },
	      { "--logits", &logits_path, NULL, 0 },
	      { "--device", &device, NULL, 0 },
	      { "--kv", &options.kv, NULL, 0 },
	      { "--generate", NULL, &generate, 1 << 24 },
	      { "--top-k", NULL, &top_k, TOP_MAX },
	      { "--seed", NULL, &seed, 1 << 30 },
	      { "--threads", NULL, &options.threads, 1024 },
	      { "--batch", NULL, &options.batch, 1 << 16 },
	      { "--context", NULL, &options.context, 1 << 24 },
	      { "--times", NULL, &options.times, 2 } };

static void take_option(const char *name, const char *value)
{
	size_t at = 0;
	char *end;

	while (at < sizeof(known) / sizeof(*known) && strcmp(known[at].name, name) != 0)
		at++;
	if (at == sizeof(known) / sizeof(*known) || !value)
		die("%s is not an option with its value\n%s", name, usage);
	if (known[at].text)
		*known[at].text = value;
	else if (*known[at].number = strtoul(value, &end, 10), *end || *known[at].number > known[at].most)
		die("%s is a whole number up to %zu, not '%s'", name, known[at].most, value);
}

/* "1,2,3", or such a text in a file. */
static int32_t *read_prompt(const char *text, size_t *count)
{
	FILE *file = *text == '@' ? fopen(text + 1, "r") : fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int32_t *tokens = NULL, token;

	for (*count = 0; file && fscanf(file, " %" SCNd32 " ,", &token) == 1; tokens[(*count)++] = token)
		if (!(tokens = realloc(tokens, (*count + 1) * sizeof(*tokens))))
			die("out of memory");
	if (!tokens || !feof(file))
		die("the prompt is tokens' numbers with commas between them, or @ and a file of these: '%s' is not",
		    text);
	fclose(file);
	return tokens;
}

/* One of the likeliest tokens, in proportion to its probability.  The random number is xorshift64*'s. */
static int32_t choose(float *logits, size_t count, uint64_t *state)
{
	int32_t tokens[TOP_MAX];
	float shares[TOP_MAX];
	size_t at = 0;
	double left;

	engine_choose(logits, count, top_k, tokens, shares);
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	left = (double)(*state * UINT64_C(2685821657736338717) >> 11) * 0x1p-53;
	while (at + 1 < top_k && (left -= (double)shares[at]) >= 0)
		at++;
	return tokens[at];
}

/* COUNT tokens, a batch at a time, and their logits to OUT; those of the last one. */
static float *run(struct engine *engine, const int32_t *tokens, size_t count, size_t vocabulary, FILE *out)
{
	float *logits = NULL;

	for (size_t done = 0, part; done < count; done += part) {
		part = count - done < options.batch ? count - done : options.batch;
		logits = engine_run(engine, tokens + done, part);
		if (out && fwrite(logits, sizeof(float) * vocabulary, part, out) != part)
			die("%s cannot be written", logits_path);
		logits += out ? (part - 1) * vocabulary : 0;
	}
	return logits;
}

int main(int argc, char **argv)
{
	double from = now();

	for (int i = 2; i < argc; i += 2)
		take_option(argv[i], argv[i + 1]);
	options.is_gpu = strcmp(device, "gpu") == 0;
	options.all_logits = logits_path != NULL;
	if (argc < 2 || !prompt || !top_k || !options.threads || !options.batch ||
	    (!options.is_gpu && strcmp(device, "cpu")))
		die("%s", usage);
	size_t count, vocabulary;
	int32_t *tokens = read_prompt(prompt, &count), token;
	FILE *out = logits_path ? fopen(logits_path, "wb") : NULL;
	uint64_t state = seed + 1;

	options.context = options.context ? options.context : count + generate;
	options.batch = options.batch < count ? options.batch : count;
	if (logits_path && !out)
		die("%s cannot be written", logits_path);
	struct engine *engine = engine_open(argv[1], &options, &vocabulary);
	fprintf(stderr, "loading    %10.2f s\n", now() - from);
	from = now();
	float *logits = run(engine, tokens, count, vocabulary, out);
	fprintf(stderr, "prompt     %10.2f tokens per second\n", (double)count / (now() - from));
	from = now();
	for (size_t i = 0; i < generate; i++) {
		printf("%" PRId32 "\n", token = choose(logits, vocabulary, &state));
		if (i + 1 < generate)
			logits = run(engine, &token, 1, vocabulary, out);
	}
	if (generate > 1)
		fprintf(stderr, "generation %10.2f tokens per second\n", (double)(generate - 1) / (now() - from));
	if (out && fclose(out))
		die("%s cannot be written", logits_path);
	engine_close(engine);
	free(tokens);
	return 0;
}
