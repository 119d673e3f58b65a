# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""What all actions of this collection have in common."""

from __future__ import annotations

import os
import typing as t

from ansible.errors import AnsibleActionFail, AnsibleFileNotFound
from ansible.plugins.action import ActionBase

from . import spool
from .host import Failed, Host

COMMON: dict[str, t.Any] = {'binary': {'type': 'str', 'default': 'hostlab'}}
ROOT: dict[str, t.Any] = {'root': {'type': 'str'}}
SPOOL: dict[str, t.Any] = {'spool': {'type': 'str', 'default': 'spool'}}
EXCEPTIONS: dict[str, t.Any] = {'exceptions': {'type': 'str'}}
ROLES = ['production-db', 'production-app', 'development']
ROLE: dict[str, t.Any] = {'role': {'type': 'str', 'choices': ROLES}}

Result = t.Dict[str, t.Any]


class HostlabAction(ActionBase):
    """An action: SPEC are its arguments, and act does it.

    act gets the arguments and gives the result. It raises Failed for what a user can mend.
    """

    _requires_connection = True
    _supports_check_mode = True
    _supports_diff = True

    SPEC: dict[str, t.Any] = {}
    CHECKS: dict[str, t.Any] = {}
    task_vars: dict[str, t.Any]

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> Result:
        self.task_vars = task_vars or {}
        result: Result = super().run(tmp, task_vars)
        del tmp
        checked, args = self.validate_argument_spec(argument_spec={**COMMON, **self.SPEC}, **self.CHECKS)
        try:
            result.update(self.act(args))
        except Failed as e:
            result.update(failed=True, msg=str(e))
        return spool.small(result)

    def act(self, args: dict[str, t.Any]) -> Result:
        raise NotImplementedError

    def host(self, args: dict[str, t.Any]) -> Host:
        return Host(self._low_level_execute_command, args['binary'])

    @property
    def dry(self) -> bool:
        """Whether this is check mode."""
        return bool(self._task.check_mode)

    @property
    def diff(self) -> bool:
        return bool(self._task.diff)

    @property
    def name(self) -> str:
        """The host's name in the inventory, under which its documents are kept."""
        return str(self.task_vars['inventory_hostname'])

    def path(self, name: str) -> str:
        """Where a file of the controller is: relative names are beside the playbook."""
        return os.path.abspath(self._loader.path_dwim(name))

    def text(self, name: str, what: str) -> str:
        """Read a file of the controller, as in files/ of a role or beside the playbook."""
        try:
            found = self._find_needle('files', name)
            with open(found, encoding='utf-8') as file:
                return file.read()
        except (AnsibleActionFail, AnsibleFileNotFound):
            raise Failed('%s: %s is not on the controller' % (what, name)) from None
        except (OSError, ValueError) as e:
            raise Failed('%s: %s cannot be read: %s' % (what, name, e)) from e

    def exceptions(self, args: dict[str, t.Any]) -> str | None:
        """Give the text of the file of exceptions, if one is named."""
        return self.text(args['exceptions'], 'exceptions') if args.get('exceptions') else None

    def keep(self, args: dict[str, t.Any], text: str) -> Result:
        """Keep a document in the spool, and say where. Check mode writes nothing."""
        folder = self.path(args['spool'])
        path, digest = (spool.place if self.dry else spool.keep)(folder, self.name, text)
        return {'sha256': digest} if self.dry else {'document': path, 'sha256': digest}


def flags(args: dict[str, t.Any], *names: str) -> list[str]:
    """Give the arguments of that name which are set, as flags of hostlab: log_dir is --log-dir."""
    out: list[str] = []
    for name in names:
        if args.get(name) is True:
            out.append('--' + name.replace('_', '-'))
        elif args.get(name):
            out += ['--' + name.replace('_', '-'), str(args[name])]
    return out
