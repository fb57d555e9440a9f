# SPDX-License-Identifier: MIT
"""What the test scripts of the command line share: running tcbtune in a scratch folder, its JSON, and checks."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema

# One small problem, measured in moments: rotation and limits are far below what real sweeps use.
SMALL = ["--op", "q4k_matvec", "--shape", "1x64x512", "--rotation", "8M", "--threads", "1"]


def read_schema(schemas, name):
    """The JSON Schema NAME of the folder SCHEMAS; those that it refers to by their file ("$ref": "shape.schema.json")
    stand in their place, so that nothing is looked for elsewhere."""
    def in_place(part):
        refers = re.fullmatch(r"([a-z-]+)\.schema\.json", str(part.get("$ref")))
        return read_schema(schemas, refers[1]) if refers else part
    return json.loads((schemas / f"{name}.schema.json").read_text(), object_hook=in_place)


class Cli:
    def __init__(self):
        parser = argparse.ArgumentParser()
        for name in ("--tcbtune", "--schemas", "--fixtures"):
            parser.add_argument(name, type=pathlib.Path, required=True)
        args = parser.parse_args()
        self.program = str(args.tcbtune.resolve())
        self.schemas, self.fixtures = args.schemas, args.fixtures
        self._scratch = tempfile.TemporaryDirectory(prefix="tcbtune-cli-")
        self.scratch = pathlib.Path(self._scratch.name)
        self.env = {k: v for k, v in os.environ.items() if k not in ("TCBTUNE_DB", "XDG_DATA_HOME", "COLUMNS")}
        self.env["TCBTUNE_OTHERS"] = "ignore"  # tests run beside each other
        self.env["TCBTUNE_SYSTEM_DB"] = ""  # whatever is installed here
        self.env["HOME"] = str(self.scratch)
        self.checks = 0

    def start(self, *args, **kw):
        return subprocess.Popen([self.program, *map(str, args)], env=self.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **kw)

    def run(self, *args, expect=0, **kw):
        """Runs to the end; the exit status must be EXPECT (None: any)."""
        result = subprocess.run([self.program, *map(str, args)], env=self.env, capture_output=True, text=True,
                                timeout=120, **kw)
        if expect is not None and result.returncode != expect:
            fail(f"{args}: exit status {result.returncode}, expected {expect}\n{result.stderr}{result.stdout}")
        return result

    def json(self, *args, schema, expect=0, **kw):
        document = json.loads(self.run(*args, "--json", expect=expect, **kw).stdout)
        jsonschema.validate(document, read_schema(self.schemas, schema))
        return document

    def trials(self, db):
        return self.json("db", "info", "--db", db, schema="db-info")["trials"]

    def sound(self, db):
        report = self.json("db", "check", "--db", db, schema="db-check", expect=None)
        self.check(report["sound"], f"{db} is not sound: {report['findings']}")

    def check(self, holds, message):
        self.checks += 1
        if not holds:
            fail(message)

    def done(self):
        if not self.checks:
            fail("no check was made")
        print(f"{self.checks} checks passed")


def fail(message):
    print(f"FAILED: {message}")
    sys.exit(1)
