# SPDX-License-Identifier: MIT
"""A sweep on a WebGPU device, in software where there is no other: swept, verified, stored, reported, looked up, run
and exported as on any device; and what is said where something is missing."""
import sqlite3
import subprocess
import sys

from cli_support import Cli

PROBLEM = ("--op", "reduce2d_sum", "--shape", "37x512", "--device", "wgpu:0")
QUICK = ("--budget", "none", "--rotation", "2M", "--effort", "quick", "--finalists", "1")


def swept(cli, path):
    cli.run("sweep", *PROBLEM, *QUICK, "--max-trials", "6", "--seed", "1", "--db", path)
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
    again = cli.run("sweep", *PROBLEM, *QUICK, "--max-trials", "1", "--db", path)
    cli.check("7 of " in again.stderr or "6 known" in again.stderr, again.stderr)
    exported = cli.scratch / "webgpu.json"
    cli.run("db", "export", "--json", "--db", path, "--out", exported)
    cli.run("db", "import", exported, "--db", cli.scratch / "other.db")
    return name


READER = """#include <stdio.h>
#include "geometries.h"
int main(void)
{
	char text[1024];
	const struct tcbtune_problem p = { "reduce2d_sum", "f32", "ARCH", "cold", 0, 37, 512, 0 };
	const char *geometry = tcbtune_geometry(&p, text, sizeof text);
	size_t tile[3];
	if (!geometry || !tcbtune_tile(geometry, "midi", tile) || tcbtune_tile(geometry, "none", tile))
		return 1;
	printf("%s midi=%zux%zux%zu workgroup=%ld unroll=%ld tree=%ld %.4s %d\\n", geometry, tile[0], tile[1], tile[2],
	       tcbtune_number(geometry, "workgroup"), tcbtune_number(geometry, "unroll"), tcbtune_number(geometry, "tree"),
	       tcbtune_value(geometry, "isa"), tcbtune_value(geometry, "roll") == NULL);
	return 0;
}
"""


def exported_as_header(cli, path, name):
    """What an engine compiles in: the winner's words, by the maker of the adapter."""
    cli.run("db", "export", "--format", "c-header", "--op", "reduce2d_sum", "--db", path, "--out",
            cli.scratch / "geometries.h")
    (cli.scratch / "reader.c").write_text(READER.replace("ARCH", name))
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "reader.c", "-o", "reader"],
                   cwd=cli.scratch, check=True)
    read = subprocess.run([cli.scratch / "reader"], capture_output=True, text=True)
    geometry, *words = read.stdout.split()
    of = dict(word.split("=") for word in geometry.split(","))
    wanted = [f"midi={of['midi']}", f"workgroup={of['workgroup']}", f"unroll={of['unroll']}", "tree=-1", of["isa"], "1"]
    cli.check(read.returncode == 0 and words == wanted, (read.stdout, wanted))
    found = cli.json("lookup", *PROBLEM, "--db", path, schema="lookup")
    cli.check(found["geometry"] == geometry, (found["geometry"], geometry))


def measured(cli, path):
    bench = cli.json("bench", *PROBLEM, "--budget", "15s", "--rotation", "2M", "--db", path, schema="bench")
    cli.check(bench["device"].startswith("wgpu"), bench["device"])
    for row in bench["results"]:
        cli.check(row["independent_ns"] and row["independent_ns"]["median"] > 0, row)


def trusted(cli, path):
    """Results of programs that trust their kernels are kept apart from those of pages."""
    problem = PROBLEM[:-1] + ("wgpu:0:trusted",)
    before = cli.json("report", "--db", path, schema="report")["best"]
    found = cli.json("lookup", *problem, "--db", path, schema="lookup")
    cli.check(found["source"] == "default", found)
    cli.run("sweep", *problem, *QUICK, "--max-trials", "2", "--seed", "1", "--db", path)
    db = sqlite3.connect(path)
    devices = dict(db.execute("SELECT name, key FROM device").fetchall())
    db.close()
    group = next(name for name in devices if not name.endswith("-trusted"))
    cli.check(set(devices) == {group, group + "-trusted"} and len(set(devices.values())) == 2, devices)
    after = cli.json("report", "--db", path, schema="report")["best"]
    cli.check([row for row in after if row["device"] == before[0]["device"]] == before, (before, after))
    cli.check(len(after) == 2 * len(before), after)
    listed = cli.run("devices").stdout
    cli.check("wgpu:0:trusted is without" in listed, listed)
    kernel = cli.json("wgsl", *problem, "--check", "--db", path, schema="wgsl")
    cli.check(kernel["trusted"] is True and kernel["device"] == group + "-trusted", kernel)
    cli.check("// trusted: " in cli.run("wgsl", *problem, "--db", path).stdout, "the head of a trusted kernel")
    cli.check(cli.json("wgsl", *PROBLEM, "--db", path, schema="wgsl")["trusted"] is False, "a page's kernel")
    cli.run("sweep", *PROBLEM[:-1], "wgpu:portable:trusted", expect=2)


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
    name = swept(cli, path)
    exported_as_header(cli, path, name)
    measured(cli, path)
    trusted(cli, path)
    refused(cli)
    cli.done()


main()
