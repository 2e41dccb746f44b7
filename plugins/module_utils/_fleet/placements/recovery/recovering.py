# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The way of a recovery: what the manifests describe, and what the members hold."""

from __future__ import annotations

import typing as t

from ...._core.errors import FleetError
from ...._core.plan.rendering import Sealing
from ...._core.resources.selection import Selected
from ...._kube.client import Timeouts
from ...._store.digest_key import digest_key, known_digest_key
from ...members.members import members_to_write, open_clients, recorded_members
from ...session import Session
from ..placement import PlacementRequest, wanted_placements
from ..sources import (
    LoadedPlacement,
    credentials_of,
    rendered,
    resources_from_files,
    selected_from_files,
    selected_from_hub,
)
from .recover import Described, Recovered, recover


def recover_records(session: Session, asked: PlacementRequest, former: t.Collection[str] = ()) -> Recovered:
    """Rebuilds the records of the placements that ``asked`` describes; without ``write`` it only says which. ``former``
    are uids that placements had in records which are given up. FleetError ``no-members``, and as of ``recover``."""
    members = members_to_write(session) if asked.write else recorded_members(session.records)
    if not members:
        hint = "join the members again first"
        raise FleetError("no-members", "no cluster has joined the fleet", session.records.place, hint)
    key = digest_key(session.records) if asked.write else known_digest_key(session.records)
    fleet = {name: member.fleet for name, member in members.items()}
    credentials = credentials_of(fleet.values())
    sealing = Sealing(key=key, source="recovered")
    described = {}
    for each in wanted_placements(session, asked):
        selected = _selected(each, session, asked, credentials)
        if selected.problems:
            raise FleetError.of(selected.problems)
        described[str(each.placement.key)] = Described(sourced=each, objects=rendered(selected, sealing))
    with open_clients(session, fleet, timeout=Timeouts(connect=asked.timeout), strict=True) as clients:
        return recover(session, clients, list(members), described, key, asked.write, former)


def _selected(
    sourced: LoadedPlacement, session: Session, asked: PlacementRequest, credentials: frozenset[tuple[str, str]]
) -> Selected:
    if asked.resources is not None:
        return selected_from_files(sourced.placement, resources_from_files(asked.resources), credentials)
    if session.hub is None:
        raise FleetError("no-resources", "there are no resources to select from", "resources", "give files")
    return selected_from_hub(sourced.placement, session.hub, credentials)
