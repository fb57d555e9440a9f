# SPDX-License-Identifier: MIT
"""Manual pages and completions agree with help: every command and option that `tcbtune help` lists is in each of
them; the shells that are installed read their script, and bash completes by it; mandoc finds no fault in a page."""
import re
import shutil
import subprocess

from cli_support import Cli

cli = Cli()
root = cli.fixtures.resolve().parents[1]
commands = re.findall(r"^  (\w+) ", cli.run("help").stdout, re.M)
cli.check(len(commands) > 10, "the list of commands has rows")
scripts = {shell: cli.run("completion", shell).stdout for shell in ("bash", "zsh", "fish")}
overview = cli.run("help", "--format", "man").stdout
cli.check(re.findall(r"^\.BR tcbtune\\-(\w+) \(1\)$", overview, re.M)[:len(commands)] == commands,
          "tcbtune(1) lists the commands of help")


def lint(page, text):
    if shutil.which("mandoc"):
        said = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=text, capture_output=True, text=True)
        cli.check(said.returncode == 0 and not said.stdout, f"{page}: {said.stdout}{said.stderr}")


def parts(script, shell, command):
    """What SCRIPT has for COMMAND."""
    if shell == "fish":
        return "\n".join(line for line in script.splitlines() if f"from {command}'" in line)
    return re.search(rf"^\t{command}\)\n(.*?)^\t(?:\t;;|esac)$", script, re.M | re.S)[1]


lint("tcbtune(1)", overview)
for command in commands:
    help_text = cli.run("help", command).stdout
    options = set(re.findall(r"^  --([a-z-]+)", help_text, re.M))
    page = cli.run("help", "--format", "man", command).stdout
    lint(f"tcbtune-{command}(1)", page)
    paged = {name.replace("\\-", "-") for name in re.findall(r"^\\fB\\-\\-([a-z\\-]+)\\fR", page, re.M)}
    cli.check(paged == options, f"tcbtune-{command}(1) and help differ: {paged ^ options}")
    described = " ".join(help_text.split("\n\n")[1].split())
    cli.check(described in " ".join(page.replace("\\-", "-").replace("\\e", "\\").replace("\n.br", "").replace("\\&", "").split()),
              f"tcbtune-{command}(1) lacks what help says")
    for shell, pattern in (("bash", r" --([a-z-]+)"), ("zsh", r"'\*?--([a-z-]+)"), ("fish", r" -l ([a-z-]+)")):
        part = parts(scripts[shell], shell, command)
        if shell == "bash":
            part = re.search(r"words='([^']*)'", part)[0].replace("'", " ")
        cli.check(set(re.findall(pattern, part)) == options,
                  f"{shell}, {command}: {set(re.findall(pattern, part)) ^ options}")

for shell, script in scripts.items():
    if shutil.which(shell):
        said = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
        cli.check(said.returncode == 0 and not said.stderr, f"{shell} does not read its script: {said.stderr}")


def bash(*words):
    """What bash offers for the last of WORDS."""
    line = " ".join(f"'{word}'" for word in words)
    said = subprocess.run(["bash", "--norc"], capture_output=True, text=True, input=(
        f"{scripts['bash']}\nCOMP_WORDS=(tcbtune {line})\nCOMP_CWORD={len(words)}\n_tcbtune\nprintf '%s\\n' ${{COMPREPLY[@]}}\n"))
    cli.check(not said.stderr, said.stderr)
    return said.stdout.split()


cli.check(bash("rep") == ["report", "replay"] or bash("rep") == ["replay", "report"], f"rep: {bash('rep')}")
cli.check(bash("sweep", "--op", "softm") == ["softmax"], "the ops")
cli.check(bash("sweep", "--op", "=", "softm") == ["softmax"], "the ops after =")
cli.check(bash("report", "--format", "cs") == ["csv"], "the words of an option")
cli.check(bash("db", "impo") == ["import"], "the words of an argument")
cli.check(bash("report", "--out", "") == [], "files are left to the shell")
cli.check(bash("help", "swe") == ["sweep"], "the commands")

released = re.search(r"^## (\S+) \((\S+)\)$", (root / "CHANGELOG.md").read_text(), re.M).groups()
cli.check(released == (cli.json("version", schema="version")["version"], re.search(r"^\.TH TCBTUNE 1 (\S+)", overview)[1]),
          f"CHANGELOG.md begins with {released}, the program is another version or its manuals have another day")
cli.done()
