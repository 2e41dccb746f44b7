# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a fleet holds, placements with bindings, policies and hashes of objects: from its records into a facts snapshot,
and from there into a plan without any records."""

from __future__ import annotations

import typing as t

from ..._core.cluster.facts.held import HeldContents, HeldObject, HeldPlacement, Holdings, without_content
from ..._core.objects.clusters.fleet_member import FleetMember
from ..._core.objects.identity import identify
from ..._core.objects.placements.key import PLACEMENT_KINDS, PlacementKey
from ..._core.objects.placements.snapshot_labels import RESOURCE_HASH, RESOURCE_INDEX
from ..._core.plan.changes import Earlier
from ..._core.plan.compose import RecordedState
from ..._core.resources.sealing import object_hash
from ..._store.records import Records
from .recorded import Document, RecordedPlacement, all_placements, recorded_from
from .sources import credentials_of

NOTHING = RecordedPlacement(
    document=None, bindings={}, policy_snapshots=(), resource_snapshots=(), known=RecordedState()
)


def holdings_of(records: Records, members: t.Iterable[FleetMember]) -> Holdings:
    """What the records hold of all placements, by name, also of those of which only bindings or snapshots are there,
    and the credentials of ``members``. FleetError as of ``recorded_from``, and of the records."""
    documents = {str(PlacementKey.of_record(each)): each for each in all_placements(records)}
    bindings = _by_parent(records, [each.binding for each in PLACEMENT_KINDS])
    policies = _by_parent(records, [each.policy_snapshot for each in PLACEMENT_KINDS])
    resources = _by_parent(records, [each.resource_snapshot for each in PLACEMENT_KINDS])
    placements = {}
    for name in sorted({*documents, *bindings, *policies, *resources}):
        found = recorded_from(
            documents.get(name), bindings.get(name, ()), policies.get(name, ()), resources.get(name, ()), records.place
        )
        placements[name] = _held(found)
    return Holdings(placements=placements, credentials=credentials_of(members))


def held_placement(holdings: Holdings, name: str) -> RecordedPlacement:
    """What ``recorded_placement`` would find, as far as plans read it: nothing can be written back from it. NOTHING for
    a name that is not held."""
    held = holdings.placements.get(name)
    if held is None:
        return NOTHING
    latest = held.contents[-1] if held.contents else None
    known = RecordedState(
        bindings=held.bindings,
        policy_snapshot=held.policy,
        resource_snapshot=latest.name if latest else "",
        resource_index=latest.index if latest else -1,
        resource_hash=latest.hash if latest else "",
        contents={each.name: tuple(one.id for one in each.objects) for each in held.contents},
        earlier={each.name: Earlier(hashes={one.id.key: one.hash for one in each.objects}) for each in held.contents},
    )
    document = dict(held.document) if held.document is not None else None
    return RecordedPlacement(document=document, bindings={}, policy_snapshots=(), resource_snapshots=(), known=known)


def _by_parent(records: Records, kinds: t.Iterable[str]) -> dict[str, list[Document]]:
    """The records of these kinds by the placement that they are labelled with; those without such a label are left out.
    FleetError of the records."""
    found: dict[str, list[Document]] = {}
    for each in (one for kind in kinds for one in records.list(kind)):
        parent = PlacementKey.of_parent(each)
        if parent.name:
            found.setdefault(str(parent), []).append(each)
    return found


def _held(found: RecordedPlacement) -> HeldPlacement:
    """What is held of one placement; snapshots in the order of their indices, of their objects the hash and no
    content."""
    masters = [each for each in found.resource_snapshots if each["metadata"]["name"] in found.known.contents]
    return HeldPlacement(
        document=without_content(found.document) if found.document else None,
        bindings=found.known.bindings,
        policy=found.known.policy_snapshot,
        contents=tuple(
            HeldContents(
                name=each["metadata"]["name"],
                index=int(each["metadata"]["labels"][RESOURCE_INDEX]),
                hash=each["metadata"]["annotations"][RESOURCE_HASH],
                objects=tuple(
                    HeldObject(id=identify(one), hash=object_hash(one))
                    for one in found.known.earlier[each["metadata"]["name"]].manifests
                ),
            )
            for each in masters
        ),
    )
