# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When credentials end."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.expiry import (
    certificate_ends,
    shown_until,
    token_ends,
    token_life,
)


def jwt(claims: bytes) -> str:
    return "Bearer e30." + base64.urlsafe_b64encode(claims).decode().rstrip("=") + ".c2ln"


def test_the_end_of_a_token():
    assert token_ends(jwt(json.dumps({"exp": 1767225600}).encode())) == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("claims", "life"),
    [
        ({"iat": 1767225600, "exp": 1767225660}, timedelta(minutes=1)),
        ({"exp": 1767225660}, None),
        ({"iat": 1767225600}, None),
        ({"iat": 1767225660, "exp": 1767225600}, None),
    ],
)
def test_the_life_of_a_token_is_what_was_granted(claims, life):
    assert token_life(jwt(json.dumps(claims).encode())) == life


@pytest.mark.parametrize(
    "token",
    [
        *("", "Bearer opaque", "Bearer a.!.c", jwt(b"{}"), jwt(b"[]"), jwt(b'{"exp": 1e99}')),
        jwt(b'{"exp": ' + b"[" * 100_000),
    ],
)
def test_a_token_that_does_not_tell(token):
    assert token_ends(token) is None


def test_the_end_of_a_certificate_in_older_versions_of_the_library(monkeypatch):
    """Before 42 it has no instant with a zone."""
    older = SimpleNamespace(not_valid_after=datetime(2026, 1, 1))
    monkeypatch.setattr("cryptography.x509.load_pem_x509_certificate", lambda _pem: older)
    assert certificate_ends(b"a certificate") == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("pem", [b"", b"no certificate"])
def test_what_is_no_certificate_does_not_tell(pem):
    assert certificate_ends(pem) is None


class Socket:
    """A TLS connection, as far as its certificate is asked for."""

    def __init__(self, told):
        self.told = told

    def getpeercert(self):
        return self.told


def test_the_end_of_what_a_server_has_shown():
    assert shown_until(Socket({"notAfter": "Jan  1 00:00:00 2026 GMT"})) == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("told", [None, {}, {"notAfter": "soon"}, {"notAfter": 3}])
def test_what_was_not_checked_does_not_tell(told):
    assert shown_until(Socket(told)) is None and shown_until(told) is None
