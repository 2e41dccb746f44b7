# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A snapshot beside what is recorded: it is only ever what was known, so it adds no member and removes none."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...errors import Problem
from ...objects.clusters.member_cluster import MemberCluster
from .snapshot import FactsSnapshot

WHERE = "facts"


def beside(
    snapshot: FactsSnapshot, recorded: t.Mapping[str, MemberCluster]
) -> tuple[tuple[MemberCluster, ...], tuple[Problem, ...]]:
    """The members to decide on, by name, and what to tell.

    A recorded member that the snapshot does not know counts as not read: it keeps what it has and gets nothing new. One
    that only the snapshot knows gets nothing. Without any recorded member the snapshot is all there is,
    and so is what it says of placements.
    """
    known = {each.name: each for each in snapshot.members}
    if not recorded and snapshot.held is not None:
        message = (
            "no member is recorded here: what is placed is what the facts carry, as it was when they were captured"
        )
        return snapshot.members, (Problem("placed-as-in-facts", message, WHERE),)
    if not recorded:
        message = "no member is recorded here, so that nothing is known of what is placed now"
        hint = "a plan to be approved needs the records of the fleet"
        return snapshot.members, (Problem("no-members-recorded", message, WHERE, hint),)
    members = [known[name] if name in known else _unread(each) for name, each in sorted(recorded.items())]
    missing, strangers = sorted(recorded.keys() - known), sorted(known.keys() - recorded)
    found = []
    if missing:
        message = f"the facts do not know {', '.join(missing)}, which count as not read: they keep what they have"
        found.append(Problem("not-in-facts", message, WHERE, "capture the facts again"))
    if strangers:
        message = f"the facts know {', '.join(strangers)}, which are not recorded: nothing is placed there"
        found.append(Problem("not-recorded", message, WHERE, "have they left the fleet? capture the facts again"))
    return tuple(members), tuple(found)


def _unread(member: MemberCluster) -> MemberCluster:
    """Its last known facts, without the word of an agent that it is well."""
    return replace(member, status=replace(member.status, agent_status=()))
