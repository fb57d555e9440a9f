# SPDX-License-Identifier: MIT
"""The planted hazards: kernels as people write them, each with one mistake, and their mended twins.

CLASS.cu holds the cases of a class, each a kernel (and what it alone needs) behind a header of comments:

    // == NAME: what is wrong
    // target: sm_90a                   as nvcc -arch; left out: sm_80
    // launch: --block 256              options of both `ptx check` and `ptx run`
    // planted: --dynamic-shared 512    further ones for one of the twins; `mended:` for the other
    // run: --grid 2 --arg u32=7        further options of `ptx run`
    // rules: shared-race race          a finding of one of these tells what is wrong; any other does not count

PLANTED(x) stands in the kernel with the mistake alone, MENDED(x) in its twin alone.  A line that ends in `//!` is one
that a finding may blame: where the mistake is, or an access that it spoils (all lines of inline assembly, of which
nvcc knows one).  What stands before the first case belongs
to all.  The halves dev and judge are by the name's digest: detectors were written with the misses of dev alone in view.
"""
import hashlib
import pathlib
import re
import shlex

HERE = pathlib.Path(__file__).resolve().parent
TWINS = ("planted", "mended")
HEADER = re.compile(r"^// (target|launch|planted|mended|run|rules): (.*)$")


class Case:
    def __init__(self, path, lines, preamble, first, end):
        words = re.match(r"// == (\w+): (.*)$", lines[first])
        self.file, self.group, self.name, self.what = path.name, path.stem, words.group(1), words.group(2)
        fields = dict(match.groups() for match in map(HEADER.match, lines[first:end]) if match)
        self.target = fields.get("target", "sm_80")
        self.launch = {twin: shlex.split(fields["launch"] + " " + fields.get(twin, "")) for twin in TWINS}
        self.run = shlex.split(fields.get("run", ""))
        self.rules = fields["rules"].split()
        self.blamed = {number + 1 for number in range(first, end) if lines[number].endswith("//!")}
        kept = [line if number < preamble or first <= number < end else "" for number, line in enumerate(lines)]
        self.source = "\n".join(kept).rstrip("\n") + "\n"
        self.differs_in_launch = "planted" in fields or "mended" in fields
        text = self.source + (HERE / "hazard.cuh").read_text() + self.target
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.half = "judge" if hashlib.sha256(self.name.encode()).digest()[0] & 1 else "dev"

    def ptx(self, twin):
        return HERE / "ptx" / f"{self.name}.{twin}.ptx"

    def is_current(self, twin):
        path = self.ptx(twin)
        return path.exists() and path.read_text().startswith(f"// {self.digest}\n")


def read():
    found = []
    for path in sorted(HERE.glob("*.cu")):
        lines = path.read_text().split("\n")
        starts = [number for number, line in enumerate(lines) if line.startswith("// == ")]
        for first, end in zip(starts, starts[1:] + [len(lines)]):
            found.append(Case(path, lines, starts[0], first, end))
    names = [case.name for case in found]
    assert len(set(names)) == len(names), "two cases of one name"
    return found
