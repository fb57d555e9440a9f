#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/gpu/session.py on the fake driver: test_gpu_session.py SESSION TCBTUNE GPU_CANDIDATES BITS_TEST DRIVER_FOLDER

Lists every part without writing anything, draws and compiles kernels, runs them with a stand-in for compute-sanitizer
that hangs for one tool, ends that, goes on where it ended, and packs what it found.
"""
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time

TOOL = """#!/bin/sh
tool=$2
shift 6
case $tool in
racecheck) [ -e "$0.calm" ] || { sleep 61234 & echo $! >"$0.pid"; wait; } ;;
synccheck) echo "========= ERROR SUMMARY: 1 error"; exit 9 ;;
esac
"$@"
"""


def expect(condition, what, text=""):
    if not condition:
        sys.exit(f"{what}\n{text}")


def main():
    session, *programs, driver = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        bundle, out, tools = work / "gpu-check", work / "out", work / "bin"
        bundle.mkdir()
        tools.mkdir()
        for name, program in zip(("tcbtune", "gpu_candidates", "test_rt_rt_bits_gpu"), programs):
            (bundle / name).symlink_to(program.resolve())
        tool = tools / "compute-sanitizer"
        tool.write_text(TOOL, encoding="utf-8")
        tool.chmod(0o755)
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(driver),
                       "FAKE_CUDA": "90:shared=227", "TCBTUNE_ASSEMBLER": "none", "TCBTUNE_DB": str(work / "none.db"), "TCBTUNE_SYSTEM_DB": ""}

        def run(*words):
            done = subprocess.run([sys.executable, session, bundle, out, *words], env=environment, capture_output=True, text=True,
                                  timeout=280)
            return done.returncode, done.stdout + done.stderr

        status, text = run("nonsense")
        expect(status == 2 and "parts are" in text, "a part that there is not", text)
        parts = ["prepare", "bits", "price", "sanitize", "random", "table", "engine", "attention", "chain"]
        status, text = run(*parts, "--list")
        listed = {line.split("\t")[0] for line in text.splitlines()}
        expect(status == 0 and listed == set(parts) - {"sanitize"} and not out.exists(), "--list", text)

        for wanted in (3, 0):  # the kernels are known once the first call has drawn them
            status, text = run("prepare", "--count", "2", "--seed", "4")
            expect(status in (0, wanted), "prepare", text)
        expect(len(list((out / "prepare").glob("*.kernels"))) == 2, "two kernels", text)

        begun = tools / "compute-sanitizer.pid"
        for _ in range(6):  # of a busy machine the first calls do not come to what hangs
            status, text = run("sanitize=25")
            expect(status == 3 and "racecheck     0 right" in text, "what hangs is left", text)
            if begun.exists():
                break
        sleeper = int(begun.read_text())
        time.sleep(0.5)
        stat = pathlib.Path(f"/proc/{sleeper}/stat")
        expect(not stat.exists() or stat.read_text().split()[2] == "Z", "what a step started outlives it", text)
        (tools / "compute-sanitizer.calm").touch()
        before = len((out / "sanitize/done.txt").read_text().splitlines())
        status, text = run("sanitize=200")
        after = (out / "sanitize/done.txt").read_text().splitlines()
        expect(status == 1 and "racecheck     2 right" in text and "synccheck     0 right,   2 found by the tool" in text,
               "it goes on", text)
        expect(before == 4 and len(after) == len({line.split("\t")[0] for line in after}) == 10, "nothing runs twice", str(after))
        with tarfile.open(out / "sanitize.tar.xz") as tar:
            expect({"sanitize/summary.txt", "sanitize/done.txt"} <= set(tar.getnames()), "one file of it", str(tar.getnames()))


if __name__ == "__main__":
    main()
