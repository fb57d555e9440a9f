# SPDX-License-Identifier: MIT
"""A sweep goes on where it was, never measures what it knows, stops cleanly, and shares its file with another."""
import json
import pathlib
import signal
import subprocess
import sys
import time

from cli_support import SMALL, Cli

SYNTHETIC = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "synthetic-gguf.py"


def one(document):
    return document["sweeps"][0]


def resume(cli, db):
    first = one(cli.json("sweep", *SMALL, "--db", db, "--max-trials", 5, "--budget", "5s", schema="sweep"))
    cli.check(first["known"] == 0 and 1 <= first["tried"] <= 5, f"first sweep: {first['known']}, {first['tried']}")
    cli.check(not first["complete"], "five trials completed the space")
    again = cli.run("sweep", *SMALL, "--db", db, "--max-trials", 5, "--budget", "5s", "--json")
    second = one(json.loads(again.stdout))
    cli.check(second["known"] == first["tried"], f"{second['known']} known after {first['tried']} tried")
    cli.check(1 <= second["tried"] <= 5, f"second sweep tried {second['tried']}")
    said = cli.run("sweep", *SMALL, "--db", db, "--max-trials", 1, "--budget", "5s").stderr
    cli.check(f"{first['tried'] + second['tried']} candidates are known" in said, said)
    cli.sound(db)
    known = first["tried"] + second["tried"]
    for row in cli.json("report", "--db", db, schema="report")["best"]:
        # A winner that is known better than what a disturbed sweep found stays, with the count that it was decided with.
        stays = f"{row['state']}: noisy, so the winner" in again.stderr + said
        counts = {first["tried"], known, known + 1} if stays else {known + 1}
        cli.check(row["tried"] in counts, f"the report counts {row['tried']}, not one of {counts}\n{said}")


def fresh(cli, db):
    document = one(cli.json("sweep", *SMALL, "--db", db, "--max-trials", 2, "--budget", "5s", "--fresh", schema="sweep"))
    cli.check(document["known"] == 0, "--fresh took known trials over")


def completion(cli):
    """A space that is small enough to finish: then only the finals are repeated."""
    db = cli.scratch / "complete.db"
    space = ["--op", "q4k_matvec", "--shape", "1x1x256", "--rotation", "8M", "--threads", "1", "--device", "cpu:scalar",
             "--contract", "f32", "--budget", "40s"]
    first = one(cli.json("sweep", *space, "--db", db, schema="sweep"))
    cli.check(first["complete"] and first["tried"] == first["space_count"],
              f"tried {first['tried']} of {first['space_count']}")
    result = cli.run("sweep", *space, "--db", db)
    cli.check(f"all {first['space_count']} candidates are known; the finals were repeated" in result.stderr,
              result.stderr)
    cli.check("VERDICT" in result.stdout, "no table of winners")


def interruption(cli, number, db):
    process = cli.start("sweep", *SMALL, "--db", db, "--budget", "60s")
    limit = time.monotonic() + 60
    while time.monotonic() < limit and (not db.exists() or cli.run("db", "info", "--db", db, expect=None).returncode or
                                        cli.trials(db) < 3):
        time.sleep(0.05)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    cli.check(process.returncode == 130, f"{signal.Signals(number).name}: exit status {process.returncode}\n{stderr}")
    cli.check("the same command goes on from there" in stderr and str(db) in stderr, stderr)
    stored = cli.trials(db)
    cli.check(stored >= 3, f"{stored} trials are stored")
    cli.sound(db)
    after = one(cli.json("sweep", *SMALL, "--db", db, "--max-trials", 1, "--budget", "5s", schema="sweep"))
    cli.check(after["known"] >= 3, f"{after['known']} known after the interruption")


def two_at_once(cli):
    db = cli.scratch / "shared.db"
    sweeps = [cli.start("sweep", *SMALL, "--db", db, "--max-trials", 6, "--budget", "8s", "--seed", seed) for seed in (1, 2)]
    for process in sweeps:
        _, stderr = process.communicate(timeout=100)
        cli.check(process.returncode == 0, f"exit status {process.returncode}\n{stderr}")
    info = cli.json("db", "info", "--db", db, schema="db-info")
    cli.check(info["sweeps"] == 2 and info["sweeps_running"] == 0, f"{info}")
    cli.check(info["trials"] >= 12, f"{info['trials']} trials of two sweeps of six")
    cli.sound(db)


def whole_model(cli, db):
    """Ctrl-C in the second of many problems: the first is tuned, and the same command goes on with the others."""
    path = cli.scratch / "model.gguf"
    subprocess.run([sys.executable, SYNTHETIC, path, "--layers", "1", "--hidden", "256", "--heads", "4", "--kv-heads", "2",
                    "--ffn", "768", "--vocab", "512"], check=True, capture_output=True)
    model = ["model", path, "--contract", "q8", "--tokens", "1", "--rotation", "8M", "--threads", "1", "--device", "cpu:scalar", "--db", db]
    process = cli.start(*model, "--budget", "none")
    for line in process.stderr:
        if " candidates tried, " in line:
            break
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=100)
    cli.check(process.returncode == 130, f"exit status {process.returncode}\n{stderr}")
    cli.check("the same command goes on from there" in stderr and "decode" in stdout, stderr + stdout)
    plan = cli.json(*model, "--plan", schema="model")
    tuned = [p for p in plan["problems"] if p["known"] == "tuned"]
    cli.check(0 < len(tuned) < len(plan["problems"]), f"{len(tuned)} problems are tuned after an interruption")
    said = cli.run(*model, "--budget", "0.5s").stderr  # is spent at once
    left = len(plan["problems"]) - len(tuned)
    cli.check(f"{left} of {left} problems are left" in said, said)
    cli.sound(db)


def under_nohup(cli, db):
    """A sweep that is to outlive its terminal is not ended by the end of it."""
    process = cli.start("sweep", *SMALL, "--db", db, "--budget", "60s", "--max-trials", 3,
                        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    for line in process.stderr:  # it has begun
        process.send_signal(signal.SIGHUP)
        break
    process.communicate(timeout=100)
    cli.check(process.returncode == 0, f"SIGHUP ended what nohup had started: {process.returncode}")


def main():
    cli = Cli()
    db = cli.scratch / "resume.db"
    resume(cli, db)
    fresh(cli, db)
    interruption(cli, signal.SIGINT, cli.scratch / "int.db")
    interruption(cli, signal.SIGTERM, cli.scratch / "term.db")
    interruption(cli, signal.SIGHUP, cli.scratch / "hup.db")
    under_nohup(cli, cli.scratch / "nohup.db")
    two_at_once(cli)
    completion(cli)
    whole_model(cli, cli.scratch / "model.db")
    cli.done()


if __name__ == "__main__":
    main()
