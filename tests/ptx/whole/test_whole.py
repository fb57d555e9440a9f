# SPDX-License-Identifier: MIT
"""`tcbtune ptx run` on the kernels of this folder, as a user would: results as the reference has them and no finding;
and with the planted defect, a finding that names its line of the source.  `ptx check` has nothing against the right
ones either, but what their arguments decide, and is told to name what it can.

    test_whole.py TCBTUNE [KERNEL...]
"""
import json
import os
import subprocess
import sys
import tempfile

from whole_kernels import FOLDER, KERNELS, Memory, pack, unpack


def run(tcbtune, kernel, suffix, arguments, *more):
    """What `ptx run --json` printed, and the exit status."""
    command = [tcbtune, "ptx", "run", os.path.join(FOLDER, kernel.name + suffix + ".ptx"), "--kernel", kernel.name,
               "--grid", "x".join(map(str, kernel.grid)), "--block", "x".join(map(str, kernel.block)), "--json", *more]
    if kernel.dynamic_shared:
        command += ["--dynamic-shared", str(kernel.dynamic_shared)]
    if kernel.cooperative:
        command.append("--cooperative")
    for argument in arguments:
        command += ["--arg", argument]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode in (0, 4), done.stderr
    return json.loads(done.stdout), done.returncode


def words(kernel, folder):
    """The arguments for --arg; what is given as elements goes to files."""
    result = []
    for index, a in enumerate(kernel.arguments):
        if not isinstance(a, Memory):
            result.append(f"{a.type}={a.value}")
            continue
        fill = a.fill
        if not isinstance(fill, str):
            fill = f"@{folder}/{index}.in"
            with open(fill[1:], "wb") as file:
                file.write(pack(a.type, a.fill))
        extent = "x".join(map(str, a.extent))
        options = ":box=" + "x".join(map(str, a.box)) if a.box else ""
        options += f":swizzle={a.swizzle}" if a.swizzle else ""
        options += ":ro" if a.read_only else ""
        result.append(f"{'tmap' if a.box else 'buf'}:{a.type}[{extent}]{options}={fill}")
    return result


def memories(kernel, folder, kind):
    """The elements of each argument's memory that a run saved."""
    result = {}
    for index, a in enumerate(kernel.arguments):
        if isinstance(a, Memory):
            with open(f"{folder}/{index}.{kind}", "rb") as file:
                result[index] = unpack(a.type, file.read())
    return result


def is_there(kernel, finding):
    """Whether FINDING is of the planted defect's line of the source, into which headers may be inlined."""
    return any((frame["file"], frame["line"]) == (kernel.name + ".cu", kernel.source_line())
               for frame in finding["source"] or [])


def check_right(tcbtune, kernel, folder):
    arguments = words(kernel, folder)
    saved = [f"--out={index}={folder}/{index}.out" for index, a in enumerate(kernel.arguments) if isinstance(a, Memory)]
    result, _ = run(tcbtune, kernel, "", arguments, *saved)
    inputs = memories(kernel, folder, "out")  # what is compared is no input of any kernel here
    wrong = kernel.judge(inputs, inputs) if kernel.judge else None
    assert wrong is None, wrong
    compared = 0
    for index, a in enumerate(kernel.arguments):
        if not isinstance(a, Memory) or not a.wanted:
            continue
        wanted = f"{folder}/{index}.wanted"
        with open(wanted, "wb") as file:
            file.write(pack(a.type, a.wanted(inputs)))
        for order in ("1", "2", "3"):  # of warps; random memory is of the first
            if order != "1" and any(getattr(b, "fill", "") == "random" for b in kernel.arguments):
                continue
            within = ["--tolerance", str(a.tolerance)] if a.tolerance else []
            result, status = run(tcbtune, kernel, "", arguments, "--seed", order, "--expect", f"{index}@{wanted}", *within)
            assert status == 0, (result["expected"], result["findings"])
            assert not result["findings"], result["findings"]
            assert [row["elements"] for row in result["expected"]] == [a.count]
            compared += a.count
    assert compared
    return compared, result["total"]["threads"]


def check_defect(tcbtune, kernel, folder):
    result, _ = run(tcbtune, kernel, "_defect", words(kernel, folder))
    found = [finding["message"] for finding in result["findings"]
             if finding["rule"] == kernel.rule and is_there(kernel, finding)]
    assert found, f"no {kernel.rule} at line {kernel.source_line()} of the source, but {result['findings']}"
    return found[0]


def check_threads(tcbtune, kernel, suffix, folder):
    """Any number of threads leaves the same memory, counts and findings."""
    arguments = words(kernel, folder)
    results = []
    for threads in ("1", "2", "5"):
        saved = [f"--out={index}={folder}/{index}.out"
                 for index, a in enumerate(kernel.arguments) if isinstance(a, Memory)]
        result, status = run(tcbtune, kernel, suffix, arguments, "--threads", threads, *saved)
        del result["seconds"]
        results.append((status, result, memories(kernel, folder, "out")))
    assert repr(results[1]) == repr(results[0]), (kernel.name, suffix, "two threads")
    assert repr(results[2]) == repr(results[0]), (kernel.name, suffix, "five threads")


def check(tcbtune, kernel, suffix):
    """The findings of `ptx check`, and the exit status."""
    command = [tcbtune, "ptx", "check", os.path.join(FOLDER, kernel.name + suffix + ".ptx"), "--json",
               "--block", "x".join(map(str, kernel.block))]
    if kernel.dynamic_shared:
        command += ["--dynamic-shared", str(kernel.dynamic_shared)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode in (0, 4), done.stderr
    return json.loads(done.stdout)["findings"], done.returncode


def check_judgement(tcbtune, kernel):
    """Which rules of `ptx check` name the planted defect."""
    findings, status = check(tcbtune, kernel, "")
    loud = {finding["rule"] for finding in findings if finding["severity"] != "advice"}
    assert status == 0 and loud <= set(kernel.depends), findings
    findings, _ = check(tcbtune, kernel, "_defect")
    named = {finding["rule"] for finding in findings if is_there(kernel, finding)}
    assert not kernel.judged or named & set(kernel.judged), f"none of {kernel.judged}, but {findings}"
    return sorted(named)


def main():
    wanted = sys.argv[2:]
    for kernel in KERNELS:
        if wanted and kernel.name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            compared, threads = check_right(sys.argv[1], kernel, folder)
            message = check_defect(sys.argv[1], kernel, folder)
            for suffix in ("", "_defect"):
                check_threads(sys.argv[1], kernel, suffix, folder)
        judged = ", ".join(check_judgement(sys.argv[1], kernel)) or "nothing"
        print(f"{kernel.name}: {compared} elements as the reference, {threads} thread-instructions; "
              f"{kernel.name}.cu:{kernel.source_line()}: {kernel.rule}: {message}; check names there: {judged}")


if __name__ == "__main__":
    main()
