#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Manual pages (man1, man3, compressed) and completions into a folder.

    make-manuals.py TCBTUNE FOLDER HEADER...

tcbtune(1) and one page for each command, as `tcbtune help --format man` prints them;
of each public header a page of section 3: its comments as prose, its declarations
as they are; and what `tcbtune completion` prints for bash, zsh and fish."""
import gzip
import os
import pathlib
import re
import subprocess
import sys

SHELLS = {"bash": "tcbtune.bash", "zsh": "_tcbtune", "fish": "tcbtune.fish"}


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def prose(comment):
    """A comment as paragraphs; what is indented in it stays as it is."""
    body = re.sub(r"^/\*|\*/$", "", comment.strip())
    lines = [re.sub(r"^ ?\*( |$)", "", line.rstrip()) for line in body.split("\n")]
    out = []
    for block in re.split(r"\n\s*\n", "\n".join(lines)):
        block = block.strip("\n")
        if not block.strip() or block.strip().startswith("SPDX-"):
            continue
        if block.startswith("    "):
            out.append(".PP\n.nf\n" + roff(block) + "\n.fi")
        else:
            out.append(".PP\n" + roff(re.sub(r"\s*\n\s*", "\n", block.strip()).replace(".  ", ". ")))
    return out


def header_page(path, version, date):
    """The manual page of a header: the first comment describes, its sections come after it in order."""
    text = path.read_text()
    name = path.stem
    first = re.search(r"/\*.*?\*/", text, re.S)
    library, about = re.search(r"\* lib(\w+): ([^.]*?)\.?\n", first[0]).groups()
    out = [f'.TH {name.upper()} 3 {date} "tcbtune {version}" "Library Functions"',
           f".SH NAME\n{name} \\- {roff(about)}",
           f".SH SYNOPSIS\n.nf\n#include <{name}.h>\n.fi\nCompile and link with\n.BR \"pkg\\-config \\-\\-cflags \\-\\-libs {library}\" .",
           ".SH DESCRIPTION", *prose(first[0].replace(f"lib{library}: {about}.", "", 1))]
    rest = text[first.end():]
    rest = re.sub(r'^#ifdef __cplusplus\n.*?^#endif\n', "", rest, flags=re.M | re.S)
    rest = re.sub(r"^#if defined\(__GNUC__\)\n.*?^#endif\n", "", rest, flags=re.M | re.S)
    rest = re.sub(r"^#(include|ifndef|endif|define \w+_(H|API)\b).*\n", "", rest, flags=re.M).replace(f"{library.upper()}_API ", "")
    out.append(".SH INTERFACE")
    for piece in re.split(r"^(/\*.*?\*/)\n", rest, flags=re.M | re.S):
        piece = piece.strip("\n")
        if piece.startswith("/*") and piece.endswith("*/") and piece.count("/*") == 1:
            out += prose(piece)
        elif piece.strip():
            out.append(".PP\n.nf\n" + roff(re.sub(r"\n{3,}", "\n\n", piece).replace("\t", "        ")) + "\n.fi")
    out.append(".SH SEE ALSO\n.BR tcbtune (1)")
    return re.sub(r"\.PP\n\.SH", ".SH", re.sub(r"(\.SH \w+\n)\.PP\n", r"\1", "\n".join(out))) + "\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0) if path.suffix == ".gz" else text.encode())


def main():
    program, folder, headers = sys.argv[1], pathlib.Path(sys.argv[2]), map(pathlib.Path, sys.argv[3:])

    def said(*words):
        return subprocess.run([program, *words], check=True, capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout

    for old in folder.glob("man1/*"):
        old.unlink()
    overview = said("help", "--format", "man")
    write(folder / "man1" / "tcbtune.1.gz", overview)
    for command in re.findall(r"^\.BR tcbtune\\-(\w+) \(1\)$", overview, re.M):
        write(folder / "man1" / f"tcbtune-{command}.1.gz", said("help", "--format", "man", command))
    date, version = re.search(r'^\.TH TCBTUNE 1 (\S+) "tcbtune ([^"]+)"', overview).groups()
    for header in headers:
        write(folder / "man3" / f"{header.stem}.3.gz", header_page(header, version, date))
    for shell, name in SHELLS.items():
        write(folder / name, said("completion", shell))


main()
