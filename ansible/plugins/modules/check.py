# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0), which the GNU General Public License
# version 3 is compatible with.

# The action plugin of this name does the work; nothing of Python runs on the host.

from __future__ import annotations

DOCUMENTATION = r"""
module: check
short_description: Compare the settings of a host with recommendations for its role
version_added: 0.1.0
description:
  - Runs C(hostlab check) and keeps its document in the spool of the controller. At most 2 KB are returned.
  - Findings do not make the task fail. The host is not changed.
author:
  - The hostlab authors (@hostlab)
extends_documentation_fragment:
  - hostlab.fleet.common
  - hostlab.fleet.common.root
  - hostlab.fleet.common.spool
  - hostlab.fleet.common.role
  - hostlab.fleet.common.exceptions
  - hostlab.fleet.common.attributes
options:
  log_dir:
    description: Directory of the database's log, whose storage is checked too.
    type: str
seealso:
  - module: hostlab.fleet.assess
  - module: hostlab.fleet.settings
"""

EXAMPLES = r"""
- name: Check all hosts
  hostlab.fleet.check:
    role: production-db
    exceptions: exceptions.toml
  register: checked

- name: Stop where a finding is severe
  ansible.builtin.assert:
    that: checked.findings.high == 0
    fail_msg: "{{ checked.msg }}"
"""

RETURN = r"""
msg:
  description: How many findings there are.
  returned: always
  type: str
  sample: 2 findings (1 high, 1 low), 1 accepted
findings:
  description: Findings by severity.
  returned: success
  type: dict
  sample: {high: 1, medium: 0, low: 1, info: 0}
accepted:
  description: Findings that exceptions accept.
  returned: success
  type: int
unknown:
  description: Checks that could not be decided.
  returned: success
  type: int
checks:
  description: Findings, the worst first. The list may be shortened.
  returned: success
  type: list
  elements: str
document:
  description: The whole document on the controller. Not in check mode.
  returned: success
  type: str
sha256:
  description: SHA-256 of the document.
  returned: success
  type: str
"""
