# SPDX-License-Identifier: MIT
"""Sweeps and more inside control groups of both versions: processors by quota, memory by limit.

A group is made below the one that this test runs in, for each version that this machine has a controller of and lets
this user make groups for (as root in most containers that are privileged, or in a delegated group).  Where neither can
be made the test is skipped, and says why; tests/base/test_cgroup.c reads made trees everywhere, and
scripts/control-groups-vm.sh runs this one in a machine of version 2.
"""
import os
import pathlib
import re
import subprocess
import sys

from cli_support import SMALL, Cli

LIMIT = 900 << 20


def own_groups():
    """{controller: (folder of this process's group, version)}: from /proc/self/cgroup and the mounts."""
    mounts = {}
    for line in open("/proc/self/mountinfo"):
        fields, rest = line.split(" - ")
        kind, _, options = rest.split(" ", 2)
        root, point = fields.split()[3:5]
        if kind == "cgroup":
            mounts.update({(1, word): (root, point) for word in options.strip().split(",")})
        elif kind == "cgroup2":
            mounts[(2, "")] = (root, point)
    found = {}
    for line in open("/proc/self/cgroup"):
        _, controllers, path = line.strip().split(":", 2)
        for word in controllers.split(","):
            mount = mounts.get((1 if word else 2, word))
            if mount and path.startswith(mount[0].rstrip("/")):
                folder = pathlib.Path(mount[1] + path[len(mount[0].rstrip("/")):])
                names = [word] if word else (folder / "cgroup.controllers").read_text().split()
                for name in names:
                    found.setdefault(name, (folder, 1 if word else 2))
    return found


class Group:
    """A new group with SETTINGS, below this process's own; None as its folder, and why, where it cannot be made."""

    def __init__(self, controller, settings):
        self.folder, self.why = None, f"no {controller} controller is mounted"
        own = own_groups().get(controller)
        if not own:
            return
        parent, self.version = own
        folder = parent / f"tcbtune-test-{os.getpid()}"
        try:
            folder.mkdir()
            self.folder = folder
            for name, value in settings[self.version].items():
                (folder / name).write_text(str(value))
        except OSError as error:
            self.why = f"version {self.version}: {error}"
            self.close()

    def enter(self):
        (self.folder / "cgroup.procs").write_text("0")

    def close(self):
        if self.folder:
            self.folder.rmdir()
        self.folder = None


def inside(cli, group, *args, expect=0):
    return cli.run(*args, expect=expect, preexec_fn=group.enter)


def quota(cli):
    """A quota of one processor's time is one thread."""
    group = Group("cpu", {1: {"cpu.cfs_quota_us": 100000}, 2: {"cpu.max": "100000 100000"}})
    if not group.folder:
        return group.why
    try:
        devices = inside(cli, group, "devices").stdout
        cli.check("default 1 thread" in devices, f"a quota of one processor: {devices}")
        doctor = inside(cli, group, "doctor").stdout
        cli.check("time of 1 processor (" in doctor, doctor)
    finally:
        group.close()
    return None


def killed(group):
    """Processes of GROUP that were killed because of its limit."""
    name = "memory.oom_control" if group.version == 1 else "memory.events"
    return int(re.search(r"^oom_kill (\d+)", (group.folder / name).read_text(), re.M).group(1))


def memory(cli):
    """Nobody is killed: what is measured on is cut to what the group leaves, and what cannot be cut is refused."""
    group = Group("memory", {1: {"memory.limit_in_bytes": LIMIT}, 2: {"memory.max": LIMIT}})
    if not group.folder:
        return group.why
    try:
        doctor = inside(cli, group, "doctor").stdout
        cli.check(re.search(r"\d{3} of 900 MiB of memory left", doctor), doctor)
        # The most that may be measured on by default is 2 GiB: as much of it as the group has.
        sweep = ("sweep", "--op", "q4k_matvec", "--shape", "1x1024x1024", "--effort", "quick", "--budget", "4s",
                 "--threads", "1", "--db", cli.scratch / "memory.db")
        inside(cli, group, *sweep)
        cli.check(killed(group) == 0, "the sweep was killed by the group's limit")
        # A rotation and a shape that cannot be had: one line that says so.
        result = inside(cli, group, *sweep, "--rotation", "2G", expect=1)
        cli.check("MiB" in result.stderr and "rotation" in result.stderr, result.stderr)
        result = inside(cli, group, "sweep", "--op", "softmax", "--shape", "16384x16384", "--effort", "quick",
                        "--budget", "4s", "--db", cli.scratch / "large.db", expect=1)
        cli.check("need 1024 MiB of memory" in result.stderr and "smaller shape" in result.stderr, result.stderr)
        cli.check(killed(group) == 0, "something was killed by the group's limit")
    finally:
        group.close()
    return None


def main():
    cli = Cli()
    skipped = {part.__name__: why for part in (quota, memory) if (why := part(cli))}
    for part, why in skipped.items():
        print(f"not run: {part}: {why}")
    if len(skipped) == 2:
        sys.exit(77)
    cli.done()


if __name__ == "__main__":
    main()
