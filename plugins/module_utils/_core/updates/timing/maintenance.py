# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which maintenance windows (FleetMaintenance, the cluster's own) and freezes hold for a member in a run of which type,
and when they let it start; ``no-such-maintenance``, ``labels-unknown``.

What a cluster says itself counts beside what FleetMaintenance objects say: neither opens what the other closes. A run
consults the window of what it upgrades, Kubernetes or node images (Azure Fleet's update runs), none the platform's own.
Freezes are ours, and hold whatever windows say.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache

from ...errors import FleetError
from ...objects.clusters.fleet_maintenance import (
    ClusterMaintenance,
    DateSpan,
    FleetMaintenance,
    Freeze,
    MaintenanceConfiguration,
)
from ...objects.clusters.maintenance_forms import KUBERNETES, NODE_IMAGE
from ...objects.updates.strategy import MemberSelector
from ...objects.updates.update_run import CONTROL_PLANE_ONLY, FULL, NODE_IMAGE_ONLY
from ...values.instants import write_time
from ...values.selector import Matcher, compile_selector
from ...values.selector_text import parse_selector
from ...values.update_states import WINDOW_CLOSED
from ...windows.maintenance import clock_of, local_day_spans, window_openings
from ...windows.spans import Span, Spans, joined, meeting, without
from ..run import ClosedOpening, MemberBlocker, MemberView

_DAY, _YEAR = timedelta(days=1), timedelta(days=366)
GOVERNED_BY: Mapping[str, str] = {FULL: KUBERNETES, CONTROL_PLANE_ONLY: KUBERNETES, NODE_IMAGE_ONLY: NODE_IMAGE}
_Dated = tuple[MaintenanceConfiguration, date | None]  # pylint: disable=unsupported-binary-operation  # Python 3.11 can


@dataclass(frozen=True, kw_only=True)
class MaintainedMember:
    """A member, as far as maintenance looks at it. ``labels`` None: they are not known. ``maintenance`` is the
    FleetMaintenance that it names, empty: those that choose it by labels; ``own`` what the cluster says itself, if
    anything."""

    name: str
    labels: Mapping[str, str] | None = field(default_factory=dict, hash=False)
    maintenance: str = ""
    own: ClusterMaintenance | None = None


@dataclass(frozen=True)
class _Window:
    """One window of one object; ``matches`` None: it names no labels."""

    owner: str
    dated: _Dated
    matches: Matcher | None


@dataclass(frozen=True)
class _Frozen:
    """One freeze of one object, ``owner`` in words, as a span of instants; ``matches`` None: it is for all members."""

    freeze: Freeze
    span: Span
    matches: Matcher | None
    owner: str
    clock: tzinfo

    @property
    def words(self) -> str:
        """Name, owner and, if it has one, the reason."""
        named = f"freeze {self.freeze.name} of {self.owner}"
        return f"{named}: {self.freeze.reason}" if self.freeze.reason else named


@dataclass(frozen=True)
class NamedFreeze:
    """A freeze in words, with the object that says it, when it holds, and by which clock it is meant."""

    words: str
    span: Span
    clock: tzinfo = UTC


@dataclass(frozen=True)
class WindowOwner:
    """One of the two that have windows for a member, the fleet or the cluster itself, in words; with the clocks of its
    windows, and whether one is open."""

    words: str
    clocks: tuple[tzinfo, ...]
    open: bool


@dataclass(frozen=True, kw_only=True)
class MemberTimes:
    """A member as runs of one type see it, and who says so. ``horizon`` is as far as the windows of ``view`` are worked
    out; ``permitted`` are these windows without any freeze, None for any time."""

    view: MemberView
    horizon: datetime
    permitted: Spans | None = None
    sides: tuple[WindowOwner, ...] = ()
    freezes: tuple[NamedFreeze, ...] = ()

    @property
    def clock(self) -> tzinfo:
        """That of its windows, the first of several; without any, that of its freezes; else UTC."""
        clocks = [clock for side in self.sides for clock in side.clocks] + [each.clock for each in self.freezes]
        return clocks[0] if clocks else UTC


@dataclass(frozen=True)
class Calendar:
    """What all FleetMaintenance objects of a fleet say, made by ``calendar``; ``owners`` are their names."""

    owners: frozenset[str] = frozenset()
    windows: tuple[_Window, ...] = ()
    freezes: tuple[_Frozen, ...] = ()

    @property
    def with_freezes_of_all(self) -> Calendar:
        """This one without the freezes that choose by labels: what is frozen for a member, whatever labels it has."""
        return replace(self, freezes=tuple(each for each in self.freezes if each.matches is None))

    def startable_spans(self, site: MaintainedMember, run_type: str, start: datetime, end: datetime) -> Spans | None:
        """When upgrades of this type (Full, ControlPlaneOnly, NodeImageOnly) may start on the member (``site``) between
        two instants, in order and apart. Windows that reach further are not cut; what a freeze leaves of one and lies
        wholly beyond is left out. None: at any time; empty: never between them.

        KeyError for another type. FleetError ``no-such-maintenance`` if it names a FleetMaintenance that is not there,
        ``labels-unknown`` if its labels are not known and windows or freezes are chosen by labels: whether it may start
        is not known then.
        """
        permitted = self.permitted(site, run_type, start, end)
        frozen = joined(each.span for each in self._frozen(site) if each.span[0] < end and each.span[1] > start)
        if permitted is None:
            return without(((start, end),), frozen) if frozen else None
        return tuple(meeting(without(permitted, frozen), start, end))

    def permitted(self, site: MaintainedMember, run_type: str, start: datetime, end: datetime) -> Spans | None:
        """When upgrades of this type may start by the windows alone, whatever freezes say; None, and errors, as of
        ``startable_spans``."""
        found = [each for _whose, each in self._sides(site, GOVERNED_BY[run_type])]
        if not found:
            return None
        permitted = _opened(found[0], start, end)
        for other in found[1:]:
            permitted = without(permitted, without(((start - _YEAR, end + _YEAR),), _opened(other, start, end)))
        return permitted

    def openings_lost_to_freezes(
        self, site: MaintainedMember, run_type: str, start: datetime, end: datetime
    ) -> tuple[ClosedOpening, ...]:
        """Of each freeze that reaches between two instants the first opening of the member's windows that it closes, if
        any, in order of time. Errors as of ``startable_spans``."""
        frozen = [each for each in self._frozen(site) if each.span[0] < end and each.span[1] > start]
        permitted = self.permitted(site, run_type, start, end) if frozen else None
        found = [
            ClosedOpening(start=max(met[0][0], each.span[0]), by=f"freeze {each.freeze.name}", since=each.span[0])
            for each in frozen
            if (met := meeting(permitted or (), *each.span))
        ]
        return tuple(sorted(found, key=lambda each: each.start))

    def shut_by(self, site: MaintainedMember, run_type: str, now: datetime) -> tuple[str, ...]:
        """Whose windows for this type are closed at an instant, in words; nothing for a member whose cluster says no
        windows itself. Errors as of ``startable_spans``."""
        sides = self._sides(site, GOVERNED_BY[run_type]) if site.own and site.own.windows else ()
        return tuple(whose for whose, found in sides if not _open_at(found, now))

    def sides(self, site: MaintainedMember, run_type: str, now: datetime) -> tuple[WindowOwner, ...]:
        """Who has windows for the member in runs of this type, each with the objects by name; the fleet first, then the
        cluster itself. Errors as of ``startable_spans``."""
        owners = dict.fromkeys(each.owner for each in self._windows_of(site, GOVERNED_BY[run_type]))
        named = f"FleetMaintenance {' and '.join(owners)}"
        return tuple(
            WindowOwner(
                words=named if whose.startswith("FleetMaintenance") else whose,
                clocks=tuple(dict.fromkeys(_clock(window) for window, _created in found)),
                open=_open_at(found, now),
            )
            for whose, found in self._sides(site, GOVERNED_BY[run_type])
        )

    def named_freezes(self, site: MaintainedMember) -> tuple[NamedFreeze, ...]:
        """Each freeze of the member, past ones too, with the object that says it, in no order. FleetError
        ``labels-unknown`` as of ``startable_spans``."""
        return tuple(NamedFreeze(each.words, each.span, each.clock) for each in self._frozen(site))

    def freeze_blocker(self, site: MaintainedMember, now: datetime) -> MemberBlocker | None:
        """The freeze that holds for the member at ``now``, as a ``WindowClosed`` in words for people; of several the
        one that ends last; None without one. FleetError ``labels-unknown`` as of ``startable_spans``."""
        found = [each for each in self._frozen(site) if each.span[0] <= now < each.span[1]]
        if not found:
            return None
        last = max(found, key=lambda each: each.span[1])
        why = f": {last.freeze.reason}" if last.freeze.reason else ""
        words = f"freeze {last.freeze.name} ends at {write_time(last.span[1])}{why}"
        return MemberBlocker(reason=WINDOW_CLOSED, message=words, until=last.span[1])

    def freezes_of(self, site: MaintainedMember) -> tuple[tuple[str, Span], ...]:
        """Each freeze of the member, past ones too, in no order: its name with its reason, and when it holds.
        FleetError ``labels-unknown`` as of ``startable_spans``."""
        return tuple(
            (f"{each.freeze.name}: {each.freeze.reason}" if each.freeze.reason else each.freeze.name, each.span)
            for each in self._frozen(site)
        )

    def _windows_of(self, site: MaintainedMember, name: str) -> tuple[_Window, ...]:
        """The windows of that configuration, of the object that the member names (those with labels only if they
        match), else those of any with labels that match. FleetError ``no-such-maintenance`` for one that is not there,
        ``labels-unknown``."""
        if site.maintenance and site.maintenance not in self.owners:
            hint = f"there are: {', '.join(sorted(self.owners)) or 'none'}"
            message = f"there is no FleetMaintenance {site.maintenance}"
            raise FleetError("no-such-maintenance", message, f"FleetMember/{site.name} spec.maintenance", hint)
        named = (each for each in self.windows if each.owner == site.maintenance or not site.maintenance)
        return tuple(
            each
            for each in named
            if each.dated[0].configuration == name
            and (bool(site.maintenance) if each.matches is None else _matches(each.matches, site))
        )

    def _sides(self, site: MaintainedMember, name: str) -> list[tuple[str, tuple[_Dated, ...]]]:
        """Those that have windows of that configuration, in words, with these: the fleet's, then the cluster's own.
        FleetError as of ``_windows_of``."""
        own: tuple[_Dated, ...] = tuple(
            (each, None) for each in (site.own.windows if site.own else ()) if each.configuration == name
        )
        words = f"FleetMaintenance {site.maintenance}" if site.maintenance else "FleetMaintenance by its labels"
        itself = f"the cluster itself ({site.own.source})" if site.own else ""
        ours = tuple(each.dated for each in self._windows_of(site, name))
        return [(whose, found) for whose, found in ((words, ours), (itself, own)) if found]

    def _frozen(self, site: MaintainedMember) -> t.Iterator[_Frozen]:
        """The freezes of all FleetMaintenance objects that are for the member, then those of the cluster itself.
        FleetError ``labels-unknown``."""
        yield from (each for each in self.freezes if each.matches is None or _matches(each.matches, site))
        if site.own:
            yield from (
                one for each in site.own.freezes for one in _frozen(each, f"the cluster itself ({site.own.source})")
            )


def calendar(objects: t.Iterable[FleetMaintenance]) -> Calendar:
    """What the FleetMaintenance objects of a fleet say together, which were read without problems. ValueError for a
    selector or a zone that cannot be read."""
    given = tuple(objects)
    return Calendar(
        frozenset(each.name for each in given),
        tuple(
            _Window(each.name, (window, _created(each, window)), _matcher(window.member_selector))
            for each in given
            for window in each.spec.windows
        ),
        tuple(
            one
            for each in given
            for freeze in each.spec.freezes
            for one in _frozen(freeze, f"FleetMaintenance {each.name}")
        ),
    )


@lru_cache(maxsize=256)
def _opened(windows: tuple[_Dated, ...], start: datetime, end: datetime) -> Spans:
    """The spans in which one of the windows is open, whole, in order; remembered, for many members share their
    windows."""
    return joined(span for window, created in windows for span in window_openings(window, start, end, created))


def _open_at(windows: tuple[_Dated, ...], now: datetime) -> bool:
    """Whether one of the windows is open, by what is worked out for the whole day."""
    start = datetime.combine(now.date(), time(), now.tzinfo)
    return any(begin <= now < until for begin, until in _opened(windows, start, start + _DAY))


def _frozen(freeze: Freeze, owner: str) -> t.Iterator[_Frozen]:
    """The freeze as a span of instants, of the object ``owner``; nothing for days that the clocks of the zone
    skipped."""
    clock = clock_of(freeze.utc_offset, freeze.time_zone)
    for span in local_day_spans((DateSpan(start=freeze.start, end=freeze.end),), clock):
        yield _Frozen(freeze, span, _matcher(freeze.member_selector), owner, clock)


def _clock(each: MaintenanceConfiguration) -> tzinfo:
    """That of the window; the older form of a window is in UTC."""
    given = each.maintenance_window
    return clock_of(given.utc_offset, given.time_zone) if given else UTC


def _created(owner: FleetMaintenance, window: MaintenanceConfiguration) -> date | None:
    """The day on which the object was made, by the window's clock; None where that is not known."""
    at = owner.metadata.creation_timestamp
    return None if at is None else at.astimezone(_clock(window)).date()


def _matches(matches: Matcher, site: MaintainedMember) -> bool:
    """Whether the labels of the member match. FleetError ``labels-unknown`` where they are not known."""
    if site.labels is None:
        message = "it has no MemberCluster, so that nobody knows which windows and freezes by label hold for it;"
        message += " join it again with its labels (gitops.fleet.join), or let it go (gitops.fleet.leave)"
        raise FleetError("labels-unknown", message, f"FleetMember/{site.name}")
    return matches(site.labels)


def _matcher(selector: MemberSelector | None) -> Matcher | None:
    """The test of labels; None without a selector. ValueError for one that cannot be read."""
    return None if selector is None else compile_selector(parse_selector(selector.by_label))
