# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0), which the GNU General Public License
# version 3 is compatible with.

# The action plugin of this name does the work; nothing of Python runs on the host.

from __future__ import annotations

DOCUMENTATION = r"""
module: verify
short_description: Say whether settings are still as they were set
version_added: 0.1.0
description:
  - Runs C(hostlab verify), which reads back what the host's journal names. The document is kept in the spool.
  - Drift is reported. What an exception accepts is no drift. Drift makes the task fail only with O(fail_on_drift).
  - The host is not changed.
author:
  - The hostlab authors (@hostlab)
extends_documentation_fragment:
  - hostlab.fleet.common
  - hostlab.fleet.common.root
  - hostlab.fleet.common.spool
  - hostlab.fleet.common.exceptions
  - hostlab.fleet.common.attributes
options:
  fail_on_drift:
    description: Whether the task fails where something is not as it was set, or where the journal is damaged.
    type: bool
    default: false
seealso:
  - module: hostlab.fleet.settings
"""

EXAMPLES = r"""
- name: Look for drift
  hostlab.fleet.verify:
  become: true
  register: verified

- name: Say where it is
  ansible.builtin.debug:
    var: verified.drift
  when: verified.drifted > 0
"""

RETURN = r"""
msg:
  description: What is not as it was set, or how many objects are.
  returned: always
  type: str
drifted:
  description: How many things are not as they were set.
  returned: success
  type: int
drift:
  description: What is not as it was set. The list may be shortened.
  returned: success
  type: list
  elements: str
accepted:
  description: How many objects are not as they were set, but accepted by an exception.
  returned: success
  type: int
objects:
  description: How many objects the journal names.
  returned: success
  type: int
document:
  description: The whole document on the controller. Not in check mode.
  returned: success
  type: str
sha256:
  description: SHA-256 of the document.
  returned: success
  type: str
"""
