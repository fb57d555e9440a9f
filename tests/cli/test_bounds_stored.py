# SPDX-License-Identifier: MIT
"""What the winners of stored databases are bound by, by `report --json`: known answers of an H200 with counters
and of a Zen 4 without; that an answer does not depend on what else is reported; and that the words agree with the
figures beside them."""
import gzip
import lzma
import pathlib
import re

from cli_support import Cli

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "results"
KNOWN = {
    "h200/2026-11-22/products/tuning.db.gz": {
        ("matmul_f16", "4096x4096x4096", "hot"): "compute",
        ("matmul_f32", "4096x4096x4096", "cold"): "compute",
        ("q4k_matmul", "32x4096x4096", "cold"): "latency",
        ("q4k_matmul", "8x14336x4096", "cold"): "bandwidth",
        ("q4k_matmul", "8x14336x4096", "hot"): "unknown",  # 73 to 87 % of the read limit
    },
    "cpu-zen4/whole-models/tuning.db.xz": {
        ("q4k_matvec", "1x2048x2048", "cold"): "bandwidth",
        ("q4k_matmul", "512x4096x4096", "cold"): "issue",
    },
}


def unpack(cli, name):
    packed, target = RESULTS / name, cli.scratch / name.replace("/", "_")
    target.write_bytes((gzip if packed.suffix == ".gz" else lzma).decompress(packed.read_bytes()))
    return target


def bounds(cli, database, *args):
    document = cli.json("report", "--db", database, *args, schema="report")
    return {(best["op"], best["shape"]["text"], best["state"]): best for best in document["best"]}


def check_figures(cli, key, best):
    """Of a share of the read limit that is printed, both sides of the word; where arithmetic takes longer, and nobody
    measured it, % LIMIT is the share of the specified limit that the words name."""
    bottleneck, line = best["bottleneck"], best["bottleneck"]["evidence"]
    if best["limit_use"] == "specified":
        share = re.search(r"(\d+) % of the compute limit \(by specification", line)
        cli.check(share and abs(int(share[1]) - 100 * best["of_limit"]) <= 0.5, f"{key}: {line}: {best['of_limit']}")
        cli.check((bottleneck["kind"] == "compute") == (best["of_limit"] >= 0.5), f"{key}: {bottleneck}")
        return
    share = re.match(r"(\d+|>100|\?) % of the (hot )?read limit", line)
    cli.check(share and bool(share[2]) == (key[2] == "hot"), f"{key}: {line}")
    use = {">100": "beyond", "?": "noisy"}.get(share[1], "holds")
    cli.check(best["limit_use"] == use, f"{key}: {line}: {best['limit_use']}")
    if use != "holds":
        cli.check(bottleneck["kind"] != "bandwidth", f"{key}: {bottleneck}")
        return
    cli.check(abs(int(share[1]) - 100 * best["of_limit"]) <= 0.5, f"{key}: {line}: {best['of_limit']}")
    if bottleneck["kind"] in ("issue", "latency"):
        cli.check(int(share[1]) <= 80, f"{key}: {bottleneck}")
    if bottleneck["kind"] == "bandwidth":
        cli.check(int(share[1]) >= 80, f"{key}: {bottleneck}")
        quantised = re.match(r"(i?q\d\w+|mxfp4|nvfp4)_mat", key[0]) is not None
        cli.check(("weights of fewer bits" in bottleneck["advice"]) == quantised, f"{key}: {bottleneck}")
    roofline = bottleneck["roofline"]
    cli.check(abs(roofline["gb_per_s"] - best["gb_per_s"]) < 1e-6 * best["gb_per_s"], f"{key}: {roofline}")
    cli.check(abs(roofline["operations_per_byte"] - best["flops"] / best["bytes"]) < 1e-9 * best["flops"],
              f"{key}: {roofline}")


def main():
    cli = Cli()
    for name, known in KNOWN.items():
        database = unpack(cli, name)
        found = bounds(cli, database)
        for key, kind in known.items():
            cli.check(found[key]["bottleneck"]["kind"] == kind, f"{name}: {key}: {found[key]['bottleneck']}")
        for key, best in found.items():
            check_figures(cli, key, best)
        table = cli.run("report", "--db", database, "--columns", "op,shape,state,bound", "--geometry", "none").stdout
        for (op, shape, state), best in found.items():
            row = rf"^{op} +{shape} +{state} +{best['bottleneck']['kind']} *$"
            cli.check(re.search(row, table, re.M), f"{name}: no row like {row} in\n{table}")
        op = min(known)[0]
        some = bounds(cli, database, "--op", op)
        cli.check(some and all(best["bottleneck"] == found[key]["bottleneck"] for key, best in some.items()),
                  f"{name}: {op} alone is bound otherwise")
    cli.done()


if __name__ == "__main__":
    main()
