"""Eight hosts on one: each has its own network, mounts, name and process numbers, an sshd, and a recorded machine as a tree
that can be written. None has a Python that runs. All of them end with this process, which is the first of its namespace."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORDINGS = HERE.parent.parent / "internal" / "host" / "testdata"
NAMES = ["intel-core-cst", "intel-core", "intel-socket", "twosocket", "amd-epp", "bare", "cloud-guest", "smt-off"]
TREE = "/srv/machine"  # as the host sees it

# What 'assess' has seen: the machine alone. Checks and the report follow from its files.
SEEN = {
    "schema": 4,
    "version": "test",
    "seconds": 1,
    "role": "production-db",
    "place": "",
    "log_dir": "",
    "log_dir_why": "",
    "minute": None,
    "runs": [],
    "probes": [],
    "warnings": [],
}

INIT = """
set -e
hostname {name}
ip link set lo up
mount --bind {dir}/tree {tree}
mount -t tmpfs none /run
for d in usr etc; do # what packages write is in memory
  mkdir -p /run/over/$d/up /run/over/$d/work
  mount -t overlay -o lowerdir=/$d,upperdir=/run/over/$d/up,workdir=/run/over/$d/work over /$d
done
for f in passwd shadow group hosts sudoers machine-id; do mount --bind {dir}/etc/$f /etc/$f; done
mount --bind {dir}/home /home
mount --bind {dir}/bin /usr/local/bin
mount -t tmpfs none /var/lib
mkdir -p /var/lib/dpkg/info /var/lib/dpkg/updates /var/lib/dpkg/triggers
: >/var/lib/dpkg/status
mount -t tmpfs none /tmp
if mv /usr/bin/rpm /usr/bin/rpm.real 2>/dev/null; then # Debian's wants to be asked twice, and knows of no package
  printf '#!/bin/sh\nexec /usr/bin/rpm.real --force-debian --nodeps "$@"\n' >/usr/bin/rpm
  chmod 755 /usr/bin/rpm
fi
mkdir -p /run/sshd
if [ -d /root/.pyenv ]; then mount -t tmpfs none /root/.pyenv; fi
for p in /usr/bin/python3.*[0-9]; do mount --bind /dev/null $p; done
while ! ip addr show dev eth0 >/dev/null 2>&1; do sleep 0.02; done
ip addr add {address}/24 dev eth0
ip link set eth0 up
while :; do # a test kills sshd, and lets it start again by taking a file away
  if [ ! -e {dir}/down ]; then /usr/sbin/sshd -D -f {dir}/sshd_config -E {dir}/sshd.log || true; fi
  sleep 0.1
done
"""

SSHD = """
Port 22
ListenAddress {address}
HostKey {keys}/host
PidFile none
AuthorizedKeysFile {keys}/user.pub
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin no
PasswordAuthentication no
MaxStartups 100
MaxSessions 100
Subsystem sftp internal-sftp
"""


def run(*words: str) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def extract(recording: Path, to: Path) -> None:
    """Unpack a recorded machine (txtar, with links as 'name -> target')."""
    name = ""
    files: dict[str, list[str]] = {}
    with open(recording, encoding="utf-8", errors="surrogateescape", newline="") as file:
        for line in file:
            head = re.fullmatch(r"-- (.+) --\n", line)
            if head:
                name = head[1]
                files[name] = []
            elif name:
                files[name].append(line)
    for name, lines in files.items():
        path, _arrow, target = name.partition(" -> ")
        at = to / path
        at.parent.mkdir(parents=True, exist_ok=True)
        if target:
            at.symlink_to(target)
        elif path.endswith("/"):
            at.mkdir(exist_ok=True)
        else:
            at.write_text("".join(lines), encoding="utf-8", errors="surrogateescape", newline="")


class Host:
    """One host: its tree, and the process that is its init."""

    def __init__(self, number: int, base: Path, recording: str) -> None:
        self.number, self.name, self.address = number, "h%d" % number, "10.77.0.%d" % (10 + number)
        self.dir, self.tree = base / self.name, base / self.name / "tree"
        for part in ("tree", "etc", "home/op", "bin"):
            (self.dir / part).mkdir(parents=True)
        self.load(recording)
        self.etc(base)
        self.init = subprocess.Popen(
            [
                "unshare",
                "--net",
                "--mount",
                "--propagation",
                "private",
                "--uts",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "sh",
                "-c",
                INIT.format(name=self.name, dir=self.dir, tree=TREE, address=self.address),
            ],
            start_new_session=True,
        )
        self.link()

    def load(self, recording: str) -> None:
        """Be that machine, as if nothing had ever been set on it."""
        for old in self.tree.iterdir():
            if old.is_dir() and not old.is_symlink():
                shutil.rmtree(old)
            else:
                old.unlink()
        extract(RECORDINGS / (recording + ".txtar"), self.tree)
        (self.tree / ".hostlab").mkdir(exist_ok=True)
        (self.tree / ".hostlab" / "assess.json").write_text(
            json.dumps({**SEEN, "started": datetime.now(timezone.utc).isoformat()})
        )
        self.first = self.bytes()

    def etc(self, base: Path) -> None:
        etc = self.dir / "etc"
        (etc / "passwd").write_text(Path("/etc/passwd").read_text() + "op:x:4242:4242::/home/op:/bin/sh\n")
        (etc / "group").write_text(Path("/etc/group").read_text() + "op:x:4242:\n")
        (etc / "shadow").write_text(Path("/etc/shadow").read_text() + "op:*:19000::::::\n")
        (etc / "shadow").chmod(0o600)
        (etc / "hosts").write_text("127.0.0.1 localhost %s\n" % self.name)
        (etc / "machine-id").write_text("%032x\n" % (self.number * 0x1234567))
        (etc / "sudoers").write_text("Defaults !requiretty\nroot ALL=(ALL) ALL\nop ALL=(ALL) NOPASSWD: ALL\n")
        (etc / "sudoers").chmod(0o440)
        os.chown(self.dir / "home" / "op", 4242, 4242)
        (self.dir / "sshd_config").write_text(SSHD.format(address=self.address, keys=base / "keys"))

    def pid(self) -> int:
        """The init inside the namespaces: unshare's child."""
        path = Path("/proc/%d/task/%d/children" % (self.init.pid, self.init.pid))
        ends = time.monotonic() + 10
        while time.monotonic() < ends:
            children = path.read_text().split()
            if children:
                return int(children[0])
            time.sleep(0.01)
        raise RuntimeError("%s did not start" % self.name)

    def link(self) -> None:
        inside, pid = "v%din" % self.number, str(self.pid())
        while os.readlink("/proc/%s/ns/net" % pid) == os.readlink("/proc/self/ns/net"):
            time.sleep(0.01)
        run("ip", "link", "add", self.veth, "type", "veth", "peer", "name", inside)
        run("ip", "link", "set", self.veth, "master", "br0", "up")
        run("ip", "link", "set", inside, "netns", pid, "name", "eth0")

    @property
    def veth(self) -> str:
        return "v%d" % self.number

    def cut(self) -> None:
        run("ip", "link", "set", self.veth, "down")

    def mend(self) -> None:
        run("ip", "link", "set", self.veth, "up")

    def kill_sshd(self) -> None:
        """End sshd and all of its sessions, until started again."""
        (self.dir / "down").touch()
        for pid in self.inside():
            if Path("/proc/%d/comm" % pid).read_text().strip() == "sshd":
                os.kill(pid, signal.SIGKILL)

    def start_sshd(self) -> None:
        (self.dir / "down").unlink()

    def inside(self) -> list[int]:
        """The processes of the host."""
        own, out = os.readlink("/proc/%d/ns/net" % self.pid()), []
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and os.readlink("/proc/%s/ns/net" % entry) == own:
                    out.append(int(entry))
            except OSError:
                continue
        return out

    def journal(self) -> Path:
        return self.tree / "var" / "lib" / "hostlab" / "settings.journal"

    def bytes(self) -> dict[str, str]:
        """The hash of every file of the tree, but for the journal's directory."""
        out = {}
        for path in sorted(self.tree.rglob("*")):
            name = str(path.relative_to(self.tree))
            if path.is_file() and not path.is_symlink() and not name.startswith("var/lib/hostlab"):
                out[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        return out

    def changed(self) -> list[str]:
        now = self.bytes()
        return sorted(n for n in {*now, *self.first} if now.get(n) != self.first.get(n))


class Fleet:
    """All hosts, on a bridge that nothing else is on."""

    def __init__(self, base: Path, count: int = 8) -> None:
        self.base = base
        keys = base / "keys"
        keys.mkdir(parents=True)
        for name in ("host", "user"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name))
        base.chmod(0o755)
        keys.chmod(0o755)
        run("mount", "-t", "tmpfs", "none", str(Path(TREE).parent))  # of this run alone
        Path(TREE).mkdir()
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "br0", "type", "bridge")
        run("ip", "addr", "add", "10.77.0.1/24", "dev", "br0")
        run("ip", "link", "set", "br0", "up")
        self.hosts = [Host(n + 1, base, NAMES[n % len(NAMES)]) for n in range(count)]

    def inventory(self) -> Path:
        hosts = "".join("        %s: {ansible_host: %s}\n" % (h.name, h.address) for h in self.hosts)
        path = self.base / "inventory.yml"
        path.write_text(
            "all:\n  vars:\n    ansible_user: op\n    ansible_ssh_private_key_file: %s\n"
            "  children:\n    fleet:\n      hosts:\n%s" % (self.base / "keys" / "user", hosts)
        )
        return path

    def close(self) -> None:
        for h in self.hosts:
            os.killpg(h.init.pid, signal.SIGKILL)
            h.init.wait()
        shutil.rmtree(self.base, ignore_errors=True)
