# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import annotations


class ModuleDocFragment:
    """Options that several modules share."""

    DOCUMENTATION = r"""
options:
  binary:
    description: The program on the host, as a name or a path.
    type: str
    default: hostlab
requirements:
  - hostlab on the host. Python is not needed there.
"""

    ROOT = r"""
options:
  root:
    description:
      - A directory tree on the host that stands for a machine, such as a recording of C(hostlab facts --save).
      - With it, the host itself is neither read nor changed.
    type: str
"""

    SPOOL = r"""
options:
  spool:
    description:
      - Folder on the controller for whole documents, as C(HOST/SHA256.json). C(hostlab fleet ingest) reads it.
      - Relative names are beside the playbook. Check mode writes nothing.
    type: str
    default: spool
"""

    ROLE = r"""
options:
  role:
    description: What the host is for.
    type: str
    choices: [production-db, production-app, development]
"""

    EXCEPTIONS = r"""
options:
  exceptions:
    description:
      - A TOML file on the controller with findings that are accepted, each for a reason and until a day.
      - Without it, C(/etc/hostlab/exceptions.toml) of the host counts, if it is there.
    type: str
"""

    ATTRIBUTES = r"""
attributes:
  check_mode:
    description: Can run in check mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check mode), when in diff mode.
    support: none
  platform:
    description: Target OS/families that can be operated against.
    support: full
    platforms: linux
"""
