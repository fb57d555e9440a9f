# SPDX-License-Identifier: MIT
"""The steps of examples/ci/speed-gate.yml, run here as a runner would, on a problem that is swept in moments: without a
baseline, with one, and with one that says that the kernels were a hundred times as fast."""
import pathlib
import shutil
import sqlite3
import subprocess
import sys

from cli_support import SMALL, Cli, fail

WORKFLOW = pathlib.Path(__file__).resolve().parents[2] / "examples" / "ci" / "speed-gate.yml"


def run(cli, steps, name, expect=0):
    """As a runner does: a script of its own for each step, by bash -e."""
    step = next((s for s in steps if s.get("name") == name), None)
    if not step:
        fail(f"the workflow has no step '{name}'")
    result = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=cli.scratch,
                            env=cli.env, capture_output=True, text=True, timeout=100)
    cli.check(result.returncode == expect, f"{name}: exit {result.returncode}, expected {expect}\n{result.stdout}"
              f"{result.stderr}")
    return result.stdout + result.stderr


def once_faster(db):
    """The stored times of DB are a hundredth."""
    with sqlite3.connect(db) as sql:
        sql.execute("update best set median_ns = median_ns / 100, lo_ns = lo_ns / 100, hi_ns = hi_ns / 100")


def main():
    try:
        import yaml
    except ImportError:
        print("skipped: there is no Python module yaml")
        sys.exit(77)
    cli = Cli()
    job = yaml.safe_load(WORKFLOW.read_text())["jobs"]["gate"]
    steps = job["steps"]
    options = dict(zip(SMALL[::2], SMALL[1::2]))
    cli.env |= job["env"]
    cli.env |= {"PROBLEMS": f"{options['--op']}:{options['--shape']}", "BUDGET": "1s", "ROUNDS": "2",
                "SWEEP": "--threads 1 --counters none --rotation 8M --max-trials 4", "FAIL_OVER": "1000%",
                "GITHUB_STEP_SUMMARY": str(cli.scratch / "summary.md")}
    summary = cli.scratch / "summary.md"
    shutil.copy(cli.program, cli.scratch / "tcbtune-new")
    names = ["Sweep", "Hold finals in turn", "Compare", "Keep"]
    said = [run(cli, steps, name) for name in names]
    cli.check("main has no database yet" in said[2], said[2])
    cli.check(not summary.exists(), "a summary without a baseline")
    for name in names[:-1]:
        run(cli, steps, name)
    cli.check("| PROBLEM | STATE |" in summary.read_text() and "0 slower" in summary.read_text(), summary.read_text())
    finals = cli.json("history", *SMALL[:4], "--state", "hot", "--db", cli.scratch / "old.db", schema="history")
    cli.check(len(finals["histories"][0]["sweeps"]) == 3, "OLD's finals were not held in turn with NEW's")
    once_faster(cli.scratch / "old.db")
    said = run(cli, steps, "Compare", expect=4)
    cli.check("2 of 2 slower by more than 1e+03 %" in said, said)
    cli.check("2 slower" in summary.read_text(), summary.read_text())
    cli.done()


if __name__ == "__main__":
    main()
