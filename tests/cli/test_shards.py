# SPDX-License-Identifier: MIT
"""Shards at random: four of them, killed with -9 and run again, merged in random subsets and orders, have the same
trials as one sweep and the same winners as merged in any other order.  And the Kubernetes example is what it should
be, and does the same when its commands are run here."""
import os
import random
import shutil
import subprocess
import time

from cli_support import Cli
from shards_support import kill_at_work, known, winners

SHARDS = 4
SWEEP = ["--op", "reduce2d_sum", "--shape", "1x256", "--rotation", "8M", "--threads", "1", "--counters", "none"]


def sweep_shards(cli, chance):
    """Every shard, killed once or not, and run again until it is complete; copies from before are merged too."""
    files, kills = [], 0
    for shard in chance.sample(range(1, SHARDS + 1), SHARDS):
        db = cli.scratch / f"shard{shard}.db"
        arguments = ["sweep", *SWEEP, "--budget", "none", "--seed", shard, "--shard", f"{shard}/{SHARDS}", "--db", db]
        if chance.random() < 0.7:
            process = cli.start(*arguments)
            kills += kill_at_work(process.pid, db)
            process.communicate(timeout=60)
            if chance.random() < 0.5:
                files.append(cli.scratch / f"early{shard}.db")
                for ending in ("", "-wal"):
                    if (cli.scratch / f"shard{shard}.db{ending}").exists():
                        shutil.copy(f"{db}{ending}", f"{files[-1]}{ending}")
        cli.run(*arguments)
        files.append(db)
    return files, kills


def merge_at_random(cli, chance, files, out):
    """Random subsets in random orders until each was merged."""
    left = set(files)
    while left:
        some = chance.sample(files, chance.randint(1, len(files)))
        cli.run("db", "merge", *some, "--db", out)
        left -= set(some)
    cli.sound(out)


def test_random(cli, chance):
    files, kills = sweep_shards(cli, chance)
    outs = [cli.scratch / f"all{i}.db" for i in range(4)]
    for out in outs:
        merge_at_random(cli, chance, files, out)
    for out in outs[1:]:
        cli.check(winners(out) == winners(outs[0]), f"winners depend on the order:\n{winners(out)}\n{winners(outs[0])}")
    cli.run("sweep", *SWEEP, "--budget", "none", "--db", cli.scratch / "one.db")
    alone = known(cli.scratch / "one.db")
    for out in outs:
        cli.check(known(out) == alone, f"{out}: differs from one sweep by {known(out) ^ alone}")
    cli.run("sweep", *SWEEP, "--finals-only", "--budget", "5s", "--db", outs[0])
    cli.check(not any(row[5] for row in winners(outs[0])), "the finals left a provisional winner")
    settled = winners(outs[0])
    merge_at_random(cli, chance, files, outs[0])
    cli.check(winners(outs[0]) == settled, "what the finals settled was changed by merging the shards again")
    print(f"{len(alone)} candidates, {kills} kills, {len(files)} files merged in {len(outs)} orders")


def container(document):
    return document["spec"]["template"]["spec"]["containers"][0]


def test_kubernetes(cli, yaml):
    folder = cli.fixtures.resolve().parents[1] / "examples" / "kubernetes"
    claim, shards = yaml.safe_load_all((folder / "shards.yaml").read_text())
    (finals,) = yaml.safe_load_all((folder / "finals.yaml").read_text())
    cli.check(claim["kind"] == "PersistentVolumeClaim" and shards["kind"] == finals["kind"] == "Job", "kinds")
    cli.check(shards["spec"]["completionMode"] == "Indexed" and shards["spec"]["completions"] == SHARDS, "indexed job")
    for job in (shards, finals):
        environment = {e["name"]: e["value"] for e in container(job)["env"]}
        mounts = {m["name"]: m["mountPath"] for m in container(job)["volumeMounts"]}
        claims = {v["name"]: v["persistentVolumeClaim"]["claimName"] for v in job["spec"]["template"]["spec"]["volumes"]}
        cli.check(mounts["data"] == environment["DATA"] and claims["data"] == claim["metadata"]["name"], "volume")
        cli.check(environment["SWEEP"] == container(shards)["env"][1]["value"], "both jobs sweep the same")
    environment = {e["name"]: e["value"] for e in container(shards)["env"]}
    cli.check(environment["JOB_COMPLETIONS"] == str(shards["spec"]["completions"]), "as many shards as pods")

    data = cli.scratch / "data"
    data.mkdir()
    mine = {**cli.env, **environment, "DATA": str(data), "SWEEP": " ".join([*SWEEP, "--budget", "none"]),
            "PATH": f"{os.path.dirname(cli.program)}:{cli.env['PATH']}"}
    for index in range(SHARDS):
        pod = subprocess.run(container(shards)["command"], env={**mine, "JOB_COMPLETION_INDEX": str(index)},
                             capture_output=True, text=True, timeout=60)
        cli.check(pod.returncode == 0 and f"shard {index + 1}/{SHARDS}:" in pod.stderr, f"pod {index}: {pod.stderr}")
    pod = subprocess.run(container(finals)["command"], env=mine, capture_output=True, text=True, timeout=60)
    cli.check(pod.returncode == 0 and "held the finals among" in pod.stderr, f"finals: {pod.stderr}")
    cli.check(known(data / "all.db") == known(cli.scratch / "one.db"), "the pods' trials differ from one sweep's")


def main():
    cli = Cli()
    seed = int(os.environ.get("TCB_TEST_SEED", time.time_ns() % 10**6))
    print(f"seed {seed} (TCB_TEST_SEED repeats it)")
    test_random(cli, random.Random(seed))
    try:
        import yaml
    except ImportError:
        print("the Kubernetes example was not read: there is no Python module yaml")
    else:
        test_kubernetes(cli, yaml)
    cli.done()


if __name__ == "__main__":
    main()
