#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package of what was built, as a wheel.

    scripts/make-wheel.py BUILD OUT     e.g. build/portable dist (targets tcbtune, tcbrt and tcbptx were built)

The wheel holds the program, libtcbrt, libtcbptx and the modules of integrations/python.  Its platform tag is the glibc
that these need: manylinux_2_35_x86_64 where they need nothing else, as of preset portable; else linux_x86_64, which no
package index takes.  'auditwheel show' says the same.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What manylinux lets a wheel expect of the system: glibc.
GLIBC = re.compile(r"^(lib(c|m|dl|rt|pthread)\.so\.\d+|ld-linux.*\.so\.\d+)$")
PYTHONS = "py3-none"


def version():
    return re.search(r"^project\(tcbtune VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def read_elf(path, flag):
    return subprocess.run(["readelf", "-W", flag, path], capture_output=True, text=True, check=True).stdout


def machine(path):
    return {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}[
        re.search(r"Machine:\s+(.*)", read_elf(path, "-h"))[1]]


def tag(binaries):
    """Of the platform that all of BINARIES run on."""
    needed = {name for path in binaries for name in re.findall(r"NEEDED.*\[(.*)\]", read_elf(path, "-d"))}
    others = sorted(name for name in needed if not GLIBC.match(name))
    versions = {tuple(map(int, v)) for path in binaries
                for v in re.findall(r"GLIBC_(\d+)\.(\d+)", read_elf(path, "-V"))}
    if others:
        print(f"not for a package index: needs {', '.join(others)}; preset portable needs nothing but glibc",
              file=sys.stderr)
        return f"linux_{machine(binaries[0])}"
    major, minor = max(versions)
    return f"manylinux_{major}_{minor}_{machine(binaries[0])}"


def strip(path, folder):
    out = folder / path.name
    tool = os.environ.get("STRIP", "strip" if machine(path) == platform.machine() else f"{machine(path)}-linux-gnu-strip")
    subprocess.run([tool, "-o", out, path], check=True)
    return out.read_bytes()


def contents(build, folder, platform_tag):
    """(name in the wheel, bytes, is it executable) of each file but the last, RECORD."""
    number, package = version(), ROOT / "integrations" / "python" / "tcbtune"
    yield "tcbtune/bin/tcbtune", strip(build / "src/cli/tcbtune", folder), True
    for name in ("rt/libtcbrt", "tcbptx/libtcbptx"):
        path = build / f"src/{name}.so.0"
        yield f"tcbtune/lib/{path.name}", strip(path, folder), True
    for path in sorted(package.glob("*.py")):
        yield f"tcbtune/{path.name}", path.read_text().replace("@VERSION@", number).encode(), False
    yield "tcbtune/rt.py", (ROOT / "examples/python/tcbrt.py").read_bytes(), False
    yield "tcbtune/py.typed", b"", False
    info = f"tcbtune-{number}.dist-info"
    yield f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes(), False
    yield f"{info}/entry_points.txt", b"[console_scripts]\ntcbtune = tcbtune.__main__:main\n", False
    yield f"{info}/WHEEL", (f"Wheel-Version: 1.0\nGenerator: scripts/make-wheel.py\nRoot-Is-Purelib: false\n"
                            f"Tag: {PYTHONS}-{platform_tag}\n").encode(), False
    readme = (ROOT / "integrations/python/README.md").read_text()
    yield f"{info}/METADATA", (f"Metadata-Version: 2.4\nName: tcbtune\nVersion: {number}\n"
                               "Summary: Autotuner for Tiling Compute Blocks: kernels of its own and of yours\n"
                               "License-Expression: MIT\nLicense-File: LICENSE\nRequires-Python: >=3.9\n"
                               "Requires-Dist: numpy\n"
                               f"Description-Content-Type: text/markdown\n\n{readme}").encode(), False


def add(archive, name, data, is_executable):
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.external_attr = (0o100755 if is_executable else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    options = parser.parse_args()
    binaries = [options.build / f"src/{name}" for name in ("cli/tcbtune", "rt/libtcbrt.so.0", "tcbptx/libtcbptx.so.0")]
    missing = [str(path) for path in binaries if not path.exists()]
    if missing:
        sys.exit(f"not built: {', '.join(missing)}")
    platform_tag = tag(binaries)
    wheel = options.out / f"tcbtune-{version()}-{PYTHONS}-{platform_tag}.whl"
    options.out.mkdir(parents=True, exist_ok=True)
    record = []
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel, "w") as archive:
        for name, data, is_executable in contents(options.build, pathlib.Path(folder), platform_tag):
            add(archive, name, data, is_executable)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}\n")
        name = f"tcbtune-{version()}.dist-info/RECORD"
        add(archive, name, "".join(record) + f"{name},,\n", False)
    print(wheel)


main()
