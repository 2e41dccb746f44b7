# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._fleet.session import open_place
from ..plugin_utils._verb import Answer, Run, Verb

KINDS = {"members": "FleetMember", "clusters": "MemberCluster", "placements": "ClusterResourcePlacement"}


class ActionModule(Verb):
    """What the records hold; no member is asked."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        with open_place(options, run.environ, run.now, writes=False) as place:
            data: dict[str, t.Any] = {key: list(place.records.list(kind)) for key, kind in KINDS.items()}
            data["leases"] = [
                {"name": each.name, "holder": each.holder, "epoch": each.epoch, "expired": each.expired(run.now)}
                for each in place.records.leases()
            ]
            data["place"] = place.records.place
        return Answer(changed=False, data=data)
