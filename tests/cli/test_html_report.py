# SPDX-License-Identifier: MIT
"""tcbtune report --format html: all plots with and without the library, nothing that would be fetched, hostile texts
as text.  test_html_browser.py opens the pages."""
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
              f"{path}: a place that is no number")
    cli.check("default-src 'none'" in read.text, f"{path}: no content security policy")
    document = read.data()
    cli.check(document["schema"] == "tcbtune.html.1" and len(document["best"]) == rows, f"{path}: {document['schema']}")
    for row in document["best"]:
        cli.check(row["space"]["points"] and row["space"]["valid"] <= row["space"]["trials"], f"{row['space']}")
        cli.check(row["bottleneck"]["kind"] in read.text, "no word for the bottleneck")
    return read


def main():
    cli = Cli()
    good, bad = databases(cli)
    stored = cli.json("report", "--db", good, schema="report")["best"]
    library = cli.scratch / "library"
    library.mkdir()
    (library / "d3.min.js").write_text("var d3 = {version: '0'};")

    without = check_page(cli, page(cli, good, "without.html", "/nonexistent"), len(stored))
    cli.check(len(without.scripts) == 1 and "there is no library" in without.text, "without a library")
    unlicensed = check_page(cli, page(cli, good, "unlicensed.html", library), len(stored))
    cli.check(len(unlicensed.scripts) == 1 and "licence is not at" in unlicensed.text, "a library without its licence")
    (library / "LICENSE").write_text("Do what you like & <well>.\n")
    licensed = check_page(cli, page(cli, good, "with.html", library), len(stored))
    cli.check(len(licensed.scripts) == 3 and "Do what you like &amp; &lt;well&gt;." in licensed.text, "its licence")
    cli.check(licensed.figures == without.figures, "other plots with the library")
    (library / "d3.min.js").write_text("'</SCRIPT>'")
    check_page(cli, page(cli, good, "ends.html", library), len(stored))

    hostile = check_page(cli, page(cli, bad, "hostile.html", "/nonexistent"), len(stored))
    cli.check("script" in hostile.tags and hostile.tags.count("script") == 1 and "img" not in hostile.tags, "markup let in")
    model = hostile.data()["best"][0]["device"]["model"]
    cli.check(model.startswith(HOSTILE) and "\\xff" in model, f"the model in the data: {model}")

    one = cli.scratch / "one.html"
    cli.run("report", "--format", "html", "--shape", "1x64x512", "--state", "hot", "--db", good, "--out", one)
    cli.check(len(Page(one).data()["best"]) == 1, "filters are not honoured")
    cli.run("report", "--format", "html", "--op", "softmax", "--db", good, "--out", one, expect=3)
    cli.run("report", "--format", "html", "--json", "--db", good, expect=2)
    cli.check(cli.run("report", "--format", "html", "--db", good).stdout.startswith("<!DOCTYPE html>"), "standard output")
    cli.done()


if __name__ == "__main__":
    main()
