# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Why bindings wait in a rolling update, each with a code (``max-unavailable``, ``max-surge``, ``out-of-reach``,
``leaving``, ``failed``, ``not-ready``), a sentence, the clusters that it waits for, and until when."""

from __future__ import annotations

import types
import typing as t
from dataclasses import dataclass
from datetime import datetime

from ...machine import Blocker, HeldBack
from ...values.instants import write_time
from ...values.listed import listed, number_of
from .barrier import CLEANING_UP
from .budget import Limits
from .candidates import BIND, REMOVE, RolloutCandidate, may_hold
from .new_home import HomeWait

MAX_UNAVAILABLE, MAX_SURGE = "max-unavailable", "max-surge"
LEAVING, FAILED, NOT_READY = "leaving", "failed", "not-ready"
OUT_OF_REACH = "out-of-reach"
NAMED = 3
NOBODY: t.Mapping[str, HomeWait] = types.MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class BindingWait:
    """One binding that waits. ``wants`` is bind, update or remove; empty where it is being removed already (leaving),
    or holds what it shall and is not ready yet. ``reason`` is max-unavailable or max-surge (``blockers`` are the
    clusters that use the budget up), new-home (``blockers`` are the clusters that are to have it before), no-new-home,
    no-room-for-new-home, cleaning-up, two-bindings, out-of-reach, leaving, failed or not-ready. ``until`` is when time
    alone ends the wait, or may end that for a budget; None if it takes an event."""

    binding: str
    cluster: str
    wants: str
    reason: str
    message: str
    blockers: tuple[str, ...] = ()
    until: datetime | None = None

    @property
    def held_back(self) -> HeldBack:
        """The wait in the form of a decision, under the binding's name, without ``blockers`` and ``until``."""
        about = {"cluster": self.cluster, "wants": self.wants}
        return HeldBack(self.binding, (Blocker(self.reason, self.message, about=about),))


@dataclass(frozen=True)
class _Spent:
    """The clusters that use a budget up, when time alone frees the first, and their names in words."""

    names: tuple[str, ...] = ()
    until: datetime | None = None
    named: str = ""

    @classmethod
    def by(cls, rows: t.Iterable[RolloutCandidate]) -> _Spent:
        """The clusters of ``rows`` by name, the earliest instant at which time alone makes one ready, and in words the
        first three names and how many more."""
        found = list(rows)
        ends = [each.readiness.at for each in found if each.readiness.at]
        names = tuple(sorted({each.held.cluster for each in found}))
        return cls(names, min(ends, default=None), listed(names, NAMED))


def waiting(
    rows: t.Sequence[RolloutCandidate],
    chosen: t.Container[str],
    limit: Limits | None,
    blocked: t.Mapping[str, str],
    out_of_reach: t.Mapping[str, str],
    homes: t.Mapping[str, HomeWait] = NOBODY,
) -> tuple[BindingWait, ...]:
    """A reason for each binding that wants a change and was not ``chosen`` (names of bindings), and for each that wants
    none and is being removed or not ready yet, in the order of ``rows``. ``homes`` are reasons by binding,
    ``out_of_reach`` and ``blocked`` by cluster; the first of these counts, then the budget. Removals are not
    ``blocked``. With ``limit`` None what only a budget would hold has no reason."""
    unready = _Spent.by(each for each in rows if not each.ready or each.leaving)
    coming = _Spent.by(each for each in may_hold(rows) if each.can_be_ready)
    lacking = limit.target - sum(each.picked for each in rows) if limit else 0
    waits: list[BindingWait] = []
    for each in rows:
        if each.held.name in chosen:
            continue
        if not each.wants:
            waits += _unready(each)
        elif home := homes.get(each.held.name):
            waits.append(_wait(each, home.reason, home.message, home.blockers))
        elif each.held.cluster in out_of_reach:
            waits.append(_wait(each, OUT_OF_REACH, out_of_reach[each.held.cluster]))
        elif each.wants != REMOVE and each.held.cluster in blocked:
            waits.append(_blocked(each, blocked[each.held.cluster]))
        elif limit:
            over_surge = each.wants == BIND
            waits.append(_over_surge(each, limit, coming) if over_surge else _over_limit(each, limit, unready, lacking))
    return tuple(waits)


def _over_surge(each: RolloutCandidate, limit: Limits, coming: _Spent) -> BindingWait:
    """The wait of a new cluster for maxSurge; ``coming`` are those that hold it or may come to."""
    most = f"{number_of(limit.target, 'cluster')} and {limit.max_surge} more may hold it at once"
    message = f"{most}, and {len(coming.names)} {'does' if len(coming.names) == 1 else 'do'}"
    return _wait(each, MAX_SURGE, message, coming.names, coming.until)


def _over_limit(each: RolloutCandidate, limit: Limits, unready: _Spent, lacking: int) -> BindingWait:
    """The wait of an update or removal for maxUnavailable; ``unready`` are the clusters that use it up, ``lacking`` how
    many are asked for and not found, which use it up too."""
    message = f"{limit.max_unavailable:,} of {number_of(limit.target, 'cluster')} may be unavailable at once"
    if unready.named:
        message += f", and not ready or on the way out are {unready.named}"
    if lacking > 0:
        message += f", and {number_of(lacking, 'cluster', 'is', 'are')} asked for and not found"
    return _wait(each, MAX_UNAVAILABLE, message, unready.names, unready.until)


def _unready(each: RolloutCandidate) -> list[BindingWait]:
    """The one wait of a binding that wants nothing: leaving, failed or not-ready; empty for one that is ready."""
    if each.held.deleting:
        return [_wait(each, LEAVING, "it is being removed")]
    if each.ready:
        return []
    if each.failure:
        return [_wait(each, FAILED, f"{each.failure.type} is False: {each.failure.reason}")]
    until = each.readiness.at
    message = f"it counts as ready from {write_time(until)} on" if until else "it is not available yet"
    return [_wait(each, NOT_READY, message, until=until)]


def _blocked(each: RolloutCandidate, reason: str) -> BindingWait:
    """The wait of a binding on a cluster that is blocked for this reason."""
    if reason == CLEANING_UP:
        return _wait(each, reason, "what the cluster held before is still being removed")
    return _wait(each, reason, "another binding holds the same cluster")


def _wait(
    each: RolloutCandidate, reason: str, message: str, blockers: tuple[str, ...] = (), until: datetime | None = None
) -> BindingWait:
    """The wait of a binding under this reason."""
    return BindingWait(
        binding=each.held.name,
        cluster=each.held.cluster,
        wants=each.wants,
        reason=reason,
        message=message,
        blockers=blockers,
        until=until,
    )
