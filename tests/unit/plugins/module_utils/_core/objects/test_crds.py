# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The generated CRDs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.crds import (
    definition,
    definition_text,
    file_name,
    main,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.kinds import KIND_OF, KINDS
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.rules import RULES, as_markdown

ROOT = Path(__file__).resolve().parents[6]
COMMITTED = ROOT / "roles" / "hub" / "files" / "crds"


def schemas(kind):
    return [version["schema"] for version in definition(kind)["spec"]["versions"]]


def test_the_committed_files_are_the_generated_ones():
    """``make crds`` writes them."""
    committed = {path.name: path.read_text(encoding="utf-8") for path in COMMITTED.glob("*.json")}
    assert committed == {file_name(kind): definition_text(kind) for kind in KINDS}


def test_the_program_writes_one_file_per_kind(tmp_path, capsys):
    assert main([str(tmp_path / "new")]) == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(file_name(kind) for kind in KINDS)
    assert f"{len(KINDS)} definitions" in capsys.readouterr().out


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_d1_03_all_versions_have_the_same_schema(kind):
    assert all(each == schemas(kind)[0] for each in schemas(kind))
    versions = definition(kind)["spec"]["versions"]
    assert [each["name"] for each in versions if each["storage"]] == [kind.stored]
    assert all(each["served"] and each["subresources"] == {"status": {}} for each in versions)


def test_d4_01_names():
    assert {kind.kind: kind.short_names for kind in KINDS} == {
        "MemberCluster": (),
        "FleetMember": ("fm",),
        "ClusterResourcePlacement": ("crp",),
        "ClusterResourcePlacementStatus": ("crps",),
        "ResourcePlacement": ("rp",),
        "SchedulingPolicySnapshot": ("sps",),
        "ResourceSnapshot": ("rs",),
        "ResourceBinding": ("rb",),
        "ClusterSchedulingPolicySnapshot": ("csps",),
        "ClusterResourceSnapshot": ("crs",),
        "ClusterResourceBinding": ("crb",),
        "ClusterResourceOverride": (),
        "ResourceOverride": (),
        "ClusterResourceEnvelope": (),
        "ResourceEnvelope": (),
        "ClusterResourcePlacementEviction": ("crpe",),
        "ClusterResourcePlacementDisruptionBudget": ("crpdb",),
        "ClusterStagedUpdateStrategy": ("csus",),
        "StagedUpdateStrategy": ("sus",),
        "ClusterStagedUpdateRun": ("csur",),
        "StagedUpdateRun": ("sur",),
        "ClusterApprovalRequest": ("careq",),
        "ApprovalRequest": ("areq",),
        "UpdateStrategy": ("us",),
        "UpdateRun": ("ur",),
        "Gate": (),
        "FleetMaintenance": ("fmt",),
        "NodeRotation": ("nr",),
        "ReleaseCatalog": ("rc",),
        "AutoUpgradeProfile": ("aup",),
        "AuditEntry": ("ae",),
    }
    for kind in KINDS:
        assert definition(kind)["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "gitops.fleet"}
        assert definition(kind)["spec"]["conversion"] == {"strategy": "None"}


def test_every_field_is_described():
    def undescribed(schema, path):
        for name, each in schema.get("properties", {}).items():
            if name != "metadata" and not each.get("description"):
                yield f"{path}.{name}"
            yield from undescribed(each, f"{path}.{name}")
            yield from undescribed(each.get("items", {}), f"{path}.{name}[]")

    assert [path for kind in KINDS for path in undescribed(schemas(kind)[0]["openAPIV3Schema"], kind.kind)] == []


def test_limits_and_defaults_stand_in_the_schema():
    schema = schemas(KIND_OF["ClusterResourcePlacement"])[0]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert schema["revisionHistoryLimit"] == {
        "description": "Snapshots that are kept.",
        "type": "integer",
        "format": "int64",
        "minimum": 1,
        "maximum": 1000,
        "default": 10,
    }
    assert schema["strategy"]["default"] == {"type": "RollingUpdate"}
    assert "default" not in schema["policy"]


def test_files_are_json():
    for kind in KINDS:
        assert json.loads(definition_text(kind)) == definition(kind)


def test_the_documentation_has_the_table_of_rules():
    """``python -m ...schema.rules`` prints it."""
    assert as_markdown() in (ROOT / "docs" / "objects.md").read_text(encoding="utf-8")
    assert len({rule.code for rule in RULES}) == len(RULES)


def test_the_rule_on_long_names_is_told_of_each_kind_that_has_it() -> None:
    (rule,) = (each for each in RULES if each.code == "name-too-long")
    assert set(rule.kinds.split(", ")) == {each.kind for each in KINDS if each.name_limit is not None}
