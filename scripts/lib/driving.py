# SPDX-License-Identifier: MIT
"""What scripts that drive tcbtune with random commands share: running one, and what no answer may be."""
import subprocess

HANGS = "hangs"  # in place of an exit status


def drive(tcbtune, command, hangs_s, environment=None):
    """Runs COMMAND; its exit status, what it printed, what it said, and what is wrong with that ("": nothing)."""
    try:
        run = subprocess.run([tcbtune, *command], capture_output=True, text=True, errors="replace", timeout=hangs_s,
                             env=environment)
    except subprocess.TimeoutExpired:
        return HANGS, "", "", f"still running after {hangs_s} s"
    said = run.stderr.strip()
    wrong = ""
    if "Sanitizer" in said or "runtime error:" in said or "Assertion" in said:
        wrong = "a sanitizer or an assertion spoke"
    elif run.returncode not in range(8):
        wrong = "not an exit status of tcbtune's"
    elif run.returncode and (len(said) < 20 or "tcbtune" not in said) and command[:2] != ["db", "check"]:
        wrong = "failed without a reason"
    return run.returncode, run.stdout, said, wrong
