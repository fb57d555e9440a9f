#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries the plug-in in every ggml that can be had, and writes the table of docs/ggml-versions.md.

    scripts/try-ggml-versions.py --plugin libggml-tcbtune.so [--write] [--last 18] [--build FOLDER ...]
        [--source PACKAGE ...] [--keep build/ggml-versions]

Wheels of xllamacpp and pywhispercpp are taken from the package index, the newest --last of each, and kept.  --build tries
a ggml that was built here (the folder has libggml.so, libggml-base.so and libggml-cpu.so somewhere); --source builds that
of a package's newest source distribution (llama-cpp-python, which has no wheels; some minutes).  Each is loaded in a
process of its own, which computes products, mixtures and rows in the formats that it can quantise to and compares them
with its own CPU backend (integrations/ggml/try_host.py).

Exit: 0 every ggml is taken and right, or refused with a reason; 1 otherwise; 2 wrong usage.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs/ggml-versions.md"
PACKAGES = ("xllamacpp", "pywhispercpp")
SAID = "tcbtune for ggml: "
TEXT = """# The versions of ggml that the plug-in was tried in

Written by `scripts/try-ggml-versions.py`. {taken} of {all} are taken, with {versions} versions of ggml; in each, every
graph of the third column (products of one token and five, of mixtures, rows of tables, in every format that the host can
quantise to) gave what the host's own CPU backend gives. `integrations/ggml/README.md` says how a version is told, and
what to do about one that is refused.

| ggml | in | graphs that agreed | what the plug-in said |
|---|---|---|---|
"""


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plugin", required=True, type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--last", type=int, default=18)
    parser.add_argument("--build", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--source", action="append", default=[])
    parser.add_argument("--keep", type=pathlib.Path, default=ROOT / "build/ggml-versions")
    return parser.parse_args()


def pip(*words):
    return subprocess.run([sys.executable, "-m", "pip", *words, "--disable-pip-version-check"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def releases(package, last):
    """The newest LAST versions, newest first."""
    found = re.search(r"Available versions: (.*)", pip("index", "versions", package).stdout)
    return found[1].split(", ")[:last] if found else []


def wheel(package, version, keep):
    """Where the wheel is unpacked; None: there is none for this machine."""
    folder = keep / f"{package}-{version}"
    if not folder.is_dir():
        got = pip("install", "--quiet", "--no-deps", "--only-binary=:all:", "--target", str(folder),
                  f"{package}=={version}")
        if got.returncode:
            return None
    return folder


def build(package, keep):
    """ggml of PACKAGE's newest source, built for this machine; (folder, version of the package)."""
    if not list(keep.glob(f"{package.replace('-', '_')}-*.tar.gz")):
        pip("download", "--quiet", "--no-deps", "--no-binary=:all:", "--dest", str(keep), package)
    archives = sorted(keep.glob(f"{package.replace('-', '_')}-*.tar.gz"))
    if not archives:
        sys.exit(f"{package}: its source distribution cannot be had from the package index")
    name = archives[-1].name.removesuffix(".tar.gz")
    if not (keep / name).is_dir():
        with tarfile.open(archives[-1]) as archive:
            archive.extractall(keep, filter="data")
    source = next(path.parent.parent for path in (keep / name).rglob("ggml-backend-impl.h"))
    # A source distribution may lack what only installing needs.
    (source / "ggml.pc.in").touch()
    out = keep / f"build-{name}"
    for command in (["cmake", "-S", source, "-B", out, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON",
                     "-DGGML_BUILD_TESTS=OFF", "-DGGML_BUILD_EXAMPLES=OFF"], ["cmake", "--build", out, "-j2"]):
        if subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
            sys.exit(f"{name}: its ggml cannot be built here")
    return out, name


def attempt(plugin, where, name):
    """A row: version of ggml, where it is from, its state, how many graphs, what the plug-in said.  State "absent": there is
    no ggml that loads backends."""
    run = subprocess.run([sys.executable, str(ROOT / "integrations/ggml/try_host.py"), "--plugin", str(plugin),
                          *map(str, where)], capture_output=True, text=True)
    said = [line.removeprefix(SAID) for line in run.stderr.splitlines() if line.startswith(SAID)]
    try:
        answer = json.loads(run.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        answer = {"version": None, "state": "failed", "graphs": 0}
    if run.returncode or (answer["state"] == "refused" and not said):
        said = [f"**failed**: {(run.stderr.splitlines() or ['the host went down'])[-1]}"]
        answer["state"] = "failed"
    return {**answer, "from": name, "said": said[0] if said else ""}


def order(row):
    return [int(part) for part in re.findall(r"\d+", row["version"] or "0")], row["from"]


def main():
    args = parse()
    args.keep.mkdir(parents=True, exist_ok=True)
    rows = []

    def attend(name, *where):
        row = attempt(args.plugin.resolve(), where, name)
        if row["state"] == "absent":
            return
        print(f"{name}: ggml {row['version']}, {row['state']}, {row['graphs']} graphs; {row['said']}")
        rows.append(row)

    for package in PACKAGES:
        for version in releases(package, args.last):
            if folder := wheel(package, version, args.keep):
                attend(f"the wheel `{package}` {version}", "--wheel", folder, package)
    for package in args.source:
        folder, name = build(package, args.keep)
        attend(f"built here from `{name}.tar.gz`", "--build", folder)
    for folder in args.build:
        attend("built here", "--build", folder)
    if not rows:
        sys.exit("no ggml could be had: the package index is not reached")
    if args.write:
        taken = [row for row in rows if row["state"] == "taken"]
        head = TEXT.format(taken=len(taken), all=len(rows), versions=len({row["version"] for row in taken}))
        TABLE.write_text(head + "".join(
            f"| {row['version'] or 'before 0.9.4'} | {row['from']} | {row['graphs'] or ''} | {row['said'].replace('|', '/')} |\n"
            for row in sorted(rows, key=order)))
    sys.exit(any(row["state"] == "failed" for row in rows))


if __name__ == "__main__":
    main()
