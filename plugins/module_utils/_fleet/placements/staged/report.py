# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Options of a staged update run (StagedOptions) and its report: state, open approvals, what is missing on clusters,
verdict (``run-failed``, ``stuck``, ``awaiting-approval``), as results have it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ...._core.errors import Problem
from ...._core.objects.staged.update_run import ClusterStagedUpdateRun
from ...._core.plan.brakes import BrakeLimits
from ...._core.plan.document import PlacementPlan
from ...._core.plan.outcome import MemberOutcome
from ...._core.rollout.staged.standing import (
    FAILED,
    STOPPED,
    STUCK,
    SUCCEEDED,
    RunStanding,
    message_for_people,
    message_of,
    state_of,
)
from ...._core.schema.codec import encode
from ...._core.updates.terms import Terms
from ...._core.values.instants import write_time
from ..look import ApplyOptions
from ..rollout_words import missing
from .approvals import open_requests


@dataclass(frozen=True, kw_only=True)
class StagedOptions:
    """``approved`` is the digest of the run that was looked at, empty for none; ``terms`` is what approvals of its
    stages have to be; ``timeout`` is seconds to connect."""

    ways: ApplyOptions = ApplyOptions()
    limits: BrakeLimits = BrakeLimits()
    approved: str = ""
    terms: Terms = Terms()
    timeout: float = 5.0


@dataclass(frozen=True, kw_only=True)
class StagedReport:
    """A run as it stands, or would. ``plan`` is None for one that could not be laid out, ``digest`` empty until it is.
    ``why`` is as of ``conductor.loop.Ending``, empty where nothing was carried on; ``resume_at`` is when it goes on, if
    known. ``lines`` say who waits for what. ``changed``: its record or a cluster is another by this, or would be;
    ``problems`` are what failed on clusters, or brakes that would stop it, ``notes`` what stops nothing. ``before`` is
    as of ``index_before``, ``newer`` as of ``newer_run``."""

    run: ClusterStagedUpdateRun
    digest: str
    plan: PlacementPlan | None
    changed: bool
    outcomes: t.Mapping[str, MemberOutcome] = field(default_factory=dict)
    why: str = ""
    resume_at: datetime | None = None
    lines: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    before: str = ""
    newer: RunStanding | None = None

    @property
    def state(self) -> str:
        """Where it stands, in one word of ``state_of``."""
        return state_of(self.run)

    @property
    def lacks(self) -> dict[str, str]:
        """What is missing on clusters of which that is known, by name."""
        told = {name: missing(outcome) for name, outcome in self.outcomes.items()}
        return {name: words for name, words in told.items() if words}

    @property
    def is_late(self) -> bool:
        """Whether something is missing on a cluster (``lacks``) or the run is stuck."""
        return bool(self.lacks) or self.state == STUCK

    @property
    def resumes(self) -> str:
        """``resume_at`` in RFC 3339, empty if there is none."""
        return write_time(self.resume_at) if self.resume_at else ""

    def as_dict(self) -> dict[str, t.Any]:
        """The report as results have it: ``waits`` are the lines, ``approvals`` those that are open, ``status`` as in a
        manifest, ``members`` outcomes by name."""
        return {
            "name": str(self.run.key),
            "state": self.state,
            "digest": self.digest,
            "waits": list(self.lines),
            "approvals": [
                {"name": each.name, "stage": each.stage, "timing": each.timing} for each in open_requests(self.run)
            ],
            "status": encode(self.run.status),
            "members": {name: each.as_dict() for name, each in self.outcomes.items()},
            "problems": [each.as_dict() for each in self.problems],
            "notes": [each.as_dict() for each in self.notes],
        }

    @property
    def verdict(self) -> tuple[str, str, str]:
        """Outcome (``done``, ``partial``, ``failed``, ``waiting``), code and message, both empty for one that is done.
        Codes are ``run-failed``, that of the first problem, or of one that waits ``stopped``, ``time-limit``,
        ``interrupted``, ``stuck``, ``awaiting-approval``, ``waiting``. The first that fits counts: done whatever the
        problems, failed, problems, a wait."""
        if self.state == SUCCEEDED:
            return "done", "", ""
        if self.state == FAILED:
            return "failed", "run-failed", message_of(self.run)
        if self.problems:
            return "partial", self.problems[0].code, "\n".join(map(str, self.problems))
        if self.state == STOPPED:
            return "waiting", "stopped", "it has stopped; state started takes it up again"
        if self.why not in ("", "waiting", "settled"):
            code = "time-limit" if self.why == "time-limit" else "interrupted"
            return "waiting", code, f"{self.why}; carry it on again to go on"
        if self.state == STUCK:
            return "waiting", "stuck", "\n".join((message_for_people(self.run), *self.lines))
        code = "awaiting-approval" if open_requests(self.run) else "waiting"
        return "waiting", code, "\n".join(self.lines) or message_of(self.run)
