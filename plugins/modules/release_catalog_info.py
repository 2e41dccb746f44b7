#!/usr/bin/python
# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation and options of the verb; the action plugin of the same name does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: release_catalog_info
short_description: Show which versions and images are offered where, and which are supported
version_added: 0.1.0
description:
  - Returns the recorded release catalogues; for each its provider's support window, and by location the newest patch of
    each minor, what is still to come, and the newest image of each family. Asks nobody.
author:
  - Contributors to the gitops.fleet project (@gitops-fleet)
extends_documentation_fragment:
  - gitops.fleet.verb.info
  - gitops.fleet.records
options:
  names:
    description: Only these catalogues.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: See what can be had
  gitops.fleet.release_catalog_info:
  register: release_catalogues
"""

RETURN = r"""
catalogues:
  description:
    - Each with C(name), C(provider), C(source), C(supported) (C(oldest) and C(newest) minor) and C(locations), each
      with C(location), C(newest) (patch by minor), C(coming), C(images) (version by family) and the number of
      C(versions).
  returned: success
  type: list
  elements: dict
table:
  description: The same as lines of text.
  returned: success
  type: list
  elements: str
"""
