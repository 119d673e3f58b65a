#!/usr/bin/env python3
"""Plays the collection against eight hosts over ssh: assess, check mode, tune, revert, cut links, killed sshd, killed controller,
waves that harm, and bad input.

Run by scripts/ansible-test.sh in namespaces of its own, as root. play.py COLLECTIONS HOSTLAB [--trials N]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

from machines import TREE, Fleet, Host

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

    def __init__(self, work: Path, fleet: Fleet, collections: str, hostlab: str) -> None:
        self.work, self.fleet, self.hostlab = work, fleet, hostlab
        self.inventory = fleet.inventory()
        self.env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": collections, "ANSIBLE_COLLECTIONS_PATHS": collections, "ANSIBLE_NOCOLOR": "1",
                    "ANSIBLE_HOST_KEY_CHECKING": "False", "ANSIBLE_HOME": str(work / "ansible"), "ANSIBLE_LOCAL_TEMP": str(work / "ansible" / "tmp"),
                    "ANSIBLE_FORKS": "8", "ANSIBLE_TIMEOUT": "30", "ANSIBLE_RETRY_FILES_ENABLED": "False", "ANSIBLE_DEPRECATION_WARNINGS": "False",
                    "ANSIBLE_SSH_ARGS": "-o ControlMaster=auto -o ControlPersist=15s -o ServerAliveInterval=2 -o ServerAliveCountMax=10 "
                                        "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
                    "ANSIBLE_SSH_CONTROL_PATH_DIR": str(work / "cp"), "PATH": "%s:%s" % (Path(hostlab).parent, os.environ["PATH"])}

    def start(self, playbook: str, *args: str) -> subprocess.Popen[str]:
        path = self.work / "play.yml"
        path.write_text("---" + playbook)
        return subprocess.Popen(["ansible-playbook", "-i", str(self.inventory), str(path), *args], env=self.env, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

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
        body = "".join("    " + line + "\n" for line in text.strip("\n").splitlines())
        return self.play("\n- name: Try\n  hosts: %s\n  gather_facts: false\n  become: %s\n  tasks:\n%s" % (hosts, str(become).lower(), body), *args)


def journalled(hosts: list[Host]) -> int:
    """No host has a changed value without a journal that has the old one. Gives how many hosts are changed."""
    n = 0
    for h in hosts:
        if h.changed():
            n += 1
            expect(h.journal().exists() and h.journal().stat().st_size > 0, "%s is changed and has no journal: %s" % (h.name, h.changed()))
    return n


def unchanged(hosts: list[Host]) -> None:
    for h in hosts:
        expect(not h.changed(), "%s: not as before: %s" % (h.name, h.changed()[:5]))


def no_python(p: Player) -> None:
    got = p.tasks("- ansible.builtin.raw: python3 -c 'print(1)' || /usr/bin/python3 -c 'print(1)'", become=False)
    expect(got.status != 0 and got.total("failed") == 8, "the hosts have a Python that runs:\n" + got.out[-1500:])


def install(p: Player) -> None:
    other = p.work / "other"
    other.write_bytes(b"\x7fELF" + bytes(14) + (183).to_bytes(2, "little") + bytes(44))
    text = "- ansible.builtin.include_role: {name: hostlab.fleet.install}\n  vars: {install_sources: {x86_64: %s}%s}"
    got = p.tasks(text % (other, ""), "--limit", "h1")
    expect(got.status != 0 and "is for aarch64, and this host is x86_64" in got.out, "another architecture is not named:\n" + got.out[-1500:])
    got = p.tasks("- hostlab.fleet.install: {sources: {arm64: %s}}" % other, "--limit", "h1")
    expect("sources has nothing for x86_64, only for arm64" in got.out, "a missing architecture is not named:\n" + got.out[-1500:])
    got = p.tasks(text % (p.hostlab, ", install_checksums: {x86_64: '%s'}" % ("0" * 64)), "--limit", "h1")
    expect("; checksums has 0000" in got.out, "a wrong checksum is not named:\n" + got.out[-1500:])
    got = p.tasks("- hostlab.fleet.check:", "--limit", "h1")
    expect("hostlab is not on this host. Install it" in got.out, "a host without hostlab is not named:\n" + got.out[-1500:])
    got = p.tasks(text % (p.hostlab, "")).clean("install")
    expect(got.total("changed") == 8, "install changed %d of 8 hosts" % got.total("changed"))
    got = p.tasks(text % (p.hostlab, "")).clean("install again")
    expect(got.total("changed") == 0, "install changed %d hosts again" % got.total("changed"))



def packages(p: Player, files: list[str]) -> None:
    """A deb and an rpm are given to the host's tool, once; and again where their program is not there as it was."""
    sources = {h.name: {"x86_64": f} for h, f in zip(p.fleet.hosts, files)}
    sums = {h.name: {"amd64": hashlib.sha256(Path(f).read_bytes()).hexdigest()} for h, f in zip(p.fleet.hosts, files)}
    text = ""
    for spoil, changes in (("true", True), ("true", False), ("echo >>/usr/bin/hostlab", True), ("rm /usr/bin/hostlab", True)):
        text += "- ansible.builtin.raw: '%s'\n" % spoil
        for check in ("true", "false"):
            text += ("- hostlab.fleet.install: {sources: '{{ sources[inventory_hostname] }}', checksums: '{{ sums[inventory_hostname] }}'}\n"
                     "  check_mode: %s\n  register: r\n- ansible.builtin.assert: {that: r.changed == %s}\n" % (check, changes))
    text += "- hostlab.fleet.check: {root: %s, binary: /usr/bin/hostlab}\n" % TREE
    p.tasks(text, "--limit", ",".join(sources), "--extra-vars", json.dumps({"sources": sources, "sums": sums})).clean("packages")


def assess(p: Player) -> None:
    text = ("- ansible.builtin.include_role: {name: hostlab.fleet.assess}\n"
            "  vars: {assess_root: %s, assess_store: 'sqlite:%s/fleet.db', assess_report: %s/report.html}" % (TREE, p.work, p.work))
    p.tasks(text).clean("assess")
    documents = sorted(p.work.glob("spool/*/*.json"))
    expect([d.parent.name for d in documents] == [h.name for h in p.fleet.hosts], "the spool has %s" % documents)
    report = (p.work / "report.html").read_text()
    expect(all(h.name in report for h in p.fleet.hosts), "the report does not name all hosts")
    unchanged(p.fleet.hosts)
    got = p.tasks("- hostlab.fleet.check: {root: %s}\n  register: r\n"
                  "- ansible.builtin.copy: {content: '{{ r | to_json }}', dest: '%s/{{ inventory_hostname }}.r'}\n"
                  "  delegate_to: localhost\n  become: false\n  vars: {ansible_python_interpreter: %s}" % (TREE, p.work, sys.executable)).clean("check")
    del got
    for h in p.fleet.hosts:
        size = (p.work / (h.name + ".r")).stat().st_size
        expect(0 < size <= 2048 + 256, "%s returned %d bytes" % (h.name, size))  # Ansible adds some of its own


def check_mode(p: Player) -> None:
    got = p.play(TUNE, "--check", "--diff").clean("check mode")
    expect(got.total("changed") == 8, "check mode foretold changes of %d of 8 hosts:\n%s" % (got.total("changed"), got.out[-2000:]))
    expect("-swappiness = 60" in got.out and "+swappiness = 10" in got.out, "check mode shows no difference:\n" + got.out[:2000])
    unchanged(p.fleet.hosts)
    expect(not any(h.journal().exists() for h in p.fleet.hosts), "check mode wrote a journal")


def tune_twice(p: Player) -> None:
    got = p.play(TUNE).clean("tune")
    expect(got.total("changed") == 8, "tune changed %d of 8 hosts" % got.total("changed"))
    expect(journalled(p.fleet.hosts) == 8, "not all hosts are changed")
    got = p.play(TUNE).clean("tune again")
    expect(got.total("changed") == 0, "the second run changed %d hosts:\n%s" % (got.total("changed"), got.out[-2000:]))


def drift(p: Player) -> None:
    h = p.fleet.hosts[2]
    file = h.tree / SET
    file.write_text("99\n")
    text = "- hostlab.fleet.verify: {root: %s, fail_on_drift: %s}"
    got = p.tasks(text % (TREE, "false")).clean("verify")
    got = p.tasks(text % (TREE, "true"))
    expect(got.status != 0 and got.total("failed") == 1 and got.hosts["h3"]["failed"] == 1, "drift is not found:\n" + got.out[-2000:])
    expect("1 not as set: swappiness" in got.out, "drift is not named:\n" + got.out[-2000:])
    accept = p.work / "drift.toml"
    accept.write_text('[[accept]]\ncheck = "MEM-006"\nreason = "tried for a week"\nuntil = 2199-01-01\n')
    text = ("- hostlab.fleet.verify: {root: %s, fail_on_drift: true, exceptions: %s}\n  register: r\n"
            "- ansible.builtin.assert: {that: r.drifted == 0 and r.accepted == (inventory_hostname == 'h3') | int}")
    p.tasks(text % (TREE, accept)).clean("verify with an exception")
    file.write_text("10\n")


def revert(p: Player) -> None:
    got = p.play(REVERT).clean("revert")
    expect(got.total("changed") == 8, "revert changed %d of 8 hosts" % got.total("changed"))
    unchanged(p.fleet.hosts)
    got = p.play(REVERT).clean("revert again")
    expect(got.total("changed") == 0, "the second revert changed something")


def exceptions(p: Player) -> None:
    """On h1, the governor is a finding (PWR-001); accepted, it is neither counted nor set."""
    file = p.work / "exceptions.toml"
    file.write_text('[[accept]]\ncheck = "PWR-001"\nreason = "the vendor asks for it"\nuntil = 2199-01-01\n')
    text = ("- hostlab.fleet.check: {root: %s, exceptions: %s}\n  register: r\n- ansible.builtin.assert: {that: r.accepted == 1}\n"
            "- hostlab.fleet.settings: {root: %s, role: production-db%s}")
    dry = ("--limit", "h1", "--check", "--diff")
    got = p.tasks(text % (TREE, file, TREE, ""), *dry).clean("set without exceptions")
    expect("governor" in got.out, "what is advised would not be set:\n" + got.out[-2000:])
    got = p.tasks(text % (TREE, file, TREE, ", exceptions: %s" % file), *dry).clean("set with exceptions")
    expect("governor" not in got.out and "cstate_latency" in got.out, "what is accepted would be set:\n" + got.out[-2000:])
    file.write_text('[[accept]]\ncheck = "NO-999"\n')
    got = p.tasks(text % (TREE, file, TREE, ""), "--limit", "h1")
    expect(got.status != 0 and "exceptions" in got.out and "NO-999" in got.out, "a bad file of exceptions passes:\n" + got.out[-2000:])


def documents(p: Player) -> None:
    """What a host has written comes to the spool once, and a profile to the controller."""
    text = ("- hostlab.fleet.collect: {paths: [%s/.hostlab], spool: collected}\n  register: r\n"
            "- ansible.builtin.assert: {that: [r.new == %d, r.known == %d]}\n"
            "- hostlab.fleet.export: {root: %s, tool: tuned, settings: {swappiness: 10}, dest: 'profiles/{{ inventory_hostname }}'}")
    for new, known, changes in ((1, 0, 2), (0, 1, 0)):
        got = p.tasks(text % (TREE, new, known, TREE), "--limit", "h1,h2").clean("collect and export")
        expect(got.total("changed") == changes, "collect and export changed %d hosts:\n%s" % (got.total("changed"), got.out[-2000:]))
    expect("vm.swappiness=10" in (p.work / "profiles" / "h2").read_text(), "the profile does not have what it should")
    got = p.tasks("- hostlab.fleet.collect: {paths: [%s/etc/os-release], spool: collected}" % TREE, "--limit", "h1")
    expect(got.status != 0 and "it is no document of hostlab" in got.out, "another file is taken for a document:\n" + got.out[-2000:])


def persist(p: Player) -> None:
    """A profile of systemd is written once, and taken away."""
    text = "- hostlab.fleet.settings: {root: %s, settings: {swappiness: 10}, persist: systemd, state: %s}"
    for state, changes in (("present", 2), ("present", 0), ("reverted", 2), ("reverted", 0)):
        got = p.tasks(text % (TREE, state), "--limit", "h1,h2").clean("persist")
        expect(got.total("changed") == changes, "%s changed %d hosts:\n%s" % (state, got.total("changed"), got.out[-2000:]))
        kept = (p.fleet.hosts[0].tree / "etc/sysctl.d/90-hostlab.conf").exists()
        expect(kept == (state == "present"), "%s: the profile is %sthere" % (state, "" if kept else "not "))
    unchanged(p.fleet.hosts)


def experiment(p: Player) -> None:
    """An experiment is started, killed, resumed by the role, and its report brought."""
    out = "/var/lib/hostlab-experiments/gzip-level"
    p.tasks("- hostlab.fleet.experiment: {state: started, study: gzip-level, out: %s}" % out, "--limit", "h1").clean("start")
    time.sleep(2)
    text = "- hostlab.fleet.experiment: {out: %s}\n  register: r\n- ansible.builtin.debug: {msg: 'state {{ r.state }}'}" % out
    got = p.tasks(text, "--limit", "h1").clean("look")
    expect("state running" in got.out, "it does not run:\n" + got.out[-2000:])
    for pid in p.fleet.hosts[0].inside():
        if Path("/proc/%d/comm" % pid).read_text().strip() == "hostlab":
            os.kill(pid, signal.SIGINT)
    role = "- ansible.builtin.include_role: {name: hostlab.fleet.experiment}\n  vars: {experiment_study: gzip-level, experiment_delay: 2}"
    got = p.tasks(role, "--limit", "h1").clean("the role")
    found = [f for f in (p.work / "spool" / "h1").glob("*.json") if '"effects"' in f.read_text()]
    expect(len(found) == 1, "the report is not in the spool:\n" + got.out[-2000:])
    got = p.tasks(role, "--limit", "h1").clean("the role again")
    expect(got.total("changed") == 0, "the second run began something:\n" + got.out[-2000:])


def cut_off(p: Player, cut: t.Callable[[Host], None], mend: t.Callable[[Host], None]) -> None:
    """Cut a host off in the middle of a play. The others go on, and the next play finishes."""
    h = p.fleet.hosts[4]
    began = time.monotonic()
    process = p.start(TUNE)
    while not any(x.journal().exists() for x in p.fleet.hosts) and process.poll() is None:
        time.sleep(0.005)
    cut(h)
    got = p.ended(process, began)
    journalled(p.fleet.hosts)
    expect(all(got.hosts[x.name]["failed"] + got.hosts[x.name]["unreachable"] == 0 for x in p.fleet.hosts if x is not h), "others failed:\n" + got.out[-2000:])
    expect(got.hosts[h.name]["unreachable"] == 1, "%s was not cut off in the middle:\n%s" % (h.name, got.out[-2000:]))
    mend(h)
    time.sleep(0.3)
    p.play(TUNE).clean("the next play")
    expect(journalled(p.fleet.hosts) == 8, "not all hosts are changed")
    p.play(REVERT).clean("revert")
    unchanged(p.fleet.hosts)


def link_cut(p: Player) -> None:
    cut_off(p, Host.cut, Host.mend)


def sshd_killed(p: Player) -> None:
    cut_off(p, Host.kill_sshd, Host.start_sshd)


def kill_controller(process: subprocess.Popen[str]) -> None:
    """Kill ansible-playbook and its workers, which have sessions of their own."""
    process.kill()
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and b"ansible-playbook" in Path("/proc/%s/cmdline" % entry).read_bytes():
                os.kill(int(entry), signal.SIGKILL)
        except OSError:
            continue
    process.communicate()


def controller_killed(p: Player, trials: int, seed: int) -> str:
    """Kill the controller at any moment between the first host's set and the last one's verify: no host without a journal, and the next
    play goes on. Two hosts at a time, so that setting all of them takes a good part of the play."""
    def started() -> tuple[subprocess.Popen[str], float]:
        process = p.start(TUNE, "--forks", "2")
        while not any((h.tree / SET).read_text().strip() == "10" for h in p.fleet.hosts) and process.poll() is None:
            time.sleep(0.005)
        return process, time.monotonic()

    def back() -> None:
        for h in p.fleet.hosts:
            subprocess.run([p.hostlab, "revert", "--root", str(h.tree)], check=True, stdout=subprocess.DEVNULL)
        unchanged(p.fleet.hosts)

    process, began = started()
    p.ended(process, began).clean("the play that is timed")
    length = time.monotonic() - began
    back()
    rng, hits = random.Random(seed), [0] * 9
    for trial in range(trials):
        process, _began = started()
        time.sleep(rng.uniform(0, length))
        ended = process.poll()
        kill_controller(process)
        n = journalled(p.fleet.hosts)
        if ended is None:
            hits[n] += 1
        print("     trial %d: %s with %d of 8 hosts set" % (trial + 1, "killed" if ended is None else "ended", n), flush=True)
        p.play(TUNE).clean("the play behind trial %d" % trial)
        expect(journalled(p.fleet.hosts) == 8, "trial %d: not all hosts are changed" % trial)
        back()
    expect(sum(hits) > 0, "no trial hit the time between set and verify")
    expect(trials < 20 or sum(hits[:8]) > 0, "no trial hit the time in which hosts are set")
    return "%d of %d hit; by hosts set: %s" % (sum(hits), trials, ", ".join("%d: %d" % (n, k) for n, k in enumerate(hits) if k))


def bad_input(p: Player) -> None:
    def says(text: str, got: Recap) -> None:
        messages = re.findall(r'"msg": "(.*?)(?<!\\)"|^fatal: .*?: (.*)$', got.out)
        expect(got.status != 0 and text in got.out.replace('\\"', '"'), "expected %r:\n%s" % (text, got.out[-2500:]))
        expect("Traceback" not in got.out, "a traceback: %s" % messages)

    setting = "- hostlab.fleet.settings: {root: %s, settings: {%s}}"
    says("there is no such setting; did you mean swappiness?", p.tasks(setting % (TREE, "swapiness: 10"), "--limit", "h1"))
    says('add "become: true"', p.tasks(setting % (TREE, "swappiness: 10"), "--limit", "h1", become=False))
    says("write it in quotes", p.tasks(setting % (TREE, "smt: on"), "--limit", "h1"))
    says("name what is to be set", p.tasks("- hostlab.fleet.settings: {root: %s}" % TREE, "--limit", "h1"))
    old = p.fleet.hosts[0].dir / "bin" / "old"
    old.write_text("#!/bin/sh\nif [ $1 = version ]; then echo hostlab 0.0.1 go1; exit; fi\necho 'hostlab: unknown flag: --format' >&2\nexit 2\n")
    old.chmod(0o755)
    says("hostlab 0.0.1 is too old for this collection", p.tasks("- hostlab.fleet.verify: {root: %s, binary: old}" % TREE, "--limit", "h1"))
    plan = p.work / "twice.json"
    plan.write_text(json.dumps({"waves": [{"hosts": ["h1", "h2"]}, {"hosts": ["h2", "h3"]}]}))
    says("in two waves: h2", p.tasks(rollout(plan, p.hostlab, p.work)))
    plan.write_text(json.dumps({"waves": [{"hosts": ["h1", "h2"]}, {"hosts": ["h3"]}]}))
    says("Take serial out of the play", p.play("\n- name: Try\n  hosts: fleet\n  gather_facts: false\n  serial: 2\n  tasks:\n    - ansible.builtin.include_role: "
                                               "{name: hostlab.fleet.rollout}\n      vars: {rollout_plan: %s, rollout_root: %s}\n" % (plan, TREE)))
    unchanged(p.fleet.hosts)


def rollout(plan: Path, hostlab: str, work: Path) -> str:
    return ("- ansible.builtin.include_role: {name: hostlab.fleet.rollout}\n"
            "  vars: {rollout_plan: %s, rollout_root: %s, rollout_controller_binary: %s, rollout_store: 'sqlite:%s/waves.db'}" % (plan, TREE, hostlab, work))


def harm(p: Player) -> None:
    """A wave that harms is put back; the one before it stays, and the one behind it is not begun."""
    plan = p.work / "plan.json"
    waves = [["h1", "h4"], ["h2", "h5", "h7"], ["h3", "h6", "h8"]]
    plan.write_text(json.dumps({"set": ["swappiness=10", "dirty_background_bytes=268435456"], "waves": [{"hosts": w} for w in waves]}))
    effect = "reads is 12 % worse with the change [+8.0 %, +16.0 %], n = 5 hosts with it and 3 without"
    gate = p.work / "gate"  # hostlab, but for the gate: what it says of effects has tests of its own
    gate.write_text("#!/bin/sh\nif [ $1.$2.$3 = fleet.rollout.gate ]; then echo '{\"effect\": \"%s\", \"reasons\": [\"too few\"]}'; [ $6 = 2 ] && exit 10; exit 0; fi\nexec %s \"$@\"\n" % (effect, p.hostlab))
    gate.chmod(0o755)
    got = p.tasks(rollout(plan, str(gate), p.work))
    expect(got.status != 0 and "wave 2 harms (%s; too few); it is put back. Later waves are not begun." % effect in got.out, "harm does not stop the roll-out:\n" + got.out[-3000:])
    failed = sorted(name for name, h in got.hosts.items() if h["failed"])
    expect(failed == waves[1], "failed are %s" % failed)
    for h in p.fleet.hosts:
        expect(bool(h.changed()) == (h.name in waves[0]), "%s: changed is %s\n%s" % (h.name, h.changed(), got.out))
        expect(h.journal().exists() or h.name not in waves[0], "%s has no journal" % h.name)
    p.play(REVERT).clean("revert")
    unchanged(p.fleet.hosts)


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
    passed = failed = 0
    try:
        p = Player(work, fleet, o.collections, o.hostlab)
        tests: list[tuple[str, t.Callable[[], object]]] = [
            ("no_python", lambda: no_python(p)), ("install", lambda: install(p)), ("assess", lambda: assess(p)), ("check_mode", lambda: check_mode(p)),
            ("tune_twice", lambda: tune_twice(p)), ("drift", lambda: drift(p)), ("revert", lambda: revert(p)), ("exceptions", lambda: exceptions(p)),
            ("documents", lambda: documents(p)), ("persist", lambda: persist(p)),
            ("bad_input", lambda: bad_input(p)), ("link_cut", lambda: link_cut(p)), ("sshd_killed", lambda: sshd_killed(p)),
            ("controller_killed", lambda: controller_killed(p, o.trials, o.seed)), ("harm", lambda: harm(p))]
        if o.package:
            tests.append(("packages", lambda: packages(p, o.package)))
        if o.full:
            tests.append(("experiment", lambda: experiment(p)))
        for name, test in tests:
            if o.only and name not in [*o.only.split(","), "install"]:
                continue
            began = time.monotonic()
            try:
                note = test()
                passed += 1
                print("ok   %-18s %5.1f s  %s" % (name, time.monotonic() - began, note or ""), flush=True)
            except (Wrong, AssertionError, KeyError, OSError, subprocess.SubprocessError) as e:
                failed += 1
                print("FAIL %-18s %5.1f s  %s: %s" % (name, time.monotonic() - began, type(e).__name__, e), flush=True)
    finally:
        fleet.close()
        subprocess.run(["rm", "-rf", "--one-file-system", str(work)], check=False)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
