#!/usr/bin/env python3
"""How long does the controller take for many hosts, and how much memory? Hosts are replayed: a connection plugin answers with
documents that hostlab wrote for a recorded machine. run.py COLLECTIONS HOSTLAB [--hosts 1000] [--serial 250]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "testbed" / "ansible"))

from machines import RECORDINGS, SEEN, extract  # noqa: E402

PLAY = """---
- name: Many hosts
  hosts: all
  serial: %d
  gather_facts: false
  connection: replay
  tasks:
    - name: Assess
      hostlab.fleet.assess: {spool: %s/spool}
      register: assessed
    - name: Set
      hostlab.fleet.settings: {settings: {swappiness: 10}}
    - name: Verify
      hostlab.fleet.verify: {fail_on_drift: true, spool: %s/spool}
"""


def record(hostlab: str, folder: Path) -> None:
    """Write what hostlab answers on a recorded machine."""
    tree = folder / "tree"
    extract(RECORDINGS / "twosocket.txtar", tree)
    (tree / ".hostlab").mkdir(exist_ok=True)
    (tree / ".hostlab" / "assess.json").write_text(
        json.dumps({**SEEN, "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
    )
    flags = ["--root", str(tree), "--format", "json"]
    for name, words in {
        "assess": ["assess", "--from", str(tree), "--quiet", "--format", "json"],
        "check": ["check", *flags],
        "set": ["set", *flags, "--yes", "swappiness=10"],
        "set.again": ["set", *flags, "--yes", "swappiness=10"],
        "verify": ["verify", *flags],
    }.items():
        out = subprocess.run([hostlab, *words], capture_output=True, check=False).stdout
        document = json.loads(out)
        if "host" in document:
            document["host"] = "@host@"
        (folder / (name + ".json")).write_text(json.dumps(document))
    (folder / "state").mkdir()


def main() -> int:
    a = argparse.ArgumentParser()
    a.add_argument("collections")
    a.add_argument("hostlab")
    a.add_argument("--hosts", type=int, default=1000)
    a.add_argument("--serial", type=int, default=250)
    a.add_argument("--forks", type=int, default=20)
    o = a.parse_args()
    with tempfile.TemporaryDirectory(prefix="hostlab-bench-") as name:
        work = Path(name)
        record(o.hostlab, work)
        (work / "inventory").write_text("".join("db%04d\n" % n for n in range(o.hosts)))
        (work / "play.yml").write_text(PLAY % (o.serial, work, work))
        env = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": o.collections,
            "ANSIBLE_CONNECTION_PLUGINS": str(HERE / "connection_plugins"),
            "HOSTLAB_REPLAY": str(work),
            "ANSIBLE_HOME": str(work / "home"),
            "ANSIBLE_FORKS": str(o.forks),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_DEPRECATION_WARNINGS": "False",
        }
        for run, changes in (("first", o.hosts), ("second", 0)):
            began, memory = time.monotonic(), []
            with open(work / "out", "w", encoding="utf-8") as out:
                p = subprocess.Popen(
                    ["ansible-playbook", "-i", str(work / "inventory"), str(work / "play.yml")],
                    env=env,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                )
                done = threading.Event()

                def watch() -> None:
                    while not done.wait(1):
                        try:
                            status = Path("/proc/%d/status" % p.pid).read_text()
                        except OSError:
                            return
                        memory.extend(int(kb) / 1024 for kb in re.findall(r"VmRSS:\s+(\d+)", status))  # none of a zombie

                t = threading.Thread(target=watch)
                t.start()
                p.wait()
                done.set()
                t.join()
            seconds, text = time.monotonic() - began, (work / "out").read_text()
            changed = sum(int(n) for n in re.findall(r"^\S+\s+: .*changed=(\d+)", text, re.MULTILINE))
            quarter = max(memory[: max(1, len(memory) // 4)], default=0)
            print(
                "%s: %d hosts in %.0f s, %d changed; %.0f MB in the first quarter, at most %.0f MB"
                % (run, o.hosts, seconds, changed, quarter, max(memory, default=0))
            )
            if p.returncode or changed != changes or seconds > 600 or max(memory) > 1.25 * quarter:
                print(
                    "missed: the status is %d, expected %d changed, 600 s, and memory within 1.25 of the first quarter\n%s"
                    % (p.returncode, changes, text[-1500:])
                )
                return 1
        print("%d documents in the spool" % len(list((work / "spool").glob("*/*.json"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
