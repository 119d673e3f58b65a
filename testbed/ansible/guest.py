#!/usr/bin/env python3
"""Plays the collection against one guest of the test bed over ssh: a Debian with systemd that is really set, really reboots and
keeps its settings; whose documents come by the collection, and are sent by its own timer.

Run by scripts/ansible-test.sh in namespaces of its own, as root. guest.py COLLECTIONS HOSTLAB DEB
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

from machines import run
from player import Player, expect, played

BED = Path(__file__).resolve().parent.parent
PORT, SERVER = 2222, 9753
HERE = "10.0.2.2"  # this machine, as the guest sees it

# What the guest's init does before systemd starts, at each boot: a network, an account that may become root, and sshd.
PRE = """
S=/mnt/system; mkdir -p $S; mount -t ext4 /dev/vda $S
W=$S/etc/systemd/system/multi-user.target.wants
rm -f $S/etc/systemd/system/ssh.service
ln -sf /lib/systemd/system/ssh.service /lib/systemd/system/systemd-networkd.service $W/
printf '[Match]\\nType=ether\\n[Network]\\nAddress=10.0.2.15/24\\nGateway=10.0.2.2\\n' >$S/etc/systemd/network/10-guest.network
if ! grep -q ^op: $S/etc/passwd; then
  echo op:x:4242:4242::/home/op:/bin/sh >>$S/etc/passwd; echo op:x:4242: >>$S/etc/group; echo 'op:*:19000::::::' >>$S/etc/shadow
  echo 'op ALL=(ALL) NOPASSWD: ALL' >$S/etc/sudoers.d/op; chmod 440 $S/etc/sudoers.d/op
  mkdir -p $S/home/op/.ssh; cp /job/user.pub $S/home/op/.ssh/authorized_keys
  chown -R 4242:4242 $S/home/op; chmod 700 $S/home/op/.ssh
fi
"""

# A setting for each way to keep one: sysctl.d, tmpfiles.d, a rule of udev, and a unit that raises limits.
SETTINGS = {"swappiness": "10", "thp": "madvise", "read_ahead_kb": "4096", "shmmni": "32768"}
FILES = {
    "swappiness": "/proc/sys/vm/swappiness",
    "thp": "/sys/kernel/mm/transparent_hugepage/enabled",
    "read_ahead_kb": "/sys/block/vda/queue/read_ahead_kb",
    "shmmni": "/proc/sys/kernel/shmmni",
}
SET = "- hostlab.fleet.settings: {settings: %s, persist: systemd, state: %%s}" % json.dumps(SETTINGS)
VERIFY = "- hostlab.fleet.verify: {fail_on_drift: true}\n  register: r\n- ansible.builtin.assert: {that: r.objects == %d}"
REBOOT = "- hostlab.fleet.experiment: {state: rebooted, out: /nowhere}"

# It writes what the next boot has, and that is in force after one.
STUDY = """
[study]
name = "reboots"
title = "Does a setting of the boot make sleep longer?"
[design]
looks = [2]
repeats = 1
[[factor]]
name = "expire"
change = "reboot"
levels = ["3000", "500"]
baseline = "3000"
apply = ["sh", "-c", "echo vm.dirty_expire_centisecs={level} >/etc/sysctl.d/99-expire.conf; sync"]
read = ["cat", "/proc/sys/vm/dirty_expire_centisecs"]
[workload]
name = "command"
run = ["sleep", "0.2"]
expect = "300ms"
[[response]]
name = "wall"
equiv = "5%"
"""


class Guest:
    """The guest, until it is closed."""

    def __init__(self, work: Path) -> None:
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(work / "user"))
        run("cp", "--sparse=always", str(BED / "out" / "system.img"), str(work / "system.img"))
        (work / "stay").write_text("#!/bin/sh\nexec sleep infinity\n")
        net = "-netdev user,id=n,hostfwd=tcp:127.0.0.1:%d-:22 -device virtio-net-pci,netdev=n,romfile=" % PORT
        env = {
            **os.environ,
            "MEM": "1G",
            "SMP": "1",
            "TIMEOUT": "1800",
            "MODULES": "virtio_net",
            "FILES": str(work / "user.pub"),
            "DRIVES": "file=%s,format=raw,cache=unsafe" % (work / "system.img"),
            "PRE": PRE,
            "LOG": str(work / "console"),
            "APPEND": "systemd.show_status=false clocksource=acpi_pm",  # on a busy machine its TSC was off by ten times
            "QEMU_EXTRA": net,
        }
        # QEMU ends with each reboot, and a new one starts from the same disk. After QEMU's own reset the kernel took minutes to
        # unpack its archive (QEMU 7.2).
        again = 'while :; do "$0" "$1" 2>>"$1.log"; sleep 1; done'
        self.process = subprocess.Popen(
            ["sh", "-c", again, str(BED / "guest-run.sh"), str(work / "stay")],
            env=env,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def wait(self, seconds: float = 300) -> None:
        """Wait until sshd answers."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and self.process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", PORT), timeout=5) as s:
                    s.settimeout(5)
                    if s.recv(4) == b"SSH-":
                        return
            except OSError:
                pass
            time.sleep(0.5)
        raise OSError("the guest does not answer")

    def close(self) -> None:
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()


def inventory(work: Path) -> Path:
    path = work / "inventory.yml"
    path.write_text(
        "all:\n  hosts:\n    guest: {ansible_host: 127.0.0.1, ansible_port: %d, ansible_user: op,"
        " ansible_ssh_private_key_file: %s}\n" % (PORT, work / "user")
    )
    return path


def values(p: Player) -> dict[str, str]:
    """What the kernel of the guest has. raw has a terminal, which may echo the line that Ansible sends along, an empty one."""
    got = p.tasks(
        "- ansible.builtin.raw: head -qn 1 %s\n  register: r\n- ansible.builtin.debug: {msg: '{{ r.stdout_lines | select | to_json }}'}"
        % " ".join(FILES.values()),
        hosts="guest",
    ).clean("read")
    line = got.out[got.out.index('"msg": ') + 7 :].partition("\n")[0]
    return dict(zip(FILES, json.loads(json.loads(line)) if line.startswith('"') else json.loads(line)))


def in_force(p: Player) -> None:
    now = values(p)
    expect(
        all(want in (now[name], now[name].partition("[")[2].partition("]")[0]) for name, want in SETTINGS.items()),
        "in force is %s" % now,
    )


def install(p: Player, deb: str) -> None:
    text = "- ansible.builtin.include_role: {name: hostlab.fleet.install}\n  vars: {install_sources: {x86_64: %s}}" % deb
    for changes in (1, 0):
        got = p.tasks(text, hosts="guest").clean("install")
        expect(got.total("changed") == changes, "install changed %d" % got.total("changed"))
    got = p.tasks("- ansible.builtin.raw: python3 --version", hosts="guest")
    expect(got.status != 0, "the guest has a Python:\n" + got.out[-500:])


def settings(p: Player, before: dict[str, str]) -> None:
    """What is set is in force, and a second run changes nothing."""
    before.update(values(p))
    for changes in (1, 0):
        got = p.tasks(SET % "present", hosts="guest").clean("set")
        expect(got.total("changed") == changes, "set changed %d:\n%s" % (got.total("changed"), got.out[-2000:]))
    in_force(p)
    p.tasks(VERIFY % len(SETTINGS), hosts="guest").clean("verify")


def reboot(p: Player) -> None:
    got = p.tasks(REBOOT, hosts="guest").clean("reboot")
    expect("changed=1" in got.out, "it has not rebooted:\n" + got.out[-1000:])


def persisted(p: Player) -> None:
    """After a reboot all is as it was set, and there is nothing to do."""
    in_force(p)
    p.tasks(VERIFY % len(SETTINGS), hosts="guest").clean("verify after the reboot")
    got = p.tasks(SET % "present", hosts="guest").clean("set after the reboot")
    expect(got.total("changed") == 0, "set changed something after the reboot:\n" + got.out[-2000:])


def reverted(p: Player, before: dict[str, str]) -> None:
    """All is as before, at once and at the next boot."""
    for changes in (1, 0):
        got = p.tasks(SET % "reverted", hosts="guest").clean("revert")
        expect(got.total("changed") == changes, "revert changed %d:\n%s" % (got.total("changed"), got.out[-2000:]))
    now = values(p)
    expect(now == before, "at once it is %s, and was %s" % (now, before))


def as_before(p: Player, before: dict[str, str]) -> None:
    now = values(p)
    expect(now == before, "after a boot it is %s, and was %s" % (now, before))
    p.tasks(VERIFY % 0, hosts="guest").clean("verify in the end")


def documents(p: Player) -> None:
    """The assessment comes by the collection; the units of the package run, and what they write is brought too."""
    text = (
        "- ansible.builtin.include_role: {name: hostlab.fleet.assess}\n"
        "  vars: {assess_quick: true, assess_store: 'sqlite:%s/fleet.db', assess_report: '%s/report.html'}" % (p.work, p.work)
    )
    p.tasks(text, hosts="guest").clean("assess")
    report = (p.work / "report.html").read_text()
    expect("PostgreSQL" in report, "the report does not name the database that runs there")
    quick(p)
    p.tasks("- ansible.builtin.raw: systemctl start hostlab-assess.service", hosts="guest").clean("the unit")
    had = len(list((p.work / "spool" / "guest").glob("*.json")))
    text = "- ansible.builtin.include_role: {name: hostlab.fleet.watch}\n  vars: {watch_store: 'sqlite:%s/fleet.db'}" % p.work
    got = p.tasks(text, hosts="guest").clean("watch")
    expect(
        got.total("changed") == 2, "watch changed %d; it starts units, and ingests:\n%s" % (got.total("changed"), got.out[-2000:])
    )
    expect(len(list((p.work / "spool" / "guest").glob("*.json"))) > had, "watch brought nothing")
    p.tasks("- ansible.builtin.raw: systemctl is-active hostlab-assess.timer hostlab-watch.service", hosts="guest").clean("units")


def quick(p: Player) -> None:
    """Shorten the unit's assessment."""
    text = """- ansible.builtin.raw: |
    d=/etc/systemd/system/hostlab-assess.service.d u=/lib/systemd/system/hostlab-assess.service; mkdir -p $d
    sed -n 's/^ExecStart=\\(.* assess\\)/[Service]\\nExecStart=\\nExecStart=\\1 --quick/p' $u >$d/quick.conf
    systemctl daemon-reload"""
    p.tasks(text, hosts="guest").clean("a shorter assessment")


# What docs/pull.md says to type on a host: a token, a server, a certificate that is not the system's, and a timer.
PULL = """- ansible.builtin.raw: |
    umask 077; echo %s >/etc/hostlab/fleet.token; echo HOSTLAB_FLEET=https://%s:%d >>/etc/default/hostlab
    umask 022; cat >/etc/hostlab/ca.pem <<'END'
%s    END
    d=/etc/systemd/system/hostlab-send.service.d; mkdir -p $d; cat >$d/ca.conf <<'END'
    [Service]
    ExecStart=
    ExecStart=/usr/bin/hostlab fleet send --to ${HOSTLAB_FLEET} --token-file /etc/hostlab/fleet.token --ca /etc/hostlab/ca.pem \\
      /var/lib/hostlab-assess/verify.json /var/lib/hostlab-assess/latest.json
    END
    systemctl daemon-reload; systemctl enable --now hostlab-send.timer && systemctl start hostlab-send.service ||
    { journalctl -u hostlab-send -u hostlab-assess --no-pager | tail -n 20; false; }"""


def pull(p: Player) -> None:
    """Without Ansible: the guest's timer assesses and sends, over TLS, with a token."""
    at = p.work / "serve"
    at.mkdir()
    request = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=fleet -addext subjectAltName=IP:"
    )
    run(*(request + HERE).split(), "-keyout", str(at / "key"), "-out", str(at / "cert"))
    made = subprocess.run([p.hostlab, "fleet", "token", "--host", "guest", "guest"], check=True, capture_output=True, text=True)
    (at / "tokens").write_text(made.stdout)
    (at / "tokens").chmod(0o600)
    store = ["--store", "sqlite:%s/served.db" % at]
    listen = ["--listen", "127.0.0.1:%d" % SERVER, "--tls-cert", str(at / "cert"), "--tls-key", str(at / "key")]
    server = subprocess.Popen([p.hostlab, "fleet", "serve", *store, *listen, "--tokens", str(at / "tokens")])
    try:
        quick(p)
        cert = "".join("    %s\n" % line for line in (at / "cert").read_text().splitlines())
        p.tasks(PULL % (made.stderr.strip(), HERE, SERVER, cert), hosts="guest").clean("send")
    finally:
        server.terminate()
        server.wait()
    words = [p.hostlab, "fleet", "hosts", *store, "--format", "json"]
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    expect('"guest"' in out, "the server does not know the host: " + out[:500])
    p.tasks("- ansible.builtin.raw: systemctl list-timers hostlab-send.timer | grep hostlab-send.service", hosts="guest").clean(
        "timer"
    )


def experiment(p: Player) -> str:
    """An experiment with a factor that needs reboots goes from one end to the other."""
    (p.work / "reboots.toml").write_text(STUDY)
    text = (
        "- ansible.builtin.include_role: {name: hostlab.fleet.experiment}\n"
        "  vars: {experiment_study: '%s/reboots.toml', experiment_reboot: true, experiment_delay: 2}" % p.work
    )
    got = p.tasks(text, hosts="guest").clean("the experiment")
    found = [f for f in (p.work / "spool" / "guest").glob("*.json") if '"effects"' in f.read_text()]
    expect(len(found) == 1, "its report is not in the spool:\n" + got.out[-2000:])
    boots = len(re.findall(r"experiment : Reboot\] \*+\nchanged:", got.out))
    expect(boots == 6, "%d boots, expected 6" % boots)
    return "%d reboots" % boots


def main() -> int:
    a = argparse.ArgumentParser()
    a.add_argument("collections")
    a.add_argument("hostlab")
    a.add_argument("deb")
    a.add_argument("--only", default="", help="names of steps, with commas, after boot and install")
    o = a.parse_args()
    work = Path(tempfile.mkdtemp(prefix="hostlab-guest-", dir="/var/tmp"))
    run("ip", "link", "set", "lo", "up")
    guest = Guest(work)
    try:
        p = Player(work, inventory(work), o.collections, o.hostlab, [])
        before: dict[str, str] = {}
        steps: dict[str, t.Callable[[], object]] = {
            "boot": guest.wait,
            "install": functools.partial(install, p, o.deb),
            "settings": functools.partial(settings, p, before),
            "reboot": functools.partial(reboot, p),
            "persisted": functools.partial(persisted, p),
            "reverted": functools.partial(reverted, p, before),
            "reboot again": functools.partial(reboot, p),
            "as before": functools.partial(as_before, p, before),
            "documents": functools.partial(documents, p),
            "pull": functools.partial(pull, p),
            "experiment": functools.partial(experiment, p),
        }
        only = ["boot", "install", *o.only.split(",")] if o.only else list(steps)
        failed = played({name: step for name, step in steps.items() if name in only})
        for path in (work / "stay.log", work / "console"):
            if failed and path.exists():
                print(path.read_text(errors="replace")[-3000:])
    finally:
        guest.close()
        shutil.rmtree(work, ignore_errors=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
