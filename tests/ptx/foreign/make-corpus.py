#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Public CUDA code, compiled to PTX by the nvcc that is installed: the corpus that `tcbtune ptx check` is judged by.

    make-corpus.py LIST OUT [--clones DIR] [--limit SECONDS] [--jobs N] [--only TEXT]

LIST has a file a line: repository, commit, path, architecture, flags.  A line "= NAME flags" names flags that later
lines take as @NAME; {root} is the repository's folder, {here} this script's, {dir} that of the file.  The repository
`here` is this folder (kernels of libraries in headers, such as CUB), `toolkit` needs no commit.  Clones are looked for
as DIR/OWNER+NAME[/repo] and DIR/OWNER/NAME, and made there where there is none.  Sources go to OUT/../src, PTX to OUT.
What is there is kept, and what failed leaves FILE.bad with the reason: run it again to go on.  Small files come first.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = re.compile(r"\.(cu|cuh|h|hpp|hxx|inl|c|cpp|ipp|def|inc)$")
COMMON = ["-std=c++17", "-w", "--expt-relaxed-constexpr", "--expt-extended-lambda"]


def read_list(path):
    flags, entries = {}, []
    for line in open(path, encoding="utf-8"):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "=":
            flags[words[1]] = words[2:]
            continue
        given = []
        for word in words[4:]:
            given += flags[word[1:]] if word.startswith("@") else [word]
        entries.append((words[0], words[1], words[2], words[3], given))
    return entries


def git_folder(clones, repository):
    owner, name = repository.split("/")
    for folder in (f"{owner}+{name}/repo", f"{owner}+{name}", f"{owner}/{name}"):
        if os.path.isdir(os.path.join(clones, folder)):
            return os.path.join(clones, folder)
    folder = os.path.join(clones, owner, name)
    subprocess.run(["git", "clone", "-q", "--bare", f"https://github.com/{repository}", folder], check=True)
    return folder


def check_out(clones, repository, commit, root):
    """Source files alone, by cat-file: a clone may lack other blobs."""
    if os.path.exists(root + ".done"):
        return
    git = ["git", "-C", git_folder(clones, repository)]
    tree = subprocess.run(git + ["ls-tree", "-r", "-z", commit], capture_output=True, check=True).stdout.decode()
    files = [entry.split("\t", 1) for entry in tree.split("\0") if entry]
    files = [(meta.split()[2], path) for meta, path in files if SOURCE.search(path)]
    cat = subprocess.Popen(git + ["cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for blob, path in files:
        cat.stdin.write(blob.encode() + b"\n")
        cat.stdin.flush()
        head = cat.stdout.readline().split()
        if len(head) < 3:
            continue
        data = cat.stdout.read(int(head[2]) + 1)[:-1]
        target = os.path.join(root, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as out:
            out.write(data)
    cat.stdin.close()
    cat.wait()
    open(root + ".done", "w").close()


def root_of(sources, repository):
    return HERE if repository == "here" else os.path.join(sources, repository.replace("/", "+"))


def name_of(entry):
    repository, _, path, arch, flags = entry
    kind = "".join(tag for flag, tag in (("-lineinfo", ".line"), ("-G", ".debug"), ("-rdc=true", ".rdc")) if flag in flags)
    stem = re.sub(r"\.cuh?$", "", f"{repository.replace('/', '+')}/{path}").replace("/", "_")
    return f"{stem}.{arch}{kind}.ptx"


def compile_one(entry, sources, out, limit):
    repository, _, path, arch, flags = entry
    root = root_of(sources, repository)
    source = os.path.join(root, path)
    target = os.path.join(out, name_of(entry))
    if os.path.exists(target) or os.path.exists(target + ".bad"):
        return "there"
    flags = [f.replace("{root}", root).replace("{here}", HERE).replace("{dir}", os.path.dirname(source)) for f in flags]
    command = ["nice", "-n", "10", "nvcc", "-ptx", f"-arch={arch}"] + COMMON + flags
    command += [source, "-o", target + ".part"]
    # a session of its own: a compiler that runs out of time leaves no children behind
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=limit)
        why = output.decode(errors="replace") if process.returncode else ""
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        why = f"more than {limit} seconds"
    if not why and b".entry" not in open(target + ".part", "rb").read():
        why = "no kernels"
    if why:
        with open(target + ".bad", "w", encoding="utf-8") as bad:
            bad.write(why)
        if os.path.exists(target + ".part"):
            os.remove(target + ".part")
        return "bad"
    os.rename(target + ".part", target)
    return "made"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list")
    parser.add_argument("out")
    parser.add_argument("--clones", default="clones")
    parser.add_argument("--limit", type=int, default=120)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    entries = [e for e in read_list(args.list) if args.only in name_of(e)]
    sources = os.path.join(os.path.dirname(os.path.abspath(args.out)), "src")
    os.makedirs(args.out, exist_ok=True)
    os.makedirs(sources, exist_ok=True)
    for repository, commit in sorted({e[:2] for e in entries}):
        if repository != "here":
            check_out(args.clones, repository, commit, root_of(sources, repository))
    def cost(entry):
        source = os.path.join(root_of(sources, entry[0]), entry[2])
        return os.path.getsize(source) if os.path.exists(source) else 0
    entries.sort(key=cost)
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for what in pool.map(lambda e: compile_one(e, sources, args.out, args.limit), entries):
            counts[what] = counts.get(what, 0) + 1
    print(", ".join(f"{counts[k]} {k}" for k in sorted(counts)), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
