# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What became of a plan on one member: which objects were written, failed, drifted, were not removed, whether all was
applied or the member did not answer; as data (``steps``, ``failures``, ``error``, ``written``, ``doubtful``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..cluster.silence import SILENT
from ..errors import Problem
from ..objects.identity import ObjectId
from .member import (
    DIFFERS,
    PRUNE,
    REFUSED,
    RELEASE,
    UNCHANGED,
    MemberStep,
)

APPLY_FAILED = "ManifestApplyFailed"


@dataclass(frozen=True, kw_only=True)
class ObjectFailure:
    """One object that was refused, could not be written (or would not be, by a dry run), or is not gone; ``reason`` is
    upstream's manifest reason, or ours."""

    id: ObjectId
    reason: str
    message: str


@dataclass(frozen=True, kw_only=True)
class MemberOutcome:
    """``error`` is set when the member as a whole could not be read or written; then ``steps`` is empty, ``written``
    names the objects that were written before, and ``doubtful`` one of which that is not known. Without one,
    ``failures`` are the objects that were refused (not by an apply that only reports), could not be written, or would
    not be by a dry run, or are not gone.

    ``availability`` holds upstream's availability reason of each wanted object that is there, ``lacks`` in words what
    those that are not available lack, both None where nothing was judged, as with an ``error``; ``statuses`` are those
    to be mirrored. ``done``: the steps were carried out, or an apply found nothing due; otherwise they are what would
    be done. Steps are in the order in which they are carried out.
    """

    cluster: str
    done: bool = False
    steps: tuple[MemberStep, ...] = ()
    failures: tuple[ObjectFailure, ...] = ()
    availability: t.Mapping[ObjectId, str] | None = None
    lacks: t.Mapping[ObjectId, str] | None = None
    error: Problem | None = None
    written: tuple[ObjectId, ...] = ()
    doubtful: ObjectId | None = None
    statuses: t.Mapping[ObjectId, t.Any] = field(default_factory=dict, repr=False)

    @property
    def changes(self) -> tuple[MemberStep, ...]:
        """The steps that write something or would, those that failed among them, in their order."""
        return tuple(each for each in self.steps if each.action not in (UNCHANGED, REFUSED, DIFFERS))

    @property
    def drifted(self) -> tuple[MemberStep, ...]:
        """The steps on objects that others changed, deleted or added to, and on those that are only reported on and
        missing."""
        return tuple(each for each in self.steps if each.drifted)

    @property
    def wrote(self) -> tuple[ObjectId, ...]:
        """The objects that were written, released or removed, also before an ``error``, in the order of the writes or
        the steps; none of what would be done."""
        failed = {each.id for each in self.failures}
        return self.written or tuple(each.id for each in self.changes if self.done and each.id not in failed)

    @property
    def account(self) -> str:
        """The objects that were written, in words, and one of which that is not known; ``nothing`` without any."""
        text = ", ".join(map(str, self.wrote)) or "nothing"
        return f"{text} ({self.doubtful} was on its way)" if self.doubtful else text

    @property
    def unremoved(self) -> tuple[ObjectId, ...]:
        """What should have been deleted or released on the member and failed to. Deletions that were refused
        (``NotPlanned``) are not among it."""
        failed = {each.id for each in self.failures}
        return tuple(each.id for each in self.steps if each.id in failed and each.action in (PRUNE, RELEASE))

    @property
    def applied(self) -> bool:
        """Whether everything that was to be done was done, nothing refused. False after a mere look."""
        return self.done and self.error is None and not self.failures

    @property
    def silent(self) -> bool:
        """Whether the member did not answer."""
        return self.error is not None and self.error.code in SILENT

    @property
    def holds_all(self) -> bool:
        """Whether everything is as it is to be there: it was applied, or a look found nothing that is due. What only
        differs, and is not to be written, does not count."""
        return self.applied or (self.error is None and not self.failures and not self.changes)

    def as_dict(self) -> dict[str, t.Any]:
        """The outcome as results have it: ``steps`` that are more than unchanged, ``unchanged`` (the number of the
        others), ``failures`` if any; with an ``error`` that too, with ``written`` and ``doubtful``."""
        row: dict[str, t.Any] = {"steps": [each.as_dict() for each in self.steps if each.action != UNCHANGED]}
        row["unchanged"] = sum(1 for each in self.steps if each.action == UNCHANGED)
        if self.failures:
            row["failures"] = [
                {"object": str(each.id), "reason": each.reason, "message": each.message} for each in self.failures
            ]
        if self.error:
            row["error"] = self.error.as_dict()
            row["written"] = [str(each) for each in self.written]
            row["doubtful"] = str(self.doubtful) if self.doubtful else ""
        return row
