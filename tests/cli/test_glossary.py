# SPDX-License-Identifier: MIT
"""What a reader may look up is there: docs/glossary.md has each knob of src/base/geometry.h with its values and each
column of report; docs/specification.md has each id of a constraint or check that a text of the program cites; links
between the pages and to pictures lead somewhere, and the pictures are XML."""
import re
import xml.etree.ElementTree

from cli_support import Cli

cli = Cli()
root = cli.fixtures.resolve().parents[1]
glossary = (root / "docs" / "glossary.md").read_text()
knobs_part, columns_part = (glossary.split(f"\n## {title}")[1].split("\n## ")[0] for title in ("Knobs\n", "Columns of `report`\n"))

header = (root / "src" / "base" / "geometry.h").read_text()
knobs = re.findall(r'X\(\w+, "(\w+)", (COMMON|CPU|GPU), (\w+),', header)
cli.check(len(knobs) > 20, "the list of knobs was found")
rows = {name: (place, values) for name, place, values in re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]*) \|", knobs_part, re.M)}
cli.check(set(rows) == {name for name, _, _ in knobs}, f"knobs and glossary differ: {set(rows) ^ {name for name, _, _ in knobs}}")
for name, scope, kind in knobs:
    cli.check(rows[name][0] == {"COMMON": "both"}.get(scope, scope), f"{name} is of {scope}, the glossary says {rows[name][0]}")
    if kind == "NUMBER":
        continue
    words = re.search(rf"#define TCB_{kind}_LIST\(X, K\)(.*?[^\\])\n", header, re.S)[1]
    for word in re.findall(r'X\(K, \w+, "(\w+)"\)', words):
        cli.check(word in re.findall(r"\w+", rows[name][1]) or (name, word) == ("passes", "none"), f"{name}: the glossary lacks {word}")

said = " ".join(cli.run("help", "report").stdout.split())
columns = re.search(r"columns of the table: ([a-z, ]+?) \[", said)[1].split(", ")
cli.check(len(columns) > 10, "the columns were found")
cli.check(set(re.findall(r"^\| `(\w+)` \|", columns_part, re.M)) == set(columns), f"columns and glossary differ: {columns}")

specification = (root / "docs" / "specification.md").read_text()
cited = set()
for path in (root / "src").rglob("*.c"):
    for text in re.findall(r'"(?:[^"\\\n]|\\.)*"', path.read_text()):
        cited |= set(re.findall(r"\b(?:H\d{1,2}|F3\d\d)\b", text)) | set(re.findall(r'^"([SV]\d)"$', text))
cli.check({"H1", "H15", "V4"} <= cited, f"the ids were found: {cited}")
for name in sorted(cited):
    cli.check(re.search(rf"\b{name}\b", specification.split("## 11")[1]) if name[0] == "F" else f"\n| {name} | " in specification,
              f"docs/specification.md has no place for {name}, which the program cites")

links = 0
for page in [root / "README.md", *(root / "docs").rglob("*.md")]:
    for target in re.findall(r"\]\(([^)#: ]+)\)", page.read_text()):
        cli.check((page.parent / target).exists(), f"{page.relative_to(root)}: {target} is nowhere")
        links += 1
cli.check(links > 5, "links were found")
for picture in (root / "docs").rglob("*.svg"):
    xml.etree.ElementTree.parse(picture)
    cli.check("prefers-color-scheme: dark" in picture.read_text(), f"{picture.name} cannot be read in the dark")
cli.done()
