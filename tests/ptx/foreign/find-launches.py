#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The block of each kernel of a corpus, where its directives or the source tell it, as files for --launches.

    find-launches.py LIST OUT

LIST and OUT are make-corpus.py's.  Beside each OUT/FILE.ptx it writes FILE.ptx.launches: for a kernel with .reqntid, or
with .maxntid and no index but tid.x, those threads; else the block of all launches kernel<<<grid, block, ...>>> in the source and what it includes,
if it is one number for all of them: constants, macros and dim3 variables of numbers are followed, the rest is not known.
"""
import ast
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import importlib

corpus = importlib.import_module("make-corpus")

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)$", re.M)
CONSTANT = re.compile(r"\b(?:const|constexpr|static|unsigned|int|size_t|uint|auto)\b[\w\s]*?\b(\w+)\s*=\s*([^;,{}]+);")
DIM3 = re.compile(r"\bdim3\s+(?:const\s+)?(\w+)\s*(?:\(([^;]*)\)|\{([^;]*)\}|=\s*dim3\s*\(([^;]*)\))\s*;")
LAUNCH = re.compile(r"\b(\w+)\s*(?:<[^<>;{}()]*(?:\([^()]*\)[^<>;{}()]*)*>)?\s*<<<([^;]*?)>>>")
ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\([^)]*\))?\s*((?:\.\w+[^{]*)?)\{")
DIRECTIVE = re.compile(r"\.(req|max)ntid\s+(\d+)\s*(?:,\s*(\d+))?\s*(?:,\s*(\d+))?")
LARGEST = 1024


def text_of(path, seen, depth=0):
    """A source with what it includes by a path beside it."""
    if path in seen or depth > 4 or not os.path.exists(path):
        return ""
    seen.add(path)
    text = open(path, encoding="utf-8", errors="replace").read()
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    inner = [text_of(os.path.join(os.path.dirname(path), name), seen, depth + 1) for name in INCLUDE.findall(text)]
    return text + "\n" + "\n".join(inner)


def split(arguments):
    parts, depth, at = [], 0, 0
    for i, c in enumerate(arguments):
        depth += c in "([{"
        depth -= c in ")]}"
        if c == "," and depth == 0:
            parts.append(arguments[at:i])
            at = i + 1
    return [part.strip() for part in parts + [arguments[at:]]]


def names_of(text):
    """What each name may stand for; one with several meanings is not known."""
    found = {}
    for name, value in DEFINE.findall(text) + CONSTANT.findall(text):
        found.setdefault(name, set()).add(value.strip())
    dims = {}
    for name, a, b, c in DIM3.findall(text):
        dims.setdefault(name, set()).add(a or b or c)
    return found, dims


def number(expression, names, depth=0):
    expression = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", expression.strip())
    expression = re.sub(r"\(\s*(?:unsigned|int|size_t|unsigned int)\s*\)|static_cast<[^>]*>", "", expression)
    if depth > 8 or not re.fullmatch(r"[\w\s+*/()<>%-]+", expression):
        return None

    def value(match):
        word = match.group(0)
        if word.isdigit():
            return word
        meanings = {number(text, names, depth + 1) for text in names.get(word, ())}
        return str(meanings.pop()) if len(meanings) == 1 else "None"

    expression = re.sub(r"\b\w+\b", value, expression).replace("/", "//")
    if "None" in expression:
        return None
    try:
        result = eval(compile(ast.parse(expression, mode="eval"), "", "eval"), {"__builtins__": {}})
    except (SyntaxError, TypeError, NameError, ZeroDivisionError, ValueError):
        return None
    return result if isinstance(result, int) and not isinstance(result, bool) else None


def block_of(expression, names, dims):
    expression = expression.strip()
    inner = re.fullmatch(r"dim3\s*[({](.*)[)}]", expression)
    if inner:
        sizes = split(inner.group(1))
    elif len(dims.get(expression, ())) == 1:
        sizes = split(next(iter(dims[expression])))
    elif expression in dims:
        return None
    else:
        sizes = [expression]
    found = [number(size, names) for size in sizes]
    if None in found or not 1 <= len(found) <= 3:
        return None
    product = 1
    for size in found:
        product *= size
    return tuple(found + [1] * (3 - len(found))) if 0 < product <= LARGEST else None


def launches_of(text):
    names, dims = names_of(text)
    blocks = {}
    for name, arguments in LAUNCH.findall(text):
        given = split(arguments)
        blocks.setdefault(name, set()).add(block_of(given[1], names, dims) if len(given) > 1 else None)
    return {name: next(iter(found)) for name, found in blocks.items() if len(found) == 1 and None not in found}


def plain_name(symbol):
    """The last name of a mangled one: _Z5saxpyPf is saxpy."""
    shown = subprocess.run(["c++filt", "-p", symbol], capture_output=True, text=True, check=True).stdout.strip()
    return re.split(r"::", re.sub(r"<.*", "", shown))[-1].split("(")[0].split(" ")[-1]


def main():
    sources = os.path.join(sys.argv[2], "..", "src")
    kernels = known = 0
    for entry in corpus.read_list(sys.argv[1]):
        path = os.path.join(sys.argv[2], corpus.name_of(entry))
        if not os.path.exists(path):
            continue
        source = os.path.join(corpus.root_of(sources, entry[0]), entry[2])
        blocks = launches_of(text_of(source, set()))
        lines = []
        text = open(path, encoding="utf-8", errors="replace").read()
        for match in ENTRY.finditer(text):
            symbol, directives = match.groups()
            bound = DIRECTIVE.search(directives)
            end = text.find("\n}", match.end())
            if bound and bound.group(1) == "max" and re.search(r"%n?tid\.[yz]", text[match.end() : end]):
                bound = None
            block = tuple(int(n or 1) for n in bound.groups()[1:]) if bound else blocks.get(plain_name(symbol))
            kernels += 1
            if block and block[0] * block[1] * block[2] <= LARGEST:
                known += 1
                lines.append(f"{'x'.join(map(str, block))} {symbol}\n")
        with open(path + ".launches", "w", encoding="utf-8") as out:
            out.writelines(lines)
    print(f"{kernels} kernels, the block of {known} is told")
    return 0


if __name__ == "__main__":
    sys.exit(main())
