# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.hostlab.fleet.plugins.plugin_utils.host import Failed, Host, one_line


def shell(cmd, in_data=b''):
    """A host that is this machine's shell."""
    got = subprocess.run(['/bin/sh', '-c', cmd], input=in_data, capture_output=True, check=False)
    return {'rc': got.returncode, 'stdout': got.stdout.decode(), 'stderr': got.stderr.decode()}


@pytest.fixture(name='program')
def fixture_program(tmp_path):
    def make(script):
        path = tmp_path / 'host lab'
        path.write_text('#!/bin/sh\n' + script)
        path.chmod(0o755)
        return Host(shell, str(path))
    return make


def test_document(program):
    answer, document = program('echo \'{"schema": 1}\'; echo "hostlab: a note" >&2; exit 1\n').document(['check'])
    assert (answer.status, answer.err, document) == (1, 'a note', {'schema': 1})


def test_arguments_are_not_shell(program):
    answer = program('for a; do echo "[$a]"; done').run(['set', 'a=$(id) b', "it's"])
    assert answer.out == "[set]\n[a=$(id) b]\n[it's]\n"


def test_exceptions_go_along_and_are_removed(program):
    host = program('echo "$3"; cat "$3"; exit 1')
    answer = host.run(['check', '--exceptions'][:1], exceptions='[[accept]]\n')
    path, _newline, text = answer.out.partition('\n')
    assert (answer.status, text) == (1, '[[accept]]\n')
    assert shell('test -e %s' % path)['rc'] == 1


def test_old(program):
    host = program('if [ $1 = version ]; then echo hostlab 0.1 go1.20; exit 0; fi; echo "hostlab: unknown flag: --x" >&2; exit 2\n')
    with pytest.raises(Failed, match=r'hostlab 0\.1 is too old for this collection \(unknown flag: --x\)'):
        host.run(['set'])


def test_no_document(program):
    with pytest.raises(Failed, match='printed no JSON document'):
        program('echo no').document(['check'])
    with pytest.raises(Failed, match='^no such setting$'):
        program('echo "hostlab: no such setting" >&2; exit 2').document(['set'])


def test_missing(tmp_path):
    with pytest.raises(Failed, match='is not on this host'):
        Host(shell, str(tmp_path / 'none')).run(['check'])


def test_other_architecture(tmp_path):
    path = tmp_path / 'hostlab'
    path.write_bytes(b'\x7fELF' + bytes(60))
    path.chmod(0o755)
    with pytest.raises(Failed, match='cannot be run on this host, which is'):
        Host(shell, str(path)).run(['check'])


def test_one_line():
    text = 'hostlab: first\n\nhostlab: second\nConnection to h1 closed.\nShared connection to h1 closed.\n'
    assert one_line(text) == 'first; second'
