#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One ggml with the plug-in, in a process of its own: is it taken, and are its products, mixtures and rows right?

    try_host.py --plugin libggml-tcbtune.so --wheel FOLDER xllamacpp|pywhispercpp | --build FOLDER

Writes one line of JSON: the version, "taken", "refused" or "absent" (no ggml that loads backends), and how many graphs were computed; what the plug-in says goes
to standard error.  Exit: 0 taken and right, or refused; anything else: wrong results, or the host went down.
"""
import argparse
import json
import pathlib

import ggml_calls


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plugin", required=True, type=pathlib.Path)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--wheel", nargs=2, metavar=("FOLDER", "NAME"))
    where.add_argument("--build", type=pathlib.Path)
    args = parser.parse_args()
    try:
        ggml = ggml_calls.open_build(args.build) if args.build else ggml_calls.open_wheel(*args.wheel)
    except LookupError:
        print(json.dumps({"version": None, "state": "absent", "graphs": 0}))
        return
    host = ggml_calls.Host(ggml, args.plugin.resolve())
    answer = {"version": host.version, "state": "refused" if host.refused else "taken", "graphs": 0}
    if not host.refused:
        answer["graphs"] = ggml_calls.check(host)
        assert host.counter("refused") == 0, "the plug-in refused to compute"
        host.close()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
