# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What ``fleet_recover`` does: members, placements as manifests describe them, the objects that they select, and the
key that seals Secrets put together, then lost records rebuilt by ``recover``."""

from __future__ import annotations

import typing as t

from ...._core.errors import FleetError, Problem
from ...._core.plan.rendering import Sealing
from ...._kube.client import Timeouts
from ...._store.digest_key import digest_key, known_digest_key
from ...members.members import members_to_write, no_members, open_clients, recorded_members
from ...session import Session
from ..placement import PlacementRequest, wanted_placements
from ..sources import (
    credentials_of,
    located_problems,
    rendered,
    resources_from_files,
    selected_for,
)
from .recover import Described, Recovered, recover


def recover_records(session: Session, asked: PlacementRequest, former: t.Collection[str] = ()) -> Recovered:
    """Rebuilds the records of the placements that ``asked`` describes, without ``asked.write`` only says which;
    ``former`` as of ``recover``. FleetError ``no-members``, all problems of what the placements select, of the records,
    and as of ``members_to_write`` or ``recorded_members``, ``resources_from_files``, ``wanted_placements``,
    ``selected_for``, ``rendered`` and ``recover``."""
    members = members_to_write(session) if asked.write else recorded_members(session.records)
    if not members:
        raise no_members(session.records, "join the members again first")
    key = digest_key(session.records) if asked.write else known_digest_key(session.records)
    fleet = {name: member.fleet for name, member in members.items()}
    credentials = credentials_of(fleet.values())
    sealing = Sealing(key=key, source="recovered")
    catalog = resources_from_files(asked.resources) if asked.resources is not None else None
    described: dict[str, Described] = {}
    problems: list[Problem] = []
    for each in wanted_placements(session, asked):
        selected = selected_for(each.placement, catalog, session.hub, credentials)
        if selected.problems:
            problems += located_problems(selected.problems, each)
            continue
        described[str(each.placement.key)] = Described(sourced=each, objects=rendered(selected, sealing))
    if problems:
        raise FleetError.of(problems)
    with open_clients(session, fleet, timeout=Timeouts.connecting(asked.timeout), strict=True) as clients:
        return recover(session, clients, list(members), described, key, asked.write, former)
