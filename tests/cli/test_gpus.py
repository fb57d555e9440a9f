# SPDX-License-Identifier: MIT
"""Sweeps on GPUs that a fake driver emulates: one card, several identical ones, cards that differ, none."""
import json
import os
import sqlite3
import sys

from cli_support import Cli

SPACE = ["--op", "q4k_matvec", "--shape", "1x4x256", "--rotation", "4K", "--finalists", "1", "--counters", "none",
         "--budget", "60s"]


def several(cli, db):
    cli.env["FAKE_CUDA"] = "90,90:slow=3,90"
    found = cli.json("devices", schema="devices")
    cli.check([g["name"] for g in found["gpus"] if g["attached"]] == ["cuda:0", "cuda:1", "cuda:2"], f"{found}")
    result = cli.run("sweep", *SPACE, "--device", "cuda:all", "--db", db, "--max-trials", 3)
    for words in ("cuda:0 tried", "cuda:2 tried", "the slowest is 3.0 % behind the fastest", "NOT interchangeable"):
        cli.check(words in result.stderr, f"'{words}' is not said:\n{result.stderr}")
    # One card goes on from what three have measured, and tries nothing that they did.
    document = cli.json("sweep", *SPACE, "--device", "cuda:2", "--db", db, "--max-trials", 1, schema="sweep")
    one = document["sweeps"][0]
    cli.check(one["known"] == 3 and one["tried"] == 1 and one["failed"] == 0, f"{one}")
    cli.check("cards" not in one, "one card is compared with itself")
    best = one["best"][0]
    cli.check(best["device"]["name"] == "sm_90" and best["device"]["model"] == "Fake GPU 90-4", f"{best['device']}")
    cli.check(best["limit_method"].startswith("read_"), f"{best['limit_method']}")
    cli.sound(db)
    for device in ("sm_90", "cuda:1"):
        lookup = cli.json("lookup", "--op", "q4k_matvec", "--shape", "1x4x256", "--device", device, "--db", db,
                          schema="lookup")
        cli.check(lookup["source"] == "exact" and lookup["geometry"] == best["geometry"], f"{device}: {lookup}")


def fallen_back(cli, db):
    """Shapes that were not tuned: near ones where it was proved, else the default; both run."""
    cli.env["FAKE_CUDA"] = "90"
    lookup = cli.json("lookup", "--op", "q4k_matvec", "--shape", "1x8x256", "--device", "cuda:0", "--db", db,
                      schema="lookup")
    cli.check(lookup["source"] in ("nearest", "default") and "was not tuned on this GPU" in lookup["reason"], f"{lookup}")
    x, y = cli.scratch / "x.f32", cli.scratch / "y.f32"
    x.write_bytes(bytes(4 * 512))
    where = ["run", "--op", "q4k_matvec", "--weights", f"{cli.fixtures}/ggml_sample.gguf:blk.1.ffn_up.weight", "--x", x,
             "--out", y, "--device", "cuda:0"]
    ran = cli.json(*where, "--db", cli.scratch / "no.db", schema="run")
    cli.check(ran["source"] == "default" and y.read_bytes() == bytes(4 * 513), f"{ran}")


def clustered(cli):
    """16 blocks of a cluster, which not every GPU takes: the driver has to be told."""
    cli.env["FAKE_CUDA"] = "90"
    row = "macro=1x2048x1,midi=1x128x1,micro=1x4x1,isa=fma,unroll=1,warps=1,vec=16,stages=1,stream=0,ksplit=1"
    wide = f"{row},splitk=16,copy=ldg,xin=regs,blocks=0,pdl=0,occ=1,join=cluster"
    document = cli.json("bench", "--op", "softmax", "--shape", "1x2048", "--geometry", wide, "--device", "cuda:0",
                        "--rotation", "4K", "--budget", "20s", "--db", cli.scratch / "no.db", schema="bench")
    said = json.dumps(document)
    cli.check("splitk=16" in said and "launch_failed" not in said, said)


def one_default(cli):
    """A card with other multiprocessors than the common one of its architecture: `lookup`, which asks libtcbrt, and `bench`
    have the same default, with a database of the card or none."""
    cli.env["FAKE_CUDA"] = "90:sms=8"
    problem = ["--op", "matmul_f16", "--shape", "1x256x64", "--device", "cuda:0", "--db", cli.scratch / "none.db"]
    found = cli.json("lookup", *problem, schema="lookup")
    document = cli.json("bench", *problem, "--geometry", found["geometry"], "--rotation", "4K", "--budget", "20s", schema="bench")
    rows = document["results"][0]["rows"]
    cli.check(len(rows) == 1 and rows[0]["geometry"] == found["geometry"], f"{found} and {rows}")
    cli.check("midi=16x32x64" in found["geometry"], f"{found}: with 132 multiprocessors it would be midi=16x16x64")


def compared(cli):
    cli.env["FAKE_CUDA"] = "90,90:slow=1"
    document = cli.json("sweep", *SPACE, "--device", "cuda:all", "--db", cli.scratch / "two.db", "--max-trials", 2,
                        schema="sweep")
    cards = document["sweeps"][0]["cards"]
    cli.check(sum(card["tried"] for card in cards["list"]) == 2, f"{cards}")
    cli.check(abs(cards["differ_by"]["cold"]["time"] - 0.01) < 1e-4, f"{cards['differ_by']}")
    cli.check(cards["differ_by"]["hot"]["speedup"] < 1e-4, f"{cards['differ_by']}")
    cli.check(all(card["lost"] is None for card in cards["list"]), f"{cards}")


def refused(cli):
    db = cli.scratch / "none.db"
    cli.env["FAKE_CUDA"] = "90,89"
    said = cli.run("sweep", *SPACE, "--device", "cuda:all", "--db", db, expect=2).stderr
    cli.check("cuda:0 is Fake GPU 90-4" in said and "cuda:1 is Fake GPU 89-4" in said, said)
    cli.env["FAKE_CUDA"] = "none"
    said = cli.run("sweep", *SPACE, "--device", "cuda:all", "--db", db, expect=3).stderr
    cli.check("no GPU is attached" in said and "sees no GPU" in said, said)
    cli.check(not db.exists(), "a sweep without a device made a database")


def told_apart(cli):
    """Two models of one kind: what one has measured is not the other's own, and is said to be whose it is."""
    db = cli.scratch / "models.db"
    cli.env["FAKE_CUDA"] = "90,90:sms=8"
    keys = [gpu["key"] for gpu in cli.json("devices", schema="devices")["gpus"] if gpu["attached"]]

    def lookup(device):
        return cli.json("lookup", "--op", "q4k_matvec", "--shape", "1x4x256", "--device", device, "--db", db,
                        schema="lookup")

    cli.run("sweep", *SPACE, "--device", f"sm_90:{keys[0]}", "--db", db, "--max-trials", 3)
    with sqlite3.connect(db) as connection:  # a gain that is worth taking over, of many candidates
        connection.execute("UPDATE best SET speedup = 1.5, speedup_lo = 1.4, speedup_hi = 1.6, tried = 99")
    for device, source in (("cuda:0", "exact"), ("sm_90", "exact"), (f"sm_90:{keys[0]}", "exact"),
                           ("cuda:1", "architecture"), (f"sm_90:{keys[1]}", "architecture")):
        found = lookup(device)
        cli.check(found["source"] == source, f"{device}: {found}")
        cli.check(("measured on Fake GPU 90-4 (key " + keys[0] in found["reason"]) == (source == "architecture"),
                  f"{device}: {found}")
    cli.run("sweep", *SPACE, "--device", "cuda:1", "--db", db, "--max-trials", 3)
    for device, key in zip(("cuda:0", "cuda:1"), keys):
        best = cli.json("report", "--db", db, "--device", device, schema="report")["best"]
        cli.check({row["device"]["key"] for row in best} == {key}, f"report of {device}: {best}")
    found = [lookup(device) for device in ("cuda:0", "cuda:1")]
    cli.check([one["source"] for one in found] == ["exact", "exact"], f"{found}")
    # Which of them sm_90 means nobody knows where none is attached.
    cli.env["FAKE_CUDA"] = "none"
    found = lookup("sm_90")
    cli.check(found["source"] != "exact" and "sm_90 is an architecture, not a GPU" in found["reason"], f"{found}")
    said = cli.run("sweep", *SPACE, "--device", f"sm_90:{keys[0]}", "--db", db, expect=3).stderr
    cli.check("is not attached" in said, said)


def replaced(cli):
    """What was modelled goes when the GPU is there, in both cache states, and does not come back."""
    db = cli.scratch / "model.db"
    where = ["--op", "q4k_matvec", "--shape", "1x4x256", "--device", "sm_90", "--db", db]

    def sources():
        return [cli.json("lookup", *where, "--state", state, schema="lookup")["source"] for state in ("cold", "hot")]

    cli.env["FAKE_CUDA"] = "none"
    cli.run("sweep", *SPACE, "--device", "sm_90", "--db", db, "--max-trials", 3, "--measured-only", expect=3)
    cli.check(not db.exists(), "a refused sweep made a database")
    cli.run("sweep", *SPACE, "--device", "sm_90", "--db", db, "--max-trials", 3)
    cli.check(sources() == ["modelled", "modelled"], f"{sources()}")
    cli.env["FAKE_CUDA"] = "90"
    cli.run("sweep", *SPACE, "--device", "sm_90", "--db", db, "--max-trials", 3, "--measured-only")
    cli.check(sources() == ["exact", "exact"], f"{sources()}")
    cli.env["FAKE_CUDA"] = "none"
    cli.run("sweep", *SPACE, "--device", "sm_90", "--db", db, "--max-trials", 3)
    cli.check("modelled" not in sources(), f"the model replaced what was measured: {sources()}")
    cli.env["FAKE_CUDA"] = "90"
    cli.check(sources() == ["exact", "exact"], f"the model replaced what was measured: {sources()}")
    report = cli.json("report", "--db", db, schema="report")
    cli.check(not any(best["modelled"] for best in report["best"]), f"{report['best']}")
    cli.sound(db)


def tried_with_passes(cli):
    """All of a small space, its best with passes=all, and the winner from the database: found, read and written again."""
    db = cli.scratch / "passes.db"
    problem = ["--op", "softmax", "--shape", "1x64"]
    cli.env["FAKE_CUDA"] = "90"
    sweep = ["sweep", *problem, "--device", "cuda:0", "--rotation", "4K", "--budget", "none", "--counters", "none",
             "--db", db]
    one = cli.json(*sweep, schema="sweep")["sweeps"][0]
    cli.check(one["complete"] and one["tried"] == one["space_count"] and one["with_passes"] == 6, f"{one}")
    again = cli.run(*sweep)
    cli.check(f"all {one['space_count']} candidates are known; the finals were repeated" in again.stderr, again.stderr)
    cli.sound(db)
    # A card that is no card is faster the fewer its instructions.
    best = cli.json("report", "--db", db, schema="report")["best"]
    cli.check(all(row["geometry"].endswith(",passes=all") and not row["stale"] for row in best), f"{best}")
    for state in ("cold", "hot"):
        found = cli.json("lookup", *problem, "--device", "sm_90", "--db", db, "--state", state, schema="lookup")
        cli.check(found["source"] == "exact" and found["geometry"] in [row["geometry"] for row in best], f"{found}")
        plain = found["geometry"].removesuffix(",passes=all")
        ptx = [cli.run("ptx", *problem, "--target", "sm_90", "--geometry", g).stdout for g in (found["geometry"], plain)]
        cli.check(ptx[0] != ptx[1], "passes=all is the same kernel")


def again(cli, db):
    """The stored best is measured again first, and --again repeats its decision."""
    cli.env["FAKE_CUDA"] = "90"
    sweep = ["sweep", "--op", "softmax", "--shape", "1x64", "--device", "cuda:0", "--rotation", "4K", "--counters",
             "none", "--max-trials", 8, "--db", db]
    one = cli.json(*sweep, schema="sweep")["sweeps"][0]
    for former in one["former"]:
        cli.check(former["now_ns"]["median"] == former["ns"]["median"] and "holds" not in former, f"{former}")
    result = cli.run(*sweep, "--again")
    cli.check(result.stderr.count("holds: the same winner") == 2 and "has changed" not in result.stderr, result.stderr)
    cli.check(" 0 known before" in result.stderr, "--again took trials over")
    # As if a machine twice as slow had found another one.
    with sqlite3.connect(db) as connection:
        slowest = connection.execute("SELECT t.geometry, t.id, t.variant, t.signature FROM trial t "
                                     "JOIN measurement m ON m.trial_id = t.id WHERE t.outcome = 'ok' AND "
                                     "t.geometry NOT LIKE '%passes%' ORDER BY m.median_ns DESC LIMIT 1").fetchone()
        connection.execute("UPDATE best SET geometry = ?, trial_id = ?, variant = ?, signature = ?, "
                           "median_ns = 10 * median_ns, hi_ns = 10 * hi_ns WHERE state = 'cold'", slowest)
        connection.execute("DELETE FROM tie_set")
    result = cli.run(*sweep, "--again", expect=1)
    cli.check("cold: the best of" in result.stderr and "times as long as then" in result.stderr, result.stderr)
    cli.check("does NOT hold: another winner is surely faster" in result.stderr and
              "1 stored decision does not hold" in result.stderr, result.stderr)
    cli.sound(db)


def begun(cli):
    """Where little is known near by, a model says where to begin; not if it shall not."""
    cli.env["FAKE_CUDA"] = "90"
    sweep = ["sweep", "--op", "softmax", "--shape", "1x64", "--device", "cuda:0", "--rotation", "4K", "--counters",
             "none", "--finalists", "1", "--max-trials", 6, "--db", cli.scratch / "begun.db"]
    result = cli.run(*sweep, "--json")
    one = json.loads(result.stdout)["sweeps"][0]
    cli.check(0 < one["modelled"]["candidates"] <= 64, f"{one['modelled']}")
    cli.check(all(start["from"] == "model" for start in one["starts"]), f"{one['starts']}")
    if one["modelled"]["candidates"] >= 24:  # a busy machine has no time for them
        cli.check(len(one["starts"]) == 4, f"{one['starts']}")
        words = f"4 starts from the model of {one['modelled']['candidates']} candidates in "
        cli.check(words in result.stderr, result.stderr)
    one = cli.json(*sweep, "--fresh", "--starts", "stored", schema="sweep")["sweeps"][0]
    cli.check(one["modelled"]["candidates"] == 0, f"{one['modelled']}")
    cli.check(all(start["from"] == "stored" for start in one["starts"]), f"{one['starts']}")


def main():
    cli = Cli()
    folder = os.environ.get("FAKE_CUDA_FOLDER")
    if not folder:
        print("SKIPPED: FAKE_CUDA_FOLDER does not say where the fake driver is")
        sys.exit(77)
    cli.env.update(LD_LIBRARY_PATH=folder, TCBTUNE_ASSEMBLER="none")
    several(cli, cli.scratch / "gpus.db")
    fallen_back(cli, cli.scratch / "gpus.db")
    clustered(cli)
    one_default(cli)
    compared(cli)
    refused(cli)
    told_apart(cli)
    replaced(cli)
    tried_with_passes(cli)
    begun(cli)
    again(cli, cli.scratch / "passes.db")
    cli.done()


if __name__ == "__main__":
    main()
