# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which members a plan from a facts snapshot decides on beside what is recorded, and what differs (``not-in-facts``,
``not-recorded``, ``labels-differ``, ``record-missing``, ``no-members-recorded``, ``placed-as-in-facts``)."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...errors import Problem
from ...objects.clusters.evacuation import EVACUATED, is_evacuated, with_mark
from ...objects.clusters.member_cluster import MemberCluster, Taint
from ...objects.clusters.missing_record import lacks_record, record_missing_problem, with_record_missing
from ...values.listed import listed
from .snapshot import FactsSnapshot

WHERE, TOLD = "facts", 20


def members_to_decide_on(
    snapshot: FactsSnapshot, recorded: t.Mapping[str, MemberCluster], place: str
) -> tuple[tuple[MemberCluster, ...], tuple[Problem, ...]]:
    """The members to decide on, by name, and what to tell (``placed-as-in-facts`` or ``no-members-recorded``,
    ``not-in-facts``, ``not-recorded``, ``record-missing``, ``labels-differ``, in this order), none of which is raised.

    A recorded member that the snapshot does not know, or only without its MemberCluster, counts as not read: it keeps
    what it has and gets nothing new. One whose MemberCluster is not recorded any more is marked so. One that only the
    snapshot knows is left out. Without any recorded member the snapshot's members, as they are there, are all there is;
    else which are evacuated is as recorded. ``place`` is where the records are.
    """
    known = {each.name: each for each in snapshot.members}
    if not recorded and snapshot.held is not None:
        message = (
            f"no member is recorded in {place}: what is placed is what the facts carry, as it was when they were"
            " captured"
        )
        return snapshot.members, (Problem("placed-as-in-facts", message, WHERE), *_missing_records(snapshot.members))
    if not recorded:
        message = f"no member is recorded in {place}, so that nothing is known of what is placed now"
        hint = "a plan to be approved needs the records of the fleet"
        return snapshot.members, (
            Problem("no-members-recorded", message, WHERE, hint),
            *_missing_records(snapshot.members),
        )
    strangers = sorted(known.keys() - recorded)
    known = {name: each for name, each in known.items() if not lacks_record(each) or _is_missing(recorded, name)}
    members = [
        _as_recorded(known[name], each) if name in known else _unread(each) for name, each in sorted(recorded.items())
    ]
    missing = sorted(recorded.keys() - known)
    found = []
    if missing:
        message = f"the facts do not know {', '.join(missing)}, which count as not read: they keep what they have"
        found.append(Problem("not-in-facts", message, WHERE, "capture the facts again"))
    if strangers:
        message = f"the facts know {', '.join(strangers)}, which {place} does not: nothing is placed there"
        found.append(Problem("not-recorded", message, WHERE, "have they left the fleet? capture the facts again"))
    return tuple(members), (*found, *_missing_records(members), *_other_labels(snapshot, recorded))


def _is_missing(recorded: t.Mapping[str, MemberCluster], name: str) -> bool:
    """Whether the MemberCluster of that recorded member is missing."""
    return name in recorded and lacks_record(recorded[name])


def _as_recorded(facts: MemberCluster, now: MemberCluster) -> MemberCluster:
    """The member as the facts have it, evacuated as it is recorded ``now``; with the mark of that where its
    MemberCluster is missing now."""
    found = with_mark(facts, is_evacuated(now))
    return with_record_missing(found) if lacks_record(now) else found


def _missing_records(members: t.Iterable[MemberCluster]) -> tuple[Problem, ...]:
    """A Problem ``record-missing`` for each of the members whose MemberCluster is missing, in their order."""
    return tuple(record_missing_problem(each.name) for each in members if lacks_record(each))


def _other_labels(snapshot: FactsSnapshot, recorded: t.Mapping[str, MemberCluster]) -> t.Iterator[Problem]:
    """One Problem ``labels-differ`` with the first 20 differences, or nothing. Labels and taints are what people give a
    member; those of the snapshot are as old as it is."""
    both = [each for each in snapshot.members if each.name in recorded and not _is_missing(recorded, each.name)]
    rows = [row for each in both for row in _differing(each, recorded[each.name])]
    if rows:
        message = f"the facts carry others than are recorded by now: {listed(rows, TOLD, '; ')}"
        hint = "the plan goes by the facts: capture them again"
        yield Problem("labels-differ", message, f"{WHERE} metadata.labels, spec.taints", hint)


def _differing(facts: MemberCluster, now: MemberCluster) -> t.Iterator[str]:
    """A text for each label, in order of keys, that is not the same in both, and one for the taints, but that of
    evacuation."""
    old, new = facts.metadata.labels, now.metadata.labels
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            told, known = (repr(of[key]) if key in of else "not there" for of in (old, new))
            yield f"{facts.name} metadata.labels[{key}] {told}, recorded {known}"
    old_taints, new_taints = ({each for each in of.taints if each.key != EVACUATED} for of in (facts, now))
    if old_taints != new_taints:
        told, known = (", ".join(sorted(map(_written, of))) or "none" for of in (old_taints, new_taints))
        yield f"{facts.name} spec.taints {told}, recorded {known}"


def _written(taint: Taint) -> str:
    """The taint as kubectl has it: ``key=value:effect``, or ``key:effect`` without a value."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _unread(member: MemberCluster) -> MemberCluster:
    """The member with its last known facts, without the word of any agent that it is well."""
    return replace(member, status=replace(member.status, agent_status=()))
