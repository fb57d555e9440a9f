# SPDX-License-Identifier: MIT
import os
import sys

from ._files import program


def main() -> None:
    """The program, in place of this process."""
    path = program()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
