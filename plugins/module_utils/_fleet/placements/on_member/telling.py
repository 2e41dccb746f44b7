# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a member says of an object's fields (drifts, diffs, changes), as it may be recorded and shown, without our
credentials."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...._core.foreign import in_data
from ...._core.plan.changes import FieldChange
from ...._core.plan.member import MemberStep
from ...._core.resources.comparison.compare import FieldDiff
from ...._core.resources.comparison.ownership import FieldDrift
from ...._kube.client import KubeClient


def fit_to_be_told(client: KubeClient, step: MemberStep) -> MemberStep:
    """The step, with what the member says of its fields as it may be recorded and shown, without our credentials."""

    def told(value: t.Any) -> t.Any:
        """The value as it may be told."""
        return in_data(value, client.hide)

    drifts = (
        FieldDrift(told(each.path), each.desired, told(each.live), tuple(map(told, each.managers)))
        for each in step.drifts
    )
    diffs = (FieldDiff(told(each.path), each.desired, told(each.live)) for each in step.diffs)
    changes = (FieldChange(told(each.path), told(each.old), each.new, told(each.effect)) for each in step.changes)
    if not (step.drifts or step.diffs or step.changes):
        return step
    return replace(step, drifts=tuple(drifts), diffs=tuple(diffs), changes=tuple(changes))
