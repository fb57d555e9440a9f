# SPDX-License-Identifier: MIT
"""The pictures and transcripts of the README and the how-tos show what their commands print today: scripts/record-docs.py
--check says so, and notices a picture with another header, row or verdict, a page that names no command, a picture or
transcript that nobody listed, and a kernel that is not today's."""
import importlib.util
import pathlib
import subprocess
import sys

from cli_support import Cli

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "record-docs.py"


def load():
    spec = importlib.util.spec_from_file_location("record_docs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def check_words(cli, module):
    table = ["OP  SHAPE    \u00b5s  VERDICT", "q4k_matvec  1x4096x4096  2.96 [2.9, 3.1]  tuned"]
    cli.check(not module.difference(table, ["OP SHAPE \u00b5s VERDICT", "q4k_matvec 1x4096x4096 31.5 [30, 33.0] tuned"]),
              "figures and blanks make a difference")
    for other in ("q4k_matvec 1x4096x4096 2.96 [2.9, 3.1] stale", "q4k_matvec 1x4096x2048 2.96 [2.9, 3.1] tuned",
                  "q4k_matmul 1x4096x4096 2.96 [2.9, 3.1] tuned"):
        cli.check(module.difference(table, [table[0], other]), f"not noticed: {other}")
    cli.check(module.difference(table, ["OP SHAPE ns VERDICT", table[1]]), "another header is not noticed")
    cli.check(module.difference(table, table[:1]), "a row that is gone is not noticed")


def check_pages(cli, module):
    page = ROOT / "docs" / "how-to" / "planted.md"
    module.ROOT, module.PAGES = cli.scratch, [cli.scratch / "docs" / "how-to" / page.name]
    module.PAGES[0].parent.mkdir(parents=True)
    module.PAGES[0].write_text("![of nothing](../pictures/nobody.svg)\n\n    $ tcbtune report\n    OP  SHAPE\n")
    found = list(module.check_pages())
    cli.check(len(found) == 2 and "nobody.svg" in found[0] and "tcbtune report" in found[1], f"not noticed: {found}")
    module.PAGES[0].write_text("![drawn](../pictures/tiles-cpu.svg)\n\n    tcbtune report\n")
    cli.check(not list(module.check_pages()), "a drawing and a command are taken for transcripts")


def check_kernels(cli, module):
    """Those of docs/wgsl.md: one that was changed, and one that nobody wrote, are noticed."""
    folder = cli.scratch / "kernels"
    (folder / "docs").mkdir(parents=True)
    module.ROOT = folder
    stage = module.Stage(pathlib.Path(cli.program), str(cli.scratch))
    module.make_kernels(stage)
    cli.check(not list(module.check_kernels(stage)), "what was made just now is taken for old")
    softmax, other = (folder / "docs" / "wgsl" / name for name in ("softmax.wgsl", "other.wgsl"))
    softmax.write_text(softmax.read_text().replace("max(", "min(", 1))
    other.write_text("")
    found = list(module.check_kernels(stage))
    cli.check(len(found) == 2 and "softmax.wgsl" in found[0] and "other.wgsl" in found[1], f"not noticed: {found}")


def main():
    cli = Cli()
    said = subprocess.run([sys.executable, SCRIPT, cli.program, "--check"], capture_output=True, text=True)
    cli.check(said.returncode == 0, f"{said.stdout}{said.stderr}scripts/record-docs.py TCBTUNE records them again")
    module = load()
    check_words(cli, module)
    check_pages(cli, module)
    check_kernels(cli, module)
    cli.done()


if __name__ == "__main__":
    main()
