# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``pulumi up`` makes: a hub, its members, definitions, rights and placements; one output for Ansible."""

from __future__ import annotations

import pulumi

from fleet_pulumi.collection import make_importable

make_importable()

from fleet_pulumi.fleet import make_fleet  # noqa: E402  # its imports come from the collection
from fleet_pulumi.stack import settings  # noqa: E402

pulumi.export("fleet_inventory", make_fleet(settings()))
