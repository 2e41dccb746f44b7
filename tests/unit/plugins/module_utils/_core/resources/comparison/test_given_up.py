# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an apply gives up where others own a part of it: theirs stays, ours goes."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.given_up import (
    GivenUp,
    given_up,
)

OURS = "gitops-fleet"
Document = dict[str, t.Any]


def live(ours: Document, theirs: Document, **spec: t.Any) -> Document:
    rows = [
        {"manager": OURS, "operation": "Apply", "fieldsV1": {"f:spec": ours}},
        {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": theirs}},
    ]
    return {"kind": "X", "metadata": {"managedFields": rows}, "spec": spec}


def test_of_a_map_that_is_gone_from_the_manifest_only_what_others_own_stays() -> None:
    """That somebody has added a limit does not keep ours."""
    there = live({"f:limits": {"f:cpu": {}, "f:memory": {}}}, {"f:limits": {"f:gpu": {}, "f:cpu": {}}},
                 limits={"cpu": 1, "memory": 2, "gpu": 3})  # fmt: skip
    assert given_up({"kind": "X", "spec": {}}, there, OURS) == (
        GivenUp(".spec.limits.cpu", 1, ("kubectl",)),
        GivenUp(".spec.limits.memory", 2),
    )


def test_what_others_own_altogether_stays_as_one() -> None:
    tree = {"f:limits": {"f:cpu": {}, "f:memory": {}}}
    there = live(tree, tree, limits={"cpu": 1, "memory": 2})
    assert given_up({"kind": "X", "spec": {}}, there, OURS) == (
        GivenUp(".spec.limits", {"cpu": 1, "memory": 2}, ("kubectl",)),
    )


def test_an_item_stays_with_its_keys_and_what_others_own_in_it() -> None:
    key = 'k:{"name":"web"}'
    ours = {"f:containers": {key: {".": {}, "f:name": {}, "f:image": {}}}}
    there = live(ours, {"f:containers": {key: {"f:tty": {}}}}, containers=[{"name": "web", "image": "a", "tty": True}])
    assert given_up({"kind": "X", "spec": {}}, there, OURS) == (GivenUp('.spec.containers[name="web"].image', "a"),)
    alone = live(ours, {}, containers=[{"name": "web", "image": "a"}])
    assert [each.path for each in given_up({"kind": "X", "spec": {"containers": []}}, alone, OURS)] == [
        '.spec.containers[name="web"]'
    ]
