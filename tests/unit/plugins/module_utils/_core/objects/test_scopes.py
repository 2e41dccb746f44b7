# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Scopes of kinds."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.scopes import BUILT_IN, likely_scopes


def test_kinds_of_kubernetes_are_known_without_a_server() -> None:
    assert BUILT_IN["apps", "Deployment"]
    assert not BUILT_IN["", "Namespace"]


def test_definitions_and_discovery_add_to_them() -> None:
    definition: dict[str, t.Any] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "names": {"kind": "Widget"}, "scope": "Namespaced"},
    }
    seen = {"apiVersion": "other.io/v1", "kind": "Gadget", "metadata": {"name": "g", "namespace": "web"}}
    scopes = likely_scopes([definition, seen], {("third.io", "Gizmo"): False})
    assert scopes["example.com", "Widget"]
    assert scopes["other.io", "Gadget"]
    assert not scopes["third.io", "Gizmo"]
    assert ("nobody.io", "Knows") not in scopes
