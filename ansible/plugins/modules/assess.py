# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0), which the GNU General Public License
# version 3 is compatible with.

# The action plugin of this name does the work; nothing of Python runs on the host.

from __future__ import annotations

DOCUMENTATION = r"""
module: assess
short_description: Watch the service of a host for a minute, and say what the platform costs it
version_added: 0.1.0
description:
  - Runs C(hostlab assess) and keeps its document in the spool of the controller. At most 2 KB are returned.
  - The host is not changed. Check mode leaves it out, since it measures.
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
  service:
    description: The service to watch, as C(unit:tomcat9). By default it is the database that runs there.
    type: str
  dsn_file:
    description: A file on the host whose first line says how to connect to the database.
    type: path
  log_dir:
    description: A directory on the device of the database's log.
    type: path
  quick:
    description: Measure for 20 seconds instead of a minute.
    type: bool
    default: false
seealso:
  - module: hostlab.fleet.check
"""

EXAMPLES = r"""
- name: Assess the database of each host
  hostlab.fleet.assess:
    role: production-db
  become: true
"""

RETURN = r"""
msg:
  description: The answer in at most 60 words.
  returned: always
  type: str
findings:
  description: Findings by severity.
  returned: success
  type: dict
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
  description: The whole document on the controller.
  returned: success
  type: str
sha256:
  description: SHA-256 of the document.
  returned: success
  type: str
"""
