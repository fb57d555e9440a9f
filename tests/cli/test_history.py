# SPDX-License-Identifier: MIT
"""tcbtune history: a line for each sweep that held finals, what it found, and which geometry it was."""
import sqlite3

from cli_support import SMALL, Cli

PROBLEM = ["--op", "q4k_matvec", "--shape", "1x64x512"]


def main():
    cli = Cli()
    db = cli.scratch / "history.db"
    cli.run("history", *PROBLEM, "--db", db, expect=3)
    said = ""
    for args in (("--max-trials", 6, "--budget", "5s"), ("--max-trials", 4, "--budget", "5s"), ("--finals-only", "--budget", "2s")):
        said += cli.run("sweep", *SMALL, "--db", db, *args, "--counters", "none").stderr
    document = cli.json("history", *PROBLEM, "--db", db, schema="history")
    best = {r["state"]: r for r in cli.json("report", "--db", db, schema="report")["best"]}
    cli.check([h["state"] for h in document["histories"]] == ["cold", "hot"], "not both states")
    for history in document["histories"]:
        sweeps, now = history["sweeps"], best[history["state"]]
        # The last one is stored, unless others disturbed it: then the one before, that is known better, stays.
        stored = [s for s in sweeps if s["is_best"]]
        disturbed = f"{history['state']}: noisy, so the winner" in said
        cli.check(len(sweeps) == 3 and len(stored) == 1 and (disturbed or stored[0] is sweeps[2]), f"{sweeps}\n{said}")
        cli.check(sweeps[0]["started_at"] < sweeps[1]["started_at"] < sweeps[2]["started_at"], "not the oldest first")
        cli.check(sweeps[0]["tried"] == 6, f"the first tried {sweeps[0]['tried']}")
        cli.check(all(stored[0][k] == now[k] for k in ("geometry", "signature", "ns", "speedup", "default_ns")),
                  f"{stored[0]} is not what is stored: {now}")
        cli.check(history["verdict"] == now["verdict"], "another verdict than the report's")
        cli.check(all(s["speedup"]["lo"] <= s["speedup"]["median"] <= s["speedup"]["hi"] for s in sweeps), "no speed-up")
    text = cli.run("history", *PROBLEM, "--state", "hot", "--threads", 1, "--db", db).stdout
    cli.check(text.count("\n20") == 3 and "q4k_matvec 1x64x512 hot on cpu" in text, text)
    cli.check("geometry 1: macro=1x64x512" in text.replace("\n  ", "") and f"\nnow {best['hot']['verdict']}: " in text, text)
    cli.check(all(len(line) <= 80 for line in text.splitlines()), f"wider than 80 columns:\n{text}")
    with sqlite3.connect(db) as sql:  # as prune leaves it: times stay, samples go
        sql.execute("update measurement set sample_count = 0, samples = '[]'")
    pruned = cli.json("history", *PROBLEM, "--state", "hot", "--db", db, schema="history")["histories"][0]["sweeps"]
    cli.check(len(pruned) == 3 and all((s["speedup"] is None) != s["is_best"] for s in pruned), f"{pruned}")
    for args, expect, words in ((("--threads", 7), 3, "no winner of that"), (("--device", "sm_90"), 3, "no winner of that"),
                                (("--contract", "f16"), 3, "no winner of that")):
        error = cli.run("history", *PROBLEM, *args, "--db", db, expect=expect).stderr
        cli.check(words in error and len(error.splitlines()) == 1, error)
    cli.run("history", "--op", "q4k_matvec", "--db", db, expect=2)
    with sqlite3.connect(db) as sql:  # damaged rows cost themselves only
        sql.execute("update measurement set samples = '[1,' where stage = 'final'")
        sql.execute("update measurement set sample_count = 99999 where stage = 'final'")
    cli.json("history", *PROBLEM, "--db", db, schema="history")
    cli.done()


if __name__ == "__main__":
    main()
