#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `tcbtune ptx check` makes of a folder of PTX that is known to be good.

    check-corpus.py FOLDER --tcbtune PROGRAM [--launches] [--ptxas] [--table FILE] [--errors FILE] [--jobs N]
                    [--limit SECONDS]

FILE of --table gets a row for each PTX file: bytes, kernels, hidden kernels (those that are in the text and not in the
report), exit status, findings by severity, rules of the errors, seconds and MiB; --errors one line for each error: file,
rule, kernel, line and message, divided by tabs.  With --launches the blocks of FILE.launches are given, where
find-launches.py found some.  With --ptxas a file that the assembler refuses for its own target is
left out of the sums, since it is not known to be good.  The sums are printed.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time

BODY = re.compile(rb"[{;]")
ENTRY = re.compile(rb"^[^/\n]*\.entry\s+([\w$]+)", re.M)
TARGET = re.compile(rb"^\.target\s+(sm_\w+)", re.M)


def kernels_in(text):
    """Names of the entries with a body."""
    names = []
    for match in ENTRY.finditer(text):
        has_parameters = text[match.end() : match.end() + 1] == b"("
        end = BODY.search(text, text.find(b")", match.end()) if has_parameters else match.end())
        if end and end.group() == b"{":
            names.append(match.group(1).decode())
    return names


def run_check(program, path, limit, with_launches):
    """(exit status, report or None, seconds, MiB)"""
    with tempfile.TemporaryFile() as out:
        begin = time.monotonic()
        env = dict(os.environ, TCBTUNE_ASSEMBLER="none")
        command = [program, "ptx", "check", path, "--json"]
        if with_launches and os.path.exists(path + ".launches"):
            command += ["--launches", path + ".launches"]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=env)
        deadline = begin + limit
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > deadline:
                process.kill()
                _, status, usage = os.wait4(process.pid, 0)
                return "timeout", None, limit, usage.ru_maxrss // 1024
            time.sleep(0.002)
        process.returncode = 0
        seconds = time.monotonic() - begin
        code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        try:
            report = json.load(out)
        except ValueError:
            report = None
        return code, report, seconds, usage.ru_maxrss // 1024


def run_ptxas(path, text, may_ask):
    """Kept beside the file, since it takes longer than all else."""
    if os.path.exists(path + ".ptxas"):
        return open(path + ".ptxas", encoding="utf-8").read()
    if not may_ask:
        return "-"
    verdict = ask_ptxas(path, text)
    with open(path + ".ptxas", "w", encoding="utf-8") as kept:
        kept.write(verdict)
    return verdict


def ask_ptxas(path, text):
    target = TARGET.search(text)
    if not target:
        return "no target"
    command = ["nice", "-n", "10", "ptxas", "-c", "-O0", f"-arch={target.group(1).decode()}", path, "-o", "/dev/null"]
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
    except subprocess.TimeoutExpired:
        return "timeout"
    return "ok" if done.returncode == 0 else "refused"


def judge(args, name):
    path = os.path.join(args.folder, name)
    with open(path, "rb") as file:
        text = file.read()
    code, report, seconds, mib = run_check(args.tcbtune, path, args.limit, args.launches)
    files = report.get("files", [report]) if isinstance(report, dict) else report or []
    findings = [f for part in files for f in part["findings"]]
    read = {k["name"] for part in files for k in part["kernels"]}
    kernels = kernels_in(text)
    row = {
        "file": name, "bytes": len(text), "kernels": len(kernels), "exit": code,
        "hidden": sum(k not in read for k in kernels),
        "errors": sum(f["severity"] == "error" for f in findings),
        "warnings": sum(f["severity"] == "warning" for f in findings),
        "advice": sum(f["severity"] == "advice" for f in findings),
        "rules": ",".join(sorted({f["rule"] for f in findings if f["severity"] == "error"})) or "-",
        "opaque": sum("opaque instruction" in f["message"] for f in findings),
        "seconds": round(seconds, 2), "MiB": mib, "ptxas": run_ptxas(path, text, args.ptxas),
    }
    lines = [[name, f["rule"], str(f.get("kernel") or f.get("function") or "-"), str(f.get("line") or 0), f["message"]]
             for f in findings if f["severity"] == "error"]
    return row, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--tcbtune", required=True)
    parser.add_argument("--launches", action="store_true")
    parser.add_argument("--ptxas", action="store_true")
    parser.add_argument("--table")
    parser.add_argument("--errors")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=120)
    args = parser.parse_args()
    names = sorted(n for n in os.listdir(args.folder) if n.endswith(".ptx"))
    rows, errors = [], []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for row, lines in pool.map(lambda n: judge(args, n), names):
            rows.append(row)
            errors += lines
    if args.table:
        with open(args.table, "w", encoding="utf-8") as table:
            table.write("\t".join(rows[0]) + "\n")
            for row in rows:
                table.write("\t".join(str(v) for v in row.values()) + "\n")
    if args.errors:
        with open(args.errors, "w", encoding="utf-8") as out:
            out.writelines("\t".join(line) + "\n" for line in errors)
    good = [r for r in rows if r["ptxas"] in ("-", "ok")]
    kernels = sum(r["kernels"] for r in good)
    hidden = sum(r["hidden"] for r in good)
    unread = sum(r["kernels"] > 0 and r["hidden"] == r["kernels"] for r in good)
    by_rule = {}
    for line in errors:
        by_rule.setdefault(line[1], []).append(line[0])
    print(f"{len(good)} files ({len(rows) - len(good)} more that ptxas does not take), {kernels} kernels")
    print(f"read: {100 * (1 - unread / max(1, len(good))):.1f} % of files; hidden kernels: {hidden} "
          f"({100 * hidden / max(1, kernels):.2f} %)")
    print(f"exit 4: {sum(r['exit'] == 4 for r in good)}, other failures: "
          f"{sum(r['exit'] not in (0, 4) for r in good)}, slowest {max(r['seconds'] for r in rows)} s, "
          f"largest {max(r['MiB'] for r in rows)} MiB")
    print(", ".join(f"{word} {sum(r[word] for r in good)}" for word in ("errors", "warnings", "advice")))
    for rule in sorted(by_rule):
        print(f"  {rule}: {len(by_rule[rule])} errors in {len(set(by_rule[rule]))} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
