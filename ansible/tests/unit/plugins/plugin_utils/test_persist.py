# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import annotations

import pytest

from ansible_collections.hostlab.fleet.plugins.plugin_utils.host import Failed, Host
from ansible_collections.hostlab.fleet.plugins.plugin_utils.persist import Keeper
from .test_host import shell

PROGRAM = r'''#!/bin/sh
# hostlab export, as far as these tests need it
out=; while [ $# -gt 0 ]; do case $1 in --out) out=$2; shift;; --root) shift;; systemd|tuned|saptune) tool=$1;; *=*) items=$1;; esac; shift; done
if [ "$items" = bad=1 ]; then echo "hostlab: no such setting" >&2; exit 2; fi
text="# Settings, written by hostlab
vm.x = ${items#*=}"
if [ -n "$out" ]; then mkdir -p "$out/sysctl.d"; echo "$text" >"$out/sysctl.d/90-hostlab.conf"; exit; fi
if [ "$tool" = systemd ]; then echo "# /etc/sysctl.d/90-hostlab.conf"; fi
echo "$text"
'''


@pytest.fixture(name='keep')
def fixture_keep(tmp_path):
    path = tmp_path / 'hostlab'
    path.write_text(PROGRAM)
    path.chmod(0o755)
    (tmp_path / 'tree').mkdir()

    def keep(tool, item, dry=False, role=None):
        args = {'persist': tool, 'root': str(tmp_path / 'tree'), 'role': role}
        return Keeper(Host(shell, str(path)), args, [item], None, dry)
    return keep


@pytest.mark.parametrize('tool, file', [
    ('systemd', 'sysctl.d/90-hostlab.conf'), ('tuned', 'tuned/hostlab/tuned.conf'), ('saptune', 'saptune/extra/hostlab.conf')])
def test_twice_and_away(keep, tmp_path, tool, file):
    path = tmp_path / 'tree/etc' / file
    dry = keep(tool, 'x=1', dry=True)
    assert dry.prepare() == tool
    dry.write()
    assert not path.exists()
    for item, change in (('x=1', tool), ('x=1', ''), ('x=2', tool)):
        keeper = keep(tool, item)
        assert keeper.prepare() == change
        keeper.write()
        assert path.read_text().endswith('vm.x = %s\n' % item[-1])
    assert keep(tool, 'x=2', dry=True).remove() == tool and path.exists()
    assert keep(tool, 'x=2').remove() == tool
    assert not path.exists()
    assert keep(tool, 'x=2').remove() == ''


def test_what_others_wrote_stays(keep, tmp_path):
    path = tmp_path / 'tree/etc/sysctl.d/90-hostlab.conf'
    path.parent.mkdir(parents=True)
    path.write_text('# mine\n')
    assert keep('systemd', 'x=1').remove() == ''
    assert path.exists()


def test_role_of_tuned_stays_and_says_so(keep):
    first = keep('tuned', 'x=1', role='production-db')
    assert first.prepare() == 'tuned'
    first.write()
    second = keep('tuned', 'x=2', role='production-db')
    assert second.prepare() == '' and 'stays as it is' in second.notes[0]


def test_refused(keep):
    with pytest.raises(Failed, match='persist: no such setting'):
        keep('systemd', 'bad=1').prepare()
