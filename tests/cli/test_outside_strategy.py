# SPDX-License-Identifier: MIT
"""Strategies from outside: one that draws as the built-in random does has its score; one that dies, hangs, talks
nonsense or asks for what it may not ends the sweep with one line, and what was tried is kept."""
import json
import pathlib
import sys

import jsonschema

from cli_support import SMALL, Cli, read_schema

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/outside_strategy.py"
# The generator of src/base/rng.c and the deck of src/search/lattice.c; answers are by index and by parameters in turn.
RANDOM = r"""
import json, sys
ALL = (1 << 64) - 1
def rotl(x, k): return (x << k | x >> (64 - k)) & ALL
class Rng:
    def __init__(self, seed):
        self.s = []
        for _ in range(4):
            seed = z = (seed + 0x9e3779b97f4a7c15) & ALL
            z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & ALL
            z = (z ^ z >> 27) * 0x94d049bb133111eb & ALL
            self.s.append(z ^ z >> 31)
    def next(self):
        s = self.s
        result, t = rotl(s[1] * 5 & ALL, 7) * 9 & ALL, s[1] << 17 & ALL
        s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = rotl(s[3], 45)
        return result
    def below(self, bound):
        while True:
            x = self.next()
            if x >= (1 << 64) % bound:
                return x % bound
log = open(sys.argv[1], "a") if len(sys.argv) > 1 else None
taken, at, turn = set(), 0, 0
for line in sys.stdin:
    if log: log.write(line)
    m = json.loads(line)
    if m["type"] == "space":
        space, rng, order = m, Rng(m["seed"]), [0] * m["count"]
        for i in range(m["count"]):
            j = rng.below(i + 1)
            order[i] = order[j]
            order[j] = i
    elif m["type"] == "tell":
        taken.add(m["index"])
    elif m["type"] == "ask":
        while at < len(order) and order[at] in taken:
            at += 1
        turn += 1
        if at == len(order):
            answer = {"end": True}
        elif turn % 2:
            answer = {"index": order[at]}
        else:
            answer = {"parameters": {p["name"]: p["values"][r]
                                     for p, r in zip(space["parameters"], space["candidates"][order[at]])}}
        if at < len(order): taken.add(order[at])
        if log: log.write(json.dumps(answer) + "\n")
        print(json.dumps(answer), flush=True)
"""
# Four candidates that will do, then THEN.
BAD = """
import json, sys, time
asked = 0
for line in sys.stdin:
    m = json.loads(line)
    if m["type"] == "space":
        space = m
    if m["type"] == "ask":
        asked += 1
        answer = json.dumps({"index": (m and asked) %% space["count"]})
        if asked > 4:
            %s
        print(answer, flush=True)
"""
BAD_ENDS = {"dies": ("sys.exit(3)", "ended with exit status 3"),
            "hangs": ("time.sleep(60)", "did not answer within 0.5 s"),
            "talks": ("answer = 'now then'", "answered 'now then'"),
            "far": ("answer = json.dumps({'index': space['count']})", "asked for index"),
            "odd": ("answer = json.dumps({'parameters': {p['name']: 'no' for p in space['parameters']}})",
                    "outside the space"),
            "again": ("answer = json.dumps({'index': 1})", "1000 times in a row"),
            "endless": ("sys.stdout.write('x' * (1 << 21)); sys.stdout.flush(); time.sleep(60)", "longer than")}


def equals_built_in(cli):
    """On a recorded space, with the same draws; what is said is as the schema has it."""
    program, log = cli.scratch / "random.py", cli.scratch / "log"
    program.write_text(RANDOM)
    space = cli.scratch / "space.json"
    space.write_text(json.dumps({"results": [
        {"configuration": {"block": b, "way": way, "half": h / 2}, "invalidity": "correct" if b != 5 else "runtime",
         "times": {"compilation": 3 + b, "runtimes": [1]},
         "measurements": [{"name": "time", "value": 5 + (b - 7) ** 2 % 11 + h + len(way), "unit": "ms"}]}
        for b in range(16) for way in ("plain", "a") for h in range(4) if b + h < 17]}))
    found = cli.json("replay", space, "--strategy", f"exec:{sys.executable} {program} {log}", "--repeats", 3,
                     schema="replay")
    outside, built_in = found["spaces"][0]["scores"]
    cli.check(built_in["strategy"] == "random" and outside["strategy"].startswith("exec:"), f"{found}")
    cli.check({**outside, "strategy": ""} == {**built_in, "strategy": ""}, f"{outside} is not {built_in}")
    schema = read_schema(cli.schemas, "outside-strategy")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in {json.dumps(sorted(line)): line for line in lines}.values():
        jsonschema.validate(line, schema)
    kinds = {line.get("type", "answer") for line in lines}
    cli.check(kinds == {"space", "ask", "tell", "end", "answer"}, f"{kinds}")
    first = lines[0]
    cli.check([p["values"] for p in first["parameters"]] == [list(range(16)), ["a", "plain"], [0, 0.5, 1, 1.5]],
              f"{first['parameters']}")


def ends_clearly(cli):
    for name, (then, says) in BAD_ENDS.items():
        program, db = cli.scratch / "bad.py", cli.scratch / f"{name}.db"
        program.write_text(BAD % then)
        result = cli.run("sweep", *SMALL, "--budget", "5s", "--timeout", "0.5s", "--db", db, "--strategy",
                         f"exec:{sys.executable} {program}", expect=1)
        lines = [line for line in result.stderr.splitlines() if "strategy " in line]
        cli.check(len(lines) == 1 and says in lines[0], f"{name}: {result.stderr}")
        cli.check(cli.trials(db) >= 1, f"{name}: {cli.trials(db)} trials")
        cli.sound(db)


def sweeps(cli):
    """The example, in a sweep whose trials are known to the next one; and words that are no program."""
    db = cli.scratch / "example.db"
    wanted = ["sweep", *SMALL, "--max-trials", 12, "--budget", "2s", "--finalists", 2, "--db", db, "--strategy"]
    cli.json(*wanted, f"exec:{sys.executable} {EXAMPLE}", schema="sweep")
    before = cli.trials(db)
    cli.json(*wanted, f"exec:{sys.executable} {EXAMPLE}", schema="sweep")
    cli.check(cli.trials(db) > before >= 12, f"{before} trials, then {cli.trials(db)}")
    cli.check("exit status 127" in cli.run(*wanted, "exec:no-such-program", expect=1).stderr, "no such program")
    cli.check("exec:PROGRAM" in cli.run(*wanted, "exec:", expect=2).stderr, "no program")


def main():
    cli = Cli()
    equals_built_in(cli)
    ends_clearly(cli)
    sweeps(cli)
    cli.done()


main()
