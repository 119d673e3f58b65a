# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""hostlab assess: the service that runs on a host, watched for a minute."""

from __future__ import annotations

import typing as t

from ..plugin_utils.action import EXCEPTIONS, ROLE, ROOT, SPOOL, HostlabAction, Result, flags
from ..plugin_utils.findings import counted
from ..plugin_utils.host import Failed


class ActionModule(HostlabAction):
    SPEC: dict[str, t.Any] = {
        **ROOT, **ROLE, **SPOOL, **EXCEPTIONS,
        'service': {'type': 'str'},
        'dsn_file': {'type': 'path'},
        'log_dir': {'type': 'path'},
        'quick': {'type': 'bool', 'default': False},
    }

    def act(self, args: dict[str, t.Any]) -> Result:
        if self.dry:
            return {'changed': False, 'skipped': True, 'msg': 'check mode: assess would watch and measure the host for a minute'}
        host = self.host(args)
        command = ['assess', '--quiet', '--format', 'json']
        if args.get('root'):
            command += ['--from', args['root']]
        command += flags(args, 'role', 'service', 'dsn_file', 'log_dir', 'quick')
        answer, document = host.document(command, self.exceptions(args))
        if answer.status not in (0, 1):  # 1: not everything could be measured, and the document says what
            raise Failed(host.explained(answer))
        found = counted(document.get('results') or [])
        result: Result = {'changed': False, 'msg': document['verdict']['text'], **found, **self.keep(args, answer.out)}
        if answer.status == 1:
            result['warnings'] = ['%s: %s' % (self.name, answer.err)]
        return result
