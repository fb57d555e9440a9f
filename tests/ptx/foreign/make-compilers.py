#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PTX of compilers other than nvcc: the corpus of Triton, numba, clang and GCC that `tcbtune ptx check` is judged by.

    make-compilers.py OUT [--env DIR] [--only TEXT] [--clang PROGRAM] [--gcc PROGRAM]

The sources are in compilers/ beside this script; no GPU and no CUDA headers are needed.  DIR (build/compilers) is a
virtual environment which this script makes, with Triton and numba-cuda from PyPI and the sources of a package of Triton kernels; where it
cannot, where clang lacks its NVPTX target, or GCC its offloading compiler (Debian: clang-19, gcc-12-offload-nvptx), a
line says what is missing and the others go on.  PTX goes to OUT, named COMPILER_KERNEL.TARGET.OPTIONS.ptx, with
FILE.ptx.launches where the block is known that the kernel was written for.  What is there is kept, and what failed
leaves FILE.bad with the reason.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent / "compilers"
WHEELS = ["triton==3.9.0", "setuptools", "numba-cuda[cu13]==0.30.4"]
KERNELS_OF_OTHERS = "liger-kernel==0.8.5"
LEVELS = ("-O0", "-O1", "-O2", "-O3")
CLANG_TARGETS = ("sm_70", "sm_80", "sm_90")
GCC_TARGETS = ("sm_75", "sm_80")
# libgomp's default for OpenMP: as many warps as a team has threads, 8 unless somebody asks for others
GCC_BLOCK = "32x8"


def environment(folder):
    """The python of the virtual environment, or None."""
    python = folder / "bin/python"
    if not (folder / ".done").exists():
        print(f"making {folder}", file=sys.stderr)
        steps = [[sys.executable, "-m", "venv", str(folder)],
                 [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *WHEELS],
                 [str(python), "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest",
                  str(folder / "kernels"), KERNELS_OF_OTHERS]]
        for step in steps:
            if subprocess.run(step).returncode:
                print(f"Triton and numba are missing: {' '.join(step)} failed", file=sys.stderr)
                return None
        for wheel in (folder / "kernels").glob("*.whl"):
            shutil.unpack_archive(wheel, folder / "kernels", "zip")
        (folder / ".done").touch()
    return python


def settings_of(source):
    """The comments `// flags: ...` and `// block: ...` of a source."""
    return dict(re.findall(r"^// (flags|block): (.*)$", source.read_text(), re.M))


def run(command, folder=None):
    """Why it failed, or nothing."""
    done = subprocess.run(["nice", "-n", "10", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env=dict(os.environ, LC_ALL="C"))
    return done.stdout or "failed" if done.returncode else ""


def keep(path, why, block, counts):
    """FILE.ptx.part becomes FILE.ptx, or the reason FILE.ptx.bad."""
    part = path.with_suffix(".ptx.part")
    if not why and ".entry" not in part.read_text():
        why = "no kernels"
    if why:
        path.with_suffix(".ptx.bad").write_text(why)
        part.unlink(missing_ok=True)
    else:
        part.rename(path)
        if block:
            path.with_suffix(".ptx.launches").write_text(f"{block} *\n")
    counts["bad" if why else "made"] += 1


def is_wanted(path, only):
    return only in path.name and not path.exists() and not path.with_suffix(".ptx.bad").exists()


def with_clang(clang, out, only):
    if not clang or "nvptx64" not in subprocess.run([clang, "--print-targets"], capture_output=True, text=True).stdout:
        print("clang with an NVPTX target is missing (Debian: clang-19)", file=sys.stderr)
        return
    counts = collections.Counter()
    for source in sorted(HERE.glob("clang_*.cu")):
        for level in LEVELS:
            for target in CLANG_TARGETS if level == "-O2" else CLANG_TARGETS[1:2]:
                path = out / f"{source.stem}.{target}.{level[1:]}.ptx"
                if not is_wanted(path, only):
                    continue
                why = run([clang, "-x", "cuda", "--cuda-device-only", "-S", "-nocudalib", "-nocudainc", "-std=c++17", "-w",
                           "--cuda-feature=+ptx80", level, f"--cuda-gpu-arch={target}", str(source), "-o",
                           str(path.with_suffix(".ptx.part"))])
                keep(path, why, settings_of(source).get("block"), counts)
    print("clang:", ", ".join(f"{counts[k]} {k}" for k in sorted(counts)) or "nothing to do")


def with_gcc(gcc, out, only):
    """Of the temporary files that is taken which the offloading assembler has put into order, as it is linked."""
    programs = gcc and subprocess.run([gcc, "-print-file-name=accel/nvptx-none/mkoffload"], capture_output=True, text=True).stdout.strip()
    if not programs or not os.path.exists(programs):
        print("GCC with offloading to nvptx is missing (Debian: gcc-12-offload-nvptx)", file=sys.stderr)
        return
    counts = collections.Counter()
    for source in sorted(HERE.glob("gcc_*.c")):
        settings = settings_of(source)
        for level in LEVELS:
            for target in GCC_TARGETS if level == "-O2" else GCC_TARGETS[1:2]:
                path = out / f"{source.stem}.{target}.{level[1:]}.ptx"
                if not is_wanted(path, only):
                    continue
                with tempfile.TemporaryDirectory(prefix="gcc-") as folder:
                    why = run([gcc, *settings["flags"].split(), "-foffload=nvptx-none", f"-foffload-options=nvptx-none=-misa={target}",
                               "-save-temps", level, "-w", str(source), "-o", "program", "-lm"], folder)
                    made = [file for file in pathlib.Path(folder).glob("*.mkoffload.o")]
                    if made:
                        path.with_suffix(".ptx.part").write_bytes(made[0].read_bytes())
                    keep(path, "" if made else why or "no PTX among the temporary files", GCC_BLOCK, counts)
    print("GCC:", ", ".join(f"{counts[k]} {k}" for k in sorted(counts)) or "nothing to do")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--env", type=pathlib.Path, default=pathlib.Path("build/compilers"))
    parser.add_argument("--only", default="")
    parser.add_argument("--clang", default=shutil.which("clang-19") or shutil.which("clang"))
    parser.add_argument("--gcc", default=shutil.which("gcc-12") or shutil.which("gcc"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    with_clang(args.clang, args.out, args.only)
    with_gcc(args.gcc, args.out, args.only)
    python = environment(args.env)
    if python:
        for script, words in ("with_triton.py", ["--packages", str(args.env / "kernels")]), ("with_numba.py", []):
            subprocess.run(["nice", "-n", "10", str(python), str(HERE / script), str(args.out), "--only", args.only, *words])
    print(f"{len(list(args.out.glob('*.ptx')))} files of PTX, {len(list(args.out.glob('*.bad')))} failures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
