# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Keeps settings over a reboot: a profile of 'hostlab export' where TuneD, saptune or systemd read it.

A second run finds the same profile and changes nothing. With root, a tree that stands for a machine, files are written
below it and nothing is activated.
"""

from __future__ import annotations

import shlex
import typing as t

from .action import flags
from .host import Failed, Host

TOOLS = ('tuned', 'saptune', 'systemd')

# What systemd's files need to be in force with the next boot; what they say is in force already.
ENABLE = ('systemctl daemon-reload; for u in hostlab-limits hostlab-latency; do '
          'if [ -f /etc/systemd/system/$u.service ]; then systemctl enable --now $u; fi; done; '
          'if command -v udevadm >/dev/null; then udevadm control --reload; fi')
DISABLE = ('for u in hostlab-limits hostlab-latency; do if [ -f /etc/systemd/system/$u.service ]; then '
           'systemctl disable --now $u; fi; done')
# Below /etc; what is there and not by 'hostlab export' stays.
FILES = ('sysctl.d/90-hostlab.conf', 'modprobe.d/hostlab.conf', 'tmpfiles.d/hostlab.conf', 'udev/rules.d/90-hostlab.rules',
         'systemd/system/hostlab-limits.service', 'systemd/system/hostlab-latency.service')


class Keeper:
    """The profile of one host for one tool. notes are warnings for the user."""

    def __init__(self, host: Host, args: dict[str, t.Any], items: list[str], exceptions: str | None, dry: bool) -> None:
        self.host, self.args, self.items, self.exceptions, self.dry = host, args, items, exceptions, dry
        self.tool: str = args['persist']
        self.etc: str = (args['root'] or '') + '/etc'
        self.differ = False
        self.notes: list[str] = []

    def export(self, *more: str) -> str:
        """Run 'hostlab export' and give what it prints, "" where nothing is left to set."""
        command = ['export', *flags(self.args, 'root', 'role'), *more, self.tool, *self.items]
        answer = self.host.run(command, self.exceptions if self.args['role'] else None)
        if answer.status == 2 and answer.err.startswith('nothing is left to set'):
            return ''
        if answer.status:
            raise Failed('persist: %s' % self.host.explained(answer))
        self.notes += [n for n in answer.err.split('; ') if n.startswith('not in the profile')]
        return answer.out

    def prepare(self) -> str:
        """Compare the profile with what is there. Gives what would change, "" for nothing."""
        if self.tool == 'none':
            return ''
        self.profile = self.export()
        if not self.profile:
            return ''
        if self.tool == 'systemd':
            here = self.sections()
            self.differ = any(self.read(path) != text for path, text in here.items())
        elif self.tool == 'tuned' and self.args['role'] and self.read(self.place()):
            self.notes.append("TuneD's profile hostlab stays as it is: it was made for a role, of what this host lacked then. "
                              'Remove it (state: reverted) to make it again.')
        else:
            self.differ = self.read(self.place()) != self.profile
        return self.tool if self.differ else ''

    def write(self) -> None:
        """Write the profile and activate it, if it differs."""
        if not self.differ or self.dry:
            return
        if self.tool == 'systemd':
            answer = self.host.run(['export', *flags(self.args, 'root', 'role'), '--out', self.etc, 'systemd', *self.items],
                                   self.exceptions if self.args['role'] else None)
            self.ended(answer.status, answer.err)
            self.activate(ENABLE)
            return
        path = self.place()
        answer = self.host.shell('umask 022; mkdir -p %s && cat >%s.new && mv %s.new %s' % tuple(
            shlex.quote(p) for p in (path.rpartition('/')[0], path, path, path)), self.profile.encode())
        self.ended(answer.status, answer.err)
        self.activate('tuned-adm profile hostlab' if self.tool == 'tuned' else 'saptune note apply hostlab')

    def remove(self) -> str:
        """Take the profile away. Gives what changed, "" for nothing."""
        if self.tool == 'none':
            return ''
        if self.tool == 'systemd':
            paths = [self.etc + '/' + f for f in FILES]
            found = [p for p in paths if self.read(p).partition('\n')[0].endswith('written by hostlab')]
        else:
            found = [p for p in [self.place()] if self.read(p)]
        if not found or self.dry:
            return self.tool if found else ''
        base = ''
        if self.tool == 'tuned':
            lines = self.read(found[0]).splitlines()
            base = ' '.join(line[8:].replace(',', ' ') for line in lines if line.startswith('include='))
        self.activate({'systemd': DISABLE, 'saptune': 'saptune note revert hostlab',
                       'tuned': 'tuned-adm profile %s' % shlex.join(base.split()) if base else 'tuned-adm off'}[self.tool])
        answer = self.host.shell('rm -f %s' % shlex.join(found))
        self.ended(answer.status, answer.err)
        return self.tool

    def place(self) -> str:
        """Say where the one file of TuneD or saptune belongs."""
        if self.tool == 'saptune':
            return self.etc + '/saptune/extra/hostlab.conf'
        profiles = self.etc + '/tuned/profiles'  # since TuneD 2.25
        there = self.host.shell('[ -d %s ]' % shlex.quote(profiles)).status == 0
        return (profiles if there else self.etc + '/tuned') + '/hostlab/tuned.conf'

    def sections(self) -> dict[str, str]:
        """Split what export prints of systemd's files, each of which begins with its name."""
        out: dict[str, str] = {}
        for block in ('\n' + self.profile).split('\n# /etc/')[1:]:
            name, _newline, text = block.partition('\n')
            out[self.etc + '/' + name] = text.strip('\n') + '\n'
        return out

    def read(self, path: str) -> str:
        """Read a file of the host, "" if it is not there."""
        return self.host.shell('if [ -f %s ]; then cat %s; fi' % (shlex.quote(path), shlex.quote(path))).out

    def activate(self, script: str) -> None:
        if not self.args['root']:
            answer = self.host.shell(script)
            self.ended(answer.status, answer.err)

    def ended(self, status: int, err: str) -> None:
        if status:
            raise Failed('persist: %s: %s' % (self.tool, err or 'status %d' % status))
