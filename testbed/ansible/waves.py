"""Roll-outs in waves, and their gate."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from machines import SEEN, TREE, Host
from player import REVERT, SET, Player, expect

# hostlab on a host whose commits depend on what is set there: 40 % longer with the change, from its fifth assessment on. Until
# then the change does nothing. The load grows by a tenth from one assessment to the next, on all hosts alike.
SERVED = """#!/bin/sh
cd /usr/local/bin
if [ "$1" = assess ]; then
  n=$(($(cat assessed) + 1)); echo $n >assessed
  mean=$(awk -v n=$n -v host=%(number)d -v set="$(cat %(tree)s/%(set)s)" 'BEGIN {
    srand(100 * host + n); v = 3e-4 * (1 + host / 50) * (1 + n / 10) * (1 + rand() / 50)
    if (n >= 5 && set == 10) { v *= 1.4 }
    printf "%%.9f", v }')
  sed "s/@NOW@/$(date -u +%%FT%%T.%%NZ)/; s/@MEAN@/$mean/g" seen >%(tree)s/.hostlab/assess.json
fi
exec hostlab "$@"
"""


def rollout(plan: Path, hostlab: str, work: Path, **more: str) -> str:
    variables = {
        "rollout_plan": str(plan),
        "rollout_root": TREE,
        "rollout_controller_binary": hostlab,
        "rollout_store": "sqlite:%s/waves.db" % work,
        **more,
    }
    return "- ansible.builtin.include_role: {name: hostlab.fleet.rollout}\n  vars: " + json.dumps(variables)


def served(h: Host) -> None:
    """Make of a host one of eight alike, on which a database commits."""
    h.load("twosocket")
    mean = {
        "probe": "commit",
        "kind": "commit.overwritten.mean",
        "name": "commit.overwritten.mean",
        "title": "Mean commit",
        "value": "@MEAN@",
        "low": "@MEAN@",
        "high": "@MEAN@",
        "n": 1000,
        "unit": "s",
        "evidence": "measured",
    }
    seen = {
        **SEEN,
        "started": "@NOW@",
        "runs": [{"probe": "commit", "title": "Commits", "method": "", "seconds": 1}],
        "probes": [[mean]],
    }
    (h.dir / "bin" / "seen").write_text(json.dumps(seen).replace('"@MEAN@"', "@MEAN@"))
    (h.dir / "bin" / "assessed").write_text("0\n")
    (h.dir / "bin" / "served").write_text(SERVED % {"number": h.number, "tree": TREE, "set": SET})
    (h.dir / "bin" / "served").chmod(0o755)


def harm(p: Player) -> str:
    """The gate finds a wave that harms. It is put back; the wave before it stays, and the one after it is not begun."""
    for h in p.hosts:
        served(h)
    plan, store, spool = p.work / "plan.json", "sqlite:%s/waves.db" % p.work, str(p.work / "waves")
    assess = "- ansible.builtin.include_role: {name: hostlab.fleet.assess}\n  vars: " + json.dumps(
        {
            "assess_root": TREE,
            "assess_binary": "served",
            "assess_spool": spool,
            "assess_store": store,
            "assess_controller_binary": p.hostlab,
        }
    )
    for _again in range(2):
        p.tasks(assess).clean("assess")
    made = subprocess.run(
        [
            p.hostlab,
            "fleet",
            "rollout",
            "plan",
            "--store",
            store,
            "--set",
            "swappiness=10",
            "--set",
            "dirty_background_bytes=268435456",
            "--waves",
            "3",
            "--seed",
            "18",
            "--out",
            str(plan),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    expect(made.returncode == 0, "no plan: " + made.stderr)
    waves: list[list[str]] = [w["hosts"] for w in json.loads(plan.read_text())["waves"]]
    got = p.tasks(rollout(plan, p.hostlab, p.work, rollout_binary="served", rollout_spool=spool))
    expect(
        got.status != 0
        and "wave 2 harms (commit.overwritten.mean" in got.out
        and "it is put back. Later waves are not begun." in got.out,
        "harm does not stop the roll-out:\n" + got.out[-3000:],
    )
    expect("wave 1 passes the gate" in got.out, "it does not say that wave 1 passes:\n" + got.out[-3000:])
    failed = sorted(name for name, h in got.hosts.items() if h["failed"])
    expect(failed == waves[1], "failed are %s" % failed)
    for h in p.hosts:
        changed = [name for name in h.changed() if not name.startswith(".hostlab/")]
        expect(bool(changed) == (h.name in waves[0]), "%s: changed is %s\n%s" % (h.name, changed, got.out[-3000:]))
        expect(
            h.journal().exists() == (h.name in waves[0]),
            "%s: there is %s journal" % (h.name, "a" if h.journal().exists() else "no"),
        )
    p.play(REVERT).clean("revert")
    return said(got.out, "wave 2 harms")


def said(out: str, text: str) -> str:
    """The words of a play from a text on, up to the next quote or line."""
    return re.split('["\n]', out[out.index(text) :], maxsplit=1)[0][:160]
