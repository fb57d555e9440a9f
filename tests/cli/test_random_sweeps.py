# SPDX-License-Identifier: MIT
"""scripts/random-sweeps.py must notice what it is there to notice, on programs that stand in for tcbtune."""
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "random-sweeps.py"
OPS = '{"ops": [{"name": "q4k_matvec", "shape_form": "MxNxK", "words": [], "weight_type": "Q4_K", "contracts": ["q8"]}]}'


class Sweeps(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.tmp.name)

    def tearDown(self):
        self.tmp.cleanup()

    def run_with(self, sweep, count=2):
        fake = self.root / "fake"
        fake.write_text(f"#!/bin/sh\n[ $1 = ops ] && {{ echo '{OPS}'; exit; }}\n{sweep}\n")
        fake.chmod(0o755)
        return subprocess.run([sys.executable, SCRIPT, fake, self.root / "out", "--count", str(count)],
                              capture_output=True, text=True)

    def test_good(self):
        run = self.run_with("exit 0")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("0 sweeps failed, 0 trials bad", run.stdout)

    def test_refusals_are_no_failures(self):
        self.assertEqual(self.run_with("exit 2").returncode, 0)
        self.assertEqual(self.run_with("exit 3").returncode, 0)

    def test_a_crash(self):
        run = self.run_with("kill -SEGV $$")
        self.assertEqual(run.returncode, 1)
        self.assertIn("exit -11: ", run.stdout)

    def test_a_wrong_kernel(self):
        (self.root / "out").mkdir()
        db = sqlite3.connect(self.root / "out" / "random.db")
        db.executescript(
            "CREATE TABLE problem (id, op, contract, m, n, k, words);"
            "INSERT INTO problem VALUES (1, 'attention_decode_f16', 'f32', 3, 1, 64, 'h2/1');"
            "CREATE TABLE device (id, name); INSERT INTO device VALUES (1, 'cpu');"
            "CREATE TABLE sweep (id, problem_id, device_id); INSERT INTO sweep VALUES (1, 1, 1);"
            "CREATE TABLE trial (sweep_id, geometry, outcome, message);"
            "INSERT INTO trial VALUES (1, 'g', 'wrong', 'off by one'), (1, 'h', 'ok', '');")
        db.commit()
        run = self.run_with("exit 0")
        self.assertEqual(run.returncode, 1)
        self.assertIn("wrong: attention_decode_f16/f32 3x1x64,h2/1 cpu g: off by one", run.stdout)

    def test_no_program(self):
        run = subprocess.run([sys.executable, SCRIPT, self.root / "none", self.root / "out"],
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, 2)
        self.assertIn("give a tcbtune program", run.stderr)


if __name__ == "__main__":
    unittest.main()
