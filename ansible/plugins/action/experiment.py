# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""hostlab run in the background of a host: begun, looked at, resumed after a reboot."""

from __future__ import annotations

import shlex
import time
import typing as t

from ansible.errors import AnsibleConnectionFailure

from ..plugin_utils.action import SPOOL, HostlabAction, Result
from ..plugin_utils.host import Failed, Host, one_line

BOOT = 'cat /proc/sys/kernel/random/boot_id'
# What hostlab says where a reboot is all that it waits for.
REBOOT = 'reboot this host'
# What exit statuses of hostlab run mean.
STATES = {'0': 'done', '4': 'waiting', '130': 'stopped', '137': 'stopped', '143': 'stopped'}


class ActionModule(HostlabAction):
    SPEC: dict[str, t.Any] = {
        **SPOOL,
        'state': {'type': 'str', 'choices': ['started', 'read', 'rebooted'], 'default': 'read'},
        'out': {'type': 'path', 'required': True},
        'study': {'type': 'str'},
        'set': {'type': 'dict', 'default': {}},
        'reboot_command': {'type': 'str', 'default': 'systemctl reboot || shutdown -r now'},
        'reboot_timeout': {'type': 'int', 'default': 900},
    }
    CHECKS: dict[str, t.Any] = {'required_if': [('state', 'started', ['study'])]}

    def act(self, args: dict[str, t.Any]) -> Result:
        host = self.host(args)
        if args['state'] == 'rebooted':
            return self.reboot(host, args)
        now = self.look(host, args, anew=args['state'] == 'started')
        if args['state'] == 'started' and now['state'] in ('none', 'stopped', 'waiting'):
            return self.start(host, args, resume=now['state'] != 'none')
        return now

    def look(self, host: Host, args: dict[str, t.Any], anew: bool = False) -> Result:
        """Say how far the experiment is: none, running, waiting (status 4), done, stopped (to be resumed) or failed.

        With anew, one that failed before it had a record is none: its study may be another now.
        """
        out = shlex.quote(args['out'])
        begun = '[ -e %s ]' % out if anew else 'true'
        # The status is written before the process ends: it is looked for again after one that has just ended.
        answer = host.shell('if ! [ -e %s.pid ]; then echo none; elif ! [ -e %s.status ] && kill -0 "$(cat %s.pid)" 2>/dev/null; then '
                            'echo running; elif ! [ -e %s.status ]; then echo stopped; elif %s; then cat %s.status; else echo none; fi; '
                            'tail -n 3 %s.log 2>/dev/null' % (out, out, out, out, begun, out, out))
        if answer.status not in (0, 1) or not answer.out:
            raise Failed('out: %s' % (answer.err or 'cannot be looked at'))
        word, _newline, log = answer.out.partition('\n')
        said = one_line(log)
        state = STATES.get(word, word if word.isalpha() else 'failed')
        if state == 'failed':
            raise Failed('the experiment ended with status %s: %s' % (word, said))
        result: Result = {'changed': False, 'state': state, 'msg': said or state}
        result['reboot_needed'] = state == 'waiting' and REBOOT in said
        if state == 'done':
            report, document = host.document(['report', args['out'], '--format', 'json', '--exit-status'])
            effects = document.get('effects') or []
            result.update(self.keep(args, report.out), exit_status=report.status)
            result['effects'] = ['%s: %s' % (e.get('level', '?'), e.get('verdict', '?')) for e in effects]
        return result

    def start(self, host: Host, args: dict[str, t.Any], resume: bool) -> Result:
        """Start hostlab so that it outlives the connection. out.pid, out.status and out.log say what becomes of it."""
        if self.dry:
            return {'changed': True, 'state': 'none', 'msg': 'the experiment would be %s' % ('resumed' if resume else 'started')}
        out = shlex.quote(args['out'])
        words = [host.binary, 'run', '--out', args['out'], '--yes', '--quiet']
        data = b'\n'
        if resume:
            run = shlex.join([*words, '--resume']) + ' </dev/null'
        else:
            for name, value in args['set'].items():
                words += ['--set', '%s=%s' % (name, value)]
            if args['study'].endswith('.toml'):
                data = self.text(args['study'], 'study').encode()
                run = '%s %s.toml </dev/null' % (shlex.join(words), out)
            else:
                run = shlex.join([*words, args['study']]) + ' </dev/null'
        file = '' if data == b'\n' else 'cat >%s.toml && ' % out
        run += '; s=$?; echo $s >%s.new && mv %s.new %s.status' % (out, out, out)
        script = ('umask 077; mkdir -p "$(dirname %s)" && %srm -f %s.status && '
                  '{ setsid sh -c %s </dev/null >%s.log 2>&1 & echo $! >%s.pid; }' % (out, file, out, shlex.quote(run), out, out))
        answer = host.shell(script, data)
        if answer.status:
            raise Failed('the experiment did not start: %s' % answer.err)
        return {'changed': True, 'state': 'running', 'msg': 'resumed' if resume else 'started'}

    def reboot(self, host: Host, args: dict[str, t.Any]) -> Result:
        """Reboot the host and wait until it answers with another boot id."""
        if self.dry:
            return {'changed': True, 'msg': 'the host would be rebooted'}
        before = host.shell(BOOT).out.strip()
        try:
            answer = host.shell(args['reboot_command'])
            if answer.status not in (0, 255) and answer.err:
                raise Failed('the host cannot be rebooted: %s' % host.explained(answer))
        except AnsibleConnectionFailure:
            pass  # it went down at once
        ends = time.monotonic() + args['reboot_timeout']
        while time.monotonic() < ends:
            time.sleep(2)
            try:
                self._connection.reset()
                now = host.shell(BOOT).out.strip()
                if now and now != before:
                    return {'changed': True, 'msg': 'the host has rebooted'}
            except (AnsibleConnectionFailure, AttributeError):
                continue
        raise Failed('the host did not come back within %d s' % args['reboot_timeout'])
