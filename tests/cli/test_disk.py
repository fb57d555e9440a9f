# SPDX-License-Identifier: MIT
"""A full disk, a file-size limit, a read-only file system: one line that says what to do, nothing lost.

The file systems are mounted in a namespace of this test's own (unshare); where that is not allowed the part is
skipped, and says so.
"""
import json
import os
import pathlib
import resource
import subprocess
import sys

from cli_support import SMALL, Cli

INSIDE = "TCB_TEST_NAMESPACE"


def enter_namespace():
    """Runs this script again where it may mount; comes back only where that is not possible."""
    if INSIDE in os.environ:
        return True
    command = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    probe = subprocess.run([*command, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True)
    if probe.returncode:
        return False
    os.execvpe(command[0], [*command, sys.executable, "-W", "ignore", *sys.argv], {**os.environ, INSIDE: "1"})


def mount(options, folder):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True)


def one_line(cli, result, *words):
    lines = [line for line in result.stderr.splitlines() if "candidate" not in line and "stored trials" not in line and
             "--rotation" not in line]
    cli.check(len(lines) == 1 and lines[0].startswith("tcbtune: "), f"not one line: {result.stderr}")
    for word in words:
        cli.check(word in lines[0], f"'{word}' is not in: {lines[0]}")


def full_disk(cli):
    folder = cli.scratch / "small"
    folder.mkdir()
    mount("size=400k", folder)
    db = folder / "tuning.db"
    # The counters of a database without trials fit; trials with their samples soon do not.
    result = cli.run("sweep", *SMALL, "--db", db, "--budget", "60s", expect=1)
    one_line(cli, result, str(db), "full", "before is safe")
    subprocess.run(["mount", "-o", "remount,size=20m", str(folder)], check=True)
    cli.sound(db)
    stored = cli.trials(db)
    cli.check(stored > 0, "no trial was stored before the disk was full")
    after = cli.json("sweep", *SMALL, "--db", db, "--max-trials", 2, "--budget", "5s", schema="sweep")["sweeps"][0]
    cli.check(after["known"] > 0, f"{stored} trials are stored, {after['known']} known")
    # A report onto a full disk leaves the old file.
    out, other = folder / "report.md", cli.scratch / "limited.db"
    cli.run("report", "--db", other, "--format", "md", "--out", out)
    before = out.read_text()
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    result = cli.run("report", "--db", other, "--format", "json", "--out", out, expect=1)
    one_line(cli, result, str(out), "No space left")
    cli.check(out.read_text() == before, "the old report is gone")
    cli.check(sorted(p.name for p in folder.iterdir() if p.name.endswith(".tmp")) == [], "a partial file was left")


def full_disk_for_imports(cli):
    """An import that does not fit leaves the database as it was."""
    folder = cli.scratch / "tight"
    folder.mkdir()
    mount("size=20m", folder)
    db, export = folder / "tuning.db", cli.scratch / "many.json"
    cli.run("sweep", *SMALL, "--db", db, "--max-trials", 3, "--budget", "5s", "--counters", "none")
    cli.run("db", "export", "--json", "--db", db, "--out", export)
    document = json.loads(export.read_text())
    for i in range(300):
        winner = json.loads(json.dumps(document["winners"][0]))
        winner["problem"]["n"] = 64 * (i + 2)
        winner["sweep"]["uid"] = f"sweep {i}"
        document["winners"].append(winner)
    export.write_text(json.dumps(document))
    used = sum(path.stat().st_size for path in folder.iterdir())
    subprocess.run(["mount", "-o", f"remount,size={(used + 150000) // 4096 * 4}k", str(folder)], check=True)
    before = db.read_bytes()
    result = cli.run("db", "import", export, "--db", db, expect=1)
    one_line(cli, result, str(db), "before is safe")
    cli.check(db.read_bytes() == before, "an import onto a full disk changed the database")
    cli.sound(db)
    subprocess.run(["mount", "-o", "remount,size=20m", str(folder)], check=True)
    cli.run("db", "import", export, "--db", db)
    cli.sound(db)


def read_only_file_system(cli):
    folder = cli.scratch / "readonly"
    folder.mkdir()
    mount("size=1m", folder)
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    result = cli.run("sweep", *SMALL, "--db", folder / "tuning.db", expect=1)
    one_line(cli, result, "writ")


def file_size_limit(cli):
    """What a quota or `ulimit -f` does: writing fails in the middle, for another reason than a full disk."""
    db = cli.scratch / "limited.db"
    cli.run("sweep", *SMALL, "--db", db, "--max-trials", 1, "--budget", "5s")
    stored = cli.trials(db)
    limit = db.stat().st_size + 60000
    result = cli.run("sweep", *SMALL, "--db", db, "--budget", "60s", expect=1,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    one_line(cli, result, str(db), "before is safe")
    cli.sound(db)
    cli.check(cli.trials(db) >= stored, "a trial was lost")


def main():
    mounting = enter_namespace()
    cli = Cli()
    pathlib.Path(cli.scratch).mkdir(exist_ok=True)
    file_size_limit(cli)
    try:
        if mounting:
            full_disk(cli)
            full_disk_for_imports(cli)
            read_only_file_system(cli)
    finally:
        for name in ("small", "tight", "readonly"):
            subprocess.run(["umount", str(cli.scratch / name)], capture_output=True)
    cli.done()
    if not mounting:
        print("SKIPPED: no file system may be mounted here, so a full disk and a read-only one were not tried")
        sys.exit(77)


if __name__ == "__main__":
    main()
