# SPDX-License-Identifier: MIT
"""A space of 200 candidates in C of which 20 are planted, each in a way of its own, through a sweep that is killed
halfway and goes on: all 200 are stored, each with its outcome, none of the planted is chosen, and 'tcbtune trial' says
of each what was wrong.  (Registers, spills and --require are of PTX: test_require.py.)"""
import json
import os
import re
import signal
import sqlite3
import time

from cli_support import Cli

SOURCE = r"""
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define NUMBER (10 * TENS + ONES)
enum { PLANT = ONES == 7 ? TENS : -1 };
#if NUMBER == 97
#error planted
#elif NUMBER == 117
#include "endless.h"
#endif
void not_there(void);
static void log_run(void)
{
    static int is_logged;
    FILE *file = is_logged ? NULL : fopen(RAN, "a");
    is_logged = 1;
    if (file) {
        fprintf(file, "%d\n", NUMBER);
        fclose(file);
    }
}
static int deeper(volatile int *above)
{
    volatile int here[1024];
    here[0] = *above + 1;
    return deeper(here) + here[0];
}
static void misbehave(float *x, float *y)
{
    static int calls;
    calls++;
    switch (PLANT) {
    case 0: for (;;) ;
    case 1: for (;;) pause();
    case 2: *(volatile int *)8 = 1; break;
    case 3: y[0] = (float)deeper(&calls); break;
    case 4: __builtin_trap();
    case 5: abort();
    case 6: exit(0);
    case 7: _exit(0);
    case 8: kill(getpid(), SIGKILL); break;
#if NUMBER == 107
    case 10: not_there(); break;
#endif
    case 12: y[N - 1] += 1; break;
    case 13: y[N / 2] = NAN; break;
    case 15: y[0] += calls > 1; break;
    case 16: ((volatile float *)y)[N] = 1; break;
    case 17: ((volatile float *)y)[-1] = 1; break;
    case 18: ((volatile float *)x)[0] = 1; break;
    case 19: for (int fd = 0; fd < 256; fd++) close(fd); break;
    }
}
void scale(float *x, float *y)
{
    log_run();
    for (int again = 0; again < (PLANT < 0 ? 2 + (NUMBER * 37 + 100) % 200 : 1); again++)
        for (int i = 0; i < (PLANT == 14 ? N - 1 : N); i++)
            ((volatile float *)y)[i] = 2.5f * x[i];
    misbehave(x, y);
}
void scale_plain(const float *x, float *y)
{
    for (int i = 0; i < N; i++)
        y[i] = 2.5f * x[i];
}
"""
# What comes of each planted candidate: its outcome, and what its message has.
PLANTED = [("timeout", "no end after"), ("timeout", "no end after"), ("crashed", "SIGSEGV"), ("crashed", "SIGSEGV"),
           ("crashed", "SIGILL"), ("crashed", "SIGABRT"), ("crashed", "exit status 0"), ("crashed", "exit status 0"),
           ("crashed", "SIGKILL"), ("compile_failed", "#error planted"), ("compile_failed", "not_there"),
           ("timeout", "ran longer than"), ("wrong", "[0][4089] is"), ("wrong", "is nan"), ("wrong", "never written"),
           ("wrong", "in the timed runs"), ("wrong", "outside of its output"), ("crashed", "before the start of output"),
           ("crashed", "read-only input 'x'"), ("crashed", "while")]


def write():
    (cli.scratch / "scale.c").write_text(SOURCE.replace("RAN", json.dumps(str(cli.scratch / "ran.txt"))))
    os.mkfifo(cli.scratch / "endless.h")  # whoever includes it waits for ever
    vector = {"Type": "float", "MemoryType": "Vector", "Size": "N"}
    kernel = cli.scratch / "scale.json"
    kernel.write_text(json.dumps({
        "ConfigurationSpace": {"TuningParameters": [
            {"Name": "TENS", "Type": "int", "Values": "range(20)"},
            {"Name": "ONES", "Type": "int", "Values": "range(10)"}]},
        "KernelSpecification": {"Language": "C", "KernelName": "scale", "KernelFile": "scale.c", "Arguments": [
            {"Name": "x", "AccessType": "ReadOnly", "FillType": "Random", **vector},
            {"Name": "y", "AccessType": "WriteOnly", **vector}]},
        "tcbtune": {"Problem": {"N": 4090}, "Reference": "scale_plain", "Operations": "N"}}))
    return kernel


def number_of(geometry):
    return int("".join(re.search(rf"{digit}=(\d+)", geometry)[1] for digit in ("tens", "ones")))


def stored(db):
    """The outcome, the message and the first trial of each candidate, by its number; the finals add trials of some."""
    found = {}
    if not db.exists():
        return found
    with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as connection:
        try:
            rows = connection.execute("SELECT id, geometry, outcome, message FROM trial ORDER BY id").fetchall()
        except sqlite3.OperationalError:  # its tables are not made yet
            return found
    for row, geometry, outcome, message in rows:
        number = number_of(geometry)
        known = found.setdefault(number, (outcome, message or "", row))
        cli.check(known[0] == outcome, f"candidate {number}: {known}, then {outcome}")
    return found


def killed(words, db):
    """kill -9 once 60 candidates are stored: of those that ran, one at most is not."""
    sweep = cli.start(*words)
    limit = time.monotonic() + 100
    while len(stored(db)) < 60 and time.monotonic() < limit:
        time.sleep(0.05)
    sweep.send_signal(signal.SIGKILL)
    sweep.communicate(timeout=30)
    before = stored(db)
    ran = {int(line) for line in (cli.scratch / "ran.txt").read_text().split()}
    cli.check(60 <= len(before) < 200, len(before))
    cli.check(len(ran - set(before)) <= 1, f"ran and lost: {sorted(ran - set(before))}")
    cli.sound(db)
    return before


def main():
    kernel, db = write(), cli.scratch / "planted.db"
    # A compiler has as long as a candidate: on a busy machine a second is not enough for one that is sound.
    words = ["sweep", "--kernel", kernel, "--threads", "1", "--strategy", "exhaustive", "--until-stable", "none",
             "--timeout", "4s", "--budget", "60s", "--rotation", "1M", "--finalists", "4", "--counters", "none",
             "--db", db]
    before = killed(words, db)
    for _ in range(4):  # one is enough, unless the machine is busy
        cli.run(*words)
        if len(stored(db)) == 200:
            break
    found = stored(db)
    cli.check(sorted(found) == list(range(200)), f"not stored: {sorted(set(range(200)) - set(found))}")
    cli.check(all(found[number] == row for number, row in before.items()), "what was stored before the kill changed")
    for number, (outcome, message, row) in found.items():
        wanted, part = PLANTED[number // 10] if number % 10 == 7 else ("ok", "")
        cli.check(outcome == wanted and part in message, f"candidate {number}: {outcome}: {message}")
        if wanted != "ok":
            told = cli.run("trial", row, "--db", db).stdout
            cli.check(outcome in told and " ".join(message.split()) in " ".join(told.split()), told)
    best = cli.json("report", "--kernel", kernel, "--db", db, schema="report")["best"]
    for row in best:
        cli.check(number_of(row["geometry"]) % 10 != 7, row["geometry"])
    cli.check({row["state"] for row in best} == {"cold", "hot"}, best)
    cli.sound(db)
    print(f"{len(found)} of 200 stored, {len(before)} of them before the kill; 20 planted, none chosen")


cli = Cli()
main()
cli.done()
