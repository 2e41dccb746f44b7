# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Supposed changes of a fleet (what if), read from plain data, checked, and laid over its clusters: clusters ``gone``
or ``new``, and ``change`` of ``labels``, ``taints``, ``properties``, ``prices``; another ``numberOfClusters``; problems
in them (``changed-and-gone``, ``given-twice``, ``duplicate-cluster-name``, ``unknown-cluster``)."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from ...errors import FleetError, Problem
from ...objects.clusters.evacuation import with_mark
from ...objects.clusters.member_cluster import (
    AgentStatus,
    MemberCluster,
    MemberClusterSpec,
    PropertyValue,
    ResourceUsage,
    Taint,
)
from ...objects.placements.property_rules import RESOURCE_PREFIX, check_property_name
from ...schema.codec import decode
from ...schema.hints import did_you_mean
from ...schema.meta import Condition, ObjectMeta
from ...schema.metadata_rules import NAME_LIMIT, name_problem
from ...schema.prop import MAX_INT32
from ...values.quantity import parse_quantity
from ...values.selector import label_key_problem, label_value_problem
from ..properties import CAPACITY_FIELDS, OTHER_NAMES

PRICES = {"cpu": "kubernetes.azure.com/per-cpu-core-cost", "memory": "kubernetes.azure.com/per-gb-memory-cost"}
NO_SCHEDULE = "NoSchedule"
TOP = ("gone", "new", "change", "numberOfClusters")
PARTS = ("labels", "taints", "properties", "prices")
NEW = ("name", "like", *PARTS)
TAINT = ("key", "value", "effect")

Texts = t.Mapping[str, str | None]  # pylint: disable=unsupported-binary-operation  # Python 3.11 can


@dataclass(frozen=True, kw_only=True)
class ClusterChange:
    """What is other about one cluster. A label or property with the value None is taken away; ``taints`` are all that
    it then has, None leaves them. Prices are properties already."""

    labels: Texts = field(default_factory=dict)
    properties: Texts = field(default_factory=dict)
    taints: tuple[Taint, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class NewCluster:
    """A cluster that joins healthy, with labels, taints and facts of the one that it is ``like``, if that is not empty,
    but for ``change``."""

    name: str
    like: str = ""
    change: ClusterChange = ClusterChange()


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """Everything supposed at once; ``change`` is by cluster, ``number_of_clusters`` stands in for that of PickN."""

    gone: tuple[str, ...] = ()
    new: tuple[NewCluster, ...] = ()
    change: t.Mapping[str, ClusterChange] = field(default_factory=dict)
    number_of_clusters: int | None = None


def read_overlay(document: t.Any, fleet: t.Collection[str], where: str = "") -> Overlay:
    """The overlay that plain data describe; null is one of no change. FleetError with all problems at once, each with
    its path: ``wrong-type``, ``unknown-field``, ``missing-field``, ``empty-text``, ``unknown-cluster``,
    ``duplicate-cluster-name``, ``changed-and-gone``, ``invalid-name``, ``invalid-label``, ``invalid-taint``,
    ``duplicate-taint``, ``not-one-of``, ``invalid-quantity``, ``given-twice``, ``out-of-range``, and those of
    ``check_property_name``.

    ``{gone: [name], new: [{name, like, ...}], change: {name: {...}}, numberOfClusters: 3}``, where ``...`` is
    ``labels`` and ``properties`` (key to text, null takes it away), ``taints`` (the whole list, as in ``spec.taints``
    of a MemberCluster) and ``prices`` (dollars an hour: ``cpu`` for a core, ``memory`` for a GiB). ``fleet`` are the
    names of all clusters there are.
    """
    reader = _OverlayReader(frozenset(fleet), where)
    overlay = reader.overlay(document)
    if reader.problems:
        raise FleetError.of(reader.problems)
    return overlay


def overlaid(clusters: t.Iterable[MemberCluster], overlay: Overlay, now: datetime) -> tuple[MemberCluster, ...]:
    """The clusters as the overlay supposes them, without those that are gone, new ones last: these were heard of at
    ``now``, and have labels, taints and facts of the cluster that they are ``like``, as it was given (it may be gone),
    but not the mark of an evacuation. Changes of clusters that are not there do nothing. Names of properties must be
    ones that can be looked up, as ``read_overlay`` checks."""
    known = {each.metadata.name: each for each in clusters}
    kept = [_changed(each, overlay.change.get(name)) for name, each in known.items() if name not in overlay.gone]
    return (*kept, *(_joined(each, known, now) for each in overlay.new))


def _changed(cluster: MemberCluster, change: ClusterChange | None) -> MemberCluster:
    """The cluster with the change, if there is one."""
    if change is None:
        return cluster
    labels = _merged(cluster.metadata.labels, change.labels)
    out = replace(cluster, metadata=replace(cluster.metadata, labels=labels))
    if change.taints is not None:
        out = replace(out, spec=replace(out.spec or decode(MemberClusterSpec, {}), taints=change.taints))
    return _with_properties(out, change.properties)


def _with_properties(cluster: MemberCluster, changes: Texts) -> MemberCluster:
    """The cluster with these properties changed, taken away where the text is None. The other name of a changed
    property, older or newer, goes too: both are one fact."""
    plain = {name: text for name, text in changes.items() if not name.startswith(RESOURCE_PREFIX)}
    values = {name: PropertyValue(value=text) for name, text in plain.items() if text is not None}
    reported = cluster.status.properties.items()
    kept = {name: value for name, value in reported if name not in plain and OTHER_NAMES.get(name) not in plain}
    usage = cluster.status.resource_usage
    for name, text in changes.items():
        if name.startswith(RESOURCE_PREFIX):
            capacity, _dash, resource = name.removeprefix(RESOURCE_PREFIX).partition("-")
            attribute = CAPACITY_FIELDS[capacity]
            usage = usage or ResourceUsage()
            amounts: dict[str, t.Any] = {attribute: _merged(getattr(usage, attribute), {resource: text})}
            usage = replace(usage, **amounts)
    return replace(cluster, status=replace(cluster.status, properties={**kept, **values}, resource_usage=usage))


def _joined(new: NewCluster, known: t.Mapping[str, MemberCluster], now: datetime) -> MemberCluster:
    """The new cluster, joined and healthy since ``now``, with what it takes over from the one that it is ``like``."""
    like = with_mark(known.get(new.like) or decode(MemberCluster, {}), evacuated=False)
    conditions = tuple(
        Condition(type=kind, status="True", reason="Supposed", last_transition_time=now)
        for kind in ("Joined", "Healthy")
    )
    agent = AgentStatus(type="MemberAgent", conditions=conditions, last_received_heartbeat=now)
    cluster = replace(
        like,
        metadata=ObjectMeta(name=new.name, labels=like.metadata.labels),
        status=replace(like.status, agent_status=(agent,)),
    )
    return _changed(cluster, new.change)


def _merged(texts: t.Mapping[str, str], changes: Texts) -> dict[str, str]:
    """The texts with the changes, without those that are None there."""
    kept = {key: text for key, text in texts.items() if key not in changes}
    return {**kept, **{key: text for key, text in changes.items() if text is not None}}


class _OverlayReader:
    """Reads the overlay; what is wrong in the document goes into ``problems``, and something is read in its place."""

    def __init__(self, fleet: frozenset[str], where: str) -> None:
        self.fleet, self.where = fleet, where
        self.problems: list[Problem] = []

    def overlay(self, document: t.Any) -> Overlay:
        """The overlay of a document."""
        top = self.mapping(document, "", TOP)
        gone = tuple(self.member(each, f"gone[{at}]") for at, each in enumerate(self.items(top, "gone")))
        for at, name in enumerate(gone):
            if name and name in gone[:at]:
                self.problem("duplicate-cluster-name", f"gone[{at}]", f"{name} is named twice")
        new = self.new(self.items(top, "new"))
        changes = {}
        for name, each in self.mapping(top.get("change"), "change").items():
            path = f"change[{name}]"
            self.member(name, path)
            if name in gone:
                self.problem("changed-and-gone", path, f"{name} cannot be gone and changed at the same time")
            changes[name] = self.change(self.mapping(each, path, PARTS), path)
        return Overlay(gone=gone, new=new, change=changes, number_of_clusters=self.number(top.get("numberOfClusters")))

    def new(self, rows: t.Sequence[t.Any]) -> tuple[NewCluster, ...]:
        """The new clusters; a row that is no map is left out."""
        found: list[NewCluster] = []
        for at, each in enumerate(rows):
            path = f"new[{at}]"
            row = self.mapping(each, path, NEW)
            if not isinstance(each, Mapping):
                continue
            name = self.text(row.get("name"), f"{path}.name")
            problem = name_problem(name) if name else ""
            if problem or len(name) > NAME_LIMIT:
                message = problem or f"{len(name)} characters, {NAME_LIMIT} are allowed"
                self.problem("invalid-name", f"{path}.name", message)
            if name in self.fleet or name in [one.name for one in found if name]:
                self.problem("duplicate-cluster-name", f"{path}.name", f"there is a cluster {name} already")
            like = self.member(row["like"], f"{path}.like") if row.get("like") is not None else ""
            found.append(NewCluster(name=name, like=like, change=self.change(row, path)))
        return tuple(found)

    def change(self, row: Mapping[str, t.Any], path: str) -> ClusterChange:
        """What a row says of one cluster; prices become properties."""
        properties = {**self.properties(row, path), **self.prices(row, path)}
        taints = self.taints(row, path) if row.get("taints") is not None else None
        return ClusterChange(labels=self.labels(row, path), properties=properties, taints=taints)

    def labels(self, row: Mapping[str, t.Any], path: str) -> Texts:
        """Labels by key, None for one that is taken away."""
        found: dict[str, str | None] = {}
        for key, value in self.mapping(row.get("labels"), f"{path}.labels").items():
            place = f"{path}.labels[{key}]"
            found[key] = self.text(value, place, empty=True) if value is not None else None
            for message in (label_key_problem(key), label_value_problem(found[key] or "")):
                if message:
                    self.problem("invalid-label", place, message)
        return found

    def properties(self, row: Mapping[str, t.Any], path: str) -> Texts:
        """Amounts by the name of the property, None for one that is taken away."""
        found: dict[str, str | None] = {}
        for name, value in self.mapping(row.get("properties"), f"{path}.properties").items():
            place = f"{path}.properties[{name}]"
            for wrong in check_property_name(name, place):
                self.problem(wrong.code, wrong.path, wrong.message, wrong.hint)
            found[name] = self.amount(value, place)
        return found

    def prices(self, row: Mapping[str, t.Any], path: str) -> Texts:
        """Amounts by the name of the property that a price is, None for one that is taken away. One that stands under
        ``properties`` too is a problem."""
        prices = self.mapping(row.get("prices"), f"{path}.prices", tuple(PRICES))
        found = {PRICES[key]: self.amount(prices[key], f"{path}.prices.{key}") for key in PRICES if key in prices}
        for key, name in PRICES.items():
            if key in prices and isinstance(row.get("properties"), Mapping) and name in row["properties"]:
                self.problem("given-twice", f"{path}.prices.{key}", f"it stands under properties as {name} already")
        return found

    def taints(self, row: Mapping[str, t.Any], path: str) -> tuple[Taint, ...]:
        """The taints in their order, NoSchedule without an effect; one that is no map is left out."""
        found: list[Taint] = []
        for at, each in enumerate(self.items(row, "taints", path)):
            place = f"{path}.taints[{at}]"
            fields = self.mapping(each, place, TAINT)
            if not isinstance(each, Mapping):
                continue
            key = self.text(fields.get("key"), f"{place}.key")
            value = self.text(fields.get("value", ""), f"{place}.value", empty=True)
            effect = self.text(fields.get("effect", NO_SCHEDULE), f"{place}.effect")
            if effect and effect != NO_SCHEDULE:
                self.problem("not-one-of", f"{place}.effect", f"{effect!r} is not {NO_SCHEDULE}")
            for name, message in (("key", key and label_key_problem(key)), ("value", label_value_problem(value))):
                if message:
                    self.problem("invalid-taint", f"{place}.{name}", message)
            taint = Taint(key=key, value=value, effect=effect)
            if key and taint in found:
                self.problem("duplicate-taint", place, "this taint stands twice")
            found.append(taint)
        return tuple(found)

    def amount(self, value: t.Any, path: str) -> str | None:
        """A quantity as text, None for null; numbers are taken as Python writes them. What is no quantity is a problem,
        and comes back if it is a text, else as an empty one."""
        if value is None:
            return None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = str(value)
        text = self.text(value, path)
        if text:
            try:
                parse_quantity(text)
            except ValueError as error:
                self.problem("invalid-quantity", path, str(error))
        return text

    def number(self, value: t.Any) -> int | None:
        """The number of clusters; None for null, and for what is no whole number from 0 to 2^31 - 1, a problem."""
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self.problem("wrong-type", "numberOfClusters", f"a whole number is wanted here, not {value!r:.60}")
        elif not 0 <= value <= MAX_INT32:
            self.problem("out-of-range", "numberOfClusters", f"{value} is not between 0 and {MAX_INT32}")
        else:
            return value
        return None

    def member(self, value: t.Any, path: str) -> str:
        """The name of a cluster, as of ``text``; one that is not in the fleet is a problem, and comes back all the
        same."""
        name = self.text(value, path)
        if name and name not in self.fleet:
            hint = did_you_mean(name, sorted(self.fleet))
            self.problem("unknown-cluster", path, f"no cluster of the fleet is named {name!r}", hint)
        return name

    def text(self, value: t.Any, path: str, empty: bool = False) -> str:
        """The text; empty for anything else, null too, which is a problem, as an empty text is unless ``empty``."""
        if value is None:
            self.problem("missing-field", path, "a text is required here")
        elif not isinstance(value, str):
            hint = "write it in quotes" if isinstance(value, (int, float)) else ""
            self.problem("wrong-type", path, f"text is wanted here, not {value!r:.60}", hint)
        elif not value and not empty:
            self.problem("empty-text", path, "the text must not be empty")
        return value if isinstance(value, str) else ""

    def items(self, row: Mapping[str, t.Any], key: str, path: str = "") -> t.Sequence[t.Any]:
        """The list under a key; empty where it is missing or null, and for what is no list, a problem."""
        value = row.get(key)
        if value is None:
            return ()
        if not isinstance(value, (list, tuple)):
            place = f"{path}.{key}" if path else key
            self.problem("wrong-type", place, f"a list is wanted here, not {value!r:.60}")
            return ()
        return value

    def mapping(self, value: t.Any, path: str, fields: tuple[str, ...] = ()) -> Mapping[str, t.Any]:
        """The entries of a map with text keys, unknown ones too; a key that is no text, or not one of ``fields`` if
        some are given, is a problem. What is no map is an empty one and a problem; so is null as an item of a list or
        map, elsewhere it is just an empty one."""
        if value is None and not path.endswith("]"):
            return {}
        if not isinstance(value, Mapping):
            self.problem("wrong-type", path, f"an object is wanted here, not {value!r:.60}")
            return {}
        for key in value:
            place = f"{path}.{key}" if path else str(key)
            if not isinstance(key, str):
                self.problem("wrong-type", place, f"the key {key!r} is not text", "write it in quotes")
            elif fields and key not in fields:
                self.problem("unknown-field", place, f"there is no field {key!r} here", _near(key, fields))
        return {key: one for key, one in value.items() if isinstance(key, str)}

    def problem(self, code: str, path: str, message: str, hint: str = "") -> None:
        """Adds a problem; ``path`` stands behind what the document is called."""
        self.problems.append(Problem(code, message, " ".join(part for part in (self.where, path) if part), hint))


def _near(word: str, known: t.Sequence[str]) -> str:
    """A hint: the known word that is most like it, or all that are known."""
    return did_you_mean(word, known) or f"known are {', '.join(known)}"
