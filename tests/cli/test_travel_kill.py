# SPDX-License-Identifier: MIT
"""kill -9 at random moments of an import, a prune and a forget: the database is as before or as after, and sound; and
all three beside a sweep into the same file, which loses nothing."""
import hashlib
import json
import os
import random
import shutil
import sqlite3
import time

from cli_support import SMALL, Cli

ROUNDS = 10
WINNERS, OLD_TRIALS = 400, 6000
ENDINGS = ("", "-wal", "-shm", "-journal")


def content(db):
    """A hash of all rows, whatever their place in the file; when a sweep was imported does not count."""
    with sqlite3.connect(db) as sql:
        tables = [name for name, in sql.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")]
        sums = hashlib.sha256()
        for table in tables:
            columns = [row[1] for row in sql.execute(f"PRAGMA table_info({table})") if row[1] != "imported_at"]
            rows = sorted(map(repr, sql.execute(f"SELECT {', '.join(columns)} FROM {table}")))
            sums.update("\n".join([table, *rows]).encode())
    return sums.hexdigest()


def copy(source, target):
    for ending in ENDINGS:
        target.with_name(target.name + ending).unlink(missing_ok=True)
    shutil.copyfile(source, target)


def make_export(cli, base):
    """Winners of many shapes, as another machine would have them."""
    out = cli.scratch / "many.json"
    cli.run("db", "export", "--json", "--db", base, "--out", out)
    document = json.loads(out.read_text())
    first = document["winners"][0]
    for i in range(WINNERS):
        winner = json.loads(json.dumps(first))
        winner["device"]["key"] = "0123456789abcdef"
        winner["problem"]["n"] = 64 * (i + 2)
        winner["sweep"]["uid"] = f"sweep {i}"
        document["winners"].append(winner)
    out.write_text(json.dumps(document))
    return out


def make_old(base, target):
    """Many trials of kernels that have changed."""
    copy(base, target)
    with sqlite3.connect(target) as sql:
        sql.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO trial"
                    " (sweep_id, geometry, variant, signature, outcome, message, class, finished_at) SELECT sweep_id,"
                    " geometry, variant, 'old' || i, outcome, message, class, '2020-01-01T00:00:00.000Z' FROM n, (SELECT *"
                    " FROM trial WHERE outcome = 'ok' LIMIT 1)", (OLD_TRIALS,))
        sql.execute("INSERT INTO measurement (trial_id, state, stage, median_ns, lo_ns, hi_ns, dropped_early, sample_count,"
                    " samples) SELECT id, 'cold', 'screen', 10, 9, 11, 0, 3, '[10,9,11]' FROM trial"
                    " WHERE signature LIKE 'old%'")
        sql.commit()
    sql.close()


def kill_rounds(cli, chance, what, base, command, again=0):
    """COMMAND, with --db, killed at random moments. Run AGAIN where there is nothing left to
    do, it may exit with that."""
    db = cli.scratch / "killed.db"
    before = content(base)
    copy(base, db)
    began = time.monotonic()
    cli.run(*command, "--db", db)
    took = time.monotonic() - began
    after = content(db)
    cli.check(before != after, f"{what} changes nothing")
    done = 0
    for number in range(ROUNDS):
        copy(base, db)
        process = cli.start(*command, "--db", db)
        time.sleep(chance.uniform(0, 1.5 * took))
        process.kill()
        process.communicate(timeout=30)
        now = content(db)
        cli.check(now in (before, after), f"{what}, kill {number}: the database is neither as before nor as after")
        done += now == after
        cli.sound(db)
        result = cli.run(*command, "--db", db, expect=None)  # again, to the end
        cli.check(result.returncode in (0, again), f"{what}, kill {number}: {result.stderr}")
        cli.check(content(db) == after, f"{what}, kill {number}: run again, it is not as after")
    print(f"{what}: {took:.2f} s; of {ROUNDS} kills {ROUNDS - done} found it as before, {done} as after")


def beside_a_sweep(cli, export):
    db = cli.scratch / "busy.db"
    process = cli.start("sweep", "--op", "q4k_matvec", "--shape", "1x4096x4096", "--rotation", "64M", "--threads", 1,
                        "--budget", "8s", "--counters", "none", "--db", db)
    limit = time.monotonic() + 60
    while time.monotonic() < limit and not (db.exists() and cli.run("db", "info", "--db", db, expect=None).returncode == 0
                                            and cli.trials(db) > 2):
        time.sleep(0.05)
    rounds = 0
    while process.poll() is None:
        before = cli.trials(db)
        cli.run("db", "import", export, "--db", db)
        cli.run("db", "prune", "--db", db)
        cli.run("db", "forget", "--device", "0123456789abcdef", "--db", db)
        cli.check(cli.trials(db) >= before, "a trial of a sweep that runs was taken out")
        rounds += 1
    out, err = process.communicate(timeout=30)
    cli.check(process.returncode == 0, f"the sweep failed: {out}{err}")
    cli.check(rounds > 0, "nothing was done beside the sweep")
    cli.sound(db)
    print(f"imported, pruned and forgot {rounds} times beside a sweep of {cli.trials(db)} trials")


def behind_a_lock(cli, export, base):
    db = cli.scratch / "locked.db"
    copy(base, db)
    with sqlite3.connect(db, isolation_level=None) as sql:
        sql.execute("BEGIN IMMEDIATE")
        process = cli.start("db", "import", export, "--db", db)
        time.sleep(1)
        cli.check(process.poll() is None, "an import did not wait for a lock")
        sql.execute("ROLLBACK")
        process.communicate(timeout=30)
        cli.check(process.returncode == 0, "an import failed behind a lock that was given back")
    sql.close()
    cli.sound(db)


def main():
    cli = Cli()
    seed = int(os.environ.get("TCB_TEST_SEED", time.time_ns() % 10**6))
    print(f"seed {seed} (TCB_TEST_SEED repeats it)")
    chance = random.Random(seed)
    base, old = cli.scratch / "base.db", cli.scratch / "old.db"
    cli.run("sweep", *SMALL, "--max-trials", 6, "--budget", "5s", "--counters", "none", "--db", base)
    export = make_export(cli, base)
    make_old(base, old)
    kill_rounds(cli, chance, "import", base, ["db", "import", export])
    kill_rounds(cli, chance, "prune", old, ["db", "prune"])
    kill_rounds(cli, chance, "forget", old, ["db", "forget", "--shape", "1x64x512"], again=3)
    beside_a_sweep(cli, export)
    behind_a_lock(cli, export, base)
    cli.done()


if __name__ == "__main__":
    main()
