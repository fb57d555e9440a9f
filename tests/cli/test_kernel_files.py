# SPDX-License-Identifier: MIT
"""Kernels of other people, described by a file: every command knows them; of planted failures none is lost and none is
chosen; what is wrong in a file is said."""
import json
import os
import re
import pathlib
import sqlite3
import struct

from cli_support import Cli

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples/kernel-files"
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


def unnamed():
    """Without its file the results of a kernel are unknown, not stale; with it what mends them names it, too."""
    db = cli.scratch / "own.db"
    report = cli.run("report", "--db", db).stdout
    cli.check("unknown: 4 of 4 results are of ops that this command does not know" in report and ": scale;" in report,
              report)
    cli.check("stale" not in report, report)
    rows = cli.json("report", "--db", db, schema="report")["best"]
    cli.check(len(rows) == 4 and not any(row["stale"] for row in rows), rows)
    kernel = write()
    named = " ".join(cli.run("report", "--kernel", kernel, "--db", db).stdout.split())
    cli.check("unknown:" not in named and f"tcbtune sweep --kernel {kernel} --op scale" in named, named)


def without_operations():
    """Nothing is said of rates and limits that a file tells nothing of."""
    kernel = write("silent.json", tcbtune__Operations=None, tcbtune__Name="silent")
    db = cli.scratch / "silent.db"
    swept = cli.json("sweep", "--kernel", kernel, "--threads", "1", "--max-trials", "1", "--budget", "2s", "--db", db,
                     schema="sweep")
    report = cli.json("report", "--kernel", kernel, "--db", db, schema="report")["best"]
    cli.check(swept and {row["flops"] for row in report} == {0}, (swept, report))


def changed_sources_are_other_kernels():
    kernel, db = write(), cli.scratch / "own.db"
    (cli.scratch / "scale.c").write_text(SOURCE.replace("512 / CHUNK", "256 / CHUNK"))
    said = cli.run("report", "--kernel", kernel, "--db", db)
    cli.check("stale" in said.stdout + said.stderr, said.stdout + said.stderr)
    (cli.scratch / "scale.c").write_text(SOURCE)


def defaults_fit_the_shape():
    """Where the file's default breaks a condition at another size, the next configuration is the default there."""
    kernel = write("other.json", ConfigurationSpace__Conditions=["N % CHUNK == 0"],
                   ConfigurationSpace__TuningParameters__0__Default=4)
    for size, chunk in ((4096, 4), (4094, 1)):
        said = cli.run("bench", "--kernel", kernel, "--problem", f"N={size}", "--threads", "1", "--budget", "10s",
                       "--json")
        cli.check(f"chunk={chunk}," in said.stdout, said.stdout + said.stderr)


def refused():
    (cli.scratch / "short.bin").write_bytes(b"abc")
    for part, changes in (
            ("KernelFile", {"KernelSpecification__KernelFile": "none.c"}),
            ("the Language is Fortran", {"KernelSpecification__Language": "Fortran"}),
            ("an unknown name", {"ConfigurationSpace__Conditions": [{"Parameters": [], "Expression": "NONE > 1"}]}),
            ("the Default of CHUNK", {"ConfigurationSpace__TuningParameters__0__Default": 77}),
            ("values '[1, 2'", {"ConfigurationSpace__TuningParameters__0__Values": "[1, 2"}),
            ("ReadOnly, WriteOnly and ReadWrite are known", {"KernelSpecification__Arguments__1__AccessType": "Append"}),
            ("a scalar of several values", {"KernelSpecification__Arguments__2__Type": "float2"}),
            ("only OpenCL C has arguments that are Local", {"KernelSpecification__Arguments__1__MemoryType": "Local"}),
            ("none of the Arguments is an output", {"KernelSpecification__Arguments__1__AccessType": "ReadOnly"}),
            ("no sizes of a problem", {"tcbtune__Problem": None}),
            ("cannot be an op's name", {"tcbtune__Name": "bad-name"}),
            ("there is an op softmax already", {"tcbtune__Name": "softmax"}),
            ("break a condition", {"ConfigurationSpace__Conditions": ["CHUNK > 99"]}),
            ("has 3 bytes, and 16360 are needed", {"KernelSpecification__Arguments__0__FillType": "BinaryRaw",
                                                   "KernelSpecification__Arguments__0__DataSource": "short.bin"}),
            ("has 0 bytes", {"KernelSpecification__Arguments__0__FillType": "BinaryRaw",
                             "KernelSpecification__Arguments__0__DataSource": "/dev/zero"}),
            ("zero cannot be read", {"KernelSpecification__KernelFile": "/dev/zero"}),
            ("none.bin, cannot be read", {"KernelSpecification__Arguments__0__FillType": "BinaryRaw",
                                          "KernelSpecification__Arguments__0__DataSource": "none.bin"}),
            ("outputs of float, half, double, int32 and uint32", {"KernelSpecification__Arguments__1__Type": "int8"})):
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


UPDATED = r"""
void walk_plain(float *y, const float *x, double *sum, int *last)
{
    double all = 0;
    for (int i = 0; i < N; i++) {
        y[i] = 0.5f * y[i] + x[i];
        all += (double)x[i] * x[i];
    }
    sum[0] = all;
    for (int i = 0; i < 4; i++)
        last[i] = i < 2 ? -1 : N - 1;
}
void walk(float *y, const float *x, double *sum, int *last)
{
    if (KIND == 0)
        walk_plain(y, x, sum, last);
    if (KIND == 0)
        return;
    float all = 0;
    double right = 0;
    for (int i = 0; i < N; i++) {
        y[i] = (KIND == 1 ? 0 : 0.5f * y[i]) + x[i];
        all += x[i] * x[i];
        right += (double)x[i] * x[i];
    }
    sum[0] = KIND == 2 ? all : right;
    for (int i = KIND == 3; i < 4; i++)
        last[i] = i < 2 ? -1 : N - 1;
}
"""
TEAM = r"""
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <unistd.h>
void count(int *out)
{
    cpu_set_t all[64];
    #pragma omp parallel
    {
        sched_getaffinity(0, sizeof *all, &all[omp_get_thread_num() % 64]);
        #pragma omp single
        out[0] = omp_get_num_threads();
    }
    out[1] = out[0] > 1 ? CPU_COUNT(&all[1]) : 1;
    out[2] = KIND;
}
"""


def written(name, source, arguments, reference, **changes):
    (cli.scratch / f"{name}.c").write_text(source)
    kinds = [{"Name": "KIND", "Type": "int", "Values": "range(4)", "Default": 0}]
    return write(f"{name}.json", ConfigurationSpace__TuningParameters=kinds, ConfigurationSpace__Conditions=[],
                 KernelSpecification__KernelName=name, KernelSpecification__KernelFile=f"{name}.c",
                 KernelSpecification__Arguments=[dict(MemoryType="Vector", **argument) for argument in arguments],
                 tcbtune__Reference=reference, **changes)


def outcomes(kernel, threads):
    db = cli.scratch / f"{kernel.stem}.db"
    cli.run("sweep", "--kernel", kernel, "--threads", threads, "--strategy", "exhaustive", "--budget", "20s",
            "--rotation", "1M", "--finalists", "1", "--counters", "none", "--effort", "quick", "--db", db)
    found = sqlite3.connect(db).execute("SELECT geometry, outcome, message FROM trial")
    return {int(re.search(r"kind=(\d)", geometry)[1]): (outcome, message) for geometry, outcome, message in found}


def updated():
    """A vector that is read and written begins each call that is judged with its fill; doubles are compared as such;
    what was not written is found where -1 would be right, too."""
    kernel = written("walk", UPDATED, [
        {"Name": "y", "Type": "float", "AccessType": "ReadWrite", "Size": "N", "FillType": "Random"},
        {"Name": "x", "Type": "float", "AccessType": "ReadOnly", "Size": "N", "FillType": "Random"},
        {"Name": "sum", "Type": "double", "AccessType": "WriteOnly", "Size": 1},
        {"Name": "last", "Type": "int32", "AccessType": "WriteOnly", "Size": 4}], "walk_plain")
    found = outcomes(kernel, 1)
    cli.check({kind: outcome for kind, (outcome, _) in found.items()} ==
              {0: "ok", 1: "wrong", 2: "wrong", 3: "wrong"}, found)
    for kind, part in ((1, "output 'y' [0][0] is"), (2, "output 'sum'"), (3, "output 'last' [0][0] was never written")):
        cli.check(part in found[kind][1], found[kind])


def teams():
    """A kernel in OpenMP has all threads of its device, on the processors that these have."""
    threads = min(2, len(os.sched_getaffinity(0)))
    (cli.scratch / "right.bin").write_bytes(struct.pack("<3i", threads, threads, 0))
    kernel = written("count", TEAM, [{"Name": "out", "Type": "int32", "AccessType": "WriteOnly", "Size": 3}], None,
                     KernelSpecification__CompilerOptions=["-fopenmp"], KernelSpecification__ReferenceArguments=[
                         {"TargetName": "out", "FillType": "BinaryRaw", "DataSource": "right.bin"}])
    found = outcomes(kernel, threads)
    cli.check({kind: outcome for kind, (outcome, _) in found.items()} ==
              {0: "ok", 1: "wrong", 2: "wrong", 3: "wrong"}, found)
    said = cli.run("space", "--kernel", kernel, "--threads", str(threads)).stdout
    cli.check(f"threads={threads}" in said, said)


PTX = """.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 factor)
{
    .reg .u64 %a, %b;
    .reg .u32 %t, %c, %i;
    .reg .f32 %v, %f;
    .reg .pred %p;
    ld.param.u64 %a, [x];
    ld.param.u64 %b, [y];
    ld.param.f32 %f, [factor];
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %i, %c, ${CHUNK}, %t;
    setp.ge.u32 %p, %i, ${N};
    @%p ret;
    mad.wide.u32 %a, %i, 4, %a;
    mad.wide.u32 %b, %i, 4, %b;
    ld.global.f32 %v, [%a];
    mul.f32 %v, %v, %f;
    st.global.f32 [%b], %v;
    ret;
}
"""


def launched(language, source, **changes):
    """The same op for a GPU, whose right values a function in C computes."""
    return write(f"{language}.json", KernelSpecification__Language=language, KernelSpecification__KernelFile=source,
                 KernelSpecification__LocalSize={"X": "CHUNK"}, KernelSpecification__GridDivX=["CHUNK"],
                 KernelSpecification__CompilerOptions=[],
                 ConfigurationSpace__TuningParameters=[{"Name": "CHUNK", "Type": "int", "Values": [32, 64, 2048]}],
                 ConfigurationSpace__Conditions=[],
                 tcbtune__Reference={"Language": "C", "KernelFile": "scale.c", "KernelName": "scale_plain"}, **changes)


def ptx():
    (cli.scratch / "scale.ptx").write_text(PTX)
    kernel = launched("PTX", "scale.ptx")
    lines = cli.run("space", "--kernel", kernel, "--device", "sm_90").stdout.splitlines()
    cli.check(len(lines) == 2, lines)  # no block has 2048 threads
    text = cli.run("ptx", "--kernel", kernel, "--target", "sm_90", "--geometry", lines[1]).stdout
    cli.check("mad.lo.u32" in text and ", 64, " in text and ", 4090;" in text and "${" not in text, text)
    refused = cli.run("space", "--kernel", launched("PTX", "scale.ptx", tcbtune__Name="other"), "--device", "cpu",
                      expect=None)
    cli.check("op other has no cpu kernels" in refused.stderr, refused.stderr)
    (cli.scratch / "none.ptx").write_text(PTX.replace("entry scale", "entry other"))
    refused = cli.run("ptx", "--kernel", launched("PTX", "none.ptx"), "--target", "sm_90", expect=None)
    cli.check("has no kernel scale" in refused.stderr, refused.stderr)
    unsaid = write("unsaid.json", KernelSpecification__Language="PTX", KernelSpecification__KernelFile="scale.ptx",
                   KernelSpecification__LocalSize={"X": "CHUNK"}, tcbtune__Reference=None)
    refused = cli.run("space", "--kernel", unsaid, "--device", "sm_90", expect=None)
    cli.check("nothing says what is right" in refused.stderr, refused.stderr)


def wgsl():
    kernel = EXAMPLES / "transpose-wgsl" / "transpose.json"
    document = cli.json("wgsl", "--kernel", kernel, schema="wgsl")
    cli.check("const tile = 16u;" in document["wgsl"] and "${" not in document["wgsl"], document["wgsl"])
    cli.check(document["launches"][0]["constants"] == {"rows": 1000, "columns": 1500}, document["launches"])
    cli.check(document["launches"][0]["dispatch"] == [94, 63, 1], document["launches"])
    if cli.run("space", "--kernel", kernel, "--device", "wgpu:0", "--count", expect=None).returncode:
        print("no adapter: no kernel in WGSL was run")
        return
    said = cli.run("sweep", "--kernel", kernel, "--device", "wgpu:0", "--problem", "rows=37,columns=50",
                   "--max-trials", "3", "--budget", "60s", "--db", cli.scratch / "wgsl.db")
    cli.check("3 of 29 candidates tried, 0 failed" in said.stderr, said.stderr)


def cuda():
    said = cli.run("ptx", "--kernel", EXAMPLES / "gemm-cuda" / "gemm.json", "--target", "sm_90", expect=None)
    if "no NVRTC is found" in said.stderr or "cannot open source file" in said.stderr:
        print("no NVRTC with its toolkit's headers: no kernel in CUDA C++ was compiled")
        return
    cli.check("wmma" in said.stdout and ".entry" in said.stdout, said.stderr + said.stdout[:300])


cli = Cli()
(cli.scratch / "scale.c").write_text(SOURCE)
space()
swept()
unnamed()
without_operations()
changed_sources_are_other_kernels()
defaults_fit_the_shape()
refused()
updated()
teams()
ptx()
wgsl()
cuda()
cli.done()
