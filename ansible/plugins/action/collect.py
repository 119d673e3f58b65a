# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Brings documents that timers have written on a host to the spool."""

from __future__ import annotations

import json
import shlex
import typing as t

from ..plugin_utils import spool
from ..plugin_utils.action import SPOOL, HostlabAction, Result
from ..plugin_utils.host import Failed

# What 'hostlab fleet ingest' takes, in bytes.
LARGEST = 16 << 20


class ActionModule(HostlabAction):
    SPEC: dict[str, t.Any] = {**SPOOL, 'paths': {'type': 'list', 'elements': 'path', 'default': ['/var/lib/hostlab-assess']}}

    def act(self, args: dict[str, t.Any]) -> Result:
        host = self.host(args)
        listing = host.shell('for p in %s; do if [ -d "$p" ] && ! [ -r "$p" -a -x "$p" ]; then echo "! $p"; set --; '
                             'elif [ -d "$p" ]; then set -- "$p"/*.json; elif [ -e "$p" ]; then set -- "$p"; else echo "? $p"; set --; fi; '
                             'for f; do if [ -f "$f" ]; then if [ -r "$f" ]; then echo "$f"; else echo "! $f"; fi; fi; done; done'
                             % shlex.join(args['paths']))
        if listing.status:
            raise Failed('paths: %s' % (listing.err or 'cannot be listed'))
        new, refused, known, absent = 0, [], 0, []
        for path in listing.out.splitlines():
            if path.startswith('? '):
                absent.append('%s: %s is not there yet' % (self.name, path[2:]))
                continue
            try:
                if path.startswith('! '):
                    raise Failed('may not be read: add "become: true"')
                if self.take(args, path):
                    new += 1
                else:
                    known += 1
            except Failed as e:
                refused.append('%s: %s' % (path.removeprefix('! '), e))
        text = '%d new, %d known, %d refused' % (new, known, len(refused))
        if refused:
            return {'failed': True, 'msg': '%s: %s' % (text, refused[0]), 'new': new, 'known': known, 'refused': refused}
        result: Result = {'changed': False, 'msg': text, 'new': new, 'known': known}
        return {**result, 'warnings': absent} if absent else result

    def take(self, args: dict[str, t.Any], path: str) -> bool:
        """Keep the document of a path. Says whether it is new in the spool."""
        answer = self.host(args).shell('head -c %d %s' % (LARGEST + 1, shlex.quote(path)))
        if answer.status:
            raise Failed(answer.err)
        if len(answer.out.encode('utf-8', 'surrogateescape')) > LARGEST:
            raise Failed('it is larger than 16 MiB')
        try:
            document = json.loads(answer.out)
        except ValueError:
            document = None
        if not isinstance(document, dict) or 'schema' not in document:
            raise Failed('it is no document of hostlab')
        folder = self.path(args['spool'])
        there, _digest = spool.place(folder, self.name, answer.out)
        try:
            with open(there, 'rb'):
                return False
        except OSError:
            self.keep(args, answer.out)
            return True
