# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""NodeClaim, NodeOverlay, EC2NodeClass, AKSNodeClass and PodDisruptionBudget as people write them, only judged: by
fields and rules of their published definitions (``two-prices``, ``restricted-capacity``, ``two-limits``), and their
names."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...schema.checking import Check, Written, check_object, no_written_text
from ...schema.finding import Finding
from ...schema.meta import EMPTY
from ...schema.metadata_rules import name_problem
from ...schema.prop import prop
from ...schema.rules import Found, not_overlapping
from ...values.selector import LabelSelector
from .claim_schema import (
    MAX_REQUIREMENTS,
    NodeClaimTemplateSpec,
    OverlayRequirement,
    check_claim,
    check_node_requirements,
)
from .node_class_rules import check_aks, check_ec2
from .node_class_schema import AksNodeClassSpec, Ec2NodeClassSpec

_OF_THE_MACHINE = frozenset(("cpu", "memory", "ephemeral-storage", "pods"))
# The published pattern tries each place for a point; this takes the same texts, long ones too.
_NUMBER = r"([0-9]+(\.[0-9]+)?|\.[0-9]+)"
# What is wrong over several fields of a spec, which ``check_object`` has freed of what is wrong in itself.
Rules = Callable[[Mapping[str, t.Any]], t.Iterator[Found]]


@dataclass(frozen=True, kw_only=True)
class NodeClaimResources:
    requests: t.Mapping[str, str] = prop("What pods will ask for.", default=EMPTY, quantity=True)


@dataclass(frozen=True, kw_only=True)
class WrittenNodeClaimSpec(NodeClaimTemplateSpec):
    resources: NodeClaimResources | None = prop("What the machine must have.", default=None)


@dataclass(frozen=True, kw_only=True)
class NodeOverlaySpec:
    capacity: t.Mapping[str, str] = prop("Further capacity.", default=EMPTY, quantity=True)
    price: str | None = prop("Price.", default=None, pattern=r"[0-9]+(\.[0-9]+)?", form="a price such as 0.5, as text")
    price_adjustment: str | None = prop(
        "Change of the price.",
        default=None,
        pattern=rf"\+{_NUMBER}%?|-{_NUMBER}|-[0-9]{{1,2}}(\.[0-9]+)?%|-100%",
        form="a change with its sign, such as +0.5 or -10%",
    )
    requirements: tuple[OverlayRequirement, ...] = prop("For which machines.", max_items=MAX_REQUIREMENTS)
    weight: int | None = prop("Which overlay comes first.", default=None, minimum=1, maximum=10000)


@dataclass(frozen=True, kw_only=True)
class PodDisruptionBudgetSpec:
    max_unavailable: int | str | None = prop("How many may be away.", default=None)
    min_available: int | str | None = prop("How many must be there.", default=None)
    selector: LabelSelector | None = prop("Which pods.", default=None)
    unhealthy_pod_eviction_policy: str | None = prop(
        "What becomes of pods that are not ready.", default=None, enum=("IfHealthyBudget", "AlwaysAllow")
    )


@dataclass(frozen=True)
class Judgement:
    """A kind whose ``spec`` is judged by the fields of a class, and by ``rules`` over several of them; ``served`` are
    its versions without the group, first the one to write. A spec that is not ``spec_needed`` may be absent or null."""

    group: str
    served: tuple[str, ...]
    spec: type
    rules: Rules
    spec_needed: bool = True


def _claim_rules(spec: Mapping[str, t.Any]) -> t.Iterator[Found]:
    """What ``check_claim`` finds in the spec of a NodeClaim."""
    yield from check_claim(spec, "spec", in_pool=False)


def _overlay_rules(spec: Mapping[str, t.Any]) -> t.Iterator[Found]:
    """What is wrong over several fields of a NodeOverlay's spec, which ``check_object`` has freed of what is wrong in
    itself: ``two-prices``, ``restricted-capacity``, what ``check_node_requirements`` finds, and ``values-missing`` for
    NotIn too."""
    if "price" in spec and "priceAdjustment" in spec:
        yield Found("two-prices", "spec", "price and priceAdjustment exclude each other", "keep one of them")
    for name in spec.get("capacity") or ():
        if name in _OF_THE_MACHINE:
            yield Found(
                "restricted-capacity", f"spec.capacity[{name}]", f"{name} is what the machine has", "leave it out"
            )
    rows = spec.get("requirements")
    yield from check_node_requirements(rows, "spec.requirements")
    for index, row in enumerate(rows or ()):
        if isinstance(row, Mapping) and row.get("operator") == "NotIn" and not row.get("values"):
            yield Found("values-missing", f"spec.requirements[{index}]", "NotIn needs values")


def _disruption_rules(spec: Mapping[str, t.Any]) -> t.Iterator[Found]:
    """``two-limits`` if a PodDisruptionBudget gives both limits, of whatever value."""
    if "maxUnavailable" in spec and "minAvailable" in spec:
        yield Found("two-limits", "spec", "maxUnavailable and minAvailable exclude each other", "keep one of them")


JUDGEMENTS: t.Mapping[str, Judgement] = {
    "NodeClaim": Judgement("karpenter.sh", ("v1",), WrittenNodeClaimSpec, _claim_rules),
    "NodeOverlay": Judgement("karpenter.sh", ("v1alpha1",), NodeOverlaySpec, _overlay_rules),
    "EC2NodeClass": Judgement("karpenter.k8s.aws", ("v1",), Ec2NodeClassSpec, check_ec2, spec_needed=False),
    "AKSNodeClass": Judgement(
        "karpenter.azure.com", ("v1beta1", "v1alpha2"), AksNodeClassSpec, check_aks, spec_needed=False
    ),
    "PodDisruptionBudget": Judgement("policy", ("v1",), PodDisruptionBudgetSpec, _disruption_rules, spec_needed=False),
}


def judge_written(
    document: Mapping[str, t.Any], known: Judgement, written: Written = no_written_text
) -> tuple[list[Found], list[Finding]]:
    """All problems, and the repairs, of a manifest that is of a kind of ``JUDGEMENTS``, ``known`` being its entry; its
    status and its API group are not judged. In a version that is not served, that is the only problem."""
    check = Check(written=written)
    version = str(document.get("apiVersion")).rpartition("/")[2]
    if version not in known.served:
        meant = f"{known.group}/{known.served[0]}"
        text = f"{document.get('kind')} is not served in {version!r:.40}"
        check.problem("unsupported-version", "apiVersion", text, f"write {meant}", meant)
        return check.problems, []
    for key in document:
        if key not in ("apiVersion", "kind", "metadata", "spec", "status"):
            check.problem("unknown-field", str(key), f"there is no field {key!r:.60} here")
    check.problems += check_written_metadata(document)
    spec = document.get("spec")
    if spec is None:
        if known.spec_needed:
            check.problem("missing-field", "spec", "spec is required")
        return check.problems, check.findings
    kept = check_object(check, known.spec, spec, "spec")
    if isinstance(kept, Mapping):
        check.problems += list(not_overlapping(check.problems, known.rules(kept)))
    return check.problems, check.findings


def check_written_metadata(document: Mapping[str, t.Any]) -> t.Iterator[Found]:
    """At most one problem of the name, which ``generateName`` may stand for: ``missing-field``, ``wrong-type`` or
    ``invalid-name``; or ``wrong-type`` of the metadata itself. Nothing else in it is judged."""
    metadata = document.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        yield Found("wrong-type", "metadata", f"an object is wanted here, not {metadata!r:.60}")
        return
    name = (metadata or {}).get("name")
    if name is None or name == "":
        if not (metadata or {}).get("generateName"):
            yield Found("missing-field", "metadata.name", "name is required")
    elif not isinstance(name, str):
        yield Found("wrong-type", "metadata.name", f"text is wanted here, not {name!r:.60}", "write it in quotes")
    elif problem := name_problem(name):
        yield Found("invalid-name", "metadata.name", f"{problem:.200}")
