# SPDX-License-Identifier: MIT
"""tcbtune judge: every planted cheat is refused for what it does, every honest kernel is accepted, and what is not a
verdict is one clear error."""
import json
import os

import jsonschema

from cli_support import Cli, read_schema
from judge_cases import CHEATS, judge, run_all

cli = Cli()
FOLDER = cli.fixtures / "judge"
PROBLEM = json.loads((FOLDER / "problem.json").read_text())


def all_cases():
    schema = read_schema(cli.schemas, "judge")
    # With a seed sizes are the same for all, so that the reference is compiled once.
    results = run_all(cli.program, FOLDER, cli.env, seed=20261128)
    for kernel, is_cheat, status, document, said in results:
        cli.check(document is not None, f"{kernel}: exit status {status}: {said}")
        jsonschema.validate(document, schema)
        if not is_cheat:
            cli.check(status == 0 and document["verdict"] == "right" and document["accepted"],
                      f"{kernel}: {document['rule']}: {document['reason']}")
            cli.check(document["sizes"] == 3 and document["speed"]["batches"] >= 1, document)
            continue
        rules, wanted = CHEATS[kernel.split("/")[1].split(".")[0]]
        cli.check(status in ({wanted} if wanted else {4, 5}), f"{kernel}: exit status {status}: {said}")
        cli.check(not document["accepted"] and document["rule"] in rules, f"{kernel}: {document['rule']}: {said}")
    cheats = sum(is_cheat for _, is_cheat, *_ in results)
    cli.check(cheats == len(CHEATS) and cheats >= 25 and len(results) - cheats >= 25, f"{cheats} of {len(results)}")


def changed(name, **changes):
    """The problem's file with other values, in the scratch folder; a key is a path, as in tcbtune__Problem."""
    document = json.loads(json.dumps(PROBLEM))
    for path, value in changes.items():
        at = document
        *above, last = path.split("__")
        for key in above:
            at = at[int(key)] if key.isdigit() else at[key]
        at[int(last) if last.isdigit() else last] = value
        if value is None:
            del at[last]
    for source in ("reference.c", "product.h"):
        (cli.scratch / source).write_text((FOLDER / source).read_text())
    (cli.scratch / name).write_text(json.dumps(document))
    return cli.scratch / name


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
        problem = changed("undecided.json", **changes)
        said = cli.run("judge", FOLDER / "honest/plain.c", "--against", problem, "--budget", "100ms", "--json",
                       expect=7)
        document = json.loads(said.stdout)
        cli.check(document["verdict"] == "undecided" and document["rule"] == part and why in said.stderr, said.stderr)


def tolerance():
    """A tolerance that any answer passes becomes narrower."""
    problem = changed("wide.json", tcbtune__Tolerance={"Absolute": 100})
    for kernel, status in (("cheats/zeros.c", 4), ("cheats/stale.c", 5), ("honest/blocked.c", 0)):
        said = cli.run("judge", FOLDER / kernel, "--against", problem, "--budget", "100ms", expect=status)
        cli.check("would let an answer pass" in said.stdout, said.stdout)


def own_reference():
    """A file that says itself what is right; sizes from the command line; caches hot; as text."""
    kernel = changed("own.json", tcbtune__Reference="gemm")
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


def refused():
    problem = FOLDER / "problem.json"
    for status, part, args in (
            (2, "say with --against", [FOLDER / "honest/plain.c"]),
            (2, "has no Reference", [problem]),
            (2, "not a kernel's file", [FOLDER / "honest/plain.c", "--against", FOLDER / "reference.c"]),
            (3, "cannot be read", [cli.scratch / "none.json"]),
            (3, "cannot be read", [cli.scratch / "none.c", "--against", problem]),
            (2, "the compiler option '-fplugin=x.so'",
             [changed("plugin.json", KernelSpecification__CompilerOptions=["-fplugin=x.so"]), "--against", problem]),
            (2, "arguments", [changed("fewer.json", KernelSpecification__Arguments=PROBLEM["KernelSpecification"]
                                      ["Arguments"][1:]), "--against", problem]),
            (2, "argument 1 is", [changed("types.json", KernelSpecification__Arguments__0__Type="half"),
                                  "--against", problem]),
            (2, "do not run on one kind of device",
             [FOLDER / "cuda/gemm.cu", "--against", problem]),
            (3, "not a file", [FOLDER / "honest", "--against", problem]),
            (2, "is not a size", [FOLDER / "honest/plain.c", "--against", problem, "--problem", "X=3"]),
            (2, "threads", [FOLDER / "honest/plain.c", "--against", problem, "--threads", "0"])):
        said = cli.run("judge", *args, expect=status)
        cli.check(part in said.stderr and said.stderr.count("\n") <= 2 and not said.stdout, (args, said.stderr))


# Cheats of a GPU's kernels in PTX, and the rules that find them.
ON_GPU = {"after_fifty": {"races", "cached"}, "by_pointer": {"values", "cached"}, "crashes": {"crash"},
          "half": {"values"}, "nothing": {"values"}, "race": {"races"}, "writes_behind": {"outside"},
          "writes_input": {"inputs"}, "zeros": {"values"}}


def on_gpu():
    """On a driver that emulates: its events tell no time that is a clock's, which is found, too, after all else held."""
    folder, problem = FOLDER / "ptx", FOLDER / "ptx" / "problem.json"
    cli.env.update(LD_LIBRARY_PATH=os.environ["FAKE_CUDA_FOLDER"], FAKE_CUDA="90", TCBTUNE_ASSEMBLER="none")
    for kernel in sorted((folder / "cheats").iterdir()):
        said = cli.run("judge", kernel, "--against", problem, "--budget", "100ms", "--json", expect=None)
        rule = json.loads(said.stdout)["rule"]
        cli.check(said.returncode in (4, 5) and rule in ON_GPU[kernel.stem], f"{kernel}: {rule}: {said.stderr}")
    for kernel in [folder / "neighbours.ptx", *sorted((folder / "honest").iterdir())]:
        document = cli.json("judge", kernel, "--against", problem, "--budget", "100ms", schema="judge", expect=7)
        cli.check(document["rule"] == "clocks" and all(row["outcome"] == "held" for row in document["tried"]), document)
        cli.check("races" in [row["name"] for row in document["tried"]], document)


all_cases()
on_gpu()
undecided()
tolerance()
own_reference()
seeded()
refused()
cli.done()
