# SPDX-License-Identifier: MIT
"""docs/ops.md holds the table that `tcbtune ops --markdown` prints, a section for each op, and where they run; docs/search.md the table
of efforts that `tcbtune help sweep` prints; docs/specification.md the options of every command, and says of those that
no command has that they are not built; docs/falsification.md the claims of
`tcbtune verify` and what was found; the README, the other pages and the examples' YAML name no option that a command lacks."""
import re

from cli_support import Cli

MARK = "<!-- tcbtune ops --markdown -->\n"

cli = Cli()
table = cli.run("ops", "--markdown").stdout
page = (cli.fixtures / ".." / ".." / "docs" / "ops.md").read_text()
parts = page.split(MARK)
cli.check(len(parts) == 3, "docs/ops.md has no place for the table between two marks")
cli.check(parts[1] == table, f"docs/ops.md is out of date; put this between its marks:\n{table}")
names = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
cli.check(len(names) > 10, "the table has rows")
for name in names:
    cli.check(f"`{name}`" in parts[2], f"docs/ops.md says nothing about {name} below its table")
# What it says of formats whose codes are fields, on CPUs and on GPUs: their products have candidates on both.
cli.check("on CPUs and on GPUs" in " ".join(parts[2].split("###")[0].split()), "docs/ops.md does not say where formats run")
each = [op["name"] for op in cli.json("ops", schema="ops")["ops"]]
cli.check(len(each) > 2 * len(names), "ops that differ in their weights' format alone share rows")
cli.check([line.split()[0] for line in cli.run("ops", "--all").stdout.splitlines()[1:]] == each, "--all lists each op")
for name in (name for name in each if re.fullmatch(r"(q[456]k|q[48]0|mxfp4|iq4xs|iq4nl)_(matvec|matmul)", name)):
    for device in ("cpu:avx2", "sm_75", "sm_90"):
        count = cli.run("space", "--op", name, "--device", device, "--count", "--shape",
                        "32x256x256" if "matmul" in name else "1x256x256").stdout
        cli.check(int(count.split()[0].replace(",", "")) > 0, f"{name} has no candidate on {device}")
cli.run("ops", "--markdown", "--json", expect=2)
lines = cli.run("help", "sweep").stdout.splitlines()
efforts = lines[next(i for i, line in enumerate(lines) if line.startswith("  effort  ")):][:6]
text = "\n".join("  " + line for line in efforts)
cli.check(text in (cli.fixtures / ".." / ".." / "docs" / "search.md").read_text(),
          f"docs/search.md lacks the table of efforts:\n{text}")

docs = cli.fixtures.resolve().parents[1] / "docs"
specification = (docs / "specification.md").read_text()
block = specification.split("## 10. Command line")[1].split("\nDatabase:")[0]
not_built = specification.split("Not built yet")[1]
commands = re.findall(r"^  (\w+) ", cli.run("--help").stdout, re.M)
cli.check(len(commands) > 10, "the list of commands has rows")
options = {}
for command in commands:
    text = cli.run("help", command).stdout
    cli.check(not re.search(" $", text, re.M), f"help {command} has blanks at the end of a line")
    options[command] = set(re.findall(r"^  (--[a-z-]+)", text, re.M)) - {"--help"}
    line = re.search(rf"(?:^ +tcbtune |\| ){command}\b([^\n]*)", block, re.M)
    cli.check(line, f"docs/specification.md has no line of {command}")
    own = line.group(1).split(" | ")[0] if command in ("ops", "devices", "doctor", "version", "completion", "help") else line.group(1)
    named = set(re.findall(r"--[a-z][a-z-]*", own))
    cli.check(options[command] <= named,
              f"docs/specification.md, {command}: lacks {sorted(options[command] - named)}")
    for option in named - options[command]:
        cli.check(f"{option}`" in not_built or f"{option} " in not_built,
                  f"docs/specification.md, {command}: there is no {option}, and it is not among what is not built")
for page in [docs.parent / "README.md", *docs.rglob("*.md"), *(docs.parent / "examples").rglob("*.y*ml")]:
    if page.name == "specification.md":
        continue
    for command, rest in re.findall(r"tcbtune (\w+)([^\n`]*)", page.read_text()):
        for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", rest.split(" # ")[0]):
            if option in ("--kernel", "--problem"):  # of any command (docs/how-to/tune-your-own-kernel.md)
                continue
            cli.check(option in options.get(command, [option]), f"{page.name}: {command} has no option {option}")
# Every claim has its line, with the claim, threshold and method that the program has today.
reports = docs.parent / "results" / "verify"
made = cli.run("verify", "--from", reports / "cpu.json", "--from", reports / "h100.json", "--format", "md").stdout
falsification = (docs / "falsification.md").read_text()
claims = [line for line in made.splitlines() if re.match(r"\| [FI]\d{3} ", line)]
cli.check(len(claims) == 17 + 115, f"verify has {len(claims)} claims, not 17 criteria and 115 items")
for line in claims:
    cli.check(line in falsification, f"docs/falsification.md is out of date: it lacks {line[:150]}")
    cli.check("not asked for" not in line, f"results/verify lacks a measurement: {line[:100]}")
cli.done()
