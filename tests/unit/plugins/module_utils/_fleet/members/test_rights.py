# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.rights import rights

QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"}}
SUBJECT = {"kind": "User", "name": "fleet"}


def envelope(folder: Path, kind: str) -> str:
    api = "placement.kubernetes-fleet.io/v1beta1"
    metadata = {"name": "e", "namespace": "shop"}
    path = folder / "envelope.yml"
    path.write_text(json.dumps({"apiVersion": api, "kind": kind, "metadata": metadata, "data": {"a": QUOTA}}))
    return str(path)


def test_rights_are_about_what_is_in_an_envelope_and_not_about_envelopes(tmp_path: Path) -> None:
    text = json.dumps(rights("apply", SUBJECT, (), [envelope(tmp_path, "ResourceEnvelope")]))
    assert "resourcequotas" in text and "resourceenvelopes" not in text


def test_an_envelope_that_would_be_refused_gives_no_rights(tmp_path: Path) -> None:
    with pytest.raises(FleetError) as refused:
        rights("apply", SUBJECT, (), [envelope(tmp_path, "ClusterResourceEnvelope")])
    assert refused.value.code == "enveloped-scope"


def definition(**spec: t.Any) -> dict[str, t.Any]:
    metadata = {"name": "webs.example.org"}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata, **spec}


NAMES = {"kind": "Web", "plural": "webs"}
WEB = {"apiVersion": "example.org/v1", "kind": "Web", "metadata": {"name": "a", "namespace": "shop"}}


def written(folder: Path, *documents: t.Mapping[str, t.Any]) -> list[str]:
    path = folder / "resources.yml"
    path.write_text("\n---\n".join(map(json.dumps, documents)))
    return [str(path)]


def test_a_kind_is_known_by_its_definition(tmp_path: Path) -> None:
    whole = definition(spec={"group": "example.org", "scope": "Namespaced", "names": NAMES})
    assert '"webs"' in json.dumps(rights("apply", SUBJECT, (), written(tmp_path, WEB, whole)))


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"spec": {}},
        {"spec": "text"},
        {"spec": {"group": ["example.org"], "names": NAMES}},
        {"spec": {"group": "example.org", "names": ["Web"]}},
        {"spec": {"group": "example.org", "names": {"kind": "Web"}}},
    ],
    ids=str,
)
def test_a_definition_that_defines_no_kind_is_told_with_its_place(tmp_path: Path, spec: t.Any) -> None:
    paths = written(tmp_path, QUOTA, definition(**spec))
    with pytest.raises(FleetError) as refused:
        rights("apply", SUBJECT, (), paths)
    assert (refused.value.code, refused.value.where) == ("bad-definition", f"{paths[0]}:3")


def test_a_kind_of_that_name_in_another_group_defines_nothing(tmp_path: Path) -> None:
    other = {"apiVersion": "v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}}
    with pytest.raises(FleetError) as refused:
        rights("apply", SUBJECT, (), written(tmp_path, other))
    assert refused.value.code == "unknown-kind"


def test_of_an_unknown_kind_it_is_told_how_it_is_given(tmp_path: Path) -> None:
    with pytest.raises(FleetError) as refused:
        rights("apply", SUBJECT, (), written(tmp_path, WEB))
    assert '{"api_version": "example.org/v1", "kind": "Web", "plural": "...", "namespaced": ' in refused.value.hint


@pytest.mark.parametrize("purpose", ["read", "apply", "nodes", "jobs", "hub_reader"])
@pytest.mark.parametrize(
    ("subject", "where"),
    [
        ({"kind": "User", "name": ""}, "subject.name"),
        ({"kind": "Group", "name": " ", "namespace": "a"}, "subject.name"),
        ({"kind": "User", "name": "\udcff"}, "subject.name"),
        ({"kind": "ServiceAccount", "name": "ann"}, "subject.namespace"),
        ({"kind": "ServiceAccount", "name": "ann", "namespace": None}, "subject.namespace"),
    ],
)
def test_nobody_gets_no_rights(purpose: str, subject: dict[str, t.Any], where: str) -> None:
    """``kubectl apply`` would make the roles, and stop at their bindings."""
    with pytest.raises(FleetError) as refused:
        rights(purpose, subject, ())
    assert (refused.value.code, refused.value.where) == ("bad-option", where)
