# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0), which the GNU General Public License
# version 3 is compatible with.

# The action plugin of this name does the work; nothing of Python runs on the host.

from __future__ import annotations

DOCUMENTATION = r"""
module: settings
short_description: Set what hostlab can set on a host, or put it back
version_added: 0.1.0
description:
  - Runs C(hostlab set), which writes each original value to a journal on the host before it changes anything.
  - With O(state=reverted), C(hostlab revert) restores the values of the journal.
  - A value that is already as asked is not written again. A second run changes nothing.
  - Check mode and diff show what C(hostlab set --dry-run) says.
author:
  - The hostlab authors (@hostlab)
extends_documentation_fragment:
  - hostlab.fleet.common
  - hostlab.fleet.common.root
  - hostlab.fleet.common.exceptions
attributes:
  check_mode:
    description: Can run in check mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check mode), when in diff mode.
    support: full
  platform:
    description: Target OS/families that can be operated against.
    support: full
    platforms: linux
options:
  state:
    description: Whether settings are to be as asked, or as they were before hostlab set anything.
    type: str
    choices: [present, reverted]
    default: present
  settings:
    description:
      - Names and values as C(hostlab settings) lists them. C(governor@policy0) is one object alone.
      - Words that YAML reads as truth values need quotes, as V("on").
    type: dict
    default: {}
  role:
    description: Set also what C(hostlab check) advises for this role. What O(settings) names wins.
    type: str
    choices: [production-db, production-app, development]
  missing:
    description: Whether a setting that a host does not have makes the task fail.
    type: str
    choices: [fail, ignore]
    default: fail
  persist:
    description:
      - The tool that keeps the settings over a reboot, by a profile of C(hostlab export).
      - With O(state=reverted) that profile is taken away, and what it has set again since a reboot is put back.
      - With O(role), a profile for TuneD that is there already stays as it is, and a warning says so.
    type: str
    choices: [tuned, saptune, systemd, none]
    default: none
  force:
    description: With O(state=reverted), put back also what another program has changed since.
    type: bool
    default: false
seealso:
  - module: hostlab.fleet.verify
"""

EXAMPLES = r"""
- name: Set what is advised for databases, and keep it over a reboot
  hostlab.fleet.settings:
    role: production-db
    exceptions: exceptions.toml
    persist: systemd
  become: true

- name: Set the governor where there is one
  hostlab.fleet.settings:
    settings:
      governor: performance
      swappiness: 10
    missing: ignore
  become: true

- name: Put everything back
  hostlab.fleet.settings:
    state: reverted
    persist: systemd
  become: true
"""

RETURN = r"""
msg:
  description: What was done.
  returned: always
  type: str
  sample: 4 objects set
objects:
  description: How many objects have another value now, or would have in check mode.
  returned: success
  type: int
same:
  description: How many objects were as asked already.
  returned: success
  type: int
absent:
  description: How many settings this host does not have.
  returned: success
  type: int
persisted:
  description: The tool whose profile was written or taken away.
  returned: when the profile changed
  type: str
"""
