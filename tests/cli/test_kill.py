# SPDX-License-Identifier: MIT
"""kill -9 at twenty random moments of a sweep: the database is sound, no finished trial is lost, nothing of the
killed sweep stays behind, and the next sweep goes on."""
import os
import pathlib
import random
import time
import uuid

from cli_support import Cli

KILLS = 20
# More candidates than twenty killed sweeps can try, so that every kill finds one at work.
LARGE = ["--op", "q4k_matvec", "--shape", "1x4096x4096", "--rotation", "64M", "--threads", "2"]


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
    cli.check(stored > 0, "no trial was stored in twenty sweeps")
    after = cli.json("sweep", *LARGE, "--db", db, "--max-trials", 2, "--budget", "20s", schema="sweep")["sweeps"][0]
    cli.check(after["known"] > 0, "the next sweep knew nothing")
    cli.check(after["tried"] == 2 and not after["complete"], f"the next sweep tried {after['tried']}")
    print(f"{stored} trials survived {KILLS} kills; the next sweep knew {after['known']}")
    cli.done()


if __name__ == "__main__":
    main()
