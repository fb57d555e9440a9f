# SPDX-License-Identifier: MIT
"""Drives servers of the wheel xllamacpp (serve_wheel.py), each in a process of its own."""
import json
import os
import pathlib
import subprocess
import sys

SERVE = pathlib.Path(__file__).with_name("serve_wheel.py")
FIRST_BYTE = 3  # the token of byte 0 in the models of scripts/synthetic-gguf.py


class Host:
    """A loaded model in the wheel's server; with a PLUGIN or without."""

    def __init__(self, wheels, model, plugin=None, threads=1, context=1024, plain=False, log=subprocess.DEVNULL):
        command = [sys.executable, str(SERVE), str(model), "--threads", str(threads), "--context", str(context)]
        command += ["--plugin", str(plugin)] if plugin else []
        command += ["--plain"] if plain else []
        environment = dict(os.environ, PYTHONPATH=str(wheels))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                                        env=environment)
        self.loaded = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server ended with status {self.process.wait()}")
        return json.loads(line)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def counters(self):
        return self.ask(counters=True)

    def complete(self, tokens, count, **more):
        """COUNT tokens after TOKENS, which are processed again each time."""
        answer = self.ask(prompt=tokens, n_predict=count, temperature=0, cache_prompt=False, ignore_eos=True, **more)
        if "timings" not in answer:
            raise RuntimeError(f"no completion: {answer}")
        return answer

    def log_probabilities(self, tokens, vocabulary):
        """Of every token of the vocabulary, after TOKENS.  Bytes that a character goes on behind are not chosen, since an
        answer without a whole character tells none; what is told is of the model, not of what may be chosen."""
        parts = [[FIRST_BYTE + byte, False] for byte in range(128, 256)]
        answer = self.complete(tokens, 1, n_probs=vocabulary, logit_bias=parts)
        top = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        return {entry["id"]: entry["logprob"] for entry in top}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def differences(one, other):
    """Mean and largest distance of two sets of log-probabilities."""
    apart = [abs(one[token] - other[token]) for token in one]
    return sum(apart) / len(apart), max(apart)
