# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Every rule that a manifest can break, with its problem code and class (``python -m ...schema.rules`` prints them);
which broken ones have a cause of their own, and which items of a list they lead to."""

from __future__ import annotations

import re
import typing as t
from bisect import bisect_right
from dataclasses import dataclass

SCHEMA, CORE, REPAIR, WARNING = "schema", "core", "repair", "warning"


@dataclass(frozen=True)
class Rule:
    """``code`` is that of the problem or finding; ``text`` says what is wrong. ``kinds`` are those that it is for, with
    commas, or ``all``.

    ``rule_class``: SCHEMA, the API server with our CRDs refuses it and so do we; CORE, only we do; REPAIR, we accept
    what we make of it, with a finding (``strict``: a problem); WARNING, accepted with a finding.
    """

    code: str
    rule_class: str
    kinds: str
    text: str


@dataclass(frozen=True)
class Found:
    """A broken rule (``code``: of ``RULES``, or of those of NodePools) at a field path, empty for the whole document.
    ``hint`` says how to mend it, or is empty; ``meant`` is what should stand there, None unless only one thing can be
    meant."""

    code: str
    path: str
    message: str
    hint: str = ""
    meant: t.Any = None


def not_overlapping(known: t.Iterable[Found], found: t.Iterable[Found]) -> t.Iterator[Found]:
    """Those of ``found``, in their order, whose path is none of the ``known`` ones, and neither below nor around one:
    rules over several fields say nothing where a field itself is wrong already."""
    apart = apart_from(known)
    return (each for each in found if apart(each.path))


def apart_from(known: t.Iterable[Found]) -> t.Callable[[str], bool]:
    """A function that tells whether a path is none of the ``known`` ones, and neither below nor around one."""
    outermost: list[tuple[str, ...]] = []
    for place in sorted({_steps(each.path) for each in known}):
        if not outermost or not _within(place, outermost[-1]):
            outermost.append(place)

    def apart(path: str) -> bool:
        """Whether the path is neither at, below nor around one of the known places."""
        # In this order nothing stands between a place and what is around it, as none of them is within another.
        place = _steps(path)
        index = bisect_right(outermost, place)
        return not any(_within(place, each) for each in outermost[max(index - 1, 0) : index]) and not any(
            _within(each, place) for each in outermost[index : index + 1]
        )

    return apart


def indexes_at(paths: t.Iterable[str], path: str) -> frozenset[str]:
    """The indexes, as text, of the items of the list at ``path`` that ``paths`` lead to or into; of a map, the keys."""
    start = f"{path}["
    return frozenset(each[len(start) :].partition("]")[0] for each in paths if each.startswith(start))


def _steps(path: str) -> tuple[str, ...]:
    """The names and indexes of a path, each but the first with the dot or bracket before it: ``a``, ``.b``, ``[0]``."""
    return tuple(re.split(r"(?=[.\[])", path))


def _within(place: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    """Whether a place is the ``outer`` one or below it."""
    return place[: len(outer)] == outer


_ANY, _CRP, _MEMBER, _FLEET = "all", "ClusterResourcePlacement", "MemberCluster", "FleetMember"
_PLACEMENTS = "ClusterResourcePlacement, ResourcePlacement"
_MAINTENANCE, _CATALOG, _PROFILE = "FleetMaintenance", "ReleaseCatalog", "AutoUpgradeProfile"
_ROTATION = "NodeRotation"
_OVERRIDE, _OVERRIDES = "ClusterResourceOverride", "ClusterResourceOverride, ResourceOverride"
_ENVELOPES = "ClusterResourceEnvelope, ResourceEnvelope"
_EVICTION, _BUDGET = "ClusterResourcePlacementEviction", "ClusterResourcePlacementDisruptionBudget"
_STAGED_STRATEGIES = "ClusterStagedUpdateStrategy, StagedUpdateStrategy"
_STAGED_RUNS, _APPROVALS = "ClusterStagedUpdateRun, StagedUpdateRun", "ClusterApprovalRequest, ApprovalRequest"
_NAMESPACED = (
    "ResourcePlacement, ResourceOverride, ResourceEnvelope, StagedUpdateStrategy, StagedUpdateRun, ApprovalRequest"
)
_RUN, _GATE, _SEQUENCE, _GATES = "UpdateRun", "Gate", "UpdateStrategy, UpdateRun", "UpdateStrategy, UpdateRun, Gate"

RULES: tuple[Rule, ...] = (
    Rule("not-an-object", SCHEMA, _ANY, "The document is no mapping."),
    Rule("unknown-kind", SCHEMA, _ANY, "The API group has no such kind, or it is not supported."),
    Rule("unsupported-version", SCHEMA, _ANY, "The kind has no such version."),
    Rule("older-version", REPAIR, _ANY, "KubeFleet serves the version for the kind, and it is an older one."),
    Rule("version-not-served", WARNING, _ANY, "KubeFleet serves the kind in another version than that."),
    Rule("unsupported-group", SCHEMA, _ANY, "The newer groups under kubefleet.dev are not interpreted."),
    Rule("unknown-field", SCHEMA, _ANY, "There is no such field at this place."),
    Rule("missing-field", SCHEMA, _ANY, "A required field is missing."),
    Rule("wrong-type", SCHEMA, _ANY, "The value is of another type than the field."),
    Rule("not-one-of", SCHEMA, _ANY, "The value is none of those that the field knows."),
    Rule("out-of-range", SCHEMA, _ANY, "The number is too small or too large."),
    Rule("too-many-items", SCHEMA, _ANY, "The list is too long."),
    Rule("too-few-items", SCHEMA, _ANY, "The list is too short."),
    Rule(
        "invalid-count-or-percentage",
        SCHEMA,
        _ANY,
        "Neither a number of at least 0 nor 0% to 100%; for maxConcurrency of a staged update 1 and 1%.",
    ),
    Rule("wrong-form", SCHEMA, _ANY, "The text does not have the form of the field."),
    Rule("wrong-length", SCHEMA, _ANY, "The text is too short or too long."),
    Rule("invalid-time", SCHEMA, _ANY, "Not an instant in RFC 3339."),
    Rule("invalid-quantity", SCHEMA, _ANY, "A resource amount is not a Kubernetes quantity."),
    Rule("placeholder", SCHEMA, _ANY, "A literal `...` stands for a part that was left out."),
    Rule("placeholder-text", CORE, _ANY, "The same where any text would be taken at its word."),
    Rule("invalid-name", SCHEMA, _ANY, "metadata.name is not a lower-case DNS name, or not of the form of its kind."),
    Rule(
        "name-too-long",
        SCHEMA,
        f"{_PLACEMENTS}, {_MEMBER}, {_FLEET}, {_STAGED_RUNS}, {_SEQUENCE}, {_ROTATION}, {_PROFILE}",
        "metadata.name has more than 63 characters, or 50 for UpdateStrategy, UpdateRun and AutoUpgradeProfile.",
    ),
    Rule("unexpected-namespace", CORE, _ANY, "metadata.namespace is given for a cluster-scoped kind."),
    Rule("namespace-missing", CORE, _NAMESPACED, "metadata.namespace is missing for a kind that lies in one."),
    Rule("invalid-namespace", SCHEMA, _NAMESPACED, "metadata.namespace cannot be the name of a namespace."),
    Rule(
        "invalid-reference",
        CORE,
        f"{_EVICTION}, {_STAGED_RUNS}, {_APPROVALS}",
        "A name in the spec cannot be the name of any object.",
    ),
    Rule("spec-fixed", SCHEMA, f"{_EVICTION}, {_STAGED_RUNS}, {_APPROVALS}", "An update changes what is fixed."),
    Rule("invalid-label", SCHEMA, _ANY, "A label or annotation key, or a label value, is malformed."),
    Rule("empty-text", CORE, _ANY, "A text that must say something is empty."),
    Rule("label-value-not-text", REPAIR, _ANY, "A label value is a bare number or truth value."),
    Rule(
        "label-value-missing", CORE, _ANY, "A label has no value, which a server reads as no label, or as an empty one."
    ),
    Rule(
        "invalid-label-selector",
        CORE,
        f"{_PLACEMENTS}, {_OVERRIDES}, {_STAGED_STRATEGIES}, {_SEQUENCE}, {_MAINTENANCE}, {_ROTATION}",
        "A label selector has a bad key, operator or value.",
    ),
    Rule("name-with-label-selector", SCHEMA, _PLACEMENTS, "A resource selector has both a name and a label selector."),
    Rule(
        "scope-without-name", SCHEMA, _PLACEMENTS, "NamespaceWithResourceSelectors needs a name and no label selector."
    ),
    Rule(
        "scope-needs-one-namespace",
        SCHEMA,
        _PLACEMENTS,
        "NamespaceWithResourceSelectors may stand once, on the only Namespace selector.",
    ),
    Rule(
        "accessible-needs-one-namespace",
        SCHEMA,
        _CRP,
        "NamespaceAccessible needs exactly one selector of kind Namespace.",
    ),
    Rule("accessible-needs-a-name", CORE, _CRP, "NamespaceAccessible needs the name of that namespace."),
    Rule("not-for-placement-type", SCHEMA, _PLACEMENTS, "A policy field does not belong to the placement type."),
    Rule("number-of-clusters-missing", SCHEMA, _PLACEMENTS, "PickN has no numberOfClusters; none is guessed."),
    Rule("cluster-names-missing", CORE, _PLACEMENTS, "PickFixed names no cluster."),
    Rule("duplicate-cluster-name", CORE, _PLACEMENTS, "A cluster is named twice."),
    Rule("invalid-cluster-name", CORE, _PLACEMENTS, "A name in clusterNames cannot be the name of a member."),
    Rule(
        "preferred-with-pick-all", SCHEMA, _PLACEMENTS, "PickAll has preferred terms, but there is nothing to prefer."
    ),
    Rule("sorter-in-required", SCHEMA, _PLACEMENTS, "A required term has a property sorter."),
    Rule("property-selector-in-preferred", SCHEMA, _PLACEMENTS, "A preferred term has a property selector."),
    Rule("unknown-operator", CORE, _PLACEMENTS, "A property is compared by none of Gt, Ge, Eq, Ne, Lt, Le."),
    Rule("value-missing", CORE, _PLACEMENTS, "A property requirement has no value."),
    Rule("invalid-value", CORE, _PLACEMENTS, "The value of a property requirement is not a quantity."),
    Rule("unknown-property", CORE, _PLACEMENTS, "A property name has letters that no property name has."),
    Rule("invalid-property-name", CORE, _PLACEMENTS, "A property name is malformed."),
    Rule("unknown-capacity", CORE, _PLACEMENTS, "A resource property is not of total, allocatable or available."),
    Rule("resource-upper-case", CORE, _PLACEMENTS, "The resource of a property is not in lower case."),
    Rule("contradictory-requirements", CORE, _PLACEMENTS, "Requirements on one property can never hold together."),
    Rule("property-alias", WARNING, _PLACEMENTS, "A property is called by an older name."),
    Rule("metric-sorter", REPAIR, _PLACEMENTS, "The sorter is called metricSorter instead of propertySorter."),
    Rule("preferred-not-a-list", REPAIR, _PLACEMENTS, "The preferred terms are one object instead of a list."),
    Rule("preference-is-a-list", REPAIR, _PLACEMENTS, "A preference is a list of one instead of an object."),
    Rule("invalid-topology-key", CORE, _PLACEMENTS, "topologyKey is not a label key."),
    Rule("toleration-value-with-exists", SCHEMA, _PLACEMENTS, "A toleration with Exists has a value."),
    Rule("toleration-without-key", SCHEMA, _PLACEMENTS, "A toleration without key is not of operator Exists."),
    Rule("invalid-toleration", CORE, _PLACEMENTS, "Key or value of a toleration is malformed."),
    Rule("duplicate-toleration", CORE, _PLACEMENTS, "A toleration stands twice."),
    Rule("external-with-rolling-update", SCHEMA, _PLACEMENTS, "Strategy External has budgets of a rolling update."),
    Rule("config-without-server-side-apply", SCHEMA, _PLACEMENTS, "serverSideApplyConfig stands beside another type."),
    Rule("report-back-without-destination", SCHEMA, _PLACEMENTS, "Status is to be mirrored to nowhere."),
    Rule("policy-removed", SCHEMA, _PLACEMENTS, "An update takes the policy away."),
    Rule(
        "placement-type-changed", SCHEMA, _PLACEMENTS, "An update changes the placement type; no policy means PickAll."
    ),
    Rule("tolerations-changed", CORE, _PLACEMENTS, "An update changes or removes a toleration; adding is allowed."),
    Rule("external-left", SCHEMA, _PLACEMENTS, "An update leaves strategy External."),
    Rule("reporting-namespace-changed", CORE, _CRP, "An update selects another namespace than status is reported in."),
    Rule("reporting-scope-changed", SCHEMA, _CRP, "An update changes statusReportingScope."),
    Rule("invalid-taint", CORE, _MEMBER, "Key or value of a taint is malformed."),
    Rule("duplicate-taint", CORE, _MEMBER, "A taint stands twice."),
    Rule("subscription-id-no-uuid", WARNING, _MEMBER, "The label with the id of an Azure subscription is no UUID."),
    Rule("override-selector-without-name", SCHEMA, _OVERRIDE, "An override does not name a resource."),
    Rule("override-selector-with-labels", SCHEMA, _OVERRIDE, "An override selects resources by labels."),
    Rule("duplicate-override-selector", CORE, _OVERRIDES, "An override names one resource twice."),
    Rule("override-placement-scope", SCHEMA, _OVERRIDE, "A cluster-scoped override names a namespaced placement."),
    Rule("override-placement-changed", SCHEMA, _OVERRIDES, "An update sets, changes or removes the placement."),
    Rule("override-by-property", SCHEMA, _OVERRIDES, "A term of an override has more than a label selector."),
    Rule("override-term-without-labels", SCHEMA, _OVERRIDES, "A term of an override has no label selector."),
    Rule("rule-without-clusters", WARNING, _OVERRIDES, "A rule has no cluster selector and acts nowhere."),
    Rule("delete-with-patches", SCHEMA, _OVERRIDES, "A rule of type Delete has patches."),
    Rule("patches-missing", SCHEMA, _OVERRIDES, "A rule of type JSONPatch has no patches."),
    Rule("invalid-patch-path", CORE, _OVERRIDES, "The path of a patch is no JSON pointer."),
    Rule("forbidden-patch-path", CORE, _OVERRIDES, "A patch changes the identity of the object, or its status."),
    Rule("remove-with-value", CORE, _OVERRIDES, "A patch that removes has a value."),
    Rule("unclosed-variable", CORE, _OVERRIDES, "A variable has no closing brace."),
    Rule("unknown-variable", WARNING, _OVERRIDES, "A text looks like a variable and is none."),
    Rule("enveloped-unnamed", CORE, _ENVELOPES, "A manifest in an envelope lacks API version, kind or name."),
    Rule("enveloped-scope", CORE, _ENVELOPES, "A manifest in an envelope is of the other scope or namespace."),
    Rule("enveloped-twice", CORE, _ENVELOPES, "An envelope holds one object twice."),
    Rule("enveloped-never-placed", CORE, _ENVELOPES, "A manifest in an envelope is of a kind that is never placed."),
    Rule("malformed-metadata", CORE, _ENVELOPES, "Labels or annotations of an enveloped manifest are no texts."),
    Rule("stops-cluster", CORE, _ENVELOPES, "An enveloped webhook could stop a member for good."),
    Rule("two-limits", SCHEMA, _BUDGET, "Both maxUnavailable and minAvailable are given."),
    Rule("eviction-never-permitted", WARNING, _BUDGET, "No limit is given, which refuses every eviction."),
    Rule("wait-before-stage", SCHEMA, _STAGED_STRATEGIES, "A TimedWait stands before a stage."),
    Rule("wait-missing", SCHEMA, _STAGED_STRATEGIES, "A TimedWait has no waitTime."),
    Rule("wait-not-wanted", SCHEMA, _STAGED_STRATEGIES, "An Approval has a waitTime."),
    Rule("wait-not-usable", CORE, _STAGED_STRATEGIES, "The waitTime of a TimedWait is zero, or beyond 292 years."),
    Rule("duplicate-task", SCHEMA, _STAGED_STRATEGIES, "Two tasks after a stage are of one type."),
    Rule("invalid-sorting-key", CORE, _STAGED_STRATEGIES, "sortingLabelKey is not a label key."),
    Rule("no-stages", WARNING, _STAGED_STRATEGIES, "There are no stages, so that no cluster is updated."),
    Rule("stage-takes-nothing", WARNING, _STAGED_STRATEGIES, "A stage has no label selector and takes no cluster."),
    Rule("invalid-snapshot-index", CORE, _STAGED_RUNS, "resourceSnapshotIndex is not a whole number from 0 on."),
    Rule("state-not-reachable", SCHEMA, _STAGED_RUNS, "An update goes back to Initialize, or from there to Stop."),
    Rule("connection-source", SCHEMA, _FLEET, "Not exactly one of kubeconfig, secretRef and inCluster."),
    Rule("context-in-cluster", SCHEMA, _FLEET, "A context is named for a connection from inside the cluster."),
    Rule(
        "number-not-text",
        REPAIR,
        f"{_STAGED_RUNS}, {_SEQUENCE}, {_MAINTENANCE}, {_ROTATION}",
        "A limit or an index is a bare whole number instead of text.",
    ),
    Rule("stage-selects-nothing", SCHEMA, _SEQUENCE, "A stage has neither groups nor a member selector."),
    Rule("duplicate-stage", SCHEMA, f"{_STAGED_STRATEGIES}, {_SEQUENCE}", "Two stages have one name."),
    Rule("duplicate-group", SCHEMA, _SEQUENCE, "Two groups of a stage have one name."),
    Rule("group-in-two-stages", CORE, _SEQUENCE, "Groups of two stages have one name."),
    Rule("concurrency-above-ceiling", SCHEMA, _SEQUENCE, "maxConcurrency of a stage is a number above 50."),
    Rule("schedule-missing", SCHEMA, _GATES, "A ScheduledStart gate does not say when."),
    Rule("schedule-not-wanted", SCHEMA, _GATES, "An Approval gate has a schedule."),
    Rule("scheduled-after", SCHEMA, _SEQUENCE, "A ScheduledStart gate stands in afterGates."),
    Rule("group-limit-stricter", WARNING, _SEQUENCE, "A group tolerates fewer failures than its stage."),
    Rule("group-limit-looser", WARNING, _SEQUENCE, "A group tolerates more failures than its stage."),
    Rule("concurrency-above-stage", WARNING, _SEQUENCE, "A group asks for more members at once than its stage has."),
    Rule("wait-not-served", WARNING, _SEQUENCE, "The last stage has a wait, and no stage follows."),
    Rule("two-sequences", SCHEMA, _RUN, "Both updateStrategyId and strategy are given."),
    Rule("version-missing", SCHEMA, _RUN, "Full or ControlPlaneOnly has no kubernetesVersion."),
    Rule("version-not-wanted", SCHEMA, _RUN, "NodeImageOnly has a kubernetesVersion."),
    Rule("chain-not-wanted", SCHEMA, _RUN, "NodeImageOnly, or a run of a profile, has chain."),
    Rule("images-missing", SCHEMA, _RUN, "Custom names no node image."),
    Rule("images-not-wanted", SCHEMA, _RUN, "Node images are named for Latest or Consistent."),
    Rule("duplicate-image-family", CORE, _RUN, "Two node images of one family are named."),
    Rule("images-not-touched", WARNING, _RUN, "ControlPlaneOnly has a selection of node images, which has no effect."),
    Rule("spec-of-started-run", SCHEMA, _RUN, "An update changes the spec of a run that was started."),
    Rule("status-not-yours", CORE, _RUN, "An update changes status, which is a record."),
    Rule("gate-changed", SCHEMA, _GATE, "An update changes the spec of a gate."),
    Rule("gate-state", CORE, _GATE, "An update changes the state of a gate to other than Completed, or reopens it."),
    Rule("schedule-form", SCHEMA, _MAINTENANCE, "A schedule is not of exactly one form."),
    Rule("window-source", SCHEMA, _MAINTENANCE, "Not exactly one of maintenanceWindow and timeInWeek."),
    Rule("not-for-this-window", SCHEMA, _MAINTENANCE, "The window's name does not go with that form of schedule."),
    Rule("two-clocks", SCHEMA, _MAINTENANCE, "Both utcOffset and timeZone are given."),
    Rule("unknown-time-zone", CORE, _MAINTENANCE, "There is no IANA time zone of that name."),
    Rule("no-such-date", CORE, _MAINTENANCE, "The month has no such day."),
    Rule("ends-before-start", SCHEMA, _MAINTENANCE, "A span ends before it begins."),
    Rule("duplicate-name", SCHEMA, _MAINTENANCE, "Two freezes or two budgets have one name."),
    Rule("budget-of-nothing", SCHEMA, _MAINTENANCE, "A budget limits neither members nor nodes."),
    Rule("start-date-missing", WARNING, _MAINTENANCE, "An interval of more than one is counted from no stated day."),
    Rule("reserved-name", CORE, _ROTATION, "The name means on nodes that a person drains them."),
    Rule("half-a-window", SCHEMA, _ROTATION, "A budget has a schedule without a duration, or the other way round."),
    Rule("unreadable-schedule", CORE, _ROTATION, "A budget's schedule cannot be read, or never comes."),
    Rule("duplicate-location", SCHEMA, _CATALOG, "Two locations have one name."),
    Rule("duplicate-family", CORE, _CATALOG, "A location has a family of images twice."),
    Rule("duplicate-release", CORE, _CATALOG, "A location has a version, or a family an image, twice."),
    Rule("not-a-release", CORE, _CATALOG, "A version's suffix is malformed."),
    Rule("target-minor-missing", SCHEMA, _PROFILE, "TargetKubernetesVersion has no targetKubernetesVersion."),
    Rule("target-minor-not-wanted", SCHEMA, _PROFILE, "Another channel has a targetKubernetesVersion."),
    Rule("long-term-not-wanted", SCHEMA, _PROFILE, "Another channel than TargetKubernetesVersion has longTermSupport."),
    Rule("profile-field-fixed", SCHEMA, _PROFILE, "An update changes updateStrategyId or nodeImageSelection."),
)
RULE_OF: t.Mapping[str, Rule] = {rule.code: rule for rule in RULES}


def as_markdown() -> str:
    """All rules as the table in ``docs/objects.md``, in the order of ``RULES``."""
    rows = [f"| `{rule.code}` | {rule.rule_class} | {rule.kinds} | {rule.text} |" for rule in RULES]
    return "\n".join(["| code | class | kinds | what is wrong |", "|---|---|---|---|", *rows]) + "\n"


if __name__ == "__main__":
    print(as_markdown(), end="")  # pylint: disable=ansible-bad-function  # a command
