"""What each module and role does on hosts that answer."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from machines import TREE
from player import REVERT, SET, TUNE, Player, expect, journalled, unchanged


def no_python(p: Player) -> None:
    got = p.tasks("- ansible.builtin.raw: python3 -c 'print(1)' || /usr/bin/python3 -c 'print(1)'", become=False)
    expect(got.status != 0 and got.total("failed") == 8, "the hosts have a Python that runs:\n" + got.out[-1500:])


def install(p: Player) -> None:
    other = p.work / "other"
    other.write_bytes(b"\x7fELF" + bytes(14) + (183).to_bytes(2, "little") + bytes(44))
    text = "- ansible.builtin.include_role: {name: hostlab.fleet.install}\n  vars: {install_sources: {x86_64: %s}%s}"
    got = p.tasks(text % (other, ""), "--limit", "h1")
    expect(
        got.status != 0 and "is for aarch64, and this host is x86_64" in got.out,
        "another architecture is not named:\n" + got.out[-1500:],
    )
    got = p.tasks("- hostlab.fleet.install: {sources: {arm64: %s}}" % other, "--limit", "h1")
    expect(
        "sources has nothing for x86_64, only for arm64" in got.out, "a missing architecture is not named:\n" + got.out[-1500:]
    )
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
    sources = {h.name: {"x86_64": f} for h, f in zip(p.hosts, files)}
    sums = {h.name: {"amd64": hashlib.sha256(Path(f).read_bytes()).hexdigest()} for h, f in zip(p.hosts, files)}
    text = ""
    for spoil, changes in (("true", True), ("true", False), ("echo >>/usr/bin/hostlab", True), ("rm /usr/bin/hostlab", True)):
        text += "- ansible.builtin.raw: '%s'\n" % spoil
        for check in ("true", "false"):
            text += (
                "- hostlab.fleet.install: {sources: '{{ sources[inventory_hostname] }}',"
                " checksums: '{{ sums[inventory_hostname] }}'}\n"
                "  check_mode: %s\n  register: r\n- ansible.builtin.assert: {that: r.changed == %s}\n" % (check, changes)
            )
    text += "- hostlab.fleet.check: {root: %s, binary: /usr/bin/hostlab}\n" % TREE
    p.tasks(text, "--limit", ",".join(sources), "--extra-vars", json.dumps({"sources": sources, "sums": sums})).clean("packages")


def assess(p: Player) -> None:
    text = (
        "- ansible.builtin.include_role: {name: hostlab.fleet.assess}\n"
        "  vars: {assess_root: %s, assess_store: 'sqlite:%s/fleet.db', assess_report: %s/report.html}" % (TREE, p.work, p.work)
    )
    p.tasks(text).clean("assess")
    documents = sorted(p.work.glob("spool/*/*.json"))
    expect([d.parent.name for d in documents] == [h.name for h in p.hosts], "the spool has %s" % documents)
    report = (p.work / "report.html").read_text()
    expect(all(h.name in report for h in p.hosts), "the report does not name all hosts")
    other = p.work / "spool" / "h1" / "other.json"
    other.write_text('{"schema": 99}')
    (p.work / "report.html").unlink()
    got = p.tasks(text)
    expect(got.status != 0 and '"msg": "hostlab: h1/other.json: ' in got.out, "what is refused is not named:\n" + got.out[-2000:])
    expect((p.work / "report.html").read_text().count(">h8<") > 0, "one document that is refused costs the report")
    other.unlink()
    got = p.tasks(text.replace("/report.html", "/nowhere/report.html"))
    expect(got.status != 0 and "nowhere/report.html: " in got.out, "a report that cannot be written passes:\n" + got.out[-2000:])
    unchanged(p.hosts)
    got = p.tasks(
        "- hostlab.fleet.check: {root: %s}\n  register: r\n"
        "- ansible.builtin.copy: {content: '{{ r | to_json }}', dest: '%s/{{ inventory_hostname }}.r'}\n"
        "  delegate_to: localhost\n  become: false\n  vars: {ansible_python_interpreter: %s}" % (TREE, p.work, sys.executable)
    ).clean("check")
    del got
    for h in p.hosts:
        size = (p.work / (h.name + ".r")).stat().st_size
        expect(0 < size <= 2048 + 256, "%s returned %d bytes" % (h.name, size))  # Ansible adds some of its own


def check_mode(p: Player) -> None:
    got = p.play(TUNE, "--check", "--diff").clean("check mode")
    expect(
        got.total("changed") == 8, "check mode foretold changes of %d of 8 hosts:\n%s" % (got.total("changed"), got.out[-2000:])
    )
    expect("-swappiness = 60" in got.out and "+swappiness = 10" in got.out, "check mode shows no difference:\n" + got.out[:2000])
    unchanged(p.hosts)
    expect(not any(h.journal().exists() for h in p.hosts), "check mode wrote a journal")


def tune_twice(p: Player) -> None:
    got = p.play(TUNE).clean("tune")
    expect(got.total("changed") == 8, "tune changed %d of 8 hosts" % got.total("changed"))
    expect(journalled(p.hosts) == 8, "not all hosts are changed")
    got = p.play(TUNE).clean("tune again")
    expect(got.total("changed") == 0, "the second run changed %d hosts:\n%s" % (got.total("changed"), got.out[-2000:]))


def drift(p: Player) -> None:
    h = p.hosts[2]
    file = h.tree / SET
    file.write_text("99\n")
    text = "- hostlab.fleet.verify: {root: %s, fail_on_drift: %s}"
    got = p.tasks(text % (TREE, "false")).clean("verify")
    got = p.tasks(text % (TREE, "true"))
    expect(
        got.status != 0 and got.total("failed") == 1 and got.hosts["h3"]["failed"] == 1, "drift is not found:\n" + got.out[-2000:]
    )
    expect("1 not as set: swappiness" in got.out, "drift is not named:\n" + got.out[-2000:])
    accept = p.work / "drift.toml"
    accept.write_text('[[accept]]\ncheck = "MEM-006"\nreason = "tried for a week"\nuntil = 2199-01-01\n')
    text = (
        "- hostlab.fleet.verify: {root: %s, fail_on_drift: true, exceptions: %s}\n  register: r\n"
        "- ansible.builtin.assert: {that: r.drifted == 0 and r.accepted == (inventory_hostname == 'h3') | int}"
    )
    p.tasks(text % (TREE, accept)).clean("verify with an exception")
    file.write_text("10\n")


def revert(p: Player) -> None:
    got = p.play(REVERT).clean("revert")
    expect(got.total("changed") == 8, "revert changed %d of 8 hosts" % got.total("changed"))
    unchanged(p.hosts)
    got = p.play(REVERT).clean("revert again")
    expect(got.total("changed") == 0, "the second revert changed something")


def exceptions(p: Player) -> None:
    """On h1, the governor is a finding (PWR-001); accepted, it is neither counted nor set."""
    file = p.work / "exceptions.toml"
    file.write_text('[[accept]]\ncheck = "PWR-001"\nreason = "the vendor asks for it"\nuntil = 2199-01-01\n')
    text = (
        "- hostlab.fleet.check: {root: %s, exceptions: %s}\n  register: r\n- ansible.builtin.assert: {that: r.accepted == 1}\n"
        "- hostlab.fleet.settings: {root: %s, role: production-db%s}"
    )
    dry = ("--limit", "h1", "--check", "--diff")
    got = p.tasks(text % (TREE, file, TREE, ""), *dry).clean("set without exceptions")
    expect("governor" in got.out, "what is advised would not be set:\n" + got.out[-2000:])
    got = p.tasks(text % (TREE, file, TREE, ", exceptions: %s" % file), *dry).clean("set with exceptions")
    expect("governor" not in got.out and "cstate_latency" in got.out, "what is accepted would be set:\n" + got.out[-2000:])
    file.write_text('[[accept]]\ncheck = "NO-999"\n')
    got = p.tasks(text % (TREE, file, TREE, ""), "--limit", "h1")
    expect(
        got.status != 0 and "exceptions" in got.out and "NO-999" in got.out,
        "a bad file of exceptions passes:\n" + got.out[-2000:],
    )


def documents(p: Player) -> None:
    """What a host has written comes to the spool once, and a profile to the controller."""
    text = (
        "- hostlab.fleet.collect: {paths: [%s/.hostlab], spool: collected}\n  register: r\n"
        "- ansible.builtin.assert: {that: [r.new == %d, r.known == %d]}\n"
        "- hostlab.fleet.export: {root: %s, tool: tuned, settings: {swappiness: 10}, dest: 'profiles/{{ inventory_hostname }}'}"
    )
    for new, known, changes in ((1, 0, 2), (0, 1, 0)):
        got = p.tasks(text % (TREE, new, known, TREE), "--limit", "h1,h2").clean("collect and export")
        expect(
            got.total("changed") == changes, "collect and export changed %d hosts:\n%s" % (got.total("changed"), got.out[-2000:])
        )
    got = p.tasks("- hostlab.fleet.collect: {paths: [/var/lib/nowhere]}", "--limit", "h1").clean("collect nothing")
    expect("h1: /var/lib/nowhere is not there yet" in got.out, "a missing path is not named:\n" + got.out[-2000:])
    expect("vm.swappiness=10" in (p.work / "profiles" / "h2").read_text(), "the profile does not have what it should")
    got = p.tasks("- hostlab.fleet.collect: {paths: [%s/etc/os-release], spool: collected}" % TREE, "--limit", "h1")
    expect(
        got.status != 0 and "it is no document of hostlab" in got.out, "another file is taken for a document:\n" + got.out[-2000:]
    )


def persist(p: Player) -> None:
    """A profile of systemd is written once, and taken away."""
    text = "- hostlab.fleet.settings: {root: %s, settings: {swappiness: 10}, persist: systemd, state: %s}"
    for state, changes in (("present", 2), ("present", 0), ("reverted", 2), ("reverted", 0)):
        got = p.tasks(text % (TREE, state), "--limit", "h1,h2").clean("persist")
        expect(got.total("changed") == changes, "%s changed %d hosts:\n%s" % (state, got.total("changed"), got.out[-2000:]))
        kept = (p.hosts[0].tree / "etc/sysctl.d/90-hostlab.conf").exists()
        expect(kept == (state == "present"), "%s: the profile is %sthere" % (state, "" if kept else "not "))
    unchanged(p.hosts)
