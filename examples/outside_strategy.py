#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A search strategy of one's own: tcbtune sweep --op ... --strategy 'exec:python3 examples/outside_strategy.py'

Twenty at random; then what differs from one of the best three in one parameter, and random again where all of that is
known.  docs/outside-strategies.md has all messages."""
import json
import random
import sys

space, place, told, untried = {}, {}, [], set()


def neighbours():
    """Untried candidates that differ from one of the best three in one parameter."""
    for _, index in sorted(told)[:3] if len(told) >= 20 else []:
        ranks = space["candidates"][index]
        for field, parameter in enumerate(space["parameters"]):
            for rank in range(len(parameter["values"])):
                other = place.get((*ranks[:field], rank, *ranks[field + 1:]))
                if other in untried:
                    yield other


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "space":
        space, untried = message, set(range(message["count"]))
        place = {tuple(ranks): index for index, ranks in enumerate(space["candidates"])}
        random.seed(space["seed"])
    elif message["type"] == "ask":
        choice = list(neighbours()) or sorted(untried)
        answer = {"index": random.choice(choice)} if choice else {"end": True}
        untried.discard(answer.get("index"))
        print(json.dumps(answer), flush=True)
    elif message["type"] == "tell":
        untried.discard(message["index"])
        if message["time"] is not None:
            told.append((message["time"], message["index"]))
