#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MatVecs of weight formats by layout, as shares of a core's read limit: native, r16 and r16g in turn.

    scripts/format-shares.py [--tcbtune build/release/src/cli/tcbtune] [--isa avx512vnni] [--contract q8]
                             [--shape 1x4096x4096] [--budget 20s] [--wait-quiet 10m] [FORMAT ...]

One thread.  The layouts of a format and a loop that reads the bytes as stored are measured by one `tcbtune bench`, in
paired rounds, so that a drift of the machine meets all of them; a share is the read's time over the kernel's, of bytes
as stored whatever the layout's are.  A layout that a format has no kernel for here is "-", as is a share of a limit that
was too noisy.  Formats are all that have codes and no kernels of their own unless named.
"""
import argparse
import sys
import tempfile

from lib.measuring import Table, call_json, geometry_words

FORMATS = {"q40": 32, "q80": 32, "q5k": 256, "q6k": 256, "mxfp4": 32, "iq4xs": 256, "iq4nl": 32, "q50": 32, "q51": 32,
           "q41": 32, "q3k": 256, "q2k": 256, "iq3s": 256, "iq3xxs": 256, "iq2s": 256, "iq2xs": 256, "iq2xxs": 256,
           "iq1s": 256, "iq1m": 256, "nvfp4": 64}
WITH_PLACES = {"iq3xxs", "iq2xs", "iq2xxs"}
# What a layout's rows and prefetch are by default on AVX-512.
LAYOUTS = {"native": (4, "prefetch=4096,hint=t0"), "r16": (16, "prefetch=4096,hint=t1"), "r16g": (16, "prefetch=4096,hint=t1")}
TABLE = Table(("op", "16"), ("caches", "6"), ("read us", ">9.1f"), ("native us", ">9.1f"), ("r16 us", ">9.1f"),
              ("r16g us", ">9.1f"), ("native", ">7.2f"), ("r16", ">7.2f"), ("r16g", ">7.2f"))


def layouts_of(options, name):
    has_places = name in WITH_PLACES and options.isa == "avx512vnni" and options.contract == "q8"
    return [layout for layout in LAYOUTS if layout != "r16g" or has_places]


def geometry(options, name, layout):
    _, n, k = map(int, options.shape.split("x"))
    rows, prefetch = LAYOUTS[layout]
    return (f"macro=1x{1 << (n - 1).bit_length()}x{k},midi=1x64x{k},micro=1x{rows}x{FORMATS[name]},isa={options.isa},"
            f"layout={layout},threads=1,sched=static,unroll=1,{prefetch}")


def measure(options, name, database):
    layouts = layouts_of(options, name)
    words = [options.tcbtune, "bench", "--op", f"{name}_matvec", "--contract", options.contract, "--shape", options.shape,
             "--threads", "1", "--budget", options.budget, "--db", database, "--json",
             *geometry_words(geometry(options, name, layout) for layout in layouts)]
    if options.wait_quiet:
        words += ["--wait-quiet", options.wait_quiet]
    for result in call_json(words)["results"]:
        given = [row for row in result["rows"] if row["role"] == "given"]
        is_known = result.get("limit_use") == "holds"
        times, shares = [], []
        for layout in LAYOUTS:
            row = given[layouts.index(layout)] if layout in layouts else None
            is_timed = row and row["ns"] and row["over_first"]
            times.append(row["ns"]["median"] / 1000 if is_timed else "-")
            shares.append(result["of_limit"]["median"] / row["over_first"]["median"] if is_timed and is_known else "-")
        print(TABLE.line(f"{name}_matvec", result["state"], result["limit_ns"]["median"] / 1000 if is_known else "-", *times,
                         *shares), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tcbtune", default="build/release/src/cli/tcbtune")
    parser.add_argument("--isa", default="avx512vnni")
    parser.add_argument("--contract", default="q8")
    parser.add_argument("--shape", default="1x4096x4096")
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--wait-quiet")
    parser.add_argument("formats", nargs="*", metavar="FORMAT", default=sorted(FORMATS))
    options = parser.parse_args()
    if unknown := set(options.formats) - set(FORMATS):
        sys.exit(f"unknown formats: {', '.join(sorted(unknown))}; known: {', '.join(sorted(FORMATS))}")
    print(TABLE.head())
    with tempfile.TemporaryDirectory() as folder:
        for name in options.formats:
            measure(options, name, f"{folder}/tuning.db")


if __name__ == "__main__":
    main()
