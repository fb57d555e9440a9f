# SPDX-License-Identifier: MIT
"""ptx check with each assembler that this machine has: figures, rejections with the same line, spills, blocks too large.

An assembler that is missing is skipped, visibly; the last line says so if there is none.
"""
import sys

from cli_support import Cli

KERNEL = """.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p) {bounds}
{{
	.reg .b64 %rd<2>;
	.reg .f32 %f<{count}>;
	ld.param.u64 %rd1, [p];
{body}	ret;
}}
"""


def many_live(count, bounds):
    """COUNT values that live together."""
    body = "".join(f"\tld.volatile.global.f32 %f{i}, [%rd1+{4 * i}];\n" for i in range(count))
    body += "".join(f"\tst.volatile.global.f32 [%rd1+{4 * i}], %f{(i * 7 + 3) % count};\n" for i in range(count))
    return KERNEL.format(bounds=bounds, count=count, body=body)


def findings(report, rule):
    return [row for row in report["findings"] if row["rule"] == rule]


def check(cli, kind):
    corpus = cli.fixtures / ".." / "ptx" / "corpus"
    cli.env["TCBTUNE_ASSEMBLER"] = kind.lower()
    report = cli.json("ptx", "check", corpus / "reduce.ptx", schema="ptx-check")
    if report["assembler"]["state"] == "absent":
        print(f"{kind}: {report['assembler']['note']}")
        return 0
    assert report["assembler"]["kind"] == kind and report["assembler"]["version"] >= 12
    kernel = report["kernels"][0]
    cli.check(8 <= kernel["assembler"]["registers"] <= 64, "no plausible number of registers")
    cli.check(kernel["assembler"]["shared_bytes"] >= 32, "no shared memory")
    cli.check(kernel["occupancy"]["source"] == "assembler", "occupancy by the estimate")

    bad = cli.scratch / "bad.ptx"
    bad.write_text(KERNEL.format(bounds="", count=2, body="\tfrobnicate;\n"))
    report = cli.json("ptx", "check", bad, schema="ptx-check", expect=4)
    cli.check(report["assembler"]["state"] == "rejected", "the assembler accepts nonsense")
    cli.check([row["line"] for row in findings(report, "opaque")] == [9], "the parser's line is not 9")
    cli.check(9 in [row["line"] for row in findings(report, "assembler")], "the assembler's line is not 9")

    late = cli.scratch / "late.ptx"
    late.write_text((corpus / "reduce.ptx").read_text().replace(".version ", ".version 9", 1))
    report = cli.json("ptx", "check", late, schema="ptx-check")
    cli.check(report["assembler"]["state"] == "ok", "a version of the future is the text's error")
    cli.check(report["assembler"]["note"].startswith("as .version "), "the note does not say as what it is assembled")
    cli.check(report["kernels"][0]["assembler"]["registers"] == kernel["assembler"]["registers"], "other registers")
    late.write_text(late.read_text().replace("\tret;", "\tinstruction.of.the.future;\n\tret;", 1))
    report = cli.json("ptx", "check", late, schema="ptx-check")
    cli.check(report["assembler"]["state"] == "absent", "what only the future knows is the text's error")
    cli.check("too old" in report["assembler"]["note"], "the note does not say that it is too old")
    cli.check(report["kernels"][0]["occupancy"]["source"] == "estimate", "an occupancy by whom?")

    spills = cli.scratch / "spills.ptx"
    spills.write_text(many_live(100, ".maxnreg 32"))
    report = cli.json("ptx", "check", spills, schema="ptx-check")
    cli.check(report["kernels"][0]["assembler"]["spill_store_bytes"] > 0, "no spills with 32 registers")
    cli.check(len(findings(report, "registers")) == 1 and report["advice"] >= 1, "spills are not reported")

    report = cli.json("ptx", "check", spills, "--ptxas-options=-O1,-c", schema="ptx-check")
    cli.check(report["assembler"]["flags"] == ["-O1", "-c"], "the flags are not told")
    cli.check(report["assembler"]["whole_program"] is False, "-c makes no object")

    large = cli.scratch / "large.ptx"
    large.write_text(many_live(100, ""))
    report = cli.json("ptx", "check", large, "--block", "256", schema="ptx-check")
    cli.check(not findings(report, "launch-bounds") and not findings(report, "registers"), "a false alarm")
    report = cli.json("ptx", "check", large, "--block", "1024", schema="ptx-check", expect=4)
    cli.check(len(findings(report, "launch-bounds")) == 1, "a block that cannot be launched is not reported")
    cli.check(report["kernels"][0]["occupancy"]["blocks"] == 0, "such a block has an occupancy")
    report = cli.json("ptx", "check", large, "--block=1024", "--ptxas-options=-maxrregcount=64", schema="ptx-check")
    cli.check(report["assembler"]["whole_program"] is True, "no whole program")
    cli.check(report["kernels"][0]["assembler"]["registers"] <= 64, "-maxrregcount is not heard")
    cli.check(report["kernels"][0]["occupancy"]["blocks"] == 1, "with 64 registers it fits")
    return 1


def main():
    cli = Cli()
    if not sum(check(cli, kind) for kind in ("ptxas", "nvJitLink")):
        print("SKIPPED: no assembler for PTX")
        sys.exit(77)
    cli.done()


main()
