# SPDX-License-Identifier: MIT
"""What the tests of HTML reports share: small databases, one with hostile texts, pages of them, and a parser."""
import html.parser
import json
import sqlite3

PLOTS = {"roofline", "progress", "distribution", "intervals", "effects", "ties", "loss"}
HOSTILE = "</script><script>throw 7</script><!-- \"><img src=x onerror=throw(8)> & '<b>"


def databases(cli):
    """A sound database of two shapes, and the same with texts that would break a page."""
    good, bad = cli.scratch / "good.db", cli.scratch / "b<b>&d.db"
    for shape in ("1x64x512", "1x128x512"):
        cli.run("sweep", "--op", "q4k_matvec", "--shape", shape, "--rotation", "8M", "--threads", "1", "--db", good,
                "--max-trials", "12", "--budget", "5s", "--counters", "none")
    bad.write_bytes(good.read_bytes())
    with sqlite3.connect(bad) as sql:
        sql.execute("update device set model = cast(? as text)", (HOSTILE.encode() + b"\xff\xfe\x1b[31m",))
        sql.execute("update device set name = '<img src=x onerror=throw(9)>'")
        sql.execute("update trial set message = ?", (HOSTILE,))
        sql.execute("update best set limit_method = ?", (HOSTILE[:60],))
    return good, bad


def page(cli, db, name):
    out = cli.scratch / name
    cli.run("report", "--format", "html", "--db", db, "--out", out)
    return out


class Page(html.parser.HTMLParser):
    """Elements, figures by their classes, and the text of each script."""

    VOID = {"meta", "br", "wbr", "input", "img", "link"}

    def __init__(self, path):
        super().__init__()
        self.open, self.figures, self.tags, self.attributes, self.scripts = [], [], [], [], []
        self.svg_in_figure = self.unnamed = 0
        self.text = path.read_bytes().decode("utf-8")  # strictly
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, k, v) for k, v in attrs]
        if tag == "figure":
            self.figures += dict(attrs)["class"].split()[1:]
        if tag == "svg":
            self.svg_in_figure += "figure" in self.open
        if tag == "script":
            self.scripts.append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, k, v) for k, v in attrs]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise ValueError(f"</{tag}> closes what is not open, at {self.getpos()}")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data

    def data(self):
        return json.loads(self.scripts[0])
