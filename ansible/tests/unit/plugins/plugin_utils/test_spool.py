# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import annotations

import hashlib
import json
import os

import pytest

from ansible_collections.hostlab.fleet.plugins.plugin_utils import spool
from ansible_collections.hostlab.fleet.plugins.plugin_utils.host import Failed


def test_keep(tmp_path):
    path, digest = spool.keep(str(tmp_path), 'db7', '{"a": "\u00e9"}')
    assert digest == hashlib.sha256('{"a": "\u00e9"}'.encode()).hexdigest()
    assert path == str(tmp_path / 'db7' / (digest + '.json'))
    before = os.stat(path).st_mtime_ns
    assert spool.keep(str(tmp_path), 'db7', '{"a": "\u00e9"}') == (path, digest)
    assert os.stat(path).st_mtime_ns == before
    assert os.listdir(tmp_path / 'db7') == [digest + '.json']


@pytest.mark.parametrize('host', ['../up', 'a/b', '.hidden', '', 'a b'])
def test_names(tmp_path, host):
    with pytest.raises(Failed, match='cannot name a folder'):
        spool.keep(str(tmp_path), host, '{}')
    assert not os.listdir(tmp_path)


def test_not_writable(tmp_path):
    (tmp_path / 'spool').write_text('a file')
    with pytest.raises(Failed, match='cannot write'):
        spool.keep(str(tmp_path / 'spool'), 'db7', '{}')


@pytest.mark.parametrize('big', [
    {'checks': ['x' * 100] * 500},
    {'msg': '\u00e4' * 5000, 'checks': ['y'] * 9000},
    {'diff': {'before': 'a = 1\n' * 2000, 'after': 'a = 2\n' * 2000}},
    {'failed': True, 'msg': 'm' * 100000, 'refused': ['z' * 5000]},
])
def test_small(big):
    out = spool.small({'changed': True, **big})
    assert len(json.dumps(out).encode()) <= spool.MOST
    assert out['changed'] is True and out['shortened'] is True and set(big) <= set(out)


def test_small_leaves_small_ones():
    assert spool.small({'changed': False, 'checks': ['a']}) == {'changed': False, 'checks': ['a']}
