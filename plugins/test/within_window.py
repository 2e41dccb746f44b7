# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..plugin_utils._pure import pure

DOCUMENTATION = r"""
name: within_window
author: Contributors to the gitops.fleet project (@gitops-fleet)
version_added: 0.1.0
short_description: Whether an instant is in a window
description:
  - Knows windows with a schedule and a duration, as budgets of NodePools have them, also with C(timeZone) and C(nth);
    maintenance windows, alone or in their configuration; and a whole FleetMaintenance with its freezes.
  - The start of a window is in it, its end is not. No cluster is asked.
positional: windows, governs
options:
  _input:
    description: An instant such as V(2026-05-01T12:00:00Z), or V(now).
    type: str
    required: true
  windows:
    description: A window, or a list of them, of which one is enough.
    type: raw
    required: true
  governs:
    description: Which windows of a FleetMaintenance count.
    type: str
    choices: [kubernetes, nodeImage]
    default: kubernetes
"""

EXAMPLES = r"""
- name: Four forms of windows
  vars:
    nightly: {schedule: "0 1 * * *", duration: 4h}
    first_sunday: {schedule: "0 2 * * sun", duration: 3h, timeZone: Europe/Berlin, nth: [1]}
    weekly:
      schedule: {weekly: {intervalWeeks: 1, dayOfWeek: Saturday}}
      startTime: "22:00"
      utcOffset: "+01:00"
      durationHours: 6
    maintenance:
      apiVersion: gitops.fleet/v1alpha1
      kind: FleetMaintenance
      metadata: {name: usual}
      spec:
        windows:
          - {name: kubernetes, maintenanceWindow: "{{ weekly }}"}
        freezes:
          - {name: holidays, start: "2026-12-20", end: "2027-01-06"}
  ansible.builtin.assert:
    that:
      - "'2026-11-02T03:00:00Z' is gitops.fleet.within_window(nightly)"
      - "'2026-11-02T05:00:00Z' is not gitops.fleet.within_window(nightly)"
      - "'2026-11-01T01:30:00Z' is gitops.fleet.within_window([nightly, first_sunday])"
      - "'2026-11-07T23:00:00Z' is gitops.fleet.within_window(weekly)"
      - "'2026-11-07T23:00:00Z' is gitops.fleet.within_window(maintenance)"
      - "'2026-12-26T23:00:00Z' is not gitops.fleet.within_window(maintenance)"

- name: Do something only in the window
  vars:
    nightly: {schedule: "0 1 * * *", duration: 4h}
  ansible.builtin.debug:
    msg: It is time
  when: "'now' is gitops.fleet.within_window(nightly)"
"""

RETURN = r"""
_value:
  description: Whether it is so.
  type: bool
"""


def _within_window() -> t.Callable[..., t.Any]:
    """Imports the function that the test calls."""
    from ..module_utils._fleet.templates.windows import within_window

    return within_window


class TestModule:
    def tests(self) -> dict[str, t.Callable[..., t.Any]]:
        """The test's function by its name; its errors are as of ``pure``."""
        return {"within_window": pure(_within_window)}
