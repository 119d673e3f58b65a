# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""hostlab check: which settings are wrong for this host's role."""

from __future__ import annotations

import typing as t

from ..plugin_utils.action import EXCEPTIONS, ROLE, ROOT, SPOOL, HostlabAction, Result, flags
from ..plugin_utils.findings import counted, sentence
from ..plugin_utils.host import Failed


class ActionModule(HostlabAction):
    SPEC: dict[str, t.Any] = {**ROOT, **ROLE, **SPOOL, **EXCEPTIONS, 'log_dir': {'type': 'str'}}

    def act(self, args: dict[str, t.Any]) -> Result:
        host = self.host(args)
        command = ['check', '--format', 'json', *flags(args, 'root', 'role', 'log_dir')]
        answer, document = host.document(command, self.exceptions(args))
        if answer.status:
            raise Failed(host.explained(answer))
        found = counted(document.get('results', []))
        return {'changed': False, 'msg': sentence(found), **found, **self.keep(args, answer.out)}
