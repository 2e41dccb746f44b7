# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Objects as an API server has to send them."""

from __future__ import annotations

import functools

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.documents import checked_object, read_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.answering import WEB, Answering, live

PATH = "/api/v1/namespaces/shop/configmaps/settings"


def read(**changes):
    document = live(WEB, data={"a": "b"})
    metadata = {**document["metadata"], **changes.pop("metadata", {})}
    return read_object(Answering({PATH: {**document, "metadata": metadata, **changes}}), PATH, "ConfigMap")


def test_a_good_object_comes_as_it_is():
    assert read()["data"] == {"a": "b"}


def test_a_name_may_be_quoted_in_the_path():
    role = {"kind": "ClusterRole", "metadata": {"name": "a b:c", "uid": "u", "resourceVersion": "7"}}
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%20b:c"
    assert read_object(Answering({path: role}), path, "ClusterRole") == role


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"metadata": {"name": None}}, "name is missing"),
        ({"metadata": {"name": "other"}}, "another object"),
        ({"kind": "Secret"}, "another object"),
        ({"kind": ["ConfigMap"]}, "kind is no text"),
        ({"metadata": {"uid": ""}}, "uid is missing"),
        ({"metadata": {"resourceVersion": None}}, "resourceVersion is missing"),
        ({"metadata": {"labels": {"a": 1}}}, "labels is no map of texts"),
        ({"metadata": {"managedFields": [{"fieldsV1": {"f:a": "x"}}]}}, "no tree of fields"),
        ({"metadata": {"managedFields": [{"fieldsV1": {"k:[]": {}}}]}}, "no tree of fields"),
        ({"metadata": {"managedFields": [{"fieldsV1": {"v:": {}}}]}}, "no tree of fields"),
        ({"metadata": {"generation": "1"}}, "generation is no whole number"),
    ],
)
def test_a_damaged_object_is_a_bad_answer(changes, why):
    with pytest.raises(ApiError) as caught:
        read(**changes)
    assert caught.value.code == "bad-answer" and why in caught.value.message
    assert caught.value.where == "m1" and caught.value.hint


def test_a_tree_of_fields_has_an_end():
    tree = {}
    for _level in range(500):
        tree = {"f:a": tree}
    with pytest.raises(ApiError):
        read(metadata={"managedFields": [{"fieldsV1": tree}]})


def test_an_object_of_a_list_has_an_end_too():
    """A member may hold what others go through level by level."""
    for levels, fits in ((197, True), (198, False)):
        deep = functools.reduce(lambda inner, _level: {"a": inner}, range(levels), {})
        document = live(WEB, spec={"a": deep})
        if fits:
            assert checked_object(document, f"GET {PATH}", Answering({})) is document
        else:
            with pytest.raises(ApiError) as caught:
                checked_object(document, f"GET {PATH}", Answering({}))
            assert caught.value.code == "bad-answer" and "more than 200 levels" in caught.value.message
