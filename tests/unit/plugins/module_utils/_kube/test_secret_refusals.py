# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which requests speak of Secrets, and what is told when they are refused. (F23)"""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import from_status
from ansible_collections.gitops.fleet.plugins.module_utils._kube.secret_refusals import holds_secrets, refused_paths

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"pass word": "x", "b": "y"}}
ENVELOPE = {"kind": "ResourceEnvelope", "data": {"s.yml": SECRET}}


@pytest.mark.parametrize(
    ("path", "body", "holds"),
    [
        ("/api/v1/namespaces/a/secrets/b", None, True),
        ("/api/v1/secrets?limit=500", None, True),
        ("/api/v1/namespaces/secrets-of-mine/configmaps/secrets.txt", None, False),
        ("/api/v1/namespaces/a/configmaps", {"kind": "ConfigMap", "data": {"a": "Secret"}}, False),
        ("/x", SECRET, True),
        ("/x", ENVELOPE, True),
        ("/x", {"kind": "ClusterResourceSnapshot", "spec": {"selectedResources": [SECRET]}}, True),
        ("/x", {"kind": "List", "items": [{"kind": "Secret", "data": {}}]}, True),
        ("/x", {"spec": {"resourceSelectors": [{"kind": "Secret", "name": "s"}]}}, False),
    ],
)
def test_requests_that_speak_of_secrets(path, body, holds):
    assert holds_secrets(path, body) is holds


def status(message="", reason="Invalid", causes=(), **more):
    return {"kind": "Status", "message": message, "reason": reason, "details": {"causes": list(causes)}, **more}


@pytest.mark.parametrize(
    ("message", "paths"),
    [
        ("stringData[b]: canary", (".stringData.b",)),
        (".data.b: expected string, got canary", (".data.b",)),
        ("data[pass word]: Invalid value: canary", (".data[...]",)),
        ("cannot unmarshal canary into Go struct field Secret.stringData of type string", (".stringData",)),
        ("metadata.name: canary; stringData[b]: canary", (".metadata.name", ".stringData.b")),
        ("canary[canary].canary: canary", ()),
    ],
)
def test_paths_are_those_of_what_was_sent(message, paths):
    assert refused_paths(status(message), SECRET) == paths


@pytest.mark.parametrize(
    ("message", "path"), [(".data.password: expected string", ".data.password"), ("data.pass", ".data.pass")]
)
def test_a_key_that_another_begins_with_is_not_named_by_that(message, path):
    keys = dict.fromkeys(("pass", "password", "pass-word"), "x")
    assert refused_paths(status(message), {"kind": "Secret", "data": keys}) == (path,)


def test_paths_of_causes_count_and_their_words_do_not():
    causes = [
        {"field": "data[b]", "message": "canary", "reason": "canary"},
        {"field": "canary"},
        "canary",
        {"field": 1},
    ]
    error = from_status(422, status("canary", causes=causes), "PUT /api/v1/secrets", "m1", SECRET)
    assert error.message == "PUT /api/v1/secrets was refused: Invalid at .data.b"
    assert "canary" not in repr(error.__dict__)


def test_a_secret_within_an_envelope():
    error = from_status(400, status("data.s.yml.stringData.b: canary", "BadRequest"), "POST /envelopes", "m1", ENVELOPE)
    assert error.message == 'POST /envelopes was refused: BadRequest at .data["s.yml"].stringData.b'


def test_a_reason_that_is_none_is_not_told():
    error = from_status(409, status("", "canary"), "PUT /api/v1/secrets", "m1", SECRET)
    assert error.message == "PUT /api/v1/secrets was refused: status 409" and error.reason == ""


def test_a_conflict_over_a_secret_says_what_to_do():
    causes = [{"reason": "FieldManagerConflict", "message": 'conflict with "canary"', "field": ".stringData.b"}]
    said = status('Apply failed with 1 conflict: conflict with "canary": .stringData.b', "Conflict", causes)
    error = from_status(409, said, "PATCH /api/v1/secrets/s", "m1", SECRET)
    assert "at .stringData.b (other managers own these fields)" in error.message and "by force" in error.hint
    assert "canary" not in str(error)
