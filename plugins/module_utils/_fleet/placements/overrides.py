# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""ClusterResourceOverrides and ResourceOverrides in files and on the hub (``duplicate-override``,
``override-in-file``), and which of them concern a placement."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._core.errors import FleetError, Problem
from ..._core.objects.api_groups import PLACEMENT_GROUP
from ..._core.objects.identity import ObjectId, metadata_of
from ..._core.objects.kinds import KIND_OF
from ..._core.objects.overrides.override import ClusterResourceOverride, Override, ResourceOverride
from ..._core.objects.overrides.override_rules import check_overrides, override_title
from ..._core.objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..._core.objects.reading import read
from ..._core.resources.overrides.overrides import attached
from ..._core.schema.checking import Written, no_written_text
from ..._kube.client import KubeClient
from ..._store.hub_objects import hub_objects
from ..._store.manifests import Manifest
from ..session import Session

CLASSES: tuple[type[Override], ...] = (ClusterResourceOverride, ResourceOverride)
KINDS = tuple(each.__name__ for each in CLASSES)


@dataclass(frozen=True)
class Unreadable:
    """An override of the hub that breaks a rule, as its ``problems`` say; ``namespace`` is empty for a
    ClusterResourceOverride."""

    namespace: str
    problems: tuple[Problem, ...]
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class LoadedOverrides:
    """Overrides, of whatever placement; ``unreadable`` are those on the hub that break a rule, ``findings`` repairs and
    warnings."""

    overrides: tuple[Override, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    findings: tuple[Problem, ...] = ()


def is_override(document: t.Mapping[str, t.Any]) -> bool:
    """Whether a manifest is of one of the two kinds, in whatever version of their group."""
    group = str(document.get("apiVersion", "")).rpartition("/")[0]
    return group == PLACEMENT_GROUP and document.get("kind") in KINDS


def overrides_in(manifests: t.Iterable[Manifest], strict: bool) -> LoadedOverrides:
    """The overrides among manifests of files, each kind and name once; ``strict`` as of ``read``. FleetError with every
    problem of all of them, also ``duplicate-override`` for two of one name whose specs differ."""
    found: dict[str, Override] = {}
    problems: list[Problem] = []
    findings: list[Problem] = []
    for each in manifests:
        if not is_override(each.document):
            continue
        try:
            override, told = _read(each.document, each.where, strict, each.written)
        except FleetError as error:
            problems.extend(error.problems)
            continue
        other = found.get(override_title(override))
        if other is not None and other.spec != override.spec:
            problems.append(
                Problem("duplicate-override", f"{override_title(override)} stands elsewhere as another one", each.where)
            )
        found[override_title(override)] = override
        findings += told
    if problems:
        raise FleetError.of(problems)
    return LoadedOverrides(overrides=tuple(found.values()), findings=tuple(findings))


def with_overrides_on_hub(written: LoadedOverrides, session: Session) -> LoadedOverrides:
    """Those of files together with those of the hub that keeps the records, if one does. FleetError as of
    ``overrides_on``, and ``records-copy`` for a copy of a hub's records: a plan without what only the hub tells would
    not be that of the apply."""
    if session.hub is not None:
        return merged_overrides(written, overrides_on(session.hub))
    origin = session.records.origin
    if origin is not None and origin.is_of_hub:
        text = f"placements follow from what only the {origin.place} tells, and these records are a copy"
        hint = "plan from a facts snapshot, without these records (gitops.fleet.facts writes it)"
        raise FleetError("records-copy", text, session.records.place, hint)
    return written


def overrides_on(hub: KubeClient) -> LoadedOverrides:
    """The overrides on the hub; none of a kind that it does not serve. One that breaks a rule is ``unreadable``, so
    that it stops only placements that it may concern. FleetError where the hub cannot be asked: nothing may be placed
    as if there were none."""
    found: list[Override] = []
    broken: list[Unreadable] = []
    for name in KINDS:
        kind = KIND_OF[name]
        for each in hub_objects(hub, name):
            metadata = metadata_of(each)
            kept = {key: metadata[key] for key in ("name", "namespace", "labels", "annotations") if key in metadata}
            document = {"apiVersion": f"{kind.group}/{kind.stored}", "kind": name, "metadata": kept}
            try:
                found.append(_read({**document, "spec": each.get("spec")}, "hub", strict=False)[0])
            except FleetError as error:
                namespace = str(kept.get("namespace") or "")
                named = "/".join(filter(None, (name, namespace, str(kept.get("name")))))
                broken.append(Unreadable(namespace, error.problems, named))
    return LoadedOverrides(overrides=tuple(found), unreadable=tuple(broken))


def merged_overrides(files: LoadedOverrides, hub: LoadedOverrides) -> LoadedOverrides:
    """The overrides of both; a file's counts before the hub's of that name, readable or not, and a finding
    ``override-in-file`` tells where they differ."""
    written = {override_title(each): each for each in files.overrides}
    there = {override_title(each): each for each in hub.overrides}
    unreadable = {each.title for each in hub.unreadable}
    told = tuple(
        Problem("override-in-file", f"{each} lies on the hub too, and is another one there", "hub", DIFFERS)
        for each in (*there, *sorted(unreadable))
        if each in written and (each in unreadable or written[each].spec != there[each].spec)
    )
    return LoadedOverrides(
        overrides=(*files.overrides, *(each for name, each in there.items() if name not in written)),
        unreadable=tuple(each for each in hub.unreadable if each.title not in written),
        findings=(*files.findings, *told),
    )


DIFFERS = "the file counts; apply it to the hub, or take one of them away"


def overrides_concerning(
    loaded: LoadedOverrides, placement: ClusterResourcePlacement, objects: t.Collection[ObjectId]
) -> tuple[Override, ...]:
    """The overrides of one placement, which selects ``objects``, the strongest last. FleetError where one that may
    concern it cannot be read, and as of ``check_overrides``."""
    namespaces = {"", *(each.namespace for each in objects)}
    problems = [one for each in loaded.unreadable if each.namespace in namespaces for one in each.problems]
    found = attached(loaded.overrides, placement, objects)
    problems += check_overrides(found)
    if problems:
        raise FleetError.of(problems)
    return found


def _read(
    document: t.Mapping[str, t.Any], where: str, strict: bool, written: Written = no_written_text
) -> tuple[Override, tuple[Problem, ...]]:
    """The override, and its repairs and warnings. FleetError with all its problems."""
    reading = read(document, where, strict, written=written)
    if not isinstance(reading.object, CLASSES):
        raise AssertionError("the kinds of overrides are read as such")
    return reading.object, tuple(Problem(each.code, each.message, each.where or where) for each in reading.findings)
