# Copyright: The hostlab authors
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0), which the GNU General Public License
# version 3 is compatible with.

# The action plugin of this name does the work; nothing of Python runs on the host.

from __future__ import annotations

DOCUMENTATION = r"""
module: experiment
short_description: Start an experiment on a host, look how far it is, resume it
version_added: 0.1.0
description:
  - Runs C(hostlab run) in the background of the host, so that it outlives the connection.
  - The role hostlab.fleet.experiment waits for its end, and reboots where a factor needs that.
author:
  - The hostlab authors (@hostlab)
extends_documentation_fragment:
  - hostlab.fleet.common
  - hostlab.fleet.common.spool
  - hostlab.fleet.common.attributes
options:
  state:
    description:
      - V(started) starts the experiment of O(study), or resumes the one in O(out) that has stopped or waits.
      - V(read) says how far it is. When it is done, its report goes to the spool.
      - V(rebooted) reboots the host and waits until it is back.
    type: str
    choices: [started, read, rebooted]
    default: read
  out:
    description: Directory on the host for the record.
    type: path
    required: true
  study:
    description: A built-in study, or a file of the controller whose name ends with C(.toml).
    type: str
  set:
    description: Keys of the study to override, as V(workload.service).
    type: dict
    default: {}
  reboot_command:
    description: What reboots the host.
    type: str
    default: systemctl reboot || shutdown -r now
  reboot_timeout:
    description: How many seconds to wait for the host.
    type: int
    default: 900
"""

EXAMPLES = r"""
- name: Start an experiment
  hostlab.fleet.experiment:
    state: started
    study: gzip-level
    out: /var/lib/hostlab-experiments/gzip
  become: true
"""

RETURN = r"""
msg:
  description: The last lines that hostlab has printed.
  returned: always
  type: str
state:
  description: How far it is, one of none, running, waiting, stopped and done.
  returned: success
  type: str
reboot_needed:
  description: Whether it only waits for a reboot.
  returned: success
  type: bool
effects:
  description: Verdicts, when it is done.
  returned: when it is done
  type: list
  elements: str
exit_status:
  description: Of C(hostlab report), 0 no effect, 10 an effect, 11 undecided.
  returned: when it is done
  type: int
document:
  description: The whole report on the controller.
  returned: when it is done
  type: str
sha256:
  description: SHA-256 of the report.
  returned: when it is done
  type: str
"""
