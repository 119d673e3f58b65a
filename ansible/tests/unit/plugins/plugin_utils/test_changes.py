# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import annotations

from ansible_collections.hostlab.fleet.plugins.plugin_utils import changes, findings


def outcome(result, setting='governor', object_='policy0', **more):
    return {'setting': setting, 'object': object_, 'path': '/sys/x', 'from': 'a', 'to': 'b', 'result': result, **more}


def test_changed():
    document = {'outcomes': [outcome('planned'), outcome('changed'), outcome('unchanged'), outcome('restored', **{'from': 'b'}), outcome('moved')]}
    assert [o['result'] for o in changes.changed(document)] == ['planned', 'changed']


def test_diff_joins_objects():
    both = [outcome('planned'), outcome('planned', object_='policy1'), outcome('planned', 'swappiness', '', **{'from': '60', 'to': '10'})]
    got = changes.diff(both)
    assert got['before'] == 'governor@policy0 (and 1 more) = a\nswappiness = 60\n'
    assert got['after'] == 'governor@policy0 (and 1 more) = b\nswappiness = 10\n'


def test_drifted():
    document = {'error': 'the journal is damaged', 'left': [{'record': '/r', 'factors': []}],
                'outcomes': [outcome('unchanged'), outcome('rounded'), outcome('moved'),
                             outcome('foreign', reason='reads c'), outcome('gone', reason='it is gone')]}
    assert changes.drifted(document) == ['the journal is damaged', 'a live experiment has left /r', 'governor@policy0: reads c', 'governor@policy0: it is gone']
    assert not changes.drifted({'outcomes': [outcome('unchanged')]})
    accepted = [{'setting': 'governor', 'object': 'policy0', 'check': 'PWR-001', 'reason': 'x', 'until': '2199-01-01'}]
    both = [outcome('foreign', reason='reads c'), outcome('foreign', object_='policy1', reason='reads c')]
    assert changes.drifted({'outcomes': both, 'accepted': accepted}) == ['governor@policy1: reads c']


def test_refused():
    absent = {'setting': 'epb', 'object': '', 'result': 'skipped', 'reason': 'no EPB'}
    document = {'outcomes': [outcome('failed'), outcome('changed')], 'skipped': [absent, outcome('skipped')]}
    assert [o['result'] for o in changes.refused(document)] == ['failed', 'skipped']


def test_findings():
    results = [{'id': 'A', 'severity': 'low', 'status': 'finding', 'detail': 'x'}, {'id': 'B', 'severity': 'high', 'status': 'finding', 'detail': 'y'},
               {'id': 'C', 'severity': 'low', 'status': 'accepted'}, {'id': 'D', 'severity': 'low', 'status': 'unknown'},
               {'id': 'E', 'severity': 'low', 'status': 'ok'}]
    got = findings.counted(results)
    assert got['checks'] == ['B high: y', 'A low: x']
    assert findings.sentence(got) == '2 findings (1 high, 1 low), 1 accepted, 1 unknown'
    assert findings.sentence(findings.counted([])) == 'no findings'
