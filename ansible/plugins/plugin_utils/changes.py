# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""What set, revert and verify say of objects, in a few words (docs/schema/settings.schema.json)."""

from __future__ import annotations

import typing as t

# Results of objects whose value is another now, or would be.
DONE = ('changed', 'rounded', 'restored', 'planned')
# Results that verify has of objects which are as they were set.
AS_SET = ('unchanged', 'rounded', 'moved')

Outcome = t.Dict[str, t.Any]


def plural(n: int, what: str) -> str:
    return '%d %s%s' % (n, what, '' if n == 1 else 's')


def changed(document: dict[str, t.Any]) -> list[Outcome]:
    """List the objects that have, or would get, another value."""
    return [o for o in document['outcomes'] if o['result'] in DONE and o.get('from') != o.get('to')]


def called(outcome: Outcome) -> str:
    """Name a setting's object as 'hostlab set' does."""
    return outcome['setting'] + ('@' + outcome['object'] if outcome['object'] else '')


def lines(outcomes: list[Outcome], value: str) -> str:
    """Give a line for each setting and value (from or to). Of objects with one value, the first is named and the rest counted."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for o in outcomes:
        groups.setdefault((o['setting'], str(o.get(value, '?'))), []).append(o)
    out = ''
    for (_setting, shown), members in groups.items():
        more = ' (and %d more)' % (len(members) - 1) if len(members) > 1 else ''
        out += '%s%s = %s\n' % (called(members[0]), more, shown)
    return out


def diff(outcomes: list[Outcome]) -> dict[str, str]:
    """Give what ansible-playbook --diff shows."""
    return {'before_header': 'now', 'after_header': 'as asked', 'before': lines(outcomes, 'from'), 'after': lines(outcomes, 'to')}


def drifted(document: dict[str, t.Any]) -> list[str]:
    """Say what is not as it was set: objects that no exception accepts, a damaged journal, and what live experiments have left."""
    out = [document['error']] if document.get('error') else []
    out += ['a live experiment has left %s' % left['record'] for left in document.get('left', [])]
    accepted = {(a['setting'], a.get('object') or '') for a in document.get('accepted', [])}
    for o in document['outcomes']:
        if o['result'] not in AS_SET and (o['setting'], o['object'] or '') not in accepted:
            out.append('%s: %s' % (called(o), o.get('reason') or '%s, no longer %s' % (o.get('read', '?'), o.get('to', '?'))))
    return out


def refused(document: dict[str, t.Any]) -> list[Outcome]:
    """List what was not done, but for what is not on this host at all."""
    left = [o for o in document['outcomes'] if o['result'] in ('failed', 'foreign', 'gone')]
    return left + [o for o in document['skipped'] if o.get('path')]
