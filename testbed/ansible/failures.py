"""What breaks off in the middle of a play, and bad input."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import time
import typing as t
from pathlib import Path

from machines import TREE, Host
from player import REVERT, SET, TUNE, Player, Recap, expect, journalled, unchanged
from waves import rollout


def cut_off(p: Player, cut: t.Callable[[Host], None], mend: t.Callable[[Host], None]) -> None:
    """Cut a host off in the middle of a play. The others go on, and the next play finishes."""
    h = p.hosts[4]
    began = time.monotonic()
    process = p.start(TUNE)
    while not any(x.journal().exists() for x in p.hosts) and process.poll() is None:
        time.sleep(0.005)
    cut(h)
    got = p.ended(process, began)
    journalled(p.hosts)
    expect(
        all(got.hosts[x.name]["failed"] + got.hosts[x.name]["unreachable"] == 0 for x in p.hosts if x is not h),
        "others failed:\n" + got.out[-2000:],
    )
    expect(got.hosts[h.name]["unreachable"] == 1, "%s was not cut off in the middle:\n%s" % (h.name, got.out[-2000:]))
    mend(h)
    time.sleep(0.3)
    p.play(TUNE).clean("the next play")
    expect(journalled(p.hosts) == 8, "not all hosts are changed")
    p.play(REVERT).clean("revert")
    unchanged(p.hosts)


def link_cut(p: Player) -> None:
    cut_off(p, Host.cut, Host.mend)


def sshd_killed(p: Player) -> None:
    cut_off(p, Host.kill_sshd, Host.start_sshd)


def kill_controller(process: subprocess.Popen[str]) -> str:
    """Kill ansible-playbook and its workers, which have sessions of their own. Gives what it had said."""
    process.kill()
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and b"ansible-playbook" in Path("/proc/%s/cmdline" % entry).read_bytes():
                os.kill(int(entry), signal.SIGKILL)
        except OSError:
            continue
    return process.communicate()[0]


def controller_killed(p: Player, trials: int, seed: int) -> str:
    """Kill the controller at any moment between the first host's set and the last one's verify: no host without a journal,
    and the next play goes on. Two hosts at a time, so that setting all of them takes a good part of the play."""

    def started() -> tuple[subprocess.Popen[str], float]:
        process = p.start(TUNE, "--forks", "2")
        while not any((h.tree / SET).read_text().strip() == "10" for h in p.hosts) and process.poll() is None:
            time.sleep(0.005)
        return process, time.monotonic()

    def back() -> None:
        for h in p.hosts:
            subprocess.run([p.hostlab, "revert", "--root", str(h.tree)], check=True, stdout=subprocess.DEVNULL)
        unchanged(p.hosts)

    process, began = started()
    p.ended(process, began).clean("the play that is timed")
    length = time.monotonic() - began
    back()
    rng, hits = random.Random(seed), [0] * 9
    for trial in range(trials):
        process, _began = started()
        time.sleep(rng.uniform(0, length))
        out = kill_controller(process)
        n = journalled(p.hosts)
        verified = len(re.findall(r"^ok: ", out.partition("tune : Verify]")[2], re.MULTILINE))
        if n > verified:
            hits[n] += 1
        print("     trial %d: %d of 8 hosts set, %d verified" % (trial + 1, n, verified), flush=True)
        p.play(TUNE).clean("the play after trial %d" % trial)
        expect(journalled(p.hosts) == 8, "trial %d: not all hosts are changed" % trial)
        back()
    expect(sum(hits) > 0, "no trial hit the time between a host's set and its verify")
    expect(trials < 20 or sum(hits[:8]) > 0, "no trial hit the time in which hosts are set")
    return "%d of %d kills fell between a host's set and its verify; by hosts set: %s" % (
        sum(hits),
        trials,
        ", ".join("%d: %d" % (n, k) for n, k in enumerate(hits) if k),
    )


# A study that cannot be read, and the same experiment with one that can.
MENDED = """
- hostlab.fleet.experiment: {state: started, study: '%s', out: /var/lib/mended}
- ansible.builtin.raw: while ! [ -e /var/lib/mended.status ]; do sleep 0.1; done
- hostlab.fleet.experiment: {out: /var/lib/mended}
  register: r
  failed_when: not r.failed or 'ended with status 2' not in r.msg
- hostlab.fleet.experiment: {state: started, study: gzip-level, out: /var/lib/mended}
  register: s
- ansible.builtin.assert: {that: s.msg == 'started'}
"""


def experiment(p: Player) -> None:
    """An experiment outlives a killed controller; killed itself, the role resumes it, and brings its report."""
    h, out = p.hosts[0], "/var/lib/hostlab-experiments/gzip-level"
    bad = p.work / "bad.toml"
    bad.write_text("[study]\n")
    p.tasks(MENDED % bad, "--limit", h.name).clean("a mended study")
    kill_runs(h)
    role = (
        "- ansible.builtin.include_role: {name: hostlab.fleet.experiment}\n"
        "  vars: {experiment_study: gzip-level, experiment_delay: 2}"
    )
    process = p.start(p.playbook(role), "--limit", h.name)
    ends = time.monotonic() + 60
    while not (runs := running(h)) and process.poll() is None and time.monotonic() < ends:
        time.sleep(0.05)
    time.sleep(1)
    kill_controller(process)
    text = "- hostlab.fleet.experiment: {out: %s}\n  register: r\n- ansible.builtin.debug: {msg: 'state {{ r.state }}'}" % out
    got = p.tasks(text, "--limit", h.name).clean("look")
    expect("state running" in got.out and running(h) == runs, "it does not run after the killed controller:\n" + got.out[-2000:])
    kill_runs(h)
    got = p.tasks(role, "--limit", h.name, "-v").clean("the role")
    expect('"msg": "resumed"' in got.out, "it was not resumed:\n" + got.out[-2000:])
    found = [f for f in (p.work / "spool" / h.name).glob("*.json") if '"effects"' in f.read_text()]
    expect(len(found) == 1, "the report is not in the spool:\n" + got.out[-2000:])
    got = p.tasks(role, "--limit", h.name).clean("the role again")
    expect(got.total("changed") == 0, "the second run began something:\n" + got.out[-2000:])


def kill_runs(h: Host) -> None:
    """Kill hostlab's runs on a host, and wait until they are gone."""
    while runs := running(h):
        for pid in runs:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


def running(h: Host) -> list[int]:
    """The processes of 'hostlab run' on a host."""
    out = []
    for pid in h.inside():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if Path("/proc/%d/cmdline" % pid).read_bytes().startswith(b"hostlab\0run\0"):
                out.append(pid)
    return out


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
    old = p.hosts[0].dir / "bin" / "old"
    old.write_text(
        "#!/bin/sh\nif [ $1 = version ]; then echo hostlab 0.0.1 go1; exit; fi\n"
        "echo 'hostlab: unknown flag: --format' >&2\nexit 2\n"
    )
    old.chmod(0o755)
    says(
        "hostlab 0.0.1 is too old for this collection",
        p.tasks("- hostlab.fleet.verify: {root: %s, binary: old}" % TREE, "--limit", "h1"),
    )
    plan = p.work / "twice.json"
    says("is not there, or no plan of a roll-out", p.tasks(rollout(plan, p.hostlab, p.work)))
    plan.write_text(json.dumps({"waves": [{"hosts": ["h1", "h2"]}, {"hosts": ["h2", "h3"]}]}))
    says("in two waves: h2. Make the plan anew.", p.tasks(rollout(plan, p.hostlab, p.work)))
    plan.write_text(json.dumps({"waves": [{"hosts": ["h1", "h2"]}, {"hosts": ["h3"]}]}))
    says(
        "Take serial out of the play",
        p.play(
            "\n- name: Try\n  hosts: fleet\n  gather_facts: false\n  serial: 2\n  tasks:\n    - ansible.builtin.include_role: "
            "{name: hostlab.fleet.rollout}\n      vars: {rollout_plan: %s, rollout_root: %s}\n" % (plan, TREE)
        ),
    )
    for first in ("0", "3"):
        got = p.tasks(rollout(plan, p.hostlab, p.work, rollout_first=first))
        says('"msg": "rollout_first is %s; %s has the waves 1 to 2"' % (first, plan), got)
    says('"msg": "hostlab: --store: there is no ', p.tasks(rollout(plan, p.hostlab, p.work)))
    none = p.work / "none"
    none.mkdir()
    store = "sqlite:%s/waves.db" % p.work
    subprocess.run([p.hostlab, "fleet", "ingest", "--store", store, str(none)], check=True, stdout=subprocess.DEVNULL)
    says('"msg": "hostlab: %s: not a roll-out plan' % plan, p.tasks(rollout(plan, p.hostlab, p.work)))
    got = p.tasks(rollout(plan, p.hostlab, p.work, rollout_controller_binary="hostlob"))
    says('"msg": "hostlob cannot be run on the controller"', got)
    dest = "- hostlab.fleet.install: {sources: {x86_64: %s}, dest: /usr/local/bin}" % p.hostlab
    says("dest: /usr/local/bin is a directory of the host", p.tasks(dest, "--limit", "h1"))
    study = "- hostlab.fleet.experiment: {root: %s, state: started, study: gzip-level, out: /var/lib/never}" % TREE
    says("module: root", p.tasks(study, "--limit", "h1"))
    watch = "- ansible.builtin.include_role: {name: hostlab.fleet.watch}\n  vars: {watch_units: [no-such.service]}"
    says('"msg": "no-such.service cannot be started (', p.tasks(watch, "--limit", "h1"))
    unchanged(p.hosts)
