# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbook ``rbac`` prints is enough for what was asked, and for nothing else: on real API servers."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from further_user import client_kubeconfig
from playing import Fleet, Player, merged

NAMES = ("east", "west")
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
RESOURCES = [
    CRD,
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "rights"}},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "rights"}, "data": {"a": "b"}},
    {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "rights"}, "size": 1},
]
SELECTED = [
    {"group": "", "version": "v1", "kind": "Namespace", "name": "rights"},
    {"group": "apiextensions.k8s.io", "version": "v1", "kind": CRD["kind"], "name": "widgets.example.com"},
]
PLACEMENT = {
    "apiVersion": "placement.kubernetes-fleet.io/v1",
    "kind": "ClusterResourcePlacement",
    "metadata": {"name": "rights"},
    "spec": {"resourceSelectors": SELECTED, "policy": {"placementType": "PickAll"}},
}


def given_rights(fleet: Fleet, rights: Path) -> None:
    """As ``kubectl apply -f`` gives them."""
    for name in NAMES:
        with KubeClient(connection_from_kubeconfig(fleet.root / name / "kubeconfig")) as client:
            for manifest in yaml.safe_load_all(rights.read_text()):
                apply_object(client, manifest, "tests", force=True)


def test_a_stranger_with_just_these_rights_checks_and_applies(play: Player, fleet: Fleet):
    for folder, documents in (("placements", [PLACEMENT]), ("resources", RESOURCES)):
        (play.folder / folder).mkdir()
        for number, document in enumerate(documents):
            (play.folder / folder / f"{number}.json").write_text(json.dumps(document))
    files = {"placements": "placements", "resources": "resources"}
    records = {"records": {"path": str(play.folder / "records.db")}}
    asked = {"subject": "stranger", "resources": "resources"}
    printed = play("gitops.fleet.rbac", **asked).clean().output
    assert "\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n" in printed
    play("gitops.fleet.rbac", **asked, dest="rights.yml").clean()
    given_rights(fleet, play.folder / "rights.yml")
    stranger = merged(play.folder / "stranger", [client_kubeconfig(fleet.root / each, "stranger") for each in NAMES])
    play("gitops.fleet.join", **records, kubeconfig=stranger).clean()
    play("gitops.fleet.facts", **records).clean()
    assert play("gitops.fleet.apply", "--check", **records, **files).clean().changed == 1
    assert fleet.writes_of("stranger") == []
    play("gitops.fleet.rbac", **asked, purpose="apply", dest="rights.yml").clean()
    given_rights(fleet, play.folder / "rights.yml")
    try:
        play("gitops.fleet.apply", **records, **files).clean()
        assert play("gitops.fleet.drift", **records, **files).clean().changed == 0
    finally:
        kinds = {"prune_kinds": ["Namespace", "CustomResourceDefinition"]}
        ends = {"names": "rights", "max_removals": "100%", "allow_empty": True, **kinds}
        play("gitops.fleet.end", **records, **ends).clean()


def test_a_kind_without_a_definition_is_asked_for(play: Player):
    (play.folder / "widget.json").write_text(json.dumps(RESOURCES[-1]))
    refused = play("gitops.fleet.rbac", subject="you", resources="widget.json")
    assert refused.code == 2 and "Widget in example.com/v1 is not a kind of Kubernetes itself" in refused.output
    assert "among resources, or give it in kinds" in refused.output
