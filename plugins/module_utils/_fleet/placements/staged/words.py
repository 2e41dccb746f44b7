# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of a staged update run: where it stands, who waits for what (``waits for an approval``), and news of its
stages and clusters for people and for its journal."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ...._core.machine import HeldBack
from ...._core.objects.staged.strategy import TIMED_WAIT
from ...._core.objects.staged.update_run import (
    DELETE_STAGE,
    ClusterStagedUpdateRun,
    StageUpdatingStatus,
)
from ...._core.plan.outcome import MemberOutcome
from ...._core.rollout.conditions import FALSE
from ...._core.rollout.staged.decide import StagedState, acts_in_flight
from ...._core.rollout.staged.standing import FAILED, SUCCEEDED, cluster_state, message_of, progress_of, state_of
from ...._core.schema.meta import Condition, find_condition
from ...._core.values.instants import write_time
from ...._core.values.listed import listed
from ..rollout_words import NAMED, lacking
from .approvals import BEFORE, open_requests, requests_of

LEAVING = "the clusters that leave"


def stage_title(stage: StageUpdatingStatus) -> str:
    """The stage, as people are told of it: ``stage prod``, or LEAVING for the one that deletes."""
    return LEAVING if stage.stage_name == DELETE_STAGE else f"stage {stage.stage_name}"


def run_lines(
    run: ClusterStagedUpdateRun,
    waits: t.Iterable[HeldBack],
    outcomes: t.Mapping[str, MemberOutcome],
    ends: datetime | None = None,
) -> list[str]:
    """Who waits for whom and what, now: for clusters in flight (NAMED of a stage), for approvals, for a wait after a
    stage, which is over at ``ends`` (None where none counts), then others that are held back; nothing of a run that has
    ended."""
    state = StagedState(run=run)
    if state_of(run) in (SUCCEEDED, FAILED):
        return []
    lines: list[str] = []
    flying: dict[str, list[str]] = {}
    for each in acts_in_flight(state):
        flying.setdefault(each.stage, []).append(each.cluster)
    for stage, names in flying.items():
        title = LEAVING if stage == DELETE_STAGE else f"stage {stage}"
        whom = listed([lacking(name, outcomes.get(name)) for name in names], NAMED, "; ")
        verb = "wait" if stage == DELETE_STAGE else "waits"
        lines.append(f"{title} {verb} for {whom}")
    lines += [
        f"stage {asked.stage} waits for an approval{'' if asked.timing == BEFORE else ' after it'}"
        for asked in open_requests(run)
    ]
    lines += [
        f"stage {stage.stage_name} waits until {write_time(ends)}"
        for stage in run.status.stages_status
        if ends is not None and _wait_has_begun(stage)
    ]
    told = {name for names in flying.values() for name in names}
    for wait in waits:
        if wait.name not in told:
            lines.append(f"{wait.name or run.key} waits: {'; '.join(one.text for one in wait.blockers)}")
    return lines


def _wait_has_begun(stage: StageUpdatingStatus) -> bool:
    """Whether a wait after the stage has begun and is not over."""
    found = (find_condition(task.conditions, "WaitTimeElapsed") for task in stage.after_stage_task_status)
    tasks = [task.type for task in stage.after_stage_task_status]
    return TIMED_WAIT in tasks and any(each is not None and each.status == FALSE for each in found)


def _untold(name: str) -> None:
    """Tells nobody: does nothing."""


@dataclass
class StagedTelling:
    """Tells people what begins and ends, and who waits for what (``lines``), as long as that is news. ``say`` takes a
    line for people, ``event`` one for the run's journal: its reason and a sentence. ``approved`` takes the name of a
    request whose approval was taken, before anything of it is told: once, and again where it raised. ``stays`` is said
    once, after what is waited for."""

    name: str
    say: t.Callable[[str], None]
    lines: t.Callable[[], list[str]]
    event: t.Callable[[str, str], None]
    approved: t.Callable[[str], None] = _untold
    stays: str = ""
    _approvals: set[str] = field(default_factory=set)
    _clusters: dict[tuple[str, str], str] = field(default_factory=dict)
    _stages: dict[str, str] = field(default_factory=dict)
    _told: tuple[str, ...] = ()
    _reason: str = ""

    def begin(self, state: StagedState, now: datetime) -> None:
        """Notes where stages and clusters stand, which is no news later; tells nothing."""
        for stage in _stages(state.run):
            self._stages[stage.stage_name] = _reason(stage.conditions)
            for each in stage.clusters:
                self._clusters[stage.stage_name, each.cluster_name] = cluster_state(each.conditions)
        self._approvals = {each.name for each in requests_of(state.run) if each.accepted}
        self._reason = _reason(state.run.status.conditions)

    def stored(self, state: StagedState, now: datetime) -> None:
        """Tells which clusters have begun or ended since, after what was approved for it; for stages and the run lines
        go to the journal. What ``approved`` raises is raised."""
        for asked in requests_of(state.run):
            if asked.accepted and asked.name not in self._approvals:
                self.approved(asked.name)
                self._approvals.add(asked.name)
        for stage in _stages(state.run):
            news: dict[str, list[str]] = {}
            for each in stage.clusters:
                key, word = (stage.stage_name, each.cluster_name), cluster_state(each.conditions)
                if self._clusters.get(key, "") != word:
                    self._clusters[key] = word
                    news.setdefault(word, []).append(each.cluster_name)
            for word, names in news.items():
                if word:
                    self.say(f"{self.name}: {stage_title(stage)}: {listed(names, NAMED)} {word}")
            found = progress_of(stage.conditions)
            if found is not None and self._stages.get(stage.stage_name, "") != found.reason:
                self._stages[stage.stage_name] = found.reason
                self.event(found.reason, f"{stage_title(stage)}: {found.message}")
        reason = _reason(state.run.status.conditions)
        if reason != self._reason:
            self._reason = reason
            self.event(reason, message_of(state.run))

    def waiting(self, state: StagedState, until: datetime | None, now: datetime) -> None:
        """As ``end``; then, the first time that something waits, says ``stays``."""
        self._tell_waits()
        if self._told and self.stays:
            self.say(f"{self.name}: {self.stays}")
            self.stays = ""

    def end(self, state: StagedState, why: str, now: datetime) -> None:
        """Says what still waits then, if that is other than what was said last."""
        self._tell_waits()

    def _tell_waits(self) -> None:
        """Says who waits for whom, all lines of it, if that is other than what was said last."""
        lines = tuple(self.lines())
        if lines != self._told:
            self._told = lines
            for line in lines:
                self.say(f"{self.name}: {line}")


def _stages(run: ClusterStagedUpdateRun) -> tuple[StageUpdatingStatus, ...]:
    """The run's stages in order, the one that deletes last."""
    deletion = run.status.deletion_stage_status
    return (*run.status.stages_status, *((deletion,) if deletion else ()))


def _reason(conditions: tuple[Condition, ...]) -> str:
    """Why it stands where it does, in one word; empty before it has begun."""
    found = progress_of(conditions)
    return found.reason if found else ""
