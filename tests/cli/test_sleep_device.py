# SPDX-License-Identifier: MIT
"""A kind of device that the program does not have (sleep_device.c) is listed among the others, swept, stored, reported,
looked up, judged and exported as those are, without a line of the program that knows of it."""
import re
import sqlite3

from cli_support import Cli

SWEEP = ("--op", "softmax", "--shape", "64x64", "--device", "sleep:0", "--budget", "none",
         "--counters", "none", "--rotation", "8M")


def time_ns(geometry):
    """As sleep_device.c has it."""
    stages, ahead = (int(re.search(rf"\b{knob}=(\d+)", geometry).group(1)) for knob in ("stages", "prefetch"))
    return 20000 * (4 - stages) + ahead


def main():
    cli = Cli()
    path = cli.scratch / "sleep.db"
    refused = cli.run("space", "--op", "softmax", "--device", "sleep:1", expect=2).stderr
    cli.check("sleep:0" in refused, refused)
    told = [row for row in cli.json("devices", schema="devices")["devices"] if row["kind"] == "sleep"]
    cli.check([(row["name"], row["model"], row["line_bytes"]) for row in told] == [("sleep:0", "A bed", 64)], told)
    shown = cli.run("devices").stdout
    cli.check("\nsleep:0: A bed\n" in shown and "  devices      sleep:0\n" in shown, shown)
    beds = [row for row in cli.json("doctor", schema="doctor")["rows"] if row["what"] == "bed"]
    cli.check([(row["state"], row["found"]) for row in beds] == [("ok", "made")], beds)
    completed = cli.run("completion", "fish").stdout
    cli.check(" sleep:0'" in completed, "shells do not complete it")
    cli.run("sweep", *SWEEP, "--db", path)
    db = sqlite3.connect(path)
    stored, = db.execute("SELECT kind, name, arch, limits FROM device").fetchall()
    cli.check(stored == ("sleep", "sleep:0", "sleeper", '{"line_bytes":64}'), stored)
    tried = {geometry for geometry, in db.execute("SELECT geometry FROM trial WHERE outcome = 'ok'")}
    db.close()
    cli.run("db", "check", "--db", path)
    rows = cli.json("report", "--db", path, schema="report")["best"]
    cli.check(len(rows) == 2, f"{len(rows)} rows")
    for row in rows:
        least = min(map(time_ns, tried))
        cli.check(time_ns(row["geometry"]) == least == row["ns"]["median"], f"{row['geometry']} of {least} ns")
        cli.check(row["device"]["name"] == "sleep:0" and row["verdict"] == "tuned", row)
    said = cli.run("report", "--db", path, "--counters").stdout
    cli.check("hardware counters: devices of the kind sleep have none" in said, said)
    found = cli.json("lookup", "--op", "softmax", "--shape", "64x64", "--device", "sleep:0", "--threads", "1", "--db",
                     path, schema="lookup")
    cli.check(found["source"] == "exact" and found["geometry"] == rows[0]["geometry"], found)
    exported = cli.scratch / "sleep.json"
    cli.run("db", "export", "--json", "--db", path, "--out", exported)
    cli.run("db", "import", exported, "--db", cli.scratch / "other.db")
    cli.done()


main()
