# SPDX-License-Identifier: MIT
"""Results of other tuners, in and out: the same after a journey through a database, replayed as the file is, tried
first by a sweep of their op, said to be imported, and never taken for what was measured here."""
import json
import random

from cli_support import SMALL, Cli


def results(rng, changes=lambda configuration: configuration):
    """A T4 file with what real ones do beside their schema."""
    found = []
    for tile in (1, 2, 4, 8, 16):
        for way in ("plain", "pad"):
            for half in (0.5, 1.0, 1e-05):
                ok = rng.random() < 0.8
                found.append({
                    "timestamp": "2023-12-22 09:54:05.502007+00:00",
                    "configuration": changes({"TILE": tile, "way": way, "half": half, "flag": tile > 2}),
                    "times": {"compilation": rng.random(), "framework": 0, "runtimes": [rng.random(), 2]},
                    "invalidity": "correct" if ok else "runtime", "correctness": int(ok),
                    "measurements": [{"name": "time", "value": 1 + rng.random() if ok else "RuntimeFailedConfig",
                                      "unit": ""}, {"name": "GFLOP/s", "value": 7, "unit": "GFLOP/s"}],
                    "objectives": ["time"]})
    return {"metadata": {"timeunit": "miliseconds"}, "results": found, "schema_version": "1.0.0"}


def journeys(cli):
    """In, out, in again, as T4 and as a cache; of files without their ends, too."""
    one, two = cli.scratch / "one.db", cli.scratch / "two.db"
    t4, cache = cli.scratch / "k__A_T4.json", cli.scratch / "out_cache.json"
    document = results(random.Random(1))
    t4.write_text(json.dumps(document))
    said = cli.json("db", "import", t4, "--db", one, schema="db-import")
    cli.check(said["recordings"] == 1 and said["results"] == 30 and said["winners"] == 0, f"{said}")
    cli.run("db", "export", "--format", "t4", "--op", "k__A", "--db", one, "--out", cli.scratch / "again.json")
    cli.check(json.loads((cli.scratch / "again.json").read_text()) == document, "T4 came back as another file")
    cli.run("db", "import", cli.scratch / "again.json", "--op", "k__A", "--db", one)
    cli.check(cli.json("db", "info", "--db", one, schema="db-info")["recordings"] == 1, "the same again is another")
    cli.run("db", "export", "--format", "kernel-tuner", "--op", "k__A", "--db", one, "--out", cache)
    written = json.loads(cache.read_text())
    cli.check(written["tune_params_keys"] == ["TILE", "way", "half", "flag"], f"{written['tune_params_keys']}")
    cli.check(list(written["cache"])[:3] == ["1,plain,0.5,False", "1,plain,1.0,False", "1,plain,1e-05,False"],
              f"{list(written['cache'])[:3]}")
    written.update(device_name="A card", kernel_name="k")
    cache.write_text(json.dumps(written)[:-2])  # as Kernel Tuner leaves it
    cli.run("db", "import", cache, "--db", two)
    cli.run("db", "export", "--format", "kernel-tuner", "--op", "k", "--device", "A card", "--db", two, "--out",
            cli.scratch / "back.json")
    cli.check(json.loads((cli.scratch / "back.json").read_text()) == written, "a cache came back as another file")
    scores = [cli.json("replay", path, "--repeats", 3, schema="replay")["spaces"][0] for path in (t4, one, two)]
    cli.check(all({**score, "name": ""} == {**scores[0], "name": ""} for score in scores), f"{scores}")
    cli.run("db", "merge", one, two, "--db", cli.scratch / "both.db")
    cli.check(cli.json("db", "info", "--db", cli.scratch / "both.db", schema="db-info")["recordings"] == 2, "merged")
    cli.sound(cli.scratch / "both.db")
    return one, t4, document


def refusals(cli, db, t4, document):
    document["results"].pop()
    t4.write_text(json.dumps(document))
    refused = cli.run("db", "import", t4, "--db", db, expect=2)
    cli.check("imported before" in refused.stderr, refused.stderr)
    cli.run("db", "import", t4, "--db", db, "--device", "B")
    refused = cli.run("db", "export", "--format", "t4", "--op", "k__A", "--db", db, expect=2)
    cli.check("choose with" in refused.stderr, refused.stderr)
    cli.run("db", "export", "--format", "t4", "--op", "none", "--db", db, expect=3)
    cli.run("db", "export", "--format", "t4", "--db", db, expect=2)
    for text in ('{"results": [1]}', '{"results": []}', '{"cache": {"1": 2}, "tune_params_keys": ["a"]}',
                 '{"cache": {"1": {}}}', '{"results": [{"configuration": {}}]}',
                 '{"results": [{"configuration": {"a": [1]}}]}',
                 '{"results": [{"configuration": {"a": 1}}, {"configuration": {"b": 1}}]}', '{"results": [{"configuration": {}}, {"conf'):
        t4.write_text(text)
        refused = cli.run("db", "import", t4, "--db", db, expect=1)
        cli.check(str(t4) in refused.stderr, refused.stderr)
    forgotten = cli.json("db", "forget", "--op", "k__A", "--db", db, schema="db-forget")
    cli.check(forgotten["recordings"] == 2, f"{forgotten}")


def starts(cli):
    """What was measured here, out and in elsewhere: tried first there, and no measurement of that database."""
    here, there, t4 = cli.scratch / "here.db", cli.scratch / "there.db", cli.scratch / "results.json"
    sweep = ["sweep", *SMALL, "--budget", "2s", "--max-trials", 30, "--finalists", 2, "--db"]
    cli.run(*sweep, here)
    cli.run("db", "export", "--format", "t4", "--op", SMALL[1], "--db", here, "--out", t4)
    document = json.loads(t4.read_text())
    cli.check(document["metadata"]["tcbtune"]["op"] == SMALL[1] and len(document["results"]) >= 10, "the export")
    best = sorted((r["measurements"][0]["value"], r["configuration"]["layout"]) for r in document["results"]
                  if r["invalidity"] == "correct")[:4]
    cli.run("db", "import", t4, "--db", there)
    report = cli.run("report", "--db", there, expect=3)
    cli.check("not measurements" in report.stderr, report.stderr)
    cli.run("lookup", "--op", SMALL[1], "--shape", SMALL[3], "--db", there, expect=None)
    found = cli.json(*sweep, there, "--strategy", "random", schema="sweep")["sweeps"][0]
    imported = [s for s in found["starts"] if s["from"] == "imported"]
    layouts = {f"layout={layout}" for _, layout in best}
    cli.check(imported and all(layouts & set(s["geometry"].split(",")) for s in imported), f"{best}: {found['starts']}")
    cli.check(found["known"] == 0, f"{found['known']} imported results were taken for known trials")
    report = cli.run("report", "--db", there).stdout
    cli.check("imported: " in report and "not measured here" in " ".join(report.split()), report)
    entry = cli.json("report", "--db", there, schema="report")["imported"]
    cli.check(len(entry) == 1 and entry[0]["results"] == len(document["results"]), f"{entry}")
    cli.check("imported: " in cli.run("report", "--format", "html", "--db", there).stdout, "the page")
    cli.run("db", "export", "--format", "kernel-tuner", "--op", SMALL[1], "--device", entry[0]["device"], "--db", there)


def main():
    cli = Cli()
    refusals(cli, *journeys(cli))
    starts(cli)
    cli.done()


main()
