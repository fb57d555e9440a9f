#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The block of each kernel of a corpus, where its directives or the host's code tell it, as files for --launches.

    find-launches.py LIST OUT [--only TEXT] [--untold FILE]

LIST and OUT are make-corpus.py's.  Beside each OUT/FILE.ptx it writes FILE.ptx.launches: for a kernel with .reqntid
those threads; else a block with which the source, or another file of its folder, launches it: host_code.py says what
is followed; else the threads of .maxntid, if no index but tid.x is used.  A launch counts for an instance of a template if the template
arguments that it names are those of the instance.  Where launches differ, one of up to 256 threads counts if they
name the instance, or it is no template; else nothing.  Of what is not told, --untold gets a line each.
"""
import argparse
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import importlib

import host_code

corpus = importlib.import_module("make-corpus")

ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\([^)]*\))?\s*((?:\.\w+[^{]*)?)\{")
DIRECTIVE = re.compile(r"\.(req|max)ntid\s+(\d+)\s*(?:,\s*(\d+))?\s*(?:,\s*(\d+))?")
MARKER = re.compile(r'^# \d+ "([^"]*)"')
LARGEST = 1024
# a text so long is that of a library of templates, whose classes have many constants of one name
OF_LIBRARY = 1 << 20
# of several blocks that a kernel is launched with, the largest that is no larger, else the smallest
USUAL = 256
HOST = ["g++", "-E", "-x", "c++", "-std=c++17", "-w", "-D__CUDACC__", "-D__NVCC__", "-D__CUDACC_EXTENDED_LAMBDA__",
        "-D__CUDACC_RELAXED_CONSTEXPR__", "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0", "-D__CUDACC_VER_BUILD__=88"]


def toolkit():
    nvcc = subprocess.run(["which", "nvcc"], capture_output=True, text=True).stdout.strip()
    root = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    include = os.path.join(root, "include")
    return ["-I", include, "-I", os.path.join(include, "cccl"), "-include", os.path.join(include, "cuda_runtime.h")]


def host_text(source, flags, root, headers):
    """What the preprocessor leaves of a source for the host, of files below `root` alone."""
    given = [f for f in flags if f.startswith(("-I", "-D", "-U"))] + [f"-I{os.path.dirname(source)}"]
    done = subprocess.run(HOST + given + headers + [source], capture_output=True)
    kept, mine = [], True
    for line in done.stdout.decode(errors="replace").splitlines():
        marker = MARKER.match(line)
        if marker:
            mine = os.path.abspath(marker.group(1)).startswith(root + os.sep)
        elif mine and line.strip() and not line.startswith("#"):
            kept.append(line)
    return "\n".join(kept)


def neighbours(source):
    """Other sources of the folder, which may launch what the first one defines."""
    folder = os.path.dirname(source)
    found = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if re.search(r"\.(cu|cpp|cc|cxx)$", name)]
    return [path for path in found if path != source and os.path.getsize(path) < 1 << 20][:12]


def demangled(symbols):
    done = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def instance(shown):
    """(kernel's last name, its template arguments or None) of a demangled symbol."""
    text, depth = shown, 0
    for i, c in enumerate(shown):
        depth += (c == "<") - (c == ">" and shown[i - 1] != "-")
        if c == "(" and depth == 0 and not shown[i:].startswith("(anonymous namespace)"):
            text = shown[:i]
            break
    text = text.replace("(anonymous namespace)::", "").strip()
    arguments = None
    if text.endswith(">"):
        begin = host_code.angles_before(text, len(text))
        if begin is not None:
            arguments, text = host_code.split(text[begin + 1 : -1]), text[:begin]
    return re.split(r"::|\s", text)[-1], arguments


def number_of(text):
    match = re.fullmatch(r"\(?(?:\([\w:\s]+\))?(-?\d+)[uUlL]*\)?", text.strip())
    return int(match.group(1)) if match else {"true": 1, "false": 0}.get(text.strip())


def bound(unit, given, actual, where):
    """Names which the instance gives a value, or None if the launch names another instance."""
    names = {}
    for text, real in zip(given, actual):
        value = number_of(real)
        if value is None or text.endswith("..."):
            continue
        try:
            told = unit.value(text, where)
        except host_code.NeedsCaller:
            told = None
        if told is not None and value not in told:
            return None
        if re.fullmatch(r"\w+", text) and not text.isdigit():
            names[text] = str(value)
    return names


def threads(block):
    return block[0] * block[1] * block[2]


def block_of(unit, launches, name, actual, bound_to):
    """The block of an instance, or None; of at most `bound_to` threads, where its directives say so."""
    found, named = [], True
    for kernel, given, where, block, scope in launches:
        if kernel != name:
            continue
        names = {}
        if given is not None and actual is not None:
            names = bound(unit, given, actual, where)
            if names is None:
                continue
        named = named and (actual is None or given is not None)
        inner = host_code.Scope(scope.function, scope.at, scope.caller, scope.arguments, scope.templates, {**scope.bound, **names})
        try:
            blocks = unit.block(block, inner)
        except host_code.NeedsCaller:
            blocks = None
        found.append([b for b in blocks or [] if 0 < threads(b) <= (bound_to or LARGEST) and min(b) > 0])
    blocks = {b for several in found for b in several}
    exact = [b for b in blocks if threads(b) == bound_to]
    if len(exact) == 1:
        return exact[0]
    is_one_of_many = actual is not None and any(number_of(a) is not None for a in actual)
    if not blocks or is_one_of_many and len(blocks) > 1 or actual is not None and not named and [] in found:
        return None
    small = [b for b in blocks if threads(b) <= USUAL]
    return max(small, key=lambda b: (threads(b), b)) if small else min(blocks, key=threads)


class Sources:
    """A source, and the same with its neighbours, which are read when they are asked for."""

    def __init__(self, source, flags, root, headers):
        self.source, self.given, self.read = source, (flags, root, headers), []
        self.is_library = False

    def unit(self, number):
        while len(self.read) <= number:
            paths = [self.source] + (neighbours(self.source) if self.read else [])
            text = "\n".join(host_text(path, *self.given) for path in paths)
            self.is_library = len(text) > OF_LIBRARY
            unit = host_code.Unit("" if self.is_library else text)
            self.read.append((unit, unit.launches()))
        return self.read[number]

    def block(self, name, actual, bound_to):
        for number in 0, 1:
            if number and (self.is_library or self.given[1] == corpus.HERE):
                continue
            found = block_of(*self.unit(number), name, actual, bound_to)
            if found:
                return found
        return None


def kernels_of(text):
    """[(symbol, block by .reqntid or None, block by .maxntid or None)]"""
    found = []
    for match in ENTRY.finditer(text):
        told = DIRECTIVE.search(match.group(2))
        block = tuple(int(n or 1) for n in told.groups()[1:]) if told else None
        is_exact = told is not None and told.group(1) == "req"
        found.append((match.group(1), block if is_exact else None, None if is_exact else block))
    return found


def uses_tid_x_alone(text, symbol):
    begin = text.find(f".entry {symbol}(")
    return not re.search(r"%n?tid\.[yz]", text[begin : text.find("\n}", begin)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list")
    parser.add_argument("out")
    parser.add_argument("--only", default="")
    parser.add_argument("--untold")
    args = parser.parse_args()
    sources = os.path.abspath(os.path.join(args.out, "..", "src"))
    headers, untold = toolkit(), []
    kernels = by_directive = by_source = 0
    for entry in corpus.read_list(args.list):
        path = os.path.join(args.out, corpus.name_of(entry))
        if args.only not in path or not os.path.exists(path):
            continue
        root = os.path.abspath(corpus.root_of(sources, entry[0]))
        source = os.path.join(root, entry[2])
        flags = [f.replace("{root}", root).replace("{here}", corpus.HERE).replace("{dir}", os.path.dirname(source)) for f in entry[4]]
        text = open(path, encoding="utf-8", errors="replace").read()
        found = kernels_of(text)
        host, lines = Sources(source, flags, root, headers), []
        for (symbol, block, most), shown in zip(found, demangled([kernel[0] for kernel in found])):
            kernels += 1
            by_directive += block is not None
            if block is None:
                block = host.block(*instance(shown), threads(most) if most else None)
                by_source += block is not None
            if block is None and most and threads(most) <= LARGEST and uses_tid_x_alone(text, symbol):
                block = most
                by_directive += 1
            if block is None:
                untold.append(f"{os.path.basename(path)}\t{shown}\n")
            else:
                lines.append(f"{'x'.join(map(str, block))} {symbol}\n")
        with open(path + ".launches", "w", encoding="utf-8") as out:
            out.writelines(lines)
    if args.untold:
        with open(args.untold, "w", encoding="utf-8") as out:
            out.writelines(untold)
    print(f"{kernels} kernels, the block of {by_directive + by_source} is told: {by_directive} by directives, {by_source} by the host's code")
    return 0


if __name__ == "__main__":
    sys.exit(main())
