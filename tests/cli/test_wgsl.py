# SPDX-License-Identifier: MIT
"""Kernels in WGSL as they are handed out: text, dispatches and bindings agree with each other, for what every WebGPU
device has; compiled where there is an adapter."""
import json
import math
import re
import struct

import jsonschema

from cli_support import Cli, read_schema

REDUCE = ("--op", "reduce2d_sum", "--shape", "37x512")


def described(document):
    """What is told of DOCUMENT's module is what its text has."""
    text = document["wgsl"]
    bound = {int(number): name for number, name in
             re.findall(r"^@group\(0\) @binding\((\d+)\) var<storage, \w+> (\w+):", text, re.M)}
    overrides = re.findall(r"^override (\w+): u32;", text, re.M)
    entries = dict(re.findall(r"^@compute @workgroup_size\((\d+)\)\nfn (\w+)\(", text, re.M))
    seen = set()
    for launch in document["launches"]:
        cli.check(re.search(rf"^@compute @workgroup_size\({launch['workgroup']}\)\nfn {launch['entry']}\(", text, re.M),
                  f"{launch['entry']} of {launch['workgroup']}: {entries}")
        cli.check(list(launch["constants"]) == overrides, (launch["constants"], overrides))
        cli.check(f"dispatchWorkgroups({', '.join(map(str, launch['dispatch']))})" in text, launch["dispatch"])
        for binding in launch["bindings"]:
            seen.add(binding["binding"])
            cli.check(binding["bytes"] % 16 == 0, binding)
            cli.check(f"binding {binding['binding']}: {binding['name']}, {binding['bytes']} bytes" in text, binding)
    cli.check(seen == set(bound), (seen, bound))
    cli.check(f"// geometry: {document['geometry']}\n" in text, document["geometry"])


def every_op():
    wgsl, schema = 0, read_schema(cli.schemas, "wgsl")
    for op in cli.json("ops", schema="ops")["ops"]:
        said = cli.run("wgsl", "--op", op["name"], "--json", expect=None)
        if said.returncode:
            cli.check("no wgpu kernels" in said.stderr, f"{op['name']}: {said.stderr}")
            continue
        document = json.loads(said.stdout)
        jsonschema.validate(document, schema)
        described(document)
        wgsl += 1
    cli.check(wgsl > 3, f"{wgsl} ops have kernels in WGSL")
    for shape in ("5x38,xf16,yf16,add", "5x36,xbf16", "5x36,yf16"):  # halves, two a word
        document = cli.json("wgsl", "--op", "rmsnorm", "--shape", shape, schema="wgsl")
        described(document)
        cli.check(re.search(r"> [xy]: array<(u32|vec2<u32>)>;", document["wgsl"]), shape)
    refused = cli.run("wgsl", "--op", "rmsnorm", "--shape", "5x37,yf16", expect=None)
    cli.check(refused.returncode and "even number of values" in refused.stderr, refused.stderr)


def cases():
    """The files of a call: as many bytes as are bound, right values that softmax has, and room for errors."""
    folder = cli.scratch / "cases"
    cli.run("wgsl", "--op", "softmax", "--shape", "5x37", "--out", folder, "--case")
    told = json.loads((folder / "softmax.json").read_text())
    jsonschema.validate(told, read_schema(cli.schemas, "wgsl"))
    x, y = told["case"]
    cli.check((x["name"], y["name"]) == ("x", "y"), told["case"])
    bound = {b["name"]: b["bytes"] for launch in told["launches"] for b in launch["bindings"]}
    cli.check((folder / x["data"]).stat().st_size == bound["x"], bound)
    values, right, allowed = (struct.unpack("<185f", (folder / name).read_bytes()[:4 * 185])
                              for name in (x["data"], y["right"], y["allowed"]))
    for row in range(5):
        powers = [math.exp(value) for value in values[37 * row:37 * (row + 1)]]
        for column, power in enumerate(powers):
            error = abs(right[37 * row + column] - power / sum(powers))
            cli.check(error <= 1e-6 and 0 < allowed[37 * row + column] < 1e-3, (row, column, error))
    for words, said in ((("--case",), "give --out"),):
        refused = cli.run("wgsl", "--op", "softmax", *words, expect=2)
        cli.check(said in refused.stderr, refused.stderr)


def geometries():
    served = cli.json("wgsl", *REDUCE, schema="wgsl")
    cli.check(served["source"] == "default" and served["expected_ns"] is None, served["source"])
    cli.check(served["compiled"] is None, served["compiled"])
    given = cli.json("wgsl", *REDUCE, "--geometry", served["geometry"], schema="wgsl")
    cli.check(given["source"] == "given" and given["launches"] == served["launches"], given)
    changed = cli.json("wgsl", *REDUCE, "--set", "form=kahan", schema="wgsl")
    cli.check(changed["geometry"] == served["geometry"].replace("form=lanes", "form=kahan"), changed["geometry"])
    cli.check("lost0" in changed["wgsl"] and "lost0" not in served["wgsl"], changed["wgsl"])
    for words, said in ((("--set", "unroll=3"), "illegal geometry"), (("--set", "unroll"), "--set takes one word"),
                        (("--set", "tree=subgroup"), "illegal geometry"), (("--device", "cpu"), "for WebGPU")):
        refused = cli.run("wgsl", *REDUCE, *words, expect=None)
        cli.check(refused.returncode and said in refused.stderr, refused.stderr)


def read_files(folder, op):
    """What --out left there."""
    document = json.loads((folder / f"{op}.json").read_text())
    jsonschema.validate(document, read_schema(cli.schemas, "wgsl"))
    document["wgsl"] = (folder / document.pop("file")).read_text()
    return document


def files():
    folder = cli.scratch / "shaders"
    for op in ("reduce2d_sum", "softmax"):
        printed = cli.json("wgsl", "--op", op, "--shape", "37x512", schema="wgsl")
        said = cli.run("wgsl", "--op", op, "--shape", "37x512", "--out", folder)
        cli.check(said.stdout == "", said.stdout)
        cli.check(read_files(folder, op) == printed, op)
    cli.check(len(list(folder.iterdir())) == 4, list(folder.iterdir()))
    refused = cli.run("wgsl", *REDUCE, "--out", cli.scratch / "none" / "shaders", expect=None)
    cli.check(refused.returncode and "cannot make" in refused.stderr, refused.stderr)


def tuned():
    """The geometry, time and verdict of a database."""
    path, folder, there = cli.scratch / "wgsl.db", cli.scratch / "tuned", (*REDUCE, "--device", "wgpu:0")
    cli.run("sweep", *there, "--budget", "none", "--max-trials", "4", "--rotation", "2M", "--seed", "1", "--effort", "quick",
            "--finalists", "1", "--db", path)
    for state in ("cold", "hot"):
        found = cli.json("lookup", *there, "--state", state, "--db", path, schema="lookup")
        cli.run("wgsl", *there, "--state", state, "--db", path, "--out", folder)
        document = read_files(folder, "reduce2d_sum")
        described(document)
        for name in ("geometry", "source", "reason", "verdict", "expected_ns", "state"):
            cli.check(document[name] == found[name], (name, document[name], found[name]))


def own_reduction():
    """A combine of one's own is a function of the module; its steps are those that were given."""
    cli.env["TCBTUNE_REDUCTIONS"] = "lo=1e30:min(a,b);twice=0:a+abs(b)"
    for op, lines in (("lo", ("= smallest(a, b);", "0x7149f2cau")), ("twice", ("= b & 0x7fffffffu;", "bitcast<f32>(a) + "))):
        document = cli.json("wgsl", "--op", f"reduce2d_{op}", "--shape", "37x512", schema="wgsl")
        described(document)
        cli.check("fn combine(a: u32, b: u32) -> u32 {" in document["wgsl"], document["wgsl"])
        for line in lines:
            cli.check(line in document["wgsl"], (line, document["wgsl"]))
    subgroups = cli.run("wgsl", "--op", "reduce2d_lo", "--shape", "37x512", "--set", "tree=subgroup", expect=None)
    cli.check("illegal geometry" in subgroups.stderr, subgroups.stderr)
    del cli.env["TCBTUNE_REDUCTIONS"]


def compiled():
    absent = cli.run("wgsl", *REDUCE, "--check", expect=None)
    cli.check(absent.returncode and "--check needs an adapter" in absent.stderr, absent.stderr)
    if cli.run("space", *REDUCE, "--device", "wgpu:0", "--count", expect=None).returncode:
        print("no adapter: nothing was compiled")
        return
    for op in ("reduce2d_sum", "softmax", "q4k_matvec"):
        document = cli.json("wgsl", "--op", op, "--device", "wgpu:0", "--check", schema="wgsl")
        cli.check(document["compiled"] is True, document["compiled"])
        described(document)
    tuned()


cli = Cli()
every_op()
geometries()
cases()
files()
own_reduction()
compiled()
cli.done()
