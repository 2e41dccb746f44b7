# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Manifests of our and KubeFleet's kinds that people write: read or judged, all problems at once (``unknown-kind``,
``unsupported-version``), with repairs (``older-version``) and warnings; the status of a record judged; and what an
update may not change."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ..errors import FleetError, Problem
from ..schema.checking import Check, Written, check_object, no_written_text
from ..schema.codec import decode
from ..schema.finding import Finding
from ..schema.hints import did_you_mean
from ..schema.metadata_rules import check_metadata
from ..schema.rules import Found, apart_from, not_overlapping
from .api_groups import FLEET_GROUP, PLACEMENT_GROUP
from .clusters.fleet_maintenance import FleetMaintenance
from .clusters.fleet_member import FleetMember, FleetMemberStatus
from .clusters.maintenance_rules import check_fleet_maintenance, warn_fleet_maintenance
from .clusters.member_cluster import MemberCluster
from .clusters.node_rotation import NodeRotation
from .clusters.node_rotation_rules import check_node_rotation
from .clusters.rules import check_fleet_member, check_member_cluster, check_member_status, warn_member_cluster
from .kinds import (
    KIND_OF,
    KINDS,
    AnyObject,
    Kind,
)
from .overrides.envelope import ClusterResourceEnvelope, ResourceEnvelope
from .overrides.envelope_rules import check_envelope
from .overrides.override import ClusterResourceOverride, ResourceOverride
from .overrides.override_rules import check_override, check_override_update, warn_override
from .placements.cluster_resource_placement import ClusterResourcePlacement, ResourcePlacement
from .placements.disruption_budget import ClusterResourcePlacementDisruptionBudget
from .placements.disruption_rules import (
    check_disruption_budget,
    check_eviction,
    check_eviction_update,
    warn_disruption_budget,
)
from .placements.eviction import ClusterResourcePlacementEviction
from .placements.placeholders import blocks_decision, hole_finding, without_holes
from .placements.repairs import repair_placement
from .placements.rules import check_placement, check_placement_update, warn_placement
from .staged.approval import ApprovalRequest, ClusterApprovalRequest
from .staged.rules import (
    check_approval_request,
    check_approval_request_update,
    check_staged_run,
    check_staged_run_update,
    check_staged_strategy,
    warn_staged_strategy,
)
from .staged.strategy import ClusterStagedUpdateStrategy, StagedUpdateStrategy
from .staged.update_run import ClusterStagedUpdateRun, StagedUpdateRun
from .updates.auto_upgrade_profile import AutoUpgradeProfile
from .updates.gate import Gate
from .updates.release_catalog import ReleaseCatalog
from .updates.release_rules import check_profile, check_profile_update, check_release_catalog
from .updates.run_rules import (
    check_gate,
    check_gate_update,
    check_update_run,
    check_update_run_update,
    warn_update_run,
)
from .updates.strategy import UpdateStrategy
from .updates.strategy_rules import check_update_strategy, warn_update_strategy
from .updates.update_run import UpdateRun

_RULES: dict[type, Callable[[t.Any], t.Iterator[Found]]] = {
    ClusterResourcePlacement: check_placement,
    ResourcePlacement: check_placement,
    MemberCluster: check_member_cluster,
    FleetMember: check_fleet_member,
    UpdateStrategy: check_update_strategy,
    UpdateRun: check_update_run,
    Gate: check_gate,
    FleetMaintenance: check_fleet_maintenance,
    NodeRotation: check_node_rotation,
    ReleaseCatalog: check_release_catalog,
    AutoUpgradeProfile: check_profile,
    ClusterResourceOverride: check_override,
    ResourceOverride: check_override,
    ClusterResourceEnvelope: check_envelope,
    ResourceEnvelope: check_envelope,
    ClusterResourcePlacementEviction: check_eviction,
    ClusterResourcePlacementDisruptionBudget: check_disruption_budget,
    ClusterStagedUpdateStrategy: check_staged_strategy,
    StagedUpdateStrategy: check_staged_strategy,
    ClusterStagedUpdateRun: check_staged_run,
    StagedUpdateRun: check_staged_run,
    ClusterApprovalRequest: check_approval_request,
    ApprovalRequest: check_approval_request,
}
_STATUS_RULES: dict[type, Callable[[t.Any], t.Iterator[Found]]] = {FleetMemberStatus: check_member_status}
_WARNINGS: dict[type, Callable[[t.Any], t.Iterator[Finding]]] = {
    ClusterResourcePlacement: warn_placement,
    ResourcePlacement: warn_placement,
    MemberCluster: warn_member_cluster,
    UpdateStrategy: warn_update_strategy,
    UpdateRun: warn_update_run,
    FleetMaintenance: warn_fleet_maintenance,
    ClusterResourceOverride: warn_override,
    ResourceOverride: warn_override,
    ClusterResourcePlacementDisruptionBudget: warn_disruption_budget,
    ClusterStagedUpdateStrategy: warn_staged_strategy,
    StagedUpdateStrategy: warn_staged_strategy,
}
_UPDATES: dict[type, Callable[[t.Any, t.Any], t.Iterator[Found]]] = {
    ClusterResourcePlacement: check_placement_update,
    ResourcePlacement: check_placement_update,
    UpdateRun: check_update_run_update,
    Gate: check_gate_update,
    AutoUpgradeProfile: check_profile_update,
    ClusterResourceOverride: check_override_update,
    ResourceOverride: check_override_update,
    ClusterResourcePlacementEviction: check_eviction_update,
    ClusterStagedUpdateRun: check_staged_run_update,
    StagedUpdateRun: check_staged_run_update,
    ClusterApprovalRequest: check_approval_request_update,
    ApprovalRequest: check_approval_request_update,
}


@dataclass(frozen=True)
class Reading:
    """An accepted manifest: the object, and what was repaired or is worth a word."""

    object: AnyObject
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class JudgedObject:
    """What was found about a manifest. ``about`` is ``Kind/name``, ``?`` for a name that is missing, and of a kind or
    version that is not read here the kind alone, or empty; ``object`` is None if there are problems."""

    about: str
    object: AnyObject | None
    problems: tuple[Found, ...]
    findings: tuple[Finding, ...]


def read(
    document: t.Any, where: str = "", strict: bool = False, holes: bool = False, written: Written = no_written_text
) -> Reading:
    """The object that a person's manifest describes; the API version stays the one that was written, unless it is an
    older one of KubeFleet's that is not kept here. FleetError with all problems, their codes those of
    ``schema.rules.RULES``; ``strict`` counts repairs among them. RecursionError as of ``judge``.

    ``where`` (such as ``file:line``) stands before the field path in problems and findings. With ``holes`` literal
    ``...`` in a placement are findings, if nothing else is wrong and its decisions need none of what they stand for.
    ``written`` as in ``Check``.
    """
    judged = judge(document, strict, holes, written)
    about = " ".join(filter(None, (where, judged.about)))
    if judged.object is None:
        raise FleetError.of(_problem(each, about) for each in judged.problems)
    return Reading(judged.object, tuple(replace(each, where=f"{about} {each.old_path}") for each in judged.findings))


def judge(
    document: t.Any, strict: bool = False, holes: bool = False, written: Written = no_written_text
) -> JudgedObject:
    """All problems and findings of a manifest, which is not changed; problems are returned, not raised. RecursionError
    for one that is nested hundreds deep. If its kind or version is none of those read here, only that is told.

    Problems of single fields come first; rules over several say nothing at, below or around their paths, and warnings
    nothing there nor at those of rules. What is wrong in the ``status`` of a kind of KubeFleet's is no problem: the
    status is left out then. Options as of ``read``; where ``holes`` lets all problems pass, they are the first
    findings, and selectors with a hole are left out of the placement.
    """
    kind = _kind(document)
    if isinstance(kind, tuple):
        about = str(document.get("kind") or "") if isinstance(document, Mapping) else ""
        return JudgedObject(about, None, kind, ())
    check = Check(strict, written=written)
    ours = _in_our_version(check, kind, document)
    if issubclass(kind.cls, ClusterResourcePlacement):
        ours = repair_placement(check, ours)
    clean = _checked(check, kind, ours)
    obj: AnyObject = decode(kind.cls, _copied(clean))
    problems = (*check.problems, *not_overlapping(check.problems, _rules(kind, obj)))
    warnings = _WARNINGS[kind.cls](obj) if kind.cls in _WARNINGS else ()
    apart = apart_from(problems)
    findings = (*check.findings, *(each for each in warnings if apart(each.old_path)))
    about = f"{kind.kind}/{_name(document)}"
    if holes and isinstance(obj, ClusterResourcePlacement) and not any(map(blocks_decision, problems)):
        return JudgedObject(about, without_holes(obj, problems), (), (*map(hole_finding, problems), *findings))
    return JudgedObject(about, None if problems else obj, problems, findings)


def judge_status(cls: type, document: t.Any) -> tuple[Found, ...]:
    """All problems of the status of a record, which others may write too: its fields, by ``cls``, the class of the
    status, and rules over several of them (of FleetMember alone). Paths begin with ``status``; repairs are not told."""
    check = Check()
    clean = check_object(check, cls, document, "status")
    found = _STATUS_RULES[cls](decode(cls, clean)) if cls in _STATUS_RULES and isinstance(clean, Mapping) else ()
    return (*check.problems, *not_overlapping(check.problems, found))


def _copied(value: t.Any) -> t.Any:
    """A deep copy of dicts, lists and tuples, so that what is frozen shares none with the caller's document; tuples
    become lists, and anything else is returned itself."""
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copied(each) for each in value]
    return value


def check_update(old: AnyObject, new: AnyObject, where: str = "") -> tuple[Problem, ...]:
    """The problems of changing ``old`` into ``new``, both accepted by themselves: fields and states that no update may
    change, with codes of ``schema.rules.RULES``; ``where`` stands before each place. Empty if the two are of different
    kinds."""
    judge = _UPDATES.get(type(new))
    if judge is None or type(old) is not type(new):  # pylint: disable=unidiomatic-typecheck  # kinds
        return ()
    about = " ".join(filter(None, (where, f"{new.kind}/{new.name}")))
    return tuple(_problem(each, about) for each in judge(old, new))


def _kind(document: t.Any) -> Kind | tuple[Found, ...]:
    """The kind that a manifest names, or why it is none that is read here: ``not-an-object``, ``missing-field`` (of
    apiVersion and kind, one or both), ``unsupported-group``, ``unknown-kind`` or ``unsupported-version``."""
    if not isinstance(document, Mapping):
        what = "a list" if isinstance(document, list) else "a single value"
        return (Found("not-an-object", "", f"a manifest is a mapping, not {what}"),)
    given = {key: document.get(key) for key in ("apiVersion", "kind")}
    missing = [key for key, value in given.items() if not isinstance(value, str) or not value]
    if missing:
        return tuple(Found("missing-field", key, f"{key} is required") for key in missing)
    api_version, name = str(given["apiVersion"]), str(given["kind"])
    group, _slash, version = api_version.rpartition("/")
    if group.endswith("kubefleet.dev"):
        hint = f"write it for {PLACEMENT_GROUP}/v1, which is what is read and written here"
        return (Found("unsupported-group", "apiVersion", f"objects of {group} are not interpreted", hint),)
    kind = KIND_OF.get(name)
    if kind is None or kind.group != group:
        hint, meant = did_you_mean(name, KIND_OF) or f"a fleet has {_kinds_by_group()}", None
        if kind:
            at_home = version if version in kind.published else kind.stored
            hint, meant = f"it stands in {kind.group}: write {kind.group}/{at_home}", f"{kind.group}/{at_home}"
        text = f"{name} of {group or 'the core group'} is no kind of a fleet"
        return (Found("unknown-kind", "", text, hint, meant),)
    if version not in kind.versions and version not in kind.published:
        hint = f"write {' or '.join(f'{group}/{each}' for each in kind.versions if each in kind.published)}"
        meant = kind.api_versions[0] if len(kind.versions) == 1 else None
        return (Found("unsupported-version", "apiVersion", f"{name} has no version {version!r}", hint, meant),)
    return kind


def _kinds_by_group() -> str:
    """Every kind that is read here, with its group named once."""
    kinds: dict[str, list[str]] = {}
    for each in KINDS:
        kinds.setdefault(each.group, []).append(each.kind)
    return "; ".join(f"in {group}: {', '.join(names)}" for group, names in kinds.items())


def _checked(check: Check, kind: Kind, document: Mapping[str, t.Any]) -> t.Any:
    """The manifest without what ``check_object`` cannot use of it; problems are added to ``check``.

    Status of upstream's kinds is no input: an exported object has one, of any release, and a server drops it. If
    something is wrong in it, it is left out without a problem.
    """
    clean = check_object(check, kind.cls, document)
    beside = [each for each in check.problems if not _is_status(each.path, document)]
    if kind.group == FLEET_GROUP or len(beside) == len(check.problems):
        return clean
    check.problems[:] = beside
    return {key: value for key, value in clean.items() if key != "status"}


def _is_status(path: str, document: Mapping[str, t.Any]) -> bool:
    """Whether the path of a problem is ``status`` or leads into it, and is not itself an unknown key at the top of the
    document."""
    return path == "status" or (path.startswith(("status.", "status[")) and path not in document)


def _in_our_version(check: Check, kind: Kind, document: Mapping[str, t.Any]) -> Mapping[str, t.Any]:
    """The manifest in a version that is kept here, itself if it is in one; fields are the same in all. Adds to
    ``check`` the finding ``version-not-served`` and the repair ``older-version`` where they hold."""
    printed = document["apiVersion"]
    version, correct = printed.rpartition("/")[2], f"{kind.group}/{kind.stored}"
    if version not in kind.published:
        text = f"KubeFleet serves no {kind.kind} in {version}; {kind.stored} is known here and there"
        check.findings.append(Finding("version-not-served", "apiVersion", "apiVersion", printed, correct, text))
    if version in kind.versions:
        return document
    text = f"KubeFleet still serves {version}, and stores what it takes as {kind.stored}"
    check.repair(Finding("older-version", "apiVersion", "apiVersion", printed, correct, text), f"write {correct}")
    return {**document, "apiVersion": correct}


def _name(document: Mapping[str, t.Any]) -> str:
    """``metadata.name``; ``?`` where it is missing, empty or no text."""
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) and name else "?"


def _rules(kind: Kind, obj: t.Any) -> t.Iterator[Found]:
    """What is wrong with the metadata, then over several fields, if the kind has such rules."""
    yield from check_metadata(obj.metadata, kind.name_limit, kind.name_pattern, kind.name_form, kind.namespaced)
    if kind.cls in _RULES:
        yield from _RULES[kind.cls](obj)


def _problem(found: Found, about: str) -> Problem:
    """The problem as callers get it, with ``about`` before its path."""
    return Problem(found.code, found.message, f"{about} {found.path}".strip(), found.hint)
