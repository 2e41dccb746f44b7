# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Evidence of what is done to rotations of nodes: begun, conducted, stopped, deleted."""

from __future__ import annotations

from ..._core.disruption.rotation.decide import acts_in_flight
from ..._core.disruption.rotation.input import cluster_in_name
from ..._core.disruption.rotation.state import GIVEN_UP, ROTATED, RotationState
from ..._core.objects.audit.audit_entry import DONE, FAILED, PARTIAL, ROTATION_CONDUCTED, ROTATION_DELETED
from ..._core.objects.clusters.node_rotation import NodeRotation
from ..nodes.rotation_words import RotationTelling
from ..nodes.sources import KIND
from ..session import Session
from .conducting import AttestedTelling
from .evidence import Deed, Testimony, testify


def testify_command(session: Session, action: str, name: str, *, changed: bool) -> bool:
    """Gives ``changed`` back; where it is true, writes the entry that ``action`` was done to the rotation."""
    if changed:
        testify(session, Deed(action=action, kind=KIND, name=name))
    return changed


def testify_deletion(session: Session, name: str, *, gone: bool, write: bool) -> bool:
    """Gives ``gone`` back; where it is true, and this was to ``write``, writes the entry that the rotation was
    deleted."""
    return testify_command(session, ROTATION_DELETED, name, changed=gone) if write else gone


def attested_telling(
    session: Session, telling: RotationTelling, rotation: NodeRotation
) -> AttestedTelling[RotationState]:
    """What the conductor of the rotation tells, with evidence of it as soon as a node begins, or once the rotation has
    settled, if that has changed anything."""
    testimony = Testimony(session, Deed(action=ROTATION_CONDUCTED, kind=KIND, name=rotation.name))
    return AttestedTelling(telling, testimony, acts_in_flight, _members, _outcome)


def _members(state: RotationState) -> list[str]:
    """Clusters with nodes that have not ended, by name."""
    return sorted({cluster_in_name(each.name) for each in state.nodes if not each.ended})


def _outcome(state: RotationState) -> tuple[str, str]:
    """DONE if every node was rotated; else PARTIAL if some were, FAILED if some were given up, and DONE otherwise; and
    how many nodes are in which phase."""
    counts = ", ".join(f"{number} {phase}" for phase, number in state.counts.items())
    if all(each.phase == ROTATED for each in state.nodes):
        return DONE, counts
    return (PARTIAL if state.count(ROTATED) else FAILED if state.count(GIVEN_UP) else DONE), counts
