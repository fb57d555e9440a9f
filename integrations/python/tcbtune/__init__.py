# SPDX-License-Identifier: MIT
"""tcbtune from Python.

    tune_kernel     finds the best parameters of a kernel that you wrote (tcbtune.tune)
    rt              libtcbrt: tuned kernels of tcbtune's own, planned, packed and executed on arrays
    program         the path of the program tcbtune, which 'tcbtune' and 'python -m tcbtune' run
"""
from ._files import program
from .tune import Failed, Tuned, tune_kernel

__all__ = ["Failed", "Tuned", "program", "tune_kernel"]
__version__ = "@VERSION@"
