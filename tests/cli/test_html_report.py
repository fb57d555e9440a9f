# SPDX-License-Identifier: MIT
"""tcbtune report --format html: all plots, nothing that would be fetched, hostile texts
as text.  test_html_browser.py opens the pages."""
import re
import sqlite3

from html_pages import HOSTILE, PLOTS, Page, databases, page

from cli_support import Cli


def check_page(cli, path, rows):
    read = Page(path)
    cli.check(not read.open, f"{path}: not closed: {read.open}")
    cli.check(set(read.figures) == PLOTS, f"{path}: plots {sorted(set(read.figures))}")
    for plot in ("progress", "distribution", "intervals", "effects", "ties"):
        cli.check(read.figures.count(plot) == rows, f"{path}: {read.figures.count(plot)} of {plot} for {rows} results")
    cli.check(read.tags.count("svg") == read.tags.count("desc") == read.svg_in_figure, f"{path}: a drawing without words")
    # Tables give the numbers of each drawing.
    cli.check(read.tags.count("details") >= read.tags.count("svg"), f"{path}: a drawing without its numbers")
    for tag, name, value in read.attributes:
        cli.check(name not in ("src", "data", "srcset", "action") and not name.startswith("on"), f"<{tag} {name}={value}>")
        cli.check(name not in ("href", "xlink:href") or value.startswith("#"), f"{path}: a link out: {value}")
    targets = {v for _, k, v in read.attributes if k == "id"}
    cli.check(all(v[1:] in targets for _, k, v in read.attributes if k == "href"), f"{path}: a link to nothing")
    cli.check("nan" not in " ".join(v for _, k, v in read.attributes if k in ("d", "cx", "cy", "x1", "y1") and v).lower(),
              f"{path}: a place that is not a number")
    cli.check("default-src 'none'" in read.text, f"{path}: no content security policy")
    document = read.data()
    cli.check(document["schema"] == "tcbtune.html.1" and len(document["best"]) == rows, f"{path}: {document['schema']}")
    for row in document["best"]:
        cli.check(row["space"]["points"] and row["space"]["valid"] <= row["space"]["trials"], f"{row['space']}")
        cli.check(row["bottleneck"]["kind"] in read.text, "no word for the bottleneck")
    return read


def slow_and_modelled(cli, good):
    """The database with a winner of 43.8 ms that was never measured, another slower than the default."""
    path = cli.scratch / "slow.db"
    path.write_bytes(good.read_bytes())
    with sqlite3.connect(path) as sql:
        first, second = [row[0] for row in sql.execute("select id from best order by id limit 2")]
        sql.execute("update best set modelled = 1, median_ns = 4.38e7, lo_ns = 4.38e7, hi_ns = 4.38e7 where id = ?", (first,))
        sql.execute("update best set geometry = (select geometry from trial where trial.geometry <> best.default_geometry"
                    " and trial.outcome = 'ok' limit 1), speedup = 0.9, speedup_lo = 0.8, speedup_hi = 0.95,"
                    " signature = (select signature from trial where trial.geometry <> best.default_geometry"
                    " and trial.outcome = 'ok' limit 1) where id = ?", (second,))
    return path


def check_summary(cli, good, rows):
    """What stands on top; times in units that people use; no interval where nothing was measured."""
    text = Page(page(cli, slow_and_modelled(cli, good), "slow.html")).text
    shown = text[text.index("<main>"):text.index("<script type")]
    summary = shown[shown.index('<section id="summary">'):shown.index("</section>")]
    cli.check(re.search(rf"<strong>\d+ of {rows} tuned</strong>.*1 <span class=\"v-modelled\">", summary), summary)
    cli.check("&times; as fast as the default" in summary and "Farthest from their limit: <a href=" in summary, summary)
    cli.check(re.search(r"Programs get the <strong>default</strong>.* <a href=", summary), summary)
    words = re.sub("<style>.*?</style>|<[^>]*>", " ", shown, flags=re.S)
    cli.check(not re.search(r"\d(\.\d+)?e[+-]\d", words), f"numbers as programs write them: {re.findall('.{40}e[+-][0-9]+', words)}")
    cli.check(re.search(r">43\.80 ms</td>", shown), "a modelled time without an interval")
    cli.check("a search chose them" in shown, "what random search is drawn from")


def main():
    cli = Cli()
    good, bad = databases(cli)
    stored = cli.json("report", "--db", good, schema="report")["best"]

    check_page(cli, page(cli, good, "good.html"), len(stored))
    hostile = check_page(cli, page(cli, bad, "hostile.html"), len(stored))
    cli.check(hostile.tags.count("script") == 2 and "img" not in hostile.tags, "markup let in")
    model = hostile.data()["best"][0]["device"]["model"]
    cli.check(model.startswith(HOSTILE) and "\\xff" in model, f"the model in the data: {model}")

    check_summary(cli, good, len(stored))

    one = cli.scratch / "one.html"
    cli.run("report", "--format", "html", "--shape", "1x64x512", "--state", "hot", "--db", good, "--out", one)
    cli.check(len(Page(one).data()["best"]) == 1, "filters are not honoured")
    cli.run("report", "--format", "html", "--op", "softmax", "--db", good, "--out", one, expect=3)
    cli.run("report", "--format", "html", "--json", "--db", good, expect=2)
    cli.check(cli.run("report", "--format", "html", "--db", good).stdout.startswith("<!DOCTYPE html>"), "standard output")
    cli.done()


if __name__ == "__main__":
    main()
