# SPDX-License-Identifier: MIT
"""Kernels of other people, described by a file: every command knows them; of planted failures none is lost and none is
chosen; what is wrong in a file is said."""
import json
import re
import sqlite3

from cli_support import Cli

SOURCE = r"""
#include <stddef.h>
#include <stdlib.h>
void scale(const float *x, float *y, float factor)
{
#if CHUNK == 3
    for (;;)
        ;
#elif CHUNK == 5
    *(volatile int *)8 = 1;
#elif CHUNK == 6
#error planted
#elif CHUNK == 7
    exit(0);
#elif CHUNK == 9
    y[N] = 1;
#endif
    for (int again = 0; again < 512 / CHUNK; again++)
        for (int i = 0; i < N; i++)
            ((volatile float *)y)[i] = factor * x[i] + (CHUNK == 11 && i == N - 1) + (ORDER_MINUS > 0);
}
void scale_plain(const float *x, float *y, float factor)
{
    for (int i = 0; i < N; i++)
        y[i] = factor * x[i];
}
"""
WRONG = {3: "timeout", 5: "crashed", 6: "compile_failed", 7: "crashed", 9: "wrong", 11: "wrong"}


def described(**changes):
    document = {
        "ConfigurationSpace": {
            "TuningParameters": [
                {"Name": "CHUNK", "Type": "int", "Values": "[1, 2, 4] + [8 * i for i in range(1, 3)] + "
                                                           "[3, 5, 6, 7, 9, 11]", "Default": 1},
                {"Name": "ORDER_MINUS", "Type": "float", "Values": [0.0, -0.5, 1.5]},
                {"Name": "FIXED", "Type": "int", "Values": "[1]"}],
            "Conditions": [{"Parameters": ["CHUNK", "FIXED"], "Expression": "N % 2 == 0 and CHUNK <= 16 * FIXED"},
                           {"Parameters": ["ORDER_MINUS"], "Expression": "ORDER_MINUS <= 0"}]},
        "KernelSpecification": {
            "Language": "C", "KernelName": "scale", "KernelFile": "scale.c", "CompilerOptions": ["-Wall"],
            "Arguments": [
                {"Name": "x", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random",
                 "Size": "N"},
                {"Name": "y", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": "N"},
                {"Name": "factor", "Type": "float", "MemoryType": "Scalar", "FillType": "Constant",
                 "FillValue": 2.5}]},
        "tcbtune": {"Problem": {"N": 4090}, "Reference": "scale_plain", "Operations": "N"}}
    for where, value in changes.items():
        *path, key = where.split("__")
        place = document
        for part in path:
            place = place[int(part) if part.isdigit() else part]
        if value is None:
            del place[key]
        else:
            place[key] = value
    return document


def write(name="scale.json", **changes):
    path = cli.scratch / name
    path.write_text(json.dumps(described(**changes)))
    return path


def space():
    said = cli.run("space", "--kernel", write(), "--threads", "1")
    lines = said.stdout.splitlines()
    cli.check(len(lines) == 22 and all("chunk=" in line and "order_minus=" in line for line in lines), said.stdout)
    cli.check("fixed=" not in said.stdout and "order_minus=-0.5" in said.stdout, said.stdout)
    other = lines[0].replace("order_minus=0", "order_minus=1.5")
    said = cli.run("space", "--kernel", write(), "--threads", "1", "--explain", other, expect=None)
    cli.check("ORDER_MINUS <= 0" in said.stdout + said.stderr, said)


def swept():
    kernel, db = write(), cli.scratch / "own.db"
    cli.run("sweep", "--kernel", kernel, "--threads", "1", "--strategy", "exhaustive", "--timeout", "1s", "--budget",
            "100s", "--db", db)
    trials = {}
    for geometry, outcome in sqlite3.connect(db).execute("SELECT geometry, outcome FROM trial"):
        trials.setdefault(int(re.search(r"chunk=(\d+)", geometry).group(1)), set()).add(outcome)
    cli.check(sorted(trials) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16], trials)
    for chunk, outcomes in trials.items():
        cli.check(outcomes == {WRONG.get(chunk, "ok")}, (chunk, outcomes))
    rows = cli.json("report", "--kernel", kernel, "--db", db, schema="report")["best"]
    cli.check({row["state"] for row in rows} == {"cold", "hot"}, rows)
    for row in rows:
        cli.check(row["op"] == "scale" and "chunk=16" in row["geometry"], row["geometry"])
    found = cli.json("lookup", "--kernel", kernel, "--threads", "1", "--db", db, schema="lookup")
    cli.check("chunk=16" in found["geometry"], found)
    cli.env["TCBTUNE_KERNELS"] = str(kernel)
    listed = cli.run("report", "--op", "scale", "--db", db)
    del cli.env["TCBTUNE_KERNELS"]
    cli.check("scale" in listed.stdout, listed.stdout)
    other = cli.run("sweep", "--kernel", kernel, "--problem", "N=1024", "--threads", "1", "--max-trials", "2",
                    "--budget", "20s", "--db", db)
    cli.check("1x1024" in other.stdout, other.stdout)


def changed_sources_are_other_kernels():
    kernel, db = write(), cli.scratch / "own.db"
    (cli.scratch / "scale.c").write_text(SOURCE.replace("512 / CHUNK", "256 / CHUNK"))
    said = cli.run("report", "--kernel", kernel, "--db", db)
    cli.check("stale" in said.stdout + said.stderr, said.stdout + said.stderr)
    (cli.scratch / "scale.c").write_text(SOURCE)


def refused():
    for part, changes in (
            ("KernelFile", {"KernelSpecification__KernelFile": "none.c"}),
            ("the Language is Fortran", {"KernelSpecification__Language": "Fortran"}),
            ("an unknown name", {"ConfigurationSpace__Conditions": [{"Parameters": [], "Expression": "NONE > 1"}]}),
            ("the Default of CHUNK", {"ConfigurationSpace__TuningParameters__0__Default": 77}),
            ("values '[1, 2'", {"ConfigurationSpace__TuningParameters__0__Values": "[1, 2"}),
            ("is read and written", {"KernelSpecification__Arguments__1__AccessType": "ReadWrite"}),
            ("none of the Arguments is an output", {"KernelSpecification__Arguments__1__AccessType": "ReadOnly"}),
            ("no sizes of a problem", {"tcbtune__Problem": None}),
            ("cannot be an op's name", {"tcbtune__Name": "bad-name"}),
            ("there is an op softmax already", {"tcbtune__Name": "softmax"}),
            ("break a condition", {"ConfigurationSpace__Conditions": ["CHUNK > 99"]}),
            ("outputs of float and half", {"KernelSpecification__Arguments__1__Type": "int32"})):
        said = cli.run("space", "--kernel", write("refused.json", **changes), expect=None)
        cli.check(said.returncode and part in said.stderr and said.stderr.count("\n") <= 2, (part, said.stderr))
    (cli.scratch / "cut.json").write_text('{"ConfigurationSpace": {')
    for words, part in ((("--kernel", cli.scratch / "cut.json"), "line 1"),
                        (("--kernel", cli.scratch / "absent.json"), "cannot be read"),
                        (("--kernel", write(), "--problem", "K=3"), "is not a size"),
                        (("--kernel", write(), "--problem", "N=x"), "not a whole number"),
                        (("--kernel", write(), "--problem", "N=4095"), "N % 2 == 0"),
                        (("--problem", "N=3", "--op", "softmax"), "--kernel FILE.json")):
        said = cli.run("space", *words, expect=None)
        cli.check(said.returncode and part in said.stderr, (words, said.stdout[:200], said.stderr))


cli = Cli()
(cli.scratch / "scale.c").write_text(SOURCE)
space()
swept()
changed_sources_are_other_kernels()
refused()
cli.done()
