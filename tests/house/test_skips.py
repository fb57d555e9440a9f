# SPDX-License-Identifier: MIT
"""A test that fails is failed, whatever else it skips; one that only skips is skipped, and its reason is listed; what a
program skips that a test expects to skip (expect.sh) is not.

    test_skips.py SKIP_SAMPLE CTEST LIST_SKIPS EXPECT

Runs programs of skip_sample.c under a ctest of its own, with the property that tests/CMakeLists.txt gives to tests.
"""
import pathlib
import subprocess
import sys
import tempfile

SAMPLE, CTEST, LIST_SKIPS, EXPECT = sys.argv[1:]
# name -> what its tests do, what ctest says
PROGRAMS = {
    "passes": (["pass"], "Passed"),
    "skips": (["pass", "skip", "skip"], "Skipped"),
    "skips_and_fails": (["skip", "fail", "pass"], "Failed"),
    "fails_and_skips": (["fail", "skip"], "Failed"),
    "fails_77_times": (["fail"] * 77, "Failed"),
    "fails_256_times": (["fail"] * 256, "Failed"),
}


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for name, (does, _) in PROGRAMS.items():
            lines.append(f'add_test({name} "{SAMPLE}" {" ".join(does)})')
            lines.append(f"set_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77)")
        lines.append(f'add_test(expects_a_skip "{EXPECT}" 77 "^SKIPPED: it was told to$" "{SAMPLE}" skip)')
        (pathlib.Path(folder) / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
        said = subprocess.run([CTEST], cwd=folder, capture_output=True, text=True).stdout
        for name, (_, expected) in PROGRAMS.items():
            line = next(line for line in said.splitlines() if f": {name} ." in line)
            if expected not in line:
                wrong.append(f"{name} is not {expected}: {line}")
        failed = sum(expected == "Failed" for _, expected in PROGRAMS.values())
        if f"{failed} tests failed out of {len(PROGRAMS) + 1}" not in said:
            wrong.append(said)
        listed = subprocess.run([LIST_SKIPS, folder], capture_output=True, text=True).stdout.splitlines()
        names = [name for name, (does, _) in PROGRAMS.items() if "skip" in does]
        if listed != [f"  {name}: it was told to" for name in names]:
            wrong.append(f"the list of skips is {listed}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
