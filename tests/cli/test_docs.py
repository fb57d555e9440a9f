# SPDX-License-Identifier: MIT
"""docs/ops.md holds the table that `tcbtune ops --markdown` prints, and a section for each op; docs/search.md the table
of efforts that `tcbtune help sweep` prints."""
from cli_support import Cli

MARK = "<!-- tcbtune ops --markdown -->\n"

cli = Cli()
table = cli.run("ops", "--markdown").stdout
page = (cli.fixtures / ".." / ".." / "docs" / "ops.md").read_text()
parts = page.split(MARK)
cli.check(len(parts) == 3, "docs/ops.md has no place for the table between two marks")
cli.check(parts[1] == table, f"docs/ops.md is out of date; put this between its marks:\n{table}")
names = [line.split("`")[1] for line in table.splitlines()[2:]]
cli.check(len(names) > 10, "the table has rows")
for name in names:
    cli.check(f"`{name}`" in parts[2], f"docs/ops.md says nothing about {name} below its table")
cli.run("ops", "--markdown", "--json", expect=2)
lines = cli.run("help", "sweep").stdout.splitlines()
efforts = lines[next(i for i, line in enumerate(lines) if line.startswith("  effort  ")):][:6]
text = "\n".join("  " + line for line in efforts)
cli.check(text in (cli.fixtures / ".." / ".." / "docs" / "search.md").read_text(),
          f"docs/search.md lacks the table of efforts:\n{text}")
cli.done()
