# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Statuses of the API server in our words."""

from __future__ import annotations

import base64

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApplyConflict, from_status
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import without_userinfo


def status(code, reason="", message="", **more):
    return {"kind": "Status", "code": code, "reason": reason, "message": message, **more}


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", "invalid"),
        (401, "Unauthorized", "unauthorized"),
        (403, "Forbidden", "forbidden"),
        (404, "NotFound", "not-found"),
        (409, "Conflict", "conflict"),
        (409, "AlreadyExists", "already-exists"),
        (410, "Expired", "gone"),
        (422, "Invalid", "invalid"),
        (429, "TooManyRequests", "too-many-requests"),
        (500, "InternalError", "server-error"),
        (504, "Timeout", "timeout"),
    ],
)
def test_each_status_has_a_code(code, reason, expected):
    error = from_status(code, status(code, reason, "why"), "GET /x", "m1")
    assert (error.code, error.status, error.reason, error.message, error.where) == (expected, code, reason, "why", "m1")


@pytest.mark.parametrize("code", [404, 409, 410])
@pytest.mark.parametrize("document", [None, {"code": "NotFound", "message": "no such cluster"}])
def test_what_is_no_api_server_says_nothing_of_an_object(code, document):
    """A proxy that has lost its way to the cluster: the object was taken to be gone, or deleted."""
    error = from_status(code, document, "GET /x", "m1", page=b"<html>404 Not Found</html>")
    assert (error.code, error.status) == ("bad-answer", code)


def test_a_path_that_an_api_server_does_not_have():
    error = from_status(404, None, "GET /apis/x/v1/y", "m1", page=b"404 page not found\n")
    assert (error.code, error.message) == ("not-found", "GET /apis/x/v1/y was answered with status 404")


def test_conflicts_of_an_apply_are_listed():
    causes = [
        {"reason": "FieldManagerConflict", "message": 'conflict with "a" using v1', "field": ".data.x"},
        {"reason": "x"},
    ]
    error = from_status(409, status(409, "Conflict", "m", details={"causes": causes}), "PATCH /x", "m1")
    assert error.conflicts == (ApplyConflict("a", ".data.x"),)


def test_nothing_of_the_servers_words_about_a_secret_is_told():
    """F23. Values are no part of the message, in whatever form the server gives them back."""
    encoded = base64.b64encode(b"canary").decode()
    body = {"kind": "Secret", "metadata": {}, "data": {"a": encoded}, "stringData": {"b": "bird", "c": "birdsong"}}
    causes = [{"reason": "FieldValueInvalid", "message": "birdsong", "field": "data[a]"}]
    said = status(422, "Invalid", f"{encoded}, canary, birdsong, stringData[c]: bird", details={"causes": causes})
    error = from_status(422, said, "PATCH /x", "m1", body)
    assert error.message == "PATCH /x was refused: Invalid at .data.a, .stringData.c"
    assert error.details["causes"] == []


def test_a_password_in_a_proxy_url_is_not_shown():
    assert without_userinfo("http://me:canary@p:1/x@y") == "http://p:1/x@y"
