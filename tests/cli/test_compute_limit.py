# SPDX-License-Identifier: MIT
"""A device's compute limit: measured by a sweep, stored, and shown where arithmetic takes longer than reading."""
import os
import sqlite3
import sys

from cli_support import Cli


def arithmetic(cli):
    """A GPU's compute limit is measured by its first sweep, stored, and what % LIMIT is of where it takes longer."""
    db = cli.scratch / "arithmetic.db"
    where = ["--device", "cuda:0", "--rotation", "4K", "--counters", "none", "--finalists", "1", "--starts", "none",
             "--budget", "none", "--max-trials", 1, "--db", db]
    cli.run("sweep", "--op", "softmax", "--shape", "1x64", *where)
    with sqlite3.connect(db) as file:
        stored = file.execute("SELECT device, threads, kind, rate, method FROM compute_rate").fetchall()
        cli.check([row[:3] for row in stored] == [("sm_90", 0, "f32")], f"{stored}")
        cli.check(stored[0][3] > 0 and stored[0][4] == "compute_fma_f32", f"{stored}")
        # Not again with the same driver, but with another.
        file.execute("UPDATE compute_rate SET rate = 1e-3")

    def rates():
        with sqlite3.connect(db) as opened:
            return [row[0] for row in opened.execute("SELECT rate FROM compute_rate")]

    cli.run("sweep", "--op", "softmax", "--shape", "1x64", *where)
    cli.check(rates() == [1e-3], f"measured again: {rates()}")
    row = cli.json("report", "--db", db, schema="report")["best"][0]
    slow = row["bottleneck"]
    cli.check(row["of_limit"] > 1.1 and row["limit_use"] == "beyond", f"{row}")
    cli.check(">100 % of the compute limit" in slow["evidence"] and slow["kind"] != "compute", f"{slow}")
    with sqlite3.connect(db) as file:  # as if arithmetic took 80 % of the time, and reading 20 %
        file.execute("UPDATE best SET (limit_median_ns, limit_lo_ns, limit_hi_ns) = "
                     "(0.2 * median_ns, 0.2 * median_ns, 0.2 * median_ns)")
        file.execute("UPDATE compute_rate SET rate = (SELECT flops / (0.8 * median_ns) FROM best LIMIT 1)")
    row = cli.json("report", "--db", db, schema="report")["best"][0]
    bound = row["bottleneck"]
    cli.check(bound["kind"] == "compute" and "80 % of the compute limit" in bound["evidence"], f"{bound}")
    cli.check(abs(row["of_limit"] - 0.8) < 0.01 and row["limit_method"] == "f32", f"{row}")
    cli.check(bound["roofline"]["limit_gop_per_s"] and bound["roofline"]["limit_gb_per_s"], f"both roofs: {bound}")
    page = cli.run("report", "--db", db, "--format", "html").stdout
    cli.check('class="compute"' in page and "arithmetic limit: " in page, "the roofline has no flat roof")
    specified(cli, db)
    with sqlite3.connect(db) as file:
        file.execute("UPDATE compute_rate SET driver = 'older'")
    cli.run("sweep", "--op", "softmax", "--shape", "1x64", *where)
    cli.check(rates() == [stored[0][3]], f"{rates()}")


def specified(cli, db):
    """Where no rate is stored, % LIMIT and what binds are of the maker's specification alike, and say so."""
    with sqlite3.connect(db) as file:
        rates = file.execute("SELECT * FROM compute_rate").fetchall()
        file.execute("DELETE FROM compute_rate")
        # 256 operations a cycle on one multiprocessor at 1.98 GHz take 60 % of the time, reading 20 %
        file.execute("UPDATE best SET (median_ns, lo_ns, hi_ns, limit_median_ns, limit_lo_ns, limit_hi_ns) = "
                     "(ns, ns, ns, 0.2 * ns, 0.2 * ns, 0.2 * ns) FROM (SELECT id, flops / (256 * 1.98) / 0.6 AS ns "
                     "FROM best) AS at WHERE at.id = best.id")
    row = cli.json("report", "--db", db, schema="report")["best"][0]
    bound = row["bottleneck"]
    cli.check(abs(row["of_limit"] - 0.6) < 0.01 and row["limit_use"] == "specified", f"{row}")
    cli.check(bound["kind"] == "compute" and
              "60 % of the compute limit (by specification, at the nominal clock)" in bound["evidence"], f"{bound}")
    table = cli.run("report", "--db", db).stdout
    cli.check("~60.0" in table and "~ % LIMIT: of as many operations" in table, table)
    explained = cli.run("lookup", "--op", "softmax", "--shape", "1x64", "--device", "cuda:0", "--db", db, "--explain").stdout
    cli.check("~60.0 %" in explained, explained)
    with sqlite3.connect(db) as file:
        file.executemany(f"INSERT INTO compute_rate VALUES ({','.join('?' * len(rates[0]))})", rates)


def main():
    cli = Cli()
    folder = os.environ.get("FAKE_CUDA_FOLDER")
    if not folder:
        print("SKIPPED: FAKE_CUDA_FOLDER does not say where the fake driver is")
        sys.exit(77)
    cli.env.update(LD_LIBRARY_PATH=folder, TCBTUNE_ASSEMBLER="none", FAKE_CUDA="90:sms=1")
    arithmetic(cli)
    cli.done()


if __name__ == "__main__":
    main()
