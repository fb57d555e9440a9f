# SPDX-License-Identifier: MIT
"""One row, read by all that show it: report as table, CSV, JSON, Markdown and page, model, lookup --explain, and of its
own measurements bench.  % LIMIT, x DEFAULT, what binds it and what programs get are the same everywhere, of a row that
is stale, too."""
import csv
import io
import json
import re
import sqlite3
import subprocess
import sys

from cli_support import Cli

MODEL = ["--contract", "q8", "--device", "cpu:scalar", "--rotation", "8M", "--threads", "1"]
SHAPE = "1x256x256"
# whatever else ran when it was measured
UNDISTURBED = "final_rounds = NULL, quiet_rounds = NULL, others_busy = 0, held_back = 0"
# limit over time; what % LIMIT reads, how the limit is used, what the evidence begins with
LIMITS = [
    ((0.964, 0.95, 0.98), "96.4", "holds", "96 % of the read limit"),
    ((3.6, 3.5, 3.7), ">100", "beyond", ">100 % of the read limit"),
    ((0.9, 0.5, 1.0), "?", "noisy", "? % of the read limit"),
]
# x DEFAULT; what programs get
SPEEDUPS = [((1.531, 1.502, 1.554), "winner"), ((1.04, 0.97, 1.11), "default")]


def change(path, limit, speedup):
    """The cold winner of SHAPE takes 100 us, with LIMIT and SPEEDUP beside it."""
    db = sqlite3.connect(path)
    db.execute("DELETE FROM compute_rate")  # the limit is the read's
    values = [1e5, 9.9e4, 1.01e5, *(1e5 * share for share in limit), *speedup, 1e5 * speedup[0], SHAPE]
    db.execute("UPDATE best SET median_ns = ?, lo_ns = ?, hi_ns = ?, limit_median_ns = ?, limit_lo_ns = ?, "
               "limit_hi_ns = ?, speedup = ?, speedup_lo = ?, speedup_hi = ?, default_median_ns = ?, "
               "default_lo_ns = default_median_ns, default_hi_ns = default_median_ns, limit_method = 'read_1024', "
               f"{UNDISTURBED} "
               "WHERE state = 'cold' AND problem_id = (SELECT id FROM problem WHERE op = 'q4k_matvec' AND "
               "m || 'x' || n || 'x' || k = ?)", values)
    (geometry,) = db.execute("SELECT geometry FROM best WHERE state = 'cold' AND limit_method = 'read_1024' AND "
                             "median_ns = 1e5").fetchone()
    unroll = "unroll=1" if "unroll=1," not in geometry else "unroll=4"
    # of few candidates beside another default than today's the winner would not be served
    db.execute("UPDATE best SET default_geometry = ?, tried = 99, space_count = 99 WHERE geometry = ? AND median_ns = 1e5",
               (re.sub(r"unroll=\d+", unroll, geometry), geometry))
    db.commit()
    db.close()


def report(cli, path, *args):
    return cli.run("report", "--op", "q4k_matvec", "--shape", SHAPE, "--state", "cold", "--db", path, *args).stdout


def cells(line):
    return re.split(r" {2,}", line.strip())


def check(cli, path, model, limit, speedup):
    (_, text, use, evidence), (ratio, served) = limit, speedup
    change(path, limit[0], ratio)
    table = report(cli, path, "--columns", "limit,speedup,served,bound", "--geometry", "none").splitlines()
    bound = cells(table[1])[3]
    cli.check(cells(table[1])[:3] == [text, f"{ratio[0]:.3f}", served], f"{limit}: table: {table}")
    cli.check((bound == "bandwidth") == (use == "holds"), f"{limit}: bound by {bound}")
    row, = csv.DictReader(io.StringIO(report(cli, path, "--format", "csv")))
    cli.check((row["limit_use"], row["served"]) == (use, served), f"{limit}: CSV: {row}")
    cli.check(abs(float(row["of_limit"]) - limit[0][0]) < 1e-6, f"{limit}: CSV: {row}")
    markdown = report(cli, path, "--format", "md")
    cli.check(f"| {text} |" in markdown and f"| {served} |" in markdown, f"{limit}: Markdown: {markdown}")
    best, = json.loads(report(cli, path, "--json"))["best"]
    cli.check((best["limit_use"], best["served"], best["bottleneck"]["kind"]) == (use, served, bound), f"JSON: {best}")
    cli.check(best["bottleneck"]["evidence"].startswith(evidence), f"{limit}: {best['bottleneck']}")
    page = report(cli, path, "--format", "html")
    cli.check(re.search(f'data-label="% of limit"[^>]*>{re.escape(text.replace(">", "&gt;"))}</td>', page), f"{limit}: page has no {text}")
    cli.check(evidence.replace(">", "&gt;") in page, f"{limit}: page has no {evidence}")
    cli.check(("default served" in page) == (served == "default"), f"{limit}: served in the page")
    check_model(cli, path, model, text, ratio, served)
    check_lookup(cli, path, text, ratio, served, evidence, bound)


def check_model(cli, path, model, text, ratio, served):
    told = cli.run("model", model, "--tokens", "1", *MODEL, "--db", path).stdout
    line = next(line for line in told.splitlines() if line.startswith(f"q4k_matvec q8 {SHAPE}"))
    columns = cells(line)
    if served == "winner":
        cli.check(columns[4:6] == [f"{ratio[0]:.3f}", text], f"model: {columns}")
    else:  # what is told is the default's time then
        cli.check(columns[4] == "1.000" and "default served" in line, f"model: {line}")


def check_lookup(cli, path, text, ratio, served, evidence, bound):
    told = cli.run("lookup", "--op", "q4k_matvec", "--shape", SHAPE, "--device", "cpu:scalar", "--threads", "1",
                   "--explain", "--db", path).stdout
    if served == "default":
        cli.check("source: exact" not in told and "not surely faster" in " ".join(told.split()), told)
        return
    flat = " ".join(told.split())
    cli.check("source: exact" in told and f"{ratio[0]:.3f} x the default's speed" in flat, told)
    cli.check(f"limit: {text} % of the read limit" in flat, f"lookup: {told}")
    cli.check(evidence in flat and ("bound by: bandwidth" in flat) == (bound == "bandwidth"), told)


def check_stale(cli, path, gain, served):
    """Winners of an older kernel that surely gained GAIN over what is the default still: report, lookup and doctor."""
    db = sqlite3.connect(path)
    db.execute("UPDATE best SET signature = '0123456789abcdef', tried = 99, space_count = 99, speedup = ? + 0.1, "
               f"speedup_lo = ?, speedup_hi = ? + 0.2, lo_ns = median_ns, hi_ns = median_ns, {UNDISTURBED}",
               (gain, gain, gain))
    (count,) = db.execute("SELECT count(*) FROM best").fetchone()
    db.commit()
    db.close()
    table = report(cli, path, "--columns", "verdict,served", "--geometry", "none").splitlines()
    cli.check(cells(table[1]) == ["stale", served], f"{gain}: {table}")
    row, = csv.DictReader(io.StringIO(report(cli, path, "--format", "csv")))
    cli.check((row["verdict"], row["served"]) == ("stale", served), f"{gain}: CSV: {row}")
    best, = cli.json("report", "--op", "q4k_matvec", "--shape", SHAPE, "--state", "cold", "--db", path,
                     schema="report")["best"]
    cli.check((best["verdict"], best["served"]) == ("stale", served), f"{gain}: JSON: {best}")
    is_served = served == "earlier"
    summary = " ".join(report(cli, path).split())
    cli.check(("1 of 1 result as source 'earlier'" in summary) == is_served, f"{gain}: {summary}")
    cli.check((", still served" in report(cli, path, "--format", "html")) == is_served, f"{gain}: page")
    told = cli.run("lookup", "--op", "q4k_matvec", "--shape", SHAPE, "--device", "cpu:scalar", "--threads", "1", "--db",
                   path).stdout
    cli.check(("source: earlier" in told) == is_served, f"{gain}: {told}")
    cli.env["TCBTUNE_SYSTEM_DB"] = str(path)
    rows = cli.json("doctor", schema="doctor")["rows"]
    cli.env["TCBTUNE_SYSTEM_DB"] = ""
    found = next(row["found"] for row in rows if row["what"] == "shipped winners")
    counts = f"0 current, {count} earlier, 0 stale" if is_served else f"0 current, 0 earlier, {count} stale"
    cli.check(found.endswith(counts), f"{gain}: doctor: {found}")


def check_bench(cli, path):
    """The table, the words below it and the JSON are of one run's figures: two runs, each against itself."""
    args = ["bench", "--op", "q4k_matvec", "--shape", SHAPE, *MODEL, "--budget", "2s", "--db", path]
    told = cli.run(*args).stdout
    tables = told.split(", cold")[1:] if ", cold" in told else []
    cli.check(tables, told)
    first = cells(tables[0].splitlines()[2])
    line = next(line for line in told.splitlines() if f"{SHAPE} cold: bound by" in line)
    share = first[2]
    if share in (">100", "?"):
        cli.check(f"({share} % of the read limit" in line, f"{first}\n{line}")
        cli.check("bound by: bandwidth" not in line, line)
    elif share != "-":
        cli.check(f"({float(share):.0f} % of the read limit" in line or
                  f"({float(share) - 0.05:.0f} % of the read limit" in line or
                  f"({float(share) + 0.05:.0f} % of the read limit" in line, f"{first}\n{line}")
    for result in cli.json(*args, schema="bench")["results"]:
        if result["limit_ns"]:
            quotient = result["limit_ns"]["median"] / result["rows"][0]["ns"]["median"]
            cli.check(abs(result["of_limit"]["median"] - quotient) < 1e-9 * quotient, f"bench --json: {result}")


def main():
    cli = Cli()
    path, model = cli.scratch / "agree.db", cli.scratch / "small.gguf"
    maker = cli.fixtures.resolve().parents[1] / "scripts" / "synthetic-gguf.py"
    subprocess.run([sys.executable, maker, model, "--layers", "1", "--hidden", "256", "--heads", "4", "--kv-heads", "4",
                    "--ffn", "256", "--vocab", "512", "--type", "Q4_K"], check=True, stdout=subprocess.DEVNULL)
    cli.run("model", model, "--tokens", "1", "--effort", "quick", "--budget", "none", *MODEL, "--db", path)
    stale = cli.scratch / "stale.db"
    with sqlite3.connect(path) as source, sqlite3.connect(stale) as copy:
        source.backup(copy)
    check_stale(cli, stale, 1.2, "earlier")
    check_stale(cli, stale, 1.19, "refused")
    for speedup in SPEEDUPS:
        for limit in LIMITS:
            check(cli, path, model, limit, speedup)
    check_bench(cli, path)
    cli.done()


if __name__ == "__main__":
    main()
