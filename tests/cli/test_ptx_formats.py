# SPDX-License-Identifier: MIT
"""ptx check as SARIF, with source lines and demangled names, with very many findings, and on a terminal.

SARIF is held against what SARIF 2.1.0 requires of the parts that are used, written here; with TCB_SARIF_SCHEMA naming
OASIS's sarif-schema-2.1.0.json, against that too (its licence keeps it out of this tree).
"""
import ctypes
import fcntl
import json
import os
import pty
import struct
import termios

import jsonschema

from cli_support import Cli

HEAD = ".version 7.2\n.target sm_80\n.address_size 64\n"
BODY = "{{\n\t.reg .b32 %r<8>;\n\tmov.u32 %r1, %tid.x;\n{body}\tret;\n}}\n"
SHUFFLE = "\tshfl.sync.down.b32 %r2, %r1, 1, 32, -1;\n"
# What a name becomes by itself, doubled sixty times: longer than any memory.
BOMB = "_Z1f1AIiiE" + "S_I" + "S0_S0_E" + "".join(f"S_IS{i}_S{i}_E" for i in "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
BOMB += "".join(f"S_IS1{i}_S1{i}_E" for i in "0123456789ABCDEFGHIJKLMN")

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "message": TEXT,
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation", "region"],
            "properties": {
                "artifactLocation": {"type": "object", "required": ["uri"], "additionalProperties": False,
                                     "properties": {"uri": {"type": "string", "pattern": "^[^ ]+$"},
                                                    "uriBaseId": {"const": "%SRCROOT%"}}},
                "region": {"type": "object", "required": ["startLine"], "additionalProperties": False,
                           "properties": {"startLine": {"type": "integer", "minimum": 1},
                                          "startColumn": {"type": "integer", "minimum": 1}}},
            },
        },
        "logicalLocations": {"type": "array", "items": {"type": "object", "required": ["fullyQualifiedName"]}},
    },
}
RESULT = {
    "type": "object",
    "required": ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints", "occurrenceCount"],
    "additionalProperties": False,
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["error", "warning", "note"]},
        "message": TEXT,
        "locations": {"type": "array", "minItems": 1, "maxItems": 1, "items": LOCATION},
        "relatedLocations": {"type": "array", "minItems": 1, "items": {**LOCATION, "required": [
            "id", "message", "physicalLocation"]}},
        "partialFingerprints": {"type": "object", "required": ["tcbtunePtx/v1"],
                                "additionalProperties": {"type": "string", "minLength": 1}},
        "occurrenceCount": {"type": "integer", "minimum": 1},
        "suppressions": {"type": "array", "items": {"type": "object", "required": ["kind"], "properties": {
            "kind": {"enum": ["inSource", "external"]}}}},
        "baselineState": {"enum": ["new", "unchanged"]},
    },
}
SARIF = {
    "type": "object",
    "required": ["$schema", "version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "maxItems": 1, "items": {
            "type": "object",
            "required": ["tool", "results", "invocations", "columnKind"],
            "properties": {
                "columnKind": {"const": "unicodeCodePoints"},
                "tool": {"type": "object", "required": ["driver"], "properties": {"driver": {
                    "type": "object", "required": ["name", "version", "rules"],
                    "properties": {"rules": {"type": "array", "uniqueItems": True, "minItems": 1, "items": {
                        "type": "object", "required": ["id", "shortDescription", "help"],
                        "properties": {"shortDescription": TEXT, "help": TEXT}}}}}}},
                "invocations": {"type": "array", "items": {
                    "type": "object", "required": ["executionSuccessful"],
                    "properties": {"toolExecutionNotifications": {"type": "array", "items": {
                        "type": "object", "required": ["message"], "properties": {"message": TEXT}}}}}},
                "results": {"type": "array", "items": RESULT},
            },
        }},
    },
}


def sarif(cli, *args, expect=0):
    log = json.loads(cli.run("ptx", "check", *args, "--format", "sarif", expect=expect).stdout)
    jsonschema.validate(log, SARIF)
    if "TCB_SARIF_SCHEMA" in os.environ:
        jsonschema.validate(log, json.loads(open(os.environ["TCB_SARIF_SCHEMA"]).read()))
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    cli.check(len({rule["id"] for rule in rules}) == len(rules), "a rule is there twice")
    for result in run["results"]:
        cli.check(rules[result["ruleIndex"]]["id"] == result["ruleId"], "ruleIndex is not the rule's")
        ids = [place["id"] for place in result.get("relatedLocations", [])]
        cli.check(len(set(ids)) == len(ids), "two related places have one id")
    return run


def as_sarif(cli, cases):
    run = sarif(cli, cases / "race.ptx", cases / "bank_conflict.ptx", cases / "nothing.ptx", expect=4)
    cli.check([r["ruleId"] for r in run["results"]] == ["shared-race", "bank-conflict"], run["results"])
    cli.check([r["level"] for r in run["results"]] == ["error", "note"], "levels")
    race = run["results"][0]
    region = race["locations"][0]["physicalLocation"]["region"]
    cli.check(region == {"startLine": 27, "startColumn": 2}, region)
    lines = [place["physicalLocation"]["region"]["startLine"] for place in race["relatedLocations"]]
    cli.check(lines == [24], f"the other access is not in line 24: {lines}")
    told = run["invocations"][0]
    cli.check(not told["executionSuccessful"] and "nothing.ptx" in str(told["toolExecutionNotifications"]), told)
    run = sarif(cli, cases / "nothing.ptx", expect=1)
    cli.check(run["results"] == [] and not run["invocations"][0]["executionSuccessful"], "unread, yet successful")

    base, ours, blank = cli.scratch / "base.json", cli.scratch / "ours.txt", cli.scratch / "a b%.ptx"
    cli.run("ptx", "check", cases / "race.ptx", "--baseline", base, "--write-baseline")
    run = sarif(cli, cases / "race.ptx", cases / "shfl_clamp.ptx", "--baseline", base, expect=4)
    cli.check([r["baselineState"] for r in run["results"]] == ["unchanged", "new"], "states of the baseline")
    ours.write_text("shared-race\n")
    run = sarif(cli, cases / "race.ptx", "--suppress", ours)
    cli.check(run["results"][0]["suppressions"] == [{"kind": "external"}], "not suppressed")
    blank.write_text((cases / "race.ptx").read_text().replace("ld.shared.u32 %r7", "// tcbtune: allow shared-race\n\t"
                                                              "ld.shared.u32 %r7"))
    run = sarif(cli, blank)
    cli.check(run["results"][0]["suppressions"] == [{"kind": "inSource"}], "not allowed")
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    cli.check(uri.startswith("file:///") and uri.endswith("/a%20b%25.ptx"), uri)


def in_source(cli, cases):
    """tests/cli/ptx/inlined.ptx, seen from the folder in which its source would lie."""
    path = cases / "inlined.ptx"
    finding, = cli.json("ptx", "check", path, schema="ptx-check", expect=4)["findings"]
    frames = [(f["file"], f["line"], f["column"]) for f in finding["source"]]
    cli.check(frames == [("/src/tile.cuh", 6, 8), ("/src/tile.cuh", 11, 4), ("/src/kernel.cu", 22, 2)], frames)
    cli.check([m["line"] for m in finding["mentions"]] == [31], finding["mentions"])
    cli.check([f["line"] for f in finding["mentions"][0]["source"]] == [21], finding["mentions"])
    cli.check(finding["function"] == "_Z4raceIfEvPT_i", finding["function"])
    cli.check(finding["variable"] == "tile", finding["variable"])
    text = cli.run("ptx", "check", path, expect=4).stdout
    cli.check("; it accesses tile\n" in text, text)
    gcc = cli.run("ptx", "check", path, "--format", "gcc", expect=4).stdout.splitlines()
    cli.check(gcc[0].startswith(f"{path}:39:2: error: thread ") and gcc[0].endswith(" [shared-race]"), gcc[0])
    cli.check(gcc[1].startswith("/src/tile.cuh:6:8: note: the source"), gcc[1])
    cli.check(gcc[2].startswith("/src/tile.cuh:11:4: note: inlined from here"), gcc[2])
    cli.check(gcc[3].startswith("/src/kernel.cu:22:2: note: inlined from here"), gcc[3])
    gcc = cli.run("ptx", "check", path, "--format", "gcc", "--locate", "source", expect=4).stdout.splitlines()
    cli.check(gcc[0].startswith("/src/kernel.cu:22:2: error: "), gcc[0])
    cli.check(gcc[1] == f"{path}:39:2: note: the PTX", gcc[1])
    run = sarif(cli, path, "--locate", "source", expect=4)
    place = run["results"][0]["locations"][0]["physicalLocation"]
    cli.check(place["artifactLocation"] == {"uri": "file:///src/kernel.cu"} and place["region"]["startLine"] == 22, place)

    own = cli.scratch / "own"
    own.mkdir()
    (own / "k.ptx").write_text(path.read_text().replace("/src/", f"{own}/"))
    (own / "s.txt").write_text("shared-race source=tile.cuh:6\n")
    gcc = cli.run("ptx", "check", "k.ptx", "--format", "gcc", "--locate", "source", expect=4, cwd=own).stdout
    cli.check(gcc.startswith(f"{own}/tile.cuh:6:8: error: "), gcc)
    run = sarif_in(cli, own)
    cli.check(run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"] ==
              {"uri": "tile.cuh", "uriBaseId": "%SRCROOT%"}, "the source is not one of the repository")
    cli.run("ptx", "check", "k.ptx", "--suppress", "s.txt", cwd=own)
    (own / "s.txt").write_text("shared-race source=tile.cuh:7\n")
    cli.run("ptx", "check", "k.ptx", "--suppress", "s.txt", cwd=own, expect=4)

    try:
        ctypes.CDLL("libstdc++.so.6")
    except OSError:
        print("SKIPPED: names are demangled by libstdc++, which is not here")
        return
    cli.check(finding["kernel"] == "void race<float>(float*, int)", finding["kernel"])
    cli.check("kernel.cu:22:2 in void race<float>(float*, int)" in text, text)
    cli.check("tile.cuh:6:8 in float deep::helper<float>(float*, int), from" in text, text)
    (own / "s.txt").write_text("* kernel=*race<float>*\n")
    cli.run("ptx", "check", "k.ptx", "--suppress", "s.txt", cwd=own)
    bomb = cli.scratch / "bomb.ptx"
    bomb.write_text(HEAD + f".visible .entry _Z1kv()\n" + BODY.format(body=SHUFFLE) +
                    f".visible .entry {BOMB}()\n" + BODY.format(body=SHUFFLE))
    kernels = [f["kernel"] for f in cli.json("ptx", "check", bomb, schema="ptx-check", expect=4)["findings"]]
    cli.check(kernels == ["k()", BOMB], f"{[k[:80] for k in kernels]}")


def variables(cli, cases):
    """Which variable or parameter is accessed, as far as single writes of registers lead there."""
    text = (cases / "uncoalesced.ptx").read_text().replace(" p,", " _Z1kPf_param_0,").replace("[p]", "[_Z1kPf_param_0]")
    path = cli.scratch / "named.ptx"
    path.write_text(text.replace("entry k(", "entry _Z1kPf("))
    finding, = cli.json("ptx", "check", path, schema="ptx-check")["findings"]
    cli.check(finding["rule"] == "uncoalesced" and finding["variable"].startswith(("parameter 0 of k(", "_Z1kPf_param_0")),
              finding)
    cli.check("it accesses the memory of parameter 0\n" in cli.run("ptx", "check", path).stdout, "the parameter's number")
    place, = sarif(cli, path)["results"][0]["locations"]
    cli.check([name["kind"] for name in place["logicalLocations"]] == ["function", "variable"], place)
    # what nvcc -G adds, cut to the one parameter
    debug = path.read_text() + "\t.section .debug_abbrev\n\t{\n.b8 1,17,1,0,0\n.b8 2,5,0,2,10,3,8,0,0\n.b8 0\n\t}\n" \
        "\t.section .debug_info\n\t{\n.b32 40\n.b8 2,0\n.b32 .debug_abbrev\n.b8 8\n.b8 1\n" \
        ".b8 2\n.b8 9,3\n.b64 _Z1kPf_param_0\n.b8 111,117,116,0\n.b8 0\n\t}\n"
    (cli.scratch / "debug.ptx").write_text(debug)
    finding, = cli.json("ptx", "check", cli.scratch / "debug.ptx", schema="ptx-check")["findings"]
    cli.check(finding["variable_name"] == "out", finding)
    cli.check("the memory of parameter 0 (out)\n" in cli.run("ptx", "check", cli.scratch / "debug.ptx").stdout, "its name")
    # written twice: nobody knows which of the two it is
    path.write_text(path.read_text().replace("\tret;", "\tld.param.u64 %rd1, [_Z1kPf_param_0];\n\tret;").replace(
        "cvta.to.global.u64 %rd1, %rd1;", "@%p1 cvta.to.global.u64 %rd1, %rd1;"))
    rows = cli.json("ptx", "check", path, schema="ptx-check", expect=None)["findings"]
    cli.check([row["variable"] for row in rows if row["rule"] == "uncoalesced"] == [None], rows)


def sarif_in(cli, folder):
    log = json.loads(cli.run("ptx", "check", "./k.ptx", "--format", "sarif", "--locate", "source", expect=4,
                             cwd=folder).stdout)
    jsonschema.validate(log, SARIF)
    return log["runs"][0]


def many(cli):
    """20,000 findings: one when they are equal, all of them when they are not."""
    count = 20000
    equal, different = cli.scratch / "equal.ptx", cli.scratch / "different.ptx"
    equal.write_text(HEAD + ".visible .entry k()\n" + BODY.format(body=SHUFFLE * count))
    different.write_text(HEAD + ".visible .entry k()\n" + BODY.format(
        body="".join(f"\t.loc 1 {i} 3\n{SHUFFLE}" for i in range(1, count + 1))) + '\t.file 1 "/src/k.cu"\n')
    finding, = cli.json("ptx", "check", equal, schema="ptx-check", expect=4)["findings"]
    cli.check(finding["count"] == count and finding["lines"] == list(range(8, 8 + count)), finding["count"])
    lines = cli.run("ptx", "check", equal, expect=4).stdout.splitlines()
    cli.check(f"    {count} times, in lines 8, 9, 10, 11 and {count - 4} more" in lines, lines[:3])
    run = sarif(cli, equal, expect=4)
    cli.check(run["results"][0]["occurrenceCount"] == count, "the count of SARIF")
    report = json.loads(cli.run("ptx", "check", different, "--json", expect=4).stdout)
    cli.check(report["errors"] == len(report["findings"]) == count, f"{report['errors']}, {len(report['findings'])}")
    cli.check(len({f["fingerprint"] for f in report["findings"]}) == count, "two findings have one fingerprint")
    cli.check([f["source"][0]["line"] for f in report["findings"]] == list(range(1, count + 1)), "not in order")
    gcc = cli.run("ptx", "check", different, "--format", "gcc", expect=4)
    cli.check(gcc.stdout.count(": error: ") == count and f"{count} errors" in gcc.stderr, gcc.stderr)
    cli.check(len(json.loads(cli.run("ptx", "check", different, "--format", "sarif",
                                     expect=4).stdout)["runs"][0]["results"]) == count, "SARIF is cut")
    base = cli.scratch / "many.json"
    cli.run("ptx", "check", different, "--baseline", base, "--write-baseline")
    cli.check("20000 in the baseline" in cli.run("ptx", "check", different, "--baseline", base).stdout, "a baseline")
    different.write_text(different.read_text().replace("\tret;", f"\t.loc 1 7 3\n{SHUFFLE}{SHUFFLE}\tret;"))
    report = json.loads(cli.run("ptx", "check", different, "--baseline", base, "--json").stdout)
    cli.check(report["errors"] == 0, "the same on a line that was known is new")


def assumed(cli, cases):
    """What hangs on an assumed block is one line, and all of it is in the JSON."""
    text = (cases / "race.ptx").read_text()
    path = cli.scratch / "assumed.ptx"
    path.write_text(text.replace(".reqntid 128\n", ""))
    report = cli.json("ptx", "check", path, schema="ptx-check")
    cli.check([f["rule"] for f in report["findings"]] == ["block-assumed"] and report["warnings"] == 1, report)
    cli.check([f["rule"] for f in report["assumed"]] == ["shared-race"] * len(report["assumed"]) and report["assumed"],
              report["assumed"])
    out = cli.run("ptx", "check", path).stdout
    cli.check("warning: block-assumed: what follows only for blocks of 256x1x1" in out and "race: " not in
              out.replace("shared-race in", ""), out)
    cli.check(cli.json("ptx", "check", path, "--no-rule", "block-assumed", schema="ptx-check")["warnings"] == 0,
              "block-assumed cannot be left out")
    cli.run("ptx", "check", path, "--fail-on", "warning", expect=4)
    base = cli.scratch / "assumed.json"
    cli.run("ptx", "check", path, "--baseline", base, "--write-baseline")
    cli.run("ptx", "check", path, "--fail-on", "warning", "--baseline", base)
    cli.run("ptx", "check", path, "--block", "128", expect=4)


def on_terminal(cli, columns, path):
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execve(cli.program, [cli.program, "ptx", "check", str(path)], cli.env)
    shown = b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.waitpid(child, 0)
    return shown.decode().replace("\r\n", "\n").split("\nkernel ")[0].splitlines()


def terminals(cli, cases):
    """Messages are broken between words at the terminal's width, and nowhere else."""
    path = cases / "barrier_divergent.ptx"
    piped = cli.run("ptx", "check", path, expect=4).stdout.splitlines()
    cli.check(len(piped[0]) > 200 and " error: barrier-divergent: " in piped[0], piped[0])
    for columns in (60, 100, 400):
        lines = on_terminal(cli, columns, path)
        cli.check(" ".join(" ".join(lines).split()).startswith(" ".join(piped[0].split())), lines)
        long = [line for line in lines if len(line) > columns and " " in line.strip()]
        cli.check(not long, f"{columns} columns: {long}")
        cli.check(all(line.startswith("    ") for line in lines[1:]), lines)
    cli.check(len(on_terminal(cli, 60, path)) > len(on_terminal(cli, 400, path)), "the width makes no difference")


def main():
    cli = Cli()
    cli.env["TCBTUNE_ASSEMBLER"] = "none"
    cases = cli.fixtures.resolve().parent / "cli" / "ptx"
    as_sarif(cli, cases)
    in_source(cli, cases)
    variables(cli, cases)
    many(cli)
    assumed(cli, cases)
    terminals(cli, cases)
    cli.done()


main()
