# SPDX-License-Identifier: MIT
"""Energy as an objective, metered by a RAPL of the test's own: files below a folder, whose counter runs at a power that
is known.  Without a meter one line says so, and nothing is measured."""
import json
import pathlib
import tempfile
import threading
import time

from cli_support import SMALL, Cli

WATTS = 50
SOURCE = """
void wait_for(const float *x, float *y)
{
    volatile float sum = 0;
    for (int i = 0; i < 4000 * PASSES; i++)
        sum += x[i % N];
    for (int i = 0; i < N; i++)
        y[i] = x[i];
}
"""
KERNEL = {"ConfigurationSpace": {"TuningParameters": [{"Name": "PASSES", "Values": "[1, 2]", "Default": 2}]},
          "KernelSpecification": {"Language": "C", "KernelName": "wait_for", "KernelFile": "wait.c", "Arguments": [
              {"Name": "x", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random",
               "Size": "N"},
              {"Name": "y", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": "N"}]},
          "tcbtune": {"Problem": {"N": 64}, "Operations": "N"}}


class Powercap:
    """Two packages at WATTS / 2 each, one of which wraps, with a core of it that is not to be counted again."""

    def __init__(self, folder):
        self.zones = {"intel-rapl:0": ("package-0", 10 ** 12), "intel-rapl:1": ("package-1", 3 * 10 ** 6),
                      "intel-rapl:0:0": ("core", 10 ** 12)}
        self.folder, self.over = folder, threading.Event()
        for zone, (name, wraps) in self.zones.items():
            (folder / zone).mkdir(parents=True)
            (folder / zone / "name").write_text(name + "\n")
            (folder / zone / "max_energy_range_uj").write_text(f"{wraps}\n")
        self.tick()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def tick(self):
        for zone, (_, wraps) in self.zones.items():
            new = self.folder / zone / "new"
            new.write_text(f"{int(1e6 * WATTS / 2 * time.monotonic()) % wraps}\n")
            new.rename(self.folder / zone / "energy_uj")

    def run(self):
        while not self.over.wait(0.002):
            self.tick()

    def end(self):
        self.over.set()
        self.thread.join()


def refused(cli, folder):
    db = cli.scratch / "refused.db"
    for objective in ("energy", "edp"):
        result = cli.run("sweep", *SMALL, "--objective", objective, "--db", db, expect=2)
        cli.check("energy cannot be measured" in result.stderr and len(result.stderr.splitlines()) == 1, result.stderr)
    cli.run("sweep", "--op", "softmax", "--device", "sm_90", "--objective", "energy", "--db", db, expect=2)
    cli.run("sweep", *SMALL, "--effort", "estimate", "--objective", "energy", "--db", db, expect=2)
    cli.run("sweep", *SMALL, "--objective", "joules", "--db", db, expect=2)
    zone = folder / "intel-rapl:0"
    zone.mkdir(parents=True)
    (zone / "name").write_text("package-0\n")
    result = cli.run("sweep", *SMALL, "--objective", "energy", "--db", db, expect=2)
    cli.check("energy_uj cannot be read" in result.stderr, result.stderr)
    (zone / "name").unlink()
    zone.rmdir()


def metered(cli):
    """A configuration that takes half the time takes half the energy, and what its power times its time is."""
    db, kernel = cli.scratch / "energy.db", cli.scratch / "wait.json"
    kernel.write_text(json.dumps(KERNEL))
    (cli.scratch / "wait.c").write_text(SOURCE)
    found = cli.json("sweep", "--kernel", kernel, "--threads", 1, "--rotation", "8M", "--budget", "8s", "--objective",
                     "energy", "--db", db, schema="sweep")["sweeps"][0]
    cli.check([row["objective"] for row in found["best"]] == ["energy"] * 2, f"{found['best']}")
    for row in cli.json("report", "--kernel", kernel, "--db", db, schema="report")["best"]:
        energy = row["energy"]
        cli.check(energy["source"] == "rapl" and 0.001 < energy["step_s"] < 0.2, f"{energy}")
        cli.check(len(energy["candidates"]) == 2, f"{energy}")
        for one in energy["candidates"]:
            watts = one["joules"] / one["ns"] * 1e9
            cli.check(0.9 * WATTS < watts < 1.1 * WATTS, f"{watts} W: {one}")
            cli.check(one["joules_least"] <= one["joules"] <= one["joules_most"], f"{one}")
        fast, slow = energy["candidates"]
        cli.check(fast["front"] and not slow["front"] and "passes_=1" in fast["geometry"], f"{energy}")
        cli.check(row["geometry"] == fast["geometry"] and row["joules"] == fast["joules"], f"{row}")
        cli.check(row["default_joules"] == slow["joules"], f"{row}")
        ratio = slow["joules"] / fast["joules"]
        cli.check(abs(row["speedup"]["median"] / ratio - 1) < 1e-9 and row["speedup"]["lo"] <= ratio, f"{row}")
    text = " ".join(cli.run("report", "--kernel", kernel, "--db", db).stdout.split())
    cli.check("by the least energy" in text, text)
    cli.check("energy per call of wait_for" in text and "the default: " in text and "rapl" in text, text)
    page = cli.run("report", "--kernel", kernel, "--db", db, "--format", "html").stdout
    cli.check("Time and energy" in page and "millijoules per call" in page, "the page")
    moved = cli.scratch / "moved.json"
    cli.run("db", "export", "--kernel", kernel, "--format", "json", "--db", db, "--out", moved)
    cli.check({w["best"]["objective"] for w in json.loads(moved.read_text())["winners"]} == {"energy"}, "the export")
    cli.sound(db)


def main():
    cli = Cli()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        folder = pathlib.Path(scratch) / "powercap"
        cli.env["TCBTUNE_POWERCAP"] = str(folder)
        refused(cli, folder)
        powercap = Powercap(folder)
        try:
            metered(cli)
        finally:
            powercap.end()
    cli.done()


main()
