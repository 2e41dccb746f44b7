# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When members may begin, as far as people and platforms say, by the records: maintenance windows, freezes, releases by
location; ``no-such-maintenance``, and what holds for a FleetMember that cannot be read."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta

from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.fleet_maintenance import FleetMaintenance
from ..._core.objects.clusters.fleet_member import FleetMember
from ..._core.objects.updates.release_catalog import ReleaseCatalog
from ..._core.updates.releases.releases import Releases, releases, version_obstacle
from ..._core.updates.run import ClosedOpening, MemberBlocker, MemberView
from ..._core.updates.timing.maintenance import Calendar, MaintainedMember, MemberTimes, calendar
from ..._core.values.update_states import WINDOW_CLOSED
from ..._core.windows.spans import Span, Spans
from ..._store.records import Record, Records
from ..recorded import recorded
from .sources import UpdateManifests

T = t.TypeVar("T")

# Long enough for a window every six months; whoever conducts for longer looks again.
AHEAD = timedelta(days=400)


@dataclass(frozen=True)
class StartConstraints:
    """For runs of one upgrade type (``run_type``) to one version (``target``; empty: releases hold nothing). What is
    ``given`` stands for what is recorded under the same name, and no recorded maintenance counts that is ``gone``. Each
    method reads the records anew: FleetError ``record-damaged``, ``duplicate-location``. A FleetMember that has windows
    of its own and cannot be read is held itself, and holds no other."""

    records: Records
    run_type: str
    target: str
    given: UpdateManifests = UpdateManifests()

    def views(self, members: t.Sequence[Record], now: datetime) -> dict[str, MemberView]:
        """One view for each FleetMember, by name, in their order: when it may begin (``windows``, from the start of
        yesterday for ``AHEAD``; None: at any time), and freezes and releases that keep it from beginning. Where it is
        not known when it may begin, its windows are empty, and an obstacle says why. FleetError as of the class."""
        times, known = self._read()
        labels = self._labels() if times.windows or times.freezes else {}
        sites = [(each, _known(each, labels.get(each["metadata"]["name"]))) for each in members]
        return {each["metadata"]["name"]: self._view(each, site, times, known, now) for each, site in sites}

    def times(self, members: t.Sequence[Record], now: datetime) -> dict[str, MemberTimes]:
        """As ``views``, each with who has windows for the FleetMember (``sides``), when these are open whatever freezes
        say (``permitted``), both empty where that is not known, and its freezes as of ``freezes``, with the
        FleetMaintenance. FleetError as of the class."""
        windows, known = self._read()
        labels = self._labels() if windows.windows or windows.freezes else {}
        found = {}
        for each in members:
            own = labels.get(each["metadata"]["name"])
            site = _known(each, own)
            view = self._view(each, site, windows, known, now)
            freezes = _freezes_or_less(windows, Calendar.named_freezes, each, own)
            told = MemberTimes(view=view, horizon=_span(now)[1], permitted=(), freezes=freezes)
            if not isinstance(site, FleetError):
                with contextlib.suppress(FleetError):  # of which the view tells
                    sides = windows.sides(site, self.run_type, now)
                    told = replace(told, sides=sides, permitted=windows.permitted(site, self.run_type, *_span(now)))
            found[view.name] = told
        return found

    def freezes(self, members: t.Sequence[Record]) -> dict[str, tuple[tuple[str, Span], ...]]:
        """The freezes of each FleetMember, past ones too, by its name, in no order of time: name and reason, and when
        they hold. One that cannot be read is without its own; one whose labels are not known is without those of the
        fleet by label. FleetError as of the class."""
        times, _known = self._read()
        labels = self._labels() if times.freezes else {}
        names = [each["metadata"]["name"] for each in members]
        rows = zip(names, members, strict=True)
        return {name: _freezes_or_less(times, Calendar.freezes_of, each, labels.get(name)) for name, each in rows}

    def permitted(self, members: t.Sequence[Record], now: datetime) -> dict[str, Spans | None]:
        """When the windows of each FleetMember are open, by its name, whatever freezes say; None without windows, empty
        where they are not known. FleetError as of the class."""
        times, _known = self._read()
        labels = self._labels() if times.windows else {}
        found: dict[str, Spans | None] = {}
        for each in members:
            name = each["metadata"]["name"]
            found[name] = ()
            with contextlib.suppress(FleetError):  # of which the view tells
                found[name] = times.permitted(_site(each, labels.get(name)), self.run_type, *_span(now))
        return found

    def without_window(self, names: t.Container[str], now: datetime) -> tuple[str, ...]:
        """Those of these members that are in the fleet and are known to have no maintenance window, sorted. FleetError
        as of the class."""
        members = [each for each in self.records.list("FleetMember") if each["metadata"]["name"] in names]
        return tuple(sorted(name for name, spans in self.permitted(members, now).items() if spans is None))

    def problems(self, members: t.Sequence[Record], now: datetime) -> list[Problem]:
        """What is wrong with members of which it is not known when they may begin, in their order, given and not
        raised: ``no-such-maintenance``, or ``record-damaged`` as of the class, but not that labels are not known.
        FleetError as of the class."""
        times, _known = self._read()
        found: list[Problem] = []
        for each in members:
            try:
                times.startable_spans(_site(each, {}), self.run_type, *_span(now))
            except FleetError as error:
                found += error.problems
        return found

    def releases(self) -> Releases:
        """What platforms offer where, as it is given or recorded now. FleetError ``record-damaged``,
        ``duplicate-location``."""
        return self._read()[1]

    def _read(self) -> tuple[Calendar, Releases]:
        """Maintenance and releases, given and recorded. FleetError as of the class."""
        others = {*self.given.maintenance, *self.given.gone}
        maintenance = {**self._recorded(FleetMaintenance, others), **self.given.maintenance}
        catalogues = {**self._recorded(ReleaseCatalog, self.given.catalogues), **self.given.catalogues}
        return calendar(maintenance.values()), releases(catalogues.values())

    def _recorded(self, cls: type[T], besides: t.Container[str] = ()) -> dict[str, T]:
        """The recorded objects of a class by name, without ``besides``. FleetError ``record-damaged``, for one that
        cannot be read may hold a freeze of all."""
        found = {each["metadata"]["name"]: each for each in self.records.list(cls.__name__)}
        return {name: recorded(cls, each) for name, each in found.items() if name not in besides}

    def _labels(self) -> dict[str, t.Mapping[str, str]]:
        """Labels of recorded MemberClusters, by name. Those of a member that has none are not known: it was deleted by
        hand, or a member that leaves was half forgotten."""
        found = self.records.list("MemberCluster")
        return {each["metadata"]["name"]: each["metadata"].get("labels") or {} for each in found}

    def _view(
        self,
        member: Record,
        site: MaintainedMember | FleetError,
        times: Calendar,
        known: Releases,
        now: datetime,
    ) -> MemberView:
        """One view, as of ``views``; ``site`` is why it cannot be read, if it cannot."""
        spec = member["spec"]
        obstacles: list[MemberBlocker | None] = []
        if self.target:
            place = known.at(spec.get("provider", ""), spec.get("location", ""))
            obstacles.append(version_obstacle(place, self.target, spec.get("location", ""), now))
        windows: Spans | None = ()
        shut: tuple[str, ...] = ()
        closed: tuple[ClosedOpening, ...] = ()
        try:
            if isinstance(site, FleetError):
                raise site
            obstacles.insert(0, times.freeze_blocker(site, now))
            windows = times.startable_spans(site, self.run_type, *_span(now))
            shut = times.shut_by(site, self.run_type, now)
            closed = times.openings_lost_to_freezes(site, self.run_type, *_span(now))
        except FleetError as error:
            obstacles.append(MemberBlocker(reason=WINDOW_CLOSED, message=error.message))
        held = tuple(each for each in obstacles if each is not None)
        return MemberView(name=member["metadata"]["name"], windows=windows, shut=shut, closed=closed, obstacles=held)


def _known(member: Record, labels: t.Mapping[str, str] | None) -> MaintainedMember | FleetError:
    """The member as maintenance looks at it, or why it cannot be read."""
    try:
        return _site(member, labels)
    except FleetError as error:
        return error


def _site(member: Record, labels: t.Mapping[str, str] | None) -> MaintainedMember:
    """The member as maintenance looks at it, with these labels. FleetError ``record-damaged`` if it has windows of its
    own and cannot be read."""
    own = (member.get("status") or {}).get("maintenance")
    return MaintainedMember(
        name=member["metadata"]["name"],
        labels=labels,
        maintenance=member["spec"].get("maintenance", ""),
        own=recorded(FleetMember, member).status.maintenance if own else None,
    )


def _freezes_or_less(
    times: Calendar,
    told: t.Callable[[Calendar, MaintainedMember], T],
    member: Record,
    labels: t.Mapping[str, str] | None,
) -> T:
    """What ``told`` says of the freezes of the member; without its own where it cannot be read, and without those of
    the fleet by label where its labels are not known: its view says that it may not begin."""
    site = _known(member, labels)
    if isinstance(site, FleetError):
        site = _site({**member, "status": {}}, labels)
    return told(times if labels is not None else times.with_freezes_of_all, site)


def _span(now: datetime) -> tuple[datetime, datetime]:
    """From the beginning of yesterday on, so that an open window is seen whole, for ``AHEAD``; the same all day, so
    that it is worked out once."""
    start = datetime.combine(now.date(), time(), now.tzinfo) - timedelta(days=1)
    return start, start + AHEAD
