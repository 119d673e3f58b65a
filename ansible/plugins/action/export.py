# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""hostlab export: a host's settings as a profile, brought to the controller."""

from __future__ import annotations

import os
import typing as t

from ..plugin_utils import spool
from ..plugin_utils.action import EXCEPTIONS, ROLE, ROOT, HostlabAction, Result, flags
from ..plugin_utils.host import Failed
from .settings import assignments


class ActionModule(HostlabAction):
    SPEC: dict[str, t.Any] = {
        **ROOT, **ROLE, **EXCEPTIONS,
        'tool': {'type': 'str', 'required': True, 'choices': ['tuned', 'saptune', 'systemd', 'powercfg', 'dsc']},
        'settings': {'type': 'dict', 'default': {}},
        'dest': {'type': 'path', 'required': True},
    }

    def act(self, args: dict[str, t.Any]) -> Result:
        host = self.host(args)
        command = ['export', *flags(args, 'root', 'role'), args['tool'], *assignments(args['settings'])]
        answer = host.run(command, self.exceptions(args))
        if answer.status:
            raise Failed(host.explained(answer))
        dest = self.path(args['dest'])
        old = ''
        if os.path.exists(dest):
            try:
                with open(dest, encoding='utf-8') as file:
                    old = file.read()
            except (OSError, ValueError) as e:
                raise Failed('dest: %s cannot be read: %s' % (dest, e)) from e
        result: Result = {'changed': old != answer.out, 'dest': dest, 'msg': 'the same profile'}
        if result['changed']:
            result['msg'] = 'another profile'
        if result['changed'] and not self.dry:
            spool.write(dest, answer.out)
        if self.diff:
            result['diff'] = {'before_header': dest, 'after_header': dest, 'before': old, 'after': answer.out}
        if answer.err:
            result['warnings'] = ['%s: %s' % (self.name, answer.err)]
        return result
