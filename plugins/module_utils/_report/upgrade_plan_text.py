# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an upgrade would do to each member, as text: versions and node images of control planes and pools, and why; who
is skipped, fails or has no maintenance window."""

from __future__ import annotations

import typing as t

from .._core.objects.updates.update_run import CONTROL_PLANE_ONLY
from .._core.updates.releases.targets import (
    CONTROL_PLANE,
    UpgradeStep,
    UpgradeTarget,
    UpgradeWork,
)
from .._core.updates.run import MemberBlocker
from .._core.values.listed import listed
from .text import folded, table

SHOWN = 40
Row = tuple[str, str, str, str]


def upgrade_plan_text(
    target: UpgradeTarget,
    works: t.Mapping[str, UpgradeWork],
    without_window: t.Collection[str] = (),
    stops_unattended_updates: t.Collection[str] = (),
) -> list[str]:
    """The goal, then a table, by member: a row for each control plane and pool that changes, for each reason why
    something stays or waits, and one for a member that is skipped or fails. A reason without a change stands at the
    first member that has it; others name that member.

    Below, a note where all are skipped or fail; of those that change a warning on members in ``without_window`` where a
    profile made the run, and a note on those whose driver ``stops_unattended_updates`` of the operating system.
    """
    goal = f"{target.type} to {target.version or 'newer node images'}"
    images = "" if target.type == CONTROL_PLANE_ONLY else f", images: {target.selection}"
    rows = _once(row for name in sorted(works) for row in _rows(name, works[name]))
    lines = [f"{goal}{images}", *table(("MEMBER", "WHAT", "BECOMES", "WHY"), rows)]
    moved = {name for name, each in works.items() if each.steps and not (each.skip or each.fail)}
    if works and all(each.skip or each.fail for each in works.values()):
        lines += folded(f"note: no cluster would be upgraded; skipped or failed would be {len(works)}", "  ")
    if target.automatic and (found := sorted(moved & set(without_window))):
        text = f"warning: no maintenance window, upgraded at once when the run reaches them: {listed(found, SHOWN)}"
        lines += folded(text, "  ")
    if found := sorted(moved & set(stops_unattended_updates)):
        text = f"note: unattended updates of the operating system are switched off on: {listed(found, SHOWN)}"
        lines += folded(text, "  ")
    return lines


def _rows(member: str, work: UpgradeWork) -> t.Iterator[Row]:
    """The rows of one member: that it fails or is skipped, alone; else what its steps change, what stays, what it waits
    for. No row if there is nothing of these."""
    if work.skip or work.fail:
        verdict = work.fail or work.skip
        yield member, "", "fails" if work.fail else "is skipped", _told(verdict)
        return
    for step in work.steps:
        yield member, _subject(step), _becomes(step), step.why
    for words in work.left_out:
        yield member, "", "stays", words
    for each in work.obstacles:
        yield member, "", "waits", _told(each)


def _once(rows: t.Iterable[Row]) -> list[Row]:
    """The rows; of those that change nothing and have a reason, each reason stands once: later ones, of other members,
    name the first member in its place."""
    first: dict[tuple[str, str], str] = {}
    found = []
    for member, what, word, why in rows:
        before = first.setdefault((word, why), member) if why and not what else member
        found.append((member, what, word, why if before == member else f"as {before}"))
    return found


def _subject(step: UpgradeStep) -> str:
    """``control plane``, or ``pool`` and its name."""
    return "control plane" if step.what == CONTROL_PLANE else f"pool {step.pool}"


def _becomes(step: UpgradeStep) -> str:
    """The step's version and image (each ``old -> new``, or the new one alone) and that the pool leaves its snapshot,
    as far as there are such, parted by commas."""
    snapshot = "leaves its snapshot" if step.drops_snapshot else ""
    version = _moved(step.from_version, step.version)
    image = f"image {_moved(step.before, step.image)}" if step.image else ""
    return ", ".join(filter(None, (version, image, snapshot)))


def _moved(old: str, new: str) -> str:
    """``old -> new``, or the new one alone where the old one is not known; empty where nothing comes."""
    return " -> ".join(filter(None, (old, new))) if new else ""


def _told(obstacle: MemberBlocker | None) -> str:
    """``reason: message``, or the one that is not empty; empty for None."""
    return "" if obstacle is None else ": ".join(filter(None, (obstacle.reason, obstacle.message)))
