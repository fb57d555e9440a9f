# SPDX-License-Identifier: MIT
"""The files of the package that are no Python."""
import os
import pathlib
import shutil

_FOLDER = pathlib.Path(__file__).parent


def program() -> str:
    """The path of the program: TCBTUNE_PROGRAM's, else the package's own, else the one on PATH."""
    own = _FOLDER / "bin" / "tcbtune"
    found = os.environ.get("TCBTUNE_PROGRAM") or (str(own) if own.is_file() else shutil.which("tcbtune"))
    if not found:
        raise FileNotFoundError("no program tcbtune: install the wheel, or let TCBTUNE_PROGRAM name it")
    return found
