# SPDX-License-Identifier: MIT
"""Call circles between the sources of a tree.

A source is a .c file with the header of the same name beside it, or either alone.  Source A uses source B if A's code
calls a function that B defines: one with external linkage, or an inline one of B's header.  Sources that use each other,
directly or through others, are a circle: none of them can be read, or tested, without all the others.  Calls through pointers do
not count.
"""
import collections
import re

NO_CODE = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
# As clang-format leaves it: the head of a definition begins a line, its braces stand alone in the first column.
DEFINITION = re.compile(r"^([A-Za-z_][^;{}#]*?)\n\{\n(.*?)\n\}", re.M | re.S)
CALL = re.compile(r"(?<![\w.>])(\w+)\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)\.h"', re.M)
MACRO = re.compile(r"^\s*#\s*define[^\n]*", re.M)


class Source:
    def __init__(self):
        self.functions, self.private, self.calls, self.includes = set(), set(), set(), set()

    def read(self, path):
        text = path.read_text()
        self.includes |= set(INCLUDE.findall(text))
        code = NO_CODE.sub(" ", text).replace("\\\n", " ")
        bodies = MACRO.findall(code)
        for head, body in DEFINITION.findall(code):
            named = re.search(r"(\w+)\s*\(", re.sub(r"__attribute__\s*\(\(.*?\)\)\s", "", head))
            if not named:
                continue
            bodies.append(body)
            is_private = path.suffix == ".c" and re.search(r"\bstatic\b", head)
            (self.private if is_private else self.functions).add(named[1])
        # Of a header, what is called in functions and macros; not what prototypes name.
        self.calls |= set(CALL.findall(code if path.suffix == ".c" else "\n".join(bodies)))


def uses(root):
    """source -> the sources that it uses, by name."""
    sources = collections.defaultdict(Source)
    for path in sorted((root / "src").rglob("*.[ch]")):
        sources[str(path.relative_to(root / "src").with_suffix(""))].read(path)
    definers = collections.defaultdict(set)
    for name, source in sources.items():
        for function in source.functions:
            definers[function].add(name)
    graph = {name: set() for name in sources}
    for name, source in sources.items():
        for function in source.calls - source.private - source.functions:
            # Several headers may have inline functions of one name: those that are included count.
            found = definers[function] if function in definers else set()
            graph[name] |= {to for to in found if len(found) == 1 or to in source.includes}
    return graph


def circles(graph):
    """The strongly connected components of more than one source (Tarjan), each sorted."""
    number, lowest, stack, waiting, found = {}, {}, [], set(), []

    def visit(source):
        number[source] = lowest[source] = len(number)
        stack.append(source)
        waiting.add(source)
        for to in sorted(graph[source]):
            if to not in number:
                visit(to)
                lowest[source] = min(lowest[source], lowest[to])
            elif to in waiting:
                lowest[source] = min(lowest[source], number[to])
        if lowest[source] == number[source]:
            at = stack.index(source)
            found.append(sorted(stack[at:]))
            waiting.difference_update(stack[at:])
            del stack[at:]

    for source in sorted(graph):
        if source not in number:
            visit(source)
    return sorted(circle for circle in found if len(circle) > 1)


def edges(graph, circle):
    return [f"{source} -> {to}" for source in circle for to in sorted(graph[source]) if to in circle]
