# SPDX-License-Identifier: MIT
"""Where COLUMNS says 80, no command prints a longer line, on stdout or stderr, nor does its help; a command to paste is
broken behind a backslash, so that a shell reads it as one; and a pipe without COLUMNS keeps a record on its line."""
import pathlib
import re
import shlex
import subprocess
import sys

from cli_support import SMALL, Cli

SYNTHETIC = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "synthetic-gguf.py"

WIDTH = 80
PROBLEM = ["--op", "q4k_matvec", "--shape", "1x64x512", "--threads", "1"]
GEOMETRY = ("macro=1x64x512,midi=1x64x512,micro=1x1x256,isa=scalar,layout=native,threads=1,sched=static,unroll=1,"
            "prefetch=0,hint=t0")
RACE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry a_kernel_of_which_the_name_is_long(.param .u64 parameter_that_is_a_pointer_to_the_results)
{
	.reg .b32 %a_register_with_a_rather_long_name_that_nobody_writes_before_it_is_read_here, %r<4>;
	add.u32 %r1, %a_register_with_a_rather_long_name_that_nobody_writes_before_it_is_read_here, %r2;
	ret;
}
"""


def long_lines(text):
    return [line for line in text.splitlines() if len(line) > WIDTH]


def main():
    cli = Cli()
    db, other, ptx, gguf = (cli.scratch / name for name in ("a.db", "b.db", "race.ptx", "model.gguf"))
    ptx.write_text(RACE)
    subprocess.run([sys.executable, SYNTHETIC, gguf, "--layers", "1", "--hidden", "256", "--heads", "4", "--kv-heads", "4",
                    "--ffn", "512", "--vocab", "512"], check=True)
    whole = cli.run("space", *PROBLEM).stdout
    cli.check(len(long_lines(whole)) > 100, "in a pipe a geometry is one line, longer than 80")

    cli.env["COLUMNS"] = str(WIDTH)
    commands = re.findall(r"^  (\w+) ", cli.run("help").stdout, re.M)
    cli.check(len(commands) > 12, f"commands: {commands}")
    runs = [["help"], *(["help", name] for name in commands), [], ["swep"], ["sweep", "--nonsense"],
            ["sweep", *SMALL, "--max-trials", 4, "--db", db], ["sweep", *SMALL, "--max-trials", 6, "--db", other],
            ["sweep", "--op", "q4k_matvec", "--shape", "1x64x100000001"], ["report", "--db", db],
            ["report", "--db", db, "--counters"], ["report", "--db", db, "--op", "rmsnorm"],
            ["report", "--db", cli.scratch / "a_folder_with_a_long_name_that_is_not_there" / "a_database.db"],
            ["lookup", *PROBLEM, "--db", db], ["lookup", *PROBLEM, "--db", db, "--explain"],
            ["lookup", "--op", "Q4_K_M", "--shape", "1x64x512"], ["lookup", "--op", "rmsnorm", "--shape", "4x1000"],
            ["lookup", "--op", "q4k_matvec", "--device", "sm_90a", "--shape", "1x64x512", "--db", db],
            ["space", *PROBLEM], ["space", *PROBLEM, "--explain", GEOMETRY],
            ["space", *PROBLEM, "--explain", GEOMETRY.replace("macro=1x", "macro=3x")],
            ["bench", *SMALL, "--db", db], ["compare", db, other], ["history", *PROBLEM, "--db", db],
            ["trial", "1", "--db", db],
            ["db", "info", "--db", db], ["db", "check", "--db", db], ["db", "merge", other, "--db", db],
            ["db", "diff", db, other], ["db", "forget", "--db", db], ["db", "prune", "--db", db],
            ["replay", "--db", db, "--repeats", 3], ["defaults", "--db", db], ["defaults", "--db", db, "--format", "table"],
            ["model", gguf, "--plan"], ["model", gguf, "--budget", "2s", "--db", db], ["model", "--preset", "nobody"],
            ["run", "--op", "q4k_matvec"], ["ops"], ["devices"], ["doctor"], ["version"],
            ["ptx", "check", ptx], ["ptx", "run", ptx], ["ptx", "check", cli.scratch / "not_there_at_all.ptx"],
            ["ptx", *PROBLEM, "--target", "sm_90", "--check"], ["ptx", "--op", "q4k_matvec", "--shape", "0"]]
    for args in runs:
        result = cli.run(*args, expect=None)
        cli.check(0 <= result.returncode < 126, f"{args}: exit status {result.returncode}\n{result.stderr}")
        found = long_lines(result.stdout + result.stderr)
        cli.check(not found, f"{args}: {len(found)} lines are longer than {WIDTH} columns, the first:\n" + "\n".join(found[:3]))

    # Rows of two contracts and numbers of threads have no room for columns of these.
    cli.run("sweep", "--op", "q4k_matvec", "--shape", "1x100000x512", "--contract", "f32", "--threads", "2", "--rotation",
            "8M", "--max-trials", "1", "--counters", "none", "--db", other)
    mixed = cli.run("report", "--db", other).stdout
    cli.check(not long_lines(mixed) and re.search(r"^    f32, 2 threads: the default", mixed, re.M) and
              re.search(r"^q4k_matvec  1x100000x512  cold +[0-9.]+ .* (thin|noisy)$", mixed, re.M), mixed)
    report = cli.run("report", "--db", db).stdout
    told = re.split(r"^    [^:\n]+: (?=tcbtune sweep )", report, flags=re.M)[-1]  # whichever verdict the load brought
    cli.check(told != report, f"no command mends a row:\n{report}")
    cli.check(" \\\n" in told, f"the command is in several lines:\n{told}")
    words = shlex.split(re.match(r"(?:.*\\\n)*.*\n", told).group().replace("\\\n", " "))
    cli.check(words[:2] == ["tcbtune", "sweep"] and words[-2:] == ["--db", str(db)], f"a shell reads {words}")
    cli.check(cli.run("ptx", "--op", "q4k_matvec", "--shape", "1x64x512", "--target", "sm_90").stdout.endswith("}\n"),
              "PTX is printed whole")
    cli.json("ops", schema="ops")
    cli.done()


if __name__ == "__main__":
    main()
