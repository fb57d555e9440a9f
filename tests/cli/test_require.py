# SPDX-License-Identifier: MIT
"""What is known of a kernel before it runs, as a condition: candidates that are not as it has it are neither run nor
stored, their own and those of kernel files, on a GPU that a fake driver emulates; and as reasons in the report."""
import json
import os
import pathlib
import re

from cli_support import Cli

SWEEP = ["--rotation", "4K", "--finalists", "1", "--counters", "best", "--budget", "20s", "--device", "cuda:0"]
OP = ["--op", "q4k_matvec", "--shape", "1x4x256"]
# Each thread keeps its value STRIDE words after its neighbour's, and reads it HOW far after.
PTX = """.version 7.8
.target sm_90
.address_size 64
.visible .entry keep(.param .u64 x, .param .u64 y)
{
    .reg .u64 %a, %b;
    .reg .u32 %t, %c, %i, %s, %at;
    .reg .f32 %v;
    .shared .align 4 .b8 kept[4096];
    ld.param.u64 %a, [x];
    ld.param.u64 %b, [y];
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %i, %c, 32, %t;
    mad.wide.u32 %a, %i, 4, %a;
    mad.wide.u32 %b, %i, 4, %b;
    ld.global.f32 %v, [%a];
    mov.u32 %s, kept;
    mad.lo.u32 %at, %t, 4 * ${STRIDE}, %s;
    st.shared.f32 [%at], %v;
    ld.shared.f32 %v, [%at];
    st.global.f32 [%b], %v;
    ret;
}
"""
KERNEL = {"ConfigurationSpace": {"TuningParameters": [{"Name": "STRIDE", "Values": "[32, 1, 8]", "Default": 32}]},
          "KernelSpecification": {"Language": "PTX", "KernelName": "keep", "KernelFile": "keep.ptx",
                                  "LocalSize": {"X": 32}, "GridDivX": [32], "Arguments": [
                                      {"Name": "x", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly",
                                       "FillType": "Random", "Size": "N"},
                                      {"Name": "y", "Type": "float", "MemoryType": "Vector",
                                       "AccessType": "WriteOnly", "Size": "N"}]},
          "tcbtune": {"Problem": {"N": 128}, "Operations": "N",
                      "Reference": {"Language": "C", "KernelFile": "keep.c", "KernelName": "keep"}}}


def refusals(cli):
    db = cli.scratch / "refused.db"
    for words, says in ((["--device", "cuda:0", "--require", "spill==0"], "unknown name; its names are registers"),
                        (["--device", "cuda:0", "--require", "1 +"], "operand is missing"),
                        (["--device", "cuda:0", "--require", "spills==0"], "spills is unknown here"),
                        (["--device", "cuda:0", "--require", "1 // threads * 0 == 1 / 0"], "division by zero"),
                        (["--device", "cpu", "--require", "threads<9"], "of those of cpu nothing is known"),
                        (["--device", "sm_89", "--require", "threads<9"], "only modelled")):
        result = cli.run("sweep", *OP, *words, "--db", db, expect=2)
        said = [line for line in result.stderr.splitlines() if "cold results" not in line]
        cli.check(len(said) == 1 and says in said[0], f"{words}: {result.stderr}")
    result = cli.run("sweep", *OP, *SWEEP, "--require", "registers == 0", "--db", db, expect=3)
    cli.check("none of 4 candidates was tried" in result.stderr and cli.trials(db) == 0, result.stderr)
    return int(re.search(r"registers=(\d+)", result.stderr)[1])


def own_op(cli, default_registers):
    """The default is not as required: another candidate anchors the sweep, and no trial of it is stored."""
    db = cli.scratch / "op.db"
    result = cli.run("sweep", *OP, *SWEEP, "--require", f"registers < {default_registers}", "--db", db)
    found = re.search(r"(\d+) candidates? w(as|ere) not tried", result.stderr)
    cli.check(found and 1 <= int(found[1]) < 4, result.stderr)
    best = cli.json("report", "--db", db, schema="report")["best"]
    cli.check(best and all(row["geometry"] != row["default_geometry"] for row in best), f"{best}")
    counted = {c["name"] for c in best[0]["counters"] if c["source"] == "checker"}
    cli.check({"bank_conflicts", "uncoalesced", "instructions"} <= counted, f"{best[0]['counters']}")
    cli.sound(db)


def kernel_file(cli):
    """32 words apart all lanes share a bank, 8 apart eight do; 1 apart none."""
    db, kernel = cli.scratch / "file.db", cli.scratch / "keep.json"
    kernel.write_text(json.dumps(KERNEL))
    (cli.scratch / "keep.ptx").write_text(PTX)
    (cli.scratch / "keep.c").write_text("void keep(const float *x, float *y) { for (int i = 0; i < N; i++) y[i] = x[i]; }")
    sweep = ["sweep", "--kernel", kernel, *SWEEP, "--db"]
    result = cli.run(*sweep, db, "--require", "conflict_ways > 8")
    cli.check("2 candidates were not tried" in result.stderr, result.stderr)
    rows = cli.json("report", "--kernel", kernel, "--db", db, schema="report")["best"]
    cli.check(rows and all(row["geometry"].endswith("stride=32") for row in rows), f"{rows}")
    cli.check(any("2 accesses of shared memory have bank conflicts, the worst 32 times" in row["bottleneck"]["evidence"]
                  for row in rows), f"{rows[0]['bottleneck']}")
    db = cli.scratch / "other.db"  # where what won before does not stay as it is no slower
    result = cli.run(*sweep, db, "--require", "bank_conflicts == 0 and uncoalesced == 0")
    cli.check("2 candidates were not tried" in result.stderr, result.stderr)
    rows = cli.json("report", "--kernel", kernel, "--db", db, schema="report")["best"]
    cli.check(rows and all(row["geometry"].endswith("stride=1") for row in rows), f"{rows}")


def documented(cli):
    """docs/ptx.md has the names that the program knows."""
    text = (pathlib.Path(__file__).parents[2] / "docs/ptx.md").read_text()
    names = re.findall(r"^\| `(\w+)` \|", text[text.index("## Conditions"):], re.M)
    said = cli.run("sweep", *OP, "--device", "cuda:0", "--require", "none", expect=2).stderr
    cli.check(f"its names are {', '.join(names)}" in said, f"{names}: {said}")


def main():
    cli = Cli()
    documented(cli)
    cli.env.update(LD_LIBRARY_PATH=os.environ["FAKE_CUDA_FOLDER"], FAKE_CUDA="90", TCBTUNE_ASSEMBLER="none")
    own_op(cli, refusals(cli))
    kernel_file(cli)
    cli.done()


main()
