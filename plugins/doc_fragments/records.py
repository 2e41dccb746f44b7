# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where records are kept: the same options for every verb that reads or writes them."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  records:
    description:
      - Where status, bindings, snapshots, leases and the journal are kept.
      - The default is one file in the current folder.
    type: dict
    default: {}
    suboptions:
      type:
        description:
          - V(sqlite) keeps them in one file on a persistent disk.
          - V(hub) keeps them as custom resources in any API server that the runner may write to.
        type: str
        choices: [sqlite, hub]
        default: sqlite
      path:
        description: File of the V(sqlite) records, or a copy of records (O(gitops.fleet.fleet_info#module:write_copy)).
        type: path
        default: .gitops-fleet/records.db
      durable:
        description:
          - Says that the file of the V(sqlite) records outlives the runner.
          - Needed under C(CI), where verbs that write refuse otherwise with the code C(no-durable-records).
        type: bool
        default: false
      kubeconfig:
        description: Kubeconfig file of the V(hub); as C(kubectl) finds it if absent.
        type: path
      context:
        description: Context in that file, its current context if absent.
        type: str
  holder:
    description: Name under which leases are taken, for messages. The default is user, host and process.
    type: str
"""
