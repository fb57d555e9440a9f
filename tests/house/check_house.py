# SPDX-License-Identifier: MIT
"""Checks the house rules of docs/house.md; prints each offence and exits 1 if there is one.

    check_house.py includes|sources|headers|format|circles|words --root DIR [--cc COMPILER] [--passed FILE]

includes  #include "..." points one way between the folders of src/
sources   SPDX line and opening paragraph, file size, unique names, every source listed in its CMakeLists.txt
headers   every header compiles alone: the build shows it of those that their own source begins with
format    clang-format leaves every file as it is (skipped where clang-format is missing); what passed is kept in
          --passed FILE, by contents, and not looked at again
words     what docs/glossary.md and plain English of the field leave out: "blocks an SM" is "blocks per SM"
circles   no sources call each other in a circle (circles.py), nor include each other's headers in one, where a source
          counts with the header of its name
"""
import argparse
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys

import circles

# folder -> the folders that it may include besides itself
MAY_INCLUDE = {
    "base": set(),
    "gguf": {"base"},
    "ptx": {"base"},
    "device": {"base"},
    "kernels": {"base", "ptx"},
    "kernelfile": {"base", "ptx", "kernels"},
    "gpu": {"base", "kernels", "device"},
    "worker": {"base", "kernels", "device", "gpu"},
    "judge": {"base", "ptx", "kernels", "kernelfile", "device", "worker"},
    "search": {"base", "kernels", "device", "worker"},
    "db": {"base"},
    "rt": {"base", "gguf", "db", "kernels", "ptx", "device", "gpu"},
    "tcbptx": {"base", "ptx"},
    "verify": {"base", "ptx", "device", "kernels", "gpu", "worker", "search"},
    "cli": {"base", "gguf", "ptx", "device", "kernels", "gpu", "worker", "search", "db", "rt", "verify", "kernelfile", "judge"},
}
# the same between the parts of ptx.
PTX_MAY_INCLUDE = {
    "ir": set(),
    "text": {"ir"},
    "analyse": {"ir", "text"},
    "build": {"ir", "text", "analyse"},
    "emulate": {"ir", "analyse"},
    "optimise": {"ir", "text", "analyse", "emulate"},
    "assemble": {"ir", "text"},
    "model": {"ir", "analyse", "emulate", "assemble"},
    "run": {"ir", "analyse", "emulate"},
}
# of kernels, the search and the worker see the op contract, the space and compiled code only.
SEARCH_SEES_OF_KERNELS = {f"kernels/{name}.h" for name in ("op", "constraint", "space", "code", "language", "limit", "compute_limit",
                                                         "signature", "static_facts", "timing", "defaults/learned")}
# folders of kernels that belong to no op
KERNEL_FLOORS = {"decode", "defaults", "gpu", "opencl", "simd", "wgsl"}
# Who means the ops of this build and no others: those that make registries, claims about this build, the examples in
# its help, and the program that libtcbrt starts.
ASK_FOR_BUILT_IN = ("kernels/op.h", "kernels/registry.c", "kernels/op_registry.c", "verify/", "cli/core/marks.c", "rt/rt_tune.c")
LINES_MAX = 700
FILES_MAX = 60  # sources and headers per folder
TEXTS = {".c", ".h", ".md", ".py", ".sh", ".sql", ".json", ".case", ".cmake"}
WORDS = [(re.compile(pattern), instead) for pattern, instead in (
    (r"\b(blocks?|warps?|registers?|bytes?|threads?|values?|rows?|lines?|words?|lanes|cycles|instructions|tokens?) "
     r"an? (SM|multiprocessor|thread|warp|block|lane|second|cycle|superblock|token|tile)\b", "'per'"),
    (r"(?i)\bforet(old|ell)", "'predict'"),
    (r"\b(is|are) no (multiple|power of two)\b", "'is not a ...'"),
    (r"(?i)\b(anew|nought|whilst|thence)\b", "a plainer word"),
)]
# What people see: strings of programs and prose of documents, across the ends of lines.
SHOWN = [(re.compile(pattern), instead) for pattern, instead in (
    (r"(?<![Tt]here )\b(is|are) (no|none)\b(?! (longer|more|less|other)\b)(?! of (the|them|these|those|its)\b)", "'is not a ...', 'invalid' or 'unknown'"),
    (r"\b(operations|bytes|samples|calls|tokens|candidates|trials|counters|microseconds|GB|MB) an? "
     r"(byte|second|value|call|token|cycle|minute|candidate)\b", "'per'"),
)]
# An instruction of PTX as a string; outside gpu/ a string with a dot that is none is a knob's name.
MNEMONIC = re.compile(r'"(?!(?:micro|midi|macro)\.)[a-z]+\d*(?:\.[\w:%]+)+"')
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
LITERALS = re.compile(rf"{LITERAL}(?:\s*{LITERAL})*")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def c_files(root, *folders):
    return sorted(p for f in folders for p in (root / f).rglob("*.[ch]"))


def check_includes(root):
    offences = []
    for path in c_files(root, "integrations"):
        for target in INCLUDE.findall(path.read_text()):
            if target != "tcbrt.h" and not (path.parent / target).is_file():
                offences.append(f"{path.relative_to(root)}: an integration may include tcbrt.h, not '{target}'")
    for path in c_files(root, "src"):
        rel = path.relative_to(root / "src")
        folder = rel.parts[0]
        if folder not in MAY_INCLUDE:
            offences.append(f"src/{rel}: folder '{folder}' is not in the table of includes")
            continue
        for target in INCLUDE.findall(path.read_text()):
            if "/" not in target:
                continue  # the public header, or one that the build generates
            to = target.split("/")[0]
            if to != folder and to not in MAY_INCLUDE[folder]:
                offences.append(f"src/{rel}: '{folder}' may not include '{target}'")
            if folder == to == "ptx" and rel.parts[1] != target.split("/")[1]:
                if target.split("/")[1] not in PTX_MAY_INCLUDE.get(rel.parts[1], set()):
                    offences.append(f"src/{rel}: 'ptx/{rel.parts[1]}' may not include '{target}'")
            if folder in ("search", "worker") and to == "kernels" and target not in SEARCH_SEES_OF_KERNELS:
                offences.append(f"src/{rel}: {folder} sees the op contract, the space and compiled code only, not '{target}'")
            if (folder == to == "kernels" and len(rel.parts) == 2 and len(target.split("/")) == 3 and
                    target.split("/")[1] not in KERNEL_FLOORS):
                offences.append(f"src/{rel}: only an op's own folder includes '{target}'")
            if not (root / "src" / target).exists():
                offences.append(f"src/{rel}: '{target}' does not exist below src/")
    return offences


def check_sources(root):
    offences = []
    seen = {}
    for path in c_files(root, "src", "include", "integrations"):
        rel = path.relative_to(root)
        text = path.read_text()
        if not re.match(r"/\* SPDX-License-Identifier: MIT\n \*\n \* \S", text):
            offences.append(f"{rel}: begins with the SPDX line and a paragraph that says what the file is")
        if text.count("\n") > LINES_MAX:
            offences.append(f"{rel}: {text.count(chr(10))} lines; past {LINES_MAX} it holds two ideas")
        if re.search(r"^\s*#\s*if\s+0\b", text, re.M):
            offences.append(f"{rel}: '#if 0'")
        if rel.parts[:2] == ("src", "kernels") and rel.parts[2] != "gpu" and "wgsl" not in str(rel):
            offences += [f"{rel}: {found[0]}: kernels are written in the words of gpu/vocabulary.h, which alone spells "
                         "them in PTX" for found in MNEMONIC.finditer(text)]
        if re.search(r"typedef[^;]*\b\w+_t\s*(\[[^;]*)?;", text):
            offences.append(f"{rel}: a typedef of our own ends in _t")
        if path.name in seen:
            offences.append(f"{rel}: the name is taken by {seen[path.name]}")
        seen[path.name] = rel
        if path.suffix == ".c":
            listed = any(path.name in (d / "CMakeLists.txt").read_text()
                         for d in path.parents if (d / "CMakeLists.txt").exists())
            if not listed:
                offences.append(f"{rel}: no CMakeLists.txt lists it")
    for folder in {path.parent for path in c_files(root, "src")}:
        count = sum(1 for path in folder.iterdir() if path.suffix in (".c", ".h"))
        if count > FILES_MAX:
            offences.append(f"{folder.relative_to(root)}: {count} files; past {FILES_MAX} a folder has rooms")
    for path in (root / "tests").rglob("test_*.c"):
        if not any(path.stem[5:] in (d / "CMakeLists.txt").read_text()
                   for d in path.parents if (d / "CMakeLists.txt").exists()):
            offences.append(f"{path.relative_to(root)}: no CMakeLists.txt lists it")
    offences += check_skips(root)
    for path in c_files(root, "src"):
        if re.search(r"(->|\.)emit\s*\(", path.read_text()) and path.name != "kernel_emit.c":
            offences.append(f"{path.relative_to(root)}: kernels come from tcb_kernel_emit, which sees to the knob passes")
    for path in c_files(root, "src"):
        rel = str(path.relative_to(root / "src"))
        if re.search(r"\btcb_(ops|op_find)\(", path.read_text()) and not rel.startswith(ASK_FOR_BUILT_IN):
            offences.append(f"src/{rel}: ops come from the registry that is handed down (kernels/op_registry.h)")
    for path in (root / "src" / "cli").parent.rglob("*.c"):
        rel = path.relative_to(root / "src")
        if rel.parts[0] != "cli" and re.search(r"(?<![\w.>*])(printf|puts|exit|fprintf\s*\(\s*std(out|err))\s*\(",
                                               re.sub(r"_exit", "", path.read_text())):
            offences.append(f"src/{rel}: only src/cli prints or exits")
    return offences


def check_skips(root):
    """What hides a failing test."""
    offences = []
    for path in (root / "tests").rglob("*"):
        if path.name in ("CMakeLists.txt", "CTestTestfile.cmake") and "SKIP_REGULAR_" in path.read_text():
            offences.append(f"{path.relative_to(root)}: SKIP_REGULAR_EXPRESSION hides failures; use SKIP_RETURN_CODE 77")
        if path.suffix in (".c", ".h") and path.name != "cmocka_all.h" and "#include <cmocka.h>" in path.read_text():
            offences.append(f"{path.relative_to(root)}: includes cmocka_all.h, whose exit status hides no failure")
    return offences


def begins_its_source(root, header):
    """Whether the source of HEADER's name has nothing but comments before it: who builds the source compiles it alone."""
    source = header.with_suffix(".c")
    if not header.is_relative_to(root / "src") or not source.exists():
        return False
    return COMMENT.sub("", source.read_text()).lstrip().startswith(f'#include "{header.relative_to(root / "src")}"')


def check_headers(root, cc):
    offences = []
    for path in c_files(root, "src", "include", "integrations"):
        if path.suffix != ".h" or begins_its_source(root, path):
            continue
        strict = path.is_relative_to(root / "include")
        flags = ["-std=c17"] + ([] if strict else ["-D_GNU_SOURCE"]) + ["-Wall", "-Wextra", "-pedantic", "-Werror"]
        run = subprocess.run([cc, *flags, f"-I{root / 'src'}", f"-I{root / 'include'}", "-fsyntax-only",
                              "-x", "c", str(path)],
                             capture_output=True, text=True)
        if run.returncode:
            offences.append(f"{path.relative_to(root)}: does not compile alone\n{run.stderr}")
    return offences


def check_format(root, passed=None):
    """PASSED: a file of digests of what was found well formed, which is added to; None: all are looked at."""
    if not shutil.which("clang-format"):
        print("SKIPPED: clang-format is not installed")
        sys.exit(77)
    style = root / ".clang-format"
    version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True).stdout
    rules = hashlib.sha256(version.encode() + style.read_bytes())
    known = set(passed.read_text().split()) if passed and passed.exists() else set()
    digests = {}
    for path in c_files(root, "src", "include", "integrations", "tests", "examples"):
        digest = rules.copy()
        digest.update(path.read_bytes())
        digests[str(path)] = digest.hexdigest()
    files = [path for path, digest in digests.items() if digest not in known]
    if not files:
        return []
    run = subprocess.run(["clang-format", "--dry-run", "-Werror", f"--style=file:{style}", *files],
                         capture_output=True, text=True)
    offences = [line for line in run.stderr.splitlines() if "error:" in line]
    if passed and not run.returncode and not offences:
        passed.write_text("\n".join(sorted(digests.values())) + "\n")
    return offences


def include_graph(root):
    """source (with its header) -> the sources that it or its header includes."""
    graph = {}
    for path in c_files(root, "src"):
        name = str(path.relative_to(root / "src").with_suffix(""))
        targets = {target.rsplit(".", 1)[0] for target in INCLUDE.findall(path.read_text()) if "/" in target}
        graph.setdefault(name, set()).update(targets - {name})
    return {name: {to for to in targets if to in graph} for name, targets in graph.items()}


def check_circles(root):
    return ["\n    ".join([f"{len(circle)} sources {do} each other in a circle:", *circles.edges(graph, circle)])
            for do, graph in (("call", circles.uses(root)), ("include", include_graph(root)))
            for circle in circles.circles(graph)]


def shown_texts(path):
    """(line, text) of what people see of PATH, a source in C or a document; strings that stand beside each other are one."""
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        for paragraph in re.finditer(r"(?:[^\n]+\n?)+", text):
            yield text[:paragraph.start()].count("\n") + 1, " ".join(paragraph[0].split())
        return
    text = COMMENT.sub(lambda m: "\n" * m[0].count("\n"), text)
    for literal in LITERALS.finditer(text):
        yield text[:literal.start()].count("\n") + 1, re.sub(r'"\s*"', "", literal[0])[1:-1]


def check_shown(root):
    offences = []
    files = [root / "README.md"] + c_files(root, "src", "integrations")
    files += sorted((root / "docs").rglob("*.md")) + sorted((root / "integrations").rglob("*.md"))
    for path in files:
        for number, text in shown_texts(path) if path.exists() else ():
            for pattern, instead in SHOWN:
                for found in pattern.finditer(text):
                    offences.append(f"{path.relative_to(root)}:{number}: '{text[max(0, found.start() - 30):found.end() + 20]}': "
                                    f"write {instead}")
    return offences


def check_words(root):
    offences = []
    files = [root / name for name in ("README.md", "CONTRIBUTING.md")]
    for folder in ("src", "include", "docs", "scripts", "schemas", "examples", "integrations", "tests"):
        files += [p for p in (root / folder).rglob("*") if p.suffix in TEXTS and "fixtures" not in p.parts]
    for path in files:
        if not path.exists() or path.parent.name == "house":
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for pattern, instead in WORDS:
                found = pattern.search(line)
                if found:
                    offences.append(f"{path.relative_to(root)}:{number}: '{found[0]}': write {instead}")
    return offences + check_shown(root)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rule", choices=["includes", "sources", "headers", "format", "circles", "words"])
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--passed", type=pathlib.Path)
    args = parser.parse_args()
    root = args.root.resolve()
    offences = {"includes": lambda: check_includes(root), "sources": lambda: check_sources(root),
                "headers": lambda: check_headers(root, args.cc), "format": lambda: check_format(root, args.passed),
                "circles": lambda: check_circles(root), "words": lambda: check_words(root)}[args.rule]()
    for offence in offences:
        print(offence)
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
