# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0), which the GNU General Public License
# version 3 is compatible with.

# The action plugin of this name does the work; nothing of Python runs on the host.

from __future__ import annotations

DOCUMENTATION = r"""
module: collect
short_description: Bring documents that a host has written by itself to the spool
version_added: 0.1.0
description:
  - Brings JSON documents of hostlab, as the timer hostlab-assess writes them, to the spool of the controller.
  - What is there already is not written again. The host is not changed.
author:
  - The hostlab authors (@hostlab)
extends_documentation_fragment:
  - hostlab.fleet.common
  - hostlab.fleet.common.spool
  - hostlab.fleet.common.attributes
options:
  paths:
    description: Files, or directories whose files C(*.json) are taken.
    type: list
    elements: path
    default: [/var/lib/hostlab-assess]
"""

EXAMPLES = r"""
- name: Bring today's assessment
  hostlab.fleet.collect:
  become: true
"""

RETURN = r"""
msg:
  description: How many documents are new.
  returned: always
  type: str
new:
  description: Documents that were not in the spool.
  returned: success
  type: int
known:
  description: Documents that were there already.
  returned: success
  type: int
"""
