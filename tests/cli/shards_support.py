# SPDX-License-Identifier: MIT
"""What the tests of shards share: what is known of a database, and a sweep caught in the middle."""
import contextlib
import os
import pathlib
import signal
import sqlite3
import time


@contextlib.contextmanager
def reading(db, wait_s=30):
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True, timeout=wait_s)
    try:
        yield connection
    finally:
        connection.close()


def known(db):
    """The candidates that were tried and how that ended: what shards, merged, must have in common with one sweep."""
    with reading(db) as connection:
        return set(connection.execute("SELECT DISTINCT geometry, outcome FROM trial"))


def winners(db):
    """All that best rows and their tie sets say, row numbers left out."""
    with reading(db) as connection:
        return connection.execute(
            "SELECT p.op, p.n, b.state, s.uid, b.geometry, b.provisional, b.median_ns, b.speedup, b.measured_at,"
            " (SELECT group_concat(geometry, '|') FROM (SELECT geometry FROM tie_set WHERE best_id = b.id"
            " ORDER BY position)) FROM best b JOIN problem p ON p.id = b.problem_id JOIN sweep s ON s.id = b.sweep_id"
            " ORDER BY 1, 2, 3").fetchall()


def is_at_work(db):
    """A sweep into DB has stored a trial and has not ended."""
    try:
        with reading(db, wait_s=0) as connection:
            return connection.execute("SELECT count(*) FROM sweep s WHERE s.status = 'running' AND EXISTS"
                                      " (SELECT 1 FROM trial t WHERE t.sweep_id = s.id)").fetchone()[0] > 0
    except sqlite3.Error:
        return False  # not there yet, or locked: its writer may be the one that is stopped


def kill_at_work(pid, db, limit_s=30):
    """kill -9 to PID while it sweeps into DB, which is made sure of while it is stopped; whether it was caught."""
    limit = time.monotonic() + limit_s
    while time.monotonic() < limit:
        try:
            os.kill(pid, signal.SIGSTOP)
            if is_at_work(db):
                os.kill(pid, signal.SIGKILL)
                return True
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            return False
        try:
            if (pathlib.Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.01)
    return False
