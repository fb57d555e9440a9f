# SPDX-License-Identifier: MIT
"""tcbtune judge: every planted cheat is refused for what it does, every honest kernel is accepted, and what is not a
verdict is one clear error.  Half of the kernels where TCB_TEST_PART is 1, the others where it is 2."""
import json
import os

import jsonschema

from cli_support import Cli, read_schema
from judge_cases import CHEATS, changed, run_all

cli = Cli()
FOLDER = cli.fixtures / "judge"
PROBLEM = json.loads((FOLDER / "problem.json").read_text())
PART = int(os.environ.get("TCB_TEST_PART", "0"))


def all_cases():
    schema = read_schema(cli.schemas, "judge")
    # With a seed sizes are the same for all, so that the reference is compiled once.
    results = run_all(cli.program, FOLDER, cli.env, seed=20261128, part=slice(PART - 1, None, 2) if PART else slice(None))
    for kernel, is_cheat, status, document, said in results:
        cli.check(document is not None, f"{kernel}: exit status {status}: {said}")
        jsonschema.validate(document, schema)
        if not is_cheat:
            cli.check(status == 0 and document["verdict"] == "right" and document["accepted"],
                      f"{kernel}: {document['rule']}: {document['reason']}")
            cli.check(document["sizes"] == 3 and document["speed"]["batches"] >= 1, document)
            continue
        rules, wanted = CHEATS[kernel.split("/")[1].split(".")[0]]
        found = {4, 5, 6} if None in rules else {4, 5}
        cli.check(status in ({wanted} if wanted else found), f"{kernel}: exit status {status}: {said}")
        cli.check(not document["accepted"] and document["rule"] in rules, f"{kernel}: {document['rule']}: {said}")
    cheats = sum(is_cheat for _, is_cheat, *_ in results)
    most, least = (len(CHEATS) + 1) // 2 if PART else len(CHEATS), 12 if PART else 25
    cli.check(most - bool(PART) <= cheats <= most and min(cheats, len(results) - cheats) >= least, f"{cheats} of {len(results)}")


def refused():
    problem = FOLDER / "problem.json"
    for status, part, args in (
            (2, "say with --against", [FOLDER / "honest/plain.c"]),
            (2, "has no Reference", [problem]),
            (2, "not a kernel's file", [FOLDER / "honest/plain.c", "--against", FOLDER / "reference.c"]),
            (3, "cannot be read", [cli.scratch / "none.json"]),
            (3, "cannot be read", [cli.scratch / "none.c", "--against", problem]),
            (2, "the compiler option '-fplugin=x.so'",
             [changed(FOLDER, cli.scratch, "plugin.json", KernelSpecification__CompilerOptions=["-fplugin=x.so"]), "--against", problem]),
            (2, "arguments", [changed(FOLDER, cli.scratch, "fewer.json", KernelSpecification__Arguments=PROBLEM["KernelSpecification"]
                                      ["Arguments"][1:]), "--against", problem]),
            (2, "argument 1 is", [changed(FOLDER, cli.scratch, "types.json", KernelSpecification__Arguments__0__Type="half"),
                                  "--against", problem]),
            (2, "do not run on one kind of device",
             [FOLDER / "cuda/gemm.cu", "--against", problem]),
            (3, "not a file", [FOLDER / "honest", "--against", problem]),
            (2, "is not a size", [FOLDER / "honest/plain.c", "--against", problem, "--problem", "X=3"]),
            (2, "threads", [FOLDER / "honest/plain.c", "--against", problem, "--threads", "0"])):
        said = cli.run("judge", *args, expect=status)
        cli.check(part in said.stderr and said.stderr.count("\n") <= 2 and not said.stdout, (args, said.stderr))


all_cases()
if PART != 2:
    refused()
cli.done()
