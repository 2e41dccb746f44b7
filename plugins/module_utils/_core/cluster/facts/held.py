# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a fleet holds, written into a facts snapshot and read from it (``held``, ``credentials``): placements, bindings,
names and hashes of objects; enough to plan as with the records, and no content of objects."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ...objects.api_groups import PLACEMENT_API
from ...objects.clusters.evacuation import EVACUATED
from ...objects.identity import ObjectId, group_version
from ...objects.placements.binding import (
    BOUND,
    HELD_BEFORE,
    INSTEAD_OF,
    PREVIOUS_STATE,
    SCHEDULED,
    UNSCHEDULED,
    BindingSpec,
    ClusterDecision,
    ClusterResourceBinding,
    ClusterScore,
    left_out_mark,
)
from ...objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...objects.placements.key import PlacementKey
from ...objects.placements.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot
from ...schema.codec import decode
from ...schema.meta import NamespacedName, ObjectMeta
from ...schema.metadata_rules import name_problem
from ...values.instants import parse_time, write_time

MOST_PLACEMENTS, MOST_BINDINGS, MOST_CONTENTS, MOST_OBJECTS = 10_000, 20_000, 1_000, 100_000
LONGEST, DEEPEST = 1_000, 100
# What plans read of a placement's annotations; whatever else people wrote there stays in the records.
ANNOTATIONS = ("gitops.fleet/source", "gitops.fleet/revision", "gitops.fleet/recovering")
METADATA = ("name", "namespace", "uid", "generation", "deletionTimestamp")
Row = t.Mapping[str, t.Any]


@dataclass(frozen=True, kw_only=True)
class HeldObject:
    """``hash`` is that of its sealed form, a keyed one for a Secret, as in the records; empty where it is not known any
    more."""

    id: ObjectId
    hash: str = ""


@dataclass(frozen=True, kw_only=True)
class HeldContents:
    """A resource snapshot without its resources: ``hash`` is that of all of them."""

    name: str
    index: int
    hash: str
    objects: tuple[HeldObject, ...] = ()


@dataclass(frozen=True, kw_only=True)
class HeldPlacement:
    """``document`` is the placement with its identity and spec, None where only what belongs to it is recorded;
    ``policy`` its newest policy snapshot, with name and hash. ``contents`` are in the order of their index."""

    document: t.Mapping[str, t.Any] | None = None
    bindings: tuple[ClusterResourceBinding, ...] = ()
    policy: ClusterSchedulingPolicySnapshot | None = None
    contents: tuple[HeldContents, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """What the fleet holds, by placement; ``credentials`` are namespace and name of the Secrets by which members are
    reached, which are never placed."""

    placements: t.Mapping[str, HeldPlacement] = field(default_factory=dict)
    credentials: frozenset[tuple[str, str]] = frozenset()


def write_holdings(holdings: Holdings) -> dict[str, t.Any]:
    """What the fleet holds as two parts of a facts snapshot (``held``, ``credentials``), in order of names; bindings
    and contents stay in the order given."""
    return {
        "held": {name: _placement(each) for name, each in sorted(holdings.placements.items())},
        "credentials": [{"namespace": namespace, "name": name} for namespace, name in sorted(holdings.credentials)],
    }


def read_holdings(document: Row) -> Holdings:
    """What the fleet holds by a facts snapshot, bindings by name and contents by index. ValueError where it is not of
    the form that ``write_holdings`` gives it, or has more or longer entries than are taken, AttributeError for
    annotations that are no map."""
    placements = _map_of_at_most(document.get("held"), "held", MOST_PLACEMENTS)
    credentials = (_map(each, "credentials") for each in _list(document.get("credentials") or [], "credentials"))
    return Holdings(
        placements={_key(name): _read_placement(name, row) for name, row in placements.items()},
        credentials=frozenset((_name(each.get("namespace")), _name(each.get("name"))) for each in credentials),
    )


def without_content(document: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """A recorded placement cut down to what plans read of it: kind, those of ``METADATA`` and ``ANNOTATIONS`` that are
    not empty, and its spec, which is shared. KeyError without metadata, name or spec, AttributeError for metadata or
    annotations that are no map."""
    metadata = document["metadata"]
    kept = {key: metadata[key] for key in METADATA if metadata.get(key)}
    written = metadata.get("annotations") or {}
    annotations = {key: written[key] for key in ANNOTATIONS if written.get(key)}
    return {
        "apiVersion": PLACEMENT_API,
        "kind": PlacementKey.of_record(document).kinds.placement,
        "metadata": {**kept, **({"annotations": annotations} if annotations else {})},
        "spec": document["spec"],
    }


def _placement(held: HeldPlacement) -> dict[str, t.Any]:
    """The row of a placement; ``metadata`` and ``spec`` are left out where there is no document, ``policy`` where there
    is none."""
    row: dict[str, t.Any] = {"bindings": [_binding(each) for each in held.bindings]}
    if held.document is not None:
        row |= {key: held.document[key] for key in ("metadata", "spec")}
    if held.policy:
        row["policy"] = {"name": held.policy.name, "hash": held.policy.spec.policy_hash}
    row["contents"] = [
        {"name": each.name, "index": each.index, "hash": each.hash, "objects": [_object(one) for one in each.objects]}
        for each in held.contents
    ]
    return row


def _object(held: HeldObject) -> list[str]:
    """API version, kind, namespace, name and hash, empty texts included."""
    return [held.id.api_version, held.id.kind, held.id.namespace, held.id.name, held.hash]


def _binding(binding: ClusterResourceBinding) -> dict[str, t.Any]:
    """The row of a binding without what is empty; ``reason`` only where it holds no snapshot, instants in RFC 3339."""
    spec, metadata = binding.spec, binding.metadata
    scores = spec.cluster_decision.cluster_score
    row = {
        "name": binding.name,
        "cluster": spec.target_cluster,
        "state": spec.state,
        "before": metadata.annotations.get(PREVIOUS_STATE, ""),
        "policy": spec.scheduling_policy_snapshot_name,
        "holds": binding.held_snapshot,
        "begun": "yes" if HELD_BEFORE in metadata.annotations else "",
        "evacuated": "yes" if EVACUATED in metadata.annotations else "",
        "insteadOf": metadata.annotations.get(INSTEAD_OF, ""),
        "clusterOverrides": list(spec.cluster_resource_override_snapshots),
        "overrides": [[each.namespace, each.name] for each in spec.resource_override_snapshots],
        "leftOut": [list(each) for each in sorted(binding.left_out)],
        "reason": "" if binding.held_snapshot else spec.cluster_decision.reason,
        "scores": [scores.affinity_score, scores.priority_score] if scores else [],
        "deleted": write_time(metadata.deletion_timestamp) if metadata.deletion_timestamp else "",
    }
    return {key: value for key, value in row.items() if value not in ("", [])}


def _read_placement(name: str, row: t.Any) -> HeldPlacement:
    """The placement of a row that ``_placement`` wrote, bindings by name and contents by index. ValueError for another
    form, more entries than are taken, and a name that stands twice; AttributeError as of ``_read_document``."""
    row = _map(row, name)
    policy = _map(row["policy"], f"{name} policy") if row.get("policy") else None
    bindings = tuple(
        _read_binding(_map(each, f"{name} bindings"))
        for each in _list(row.get("bindings") or [], f"{name} bindings", MOST_BINDINGS)
    )
    if len({each.name for each in bindings}) < len(bindings):
        raise ValueError(f"{name}: two bindings have one name")
    contents = [_read_contents(_map(each, name)) for each in _list(row.get("contents") or [], name, MOST_CONTENTS)]
    if len({each.name for each in contents}) < len(contents):
        raise ValueError(f"{name}: two contents have one name")
    return HeldPlacement(
        document=_read_document(name, row) if "spec" in row else None,
        bindings=tuple(sorted(bindings, key=lambda each: each.name)),
        policy=_read_policy(policy) if policy else None,
        contents=tuple(sorted(contents, key=lambda each: (each.index, each.name))),
    )


def _read_document(name: str, row: Row) -> dict[str, t.Any]:
    """The placement of a row as ``without_content`` has it; ValueError if its metadata are not those of ``name``, or
    its spec is not one or too deep, AttributeError for annotations that are no map."""
    metadata = _map(row.get("metadata"), f"{name} metadata")
    key = PlacementKey.of(name)
    if key.metadata(key.name).items() != _named(metadata) or not _is_whole(metadata.get("generation", 1)):
        raise ValueError(f"{name}: its metadata are those of something else")
    spec = _map(row["spec"], f"{name} spec")
    if not _is_within(spec, DEEPEST):  # it is kept as it is, and written again where no one looks at it
        raise ValueError(f"{name} spec: nested deeper than {DEEPEST} levels")
    document = without_content({"metadata": metadata, "spec": spec})
    decode(ClusterResourcePlacement, document)
    return document


def _is_within(value: t.Any, depth: int) -> bool:
    """Whether maps and lists are no more than ``depth`` in each other, the outermost counted."""
    below = value.values() if isinstance(value, t.Mapping) else value if isinstance(value, list) else None
    return below is None or (depth > 0 and all(_is_within(each, depth - 1) for each in below))


def _named(metadata: Row) -> t.ItemsView[str, t.Any]:
    """Name and namespace of the metadata, as far as they are not empty."""
    return {each: metadata[each] for each in ("name", "namespace") if metadata.get(each)}.items()


def _read_policy(row: Row) -> ClusterSchedulingPolicySnapshot:
    """The policy snapshot of a row with its name, its hash and generation 1; ValueError for another form."""
    return decode(
        ClusterSchedulingPolicySnapshot,
        {"metadata": {"name": _numbered(row.get("name")), "generation": 1}, "spec": {"policyHash": _text(row, "hash")}},
    )


def _read_contents(row: Row) -> HeldContents:
    """The contents of a row that ``_placement`` wrote, objects in their order; ValueError for another form."""
    index = row.get("index")
    if not _is_whole(index) or index < 0:
        raise ValueError(f"{index!r:.80} is no index of resources")
    objects = _list(row.get("objects") or [], "objects", MOST_OBJECTS)
    return HeldContents(
        name=_numbered(row.get("name")),
        index=index,
        hash=_text(row, "hash"),
        objects=tuple(map(_read_object, objects)),
    )


def _read_object(row: t.Any) -> HeldObject:
    """The object of a row of five texts, of which namespace and hash may be empty; ValueError for another form."""
    if not isinstance(row, list) or len(row) != 5 or not all(isinstance(each, str) for each in row):
        raise ValueError(f"{row!r:.80} names no object")
    api_version, kind, namespace, name, digest = (_short(each) for each in row)
    if not (api_version and kind and name):
        raise ValueError(f"{row!r:.80} names no object")
    return HeldObject(id=ObjectId(*group_version(api_version), kind, namespace, name), hash=digest)


def _read_binding(row: Row) -> ClusterResourceBinding:
    """The binding of a row that ``_binding`` wrote; ValueError for another form. Name, cluster and state have to be
    there, other texts that are missing are empty."""
    state, before, holds, scores = _text(row, "state"), _text(row, "before"), _text(row, "holds"), row.get("scores")
    if state not in (SCHEDULED, BOUND, UNSCHEDULED) or before not in ("", SCHEDULED, BOUND):
        raise ValueError(f"{state or before!r:.80} is no state of a binding")
    if scores and (not isinstance(scores, list) or len(scores) != 2 or not all(map(_is_score, scores))):
        raise ValueError(f"{scores!r:.80} are no scores")
    cluster, deleted = _name(row.get("cluster")), _text(row, "deleted")
    instead_of = _name(row["insteadOf"]) if row.get("insteadOf") else ""
    return ClusterResourceBinding(
        metadata=ObjectMeta(
            name=_name(row.get("name")),
            annotations={
                **({PREVIOUS_STATE: before} if before else {}),
                **({HELD_BEFORE: holds} if _text(row, "begun") else {}),
                **({EVACUATED: "true"} if _text(row, "evacuated") else {}),
                **({INSTEAD_OF: instead_of} if instead_of else {}),
                **left_out_mark(_left_out(row)),
            },
            deletion_timestamp=parse_time(deleted) if deleted else None,
        ),
        spec=BindingSpec(
            state=state,
            target_cluster=cluster,
            scheduling_policy_snapshot_name=_text(row, "policy"),
            resource_snapshot_name=_numbered(holds) if holds else "",
            cluster_resource_override_snapshots=tuple(
                _short(_a_text(each)) for each in _list(row.get("clusterOverrides") or [], "overrides")
            ),
            resource_override_snapshots=tuple(
                NamespacedName(namespace=namespace, name=name) for namespace, name in _rows(row, "overrides", 2)
            ),
            cluster_decision=ClusterDecision(
                cluster_name=cluster,
                selected=True,
                reason=_text(row, "reason"),
                cluster_score=ClusterScore(affinity_score=scores[0], priority_score=scores[1]) if scores else None,
            ),
        ),
    )


def _left_out(row: Row) -> list[ObjectId]:
    """The objects under ``leftOut``, without a version; ValueError for another form."""
    return [ObjectId(group, "", kind, namespace, name) for group, kind, namespace, name in _rows(row, "leftOut", 4)]


def _rows(row: Row, key: str, width: int) -> list[list[str]]:
    """The lists of ``width`` texts under a key, empty where it is absent or empty; ValueError for another form."""
    rows = _list(row.get(key) or [], key, MOST_OBJECTS)
    if not all(isinstance(each, list) and len(each) == width for each in rows):
        raise ValueError(f"{key}: lists of {width} texts are wanted")
    return [[_short(_a_text(one)) for one in each] for each in rows]


def _a_text(value: t.Any) -> str:
    """The value itself; ValueError if it is no text."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is no text")
    return value


def _is_score(value: t.Any) -> bool:
    """Whether it is None, or a whole number whose size is below 2^31."""
    return value is None or (_is_whole(value) and abs(value) < 2**31)


def _is_whole(value: t.Any) -> t.TypeGuard[int]:
    """Whether it is a whole number, which a truth value is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _map(value: t.Any, what: str) -> Row:
    """The value itself; ValueError, which names ``what``, if it is no mapping."""
    if not isinstance(value, t.Mapping):
        raise ValueError(f"{what:.80}: an object is wanted")
    return value


def _map_of_at_most(value: t.Any, what: str, most: int) -> Row:
    """The value itself; ValueError, which names ``what``, if it is no mapping or has more than ``most`` entries."""
    if len(_map(value, what)) > most:
        raise ValueError(f"{what:.80}: more than {most} entries")
    return t.cast(Row, value)


def _list(value: t.Any, what: str, most: int = MOST_BINDINGS) -> list[t.Any]:
    """The value itself; ValueError, which names ``what``, if it is no list or has more than ``most`` entries."""
    if not isinstance(value, list):
        raise ValueError(f"{what:.80}: a list is wanted")
    if len(value) > most:
        raise ValueError(f"{what:.80}: more than {most} entries")
    return value


def _short(value: str) -> str:
    """The text itself; ValueError if it has more than ``LONGEST`` characters."""
    if len(value) > LONGEST:
        raise ValueError(f"{value[:40]!r}... has more than {LONGEST} characters")
    return value


def _text(row: Row, key: str) -> str:
    """The text under a key, empty where it is absent; ValueError if it is null, no text or longer than ``LONGEST``."""
    value = row.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key}: {value!r:.80} is no text")
    return _short(value)


def _name(value: t.Any) -> str:
    """The value itself; ValueError if it cannot be the name of an object."""
    wrong = "a name is missing" if not isinstance(value, str) else name_problem(value[:LONGEST])
    if wrong:
        raise ValueError(wrong)
    return t.cast(str, value)


def _key(value: t.Any) -> str:
    """A placement's key as ``PlacementKey`` writes it; ValueError if its name or namespace cannot be one."""
    key = PlacementKey.of(value if isinstance(value, str) else "")
    if key.namespace:
        _name(key.namespace)
    _name(key.name)
    return str(key)


def _numbered(value: t.Any) -> str:
    """The name of a snapshot, which has its number (up to nine digits) at its end or before ``-snapshot``; ValueError
    for others."""
    name = _name(value)
    number = name.removesuffix("-snapshot").rpartition("-")[2]
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        raise ValueError(f"{name!r:.80} has no number, as names of snapshots have")
    return name
