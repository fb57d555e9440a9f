# SPDX-License-Identifier: MIT
"""A sweep on a WebGPU device, in software where there is no other: swept, verified, stored, reported, looked up, run
and exported as on any device; and what is said where something is missing."""
import sqlite3
import sys

from cli_support import Cli

PROBLEM = ("--op", "reduce2d_sum", "--shape", "37x512", "--device", "wgpu:0")


def swept(cli, path):
    cli.run("sweep", *PROBLEM, "--budget", "none", "--max-trials", "6", "--rotation", "2M", "--seed", "1", "--db", path)
    db = sqlite3.connect(path)
    (kind, name, arch), = db.execute("SELECT kind, name, arch FROM device").fetchall()
    cli.check(kind == "wgpu" and name == arch and name.startswith("wgpu-"), (kind, name, arch))
    trials = db.execute("SELECT outcome, message, variant FROM trial").fetchall()
    cli.check(len(trials) >= 6 and all(trial == ("ok", "", "reduce2d_sum_f32_wgsl") for trial in trials), trials)
    db.close()
    cli.sound(path)
    rows = cli.json("report", "--db", path, schema="report")["best"]
    cli.check({row["state"] for row in rows} == {"cold", "hot"}, rows)
    for row in rows:
        found = cli.json("lookup", *PROBLEM, "--state", row["state"], "--db", path, schema="lookup")
        cli.check(found["source"] in ("exact", "default"), found)
        if found["source"] == "exact":
            cli.check(found["geometry"] == row["geometry"], found)
    again = cli.run("sweep", *PROBLEM, "--budget", "none", "--max-trials", "1", "--rotation", "2M", "--db", path)
    cli.check("7 of " in again.stderr or "6 known" in again.stderr, again.stderr)
    exported = cli.scratch / "webgpu.json"
    cli.run("db", "export", "--json", "--db", path, "--out", exported)
    cli.run("db", "import", exported, "--db", cli.scratch / "other.db")
    return name


def measured(cli, path):
    bench = cli.json("bench", *PROBLEM, "--budget", "2s", "--rotation", "2M", "--db", path, schema="bench")
    cli.check(bench["device"].startswith("wgpu"), bench["device"])


def refused(cli):
    no_kernels = cli.run("sweep", "--op", "q4k_rmsnorm_matvec", "--device", "wgpu:0", expect=None)
    cli.check("q4k_rmsnorm_matvec" in no_kernels.stderr and no_kernels.returncode, no_kernels.stderr)
    absent = cli.run("bench", "--op", "reduce2d_sum", "--shape", "37x512", "--device", "wgpu:portable", expect=None)
    cli.check("wgpu:portable is what every WebGPU device has: nothing runs on it" in absent.stderr, absent.stderr)
    many = cli.run("sweep", "--op", "reduce2d_sum", "--device", "wgpu:99", expect=None)
    cli.check("wgpu:99 is not there" in many.stderr, many.stderr)
    portable = cli.json("lookup", "--op", "reduce2d_max", "--shape", "5000x6007", "--device", "wgpu:portable", "--db",
                        cli.scratch / "none.db", schema="lookup")
    cli.check(portable["source"] == "default" and "isa=wgsl" in portable["geometry"], portable)
    cli.env["TCBTUNE_WGPU"] = str(cli.scratch)
    missing = cli.run("sweep", *PROBLEM, expect=None)
    cli.check("no wgpu-native" in missing.stderr and "scripts/fetch-wgpu.sh" in missing.stderr, missing.stderr)
    doctor = cli.run("doctor", expect=None).stdout
    cli.check("no wgpu-native" in doctor, doctor)


def main():
    cli = Cli()
    there = cli.run("space", *PROBLEM, "--count", expect=None)
    if there.returncode:
        print("SKIPPED: " + there.stderr.strip().removeprefix("tcbtune: "))
        sys.exit(77)
    cli.check(int(there.stdout) > 100, there.stdout)
    path = cli.scratch / "webgpu.db"
    swept(cli, path)
    measured(cli, path)
    refused(cli)
    cli.done()


main()
