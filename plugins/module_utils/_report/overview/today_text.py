# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The state of the fleet as text: a headline, the clusters that ask for attention, the others counted by group; nodes
that no image counts, and ages in words."""

from __future__ import annotations

import typing as t
from datetime import timedelta

from ..._core.errors import Problem
from ..._core.overview.clusters import READY
from ..._core.overview.drift import DriftKnown
from ..._core.overview.run_needs import (
    FOR_APPROVAL,
    FOR_CONDUCTOR,
    FOR_MEMBERS,
    FOR_NODES,
    FOR_WINDOW,
    HAS_FAILED,
    IS_APPROVED,
    IS_BLOCKED,
    IS_STUCK,
    NEEDS,
    PAUSES,
    RunNeed,
)
from ..._core.overview.runs import KINDS, UPDATE_RUN
from ..._core.overview.today import (
    SILENT,
    FleetToday,
    MemberToday,
    Totals,
    counted_versions,
)
from ..._core.overview.upkeep import CLIENT, NEVER_NEWER, SERVER, SOON, Kubelets
from ..._core.values.instants import SECONDS, write_time
from ..._core.values.listed import listed, number_of
from ..text import INDENT, SHOWN, folded, notes_text, table, table_rows
from ..widths import told_line

CERTIFICATES = {SERVER: "the API server's certificate", CLIENT: "the client certificate"}
HEADER = ("CLUSTER", "STATE", "READ", "SERVER", "KUBELET", "IMG", "CERT", "HELD", "DRIFT")
GROUPS, IMAGES, NAME = 20, 5, 80
ELSEWHERE = "gitops.fleet.join records some; those elsewhere, as on a hub, are named by -e records"
# Of one run, and of several.
NEEDED = {
    HAS_FAILED: ("failed", "failed"),
    IS_STUCK: ("is stuck", "are stuck"),
    FOR_APPROVAL: ("waits for an approval", "wait for an approval"),
    FOR_CONDUCTOR: ("seems to be conducted by nobody", "seem to be conducted by nobody"),
    IS_APPROVED: ("is approved and to be carried on", "are approved and to be carried on"),
    IS_BLOCKED: ("has only nodes left that are blocked", "have only nodes left that are blocked"),
    FOR_MEMBERS: ("waits for clusters that it does not reach", "wait for clusters that they do not reach"),
    FOR_WINDOW: ("waits for a window", "wait for a window"),
    FOR_NODES: ("waits until nodes may go", "wait until nodes may go"),
    PAUSES: ("pauses", "pause"),
}
_DETAIL = "    "


def today_text(today: FleetToday, place: str, notes: t.Sequence[Problem] = ()) -> list[str]:
    """The headline, a row for each cluster with what is to be said of it below; of a large fleet those that ask for
    attention or have something in flight, and of the others how many each group has. Then images and notes. Without
    clusters a sentence with ``place``, where the records are, and notes."""
    if not today.members:
        return [*folded(f"no cluster is recorded in {place}; {ELSEWHERE}"), *notes_text(notes)]
    lines = folded(_headline(today))
    shown = list(today.members)
    if len(shown) > SHOWN:
        shown = [each for each in shown if each.concerns or each.runs][:SHOWN]
    if shown:
        header, *rows = table_rows(HEADER, [_row(each) for each in shown], "")
        lines += header
        drifted = today.objects_drifted
        for member, row in zip(shown, rows, strict=True):
            lines += row
            told = "; ".join(_details(member, drifted.get(member.name, ())))
            lines += folded(told, _DETAIL) if told else []
    lines += _others(today.members, shown)
    lines += _images(today.images, today.uncounted)
    return lines + notes_text(notes)


def _images(images: t.Mapping[str, int], uncounted: t.Sequence[int]) -> list[str]:
    """A sentence, folded: the first ``IMAGES`` images with how many nodes have them, and how many nodes are not
    counted; nothing if there is neither."""
    named = [f"{told_line(name, NAME)} ({number_of(count, 'node')})" for name, count in images.items()]
    parts = [*([listed(named, IMAGES, "; ")] if named else []), *uncounted_text(uncounted)]
    return folded(f"images: {'; '.join(parts)}") if parts else []


def uncounted_text(uncounted: t.Sequence[int]) -> list[str]:
    """One sentence about the nodes that no image counts, given how many each cluster has that has any; nothing without
    such."""
    if not uncounted:
        return []
    where = f"{number_of(sum(uncounted), 'node')} on {number_of(len(uncounted), 'cluster')}"
    return [f"{where} not counted: pools there hold several images or tell none, see gitops.fleet.nodes"]


def _image_cell(row: MemberToday) -> str:
    """How many images there are, at least: ``1+`` where some nodes are not counted, ``?`` where none is."""
    return f"{len(row.images)}{'+' if row.uncounted else ''}" if row.images else "?"


def age_text(age: timedelta) -> str:
    """How long ago, in one unit, rounded down: ``119 s``, ``12 min``, ``5 h``, ``3 d``; minutes, hours and days from 2
    on. A negative one, by another clock, is in seconds with a minus."""
    seconds = int(age.total_seconds())
    for unit, size, most in (("s", 1, 120), ("min", 60, 7_200), ("h", 3_600, 172_800)):
        if seconds < most:
            return f"{seconds // size} {unit}"
    return f"{seconds // 86_400} d"


def _headline(today: FleetToday) -> str:
    """In one line: clusters by state, runs, versions, certificates that have ended or will, evacuated clusters, drift
    if anything is placed, and how old the readings are. What there is none of is left out."""
    totals = today.totals
    parts = [f"{number_of(totals.clusters, 'cluster')}: {', '.join(_states(totals))}", *_runs(today.runs)]
    parts.append(_versions(totals))
    if totals.ended:
        parts.append(f"{number_of(totals.ended, 'certificate')} ended")
    if totals.ends:
        verb = "ends" if totals.ends == 1 else "end"
        parts.append(f"{number_of(totals.ends, 'certificate')} {verb} within {SOON.days} days")
    if totals.evacuated:
        parts.append(f"{totals.evacuated} evacuated")
    if today.drift.places:
        parts.append(f"drift: {today.drift.words}")
    if totals.read:
        youngest, oldest = map(age_text, totals.read)
        ages = youngest if youngest == oldest else f"{youngest} to {oldest}"
        parts.append(f"read {ages} ago, see gitops.fleet.facts")
    return "; ".join(parts)


def _runs(runs: t.Sequence[RunNeed]) -> t.Iterator[str]:
    """A piece for each kind that has any: how many failed, are stuck, wait for what, or pause:
    ``1 update run failed, 2 wait for an approval``; of other kinds than update runs, which are told below, the first
    three names."""
    for kind in KINDS:
        parts: list[str] = []
        for needs in NEEDS:
            names = [each.name for each in runs if (each.kind, each.needs) == (kind, needs)]
            if names:
                many = f"{len(names):,}" if parts else number_of(len(names), kind)
                named = "" if kind == UPDATE_RUN else f" ({listed(names, 3)})"
                parts.append(f"{many} {NEEDED[needs][len(names) > 1]}{named}")
        if parts:
            yield ", ".join(parts)


def _states(totals: Totals) -> t.Iterator[str]:
    """``3 ready``, then the other states by name, silent clusters with when they were read last, the first of
    them being told, where that is known."""
    for state, count in sorted(totals.states.items(), key=lambda each: (each[0] != READY, each[0])):
        read = ""
        if state == SILENT and totals.silent_for is not None:
            read = f" (last read {'' if count == 1 else 'up to '}{age_text(totals.silent_for)} ago)"
        yield f"{count} {state}{read}"


def _versions(totals: Totals) -> str:
    """``versions v1.34.2 (3)``: API servers, as of ``_counts``."""
    return f"versions {_counts(totals.versions)}"


def _counts(numbers: t.Mapping[str, int]) -> str:
    """The first six versions with how many have each, ``not known`` for an empty one, and how many more versions there
    are."""
    return listed([f"{version or 'not known'} ({count})" for version, count in numbers.items()])


def _row(row: MemberToday) -> tuple[str, ...]:
    """The cells below ``HEADER``: versions as of ``_short``, days until the first certificate ends, ``?`` for what is
    not known."""
    ends = row.certificate
    marks = {"bad": row.held.failing, "late": row.held.late, "to go": row.held.leaving}
    held = [str(row.held.count), *(f"{len(each)} {word}" for word, each in marks.items() if each)]
    return (
        row.name,
        row.state,
        age_text(row.age) if row.age is not None else "never",
        _short(row.version),
        _kubelet(row.kubelets),
        _image_cell(row),
        ("ended" if ends.ended else f"{ends.days} d") if ends else "?",
        ", ".join(held),
        _drift(row.drift),
    )


def _kubelet(kubelets: Kubelets) -> str:
    """The newest kubelet and how many minors it is ahead of the API server (``1.36.0 +1``), else the oldest and how
    many it is behind (``1.33.4 -2``)."""
    if kubelets.ahead:
        return f"{_short(kubelets.newest)} +{kubelets.ahead}"
    return _short(kubelets.oldest) + (f" -{kubelets.behind}" if kubelets.behind else "")


def _drift(known: DriftKnown) -> str:
    """How many objects drifted; ``?`` where that is not known, ``-`` where nothing is placed."""
    if known.objects is not None:
        return str(known.objects)
    return "?" if known.places else "-"


def _short(version: str) -> str:
    """The version without ``v``, and without what vendors write behind ``-`` or ``+``; ``?`` for an empty one."""
    return version.removeprefix("v").split("-")[0].split("+")[0] or "?"


def _details(row: MemberToday, drifted: t.Sequence[str]) -> t.Iterator[str]:
    """What is to be said of one cluster, a piece for each matter: why it is not ready, a certificate that ends soon or
    has, placements that fail, kubelets that are too new or old, drift, placements that are late or to be taken away,
    evacuation, what is in flight. At most three names of a sort."""
    if row.why:
        yield row.why
    ends = row.certificate
    if ends and ends.near:
        verb = "ended" if ends.ended else "ends"
        yield f"{CERTIFICATES[ends.which]} {verb} at {write_time(ends.at, SECONDS)}"
    yield from _first_few([f"{name} is {why}" for name, why in sorted(row.held.failing.items())], "placements fail")
    if row.kubelets.ahead:
        yield f"kubelets of {row.kubelets.newest} are newer than its API server, {NEVER_NEWER}"
    if row.kubelets.too_old:
        yield f"kubelets of {row.kubelets.oldest} are too old for its API server"
    if row.drift.objects:
        yield f"{row.drift.words}{': ' if drifted else ''}{listed(drifted, 3)}"
    late = [f"{name} {why}" for name, why in sorted(row.held.late.items())]
    yield from _first_few(late, "placements were not available yet")
    going = [f"{name} is to be taken away by {by}" for name, by in sorted(row.held.leaving.items())]
    yield from _first_few(going, "placements are to be taken away")
    if row.evacuated:
        holds = f", not empty yet (it holds {listed(row.held.names, 3)})" if row.held.names else ""
        yield f"evacuated{holds}: nothing new is placed there until it is readmitted"
    if row.runs:
        yield f"in flight: {listed(row.runs, 3)}"


def _first_few(told: t.Sequence[str], many: str) -> t.Iterator[str]:
    """The first three, and how many more of ``many`` there are, in words."""
    yield from told[:3]
    if len(told) > 3:
        yield f"{len(told) - 3} more {many}"


def _others(members: t.Sequence[MemberToday], shown: t.Sequence[MemberToday]) -> list[str]:
    """A table of the clusters that are not ``shown``, by group, the first ``GROUPS``: how many each has, how many are
    ready and ask for attention, and their versions. Nothing if all are shown."""
    names = {each.name for each in shown}
    left = [each for each in members if each.name not in names]
    if not left:
        return []
    groups: dict[str, list[MemberToday]] = {}
    for each in left:
        groups.setdefault(each.group, []).append(each)
    rows = [
        (
            group or "(none)",
            str(len(mine)),
            str(sum(1 for each in mine if each.state == READY)),
            str(sum(1 for each in mine if each.concerns)),
            _counts(counted_versions(each.version for each in mine)),
        )
        for group, mine in sorted(groups.items())
    ]
    lines = [f"{number_of(len(left), 'more cluster')} by group, all of them in the result:"]
    lines += table(("GROUP", "CLUSTERS", "READY", "TO LOOK AT", "VERSIONS"), rows[:GROUPS], INDENT)
    if len(rows) > GROUPS:
        lines.append(f"{INDENT}{number_of(len(rows) - GROUPS, 'more group')}")
    return lines
