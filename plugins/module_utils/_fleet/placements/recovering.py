# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The way of a recovery: what the manifests describe, and what the members hold."""

from __future__ import annotations

from ..._core.errors import FleetError
from ..._core.resources.selection import Selected
from ..._kube.client import Timeouts
from ..._store.digest_key import digest_key, known_digest_key
from ..members.member_lease import MemberLeases
from ..members.members import Clients, members_to_write, recorded_members
from ..session import Place
from .placement import Asked, wanted_placements
from .recover import Described, Recovered, recover
from .sources import (
    Sourced,
    credentials_of,
    rendered,
    resources_from_files,
    selected_from_files,
    selected_from_hub,
)


def recover_records(place: Place, asked: Asked) -> Recovered:
    """Rebuilds the records of the placements that ``asked`` describes; without ``write`` it only says which."""
    members = members_to_write(place.records, place.hub) if asked.write else recorded_members(place.records)
    if not members:
        hint = "join the members again first"
        raise FleetError("no-members", "no cluster has joined the fleet", place.records.place, hint)
    key = digest_key(place.records) if asked.write else known_digest_key(place.records)
    fleet = {name: member.fleet for name, member in members.items()}
    credentials = credentials_of(fleet.values())
    described = {}
    for each in wanted_placements(place.records, place.hub, asked):
        selected = _selected(each, place, asked, credentials)
        if selected.problems:
            raise FleetError.of(selected.problems)
        described[each.placement.name] = Described(sourced=each, objects=rendered(selected, key, "recovered"))
    leases, timeout = MemberLeases(place.records, place.holder), Timeouts(connect=asked.timeout)
    with Clients(members=fleet, hub=place.hub, timeout=timeout, strict=True, leases=leases) as clients:
        return recover(place.records, clients, list(members), described, key, place.holder, asked.write)


def _selected(sourced: Sourced, place: Place, asked: Asked, credentials: frozenset[tuple[str, str]]) -> Selected:
    if asked.resources is not None:
        return selected_from_files(sourced.placement, resources_from_files(asked.resources), credentials)
    if place.hub is None:
        raise FleetError("no-resources", "there are no resources to select from", "resources", "give files")
    return selected_from_hub(sourced.placement, place.hub, credentials)
