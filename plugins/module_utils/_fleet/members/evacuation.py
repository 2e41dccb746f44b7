# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Evacuating and readmitting members: who is meant (``nothing-selected``, ``nothing-left``), the mark of it (a taint)
in the records and on the clusters that a plan looks at, and which placements stay on them (``not-moved-yet``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._core.errors import FleetError, Problem
from ..._core.objects.audit.audit_entry import EVACUATED as EVACUATED_MEMBERS
from ..._core.objects.audit.audit_entry import READMITTED
from ..._core.objects.clusters.evacuation import EVACUATED, MARK, is_evacuated, with_evacuation_marks
from ..._core.objects.clusters.member_cluster import MemberCluster
from ..._core.objects.clusters.missing_record import lacks_record, record_missing_problem
from ..._core.objects.placements.binding import UNSCHEDULED
from ..._core.objects.placements.key import PlacementKey
from ..._core.schema.codec import encode
from ..._core.values.selector import matches
from ..._core.values.selector_text import parse_selector
from ..._store.records import Record, Records
from ..audit.evidence import Deed, attested
from ..leases import changing_member
from ..placements.recorded import all_bindings, binding_of, cluster_of
from ..recorded import all_decoded, decoded
from ..session import Session


@dataclass(frozen=True, kw_only=True)
class Evacuation:
    """Names of the members that a run evacuates or readmits; ``news`` are those whose mark this changes.
    ``empty_first``: what they hold is taken off them before others have it."""

    evacuated: frozenset[str] = frozenset()
    readmitted: frozenset[str] = frozenset()
    news: frozenset[str] = frozenset()
    empty_first: bool = False

    def marked(self, clusters: t.Iterable[MemberCluster]) -> tuple[MemberCluster, ...]:
        """The clusters, in their order, with the marks set and taken off; nothing is recorded."""
        return with_evacuation_marks(clusters, self.evacuated, self.readmitted)

    @property
    def lines(self) -> list[str]:
        """What becomes of the marks, for people: whose are set, whose are taken off, as far as that is news."""
        told = {"evacuated, until they are readmitted": self.evacuated, "readmitted": self.readmitted}
        return [f"{word}: {', '.join(sorted(names & self.news))}" for word, names in told.items() if names & self.news]


def evacuation(
    evacuate: str, readmit: str, clusters: t.Collection[MemberCluster], empty_first: bool = False
) -> Evacuation:
    """Who is meant by two texts, each a label selector, or, where no cluster has such labels, names with commas
    between; an empty one means nobody. FleetError ``bad-option`` for a text that is no label selector, and for a
    cluster that both name; ``nothing-selected`` for one that selects nobody, or names one that is no cluster;
    ``record-missing`` for a member whose MemberCluster is missing, which would bear the mark; ``nothing-left`` for an
    evacuation that would leave no cluster."""
    evacuated, readmitted = _selected(evacuate, "evacuate", clusters), _selected(readmit, "readmit", clusters)
    if evacuated & readmitted:
        names = ", ".join(sorted(evacuated & readmitted))
        raise FleetError("bad-option", f"{names} cannot be evacuated and readmitted at once", "evacuate, readmit")
    lacking = [each.name for each in clusters if each.name in evacuated | readmitted and lacks_record(each)]
    if lacking:
        raise FleetError.of(map(record_missing_problem, lacking))
    if evacuated and all(map(is_evacuated, with_evacuation_marks(clusters, evacuated, readmitted))):
        text = f"{evacuate!r:.80} leaves no cluster of the fleet that placements could go to"
        raise FleetError("nothing-left", text, "evacuate", "select fewer, or readmit others first")
    news = {each.name for each in clusters if each.name in (readmitted if is_evacuated(each) else evacuated)}
    return Evacuation(evacuated=evacuated, readmitted=readmitted, news=frozenset(news), empty_first=empty_first)


def record_marks(session: Session, wanted: Evacuation) -> None:
    """Records the marks that are news, with evidence, so that later runs decide by them. FleetError ``lease-held``,
    ``conflict`` where somebody changes one of these members, ``not-a-member`` where one has left, ``record-damaged``,
    and others of the records; marks recorded before that stay."""
    for action, names in ((EVACUATED_MEMBERS, wanted.evacuated), (READMITTED, wanted.readmitted)):
        news = sorted(wanted.news & names)
        if not news:
            continue
        with attested(session, Deed(action=action, kind="MemberCluster", members=news)):
            for name in news:
                with changing_member(session.records, name, session.holder):
                    _record_mark(session, name, name in wanted.evacuated)


def _record_mark(session: Session, name: str, evacuated: bool) -> None:
    """Sets the mark of the member, or takes it off; other taints stay. FleetError as of ``record_marks``."""
    records = session.records
    document = records.get("MemberCluster", name)
    if document is None:
        raise FleetError("not-a-member", "it has left the fleet meanwhile", name, "run again")
    decoded(MemberCluster, document)
    spec = document.get("spec") or {}
    others = [each for each in spec.get("taints") or () if each.get("key") != EVACUATED]
    records.replace({**document, "spec": {**spec, "taints": [*others, *([encode(MARK)] if evacuated else [])]}})
    reason, text = ("Evacuated", "its placements go elsewhere") if evacuated else ("Readmitted", "placements may come")
    session.journal("MemberCluster", name, reason, text)


def evacuated_names(clusters: t.Iterable[Record]) -> list[str]:
    """The names of those MemberClusters, given as recorded documents, that bear the mark of an evacuation; in their
    order. FleetError ``record-damaged``."""
    return [name for name, each in all_decoded(MemberCluster, clusters).items() if is_evacuated(each)]


def still_held(records: Records, wanted: Evacuation, planned: t.Container[str]) -> tuple[Problem, ...]:
    """A problem ``not-moved-yet`` for each placement that is bound to clusters which ``wanted`` evacuates, but for
    Unscheduled bindings, and is not among those ``planned`` (each a ``PlacementKey`` as text). FleetError
    ``record-damaged``, and others of the records."""
    if not wanted.evacuated:
        return ()
    found: dict[PlacementKey, list[str]] = {}
    for each in all_bindings(records):
        parent = PlacementKey.of_parent(each)
        cluster = cluster_of(each)
        if cluster not in wanted.evacuated or str(parent) in planned:
            continue
        if binding_of(each).spec.state != UNSCHEDULED:
            found.setdefault(parent, []).append(cluster)
    text = "it is not among the placements of this run, and stays on {} until its own next apply"
    return tuple(
        Problem("not-moved-yet", text.format(", ".join(sorted(clusters))), f"{key.kinds.placement}/{key}")
        for key, clusters in sorted(found.items())
    )


def _selected(text: str, option: str, clusters: t.Iterable[MemberCluster]) -> frozenset[str]:
    """The clusters that the text selects by labels, or, if none has these, names; nobody for an empty text. FleetError
    ``bad-option``, ``nothing-selected``."""
    if not text:
        return frozenset()
    try:
        selector = parse_selector(text)
    except ValueError as error:
        hint = "write it as kubectl -l takes it, such as region=west"
        raise FleetError("bad-option", f"{text!r:.80} is no label selector: {error}", option, hint) from None
    labelled = frozenset(each.name for each in clusters if matches(selector, each.metadata.labels))
    names = labelled or _named(text, clusters)
    if not names:
        hint = "labels of clusters, such as region=west, or the names of some, separated by commas"
        raise FleetError("nothing-selected", f"no cluster of the fleet has {text!r:.80}", option, hint)
    return names


def _named(text: str, clusters: t.Iterable[MemberCluster]) -> frozenset[str]:
    """The clusters of a list of names, with commas between; nobody where one of them is no cluster."""
    names = frozenset(each.strip() for each in text.split(","))
    return names if names <= {each.name for each in clusters} else frozenset()
