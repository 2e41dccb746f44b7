# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a document is taken for, and that any document at all gets an answer."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils import _core
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.codes import (
    TEXTS,
    as_markdown,
    text_of,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.document import Judged, judge_document, mend
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.fleet import remarks_across
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.kinds import KINDS
from ansible_collections.gitops.fleet.tests.data.manifest_parts import PICK_N, crp, named, rp
from ansible_collections.gitops.fleet.tests.data.rollout_parts import budget, eviction
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import (
    anything,
    mutated,
    written,
)

FOLDER = Path(__file__).resolve().parents[5] / "data" / "lint"
SAMPLES = [
    each for file in sorted(FOLDER.glob("*.*")) for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each
]
NOW = datetime(2026, 11, 2, tzinfo=UTC)
FIXED = {"placementType": "PickFixed", "clusterNames": ["eu-1"]}
CORE = Path(_core.__path__[0])
SOURCES = (
    "objects/overrides/override_rules.py",
    "objects/overrides/envelope_rules.py",
    "objects/karpenter/node_pool_forms.py",
    "objects/karpenter/node_pool_schema.py",
    "objects/karpenter/reading.py",
    "disruption/do_not_disrupt.py",
    "disruption/budgets/lint.py",
    "disruption/lint_pool.py",
    "objects/karpenter/claim_schema.py",
    "objects/karpenter/manifests.py",
    "objects/karpenter/node_class_rules.py",
    "objects/karpenter/node_class_parts.py",
    "objects/karpenter/node_class_schema.py",
    "lint/annotations.py",
    "lint/document.py",
    "lint/fleet.py",
    "lint/placement.py",
)
# Judged against what stands in the cluster, or by the plan.
NOT_OF_FILES = {"override-placement-changed", "too-many-overrides"}
# Values of fields.
NOT_OF_FILES |= {"ephemeral-storage", "best-effort", "single-numa-node", "efa-only"}


def judged(document: object) -> Judged:
    return judge_document(document, NOW)


@pytest.mark.parametrize(
    ("document", "taken_for", "checked"),
    [
        ({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web"}}, "NodePool/web", True),
        ({"spec": {"disruption": {}}}, "NodePool", True),
        ({"disruption": {}}, "NodePool", True),
        ({"budgets": []}, "NodePool", True),
        ([{"nodes": "5"}], "NodePool", True),
        ({"stages": []}, "UpdateStrategy", True),
        ({"name": "waves", "properties": {"strategy": {"stages": []}}}, "UpdateStrategy/waves", True),
        ({"apiVersion": "gitops.fleet/v1alpha1", "kind": "Gate", "metadata": {"name": "g"}}, "Gate/g", True),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, "ConfigMap/c", False),
        ({"apiVersion": "karpenter.azure.com/v1beta1", "kind": "AKSNodeClass"}, "AKSNodeClass", True),
        ({"replicas": 2}, "", False),
        ({"spec": {"stages": 3}}, "", False),
        ([], "", False),
        (None, "", False),
    ],
)
def test_what_a_document_is_taken_for(document, taken_for, checked):
    found = judged(document)
    assert (found.object, found.checked) == (taken_for, checked)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Pod", "metadata"),
        ("StatefulSet", "spec.template.metadata"),
        ("CronJob", "spec.jobTemplate.spec.template.metadata"),
    ],
)
def test_the_annotation_is_looked_for_where_a_kind_has_its_pods(kind, path):
    """D0-93."""
    document: dict[str, object] = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}}
    inner = {"annotations": {"karpenter.sh/do-not-disrupt": False}}
    for step in reversed(path.split(".")[1:] if path == "metadata" else path.split(".")):
        inner = {step: inner}
    document = {**document, **({"metadata": {"name": "x", **inner}} if path == "metadata" else inner)}
    (remark,) = judged(document).remarks
    assert (remark.code, remark.path) == ("wrong-type", f"{path}.annotations[karpenter.sh/do-not-disrupt]")
    assert list(remark.mended.values()) == ["false"]


def test_constraints_are_explained_where_the_number_is_missing_d4_29():
    spread = [{"topologyKey": "site"}, {"topologyKey": "rack", "maxSkew": 3, "whenUnsatisfiable": "ScheduleAnyway"}]
    policy = {"placementType": "PickN", "topologySpreadConstraints": spread}
    error, hard, soft = judged(crp(policy)).remarks
    assert (error.level, error.path) == ("error", "spec.policy.numberOfClusters")
    assert "label site differ by 1 at most" in hard.message and "is not picked" in hard.message
    assert "label rack differ by 3 at most" in soft.message and "picked after the others" in soft.message
    assert judged(crp({**policy, "numberOfClusters": 2})).remarks == ()
    half = judged(crp({**policy, "topologySpreadConstraints": [{"maxSkew": 0}, spread[1], "x"]})).remarks
    assert [each.path[-3:] for each in half if each.code == "spread-in-words"] == ["[1]"]


def test_a_repair_in_a_repair_is_mended_too():
    document = {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "x"},
        "spec": {
            "policy": {
                "affinity": {
                    "clusterAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": {
                            "weight": 1,
                            "preference": [{"labelSelector": {"matchLabels": {"tier": 2}}}],
                        }
                    }
                }
            }
        },
    }
    affinity = mend(judged(document))["spec"]["policy"]["affinity"]["clusterAffinity"]
    wanted = {"weight": 1, "preference": {"labelSelector": {"matchLabels": {"tier": "2"}}}}
    assert affinity == {"preferredDuringSchedulingIgnoredDuringExecution": [wanted]}
    assert document["spec"]["policy"]["affinity"]["clusterAffinity"] != affinity, "the given one is not changed"


@pytest.mark.parametrize(
    ("policy", "document", "expected"),
    [
        (None, budget(maxUnavailable=1), ["budget-for-pick-all spec.maxUnavailable"]),
        ({"placementType": "PickAll"}, budget(minAvailable="50%"), ["budget-for-pick-all spec.minAvailable"]),
        (None, budget(minAvailable=2), []),
        (PICK_N, budget(maxUnavailable="50%"), []),
        (FIXED, budget(maxUnavailable=1), []),
        (FIXED, eviction(), ["eviction-from-pick-fixed spec.placementName"]),
        (PICK_N, eviction(), []),
        (FIXED, eviction(placementName="other"), []),
    ],
)
def test_budgets_and_evictions_are_judged_beside_their_placement(policy, document, expected):
    def remarks(*placements):
        rows = [(each, f"{each['kind']}/{each['metadata']['name']}") for each in (*placements, document)]
        found = list(remarks_across(rows, [f"f:{number}" for number in range(len(rows))]))
        return [f"{each.code} {each.path}" for index, each in found if index == len(rows) - 1]

    placement = named(crp(policy), name="web")
    assert remarks(placement) == expected
    assert remarks(placement, named(crp(PICK_N), name="web")) == [], "one for each environment: nobody knows which"


def test_one_name_in_two_groups_or_namespaces_is_no_repetition():
    def row(kind, group, namespace=None):
        return {
            "apiVersion": f"{group}/v1",
            "kind": kind,
            "metadata": {"name": "a", "namespace": namespace},
        }, f"{kind}/a"

    rows = [
        row("MemberCluster", "cluster.kubernetes-fleet.io"),
        row("ClusterResourcePlacement", "placement.kubernetes-fleet.io"),
        row("ResourceOverride", "placement.kubernetes-fleet.io", "one"),
        row("ResourceOverride", "placement.kubernetes-fleet.io", "two"),
        row("ConfigMap", "x.io"),
        row("ConfigMap", "x.io"),
    ]
    assert list(remarks_across(rows, [f"f:{number}" for number in range(len(rows))])) == []
    assert [index for index, _remark in remarks_across([*rows, rows[0]], ["f"] * 7)] == [6]


@pytest.mark.parametrize("seed", range(80))
def test_any_document_is_judged_and_mended_without_a_crash(seed):
    chance = random.Random(seed)
    documents = [anything(chance), {"budgets": anything(chance)}, {"stages": anything(chance)}]
    documents += [mutated(chance, chance.choice(SAMPLES), times) for times in (1, 2, 4, 8)]
    for kind in chance.sample(KINDS, 3):
        head = {"apiVersion": kind.api_versions[0], "kind": kind.kind}
        documents.append(mutated(chance, {**written(chance, kind.cls), **head}))
    found = [judged(document) for document in documents]
    for each in found:
        mend(each, consent=True)
    list(remarks_across([(document, each.object) for document, each in zip(documents, found, strict=True)], ["f"] * 10))


def test_every_code_has_a_text():
    for source in SOURCES:
        codes = set(re.findall(r'"([a-z]+(?:-[a-zA-Z]+)+)"', (CORE / source).read_text(encoding="utf-8")))
        assert codes - TEXTS.keys() - NOT_OF_FILES == set(), source
    assert text_of("some-new-code") == "Some new code."


def test_the_documentation_lists_the_codes():
    """Print the table with ``python -m ansible_collections...lint.codes`` and put it there."""
    assert (
        (Path(__file__).resolve().parents[6] / "docs" / "lint.md").read_text(encoding="utf-8").endswith(as_markdown())
    )


def test_a_limit_of_a_group_is_a_note_where_it_is_left_out():
    """As docs/compatibility.md has it; and a limit that its stage never lets it reach is told too."""
    left_out, written = {"name": "a"}, {"name": "b", "maxAllowedFailures": "1"}
    stages = [{"name": "one", "groups": [left_out, written], "maxAllowedFailures": "3"}]
    assert [(each.level, each.code) for each in judged({"stages": stages}).remarks] == [
        ("note", "group-limit-stricter"),
        ("warning", "group-limit-stricter"),
    ]
    stages = [{"name": "one", "groups": [{"name": "c", "maxAllowedFailures": "5"}], "maxAllowedFailures": "3"}]
    assert [(each.level, each.code) for each in judged({"stages": stages}).remarks] == [
        ("warning", "group-limit-looser")
    ]


@pytest.mark.parametrize(
    ("document", "path", "meant"),
    [
        (crp({"placementType": "Pickn", "numberOfClusters": 1}), "spec.policy.placementType", "PickN"),
        ({"disruption": {"expireAfter": "30d"}}, "spec.template.spec.expireAfter", "720h"),
        (
            [{"nodes": "5"}, {"nodes": "1", "schedule": "0 9 * * 7", "duration": "1h"}],
            "spec.disruption.budgets[1].schedule",
            "0 9 * * 0",
        ),
        ([{"nodes": "5", "schedule": "@daily", "duration": "1d"}], "spec.disruption.budgets[0].duration", "24h"),
        (
            {**crp(PICK_N), "apiVersion": "fleet.azure.com/v1beta1"},
            "apiVersion",
            None,
        ),
        (
            {**crp(PICK_N), "apiVersion": "cluster.kubernetes-fleet.io/v1beta1"},
            "apiVersion",
            "placement.kubernetes-fleet.io/v1beta1",
        ),
    ],
)
def test_what_can_mean_only_one_thing_is_mended(document: object, path: str, meant: str | None):
    mended = {key: value for each in judged(document).remarks for key, value in each.mended.items()}
    assert mended.get(path) == meant


def test_an_object_stands_twice_only_in_what_is_applied_together():
    """Overlays of two environments hold the same objects, and each was called a repetition."""
    row = (crp(PICK_N), "ClusterResourcePlacement/crp")
    assert list(remarks_across([row, row], ["prod/a.yml:1", "test/a.yml:1"])) == []
    assert [index for index, _each in remarks_across([row, row], ["prod/a.yml:1", "prod/b.yml:1"])] == [1]


def test_what_is_overridden_twice_is_an_error_in_one_folder_and_a_warning_across_folders() -> None:
    """A folder for each environment: its overrides are called otherwise, and go to another fleet."""
    selector = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "web"}
    policy = {"overrideRules": [{"clusterSelector": {}, "overrideType": "Delete"}]}
    rows = [
        (
            {
                "apiVersion": "placement.kubernetes-fleet.io/v1",
                "kind": "ResourceOverride",
                "metadata": {"name": name, "namespace": "shop"},
                "spec": {"resourceSelectors": [selector], "policy": policy},
            },
            f"ResourceOverride/{name}",
        )
        for name in ("web-prod", "web-test")
    ]
    here = [each.level for _index, each in remarks_across(rows, ["fleet/a.yml:1", "fleet/b.yml:1"])]
    there = [each.level for _index, each in remarks_across(rows, ["prod/a.yml:1", "test/a.yml:1"])]
    assert (here, there) == (["error"], ["warning"])


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"group": "apps", "version": "v1", "kind": "Deployment", "name": "a"}, ["error namespaced-selected"]),
        ({"group": "", "version": "v1", "kind": "Namespace", "name": "kube-system"}, ["warning reserved-selected"]),
        ({"group": "", "version": "v1", "kind": "Namespace", "name": "web"}, []),
        ({"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole", "name": "a"}, []),
        ({"group": "example.com", "version": "v1", "kind": "Deployment", "name": "a"}, []),
    ],
)
def test_what_no_placement_of_the_cluster_selects_is_found(selector: dict[str, str], expected: list[str]):
    found = judged(crp(PICK_N, selectors=[selector])).remarks
    assert [f"{each.level} {each.code}" for each in found] == expected
    scope = {
        "group": "",
        "version": "v1",
        "kind": "Namespace",
        "name": "w",
        "selectionScope": "NamespaceWithResourceSelectors",
    }
    assert not any("selected" in each.code for each in judged(crp(PICK_N, selectors=[scope, selector])).remarks)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"group": "apps", "version": "v1", "kind": "Deployment"}, []),
        ({"group": "", "version": "v1", "kind": "Namespace", "name": "w"}, ["error cluster-scoped-selected"]),
        ({"group": "example.com", "version": "v1", "kind": "Anything"}, []),
    ],
)
def test_what_no_placement_of_a_namespace_selects_is_found(selector: dict[str, str], expected: list[str]):
    """D4-05"""
    document = rp()
    document["spec"]["resourceSelectors"] = [selector]
    assert [f"{each.level} {each.code}" for each in judged(document).remarks] == expected
