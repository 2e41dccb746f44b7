# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How long upgrades take (``p50``, ``p90``): given, or learned from members whose upgrade in an update run succeeded at
the first attempt; lengths drawn from their spread by a seed, quantiles."""

from __future__ import annotations

import hashlib
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from ..objects.updates.update_run import UpdateRun
from ..values.update_states import COMPLETED

_LARGEST = float(2**64)


@dataclass(frozen=True)
class Duration:
    """Half of all cases take at most ``p50``, nine of ten at most ``p90``. ValueError unless 0 <= p50 <= p90."""

    p50: timedelta
    p90: timedelta

    def __post_init__(self) -> None:
        """ValueError unless 0 <= p50 <= p90."""
        if not timedelta() <= self.p50 <= self.p90:
            raise ValueError(f"{self.p50} and {self.p90} are no p50 and p90")

    def at(self, share: float) -> timedelta:
        """The length that this share of all cases does not exceed, from 0 (the shortest) to 1 (the longest). Straight
        lines: p90 lies in the middle between p50 and the longest, and the shortest as far before p50 as p90 is behind
        it, though not less than half of p50."""
        tail = self.p90 - self.p50
        if share <= 0.5:
            return self.p50 - min(tail, self.p50 / 2) * (1 - 2 * share)
        if share <= 0.9:
            return self.p50 + tail * ((share - 0.5) / 0.4)
        return self.p90 + tail * ((share - 0.9) / 0.1)


UPGRADE = Duration(timedelta(minutes=20), timedelta(minutes=45))


@dataclass(frozen=True)
class Durations:
    """How long upgrades take: by name of the member, and for all others."""

    others: Duration = UPGRADE
    members: Mapping[str, Duration] = field(default_factory=dict, hash=False)

    def duration_of(self, member: str) -> Duration:
        """How long upgrades of this member take; as those of all others, if nothing is known of its own."""
        return self.members.get(member, self.others)


def learned(runs: t.Iterable[UpdateRun], run_type: str, given: Duration = UPGRADE) -> Durations:
    """What upgrades of this type (``run_type``: Full, ControlPlaneOnly, NodeImageOnly) took in these runs, those that
    go on included: each member's own, where it had some, and that of all; ``given`` for all others where there were
    none. Only those count that were done at the first attempt, as others tell of what went wrong, and that have a start
    and an end which is not before it."""
    took: dict[str, list[timedelta]] = {}
    for run in runs:
        if run.spec.managed_cluster_update.upgrade.type != run_type:
            continue
        for row in run.status.members:
            started, ended = row.status.start_time, row.status.completed_time
            if row.status.state == COMPLETED and row.attempt == 1 and started and ended and ended >= started:
                took.setdefault(row.name, []).append(ended - started)
    everything = [each for found in took.values() for each in found]
    others = _measured(everything) if everything else given
    return Durations(others, {name: _measured(found) for name, found in sorted(took.items())})


def share(seed: int, sample: int, name: str) -> float:
    """A number from 0 to 1 that looks random, by which a length is drawn: the same for the same ``seed``, ``sample``
    and ``name``."""
    digest = hashlib.blake2b(f"{seed}/{sample}/{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / _LARGEST


@dataclass(frozen=True)
class EvenShares:
    """Shares for so many ``samples``, at least one, evenly spread for each name in an order of its own: as many of them
    lie below 0.5 as above it, and an odd number has one in the middle."""

    seed: int
    samples: int
    _places: dict[str, tuple[int, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def share_of(self, sample: int, name: str) -> float:
        """The share of one sample, counted from 0, strictly between 0 and 1; the same for the same name."""
        places = self._places.get(name)
        if places is None:
            ordered = sorted(range(self.samples), key=lambda each: share(self.seed, each, name))
            places = self._places[name] = tuple(ordered)
        return (places[sample] + 0.5) / self.samples


def rounded(length: timedelta, to: timedelta) -> timedelta:
    """The length as the nearest multiple of ``to``, which is positive, and at least that; halfway to the even one."""
    return max(1, round(length / to)) * to


def quantile(values: t.Sequence[t.Any], wanted: float) -> t.Any:
    """The quantile of ``values``, which are sorted and not empty: the smallest that at least the share ``wanted`` (0 to
    1) of them does not exceed."""
    return values[min(len(values) - 1, max(0, -int(-wanted * len(values) // 1) - 1))]


def _measured(took: list[timedelta]) -> Duration:
    """The p50 and p90 of lengths, of which there is at least one."""
    ordered = sorted(took)
    return Duration(quantile(ordered, 0.5), quantile(ordered, 0.9))
