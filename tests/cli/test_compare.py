# SPDX-License-Identifier: MIT
"""tcbtune compare on databases whose times are made: what is confirmed, what is not, and what is left alone.

A real sweep of one small problem is copied with other shapes, sweeps and times, so that nothing here depends on how
fast this machine is.
"""
import datetime
import json
import math
import pathlib
import random
import re
import shutil
import sqlite3

from cli_support import SMALL, Cli

BEGIN = datetime.datetime(2026, 1, 1)
NS = 100_000
PAIRS = 14
QUIET = 0.01  # standard deviation of finals' times on a quiet machine


def quiet(rng):
    return math.exp(rng.gauss(0, QUIET))


def busy(rng):
    """Half of the time something else runs beside it."""
    return quiet(rng) * rng.choice([1, rng.uniform(1.2, 1.6)])


class Database:
    """A copy of BASE without its winners, trials and sweeps; finals and winners are put in."""

    def __init__(self, base, path, commit="abc"):
        shutil.copy(base, path)
        self.path, self.commit = path, commit
        self.sql = sqlite3.connect(path)
        one = self.sql.execute
        self.problem = one("select op, contract, m, n, k from problem").fetchone()
        self.device, self.op = one("select device_id, op_id from sweep").fetchone()
        self.best = [dict(zip([c[0] for c in cursor.description], row))
                     for cursor in [one("select * from best order by state")] for row in cursor]
        for table in ("tie_set", "best", "counter", "measurement", "trial", "sweep_known", "sweep", "problem", "build"):
            one(f"delete from {table}")
        self.build = one("insert into build (version, git_commit, compiler) values ('1', ?, 'cc') returning id",
                         (commit,)).fetchone()[0]

    def problem_id(self, n):
        op, contract, m, _, k = self.problem
        self.sql.execute("insert or ignore into problem (op, contract, m, n, k) values (?, ?, ?, ?, ?)",
                         (op, contract, m, n, k))
        return self.sql.execute("select id from problem where n = ?", (n,)).fetchone()[0]

    def finals(self, n, minutes, ns, uid=None, geometry=None, signature=None, provisional=0):
        """A sweep of problem N that found a winner of NS; the last one put is the best."""
        at = (BEGIN + datetime.timedelta(minutes=minutes)).isoformat(timespec="milliseconds") + "Z"
        problem = self.problem_id(n)
        sweep = self.sql.execute(
            "insert into sweep (device_id, problem_id, op_id, build_id, os, driver, strategy, seed, rotation_bytes, "
            "settings, status, started_at, ended_at, uid) values (?, ?, ?, ?, 'Linux', '', 'auto', '1', 0, '{}', "
            "'complete', ?, ?, ?) returning id",
            (self.device, problem, self.op, self.build, at, at, uid or f"{self.path.name} {n} {minutes}")).fetchone()[0]
        for best in self.best:
            row = {**best, "problem_id": problem, "sweep_id": sweep, "measured_at": at, "provisional": provisional}
            row["geometry"] = geometry or row["geometry"]
            row["signature"] = signature or row["signature"]
            row.update(median_ns=ns, lo_ns=0.995 * ns, hi_ns=1.005 * ns)
            row["trial_id"] = self.sql.execute(
                "insert into trial (sweep_id, geometry, variant, signature, outcome, message, class) values "
                "(?, ?, ?, ?, 'ok', '', 'bounded') returning id",
                (sweep, row["geometry"], row["variant"], row["signature"])).fetchone()[0]
            samples = [round(ns * (1 + 0.001 * i)) for i in range(-5, 6)]
            self.sql.execute("insert into measurement (trial_id, state, stage, median_ns, lo_ns, hi_ns, dropped_early, "
                             "sample_count, samples) values (?, ?, 'final', ?, ?, ?, 0, ?, ?)",
                             (row["trial_id"], row["state"], ns, 0.995 * ns, 1.005 * ns, len(samples),
                              json.dumps(samples)))
            del row["id"]
            self.sql.execute("delete from best where problem_id = ? and state = ?", (problem, row["state"]))
            self.sql.execute(f"insert into best ({', '.join(row)}) values ({', '.join('?' * len(row))})",
                             tuple(row.values()))

    def close(self):
        self.sql.commit()
        self.sql.execute("pragma wal_checkpoint(truncate)")
        self.sql.close()
        return self.path


def pair(cli, name, base):
    old, new = Database(base, cli.scratch / f"{name}-old.db"), Database(base, cli.scratch / f"{name}-new.db", "def")
    return old, new


def compare(cli, old, new, *args, expect=0):
    return cli.json("compare", old, new, *args, schema="compare", expect=expect)


def verdicts(document):
    return {(row["shape"]["n"], row["state"]): row["verdict"] for row in document["rows"]}


def in_turn(cli, name, base, factors, noise, pairs=PAIRS, seed=1):
    """Finals held in turn, ABBA, for problems of which NEW takes FACTORS times as long."""
    rng = random.Random(seed)
    old, new = pair(cli, name, base)
    for n, factor in factors.items():
        for i in range(pairs):
            first = i % 2
            old.finals(n, 10 * i + first, NS * noise(rng))
            new.finals(n, 10 * i + 1 - first, NS * noise(rng) * factor)
    return old.close(), new.close()


def slowdowns_in_turn(cli, base):
    factors = {64: 1, 128: 1, 192: 1.05, 256: 0.9}
    old, new = in_turn(cli, "quiet", base, factors, quiet)
    document = compare(cli, old, new, "--fail-over", "2%", expect=4)
    found = verdicts(document)
    cli.check({found[192, s] for s in ("cold", "hot")} == {"SLOWER"}, f"5 % slower: {found}")
    cli.check({found[256, s] for s in ("cold", "hot")} == {"FASTER"}, f"10 % faster: {found}")
    cli.check("SLOWER" not in {found[n, s] for n in (64, 128) for s in ("cold", "hot")}, f"nothing changed: {found}")
    cli.check(document["over"] == 2 and document["judged"] == 8, f"{document['over']} of {document['judged']}")
    cli.check(abs(document["level"] - (1 - 0.05 / 8)) < 1e-9, f"level {document['level']}")
    cli.check(all(r["evidence"] == "pairs" and r["pairs"] == PAIRS for r in document["rows"]), "not by pairs")
    cli.check(all("build" in r["changed"] for r in document["rows"]), "the build changed")
    compare(cli, old, new, "--fail-over", "20")
    compare(cli, old, new, "--shape", "1x64x512")
    error = cli.run("compare", old, new, "--fail-over", "2", "--state", "hot", expect=4).stderr
    cli.check("1 of 4 slower by more than 2 %" in error and "1x192x512 hot by at least" in error, error)


def busy_machine(cli, base):
    """Where half of the finals were disturbed, those that were not decide."""
    old, new = in_turn(cli, "busy", base, {64: 1, 128: 1, 192: 1.1}, busy, pairs=40)
    found = verdicts(compare(cli, old, new, expect=4))
    cli.check(found[192, "hot"] == "SLOWER", f"10 % slower on a busy machine: {found}")
    cli.check({found[n, "hot"] for n in (64, 128)} <= {"SAME", "UNDECIDED"}, f"nothing changed: {found}")


def false_alarms(cli, base):
    """Twenty problems of one build, again and again: nothing is SLOWER."""
    for seed in range(5):
        for noise in (quiet, busy):
            old, new = in_turn(cli, f"same{seed}", base, {64 * i: 1 for i in range(1, 21)}, noise, seed=seed)
            document = compare(cli, old, new)
            cli.check(document["counts"]["slower"] == 0, f"{noise.__name__}, seed {seed}: {document['counts']}")


def not_in_turn(cli, base):
    """All of OLD before all of NEW: the machine may have moved in between, however many finals there are."""
    old, new = pair(cli, "days", base)
    for i in range(PAIRS):
        old.finals(64, i, NS)
        new.finals(64, 1000 + i, 1.3 * NS)
    document = compare(cli, old.close(), new.close())
    cli.check(set(verdicts(document).values()) == {"UNDECIDED"}, f"{verdicts(document)}")
    cli.check({r["evidence"] for r in document["rows"]} == {"single"}, "taken for pairs")


def copied(cli, base):
    """NEW began as a copy of OLD: the sweeps that both have are not taken for NEW's."""
    old, new = in_turn(cli, "copied", base, {64: 1}, quiet)
    with sqlite3.connect(old) as sql:
        uids = sql.execute("select uid, started_at from sweep order by started_at").fetchall()
    with sqlite3.connect(new) as sql:
        sql.execute("update build set git_commit = 'abc'")
        for (rowid,), (uid, at) in zip(sql.execute("select id from sweep order by started_at").fetchall()[:-1], uids):
            sql.execute("update sweep set uid = ?, started_at = ? where id = ?", (uid, at, rowid))
    document = compare(cli, old, new)
    cli.check(all(r["new"]["finals"] == 1 and r["evidence"] == "single" for r in document["rows"]), f"{document}")


def single(cli, base):
    """One sweep each: the others tell how the machine moved."""
    old, new = pair(cli, "single", base)
    for i in range(1, 11):
        old.finals(64 * i, i, NS)
        new.finals(64 * i, 100 + i, NS * 1.2 * (1 + 0.01 * (i % 3)) * (1.1 if i == 4 else 1.6 if i == 7 else 1))
    old, new = old.close(), new.close()
    document = compare(cli, old, new, expect=4)
    found = verdicts(document)
    cli.check(found[448, "hot"] == "SLOWER", f"1.6 times the time: {found}")
    cli.check({v for (n, _), v in found.items() if n != 448} <= {"UNDECIDED", "SAME"}, f"{found}")
    cli.check(document["default_moved"] == 1, f"the defaults moved by {document['default_moved']}")
    cli.check(1.2 < document["machine"] < 1.23, f"the machine moved by {document['machine']}")
    ratio = next(r["ratio"]["median"] for r in document["rows"] if r["shape"]["n"] == 448)
    cli.check(1.55 < ratio < 1.65, f"with the machine's move taken out: {ratio}")
    said = cli.run("compare", old, new, expect=4).stdout
    cli.check("The machine differs: 20 problems" in said.replace("\n  ", " "), said)
    alone = compare(cli, old, new, "--shape", "1x448x512")  # with no other problem to tell it may be the machine
    cli.check(set(verdicts(alone).values()) == {"UNDECIDED"}, f"{verdicts(alone)}")


def unlike(cli, base):
    """What must not be judged: no winner on one side, the same sweep, provisional, not tried."""
    old, new = pair(cli, "unlike", base)
    other = old.best[0]["geometry"].replace("prefetch=", "prefetch=7") or None
    for i in range(PAIRS):
        old.finals(64, 2 * i, NS, geometry=other)
        new.finals(64, 2 * i + 1, 1.5 * NS)
        old.finals(128, 2 * i, NS)
        new.finals(128, 2 * i + 1, 1.5 * NS, provisional=1)
    old.finals(192, 0, NS, uid="one")
    new.finals(192, 0, NS, uid="one")
    old.finals(256, 0, NS)
    new.finals(320, 0, NS)
    old, new = old.close(), new.close()
    document = compare(cli, old, new)
    found, reasons = verdicts(document), {r["shape"]["n"]: r["reason"] for r in document["rows"]}
    cli.check(found[64, "hot"] == "UNDECIDED" and "has not tried" in reasons[64], f"not tried: {reasons}")
    cli.check(found[128, "hot"] == "UNDECIDED" and "provisional" in reasons[128], f"provisional: {reasons}")
    cli.check(found[192, "hot"] == "UNDECIDED" and "same sweep" in reasons[192], f"the same sweep: {reasons}")
    cli.check(found[256, "hot"] == "ONLY OLD" and found[320, "hot"] == "ONLY NEW", f"{found}")
    text = cli.run("compare", old, new).stdout
    cli.check("ONLY OLD: q4k_matvec 1x256x512 cold hot\nONLY NEW: q4k_matvec 1x320x512 cold hot\n" in text, text)
    cli.check(not re.search(r"^q4k_matvec 1x(256|320)x512", text, re.M), f"a row of one database alone:\n{text}")
    cli.run("compare", old, new, "--shape", "1x256x512", expect=3)
    with sqlite3.connect(new) as sql:
        sql.execute("update device set key = '0123456789abcdef', model = 'Another CPU'")
    said = cli.run("compare", old, new, expect=3)
    cli.check("NEW's Another CPU (key 0123456789abcdef)" in said.stdout.replace("\n  ", " "), said.stdout)
    cli.check("so nothing was compared" in said.stderr, said.stderr)
    cli.run("compare", old, new, "--shape", "1x960x512", expect=3)


def files(cli, base):
    old, new = in_turn(cli, "files", base, {64: 1}, quiet)
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in cli.scratch.iterdir() if p.is_file()}
    text = cli.run("compare", old, new).stdout
    markdown = cli.run("compare", old, new, "--format", "md").stdout
    after = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in cli.scratch.iterdir() if p.is_file()}
    cli.check(before == after, "comparing changed a file, or left one")
    cli.check(all(len(line) <= 80 for line in text.splitlines()), f"wider than 80 columns:\n{text}")
    cli.check(re.match(r"cpu, .*, key \w+, 1 thread\n\n\| PROBLEM \| STATE \|", markdown), markdown)
    cli.run("compare", old, new, "--format", "md", "--out", cli.scratch / "out.md")
    cli.check((cli.scratch / "out.md").read_text() == markdown, "--out writes something else")
    link = cli.scratch / "link.db"
    link.symlink_to(old)
    garbage = cli.scratch / "garbage.db"
    garbage.write_text("not a database, and long enough for a header of one hundred bytes " * 3)
    newer = pathlib.Path(shutil.copy(old, cli.scratch / "newer.db"))
    with sqlite3.connect(newer) as sql:
        sql.execute("pragma user_version = 99")
    for expect, words, args in (
            (2, "are the same file", (old, old)), (2, "are the same file", (old, link)),
            (1, "garbage.db", (old, garbage)), (1, "schema version 99", (newer, new)),
            (3, "none.db does not exist", (old, cli.scratch / "none.db")), (2, "needs NEW", (old,)),
            (2, "invalid percentage", (old, new, "--fail-over", "much")),
            (2, "invalid percentage", (old, new, "--fail-over", "-3%")),
            (2, "would be lost", (old, new, "--out", new)), (2, "contradicts", (old, new, "--json", "--format", "md"))):
        result = cli.run("compare", *args, expect=expect)
        cli.check(words in result.stderr and len(result.stderr.splitlines()) == 1 and not result.stdout, result.stderr)


def main():
    cli = Cli()
    base = cli.scratch / "base.db"
    cli.run("sweep", *SMALL, "--db", base, "--max-trials", 2, "--budget", "5s", "--counters", "none")
    with sqlite3.connect(base) as sql:
        sql.execute("pragma wal_checkpoint(truncate)")
    slowdowns_in_turn(cli, base)
    busy_machine(cli, base)
    not_in_turn(cli, base)
    single(cli, base)
    copied(cli, base)
    unlike(cli, base)
    files(cli, base)
    false_alarms(cli, base)
    cli.done()


if __name__ == "__main__":
    main()
