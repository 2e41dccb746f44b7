# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The digest of an update run, a hash over what it will do, so that what was approved is what is carried out; that of
its strategy."""

from __future__ import annotations

import typing as t

from ...objects.updates.run_status import NodeImageSelectionStatus
from ...objects.updates.strategy import UpdateRunStrategy
from ...objects.updates.update_run import CONSISTENT, UpdateRunSpec
from ...schema.codec import encode
from ...values.canonical import digest_of
from ..run import (
    GateRow,
    GroupRow,
    StageRow,
    WaitRow,
)

FORM = "2"
"""The present form of a run's digest. The first, which has no name, did not cover the profile."""


def run_digest(
    spec: UpdateRunSpec, stages: t.Sequence[StageRow], fixed: NodeImageSelectionStatus | None = None, form: str = FORM
) -> str:
    """``sha256:`` and the hash over target, kind of upgrade, node images, how pools are upgraded, long-term support,
    whether several minors are gone one by one, the profile that made the run (such a run leaves members out that would
    fail in others), and the sequence: names of stages and groups, limits, gates, waits and members. ``fixed`` are
    images that were chosen for the run: those of selection Consistent count, for they follow from catalogues and not
    from the spec. An empty ``form`` is the first one, which leaves the profile out.

    Not covered: states, times, ids, the names of strategy and run, which run it repeats, what is done about conflicts,
    and how long a member that does not answer is waited for.
    """
    update = spec.managed_cluster_update
    images = update.node_image_selection
    chosen = fixed.selected_node_image_versions if fixed and spec.image_selection == CONSISTENT else ()
    return "sha256:" + digest_of(
        {
            "type": update.upgrade.type,
            "version": update.upgrade.kubernetes_version.removeprefix("v"),
            "images": spec.image_selection,
            "imageVersions": sorted(each.version for each in images.custom_node_image_versions) if images else [],
            **({"chosenImages": sorted(each.version for each in chosen)} if chosen else {}),
            "stages": [_stage(each) for each in stages],
            **({"nodePools": encode(spec.node_pools)} if spec.node_pools else {}),
            **({"longTermSupport": True} if spec.long_term_support else {}),
            **({"chain": True} if update.upgrade.chain else {}),
            **({"profile": spec.auto_upgrade_profile_id} if form and spec.auto_upgrade_profile_id else {}),
        }
    )


def strategy_digest(strategy: UpdateRunStrategy | None) -> str:
    """``sha256:`` and the hash over all of an update strategy; empty for None."""
    return "sha256:" + digest_of(encode(strategy)) if strategy else ""


def _stage(row: StageRow) -> dict[str, t.Any]:
    """What the digest covers of a stage."""
    return {**_common(row), "groups": [_group(each) for each in row.groups], "wait": _seconds(row.wait)}


def _group(row: GroupRow) -> dict[str, t.Any]:
    """What the digest covers of a group."""
    return {**_common(row), "members": [member.name for member in row.members]}


def _common(row: StageRow | GroupRow) -> dict[str, t.Any]:
    """What the digest covers of stages and groups alike: name, limits, gates."""
    return {
        "name": row.name,
        "maxConcurrency": row.max_concurrency,
        "maxAllowedFailures": row.max_allowed_failures,
        "before": [_gate(each) for each in row.before_gates],
        "after": [_gate(each) for each in row.after_gates],
    }


def _gate(row: GateRow) -> list[str]:
    """Its name alone for a gate of a person; one of the clock also says when."""
    when = row.schedule
    return [row.name, *((when.day, when.time, when.utc_offset) if when else ())]


def _seconds(wait: WaitRow | None) -> int:
    """How long the wait lasts; 0 without one."""
    return wait.seconds if wait else 0
