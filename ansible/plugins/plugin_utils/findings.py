# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""What an assessment or a check says, in a few words."""

from __future__ import annotations

import typing as t

SEVERITIES = ('high', 'medium', 'low', 'info')


def counted(results: list[dict[str, t.Any]]) -> dict[str, t.Any]:
    """Count findings by severity, and name them, the worst first. A check that could not be decided is unknown, not good."""
    found = [r for r in results if r.get('status') == 'finding']
    found.sort(key=lambda r: SEVERITIES.index(r['severity']))
    return {
        'findings': {s: sum(r['severity'] == s for r in found) for s in SEVERITIES},
        'accepted': sum(r.get('status') == 'accepted' for r in results),
        'unknown': sum(r.get('status') == 'unknown' for r in results),
        'checks': ['%s %s: %s' % (r['id'], r['severity'], r['detail'][:120]) for r in found],
    }


def sentence(found: dict[str, t.Any]) -> str:
    """Say the counts, as '2 findings (1 high, 1 low), 1 accepted'."""
    by = ['%d %s' % (n, s) for s, n in found['findings'].items() if n]
    n = sum(found['findings'].values())
    text = 'no findings' if n == 0 else '%d finding%s (%s)' % (n, '' if n == 1 else 's', ', '.join(by))
    for name in ('accepted', 'unknown'):
        if found[name]:
            text += ', %d %s' % (found[name], name)
    return text
