# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import annotations

import pytest

from ansible_collections.hostlab.fleet.plugins.action.install import by_machine, fits
from ansible_collections.hostlab.fleet.plugins.action.settings import assignments
from ansible_collections.hostlab.fleet.plugins.plugin_utils.action import flags
from ansible_collections.hostlab.fleet.plugins.plugin_utils.host import Failed


def test_assignments():
    assert assignments({'swappiness': 10, 'governor@policy0': 'performance'}) == ['swappiness=10', 'governor@policy0=performance']


@pytest.mark.parametrize('value, text', [(True, 'write it in quotes'), (None, 'needs one value'), ([1], 'needs one value')])
def test_bad_assignments(value, text):
    with pytest.raises(Failed, match=text):
        assignments({'smt': value})


def test_flags():
    args = {'root': '/m', 'role': None, 'quick': True, 'log_dir': '/l', 'force': False}
    assert flags(args, 'root', 'role', 'quick', 'log_dir', 'force') == ['--root', '/m', '--quick', '--log-dir', '/l']


def test_machines(tmp_path):
    assert by_machine({'amd64': 'a', 'aarch64': 'b'}, 'x86_64') == 'a'
    assert by_machine({'amd64': 'a'}, 'aarch64') == ''
    path = tmp_path / 'hostlab'
    path.write_bytes(b'\x7fELF' + bytes(14) + (183).to_bytes(2, 'little'))
    fits(str(path), 'aarch64')
    with pytest.raises(Failed, match='is for aarch64, and this host is x86_64'):
        fits(str(path), 'x86_64')
    path.write_text('#!/bin/sh')
    with pytest.raises(Failed, match='neither a Linux program nor a deb or rpm'):
        fits(str(path), 'x86_64')
