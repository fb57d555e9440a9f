# SPDX-License-Identifier: MIT
"""Files that --out names: what is replaced keeps its mode, links are followed, and no temporary file stays."""
import fcntl
import os
import stat
import subprocess

from cli_support import SMALL, Cli


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def modes(cli, db):
    out = cli.scratch / "report.md"
    cli.run("report", "--db", db, "--format", "md", "--out", out)
    umask = os.umask(0)
    os.umask(umask)
    cli.check(mode_of(out) == 0o666 & ~umask, f"a new file has the mode {mode_of(out):o}")
    for mode in (0o600, 0o640, 0o664, 0o755):
        out.chmod(mode)
        cli.run("report", "--db", db, "--format", "md", "--out", out)
        cli.check(mode_of(out) == mode, f"mode {mode:o} became {mode_of(out):o}")


def links(cli, db):
    """A link, and a chain of them, lead to a file that need not be there yet."""
    folder = cli.scratch / "elsewhere"
    folder.mkdir()
    for number, target in enumerate([folder / "absolute.md", "elsewhere/relative.md", "chain2.md", "here.md"]):
        link = cli.scratch / f"link{number}.md"
        link.symlink_to(target)
    (cli.scratch / "chain2.md").symlink_to("elsewhere/../elsewhere/end.md")
    for number, target in enumerate(["elsewhere/absolute.md", "elsewhere/relative.md", "elsewhere/end.md", "here.md"]):
        link, file = cli.scratch / f"link{number}.md", cli.scratch / target
        for there in (False, True):
            cli.check(file.exists() == there, f"{file} is there: {not there}")
            cli.run("report", "--db", db, "--format", "md", "--out", link if number % 2 else link.name, cwd=cli.scratch)
            cli.check(link.is_symlink(), f"{link} was replaced")
            cli.check(file.is_file() and not file.is_symlink(), f"{link} did not lead to {file}")
    for name, target in (("nowhere.md", "no/such/folder/x.md"), ("circle.md", "circle.md")):
        (cli.scratch / name).symlink_to(target)
        said = cli.run("report", "--db", db, "--format", "md", "--out", cli.scratch / name, expect=1).stderr
        cli.check("cannot" in said and (cli.scratch / name).is_symlink(), said)


def leftovers(cli, db):
    """What a killed export left beside its file goes next time; what another one writes at the moment stays."""
    out = cli.scratch / "winners.json"
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = [cli.scratch / f"winners.json.{pid}.tmp" for pid in (dead.pid, 1, 4194303)]
    others = [cli.scratch / name for name in ("winners.json.tmp", "winners.json.12x.tmp", "other.json.7.tmp",
                                              "winners.json.12.tmp2")]
    alive = cli.scratch / "winners.json.77.tmp"
    for path in left + others + [alive]:
        path.write_text("half of")
    with open(alive) as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        cli.run("db", "export", "--json", "--db", db, "--out", out)
    for path in left:
        cli.check(not path.exists(), f"{path.name} was left")
    for path in others + [alive]:
        cli.check(path.exists(), f"{path.name} was removed")
    cli.run("db", "export", "--json", "--db", db, "--out", out)
    cli.check(not alive.exists(), "the file of a writer that is gone was left")


def main():
    cli = Cli()
    db = cli.scratch / "tuning.db"
    cli.run("sweep", *SMALL, "--db", db, "--max-trials", 1, "--budget", "5s")
    modes(cli, db)
    links(cli, db)
    leftovers(cli, db)
    cli.done()


if __name__ == "__main__":
    main()
