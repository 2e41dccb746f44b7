# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Gates of an update run as people name them: by stage and timing where that can mean no other gate of the run."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass

from ..._core.objects.updates.run_status import UpdateGroupStatus, UpdateRunGateStatus, UpdateStageStatus
from ..._core.objects.updates.update_run import UpdateRun


@dataclass(frozen=True, kw_only=True)
class NamedGate:
    """A gate and where it stands; ``group`` is empty for a stage's own, ``timing`` is Before or After. ``alone``: no
    other gate of the run is meant by these."""

    gate: UpdateRunGateStatus
    stage: str
    group: str
    timing: str
    alone: bool

    @property
    def place(self) -> str:
        """Such as ``canary/eu``, or ``canary`` for a stage's own gate."""
        return "/".join(filter(None, (self.stage, self.group)))

    @property
    def variables(self) -> dict[str, str]:
        """What playbook ``approve`` finds it by: ``stage``, ``group`` if it has one, and ``timing``; if it is not
        ``alone``, ``gate``, its id."""
        if not self.alone:
            return {"gate": self.gate.gate_id}
        return {"stage": self.stage, **({"group": self.group} if self.group else {}), "timing": self.timing}


def named_gates(run: UpdateRun) -> tuple[NamedGate, ...]:
    """All gates of the run, stage by stage: those before the stage and after it, then those before and after each of
    its groups."""
    found = [
        (stage.name, group, timing, gate)
        for stage in run.status.stages
        for group, owner in _owners(stage)
        for timing, gates in (("Before", owner.before_gates), ("After", owner.after_gates))
        for gate in gates
    ]
    # A stage without a group means the gates of its groups, too.
    by_stage = Counter((stage, timing) for stage, _group, timing, _gate in found)
    by_group = Counter((stage, group, timing) for stage, group, timing, _gate in found)
    return tuple(
        NamedGate(
            gate=gate,
            stage=stage,
            group=group,
            timing=timing,
            alone=(by_group[stage, group, timing] if group else by_stage[stage, timing]) == 1,
        )
        for stage, group, timing, gate in found
    )


def _owners(stage: UpdateStageStatus) -> t.Iterator[tuple[str, UpdateStageStatus | UpdateGroupStatus]]:
    """Who has gates in the stage, with the name of the group: the stage itself, with an empty one, then its groups."""
    yield "", stage
    yield from ((group.name, group) for group in stage.groups)
