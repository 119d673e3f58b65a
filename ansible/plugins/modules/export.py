# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0), which the GNU General Public License
# version 3 is compatible with.

# The action plugin of this name does the work; nothing of Python runs on the host.

from __future__ import annotations

DOCUMENTATION = r"""
module: export
short_description: Write a profile of settings to the controller
version_added: 0.1.0
description:
  - Runs C(hostlab export) on the host and writes what it prints to a file on the controller. The host is not changed.
  - To keep settings on the host itself, M(hostlab.fleet.settings) has O(hostlab.fleet.settings#module:persist).
author:
  - The hostlab authors (@hostlab)
extends_documentation_fragment:
  - hostlab.fleet.common
  - hostlab.fleet.common.root
  - hostlab.fleet.common.role
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
  tool:
    description: The tool that reads the profile.
    type: str
    required: true
    choices: [tuned, saptune, systemd, powercfg, dsc]
  settings:
    description: Names and values, as of M(hostlab.fleet.settings).
    type: dict
    default: {}
  dest:
    description: The file on the controller. Relative names are beside the playbook.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Write a profile for TuneD of what is recommended
  hostlab.fleet.export:
    tool: tuned
    role: production-db
    dest: "profiles/{{ inventory_hostname }}.conf"
"""

RETURN = r"""
msg:
  description: Whether the profile differs from the one before.
  returned: always
  type: str
dest:
  description: The file on the controller.
  returned: success
  type: str
"""
