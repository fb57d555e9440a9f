# SPDX-License-Identifier: MIT
"""Kernels in OpenCL C on an OpenCL device, a processor's driver (PoCL) where there is no other: swept, verified, stored,
reported, looked up and benched; of planted failures none is lost and none is chosen; what is missing or wrong is said."""
import ctypes
import json
import os
import pathlib
import re
import sqlite3
import sys

from cli_support import Cli

SOURCE = r"""
#include "half.h"
kernel void scale(global const float *x, global float *y, float factor, local float *held)
{
    const size_t i = get_global_id(0);
#if KIND == 1
    volatile int again = 1;
    while (again)
        ;
#elif KIND == 2
    *(volatile global int *)8 = 1;
#elif KIND == 3
    float planted = undeclared;
#elif KIND == 4
    y[N + i % 2] = 1;
#elif KIND == 5
    local float much[1 << 20];
    much[i] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    held[0] = much[0];
#endif
    held[get_local_id(0)] = x[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[i] = TWICE_HALF(factor) * held[get_local_id(0)] + (KIND == 6 && i == N - 1);
}
"""
PLAIN = r"""
void scale_plain(const float *x, float *y, float factor)
{
    for (int i = 0; i < N; i++)
        y[i] = factor * x[i];
}
"""
OUTCOMES = {0: "ok", 1: "timeout", 2: "crashed", 3: "compile_failed", 4: "wrong", 5: "launch_failed", 6: "wrong"}


def write(name="scale.json", **changes):
    document = {
        "ConfigurationSpace": {
            "TuningParameters": [
                {"Name": "KIND", "Type": "int", "Values": "range(7)", "Default": 0},
                {"Name": "SPAN", "Type": "int", "Values": "[64, 256, 1 << 20]" if "SPAN" in changes
                 else [64], "Default": 64}],
            "Conditions": []},
        "KernelSpecification": {
            "Language": "OpenCL", "KernelName": "scale", "KernelFile": "scale.cl",
            "CompilerOptions": ["-cl-mad-enable", "-DOPTION=2"],
            "GlobalSizeType": "OpenCL", "LocalSize": {"X": "SPAN"}, "GlobalSize": {"X": "N"},
            "Arguments": [
                {"Name": "x", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random",
                 "Size": "N"},
                {"Name": "y", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": "N"},
                {"Name": "factor", "Type": "float", "MemoryType": "Scalar", "FillType": "Constant", "FillValue": 2.5},
                {"Name": "held", "Type": "float", "MemoryType": "Local", "Size": "SPAN"}]},
        "tcbtune": {"Problem": {"N": 4096}, "ProblemConditions": ["N % 256 == 0"], "Operations": "N",
                    "Reference": {"Language": "C", "KernelFile": "plain.c", "KernelName": "scale_plain"}}}
    changes.pop("SPAN", None)
    for where, value in changes.items():
        *path, key = where.split("__")
        place = document
        for part in path:
            place = place[int(part) if part.isdigit() else part]
        place[key] = value
    (cli.scratch / name).write_text(json.dumps(document))
    return cli.scratch / name


def space():
    kernel = write("space.json", SPAN=1)
    lines = cli.run("space", "--kernel", kernel, "--device", "opencl:0").stdout.splitlines()
    cli.check(len(lines) == 14 and not any("span=1048576" in line for line in lines), lines)
    said = cli.run("space", "--kernel", kernel, "--device", "opencl:0", "--explain",
                   lines[0].replace("span=64", "span=1048576"), expect=None)
    cli.check("more than the device has along x" in said.stdout + said.stderr, said)
    wide = write("wide.json", KernelSpecification__Arguments__3__Size="1 << 28")
    said = cli.run("space", "--kernel", wide, "--device", "opencl:0", "--explain",
                   lines[0].split(",span")[0], expect=None)
    cli.check(re.search(r"1073741824 bytes of shared memory, but \S+ has \d+", said.stdout + said.stderr), said)


def swept():
    kernel, db = write(), cli.scratch / "own.db"
    cli.run("sweep", "--kernel", kernel, "--device", "opencl:0", "--strategy", "exhaustive", "--timeout", "2s",
            "--rotation", "2M", "--finalists", "1", "--counters", "none", "--effort", "quick", "--budget", "none", "--db", db)
    trials = dict(sqlite3.connect(db).execute("SELECT geometry, outcome FROM trial"))
    kinds = {int(re.search(r"kind=(\d)", geometry)[1]): outcome for geometry, outcome in trials.items()}
    if kinds.get(5) == "compile_failed":  # where the driver itself counts local memory
        kinds[5] = "launch_failed"
    cli.check(kinds == OUTCOMES, kinds)
    (kind, name, driver), = sqlite3.connect(db).execute("SELECT kind, name, s.driver FROM device JOIN sweep s"
                                                         " ON s.device_id = device.id")
    cli.check(kind == "opencl" and name.startswith("opencl-") and driver, (kind, name, driver))
    (number, message), = sqlite3.connect(db).execute("SELECT id, message FROM trial WHERE outcome = 'compile_failed'")
    cli.check(":13:" in message and "undeclared" in message, message)
    cli.check("undeclared" in cli.run("trial", number, "--db", db).stdout, message)
    (message,), = sqlite3.connect(db).execute("SELECT message FROM trial WHERE geometry LIKE '%kind=4%'")
    cli.check("wrote outside of y" in message, message)
    (outcome, message), = sqlite3.connect(db).execute("SELECT outcome, message FROM trial WHERE geometry LIKE '%kind=5%'")
    cli.check(outcome == "compile_failed" or "bytes of local memory, but the device has" in message, message)
    rows = cli.json("report", "--kernel", kernel, "--db", db, schema="report")["best"]
    cli.check({row["state"] for row in rows} == {"cold", "hot"}, rows)
    cli.check(all("kind=0" in row["geometry"] and row["device"]["name"] == name for row in rows), rows)
    found = cli.json("lookup", "--kernel", kernel, "--device", "opencl:0", "--db", db, schema="lookup")
    cli.check("kind=0" in found["geometry"] and found["source"] == "exact", found)
    said = cli.run("bench", "--kernel", kernel, "--device", "opencl:0", "--budget", "1s", "--rotation", "2M", "--db", db)
    cli.check("kind=0" in said.stdout, said.stdout)
    (cli.scratch / "scale.cl").write_text(SOURCE + "\n")
    said = cli.run("report", "--kernel", kernel, "--db", db)
    cli.check("stale" in said.stdout + said.stderr, said.stdout + said.stderr)
    (cli.scratch / "scale.cl").write_text(SOURCE)
    cli.sound(db)


def refused():
    for part, changes in (
            ("none.cl cannot be read", {"KernelSpecification__KernelFile": "none.cl"}),
            ("GlobalSizeType is Metal", {"KernelSpecification__GlobalSizeType": "Metal"}),
            ("Vector, Scalar and Local are known", {"KernelSpecification__Arguments__3__MemoryType": "Symbol"}),
            ("only OpenCL C has arguments that are Local", {"KernelSpecification__Language": "PTX"}),
            ("a scalar of several values", {"KernelSpecification__Arguments__2__Type": "float4"}),
            ("the KernelName", {"KernelSpecification__KernelName": "scale<4>"})):
        said = cli.run("space", "--kernel", write("refused.json", **changes), "--device", "opencl:0", expect=None)
        cli.check(said.returncode and part in said.stderr and said.stderr.count("\n") <= 2, (part, said.stderr))
    for part, changes in (
            ("takes 4 arguments; 5 are listed", {"KernelSpecification__Arguments": 5}),
            ("kernel shrink: the source has no such kernel", {"KernelSpecification__KernelName": "shrink"}),
            ("compiling it:", {"KernelSpecification__CompilerOptions": ["-no-such-option"]})):
        kernel = write("refused.json", **changes)
        document = json.loads(kernel.read_text())
        if changes.get("KernelSpecification__Arguments") == 5:
            document["KernelSpecification"]["Arguments"] = json.loads(write().read_text())["KernelSpecification"][
                "Arguments"]
            document["KernelSpecification"]["Arguments"].append(document["KernelSpecification"]["Arguments"][2])
            kernel.write_text(json.dumps(document).replace("scale_plain", "scale_more"))
        db = cli.scratch / "refused.db"
        cli.run("sweep", "--kernel", kernel, "--device", "opencl:0", "--max-trials", "1", "--rotation", "2M",
                "--budget", "20s", "--db", db, expect=None)
        messages = [row[0] for row in sqlite3.connect(db).execute("SELECT message FROM trial")]
        cli.check(any(part in message for message in messages), (part, messages))
    for device, part in (("opencl:99", "opencl:99 is not there"), ("opencl:x", "opencl:0, opencl:1"),
                         ("opencl-amd:0123456789abcdef", "is not there")):
        said = cli.run("space", "--kernel", write(), "--device", device, expect=None)
        cli.check(said.returncode and part in said.stderr, (device, said.stderr))
    said = cli.run("space", "--kernel", write(), "--device", "OpenCL")
    cli.check("is taken as opencl:0" in said.stderr, said.stderr)
    said = cli.run("space", "--op", "softmax", "--device", "opencl:0", expect=None)
    cli.check(said.returncode and "op softmax has no opencl kernels" in said.stderr and said.stderr.count("\n") == 1,
              said.stderr)


def restore():
    """The library that these tests were given."""
    for name in ("TCBTUNE_OPENCL", "OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"):
        cli.env.pop(name, None)
        if name in os.environ:
            cli.env[name] = os.environ[name]


def drivers_are_opened_themselves():
    """Without a loader: a driver has its functions in a table alone."""
    named = [path.read_text().split() for path in sorted(pathlib.Path("/etc/OpenCL/vendors").glob("*.icd"))]
    for library in (words[0] for words in named if words):
        cli.env["TCBTUNE_OPENCL"] = library
        rows = cli.json("devices", schema="devices", expect=None)["devices"]
        cli.check(any(row["name"] == "opencl:0" for row in rows), (library, rows))
    restore()


def what_is_missing():
    """No loader, a loader without drivers, a library that is neither."""
    rows = [("/none/libOpenCL.so", "no OpenCL: /none/libOpenCL.so", "missing"),
            ("libm.so.6", "neither OpenCL's loader nor a driver", "missing")]
    try:
        ctypes.CDLL("libOpenCL.so.1")
        rows.append(("libOpenCL.so.1", "it has no platform", "limited"))
    except OSError:
        print("no loader here: none was asked without drivers")
    for library, part, doctor in rows:
        cli.env.update(TCBTUNE_OPENCL=library, OCL_ICD_VENDORS="/none", OPENCL_VENDOR_PATH="/none")
        said = cli.run("space", "--kernel", write(), "--device", "opencl:0", expect=None)
        cli.check(said.returncode and part in said.stderr and said.stderr.count("\n") == 1, said.stderr)
        found = cli.json("doctor", schema="doctor", expect=None)["rows"]
        row, = [row for row in found if row["what"] == "OpenCL"]
        cli.check(row["state"] == doctor and "install" in row["advice"], row)
    restore()


cli = Cli()
cli.env["POCL_CACHE_DIR"] = str(cli.scratch / "pocl")
(cli.scratch / "scale.cl").write_text(SOURCE)
(cli.scratch / "half.h").write_text("#define TWICE_HALF(x) (0.5f * OPTION * (x))\n")
(cli.scratch / "plain.c").write_text(PLAIN + PLAIN.replace("scale_plain", "scale_more").replace("factor)",
                                                                                          "factor, float more)"))
what_is_missing()
SAID = cli.run("space", "--kernel", write(), "--device", "opencl:0", expect=None)
if "install" in SAID.stderr:
    print(f"skipped: {SAID.stderr}")
    sys.exit(77)
drivers_are_opened_themselves()
space()
swept()
refused()
cli.done()
