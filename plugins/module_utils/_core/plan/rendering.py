# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Objects as each cluster gets them: cleaned, sealed and hashed, with the overrides that act there, and what these may
not do (``object-too-large``, ``override-identity``, ``malformed-metadata``); how overrides make clusters differ, and
what one cluster gets, shown."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace

from ..errors import FleetError, Problem
from ..objects.clusters.member_cluster import MemberCluster
from ..objects.identity import (
    Manifest,
    ObjectId,
    identify,
    metadata_of,
)
from ..objects.overrides.envelope import Origin
from ..objects.overrides.override import Override, ResourceOverride
from ..objects.overrides.override_rules import override_title
from ..objects.selectable import never_placed_problem, stopping_webhook_problem
from ..resources.cleaning import cleaned
from ..resources.comparison.fields import is_secret
from ..resources.comparison.left_alone import bad_ignores
from ..resources.overrides.effect import effect_name
from ..resources.overrides.overrides import Acting, acting, overridden, reaches
from ..resources.sealing import (
    object_hash,
    sealed,
    without_source,
    without_values,
)
from ..rollout.content import Overrides, OverridesByCluster
from ..schema.meta import NamespacedName
from ..values.canonical import canonical_json
from ..values.listed import number_of
from .changes import (
    CHANGED,
    LEFT_OUT,
    UNKNOWN,
    ObjectChange,
)
from .document import (
    PlacementPlan,
    Rendered,
    Rendering,
    reference,
)
from .object_changes import manifest_changes

# What etcd takes of one object (its --max-request-bytes).
MOST_BYTES = 1_572_864
TOLD = 3
Contents = tuple[Rendered, ...]


@dataclass(frozen=True, kw_only=True)
class Sealing:
    """``key`` seals what Secrets hold; empty where the records have none, and then their values are left out;
    ``source`` says where their content can be read again, empty for nowhere."""

    key: bytes = field(default=b"", repr=False)
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class ByCluster:
    """By name of the cluster: ``overrides`` that act on it, and what is ``rendered`` for it. Clusters on which none act
    are in neither, those for which they change nothing not in ``rendered``."""

    overrides: OverridesByCluster = field(default_factory=dict)
    rendered: t.Mapping[str, Contents] = field(default_factory=dict)


@dataclass(frozen=True)
class _Trouble:
    """What cannot be done to an object on a cluster."""

    cluster: str
    id: ObjectId
    problem: Problem


def as_placed(manifest: Manifest, sealing: Sealing, origin: Origin | None = None) -> Rendered:
    """A manifest as members get it: cleaned, and sealed and hashed for the records; ``origin`` is the envelope that it
    came out of, if it did. Without a key its hash does not cover what Secrets hold. FleetError ``object-too-large``,
    and ``unnamed-object`` and ``not-json`` as of ``identify`` and ``object_hash``."""
    clean = cleaned(manifest)
    large = _too_large(identify(clean), clean)
    if large:
        raise FleetError.of([large])
    hidden = sealed(clean, sealing.key, sealing.source) if sealing.key else without_values(clean)
    return Rendered(id=identify(clean), hash=object_hash(hidden), manifest=clean, sealed=hidden, origin=origin)


def by_cluster(
    objects: Contents, overrides: t.Sequence[Override], clusters: t.Iterable[MemberCluster], sealing: Sealing
) -> ByCluster:
    """What ``overrides`` (the attached ones in their order) make of the objects on each of the clusters, sealed as of
    ``as_placed``.

    FleetError with everything that cannot be done, each with cluster, object and place in the override: the problems of
    ``overridden``, ``override-identity``, ``malformed-metadata``, ``bad-ignore``, ``object-too-large``,
    ``stops-cluster``, and ``never-placed``. Of one problem the first ``TOLD`` clusters are told in full, the others
    together. FleetErrors of ``patched``, ``canonical_json`` and ``identify`` (where an override takes the name away)
    come at once, alone.
    """
    if not overrides:
        return ByCluster()
    work = _Overriding(objects, overrides, sealing)
    made: dict[t.Any, tuple[Overrides, Contents]] = {}
    failed: dict[t.Any, list[list[_Trouble]]] = {}
    names: dict[str, Overrides] = {}
    rendered: dict[str, Contents] = {}
    troubles: list[_Trouble] = []
    for cluster in clusters:
        rules = acting(overrides, cluster)
        like = (
            tuple((override_title(each.override), each.rules) for each in rules),
            (cluster.name, *sorted(cluster.metadata.labels.items())) if any(each.varies for each in rules) else (),
        )
        if not rules:
            continue
        if len(failed.get(like, ())) >= TOLD:
            troubles += [replace(each, cluster=cluster.name) for each in failed[like][0]]
            continue
        if like not in made:
            contents, found = work.contents(rules, cluster)
            if found:
                troubles += found
                failed.setdefault(like, []).append(found)
                continue
            made[like] = (work.names(rules, cluster), contents)
        names[cluster.name], contents = made[like]
        if contents != objects:
            rendered[cluster.name] = contents
    if troubles:
        raise FleetError.of(_told(troubles))
    return ByCluster(overrides=names, rendered=rendered)


class _Overriding:
    """The rendering of one placement: which override reaches which object is found out once."""

    def __init__(self, objects: Contents, overrides: t.Sequence[Override], sealing: Sealing) -> None:
        self._objects = objects
        self._sealing = sealing
        self._on = {each.id: {override_title(one) for one in overrides if reaches(one, each.id)} for each in objects}
        self._secret = {name for each in objects if is_secret(each.manifest) for name in self._on[each.id]}

    def names(self, rules: t.Iterable[Acting], cluster: MemberCluster) -> Overrides:
        """The names by which a binding tells what the rules do on the cluster, in their order. FleetError as of
        ``effect_name``."""
        wide, namespaced = [], []
        for each in rules:
            name = effect_name(each, cluster, override_title(each.override) in self._secret, self._sealing.key)
            if isinstance(each.override, ResourceOverride):
                namespaced.append(NamespacedName(name=name, namespace=each.override.metadata.namespace))
            else:
                wide.append(name)
        return Overrides(cluster=tuple(wide), namespaced=tuple(namespaced))

    def contents(self, rules: t.Sequence[Acting], cluster: MemberCluster) -> tuple[Contents, list[_Trouble]]:
        """What the cluster gets, in the order of the objects, and what cannot be done. An object that nothing is done
        to is the same one. FleetError as of ``by_cluster`` for what comes at once."""
        out, troubles = [], []
        for each in self._objects:
            mine = [one.override for one in rules if override_title(one.override) in self._on[each.id]]
            if not mine:
                out.append(each)
                continue
            found = overridden(each.manifest, mine, cluster)
            problems = found.problems or (
                _not_allowed(each, found.manifest, cluster) if found.manifest is not None else ()
            )
            troubles += [_Trouble(cluster.name, each.id, problem) for problem in problems]
            if found.manifest is not None and not problems:
                new = as_placed(found.manifest, self._sealing, each.origin)
                # Not by ==, for which 0 is false.
                same = canonical_json(new.manifest) == canonical_json(each.manifest)
                out.append(each if same else new)
        return tuple(out), troubles


def _not_allowed(was: Rendered, manifest: Manifest, cluster: MemberCluster) -> tuple[Problem, ...]:
    """Why the object cannot be placed once it is overridden, as it could not be selected so either. Where its metadata
    are malformed, nothing else is looked at. FleetError as of ``identify`` and ``canonical_json``."""
    found = [*_malformed(was.id, manifest)] or [*_unplaceable(was.id, manifest)]
    on = f"with its overrides for {cluster.name}"
    return tuple(replace(each, message=f"{each.message}, {on}", where=str(was.id)) for each in found)


def _malformed(each: ObjectId, manifest: Manifest) -> t.Iterator[Problem]:
    """``bad-ignore`` if the ``ignore`` annotation is no good, and ``malformed-metadata`` for labels and for annotations
    that map anything else than texts to texts or null, as where objects are selected."""
    yield from bad_ignores([(each, manifest)])
    for key in ("labels", "annotations"):
        if not _are_texts(metadata_of(manifest).get(key) or {}):
            yield Problem("malformed-metadata", f"the {key} of {each} map no texts to texts")


def _unplaceable(each: ObjectId, manifest: Manifest) -> t.Iterator[Problem]:
    """``override-identity`` alone if it is another object now; else those of ``never-placed``, ``stops-cluster`` and
    ``object-too-large`` that hold; the size is that of the cleaned one, in which a Secret's texts are base64.
    FleetError as of ``identify`` and ``canonical_json``."""
    if identify(manifest) != each:
        yield Problem("override-identity", f"{each} is another object")
        return
    found = (
        never_placed_problem(each, manifest),
        stopping_webhook_problem(each, manifest),
        _too_large(each, cleaned(manifest)),
    )
    yield from (one for one in found if one)


def _too_large(each: ObjectId, manifest: Manifest) -> Problem | None:
    """The Problem ``object-too-large`` for a manifest of more than ``MOST_BYTES`` of JSON, else None. FleetError as of
    ``canonical_json``."""
    size = len(canonical_json(manifest))
    if size <= MOST_BYTES:
        return None
    message = f"{each} has {size} bytes, and no API server keeps more than {MOST_BYTES} of an object"
    return Problem("object-too-large", message, str(each), "split it")


def _are_texts(value: t.Any) -> bool:
    """Whether the value is a map of texts to texts, or to null, which is left out when it is written."""
    return isinstance(value, t.Mapping) and all(
        isinstance(key, str) and isinstance(text, (str, type(None))) for key, text in value.items()
    )


def _told(troubles: t.Iterable[_Trouble]) -> t.Iterator[Problem]:
    """Of each problem (one code and place in the override, and one object) the first ``TOLD`` clusters in full, then
    one that names up to 12 of the others and counts them."""
    groups: dict[tuple[str, str, ObjectId], list[_Trouble]] = {}
    for each in troubles:
        groups.setdefault((each.problem.code, each.problem.where, each.id), []).append(each)
    for rows in groups.values():
        yield from (each.problem for each in rows[:TOLD])
        if len(rows) > TOLD:
            first, others = rows[0].problem, [each.cluster for each in rows[TOLD:]]
            names = ", ".join(others[: 4 * TOLD]) + (", ..." if len(others) > 4 * TOLD else "")
            message = f"the same in {rows[0].id} for {number_of(len(others), 'more cluster')}: {names}"
            yield Problem(first.code, message, first.where, first.hint)


def renderings(objects: Contents, rendered: t.Mapping[str, Contents]) -> tuple[Rendering, ...]:
    """How what clusters get (``rendered``, by cluster, of those alone that get something else) differs from
    ``objects``; clusters that get the same together, in order of their first name."""
    groups: dict[tuple[t.Any, ...], list[str]] = {}
    for cluster, contents in sorted(rendered.items()):
        groups.setdefault(tuple((each.id, each.hash) for each in contents), []).append(cluster)
    return tuple(_rendering(objects, rendered[clusters[0]], tuple(clusters)) for clusters in groups.values())


def _rendering(objects: Contents, contents: Contents, clusters: tuple[str, ...]) -> Rendering:
    """What these clusters get where it is not the very object of ``objects``, what is left out, and the changes."""
    there = {each.id: each for each in contents}
    other = tuple(there[each.id] for each in objects if each.id in there and there[each.id] is not each)
    left_out = tuple(each.id for each in objects if each.id not in there)
    before = {each.id: each for each in objects}
    changes = (_change(each, before[each.id]) for each in other)
    gone = (ObjectChange(id=each, action=LEFT_OUT) for each in left_out)
    return Rendering(clusters=clusters, objects=other, left_out=left_out, changes=(*changes, *gone))


def _change(new: Rendered, old: Rendered) -> ObjectChange:
    """How an overridden object differs from what it was, by fields; UNKNOWN where none can be shown."""
    fields = manifest_changes(new.sealed or new.manifest, old.sealed or old.manifest, new.id)
    return ObjectChange(id=new.id, action=CHANGED if fields else UNKNOWN, fields=fields)


def shown_on(plan: PlacementPlan, cluster: str) -> dict[str, t.Any]:
    """What the cluster gets, object by object as it is sent, and what not; values of Secrets are left out. Whether it
    is to hold the placement is not asked. Plain data: ``placement``, ``cluster``, ``overrides`` (names of their
    effects), ``objects`` (as plan files have them, with ``overridden`` and ``manifest``) and ``leftOut``."""
    names = plan.content.content_on(cluster).overrides
    base = {each.id: each for each in plan.objects}
    return {
        "placement": plan.name,
        "cluster": cluster,
        "overrides": [*names.cluster, *(f"{each.namespace}/{each.name}" for each in names.namespaced)],
        "objects": [
            {
                **each.as_dict(),
                "overridden": base[each.id] is not each,
                "manifest": without_source(without_values(each.manifest)),
            }
            for each in plan.objects_on(cluster)
        ],
        "leftOut": [reference(each) for each in plan.left_out_on(cluster)],
    }
