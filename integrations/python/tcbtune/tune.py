# SPDX-License-Identifier: MIT
"""Tuning a kernel of one's own, in the manner that users of Kernel Tuner know."""
from __future__ import annotations

import json
import pathlib
import re
import subprocess
import tempfile
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from ._files import program

Value = Union[int, float, str, bool]
Size = Union[int, str]
Words = Union[str, Sequence[str], None]

_TYPES = {"float32": "float", "float16": "half", "float64": "double", "int8": "int8", "uint8": "uint8",
          "int16": "int16", "uint16": "uint16", "int32": "int32", "uint32": "uint32", "int64": "int64",
          "uint64": "uint64"}
_ENDINGS = {"CUDA": ".cu", "OpenCL": ".cl", "C": ".c", "C++": ".cpp", "WGSL": ".wgsl", "PTX": ".ptx"}
_DEVICES = {"CUDA": "cuda:0", "PTX": "cuda:0", "OpenCL": "opencl:0", "WGSL": "wgpu:0", "C": "cpu", "C++": "cpu"}
_LANGUAGES = {"cuda": "CUDA", "cupy": "CUDA", "nvcuda": "CUDA", "opencl": "OpenCL", "c": "C", "c++": "C++",
              "wgsl": "WGSL", "ptx": "PTX"}
_BLOCKS = ("block_size_x", "block_size_y", "block_size_z")


class Failed(RuntimeError):
    """The program ended with an error; the message is what it said."""


class Tuned(NamedTuple):
    """What came of tune_kernel."""

    best: dict[str, Value]
    """The parameters of the winner."""
    time: float
    """Milliseconds of a call of it, in its finals, caches cold."""
    speedup: float
    """Over the first configuration that the restrictions allow; NaN: that one did not work."""
    records: np.ndarray
    """A structured array of what was tried: a field for each parameter, 'time' in ms (NaN: it failed), 'outcome'."""
    report: dict[str, Any]
    """The row of 'tcbtune report --json': verdict, intervals, ties, limits, bottleneck."""


def _source(source: Union[str, pathlib.Path]) -> tuple[str, Optional[pathlib.Path]]:
    """Its text, and the file that it came from."""
    if isinstance(source, pathlib.Path) or ("\n" not in source and pathlib.Path(source).is_file()):
        return pathlib.Path(source).read_text(), pathlib.Path(source).resolve()
    return source, None


def _language(lang: Optional[str], text: str, path: Optional[pathlib.Path]) -> str:
    if lang is not None:
        if lang.lower() not in _LANGUAGES:
            raise ValueError(f"lang is {lang!r}, not one of {', '.join(sorted(set(_LANGUAGES.values())))}")
        return _LANGUAGES[lang.lower()]
    for language, ending in _ENDINGS.items():
        if path is not None and path.suffix == ending:
            return language
    signs = (("__global__", "CUDA"), ("__kernel", "OpenCL"), ("@compute", "WGSL"), (".entry", "PTX"))
    return next((language for sign, language in signs if sign in text), "C")


def _argument(index: int, value: Any, answer: Any, folder: pathlib.Path) -> dict[str, Any]:
    """An argument of the file; what it holds is written beside it."""
    array = np.asarray(value)
    if str(array.dtype) not in _TYPES:
        raise TypeError(f"argument {index} is of {array.dtype}; {', '.join(_TYPES)} are known")
    entry: dict[str, Any] = {"Name": f"a{index}", "Type": _TYPES[str(array.dtype)]}
    if not isinstance(value, np.ndarray):
        return {**entry, "MemoryType": "Scalar", "FillType": "Constant", "FillValue": array.item()}
    entry.update(MemoryType="Vector", Size=int(array.size))
    if answer is not None and not array.any():
        return {**entry, "AccessType": "WriteOnly"}
    np.ascontiguousarray(array).tofile(folder / f"a{index}.raw")
    return {**entry, "AccessType": "ReadOnly" if answer is None else "ReadWrite", "FillType": "BinaryRaw",
            "DataSource": f"a{index}.raw"}


def _right(index: int, value: Any, answer: Any, folder: pathlib.Path) -> dict[str, Any]:
    right = np.ascontiguousarray(answer, dtype=np.asarray(value).dtype)
    if right.size != np.asarray(value).size:
        raise ValueError(f"answer {index} has {right.size} elements, the argument {np.asarray(value).size}")
    right.tofile(folder / f"right{index}.raw")
    return {"TargetName": f"a{index}", "FillType": "BinaryRaw", "DataSource": f"right{index}.raw"}


def _divisors(given: Words, block: str, parameters: Mapping[str, Any]) -> list[str]:
    if given is None:
        return [block] if block in parameters else []
    return [given] if isinstance(given, str) else list(given)


def _restrictions(given: Words) -> list[str]:
    found = [] if given is None else [given] if isinstance(given, str) else list(given)
    for restriction in found:
        if not isinstance(restriction, str):
            raise TypeError("a restriction is an expression as text, such as 'tile_m % block_size_y == 0'; a function "
                            "cannot be handed to the program")
    return found


def _is_met(restrictions: Sequence[str], configuration: Mapping[str, Value]) -> bool:
    return all(eval(r, {"__builtins__": {"min": min, "max": max, "abs": abs}}, dict(configuration))
               for r in restrictions)


def _first(parameters: Mapping[str, Sequence[Value]], restrictions: Sequence[str]) -> dict[str, Value]:
    """The first configuration that RESTRICTIONS allow, the last parameter varying fastest."""
    names = list(parameters)

    def walk(chosen: dict[str, Value]) -> Optional[dict[str, Value]]:
        if len(chosen) == len(names):
            return chosen if _is_met(restrictions, chosen) else None
        found = (walk({**chosen, names[len(chosen)]: value}) for value in parameters[names[len(chosen)]])
        return next((f for f in found if f is not None), None)

    found = walk({})
    if found is None:
        raise ValueError("the restrictions allow no configuration")
    return found


def _describe(folder: pathlib.Path, name: str, text: str, path: Optional[pathlib.Path], language: str,
              sizes: Sequence[int], arguments: Sequence[Any], parameters: Mapping[str, Sequence[Value]],
              divisors: Sequence[list[str]], restrictions: Sequence[str], answer: Sequence[Any],
              tolerance: Mapping[str, float], options: Sequence[str], first: Mapping[str, Value]) -> pathlib.Path:
    """Writes the kernel file and what it names; its path."""
    source = folder / f"kernel{_ENDINGS[language]}"
    source.write_text(text)
    if path is not None:
        options = [*options, f"-I{path.parent}"]
    specification: dict[str, Any] = {
        "Language": language, "KernelName": name, "KernelFile": source.name, "ProblemSize": list(sizes),
        "CompilerOptions": list(options),
        "Arguments": [_argument(i, value, answer[i], folder) for i, value in enumerate(arguments)],
        "ReferenceArguments": [_right(i, value, answer[i], folder) for i, value in enumerate(arguments)
                               if answer[i] is not None]}
    if language not in ("C", "C++"):
        specification["LocalSize"] = {d: block if block in parameters else "256" if d == "X" else "1"
                                      for d, block in zip("XYZ", _BLOCKS)}
        for dimension, divisor in zip("XYZ", divisors):
            if divisor:
                specification[f"GridDiv{dimension}"] = divisor
    document = {
        "ConfigurationSpace": {
            "TuningParameters": [{"Name": key, "Type": type(values[0]).__name__.replace("str", "string"),
                                  "Values": repr(list(values)), "Default": first[key]}
                                 for key, values in parameters.items()],
            "Conditions": [{"Parameters": [key for key in parameters if re.search(rf"\b{key}\b", r)], "Expression": r}
                           for r in restrictions]},
        "KernelSpecification": specification,
        "tcbtune": {"Name": "own_" + re.sub(r"\W", "_", name.split("<")[0].lower()), "Tolerance": dict(tolerance)}}
    described = folder / "kernel.json"
    described.write_text(json.dumps(document, indent=1))
    return described


def _run(*words: Any) -> str:
    run = subprocess.run([program(), *map(str, words)], capture_output=True, text=True)
    if run.returncode != 0:
        raise Failed(run.stderr.strip() or f"tcbtune ended with exit status {run.returncode}")
    return run.stdout


def _value_of(words: Mapping[str, Any], key: str, values: Sequence[Value]) -> Value:
    """What WORDS, of a geometry or an exported configuration, say of parameter KEY, which is in lower case there and
    has a _ behind it where it would be a knob's name; one that has a single value is not written."""
    written = words.get(key, words.get(key.lower(), words.get(key.lower() + "_")))
    return next((value for value in values if str(value) == str(written)), values[0])


def _records(results: Sequence[Mapping[str, Any]], parameters: Mapping[str, Sequence[Value]]) -> np.ndarray:
    fields = [(key, np.asarray(list(values)).dtype) for key, values in parameters.items()]
    out = np.zeros(len(results), dtype=[*fields, ("time", np.float64), ("outcome", "U24")])
    for record, result in zip(out, results):
        for key, _ in fields:
            record[key] = _value_of(result["configuration"], key, parameters[key])
        value = result["measurements"][0]["value"]
        record["time"] = value if isinstance(value, (int, float)) else np.nan
        record["outcome"] = result["invalidity"]
    return out


def _parameters_of(geometry: str, parameters: Mapping[str, Sequence[Value]]) -> dict[str, Value]:
    words = dict(word.split("=", 1) for word in geometry.split(","))
    return {key: _value_of(words, key, values) for key, values in parameters.items()}


def tune_kernel(kernel_name: str, kernel_source: Union[str, pathlib.Path], problem_size: Union[Size, Sequence[Size]],
                arguments: Sequence[Any], tune_params: Mapping[str, Sequence[Value]], *,
                grid_div_x: Words = None, grid_div_y: Words = None, grid_div_z: Words = None,
                restrictions: Words = None, answer: Optional[Sequence[Any]] = None, atol: float = 1e-6,
                rtol: float = 1e-4, lang: Optional[str] = None, device: Optional[str] = None,
                compiler_options: Sequence[str] = (), strategy: Optional[str] = None, budget: float = 60.0,
                max_trials: Optional[int] = None, seed: int = 1,
                database: Union[str, pathlib.Path, None] = None) -> Tuned:
    """The best of TUNE_PARAMS for a kernel.

    kernel_name, kernel_source  the function, and its text or file; parameters are macros to it
    problem_size                up to three sizes
    arguments                   NumPy arrays, and NumPy or Python scalars, in the kernel's order
    tune_params                 the values of each parameter; block_size_x, _y, _z are the threads of a block
    grid_div_x, ...             parameters, or expressions, by whose product a size is divided, rounded up, for blocks;
                                block_size_x and so on where it is not said
    restrictions                expressions that a configuration must fulfil
    answer                      for each argument None or what the kernel must leave there; an argument with an answer
                                is an output.  It may differ by ATOL + RTOL * |answer|
    lang                        CUDA, OpenCL, C, C++, WGSL, PTX; else by the file's ending or by what the text has
    device                      as of 'tcbtune devices'; else the first of the language's kind
    budget, max_trials          seconds, and how many configurations at most
    database                    where trials are kept, so that the same call goes on; else they go with this call

    A kernel in C is a function without result; it is timed by the program, on one thread unless COMPILER_OPTIONS have
    -fopenmp.  Raises Failed with what the program said, ValueError and TypeError for arguments that do not fit.
    """
    parameters = {key: list(values) for key, values in tune_params.items()}
    if answer is None or all(a is None for a in answer):
        raise ValueError("answer says for no argument what the kernel must leave there: nothing could be verified")
    if len(answer) != len(arguments):
        raise ValueError(f"answer has {len(answer)} elements, arguments {len(arguments)}")
    text, path = _source(kernel_source)
    language = _language(lang, text, path)
    sizes = [problem_size] if isinstance(problem_size, (int, str, np.integer)) else list(problem_size)
    if not all(isinstance(size, (int, np.integer)) for size in sizes):
        raise TypeError("problem_size is one to three whole numbers")
    divisors = [_divisors(given, block, parameters)
                for given, block in zip((grid_div_x, grid_div_y, grid_div_z), _BLOCKS)]
    allowed = _restrictions(restrictions)
    with tempfile.TemporaryDirectory(prefix="tcbtune-") as scratch:
        folder = pathlib.Path(scratch)
        described = _describe(folder, kernel_name, text, path, language, [int(s) for s in sizes], arguments, parameters,
                              divisors, allowed, answer, {"Absolute": atol, "Relative": rtol}, compiler_options,
                              _first(parameters, allowed))
        op = json.loads(described.read_text())["tcbtune"]["Name"]
        common = ["--kernel", described, "--op", op, "--db", database or folder / "trials.db"]
        words: list[Any] = ["--device", device or _DEVICES[language], "--budget", f"{budget}s", "--seed", seed]
        if strategy is not None:
            words += ["--strategy", strategy]
        if max_trials is not None:
            words += ["--max-trials", max_trials]
        _run("sweep", *common, *words)
        rows = json.loads(_run("report", *common, "--json"))["best"]
        report = next(row for row in rows if row["state"] == "cold")
        exported = json.loads(_run("db", "export", *common, "--format", "t4"))
    default_ns = report["default_ns"]["median"] if report.get("default_ns") else np.nan
    return Tuned(_parameters_of(report["geometry"], parameters), report["ns"]["median"] / 1e6,
                 default_ns / report["ns"]["median"], _records(exported["results"], parameters), report)
