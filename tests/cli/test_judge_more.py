# SPDX-License-Identifier: MIT
"""tcbtune judge: what no kernel can be told by, tolerances that are too wide, seeds, and kernels of a GPU, on a driver
that emulates one."""
import json
import os

from cli_support import Cli
from judge_cases import changed, judge

cli = Cli()
FOLDER = cli.fixtures / "judge"
# Cheats of a GPU's kernels in PTX, and the rules that find them.
ON_GPU = {"after_fifty": {"races", "cached"}, "by_pointer": {"values", "cached"}, "crashes": {"crash"},
          "half": {"values"}, "nothing": {"values"}, "race": {"races"}, "writes_behind": {"outside"},
          "writes_input": {"inputs"}, "zeros": {"values"}}


def on_gpu():
    """On a driver that emulates: its events tell no time that is a clock's, which is found, too, after all else held."""
    folder, problem = FOLDER / "ptx", FOLDER / "ptx" / "problem.json"
    few = ["--budget", "100ms", "--memory", "1M"]  # calls, which an emulator takes long for
    cli.env.update(LD_LIBRARY_PATH=os.environ["FAKE_CUDA_FOLDER"], FAKE_CUDA="90", TCBTUNE_ASSEMBLER="none")
    for kernel in sorted((folder / "cheats").iterdir()):
        said = cli.run("judge", kernel, "--against", problem, *few, "--json", expect=None)
        rule = json.loads(said.stdout)["rule"]
        cli.check(said.returncode in (4, 5) and rule in ON_GPU[kernel.stem], f"{kernel}: {rule}: {said.stderr}")
    for kernel in [folder / "neighbours.ptx", *sorted((folder / "honest").iterdir())]:
        document = cli.json("judge", kernel, "--against", problem, *few, schema="judge", expect=7)
        cli.check(document["rule"] == "clocks" and all(row["outcome"] == "held" for row in document["tried"]), document)
        cli.check("races" in [row["name"] for row in document["tried"]], document)


def undecided():
    """What no kernel can be told by."""
    for why, part, changes in (
            ("no input is random", "constant", {"KernelSpecification__Arguments__0__FillType": "Constant",
                                                "KernelSpecification__Arguments__0__FillValue": 1,
                                                "KernelSpecification__Arguments__1__FillType": "Constant",
                                                "KernelSpecification__Arguments__1__FillValue": 1}),
            ("hardly depend on the inputs", "constant", {"KernelSpecification__KernelFile": "same.c"}),
            ("not finite", "reference", {"KernelSpecification__KernelFile": "nan.c"}),
            ("wrong by the reference of its own file", "reference",
             {"tcbtune__Reference": {"Language": "C", "KernelFile": "other.c", "KernelName": "gemm"}})):
        text = "void gemm(const float *a, const float *b, float *c) { for (int i = 0; i < M * N; i++) c[i] = %s; }\n"
        (cli.scratch / "same.c").write_text(text % "7")
        (cli.scratch / "nan.c").write_text(text % "__builtin_nanf(\"\")")
        (cli.scratch / "other.c").write_text(text % "a[i % (M * K)]")
        problem = changed(FOLDER, cli.scratch, "undecided.json", **changes)
        said = cli.run("judge", FOLDER / "honest/plain.c", "--against", problem, "--budget", "100ms", "--json",
                       expect=7)
        document = json.loads(said.stdout)
        cli.check(document["verdict"] == "undecided" and document["rule"] == part and why in said.stderr, said.stderr)


def tolerance():
    """A tolerance that any answer passes becomes narrower."""
    problem = changed(FOLDER, cli.scratch, "wide.json", tcbtune__Tolerance={"Absolute": 100})
    for kernel, status in (("cheats/zeros.c", 4), ("cheats/stale.c", 5), ("honest/blocked.c", 0)):
        said = cli.run("judge", FOLDER / kernel, "--against", problem, "--budget", "100ms", expect=status)
        cli.check("would let an answer pass" in said.stdout, said.stdout)


def own_reference():
    """A file that says itself what is right; sizes from the command line; caches hot; as text."""
    kernel = changed(FOLDER, cli.scratch, "own.json", tcbtune__Reference="gemm")
    said = cli.run("judge", kernel, "--problem", "M=32,K=64", "--state", "hot", "--budget", "300ms")
    cli.check("32x64x64" in said.stdout and "verdict: right" in said.stdout and ", hot" in said.stdout, said.stdout)
    slow = cli.run("judge", kernel, "--at-least", "1.5", "--budget", "300ms", expect=6)
    cli.check("not certainly 1.5 times as fast" in slow.stderr, slow.stderr)


def seeded():
    """The same seed draws the same values and sizes."""
    first = json.loads(judge(cli.program, cli.env, FOLDER, "cheats/one_value.c").stdout)
    again = judge(cli.program, cli.env, FOLDER, "cheats/one_value.c", "--seed", first["seed"])
    other = judge(cli.program, cli.env, FOLDER, "cheats/one_value.c")
    cli.check(json.loads(again.stdout)["reason"] == first["reason"] != json.loads(other.stdout)["reason"],
              (first, again.stdout, other.stdout))


undecided()
tolerance()
own_reference()
seeded()
on_gpu()
cli.done()
