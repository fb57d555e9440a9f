# SPDX-License-Identifier: MIT
"""examples/webgpu.c on a WebGPU device, in software where there is no other: right without a database, and with one that
was swept for its two kernels, which it then runs."""
import os
import re
import subprocess
import sys

from cli_support import Cli

KERNELS = {"q4k_matvec": "1x1000x2048", "softmax": "100x3000"}
# What is said of a shape that was swept; whether the winner is surely faster than the default, the times say.
SWEPT = ("measured at this shape on this device", "provisional: the best so far", "the best entry for ", "is not used: ")


def ran(cli, program, db):
    result = subprocess.run([program, str(db)], env=cli.env, capture_output=True, text=True, timeout=120)
    cli.check(result.returncode == 0, f"{result.returncode}: {result.stdout}{result.stderr}")
    sources = re.findall(r"^  source   \w+ \((.*)\)$", result.stdout, re.M)
    geometries = re.findall(r"^  geometry (\S+)$", result.stdout, re.M)
    times = re.findall(r"^  time     ([0-9.]+) us per call$", result.stdout, re.M)
    cli.check(len(sources) == len(geometries) == len(times) == 2, result.stdout)
    cli.check(all("wgsl" in geometry for geometry in geometries) and all(float(us) > 0 for us in times), result.stdout)
    return sources, geometries


def main():
    cli = Cli()
    program = os.environ["WEBGPU_EXAMPLE"]
    if cli.run("space", "--op", "softmax", "--device", "wgpu:0", "--count", expect=None).returncode:
        print("SKIPPED: there is no WebGPU device here")
        sys.exit(77)
    sources, _ = ran(cli, program, cli.scratch / "none.db")
    cli.check(all(source.startswith("no database") or "no database" in source for source in sources), sources)
    db = cli.scratch / "tuning.db"
    for op, shape in KERNELS.items():
        cli.run("sweep", "--op", op, "--shape", shape, "--device", "wgpu:0", "--budget", "5s", "--rotation", "4M",
                "--db", db)
    sources, geometries = ran(cli, program, db)
    cli.check(all(any(words in source for words in SWEPT) for source in sources), sources)
    for (op, shape), geometry in zip(KERNELS.items(), geometries):
        found = cli.json("lookup", "--op", op, "--shape", shape, "--device", "wgpu:0", "--db", db, schema="lookup")
        cli.check(found["geometry"] == geometry, (found["geometry"], geometry))
    cli.done()


main()
