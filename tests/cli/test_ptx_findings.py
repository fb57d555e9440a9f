# SPDX-License-Identifier: MIT
"""ptx check on small kernels, each with one mistake or mended: exactly the findings that its comments expect.

In tests/cli/ptx/*.ptx a line ends in `// expect: SEVERITY RULE; SEVERITY RULE` where it is to blame, and
`// args: WORDS` gives options.  The assembler is left out: what it says is in test_ptx_assembled.py.
"""
import pathlib
import re

from cli_support import Cli


def main():
    cli = Cli()
    cli.env["TCBTUNE_ASSEMBLER"] = "none"
    files = sorted((pathlib.Path(__file__).parent / "ptx").glob("*.ptx"))
    mistakes = 0
    for path in files:
        text = path.read_text()
        args = re.findall(r"^// args: (.*)$", text, re.M)
        expected = {(number, *one.split()) for number, line in enumerate(text.splitlines(), 1)
                    for all_of_line in re.findall(r"// expect: (.*)$", line) for one in all_of_line.split("; ")}
        has_errors = any(severity == "error" for _, severity, _ in expected)
        report = cli.json("ptx", "check", path, *" ".join(args).split(), schema="ptx-check",
                          expect=4 if has_errors else 0)
        found = {(row["line"], row["severity"], row["rule"]) for row in report["findings"]}
        cli.check(found == expected, f"{path.name}: missing {expected - found}, unexpected {found - expected}")
        cli.check(report["errors"] == sum(row["severity"] == "error" for row in report["findings"]),
                  f"{path.name}: the errors are miscounted")
        mistakes += bool(expected)
    cli.check(mistakes >= 10 and len(files) - mistakes >= 3, "too few files")
    cli.done()


main()
