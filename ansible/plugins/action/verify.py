# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""hostlab verify: are the settings still as they were set."""

from __future__ import annotations

import typing as t

from ..plugin_utils.action import EXCEPTIONS, ROOT, SPOOL, HostlabAction, Result, flags
from ..plugin_utils.changes import drifted, plural
from ..plugin_utils.host import Failed


class ActionModule(HostlabAction):
    SPEC: dict[str, t.Any] = {**ROOT, **SPOOL, **EXCEPTIONS, 'fail_on_drift': {'type': 'bool', 'default': False}}

    def act(self, args: dict[str, t.Any]) -> Result:
        host = self.host(args)
        answer, document = host.document(['verify', '--format', 'json', *flags(args, 'root')], self.exceptions(args))
        if answer.status not in (0, 1):
            raise Failed(host.explained(answer))
        drift = drifted(document)
        n, accepted = len(document['outcomes']), len(document.get('accepted', []))
        text = '%s as set' % plural(n, 'object') if n else 'nothing is set by hostlab'
        if drift:
            text = '%d not as set: %s' % (len(drift), '; '.join(drift[:3]))
        elif accepted:
            text = '%s as set, %d accepted' % (plural(n - accepted, 'object'), accepted)
        return {
            'changed': False, 'failed': bool(drift) and args['fail_on_drift'], 'msg': text,
            'drifted': len(drift), 'drift': drift, 'accepted': accepted, 'objects': n, **self.keep(args, answer.out),
        }
