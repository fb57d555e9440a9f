# SPDX-License-Identifier: MIT
"""Devices of one name: two GPUs that are both "sm_90" and two machines that both call theirs "cpu" are told apart in
every format, and --device takes this machine's, a key or a part of a model's name."""
import csv
import io
import sqlite3

from cli_support import SMALL, Cli

GPUS = {"aaaa000000000001": ("NVIDIA H100 80GB HBM3", 20.0), "bbbb000000000002": ("NVIDIA H200", 15.0)}


def copy_row(db, table, row, **changes):
    """A copy of ROW with CHANGES; its id."""
    row = dict(row, id=None, **changes)
    marks = ", ".join("?" * len(row))
    return db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values())).lastrowid


def add_device(path, key, model, median_us=None, **changes):
    """The stored winners once more, on another device."""
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    device = dict(db.execute("SELECT * FROM device ORDER BY id LIMIT 1").fetchone())
    changes = {"key": key, "model": model, **changes}
    other = copy_row(db, "device", device, **changes)
    sweep = dict(db.execute("SELECT * FROM sweep ORDER BY id LIMIT 1").fetchone())
    # Names of sweeps are unique where they have them.
    sweep_changes = {name: f"{key}-sweep" for name in ("uuid", "uid") if name in sweep}
    sweep = copy_row(db, "sweep", sweep, device_id=other, **sweep_changes)
    for best in db.execute("SELECT * FROM best WHERE device_id = ?", (device["id"],)).fetchall():
        times = {} if median_us is None else {"median_ns": 1e3 * median_us, "lo_ns": 990 * median_us,
                                              "hi_ns": 1010 * median_us}
        copy_row(db, "best", dict(best), device_id=other, sweep_id=sweep, trial_id=None, modelled=1, **times)
    db.commit()
    db.close()


def report(cli, path, *args, **kw):
    return cli.run("report", "--db", path, *args, **kw)


def devices_of(cli, path, *args):
    rows = csv.DictReader(io.StringIO(report(cli, path, "--format", "csv", *args).stdout))
    return sorted({(row["device"], row["model"], row["device_key"]) for row in rows})


def check_formats(cli, path):
    table = report(cli, path).stdout
    for label, name, (model, _) in (("H100", "sm_90", GPUS["aaaa000000000001"]),
                                    ("H200", "sm_90", GPUS["bbbb000000000002"])):
        cli.check(f"device {label}: {name}, {model}, key" in table, f"{label} is not explained:\n{table}")
        rows = [line for line in table.splitlines() if label in line.split() or line.strip().startswith(f"{label}:")]
        cli.check(len(rows) >= 2, f"no rows of {label} in\n{table}")
    for line in table.splitlines():
        cli.check(len(line) <= 80 or "tcbtune" in line, f"wider than 80 columns: {line}")
    markdown = report(cli, path, "--format", "md").stdout
    cli.check("| H100 |" in markdown and "| H200 |" in markdown, f"not apart in Markdown:\n{markdown}")
    page = report(cli, path, "--format", "html").stdout
    cli.check(all(f'data-label="device">{name}</td>' in page for name in ("H100", "H200")), "not apart in the page")
    columns = report(cli, path, "--columns", "device,time", "--geometry", "none").stdout
    cli.check(any(line.split() == ["H200", "15.00"] for line in columns.splitlines()), f"--columns device: {columns}")
    document = cli.json("report", "--db", path, schema="report")
    cli.check({best["device"]["model"] for best in document["best"]} >= {model for model, _ in GPUS.values()},
              "models in JSON")


def check_filter(cli, path, own_key):
    for asked, models in (("H200", {"NVIDIA H200"}), ("h100", {"NVIDIA H100 80GB HBM3"}), ("bbbb", {"NVIDIA H200"}),
                          ("aaaa000000000001", {"NVIDIA H100 80GB HBM3"}),
                          ("sm_90", {"NVIDIA H100 80GB HBM3", "NVIDIA H200"}),
                          ("sm_90:bbbb000000000002", {"NVIDIA H200"})):
        found = devices_of(cli, path, "--device", asked)
        cli.check({model for _, model, _ in found} == models, f"--device {asked}: {found}")
    found = devices_of(cli, path, "--device", "cpu")
    cli.check([key for _, _, key in found] == [own_key], f"--device cpu is this machine's: {found}")
    refused = report(cli, path, "--device", "B200x", expect=2).stderr
    cli.check("unknown device 'B200x'" in refused, refused)
    told = report(cli, path, "--device", "H200", "--op", "softmax", expect=3).stderr
    cli.check("--device H200" not in told and "device H200" in told, told)


def main():
    cli = Cli()
    cli.env["COLUMNS"] = "80"
    path = cli.scratch / "devices.db"
    cli.run("sweep", *SMALL, "--max-trials", "2", "--db", path)
    alone = report(cli, path).stdout
    (name, model, own_key), = devices_of(cli, path)
    cli.check(f"device {name}: {model}, key {own_key}" in " ".join(alone.split()), f"one device has its name:\n{alone}")
    add_device(path, "0123456789abcdef", "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz")
    two = report(cli, path).stdout
    cli.check("Xeon" in two and f"device {name}:" not in two, f"two machines' cpu:\n{two}")
    found = devices_of(cli, path, "--device", "cpu")
    cli.check([key for _, _, key in found] == [own_key], f"--device cpu: {found}")
    for key, (gpu, median_us) in GPUS.items():
        add_device(path, key, gpu, median_us, name="sm_90", arch="sm_90", kind="cuda", threads=0,
                   limits='{"capability":90,"sm_count":132,"shared_bytes":232448,"l2_bytes":52428800}')
    check_formats(cli, path)
    check_filter(cli, path, own_key)
    # of another machine alone the rows are shown, and it is said
    db = sqlite3.connect(path)
    db.execute("DELETE FROM best WHERE device_id = (SELECT id FROM device WHERE key = ?)", (own_key,))
    db.commit()
    db.close()
    others = report(cli, path, "--device", "cpu")
    cli.check("no result is of this machine's cpu" in others.stderr and "8481C" in others.stdout, others.stderr)
    cli.done()


if __name__ == "__main__":
    main()
