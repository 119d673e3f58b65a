# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""hostlab set and revert, and what keeps settings over a reboot."""

from __future__ import annotations

import typing as t

from ..plugin_utils import changes
from ..plugin_utils.action import EXCEPTIONS, ROLE, ROOT, HostlabAction, Result, flags
from ..plugin_utils.host import Failed, Host
from ..plugin_utils.persist import TOOLS, Keeper


class ActionModule(HostlabAction):
    SPEC: dict[str, t.Any] = {
        **ROOT, **ROLE, **EXCEPTIONS,
        'state': {'type': 'str', 'choices': ['present', 'reverted'], 'default': 'present'},
        'settings': {'type': 'dict', 'default': {}},
        'missing': {'type': 'str', 'choices': ['fail', 'ignore'], 'default': 'fail'},
        'persist': {'type': 'str', 'choices': [*TOOLS, 'none'], 'default': 'none'},
        'force': {'type': 'bool', 'default': False},
    }

    def act(self, args: dict[str, t.Any]) -> Result:
        host = self.host(args)
        keeper = Keeper(host, args, assignments(args['settings']), self.exceptions(args), self.dry)
        if args['state'] == 'reverted':
            result = self.revert(host, args)
            kept = keeper.remove()
        else:
            if not args['settings'] and not args['role']:
                raise Failed('settings or role: name what is to be set')
            kept = keeper.prepare()  # before anything is set: TuneD's profile has what this host lacks
            result = self.set(host, args, keeper.exceptions)
            keeper.write()
        if kept:
            result['changed'] = True
            result['persisted'] = kept
        if keeper.notes:
            result['warnings'] = ['%s: %s' % (self.name, note) for note in keeper.notes]
        return result

    def set(self, host: Host, args: dict[str, t.Any], exceptions: str | None) -> Result:
        command = ['set', '--format', 'json', '--dry-run' if self.dry else '--yes', *flags(args, 'root', 'role')]
        if args['missing'] == 'ignore':
            command.append('--keep')
        answer, document = host.document([*command, *assignments(args['settings'])], exceptions)
        wrong = changes.refused(document)
        if answer.status and (args['missing'] == 'fail' or wrong):
            reasons = ['%s: %s' % (changes.called(o), o.get('reason')) for o in document['skipped'][:3]]
            raise Failed('; '.join([host.explained(answer), *(reasons if len(document['skipped']) > 1 else [])]))
        return self.told(document, 'set')

    def revert(self, host: Host, args: dict[str, t.Any]) -> Result:
        # What an experiment has changed is its own to put back.
        command = ['revert', '--owner', 'set', '--format', 'json', *flags(args, 'root', 'force')]
        if args['persist'] != 'none':
            command.append('--persisted')  # the profile has set them again at each start since
        answer, document = host.document([*command, '--dry-run'] if self.dry else command)
        wrong = changes.refused(document)
        if wrong and not self.dry:
            reasons = ['%s: %s' % (changes.called(o), o.get('reason')) for o in wrong[:5]]
            raise Failed('not put back: %s' % '; '.join(reasons))
        if answer.status:
            raise Failed(host.explained(answer))
        return self.told(document, 'put back')

    def told(self, document: dict[str, t.Any], done: str) -> Result:
        list_ = changes.changed(document)
        absent = sum(not o.get('path') for o in document['skipped'])
        text = '%s %s' % (changes.plural(len(list_), 'object'), 'would be ' + done if self.dry else done)
        if absent:
            text += '; %s that this host does not have' % changes.plural(absent, 'setting')
        result: Result = {'changed': bool(list_), 'msg': text, 'objects': len(list_), 'absent': absent}
        result['same'] = len(document['same'])
        if self.diff:
            result['diff'] = changes.diff(list_)
        return result


def assignments(settings: dict[str, t.Any]) -> list[str]:
    """Give settings as 'hostlab set' takes them. YAML makes truth values of on, off, yes and no, which the kernel has as words."""
    out = []
    for name, value in settings.items():
        if isinstance(value, bool):
            raise Failed('settings: %s is a truth value in YAML; write it in quotes, as "on" or "off"' % name)
        if value is None or isinstance(value, (dict, list)):
            raise Failed('settings: %s needs one value' % name)
        out.append('%s=%s' % (name, value))
    return out
