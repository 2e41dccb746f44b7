# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a placement's parent (ApplySet) on a member says that is held there, its inventory: before steps are carried
out, and after them; whether these are its author's ``originals``."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...._core.plan.member import NOT_GONE, REFUSED, MemberStep
from ...._core.plan.outcome import APPLY_FAILED, ObjectFailure
from ...._core.resources.applyset import ApplySet, InventoryEntry
from .observe import Observed


def identity_with(asked: ApplySet, observed: Observed) -> ApplySet:
    """The ApplySet as ``asked`` for, with ``originals`` also where the recorded one has it: what was put on its
    author's own objects once is not deleted later."""
    return replace(asked, originals=asked.originals or bool(observed.recorded and observed.recorded.originals))


def inventory_intended(observed: Observed, to_do: t.Sequence[MemberStep]) -> tuple[InventoryEntry, ...]:
    """What was held, with the recorded hash, and what is about to be written anew, with an empty hash until it is;
    sorted."""
    held = {each.id.key: each for each in (observed.recorded.inventory if observed.recorded else ())}
    for step in to_do:
        if step.manifest is not None and step.id.key not in held:
            held[step.id.key] = InventoryEntry(id=step.id, hash="")
    return tuple(sorted(held.values()))


def inventory_after(
    observed: Observed, steps: t.Sequence[MemberStep], failures: t.Sequence[ObjectFailure]
) -> tuple[InventoryEntry, ...]:
    """What is held once the steps are done, sorted: failures keep what was recorded, or an entry without a hash;
    refused objects what was recorded, if anything. What is removed is not in it."""
    before = {each.id.key: each for each in (observed.recorded.inventory if observed.recorded else ())}
    failed = {each.id for each in failures if each.reason in (APPLY_FAILED, NOT_GONE)}
    held: list[InventoryEntry] = []
    for step in steps:
        old = before.get(step.id.key)
        if step.id in failed:
            held.append(old or InventoryEntry(id=step.id, hash=""))
        elif step.action == REFUSED:
            held += [old] if old else []
        elif step.manifest is not None:
            held.append(InventoryEntry(id=step.id, hash=step.hash))
    return tuple(sorted(held))
