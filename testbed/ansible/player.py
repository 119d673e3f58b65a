"""Runs playbooks against hosts, as a user would, and says what is wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import typing as t
from pathlib import Path

from machines import TREE, Host

SETTINGS = "{swappiness: 10, dirty_background_bytes: 268435456}"
SET = "proc/sys/vm/swappiness"
VARS = "tune_root: %s, tune_settings: %s" % (TREE, SETTINGS)
TUNE = """
- name: Tune
  hosts: fleet
  gather_facts: false
  become: true
  tasks:
    - name: Tune
      ansible.builtin.include_role: {name: hostlab.fleet.tune}
      vars: {%s}
""" % VARS
REVERT = """
- name: Put back
  hosts: fleet
  gather_facts: false
  become: true
  tasks:
    - name: Put back
      hostlab.fleet.settings: {state: reverted, root: %s}
""" % TREE


class Wrong(Exception):
    pass


def expect(what: bool, text: str) -> None:
    if not what:
        raise Wrong(text)


class Recap(t.NamedTuple):
    """What a play said of its hosts."""

    status: int
    out: str
    seconds: float
    hosts: dict[str, dict[str, int]]

    def total(self, what: str) -> int:
        return sum(h[what] for h in self.hosts.values())

    def clean(self, text: str) -> "Recap":
        expect(self.status == 0, "%s: status %d\n%s" % (text, self.status, self.out[-3000:]))
        return self


class Player:
    """Runs playbooks as a user would."""

    def __init__(self, work: Path, inventory: Path, collections: str, hostlab: str, hosts: list[Host]) -> None:
        self.work, self.inventory, self.hostlab, self.hosts = work, inventory, hostlab, hosts
        self.env = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": collections,
            "ANSIBLE_COLLECTIONS_PATHS": collections,
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_HOST_KEY_CHECKING": "False",
            "ANSIBLE_HOME": str(work / "ansible"),
            "ANSIBLE_LOCAL_TEMP": str(work / "ansible" / "tmp"),
            "ANSIBLE_FORKS": "8",
            "ANSIBLE_TIMEOUT": "30",
            "ANSIBLE_RETRY_FILES_ENABLED": "False",
            "ANSIBLE_DEPRECATION_WARNINGS": "False",
            "ANSIBLE_SSH_ARGS": "-o ControlMaster=auto -o ControlPersist=15s -o ServerAliveInterval=2 -o ServerAliveCountMax=10 "
            "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(work / "cp"),
            "PATH": "%s:%s" % (Path(hostlab).parent, os.environ["PATH"]),
        }

    def start(self, playbook: str, *args: str) -> subprocess.Popen[str]:
        path = self.work / "play.yml"
        path.write_text("---" + playbook)
        return subprocess.Popen(
            ["ansible-playbook", "-i", str(self.inventory), str(path), *args],
            env=self.env,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def play(self, playbook: str, *args: str) -> Recap:
        began = time.monotonic()
        return self.ended(self.start(playbook, *args), began)

    def ended(self, process: subprocess.Popen[str], began: float) -> Recap:
        out, _err = process.communicate(timeout=1200)
        hosts = {}
        for name, counts in re.findall(r"^(\S+)\s+: (ok=.*)$", out, re.MULTILINE):
            hosts[name] = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", counts)}
        return Recap(process.returncode, out, time.monotonic() - began, hosts)

    def tasks(self, text: str, *args: str, become: bool = True, hosts: str = "fleet") -> Recap:
        return self.play(self.playbook(text, become, hosts), *args)

    @staticmethod
    def playbook(tasks: str, become: bool = True, hosts: str = "fleet") -> str:
        body = "".join("    " + line + "\n" for line in tasks.strip("\n").splitlines())
        return "\n- name: Try\n  hosts: %s\n  gather_facts: false\n  become: %s\n  tasks:\n%s" % (
            hosts,
            str(become).lower(),
            body,
        )


def journalled(hosts: list[Host]) -> int:
    """No host has a changed value without a journal that has the old one. Gives how many hosts are changed."""
    n = 0
    for h in hosts:
        if h.changed():
            n += 1
            expect(
                h.journal().exists() and h.journal().stat().st_size > 0,
                "%s is changed and has no journal: %s" % (h.name, h.changed()),
            )
    return n


def unchanged(hosts: list[Host]) -> None:
    for h in hosts:
        expect(not h.changed(), "%s: not as before: %s" % (h.name, h.changed()[:5]))


def played(steps: dict[str, t.Callable[[], object]]) -> int:
    """Take the steps in order, say of each whether it is as it should be, and give the exit status."""
    passed, failed = 0, 0
    for name, step in steps.items():
        began = time.monotonic()
        try:
            note = step()
            print("ok   %-18s %5.1f s  %s" % (name, time.monotonic() - began, note or ""), flush=True)
            passed += 1
        except (Wrong, AssertionError, KeyError, OSError, subprocess.SubprocessError) as e:
            failed += 1
            print("FAIL %-18s %5.1f s  %s: %s" % (name, time.monotonic() - began, type(e).__name__, e), flush=True)
            if name in ("boot", "install"):  # all others need it
                break
    print("%d passed, %d failed" % (passed, failed))
    return 0 if passed and not failed else 1
