# SPDX-License-Identifier: MIT
"""What the nvcc that is installed makes of CUB, cooperative groups, wmma, textures and calls is read whole: each kernel of
tests/ptx/foreign/*.cu is in the report, nothing is a finding of the rule syntax, and textures and wmma are told as
opaque.  Where there is no nvcc the test is skipped, visibly."""
import os
import re
import shutil
import subprocess
import sys

from cli_support import Cli

FILES = [("textures", "sm_80"), ("tensor_cores", "sm_80"), ("cooperative", "sm_90a"), ("printf_and_calls", "sm_86"),
         ("cub_block", "sm_80")]
OPAQUE = {"textures": "tex.", "tensor_cores": "wmma."}


def find_nvcc():
    places = [os.environ.get("CUDA_HOME", "/nonexistent"), "/usr/local/cuda"]
    return shutil.which("nvcc") or next((p for p in (f"{place}/bin/nvcc" for place in places) if os.access(p, os.X_OK)), None)


def judge(cli, nvcc, name, arch):
    source = cli.fixtures / ".." / "ptx" / "foreign" / f"{name}.cu"
    made = cli.scratch / f"{name}.ptx"
    command = [nvcc, "-ptx", f"-arch={arch}", "-std=c++17", "-w", "--expt-extended-lambda", source, "-o", made]
    compiled = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if compiled.returncode:
        print(f"{name}: this nvcc does not compile it: {compiled.stdout.decode(errors='replace')[:200]}")
        return 0
    report = cli.json("ptx", "check", made, schema="ptx-check", expect=None)
    entries = set(re.findall(r"\.entry\s+([\w$]+)", made.read_text()))
    cli.check(entries and {kernel["name"] for kernel in report["kernels"]} == entries, f"{name}: a kernel is not judged")
    cli.check(not [f for f in report["findings"] if f["rule"] == "syntax"], f"{name}: something is not read")
    opaque = [f["message"] for f in report["findings"] if f["rule"] == "opaque"]
    cli.check(name not in OPAQUE or any(OPAQUE[name] in message for message in opaque), f"{name}: nothing is opaque")
    return 1


def main():
    cli = Cli()
    cli.env["TCBTUNE_ASSEMBLER"] = "none"
    nvcc = find_nvcc()
    if not nvcc or not sum(judge(cli, nvcc, name, arch) for name, arch in FILES):
        print("SKIPPED: no nvcc that compiles the kernels")
        sys.exit(77)
    cli.done()


main()
