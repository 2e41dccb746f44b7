# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Faults that documents print, in samples of our own: each is found in its line, and mended where that is possible."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.lint.codes import TEXTS
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.field_path import value_at
from ansible_collections.gitops.fleet.plugins.module_utils._fleet import lint as linting
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.lint import Linted, lint
from ansible_collections.gitops.fleet.plugins.module_utils._report.lint.findings import findings_text

SAMPLES = Path(__file__).resolve().parents[4] / "data" / "lint"
NOW = datetime(2026, 11, 2, tzinfo=UTC)
REQUIRED = "spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[0]"
NAME = f"{REQUIRED}.propertySelector.matchExpressions[0].name"
PREFERRED = "spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution"
TEMPLATE, BUDGETS = "spec.template.spec", "spec.disruption.budgets"
DO_NOT_DISRUPT = "annotations[karpenter.sh/do-not-disrupt]"

# File: level, code, line and field path of each finding. IDs are those of the checklist's rows and traps.
FOUND: dict[str, list[str]] = {
    # NodePools, patches and fragments
    "pool_office_hours.yml": [  # D0-01, D0-18, D0-22, D0-80
        "note patch-only 9 spec",
        f"note expiry-ignores-budgets 9 {TEMPLATE}.expireAfter",
        f"warning expiry-without-deadline 9 {TEMPLATE}.expireAfter",
        "warning expireAfter-misplaced 13 spec.disruption.expireAfter",
    ],
    "fragment_expiry.yml": [  # D0-02, D0-20
        f"note expiry-ignores-budgets 5 {TEMPLATE}.expireAfter",
        f"warning expiry-without-deadline 5 {TEMPLATE}.expireAfter",
        "warning expireAfter-misplaced 7 spec.disruption.expireAfter",
    ],
    "fragment_alternatives.yml": [  # D0-03, D0-81
        "error alternatives 7 spec.disruption.consolidationPolicy",
        "warning expireAfter-misplaced 9 spec.disruption.expireAfter",
    ],
    "fragment_no_expiry.yml": ["warning expireAfter-misplaced 8 spec.disruption.expireAfter"],  # D0-14
    "fragment_when_empty.yml": [],  # D0-15
    "pool_grace_period.yml": [  # D0-55
        "note patch-only 9 spec",
        f"warning template-change-drifts 12 {TEMPLATE}.terminationGracePeriod",
    ],
    "pool_three_budgets.yml": [  # D0-67
        "note patch-only 9 spec",
        f"note expiry-ignores-budgets 9 {TEMPLATE}.expireAfter",
        f"warning expiry-without-deadline 9 {TEMPLATE}.expireAfter",
        "warning expireAfter-misplaced 13 spec.disruption.expireAfter",
    ],
    "budgets_office_hours.yml": [f"warning unlimited-outside-windows 5 {BUDGETS}"],  # D0-82
    "budgets_weekend.yml": [  # D0-83, D0-84
        f"warning budget-never-permits 5 {BUDGETS}",
        f"warning budget-never-binds 6 {BUDGETS}[0]",
    ],
    "budgets_gradual.yml": [f"warning unlimited-outside-windows 5 {BUDGETS}"],  # D0-85
    "pool_numbers.yml": [  # D0-58, D0-74, D0-77
        f"note expiry-ignores-budgets 11 {TEMPLATE}.expireAfter",  # 720h by default
        f"warning expiry-without-deadline 11 {TEMPLATE}.expireAfter",
        f"error wrong-type 20 {BUDGETS}[0].nodes",
        f"error schedule-unreadable 22 {BUDGETS}[1].schedule",
        f"error schedule-without-duration 24 {BUDGETS}[2]",
    ],
    "pool_protected_in_template.yml": [  # D0-96, D0-97
        "note patch-only 9 spec",
        f"warning do-not-disrupt-in-template 13 spec.template.metadata.{DO_NOT_DISRUPT}",
    ],
    "pool_drift_gate.yml": ["warning feature-gate-gone 16 spec.template.spec.containers[0].env[0].value"],  # D0-38
    # annotations
    "deployment_protected.yml": [  # D0-92, D0-93
        "note patch-only 5 metadata.name",
        f"note do-not-disrupt-and-expiry 11 spec.template.metadata.{DO_NOT_DISRUPT}",
    ],
    "deployment_boolean.yml": [f"error wrong-type 13 spec.template.metadata.{DO_NOT_DISRUPT}"],  # D0-93
    "deployment_annotated_itself.yml": [f"warning do-not-disrupt-not-on-pods 10 metadata.{DO_NOT_DISRUPT}"],
    "node_protected.yml": ["note patch-only 7 metadata.name"],  # D0-95
    "settings_ignored.yml": ["error bad-ignore 10 metadata.annotations[gitops.fleet/ignore]"],
    "node_for_a_while.yml": [f"warning do-not-disrupt-unreadable 10 metadata.{DO_NOT_DISRUPT}"],  # D0-94
    # placements
    "placement_hole.yml": [  # D1-04, N13: the rest is checked all the same
        "error placeholder 11 spec.resourceSelectors[0]",
        f"warning property-alias 20 {NAME}",
    ],
    "placement_older_property.yml": [f"warning property-alias 23 {NAME}"],  # D1-25, D1-26
    "placement_property.yml": [],  # D4-56
    "placement_accented_property.yml": [f"error unknown-property 23 {NAME}"],  # D4-51, N23
    "placement_metric_sorter.yml": [  # D1-30, D4-27
        f"warning label-value-not-text 25 {PREFERRED}[0].preference.labelSelector.matchLabels[fleet.example.com/tier]",
        f"warning metric-sorter 26 {PREFERRED}[0].preference.metricSorter",
    ],
    "placement_one_preference.yml": [  # D4-27
        f"warning preferred-not-a-list 20 {PREFERRED}",
        f"warning preference-is-a-list 23 {PREFERRED}[0].preference[0]",
        f"warning metric-sorter 23 {PREFERRED}[0].preference.metricSorter",
    ],
    "placement_fixed.yml": [],  # D4-17
    "placement_all_labelled.yml": [],  # D4-22
    "placement_number_missing.yml": [  # D4-29, N18
        "error number-of-clusters-missing 15 spec.policy.numberOfClusters",
        "note spread-in-words 18 spec.policy.topologySpreadConstraints[0]",
        "note spread-in-words 21 spec.policy.topologySpreadConstraints[1]",
    ],
    "placement_rolling.yml": [],  # D4-78
    "placement_successor.yml": ["error unsupported-group 5 apiVersion"],  # D4-02
    "placement_misspelt.yml": ["error unknown-kind 6 kind"],
    "placement_field_misspelt.yml": ["error unknown-field 16 spec.policy.placementtype"],
    # further kinds of KubeFleet
    "override.yml": [
        "warning rule-without-clusters 20 spec.policy.overrideRules[0].clusterSelector",
        "error delete-with-patches 21 spec.policy.overrideRules[0].jsonPatchOverrides",
        "error overridden-twice 30 spec.clusterResourceSelectors[0]",
    ],
    "staged.yml": [
        "error wait-before-stage 19 spec.stages[0].beforeStageTasks[0].type",
        "error wrong-form 23 spec.stages[0].afterStageTasks[0].waitTime",
        "error wait-not-wanted 25 spec.stages[0].afterStageTasks[1].waitTime",
        "error duplicate-stage 26 spec.stages[1].name",
        "warning stage-takes-nothing 26 spec.stages[1].labelSelector",
        "error two-limits 31 spec",
        "warning duplicate-object 37 metadata.name",
        "warning eviction-never-permitted 38 spec",
        "note not-checked 40 kind",
    ],
    # update strategies, as objects and in the JSON of their service
    "run_translated.yml": [  # D3-45
        "error unknown-field 12 spec.strategy.stages[0].nom",
        "error missing-field 12 spec.strategy.stages[0].name",
    ],
    "strategy.json": [
        "warning number-not-text 6 properties.strategy.stages[0].groups[0].maxConcurrency",
        "error duplicate-group 7 properties.strategy.stages[1].groups[1].name",
        "warning wait-not-served 7 properties.strategy.stages[1].afterStageWaitInSeconds",
    ],
    "values.yml": ["note not-a-manifest 5 "],
}
# File: what stands where in the mended form. Disruptive repairs are taken in, as if there were consent.
MENDED: dict[str, dict[str, object]] = {
    "pool_office_hours.yml": {"spec.disruption.expireAfter": None, f"{TEMPLATE}.expireAfter": "336h"},
    "fragment_expiry.yml": {"spec.disruption.expireAfter": None, f"{TEMPLATE}.expireAfter": "36h"},
    "fragment_alternatives.yml": {f"{TEMPLATE}.expireAfter": "Never", f"{BUDGETS}[0].nodes": "25%"},
    "fragment_no_expiry.yml": {"spec.disruption.expireAfter": None, f"{TEMPLATE}.expireAfter": "Never"},
    "pool_three_budgets.yml": {"spec.disruption.expireAfter": None, f"{TEMPLATE}.expireAfter": "480h"},
    "budgets_office_hours.yml": {f"{BUDGETS}[0]": {"nodes": "10%"}, f"{BUDGETS}[1].nodes": "0"},
    "budgets_weekend.yml": {  # open from Friday 22:00 to Monday 00:00
        BUDGETS: [{"nodes": "40%"}, {"nodes": "0", "schedule": "0 0 * * 1", "duration": "118h"}]
    },
    "budgets_gradual.yml": {f"{BUDGETS}[2]": {"nodes": "10%", "schedule": "0 6 * * *", "duration": "19h"}},
    "pool_numbers.yml": {f"{BUDGETS}[0].nodes": "5"},
    "pool_protected_in_template.yml": {
        f"spec.template.metadata.{DO_NOT_DISRUPT}": None,
        BUDGETS: [{"nodes": "0"}],
    },
    "pool_drift_gate.yml": {"spec.template.spec.containers[0].env[0].value": "SpotToSpotConsolidation=true"},
    "deployment_boolean.yml": {f"spec.template.metadata.{DO_NOT_DISRUPT}": "true"},
    "deployment_annotated_itself.yml": {
        f"metadata.{DO_NOT_DISRUPT}": None,
        f"spec.template.metadata.{DO_NOT_DISRUPT}": "2h",
        "spec.template.metadata.labels.app": "ledger",
    },
    "placement_hole.yml": {NAME: "kubernetes-fleet.io/node-count"},
    "placement_older_property.yml": {NAME: "kubernetes-fleet.io/node-count"},
    "placement_metric_sorter.yml": {
        f"{PREFERRED}[0].preference.labelSelector.matchLabels[fleet.example.com/tier]": "2",
        f"{PREFERRED}[0].preference.metricSorter": None,
        f"{PREFERRED}[0].preference.propertySorter.sortOrder": "Ascending",
    },
    "placement_one_preference.yml": {
        f"{PREFERRED}[0].weight": 35,
        f"{PREFERRED}[0].preference": {
            "propertySorter": {"name": "resources.kubernetes-fleet.io/available-memory", "sortOrder": "Ascending"}
        },
    },
    "strategy.json": {"properties.strategy.stages[0].groups[0].maxConcurrency": "2"},
}


def linted(path: Path, consent: bool = True) -> Linted:
    return lint([str(path)], NOW, consent=consent)


@pytest.mark.parametrize("name", FOUND)
def test_each_fault_is_found_in_its_place(name: str):
    found = linted(SAMPLES / name)
    assert [f"{each.level} {each.code} {each.line} {each.path}" for each in found.remarks] == FOUND[name]
    assert {each.file for each in found.remarks} <= {str(SAMPLES / name)}


@pytest.mark.parametrize("name", FOUND)
def test_what_can_be_mended_is_mended(name: str):
    found = linted(SAMPLES / name)
    assert len(found.mended) == (name in MENDED)
    for each in found.mended:
        assert {path: value_at(each.document, path) for path in MENDED[name]} == MENDED[name]


@pytest.mark.parametrize("name", MENDED)
def test_the_mended_form_has_the_fault_no_longer(name: str, tmp_path: Path):
    before = linted(SAMPLES / name)
    (tmp_path / "mended.json").write_text(json.dumps(before.mended[0].document))
    gone = {each.code for each in before.remarks if each.mended}
    assert gone.isdisjoint(each.code for each in linted(tmp_path / "mended.json").remarks)


def test_every_sample_is_in_the_table():
    assert sorted(file.name for file in SAMPLES.glob("*.*")) == sorted(FOUND)


def test_repairs_that_disrupt_are_told_and_left_out_without_consent():
    """D0-19, N9."""
    for name in ("pool_office_hours.yml", "pool_protected_in_template.yml"):
        found = linted(SAMPLES / name, consent=False)
        assert found.mended == ()
        assert any("Drifted" in each.consent for each in found.remarks if each.mended)


def test_a_folder_is_read_in_the_order_of_its_files_and_every_code_has_a_text():
    found = lint([str(SAMPLES)], NOW, exclude=["corpus/"])
    assert [each.file for each in found.remarks] == sorted(each.file for each in found.remarks)
    assert {each.code for each in found.remarks} <= TEXTS.keys()
    assert (found.documents, found.passed_over) == (len(FOUND) + 3, 1)


def test_holes_are_notes_where_that_is_asked_for_d1_04():
    found = lint([str(SAMPLES / "placement_hole.yml")], NOW, holes=True)
    assert [(each.level, each.path) for each in found.remarks] == [
        ("note", "spec.resourceSelectors[0]"),
        ("warning", NAME),
    ]
    assert not found.fails(strict=False)


def test_errors_fail_and_strict_counts_warnings():
    for name, plain, strict in (
        ("placement_fixed.yml", False, False),
        ("deployment_protected.yml", False, False),
        ("placement_older_property.yml", False, True),
        ("placement_hole.yml", True, True),
    ):
        assert (linted(SAMPLES / name).fails(strict=False), linted(SAMPLES / name).fails(strict=True)) == (
            plain,
            strict,
        )


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (b"metadata: [\n", ["bad-yaml"]),
        (b"a: 1\na: 2\n", ["not-a-manifest", "duplicate-key"]),
        (b"\xff\xfe", ["not-utf-8"]),
        (b"a: " + b"[" * 500 + b"]" * 500, ["too-deep"]),
        (b"just words\n", ["not-an-object"]),
        (b"- 1\n- 2\n", ["not-an-object"]),
        (b"", []),
        (b"# nothing but a comment\n---\n", []),
        (b"kind: ClusterResourcePlacement\n", ["missing-field"]),
        (b"apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: 7\n", ["missing-field", "wrong-type"]),
        (b"apiVersion: v1\nkind: [a]\n", ["missing-field"]),
        (b"apiVersion: v1\nkind: Pod\nmetadata: [7]\nspec: no\n", []),
        (b"apiVersion: gitops.fleet/v1alpha1\nkind: UpdateRn\n", ["unknown-kind"]),
        (b"{{ if .Values.on }}\nkind: x\n{{ end }}\n", ["bad-key", "not-a-manifest", "bad-yaml"]),
    ],
)
def test_what_is_no_good_manifest_is_a_finding_and_no_crash(text: bytes, codes: list[str], tmp_path: Path):
    (tmp_path / "file.yaml").write_bytes(text)
    assert [each.code for each in linted(tmp_path / "file.yaml").remarks] == codes


def test_what_is_not_there_is_a_finding():
    (found,) = linted(Path("/nowhere/at/all.yaml")).remarks
    assert (found.code, found.file, found.line) == ("no-such-file", "/nowhere/at/all.yaml", 0)


def test_of_many_findings_the_first_are_told_and_how_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(linting, "MOST_TOLD", 3)
    (tmp_path / "a.yaml").write_text("a: 1\n---\n" * 5 + "- 1\n---\n" * 4 + "a: 1\n---\n" * 20)
    found = lint([str(tmp_path / "a.yaml")], datetime(2026, 1, 1, tzinfo=UTC))
    assert [each.code for each in found.remarks[:6]] == ["not-a-manifest"] * 3 + ["not-an-object"] * 3
    more = [(each.level, each.message) for each in found.remarks[6:]]
    assert more == [
        ("error", "there are more than 3 errors, and what comes behind them was not judged"),
        ("note", "2 more of this level are not shown"),
    ]
    assert found.documents == 9 and found.fails(strict=False)


BIG = "a" * 300_000
NODE_POOL = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {disruption: {budgets: [%s]}}\n"
PLACEMENT = (
    "apiVersion: placement.kubernetes-fleet.io/v1\nkind: ClusterResourcePlacement\nmetadata: {name: %s}\nspec: %s\n"
)


@pytest.mark.parametrize(
    "text",
    [
        f"apiVersion: gitops.fleet/v1alpha1\nkind: {BIG}\n",
        f"apiVersion: gitops.fleet/{BIG}\nkind: Gate\n",
        PLACEMENT % (BIG, "{}"),
        PLACEMENT % ("a", "{policy: {placementType: " + BIG + "}}"),
        PLACEMENT % ("a", "{? " + BIG + "\n: 5}"),
        NODE_POOL % ("{nodes: '" + "1" * 300_000 + "'}"),
        NODE_POOL % ("{nodes: '1', schedule: '" + BIG + "', duration: 1h}"),
        NODE_POOL % ("{nodes: '1', schedule: '" + "1," * 150_000 + "1 * * * *', duration: " + "1h" * 150_000 + "}"),
        "{'stages': [{'name': '" + BIG + "'}]}",
        "- " + BIG,
    ],
)
def test_a_value_of_megabytes_is_told_in_a_line(tmp_path: Path, text: str):
    """Wrapping it took time by its square, and comparing it with known words a hundred times its size in memory."""
    (tmp_path / "a.yaml").write_text(text)
    found = lint([str(tmp_path / "a.yaml")], datetime(2026, 1, 1, tzinfo=UTC))
    assert found.remarks and max(len(line) for line in findings_text(found.remarks, 1, 1)) < 1100
    assert len(json.dumps([each.as_dict() | {"mended": {}} for each in found.remarks])) < 20_000
