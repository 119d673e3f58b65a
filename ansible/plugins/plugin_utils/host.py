# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Runs hostlab on a host where there is nothing else but a POSIX shell."""

from __future__ import annotations

import json
import re
import shlex
import typing as t
from dataclasses import dataclass

# Where hostlab lies is often missing in the PATH of a shell that nobody logs in to, and in that of sudo.
PATH = 'PATH="$PATH:/usr/local/bin:/usr/local/sbin:/usr/sbin:/sbin"; export PATH LC_ALL=C'

# Exit statuses of a shell that found no program, or one that it cannot run.
NOT_RUN, NOT_FOUND = 126, 127


class Failed(Exception):
    """A task fails with this one line."""


@dataclass(frozen=True)
class Answer:
    """What a command on the host answered. err is one line, without the program's name."""

    status: int
    out: str
    err: str


Execute = t.Callable[..., t.Dict[str, t.Any]]


class Host:
    """A host as an action plugin reaches it.

    execute is the plugin's _low_level_execute_command. Commands get input, even if it is one empty line: without any, ssh
    would ask for a terminal, on which messages and documents are one stream. That line is read first: where a command ended before
    it was sent, ssh's plugin called the host unreachable.
    """

    def __init__(self, execute: Execute, binary: str = 'hostlab') -> None:
        self.execute = execute
        self.binary = binary

    def shell(self, script: str, data: bytes = b'\n') -> Answer:
        """Run a script of POSIX shell, with data as its input."""
        first = 'read -r hostlab_line; ' if data == b'\n' else ''
        got = self.execute('( %s; %s%s )' % (PATH, first, script), in_data=data)
        return Answer(got['rc'], got.get('stdout', ''), one_line(got.get('stderr', '')))

    def run(self, args: t.Sequence[str], exceptions: str | None = None) -> Answer:
        """Run a command of hostlab. exceptions is the text of a file that goes along."""
        words = [self.binary, *args]
        if exceptions is None:
            answer = self.shell('%s </dev/null' % shlex.join(words))
        else:
            answer = self.shell(with_file(words, '--exceptions', 'exceptions.toml'), exceptions.encode())
        if answer.status in (NOT_RUN, NOT_FOUND):
            raise Failed(self.not_run(answer))
        if answer.status == 2 and re.search(r'unknown (command|flag|shorthand)|has no command', answer.err):
            raise Failed('%s is too old for this collection (%s). Install a newer one, as with the role hostlab.fleet.install.'
                         % (self.version(), answer.err))
        return answer

    def document(self, args: t.Sequence[str], exceptions: str | None = None) -> tuple[Answer, dict[str, t.Any]]:
        """Run a command that prints a JSON document, and read that."""
        answer = self.run(args, exceptions)
        try:
            document = json.loads(answer.out)
        except ValueError:
            document = None
        if isinstance(document, dict) and isinstance(document.get('schema'), int):
            return answer, document
        raise Failed(self.explained(answer) if answer.status else
                     "'hostlab %s' printed no JSON document; %s may be too old for this collection" % (args[0], self.version()))

    def explained(self, answer: Answer) -> str:
        """Say why a command failed; name missing privileges."""
        text = answer.err or 'hostlab ended with status %d and said nothing' % answer.status
        if re.search(r'permission denied|run as root|not permitted|as root', text, re.IGNORECASE):
            user = self.shell('id -un').out.strip()
            if user != 'root':
                text += ' (it ran as %s: add "become: true")' % (user or 'another user than root')
        return text

    def version(self) -> str:
        """Name the hostlab of the host, as "hostlab 1.2"."""
        got = self.shell('%s version </dev/null' % shlex.quote(self.binary))
        words = got.out.split()
        return ' '.join(words[:2]) if got.status == 0 and len(words) > 1 else 'hostlab on the host'

    def not_run(self, answer: Answer) -> str:
        """Say why the host could not start hostlab."""
        where = self.shell('command -v %s; uname -m' % shlex.quote(self.binary)).out.split()
        if len(where) == 1:
            return '%s is not on this host. Install it, as with the role hostlab.fleet.install.' % self.binary
        return '%s cannot be run on this host, which is %s (%s). Is it for another architecture?' % (
            where[0] if where else self.binary, where[-1] if where else 'unknown', answer.err or 'status %d' % answer.status)


def with_file(words: t.Sequence[str], flag: str, name: str) -> str:
    """Give a script that runs words with a flag for a file of the script's input, and leaves nothing behind."""
    return ('umask 077; d=$(mktemp -d) || exit 1; trap \'rm -rf "$d"\' EXIT; trap "exit 129" HUP TERM; '
            'cat >"$d"/%s || exit 1; %s %s "$d"/%s </dev/null' % (name, shlex.join(words), flag, name))


def one_line(text: str) -> str:
    """Give what a program said on stderr as one line, without its name and what shells and ssh add."""
    lines = [re.sub(r'^hostlab: ', '', line.strip()) for line in text.splitlines()]
    noise = r'(Shared c|C)onnection to .* closed|Warning: Permanently added'
    kept = [line for line in lines if line and not re.match(noise, line)]
    return '; '.join(kept)
