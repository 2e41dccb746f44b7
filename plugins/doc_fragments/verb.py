# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every verb supports, and what each of them returns."""

from __future__ import annotations

RESULT = r"""
options:
  result_file:
    description:
      - File to write what the task returns to, as JSON, for the next step of a pipeline; refusals and failures too.
      - C(fleet.outcome) and C(fleet.code) in it say what the exit code of C(ansible-playbook) cannot. What an earlier
        run wrote there is taken away first, so that a run that is killed leaves none. Any other file that stands there
        is left, and refused (C(unwritable-file)).
    type: path
"""


class ModuleDocFragment:
    DOCUMENTATION = r"""
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
    details:
      - Check mode reads only; an account that may only read is enough.
  diff_mode:
    description: Returns details on what has changed, or would change, when running with C(--diff).
    support: full
  action_group:
    description: Use C(group/gitops.fleet.fleet) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - gitops.fleet.fleet
  action:
    description: Runs as an action plugin on the controller, once for all hosts of the play.
    support: full
notes:
  - Needs the Python packages C(urllib3) and C(kubernetes) on the controller where API servers are read.
"""
    DOCUMENTATION += RESULT

    INFO = r"""
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
    details:
      - This verb only reads.
  diff_mode:
    description: Returns details on what has changed, or would change, when running with C(--diff).
    support: N/A
    details:
      - This verb only reads.
  action_group:
    description: Use C(group/gitops.fleet.fleet) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - gitops.fleet.fleet
  action:
    description: Runs as an action plugin on the controller, once for all hosts of the play.
    support: full
"""
    INFO += RESULT
