# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Brings the hostlab binary, or its package, to a host and checks its SHA-256 on both sides."""

from __future__ import annotations

import hashlib
import os
import shlex
import typing as t

from ansible.errors import AnsibleActionFail, AnsibleFileNotFound

from ..plugin_utils.action import HostlabAction, Result
from ..plugin_utils.host import Failed, Host

# What uname -m says, as e_machine of an ELF file (elf.h).
MACHINES = {'x86_64': 62, 'aarch64': 183}
SAME = {'amd64': 'x86_64', 'arm64': 'aarch64'}
# Nobody is there to be asked about a configuration file that was changed, and an older version is as good as a newer one.
INSTALLERS = {'.deb': 'DEBIAN_FRONTEND=noninteractive dpkg --force-confold -i %s </dev/null', '.rpm': 'rpm -U --replacepkgs --oldpackage %s </dev/null'}
# Where packages put the binary, and where it is noted which package that came from.
PACKAGED, MARK = '/usr/bin/hostlab', '/var/lib/hostlab-installed'
# What stands for the SHA-256 of a directory.
DIRECTORY = 'directory'


class ActionModule(HostlabAction):
    SPEC: dict[str, t.Any] = {
        'sources': {'type': 'dict', 'required': True},
        'checksums': {'type': 'dict', 'default': {}},
        'dest': {'type': 'path', 'default': '/usr/local/bin/hostlab'},
    }

    def act(self, args: dict[str, t.Any]) -> Result:
        host = self.host(args)
        kind = host.shell('uname -sm').out.split()
        if len(kind) != 2 or kind[0] != 'Linux':
            raise Failed('this host says that it is "%s"; expected Linux' % ' '.join(kind))
        machine = kind[1]
        source = self.source(args, machine)
        digest = sha256(source)
        wanted = by_machine(args['checksums'], machine)
        if wanted and wanted.lower() != digest:
            raise Failed('%s has the SHA-256 %s; checksums has %s' % (source, digest, wanted))
        installer = INSTALLERS.get(os.path.splitext(source)[1])
        if installer is None:
            fits(source, machine)
        there = self.digest(host, args['dest'], packaged=bool(installer))
        if there == DIRECTORY:
            raise Failed('dest: %s is a directory of the host; name the file in it' % args['dest'])
        result: Result = {'changed': there != digest, 'sha256': digest, 'dest': None if installer else args['dest']}
        if there == digest:
            return {**result, 'msg': self.version(host, args, installer)}
        if self.dry:
            return {**result, 'msg': '%s would be installed' % os.path.basename(source)}
        self.bring(host, args, source, digest, installer)
        return {**result, 'msg': self.version(host, args, installer)}

    def source(self, args: dict[str, t.Any], machine: str) -> str:
        name = by_machine(args['sources'], machine)
        if not name:
            raise Failed('sources has nothing for %s, only for %s' % (machine, ', '.join(sorted(args['sources'])) or 'nobody'))
        try:
            found: str = self._find_needle('files', name)
        except (AnsibleActionFail, AnsibleFileNotFound):
            raise Failed('sources: %s is not on the controller' % name) from None
        if not os.path.isfile(found):
            raise Failed('sources: %s is no file' % found)
        return found

    def version(self, host: Host, args: dict[str, t.Any], installer: str | None) -> str:
        return Host(host.execute, PACKAGED if installer else args['dest']).version()

    def digest(self, host: Host, path: str, packaged: bool) -> str:
        """Give the SHA-256 of what is installed: of the binary, or of the package whose binary is still there."""
        path = shlex.quote(path)
        if packaged:
            return host.shell('read -r package binary <%s && [ "$(sha256sum <%s)" = "$binary  -" ] && echo "$package"' % (MARK, PACKAGED)).out.strip()
        return host.shell('if [ -d %s ]; then echo %s; elif [ -x %s ]; then sha256sum <%s; fi' % (path, DIRECTORY, path, path)).out.partition(' ')[0].strip()

    def bring(self, host: Host, args: dict[str, t.Any], source: str, digest: str, installer: str | None) -> None:
        """Copy the file and put it in its place, if its SHA-256 on the host is the right one."""
        tmp = self._make_tmp_path()
        try:
            name = self._connection._shell.join_path(tmp, 'hostlab' + (os.path.splitext(source)[1] if installer else ''))
            self._transfer_file(source, name)
            file = shlex.quote(name)
            script = '[ "$(sha256sum <%s)" = "%s  -" ] || { echo "the file arrived damaged" >&2; exit 1; }; ' % (file, digest)
            if installer:
                script += '%s >&2 && umask 022 && echo "%s $(sha256sum <%s | cut -c 1-64)" >%s' % (installer % file, digest, PACKAGED, MARK)
            else:
                dest = shlex.quote(args['dest'])
                script += ('umask 022; mkdir -p "$(dirname %s)" && cp %s %s.new && chmod 755 %s.new && mv -f %s.new %s '
                           '|| { rm -f %s.new; exit 1; }' % (dest, file, dest, dest, dest, dest, dest))
            answer = host.shell(script)
            if answer.status:
                raise Failed('not installed: %s' % host.explained(answer))
        finally:
            self._remove_tmp_path(tmp, force=True)


def by_machine(values: dict[str, t.Any], machine: str) -> str:
    """Look up an architecture by the name of the kernel or of Go and Debian."""
    for name, value in values.items():
        if SAME.get(name, name) == machine:
            return str(value)
    return ''


def sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, 'rb') as file:
        for block in iter(lambda: file.read(1 << 20), b''):
            digest.update(block)
    return digest.hexdigest()


def fits(path: str, machine: str) -> None:
    """Refuse a binary for another architecture before it travels."""
    with open(path, 'rb') as file:
        head = file.read(20)
    if head[:4] != b'\x7fELF' or len(head) < 20:
        raise Failed('%s is neither a Linux program nor a deb or rpm' % path)
    number = int.from_bytes(head[18:20], 'little')
    if number != MACHINES.get(machine):
        name = next((m for m, n in MACHINES.items() if n == number), 'another architecture (%d)' % number)
        raise Failed('%s is for %s, and this host is %s' % (path, name, machine))
