# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Comparison of a manifest with a live object, field by field (``IfNoDiff``, ``ReportDiff``, ``FullComparison``): lists
item by item, quantities by value, fields that servers leave out or default; and what others have added to the object.

Only fields that the manifest names count (KubeFleet's PartialComparison), and the server is not asked for a dry run; in
a full comparison those count too that only the live object has, the server's defaults among them. Lists are compared as
the live object's managedFields tell their items apart, else by ``name``, else by position.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass, replace
from itertools import islice

from ...objects.identity import Manifest, metadata_of
from ...values.quantity import read_quantity
from .fields import (
    ABSENT,
    Absent,
    field_path,
    is_masked,
    is_secret,
    item_path,
    one_line,
    same_json,
    shown,
    value_path,
)
from .managed_fields import (
    KEYED,
    SET,
    LiveItems,
    Node,
    json_word,
    json_words,
    keys_of,
    list_style,
    match_items,
    owners,
)
from .ownership import OWNABLE_METADATA, UNOWNABLE, FieldDrift

MAX_DIFFS = 100

# Fields of Kubernetes' own kinds that hold quantities, by their own name or by that of the map around them.
QUANTITY_FIELDS = frozenset({"sizeLimit", "divisor", "averageValue"})
QUANTITY_MAPS = frozenset(
    {
        "limits",
        "requests",
        "capacity",
        "hard",
        "overhead",
        "podFixed",
        "min",
        "max",
        "default",
        "defaultRequest",
        "maxLimitRequestRatio",
    }
)
TEXT_KINDS = frozenset({"ConfigMap", "Secret"})
# Servers leave these out when they are empty, false or zero, so that a missing one is no difference. Other fields tell
# an explicit zero from none (runAsUser, ttlSecondsAfterFinished), so there a missing one counts.
OMITTED_WHEN_EMPTY = frozenset(
    {
        *("labels", "annotations", "finalizers", "nodeSelector", "matchLabels", "data", "binaryData", "stringData"),
        *("limits", "requests", "overhead", "parameters"),
    }
)
OMITTED_WHEN_ZERO = frozenset(
    {
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "stdin",
        "stdinOnce",
        "tty",
        "paused",
        "readOnly",
        "publishNotReadyAddresses",
        "globalDefault",
        "description",
        "initialDelaySeconds",
        "minReadySeconds",
        "subPath",
        "hostPort",
        *("preserveUnknownFields", "priority", "deprecated", "nullable", "uniqueItems", "insecureSkipTLSVerify"),
    }
)
OMITTED_WHEN_BLANK = frozenset(
    {
        *("value", "key", "effect", "prefix", "subPathExpr", "workingDir", "medium", "fsType", "secretName"),
        *("apiGroup", "serviceName", "format", "title"),
        *("host", "hostIP", "hostname", "subdomain", "loadBalancerIP", "externalName"),
        *("serviceAccountName", "priorityClassName"),
    }
)
# Maps that an apply replaces as a whole and that servers add nothing to: a key too many is a difference.
REPLACED_MAPS = frozenset(
    {"selector", "matchLabels", "nodeSelector", "podSelector", "namespaceSelector", "labelSelector"}
)


# What servers, KubeFleet and we write into metadata ourselves, so that no manifest needs to name it.
RESERVED_DOMAINS = ("kubernetes.io/", "k8s.io/", "kubernetes-fleet.io/", "gitops.fleet/")


@dataclass(frozen=True)
class FieldDiff:
    """One difference; ``live`` is None where the field is absent, ``desired`` where only the live object has it. Values
    and annotations of Secrets are replaced by their lengths."""

    path: str
    desired: t.Any
    live: t.Any

    def as_dict(self) -> dict[str, t.Any]:
        """Under the names of KubeFleet's ``observedDiffs``: ``path``, ``valueInHub``, and ``valueInMember`` for
        ``live``."""
        return {"path": self.path, "valueInHub": self.desired, "valueInMember": self.live}


@dataclass(frozen=True)
class _Pair:
    """``nodes`` are the fields here that managers own, ``names`` these managers."""

    path: str
    key: str
    parent: str
    desired: t.Any
    live: t.Any
    nodes: tuple[Node, ...]
    names: tuple[str, ...]
    masked: bool = False
    quantities: bool = True
    full: bool = False

    def below(self, path: str, key: str, name: str, desired: t.Any, live: t.Any) -> _Pair:
        """The pair one step down, which is called ``name`` in the trees of owners; of these only those who own
        something there."""
        held = [(node[name], who) for node, who in zip(self.nodes, self.names, strict=True) if name in node]
        nodes, names = tuple(node for node, _who in held), tuple(who for _node, who in held)
        return replace(self, path=path, key=key, parent=self.key, desired=desired, live=live, nodes=nodes, names=names)

    def field(self, key: str) -> _Pair:
        """The pair at a key of the manifest; live it may be ABSENT."""
        live = self.live.get(key, ABSENT) if isinstance(self.live, t.Mapping) else ABSENT
        return self.below(field_path(self.path, key), key, f"f:{key}", self.desired[key], live)

    def extra(self, key: str) -> _Pair:
        """A key that only the live object has."""
        return self.below(field_path(self.path, key), key, f"f:{key}", ABSENT, self.live[key])

    def item(self, path: str, name: str, desired: t.Any, live: t.Any) -> _Pair:
        """The pair at an item of a list, which is called ``name`` in the trees of owners."""
        return self.below(path, "", name, desired, live)

    def diff(self) -> FieldDiff:
        """The difference as it is shown; None for what is ABSENT."""
        return FieldDiff(self.path, shown(self.desired, self.masked), shown(self.live, self.masked))


def differences(
    desired: Manifest, live: Manifest, limit: int = MAX_DIFFS, *, full: bool = False
) -> tuple[FieldDiff, ...]:
    """At most ``limit`` differences in the order of the manifest, those in metadata after the others; identity and
    status are not compared, a null in ``desired`` says nothing, nor does a missing field that servers leave out when it
    is empty. Quantities are compared by value, base64 without line ends. ``live`` has passed ``check_managed_fields``.

    ``full`` adds what the manifest does not name, but for finalizers and for labels and annotations of Kubernetes and
    of the fleet.
    """
    return tuple(islice((pair.diff() for pair in _all(desired, live, full)), limit))


def added_by_others(desired: Manifest, live: Manifest, manager: str) -> tuple[FieldDrift, ...]:
    """What others than ``manager`` have put into the object beside what the manifest names, as of a full comparison
    (``differences``); at most MAX_DIFFS. What nobody owns is a server's default, and no addition; nor is what is in a
    list or map that differs as a whole. ``live`` has passed ``check_managed_fields``."""
    found = []
    for pair in _all(desired, live, full=True):
        others = tuple(dict.fromkeys(name for name in pair.names if name != manager))
        if isinstance(pair.desired, Absent) and others:
            found.append(FieldDrift(pair.path, None, pair.diff().live, others))
    return tuple(found[:MAX_DIFFS])


def _all(desired: Manifest, live: Manifest, full: bool) -> t.Iterator[_Pair]:
    """Each pair that differs, in the order of ``differences``."""
    _ours, everybody = owners(live, "")
    nodes, names = tuple(one.fields for one in everybody), tuple(one.name for one in everybody)
    quantities = str(desired.get("kind")) not in TEXT_KINDS
    root = _Pair("", "", "", desired, live, nodes, names, quantities=quantities, full=full)
    for key in desired:
        if key not in UNOWNABLE:
            yield from _differ(replace(root.field(key), masked=is_masked(key, desired, live)))
    yield from _differ_in_metadata(root)
    for key in _unnamed(root):
        if key not in UNOWNABLE:
            yield replace(root.extra(key), masked=is_masked(key, desired, live))


def _differ_in_metadata(root: _Pair) -> t.Iterator[_Pair]:
    """The pairs that differ in labels, annotations and finalizers; in a full comparison then the labels and annotations
    that only the live object has, but for those of ``RESERVED_DOMAINS``."""
    desired, live = metadata_of(root.desired), metadata_of(root.live)
    metadata = root.below(".metadata", "metadata", "f:metadata", desired, live)
    hides = "annotations" if is_secret(root.desired) else ""
    for key in desired:
        if key in OWNABLE_METADATA:
            yield from _differ(replace(metadata.field(key), full=False, masked=key == hides))
    for key in ("labels", "annotations") if root.full else ():
        named, found = desired.get(key) or {}, live.get(key) or {}
        pair = replace(metadata.below(f".metadata.{key}", key, f"f:{key}", named, found), masked=key == hides)
        for one in _unnamed(pair):
            if not any(domain in one for domain in RESERVED_DOMAINS):
                yield pair.extra(one)


def _unnamed(pair: _Pair) -> list[str]:
    """In a full comparison the keys of a live map that the manifest does not name; null on either side counts as no
    key. Empty in any other comparison, and where either is no map."""
    if not pair.full or not isinstance(pair.live, t.Mapping) or not isinstance(pair.desired, t.Mapping):
        return []
    return [key for key, value in pair.live.items() if value is not None and pair.desired.get(key) is None]


def _differ(pair: _Pair) -> t.Iterator[_Pair]:
    """The pairs at or below this one that differ, as ``differences`` says, each as far down as both sides go; a map of
    ``REPLACED_MAPS`` with a key too many is one as a whole."""
    if pair.desired is None:
        return
    if pair.live is None or isinstance(pair.live, Absent):
        if not _omitted(pair):
            yield pair
    elif isinstance(pair.desired, t.Mapping) and isinstance(pair.live, t.Mapping):
        if pair.key in REPLACED_MAPS and not pair.live.keys() <= pair.desired.keys():
            yield pair
            return
        for key in pair.desired:
            yield from _differ(pair.field(key))
        for key in _unnamed(pair):
            yield pair.extra(key)
    elif isinstance(pair.desired, list) and isinstance(pair.live, list):
        yield from _differ_in_list(pair)
    elif not (same_json(pair.desired, pair.live) or _same_quantity(pair) or _same_bytes(pair)):
        yield pair


def _differ_in_list(pair: _Pair) -> t.Iterator[_Pair]:
    """The pairs that differ in a list: by keys or as a set where owners tell, by name where nobody owns it and all
    items have one, else by position; the whole where it is of another length then."""
    style = list_style(pair.nodes)
    if style == KEYED:
        yield from _differ_in_keyed_list(pair)
    elif style == SET:
        yield from _differ_in_set(pair)
    elif not pair.nodes and _named(pair.desired) and _named(pair.live):
        yield from _differ_in_named_list(pair)
    elif len(pair.desired) != len(pair.live):
        yield pair
    else:
        for position, item in enumerate(pair.desired):
            yield from _differ(pair.item(f"{pair.path}[{position}]", f"i:{position}", item, pair.live[position]))


def _differ_in_named_list(pair: _Pair) -> t.Iterator[_Pair]:
    """The pairs that differ in a list whose items all have a name, then, in a full comparison, the live items of other
    names; the whole where nothing differs but the order of the wanted items, in which containers start and variables
    are filled in."""
    there = LiveItems(pair.live)
    found: list[_Pair] = []
    for item in pair.desired:
        keys = {"name": item["name"]}
        found += _differ(pair.item(item_path(pair.path, keys), "", item, there.having(keys)))
    yield from found
    wanted = {item["name"]: None for item in pair.desired}
    if not found and [*wanted] != [item["name"] for item in pair.live if item["name"] in wanted]:
        yield pair
        return
    for item in pair.live if pair.full else ():
        if item["name"] not in wanted:
            yield pair.item(item_path(pair.path, {"name": item["name"]}), "", ABSENT, item)


def _differ_in_keyed_list(pair: _Pair) -> t.Iterator[_Pair]:
    """The pairs that differ in a list whose items are told apart by keys, then, in a full comparison, the live items
    that match no wanted one."""
    known, there = keys_of(pair.nodes), LiveItems(pair.live)
    matched = set()
    for position, (name, keys) in enumerate(match_items(pair.desired, known)):
        path = item_path(pair.path, keys) if keys else f"{pair.path}[{position}]"
        found = there.having(keys)
        matched.add(id(found))
        yield from _differ(pair.item(path, name, pair.desired[position], found))
    others = match_items(pair.live, known) if pair.full else ()
    for position, (name, keys) in enumerate(others):
        item = pair.live[position]
        if id(item) not in matched:
            path = item_path(pair.path, keys) if keys else f"{pair.path}[{position}]"
            yield pair.item(path, name, ABSENT, item)


def _differ_in_set(pair: _Pair) -> t.Iterator[_Pair]:
    """The values that are not live, then, in a full comparison, those that only are live."""
    wanted, there = json_words(pair.desired), json_words(pair.live)
    for value in pair.desired:
        if json_word(value) not in there:
            yield pair.item(value_path(pair.path, value), "", value, ABSENT)
    # As servers write them, which is not as Python does.
    names = {json_word(json.loads(key[2:])): key for node in pair.nodes for key in node if key.startswith(SET)}
    for value in pair.live if pair.full else ():
        if (word := json_word(value)) not in wanted:
            yield pair.item(value_path(pair.path, value), names.get(word, ""), ABSENT, value)


def _named(items: list[t.Any]) -> bool:
    """Whether each item is a map with a text as ``name``, and no two have the same; so of an empty list."""
    names = [item.get("name") if isinstance(item, t.Mapping) else None for item in items]
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _omitted(pair: _Pair) -> bool:
    """Whether a missing field is as good as the value that is wanted, since servers leave it out: an empty list always,
    an empty map under names of ``OMITTED_WHEN_EMPTY``, false, zero or an empty text under those of
    ``OMITTED_WHEN_ZERO``, an empty text under those of ``OMITTED_WHEN_BLANK``. Not so the entries of such a map, whose
    names are the author's own."""
    if pair.desired == {}:
        return pair.key in OMITTED_WHEN_EMPTY
    if pair.desired == [] or pair.parent in OMITTED_WHEN_EMPTY:
        return bool(pair.desired == [])
    return (not pair.desired and pair.key in OMITTED_WHEN_ZERO) or (
        pair.desired == "" and pair.key in OMITTED_WHEN_BLANK
    )


def _same_quantity(pair: _Pair) -> bool:
    """Whether both are the same quantity, in a field that holds quantities; False in ConfigMaps and Secrets."""
    if not pair.quantities or not (pair.key in QUANTITY_FIELDS or pair.parent in QUANTITY_MAPS or _is_target(pair)):
        return False
    try:
        return read_quantity(pair.desired) == read_quantity(pair.live)
    except ValueError:
        return False


def _same_bytes(pair: _Pair) -> bool:
    """Whether both are the same base64 but for line ends, which servers take out, in a field that holds base64."""
    of_secret = pair.masked and pair.parent == "data"
    if not (of_secret or pair.parent == "binaryData" or pair.key == "caBundle"):
        return False
    wanted, there = pair.desired, pair.live
    return isinstance(wanted, str) and isinstance(there, str) and one_line(wanted) == one_line(there)


def _is_target(pair: _Pair) -> bool:
    """Whether it is ``target.value``, as of a metric of a HorizontalPodAutoscaler."""
    return pair.key == "value" and pair.parent == "target"
