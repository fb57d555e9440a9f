/* SPDX-License-Identifier: MIT
 *
 * llama.cpp as examples/engine is called and answers, for engine-against-llama.py.
 *
 *     llama_decoder MODEL.gguf @TOKENS THREADS GENERATE [LOGITS]
 *
 * TOKENS: a file of the prompt's tokens with commas between them, decoded in batches of 512.  Prints the tokens that
 * follow, the likeliest each time; when loading, prompt and generation are over, a line to standard error.  LOGITS gets
 * those of each token that was decoded, vocabulary x f32.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "llama.h"

enum { BATCH = 512, PROMPT_MAX = 1 << 20 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void keep_quiet(enum ggml_log_level level, const char *text, void *ctx)
{
	(void)ctx;
	if (level == GGML_LOG_LEVEL_ERROR)
		fputs(text, stderr);
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "llama_decoder: %s\n", what);
	exit(1);
}

static int read_tokens(const char *path, llama_token *tokens)
{
	FILE *file = fopen(path, "r");
	int count = 0;

	while (file && count < PROMPT_MAX && fscanf(file, " %d ,", &tokens[count]) == 1)
		count++;
	if (!count)
		die("no tokens in the file behind @");
	fclose(file);
	return count;
}

/* COUNT tokens more, of whose logits the last ones, or with OUT all, are kept and written. */
static void decode(struct llama_context *context, llama_token *tokens, int count, int vocabulary, FILE *out)
{
	for (int done = 0, part; done < count; done += part) {
		part = count - done < BATCH ? count - done : BATCH;
		struct llama_batch batch = llama_batch_get_one(tokens + done, part);
		int8_t wanted[BATCH];

		for (int i = 0; i < part; i++)
			wanted[i] = out || done + i + 1 == count;
		batch.logits = wanted;
		if (llama_decode(context, batch))
			die("decoding failed");
		for (int i = 0; out && i < part; i++)
			fwrite(llama_get_logits_ith(context, i), sizeof(float), (size_t)vocabulary, out);
	}
}

int main(int argc, char **argv)
{
	static llama_token tokens[PROMPT_MAX];

	if (argc < 5 || argv[2][0] != '@')
		die("usage: llama_decoder MODEL.gguf @TOKENS THREADS GENERATE [LOGITS]");
	double from = now();
	const int count = read_tokens(argv[2] + 1, tokens), threads = atoi(argv[3]), generate = atoi(argv[4]);
	FILE *out = argc > 5 ? fopen(argv[5], "wb") : NULL;

	llama_log_set(keep_quiet, NULL);
	llama_backend_init();
	struct llama_model_params of_model = llama_model_default_params();
	of_model.load_mode = LLAMA_LOAD_MODE_NONE; /* so that malloc's pages are those of all weights */
	struct llama_model *model = llama_model_load_from_file(argv[1], of_model);
	struct llama_context_params of_context = llama_context_default_params();
	of_context.n_ctx = (unsigned)(count + generate);
	of_context.n_batch = of_context.n_ubatch = BATCH;
	of_context.n_threads = of_context.n_threads_batch = threads;
	struct llama_context *context = model ? llama_init_from_model(model, of_context) : NULL;
	if (!context)
		die("the model cannot be loaded");
	const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
	decode(context, tokens, 1, vocabulary, NULL); /* buffers and threads are there then */
	llama_memory_clear(llama_get_memory(context), true);
	fprintf(stderr, "loading    %10.2f s\n", now() - from);
	from = now();
	decode(context, tokens, count, vocabulary, out);
	fprintf(stderr, "prompt     %10.2f tokens per second\n", count / (now() - from));
	from = now();
	for (int i = 0; i < generate; i++) {
		const float *logits = llama_get_logits_ith(context, -1);
		llama_token token = 0;

		for (int v = 1; v < vocabulary; v++)
			token = logits[v] > logits[token] ? v : token;
		printf("%d\n", token);
		if (i + 1 < generate)
			decode(context, &token, 1, vocabulary, out);
	}
	fprintf(stderr, "generation %10.2f tokens per second\n", (generate - 1) / (now() - from));
	if (out && fclose(out))
		die("the logits cannot be written");
	llama_free(context);
	llama_model_free(model);
	return 0;
}
