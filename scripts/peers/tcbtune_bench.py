# SPDX-License-Identifier: MIT
"""`tcbtune bench` for the scripts that time it and another library in turns."""
import json
import os
import pathlib
import subprocess
import sys

NAME = pathlib.Path(sys.argv[0]).name
NOWHERE = "/nowhere/tuning.db"


def results(tcbtune, db, *options):
    """What it says of one problem, cold and hot; DB: None where there is none."""
    command = [tcbtune, "bench", *map(str, options), "--json"]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TCBTUNE_DB": db or NOWHERE})
    if run.returncode:
        sys.exit(f"{NAME}: {' '.join(command)}: {run.stderr.strip()}")
    return json.loads(run.stdout)["results"]
