#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the PTX of the planted hazards again, with the nvcc that is installed.

    make.py [--nvcc NVCC] [--jobs N] [--only TEXT] [--force]

Each *.cu holds the cases of one class (cases.py says how they are written).  A case becomes ptx/NAME.planted.ptx and
ptx/NAME.mended.ptx, whose first line has the digest of what they were made of: what is current is kept, and what
belongs to no case is removed.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import cases


def strip(text):
    """Without comments, empty lines, and folders of source files."""
    kept = []
    for line in text.splitlines():
        line = re.sub(r'(\.file\s+\d+\s+)"(?:[^"]*/)?([^"/]*)"(, \d+, \d+)?', r'\1"\2"', line)
        line = re.sub(r"^\s*//.*$", "", line).rstrip()
        if line:
            kept.append(line)
    return "\n".join(kept) + "\n"


def compile_twin(nvcc, case, twin):
    with tempfile.TemporaryDirectory(prefix="hazards-") as folder:
        source = pathlib.Path(folder, case.file)
        source.write_text(case.source)
        define = ["-DIS_PLANTED"] if twin == "planted" else []
        made = subprocess.run([nvcc, "-ptx", "-lineinfo", "-std=c++17", "-w", f"-arch={case.target}", *define, "-I",
                               str(cases.HERE), "-o", "out.ptx", case.file], cwd=folder, capture_output=True, text=True)
        if made.returncode:
            return made.stdout + made.stderr
        case.ptx(twin).write_text(f"// {case.digest}\n" + strip(pathlib.Path(folder, "out.ptx").read_text()))
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="")
    parser.add_argument("--force", action="store_true")
    args = parser.parse_args()
    everything = cases.read()
    (cases.HERE / "ptx").mkdir(exist_ok=True)
    known = {case.ptx(twin) for case in everything for twin in cases.TWINS}
    for path in (cases.HERE / "ptx").glob("*.ptx"):
        if path not in known:
            path.unlink()
    wanted = [(case, twin) for case in everything if args.only in f"{case.group} {case.name}" for twin in cases.TWINS
              if args.force or not case.is_current(twin)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = {pool.submit(compile_twin, args.nvcc, *job): job for job in wanted}
        for job in concurrent.futures.as_completed(jobs):
            if job.result():
                case, twin = jobs[job]
                print(f"{case.file}: {case.name}, {twin}:\n{job.result()}")
                failed += 1
    for case in everything:
        texts = [case.ptx(twin) for twin in cases.TWINS]
        if not case.differs_in_launch and all(path.exists() for path in texts) and texts[0].read_text() == texts[1].read_text():
            print(f"{case.name}: the compiler made the same of both twins")
            failed += 1
    print(f"{len(everything)} cases, {len(wanted)} texts made, {failed} failures")
    sys.exit(1 if failed else 0)


main()
