# SPDX-License-Identifier: MIT
"""examples/slurm from start to end, on the Slurm that scripts/one-machine-slurm.sh has started: four shards, one of
them killed with -9 and run again alone, have the same trials as one sweep; then finals, and the report."""
import os
import pathlib
import re
import subprocess
import time

from cli_support import Cli, fail
from shards_support import kill_at_work, known

SHARDS, LOST = 4, 3
SWEEP = ["--op", "reduce2d_sum", "--shape", "1x256", "--rotation", "8M", "--threads", "1", "--budget", "none",
         "--counters", "none"]
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "slurm"


def submit(cli, folder, *options):
    """The numbers of the two jobs."""
    out = subprocess.run([EXAMPLE / "submit.sh", *options, folder, str(SHARDS), *SWEEP], env=cli.env, text=True,
                         capture_output=True, timeout=30)
    if out.returncode != 0:
        fail(f"submit.sh: {out.stdout}{out.stderr}")
    return re.search(r"shards: job (\d+); finals: job (\d+);", out.stdout).groups()


def wait(cli, job):
    """Until JOB has ended; its exit status."""
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        shown = subprocess.run(["scontrol", "show", "job", job], env=cli.env, text=True, capture_output=True).stdout
        state = re.search(r"JobState=(\w+)", shown)
        if state and state[1] in ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT"):
            return int(re.search(r"ExitCode=(\d+):", shown)[1])
        time.sleep(0.1)
    fail(f"job {job} has not ended:\n{shown}")


def task_process(program, job):
    """The tcbtune that Slurm started for task LOST of JOB, not the processes that it started itself."""
    marks = {f"SLURM_ARRAY_TASK_ID={LOST}".encode(), f"SLURM_ARRAY_JOB_ID={job}".encode()}
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and marks <= set((entry / "environ").read_bytes().split(b"\0")) \
                    and os.readlink(entry / "exe") == program:
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # gone, or another user's
    return next((pid for pid, parent in found.items() if parent not in found), None)


def kill_lost(cli, job, db):
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        pid = task_process(cli.program, job)
        if pid:
            return kill_at_work(pid, db)
        time.sleep(0.01)
    return False


def main():
    cli = Cli()
    cli.env["PATH"] = f"{pathlib.Path(cli.program).parent}:{cli.env['PATH']}"
    folder = cli.scratch / "shards"
    shards, finals = submit(cli, folder)
    cli.check(kill_lost(cli, shards, folder / f"shard-{LOST}.db"), "the shard could not be killed while it ran")
    cli.check(wait(cli, finals) == 1, "finals without a shard are a failure")
    log = (folder / "finals.log").read_text()
    cli.check(re.search(rf"shard {LOST}/{SHARDS} of reduce2d_sum f32 1x256 was not finished: run tcbtune sweep .*"
                        rf"--shard {LOST}/{SHARDS}$", log, re.M), f"the lost shard is not named:\n{log}")
    report = cli.json("report", "--db", folder / "all.db", schema="report")
    cli.check(report["best"] and all(row["provisional"] for row in report["best"]), "winners without finals")

    _, finals = submit(cli, folder, "-a", str(LOST))
    status = wait(cli, finals)
    log = (folder / "finals.log").read_text()
    cli.check(status == 0 and "held the finals among" in log, f"the finals were not held:\n{log}")
    cli.sound(folder / "all.db")
    cli.run("sweep", *SWEEP, "--db", cli.scratch / "one.db")
    alone, merged = known(cli.scratch / "one.db"), known(folder / "all.db")
    cli.check(len(alone) > 20 and merged == alone, f"{len(merged)} trials of shards, {len(alone)} of one sweep; "
              f"they differ by {merged ^ alone}")
    report = cli.json("report", "--db", folder / "all.db", schema="report")
    cli.check(len(report["best"]) == 2 and not any(row["provisional"] for row in report["best"]), "no finals")
    print(f"{len(merged)} candidates in {SHARDS} shards, the same as in one sweep")
    cli.done()


if __name__ == "__main__":
    main()
