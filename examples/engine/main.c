/* SPDX-License-Identifier: MIT
 *
 * A decoder on libtcbrt: a model file and the numbers of a prompt's tokens come in, the numbers of those that follow go
 * out, one in a line.  README.md says what to read first.
 */
#define _GNU_SOURCE 1 /* fmemopen */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static const char usage[] =
	"usage: engine MODEL.gguf --prompt TOKEN,TOKEN,...|@FILE [--generate 32] [--device cpu|gpu] [--threads 1]\n"
	"    [--batch 512] [--context 0] [--top-k 1] [--seed 1] [--db FILE] [--logits FILE] [--times 0]\n"
	"--context 0: as long as prompt and generation.  --top-k: a token is drawn from the K likeliest.\n"
	"--logits: of each token, vocabulary x f32.  --times 1: the share of each kind of op, run one by one.";

enum { TOP_MAX = 64 };

struct asked {
	const char *model, *prompt, *logits, *device;
	size_t generate, top_k, seed;
	struct options options;
};

static struct asked parse(int argc, char **argv)
{
	struct asked a = { argv[1], NULL, NULL, "cpu", 32, 1, 1, { .threads = 1, .batch = 512 } };
	struct options *o = &a.options;
	const struct {
		const char *name, **text;
		size_t *number, most;
	} known[] = { { "--prompt", &a.prompt, NULL, 0 },
		      { "--logits", &a.logits, NULL, 0 },
		      { "--device", &a.device, NULL, 0 },
		      { "--db", &o->db, NULL, 0 },
		      { "--generate", NULL, &a.generate, 1 << 24 },
		      { "--top-k", NULL, &a.top_k, TOP_MAX },
		      { "--seed", NULL, &a.seed, 1 << 30 },
		      { "--threads", NULL, &o->threads, 1024 },
		      { "--batch", NULL, &o->batch, 1 << 16 },
		      { "--context", NULL, &o->context, 1 << 24 },
		      { "--times", NULL, &o->times, 1 } };
	const size_t count = sizeof(known) / sizeof(*known);

	for (int i = 2; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		size_t at = 0;
		char *end;

		while (at < count && strcmp(known[at].name, argv[i]) != 0)
			at++;
		if (at == count || !*value)
			die("%s is not an option with its value\n%s", argv[i], usage);
		if (known[at].text)
			*known[at].text = value;
		else if (*known[at].number = strtoul(value, &end, 10), *end || *known[at].number > known[at].most)
			die("%s is a whole number up to %zu, not '%s'", known[at].name, known[at].most, value);
	}
	o->is_gpu = strcmp(a.device, "gpu") == 0;
	o->all_logits = a.logits != NULL;
	if (!a.model || !a.prompt || !a.top_k || !o->threads || !o->batch || (!o->is_gpu && strcmp(a.device, "cpu")))
		die("%s", usage);
	return a;
}

/* "1,2,3", or such a text in a file. */
static int32_t *read_prompt(const char *text, size_t *count)
{
	FILE *file = *text == '@' ? fopen(text + 1, "r") : fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int32_t *tokens = NULL, token;

	if (!file)
		die("the prompt '%s' cannot be read", text);
	for (*count = 0; fscanf(file, " %" SCNd32 " ,", &token) == 1; tokens[(*count)++] = token)
		if (!(tokens = realloc(tokens, (*count + 1) * sizeof(*tokens))))
			die("out of memory");
	if (!tokens || !feof(file))
		die("the prompt is tokens' numbers with commas between them");
	fclose(file);
	return tokens;
}

/* One of the likeliest tokens, in proportion to its probability.  The random number is xorshift64*'s. */
static int32_t choose(const float *logits, size_t count, size_t top_k, uint64_t *seed)
{
	struct {
		float logit;
		int32_t token;
	} best[TOP_MAX];
	size_t have = 0, place;
	double sum = 0, at;

	for (size_t i = 0; i < count; i++) {
		if (have == top_k && !(logits[i] > best[have - 1].logit))
			continue;
		have += have < top_k;
		for (place = have - 1; place > 0 && best[place - 1].logit < logits[i]; place--)
			best[place] = best[place - 1];
		best[place].logit = logits[i];
		best[place].token = (int32_t)i;
	}
	for (size_t i = 0; i < have; i++)
		sum += exp((double)(best[i].logit - best[0].logit));
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	at = sum * (double)(*seed * UINT64_C(2685821657736338717) >> 11) * 0x1p-53;
	for (place = 0; place + 1 < have; place++)
		if ((at -= exp((double)(best[place].logit - best[0].logit))) < 0)
			break;
	return best[place].token;
}

int main(int argc, char **argv)
{
	struct asked asked = parse(argc, argv);
	size_t count, vocabulary;
	int32_t token, *prompt = read_prompt(asked.prompt, &count);
	const float *logits = NULL;
	uint64_t seed = asked.seed + 1;
	struct engine *engine;
	FILE *out = asked.logits ? fopen(asked.logits, "wb") : NULL;
	double from = now();

	if (asked.logits && !out)
		die("%s cannot be written", asked.logits);
	if (!asked.options.context)
		asked.options.context = count + asked.generate;
	if (asked.options.batch > count)
		asked.options.batch = count;
	engine = engine_open(asked.model, &asked.options, &vocabulary);
	fprintf(stderr, "loading    %10.2f s\n", now() - from);
	from = now();
	for (size_t done = 0, part; done < count; done += part) {
		part = count - done < asked.options.batch ? count - done : asked.options.batch;
		logits = engine_run(engine, prompt + done, part);
		if (out)
			fwrite(logits, sizeof(float) * vocabulary, part, out);
		logits += out ? (part - 1) * vocabulary : 0;
	}
	fprintf(stderr, "prompt     %10.2f tokens per second\n", (double)count / (now() - from));
	from = now();
	for (size_t i = 0; i < asked.generate; i++) {
		token = choose(logits, vocabulary, asked.top_k, &seed);
		printf("%" PRId32 "\n", token);
		if (i + 1 == asked.generate)
			break;
		logits = engine_run(engine, &token, 1);
		if (out)
			fwrite(logits, sizeof(float), vocabulary, out);
	}
	if (asked.generate > 1)
		fprintf(stderr, "generation %10.2f tokens per second\n", (double)(asked.generate - 1) / (now() - from));
	if (out && fclose(out))
		die("%s cannot be written", asked.logits);
	engine_close(engine);
	free(prompt);
	return 0;
}
