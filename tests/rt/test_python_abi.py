# SPDX-License-Identifier: MIT
"""The structs of examples/python/tcbrt.py lie as those of tcbrt.h.

    test_python_abi.py SOURCE_FOLDER
"""
import ctypes as c
import os
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "examples", "python"))
import tcbrt  # noqa: E402

STRUCTS = {"tcbrt_error": tcbrt._Error, "tcbrt_query": tcbrt._Query, "tcbrt_tuning": tcbrt._Tuning,
           "tcbrt_operand": tcbrt._Operand, "tcbrt_plan_info": tcbrt._Info}
# Several members of one type are one array there.
JOINED = {"macro", "midi", "micro", "tuned_m", "tuned_n", "tuned_k"}


def main():
    compared = 0
    with open(os.path.join(sys.argv[1], "tests", "rt", "abi.txt"), encoding="ascii") as lines:
        for line in lines:
            name, *numbers = line.split()
            struct, _, member = name.partition(".")
            if struct not in STRUCTS or member in JOINED:
                continue
            if member:
                field = getattr(STRUCTS[struct], member)
                here = [field.offset, field.size]
            else:
                here = [c.sizeof(STRUCTS[struct])]
            if here != [int(number) for number in numbers]:
                sys.exit(f"{name}: {numbers} in C, {here} in Python")
            compared += 1
    if compared < 40:
        sys.exit(f"only {compared} lines of abi.txt were compared")
    print(f"{compared} sizes and offsets are the same")


main()
