# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0), which the GNU General Public License
# version 3 is compatible with.

# The action plugin of this name does the work; nothing of Python runs on the host.

from __future__ import annotations

DOCUMENTATION = r"""
module: install
short_description: Bring the hostlab binary or its package to a host
version_added: 0.1.0
description:
  - Copies the file that fits the host's architecture, compares its SHA-256 on both sides, and puts it in its place.
  - A deb or rpm is given to dpkg or rpm.
author:
  - The hostlab authors (@hostlab)
extends_documentation_fragment:
  - hostlab.fleet.common
  - hostlab.fleet.common.attributes
options:
  sources:
    description: A file on the controller for each architecture, as x86_64 or amd64, aarch64 or arm64.
    type: dict
    required: true
  checksums:
    description: The SHA-256 of each file, as C(SHA256SUMS) of a release has it.
    type: dict
    default: {}
  dest:
    description: Where a binary goes. A package has places of its own.
    type: path
    default: /usr/local/bin/hostlab
"""

EXAMPLES = r"""
- name: Install the binary
  hostlab.fleet.install:
    sources:
      x86_64: dist/hostlab-linux-amd64
      aarch64: dist/hostlab-linux-arm64
  become: true
"""

RETURN = r"""
msg:
  description: The version that is there.
  returned: always
  type: str
dest:
  description: Where the binary is.
  returned: for binaries
  type: str
sha256:
  description: SHA-256 of what was installed.
  returned: success
  type: str
"""
