#!/usr/bin/env python3
"""Plays the collection against eight hosts over ssh: assess, check mode, tune, revert, cut links, killed sshd, killed controller,
waves that harm, and bad input.

Run by scripts/ansible-test.sh in namespaces of its own, as root. play.py COLLECTIONS HOSTLAB [--trials N]
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

import failures
import modules
import waves
from machines import Fleet
from player import Player, played


def main() -> int:
    a = argparse.ArgumentParser()
    a.add_argument("collections")
    a.add_argument("hostlab")
    a.add_argument("--trials", type=int, default=2, help="how often the controller is killed")
    a.add_argument("--seed", type=int, default=18, help="of the moments when it is killed")
    a.add_argument("--full", action="store_true", help="also what takes long")
    a.add_argument("--package", action="append", default=[], help="a deb and an rpm")
    a.add_argument("--only", default="", help="names of tests, with commas")
    o = a.parse_args()
    work = Path(tempfile.mkdtemp(prefix="hostlab-ansible-", dir="/var/tmp"))
    work.chmod(0o755)  # sshd reads keys as the user
    fleet = Fleet(work / "fleet")
    try:
        p = Player(work, fleet.inventory(), o.collections, o.hostlab, fleet.hosts)
        steps: dict[str, t.Callable[[], object]] = {
            step.__name__: functools.partial(step, p)
            for step in (
                modules.no_python,
                modules.install,
                modules.assess,
                modules.check_mode,
                modules.tune_twice,
                modules.drift,
                modules.revert,
                modules.exceptions,
                modules.documents,
                modules.persist,
                failures.bad_input,
                failures.link_cut,
                failures.sshd_killed,
            )
        }
        steps["controller_killed"] = functools.partial(failures.controller_killed, p, o.trials, o.seed)
        if o.package:
            steps["packages"] = functools.partial(modules.packages, p, o.package)
        if o.full:
            steps["experiment"] = functools.partial(failures.experiment, p)
        steps["harm"] = functools.partial(waves.harm, p)  # it makes other machines of the hosts
        only = ["install", *o.only.split(",")] if o.only else list(steps)
        failed = played({name: step for name, step in steps.items() if name in only})
    finally:
        fleet.close()
        subprocess.run(["rm", "-rf", "--one-file-system", str(work)], check=False)
    return failed


if __name__ == "__main__":
    sys.exit(main())
