/* SPDX-License-Identifier: MIT
 *
 * A decoder on libtcbrt: a model file and the numbers of a prompt's tokens come in, the numbers of those that follow go
 * out, one in a line.  README.md says what to read first.
 */
#include <err.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static const char usage[] =
	"usage: engine MODEL.gguf --prompt TOKEN,TOKEN,...|@FILE [--generate 32] [--device cpu|gpu] [--threads 1]\n"
	"    [--batch 512] [--context 0] [--top-k 1] [--seed 1] [--kv f16|q80] [--logits FILE] [--times 0]\n"
	"--context 0: as long as prompt and generation.  --top-k: a token is drawn from the K likeliest.\n"
	"--logits: of each token, vocabulary x f32.  --times 1: the share of each op, run one by one.";

static const char *prompt, *logits_path, *device = "cpu";
static size_t generate = 32, seed = 1;
static struct options options = { .threads = 1, .batch = 512, .top_k = 1, .kv = "f16" };
static const struct {
	const char *name, **text;
	size_t *number, most;
} known[] = { { "--prompt", &prompt, NULL, 0 },
	      { "--logits", &logits_path, NULL, 0 },
	      { "--device", &device, NULL, 0 },
	      { "--kv", &options.kv, NULL, 0 },
	      { "--generate", NULL, &generate, 1 << 24 },
	      { "--top-k", NULL, &options.top_k, TOP_MAX },
	      { "--seed", NULL, &seed, 1 << 30 },
	      { "--threads", NULL, &options.threads, 1024 },
	      { "--batch", NULL, &options.batch, 1 << 16 },
	      { "--context", NULL, &options.context, 1 << 24 },
	      { "--times", NULL, &options.times, 1 } };

static void take_option(const char *name, const char *value)
{
	size_t at = 0;
	char *end;

	while (at < sizeof(known) / sizeof(*known) && strcmp(known[at].name, name) != 0)
		at++;
	if (at == sizeof(known) / sizeof(*known) || !value)
		errx(1, "%s is not an option with its value\n%s", name, usage);
	if (known[at].text)
		*known[at].text = value;
	else if (*known[at].number = strtoul(value, &end, 10), *end || *known[at].number > known[at].most)
		errx(1, "%s is a whole number up to %zu, not '%s'", name, known[at].most, value);
}

/* "1,2,3", or such a text in a file. */
static int32_t *read_prompt(const char *text, size_t *count)
{
	FILE *file = *text == '@' ? fopen(text + 1, "r") : fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int32_t *tokens = NULL, token;

	for (*count = 0; file && fscanf(file, " %" SCNd32 " ,", &token) == 1; tokens[(*count)++] = token)
		if (!(tokens = realloc(tokens, (*count + 1) * sizeof(*tokens))))
			errx(1, "out of memory");
	if (!tokens || !feof(file))
		errx(1, "the prompt is tokens' numbers with commas between them, or @ and a file of these: '%s' is not",
		     text);
	fclose(file);
	return tokens;
}

/* One of the likeliest tokens, in proportion to its probability. */
static int32_t choose(const struct best *best)
{
	double left = 0;
	size_t at = 0;

	for (size_t i = 0; i < options.top_k; i++)
		left += exp((double)(best->scores[i] - best->scores[0]));
	left *= drand48();
	while (at + 1 < options.top_k && (left -= exp((double)(best->scores[at] - best->scores[0]))) >= 0)
		at++;
	return best->tokens[at];
}

int main(int argc, char **argv)
{
	double from = now();

	for (int i = 2; i < argc; i += 2)
		take_option(argv[i], argv[i + 1]);
	options.is_gpu = strcmp(device, "gpu") == 0;
	if (argc < 2 || !prompt || !options.top_k || !options.threads || !options.batch ||
	    (!options.is_gpu && strcmp(device, "cpu")))
		errx(1, "%s", usage);
	size_t count;
	int32_t *tokens = read_prompt(prompt, &count), token;
	struct best best;

	srand48((long)seed);
	options.context = options.context ? options.context : count + generate;
	options.batch = options.batch < count ? options.batch : count;
	if (logits_path && !(options.logits = fopen(logits_path, "wb")))
		errx(1, "%s cannot be written", logits_path);
	struct engine *engine = engine_open(argv[1], &options);
	fprintf(stderr, "loading    %10.2f s\n", now() - from);
	from = now();
	engine_run(engine, tokens, count, &best);
	fprintf(stderr, "prompt     %10.2f tokens per second\n", (double)count / (now() - from));
	from = now();
	for (size_t i = 0; i < generate; i++) {
		printf("%" PRId32 "\n", token = choose(&best));
		if (i + 1 < generate)
			engine_run(engine, &token, 1, &best);
	}
	if (generate > 1)
		fprintf(stderr, "generation %10.2f tokens per second\n", (double)(generate - 1) / (now() - from));
	if (options.logits && fclose(options.logits))
		errx(1, "%s cannot be written", logits_path);
	engine_close(engine);
	free(tokens);
	return 0;
}
