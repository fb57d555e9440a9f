# SPDX-License-Identifier: MIT
"""kill -9 at twenty random moments of a sweep: the database is sound, no finished trial is lost, nothing of the
killed sweep stays behind, its best so far answers lookups, marked, and the next sweep goes on."""
import os
import pathlib
import random
import sqlite3
import time
import uuid

from cli_support import Cli

KILLS = 10
# More candidates than killed sweeps can try, so that every kill finds one at work.
PROBLEM = ["--op", "q4k_matvec", "--shape", "1x4096x4096"]
LARGE = [*PROBLEM, "--rotation", "64M", "--threads", "1"]


def left_behind(mark):
    """The processes that were started with MARK in their environment."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.append(folder.name)
        except OSError:
            continue  # gone, or another user's
    return found


def lookup(cli, db, state):
    return cli.json("lookup", *PROBLEM, "--state", state, "--threads", 1, "--db", db, schema="lookup")


def stored_best(cli, db):
    """The rows of both states."""
    best = {row["state"]: row for row in cli.json("report", "--db", db, schema="report")["best"]}
    cli.check(sorted(best) == ["cold", "hot"], f"{db.name}: {best}")
    return best


def is_slower(found, best):
    """Is the default answered because all that was tried is slower, or of a proven winner not surely as fast?"""
    bound = "median" if best["provisional"] else "lo"
    return (found["source"] == "default" and best["speedup"][bound] < 1 and
            "nothing that was tried there is known to be faster" in found["reason"])


def check_provisional(cli, db, number):
    """What a killed sweep leaves: the best so far of both states, which nobody takes for proven."""
    for state, best in stored_best(cli, db).items():
        found = lookup(cli, db, state)
        cli.check(best["provisional"], f"kill {number}: {best}")
        if is_slower(found, best):
            continue
        cli.check(found["source"] == "provisional" and found["provisional"] and "provisional" in found["reason"],
                  f"kill {number}: lookup of {state} says {found['source']}: {found['reason']}")
        cli.check(found["expected_ns"] > 0, f"kill {number}: no time of the provisional best")
    text = cli.run("report", "--db", db).stdout
    cli.check("provisional: 2 of 2 results" in text and "hold the finals" in text, text)


def check_proven(cli, db, what):
    best = stored_best(cli, db)
    for state, row in best.items():
        found = lookup(cli, db, state)
        cli.check(found["source"] == "exact" or is_slower(found, row), f"{what}: {found}")
    cli.check(not any(row["provisional"] for row in best.values()), f"{what}: {best}")
    return [best["cold"]["geometry"], best["hot"]["geometry"]]


def wait_for_trials(cli, db, more_than):
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        if db.exists() and cli.run("db", "info", "--db", db, expect=None).returncode == 0 and \
                cli.trials(db) > more_than:
            return
        time.sleep(0.05)


def test_shards(cli):
    """Shards that were killed, each and merged: the best so far, marked."""
    files = [cli.scratch / f"shard{i}.db" for i in (1, 2)]
    for i, file in enumerate(files, 1):
        process = cli.start("sweep", *LARGE, "--db", file, "--budget", "none", "--shard", f"{i}/4")
        wait_for_trials(cli, file, 3)
        process.kill()
        process.communicate(timeout=30)
        check_provisional(cli, file, f"of shard {i}")
    merged = cli.scratch / "merged.db"
    cli.run("db", "merge", *files, "--db", merged)
    check_provisional(cli, merged, "of merged shards")


def main():
    cli = Cli()
    db = cli.scratch / "killed.db"
    mark = f"TCB_TEST_MARK={uuid.uuid4()}"
    cli.env["TCB_TEST_MARK"] = mark.partition("=")[2]
    seed = int(os.environ.get("TCB_TEST_SEED", time.time_ns() % 10**6))
    print(f"seed {seed} (TCB_TEST_SEED repeats it)")
    chance = random.Random(seed)
    stored = 0
    for number in range(KILLS):
        process = cli.start("sweep", *LARGE, "--db", db, "--budget", "none", "--seed", number + 1)
        if number % 3 == 2:  # however slow the machine is, some kills come after the first trial
            wait_for_trials(cli, db, stored)
        time.sleep(chance.uniform(0.02, 1.2))
        seen = cli.trials(db) if db.exists() and cli.run("db", "info", "--db", db, expect=None).returncode == 0 else 0
        process.kill()
        process.communicate(timeout=30)
        limit = time.monotonic() + 5
        while left_behind(mark) and time.monotonic() < limit:
            time.sleep(0.05)
        cli.check(not left_behind(mark), f"kill {number}: processes {left_behind(mark)} live on")
        if not db.exists() or db.stat().st_size == 0:
            continue  # killed before there was a database
        now = cli.run("db", "info", "--db", db, expect=None)
        if now.returncode != 0:
            cli.check(stored == 0 and seen == 0, f"kill {number}: {now.stderr}")
            continue  # killed while the database was being made
        cli.sound(db)
        now = cli.trials(db)
        cli.check(now >= max(stored, seen), f"kill {number}: {now} trials, but there were {max(stored, seen)}")
        stored = now
        if seen > 0:
            check_provisional(cli, db, number)
    cli.check(stored > 0, f"no trial was stored in {KILLS} sweeps")
    after = cli.json("sweep", *LARGE, "--db", db, "--max-trials", 2, "--budget", "none", schema="sweep")["sweeps"][0]
    cli.check(after["known"] > 0, "the next sweep knew nothing")
    cli.check(after["tried"] == 2 and not after["complete"], f"the next sweep tried {after['tried']}")
    proven = check_proven(cli, db, "after the finals")
    process = cli.start("sweep", *LARGE, "--db", db, "--budget", "none", "--fresh", "--seed", 99)
    wait_for_trials(cli, db, cli.trials(db) + 5)
    process.kill()
    process.communicate(timeout=30)
    cli.check(check_proven(cli, db, "a later sweep that was killed") == proven, "a killed sweep changed the winners")
    # Kernels that have changed since: their proven winners answer nobody, so the best so far takes their place.
    with sqlite3.connect(db) as sql:
        sql.execute("UPDATE best SET signature = 'old'")
        sql.execute("UPDATE trial SET signature = 'old'")
    cli.check(lookup(cli, db, "cold")["source"] != "exact", "a stale winner answers")
    process = cli.start("sweep", *LARGE, "--db", db, "--budget", "none", "--seed", 100)
    wait_for_trials(cli, db, cli.trials(db) + 5)
    process.kill()
    process.communicate(timeout=30)
    check_provisional(cli, db, "of a stale winner's sweep")
    cli.sound(db)
    test_shards(cli)
    print(f"{stored} trials survived {KILLS} kills; the next sweep knew {after['known']}")
    cli.done()


if __name__ == "__main__":
    main()
