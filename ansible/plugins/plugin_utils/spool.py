# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""The folder on the controller that 'hostlab fleet ingest' reads: HOST/SHA256.json."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import typing as t

from .host import Failed

# The most that a task returns, as JSON: Ansible holds results of all hosts in memory and sends each several times.
MOST = 2048


def place(spool: str, host: str, text: str) -> tuple[str, str]:
    """Say where a document belongs, and its SHA-256."""
    if not re.fullmatch(r'[A-Za-z0-9_.:@-]+', host) or host.startswith('.'):
        raise Failed('the inventory name %r cannot name a folder of the spool' % host[:100])
    digest = hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()
    return os.path.join(spool, host, digest + '.json'), digest


def keep(spool: str, host: str, text: str) -> tuple[str, str]:
    """Keep a document unless it is there already. It is whole or not there. Gives its path and SHA-256."""
    path, digest = place(spool, host, text)
    if not os.path.exists(path):
        write(path, text)
    return path, digest


def write(path: str, text: str) -> None:
    """Write a file that is whole or not there."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        fd, name = tempfile.mkstemp(dir=folder, prefix='.new-')
        try:
            with os.fdopen(fd, 'wb') as file:
                file.write(text.encode('utf-8', 'surrogateescape'))
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as e:
        raise Failed('cannot write %s on the controller: %s' % (path, e.strerror)) from e


def small(result: dict[str, t.Any]) -> dict[str, t.Any]:
    """Shorten the lists and texts of a result, the longest first, until it has at most MOST bytes."""
    def size(value: t.Any) -> int:
        return len(json.dumps(value, default=str).encode())

    out = dict(result)
    while size(out) > MOST:
        name = max(out, key=lambda key: size(out[key]))
        value = out[name]
        if isinstance(value, list) and len(value) > 1:
            out[name] = value[:len(value) // 2]
        elif isinstance(value, list):
            out[name] = []
        elif isinstance(value, dict) and value:
            out[name] = small_texts(value)
        elif isinstance(value, str) and len(value) > 40:
            out[name] = value[:len(value) // 2].rstrip() + '…'
        else:
            break
        out['shortened'] = True
    return out


def small_texts(value: dict[str, t.Any]) -> dict[str, t.Any]:
    """Halve the longest text of a mapping, at the end of a line where there are several."""
    name = max(value, key=lambda key: len(str(value[key])))
    text = str(value[name])
    half = text[:len(text) // 2]
    return {**value, name: half[:half.rfind('\n') + 1] + '(more)\n' if '\n' in half else half[:-1]}
