# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Several placements in one apply: members of different ones side by side, one member's one after another."""

from __future__ import annotations

import json
import threading
import typing as t
from dataclasses import replace
from functools import partial

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements import look
from small_fleet import NOT_WAITING, Document, Fleet

LONG = 120.0


def write(fleet: Fleet, name: str, selectors: list[Document], policy: Document | None = None) -> None:
    document = fleet.placement(policy, name=name)
    document["spec"]["resourceSelectors"] = selectors
    (fleet.folder / "placements" / f"{name}.yml").write_text(json.dumps(document), encoding="utf-8")


def namespaces(fleet: Fleet, *names: str) -> list[Document]:
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{fleet.name}-{each}"}} for each in names]


def chosen(manifest: Document, group: str = "", version: str = "v1") -> Document:
    return {"group": group, "version": version, "kind": manifest["kind"], "name": manifest["metadata"]["name"]}


def fixed(*names: str) -> Document:
    return {"placementType": "PickFixed", "clusterNames": list(names)}


def test_placements_without_a_common_member_are_written_at_the_same_time(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits on its member for the other: one after another they would wait for ever."""
    fleet.join("m1", "m2")
    one, two = namespaces(fleet, "one", "two")
    fleet.resources(one, two, namespace=False)
    write(fleet, f"{fleet.name}-a", [chosen(one)], fixed("m1"))
    write(fleet, f"{fleet.name}-b", [chosen(two)], fixed("m2"))
    together = threading.Barrier(2, timeout=LONG)

    def meets(real: t.Any, client: t.Any, task: t.Any, holding: t.Any) -> t.Any:
        if task.write:
            together.wait()
        return real(client, task, holding)

    with monkeypatch.context() as patched:
        patched.setattr(look, "run_on_member", partial(meets, look.run_on_member))
        report = fleet.apply()
    assert not report.problems and report.changed
    assert list(report.outcomes) == [f"{fleet.name}-a", f"{fleet.name}-b"]
    assert fleet.is_ours("m1", f"/api/v1/namespaces/{one['metadata']['name']}")
    assert fleet.is_ours("m2", f"/api/v1/namespaces/{two['metadata']['name']}")
    with fleet.writing() as writes:
        again = fleet.apply()
    assert not again.changed and not again.problems
    assert not [each for each in writes if not each.startswith("hub")]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_later_placement_finds_on_a_member_what_an_earlier_one_brought(file_fleet: Fleet, workers: int) -> None:
    """A definition by the first, an object of its kind by the second, in one apply to the same members."""
    fleet = file_fleet
    kind, plural = f"Part{fleet.number}", f"parts{fleet.number}"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    group = f"{fleet.name}.example.org"
    definition: Document = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    (home,) = namespaces(fleet, "home")
    metadata = {"name": "one", "namespace": home["metadata"]["name"]}
    part: Document = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "size": 1}
    fleet.join("m1", "m2")
    fleet.resources(home, definition, part, namespace=False)
    write(fleet, f"{fleet.name}-a", [chosen(definition, "apiextensions.k8s.io")])
    write(fleet, f"{fleet.name}-b", [chosen(home)])
    report = fleet.apply(ways=replace(NOT_WAITING, workers=workers))
    assert not report.problems
    path = f"/apis/{group}/v1/namespaces/{metadata['namespace']}/{plural}/one"
    assert all(fleet.is_ours(name, path) for name in ("m1", "m2"))


def test_a_placement_that_fails_leaves_the_others_to_their_end(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    one, two = namespaces(fleet, "one", "two")
    fleet.resources(one, two, namespace=False)
    write(fleet, f"{fleet.name}-a", [chosen(one)], fixed("m1"))
    write(fleet, f"{fleet.name}-b", [chosen(two)], fixed("m2"))
    lease = fleet.records.acquire(f"placement/{fleet.name}-a", "somebody else", 300)
    try:
        report = fleet.apply()
    finally:
        fleet.records.release(lease)
    assert [each.code for each in report.problems] == ["lease-held"]
    assert list(report.outcomes) == [f"{fleet.name}-b"]
    assert fleet.is_ours("m2", f"/api/v1/namespaces/{two['metadata']['name']}")
    assert not fleet.servers["m1"].get(f"/api/v1/namespaces/{one['metadata']['name']}")
