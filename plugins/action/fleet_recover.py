# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ..module_utils._core.errors import FleetError
from ..module_utils._fleet.members import Clients, recorded_members
from ..module_utils._fleet.placement import UNSEALED, Asked, wanted_placements
from ..module_utils._fleet.recover import Described, recover
from ..module_utils._fleet.sources import rendered, resources_from_files, selected_from_files, selected_from_hub
from ..module_utils._kube.client import Timeouts
from ..module_utils._store.digest_key import digest_key, known_digest_key
from ..plugin_utils._place import open_place
from ..plugin_utils._verb import Answer, Run, Verb


class ActionModule(Verb):
    """Records rebuilt from the members."""

    def carry_out(self, options: dict[str, t.Any], run: Run) -> Answer:
        asked = Asked(src=tuple(options["src"] or ()))
        write = not run.check_mode
        with open_place(options, run, writes=True) as place:
            members = recorded_members(place.records)
            if not members:
                raise FleetError(
                    "no-members", "no cluster has joined the fleet", place.records.place, "join the members again first"
                )
            key = digest_key(place.records) if write else known_digest_key(place.records) or UNSEALED
            files = resources_from_files(options["resources"]) if options["resources"] else None
            described = {}
            for each in wanted_placements(place.records, place.hub, asked):
                if files is not None:
                    selected = selected_from_files(each.placement, files)
                elif place.hub:
                    selected = selected_from_hub(each.placement, place.hub)
                else:
                    raise FleetError("no-resources", "there are no resources", "resources", "give files")
                if selected.problems:
                    raise FleetError.of(selected.problems)
                described[each.placement.name] = Described(sourced=each, objects=rendered(selected, key, "recovered"))
            timeout = Timeouts(connect=options["timeout"])
            fleet = {name: member.fleet for name, member in members.items()}
            with Clients(members=fleet, hub=place.hub, timeout=timeout) as clients:
                found = recover(place.records, clients, list(members), described, key, place.holder, write)
        return Answer(
            changed=bool(found.recovered),
            data={
                "recovered": {name: list(clusters) for name, clusters in found.recovered.items()},
                "unknown": {name: list(clusters) for name, clusters in found.unknown.items()},
            },
        )
