# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What cannot be loaded is told, and nothing is left on the disk."""

from __future__ import annotations

import os
import signal
import ssl
import tempfile
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login import tls
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.tls import tls_context
from ansible_collections.gitops.fleet.plugins.module_utils._local.certificates import make_pki

PEM = b"-----BEGIN CERTIFICATE-----\ncanary\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("ca", "cert", "message"),
    [
        (PEM, b"", "the certificate authority is not a PEM certificate"),
        (b"\xff", b"", "the certificate authority is not a PEM certificate"),
        (b"", b"", "the certificate authority is not a PEM certificate"),
        (None, PEM, "cannot be loaded, or do not belong together"),
    ],
)
def test_bad_certificates(tmp_path, monkeypatch, ca, cert, message):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(FleetError) as caught:
        tls_context(Connection("https://a", ca=ca, insecure=ca is None, name="m1"), cert)
    assert caught.value.code == "kubeconfig-invalid" and message in caught.value.message
    assert caught.value.where == "m1" and "canary" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_connection_does_not_change_the_protocols_of_the_others():
    """Python hands OpenSSL a new list in place of one that it may be copying for another thread."""
    context = tls_context(Connection("https://a", insecure=True))
    context.set_alpn_protocols(["foreign"])
    hello = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), hello).do_handshake()
    sent = hello.read()
    assert b"\x08http/1.1" in sent and b"foreign" not in sent


def forbidden(*_arguments: object) -> t.NoReturn:
    raise PermissionError


@pytest.fixture(params=["memory", "disk"])
def temporary(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files; where memory cannot be had as a file, these take its place."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    if request.param == "disk":
        monkeypatch.setattr(os, "memfd_create", forbidden)
    return folder


def test_a_certificate_and_its_key_are_loaded_and_no_file_has_a_name(tmp_path, monkeypatch, temporary):
    """F23"""
    make_pki(tmp_path / "pki", "m1")
    cert, key = ((tmp_path / "pki" / f"admin.{end}").read_bytes() for end in ("crt", "key"))
    seen = []

    def load(context, certfile, keyfile, password):
        seen.append((list(temporary.iterdir()), Path(keyfile).read_bytes()))
        load_cert_chain(context, certfile, keyfile, password)

    load_cert_chain = ssl.SSLContext.load_cert_chain
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", load)
    tls_context(Connection("https://a", insecure=True), cert, key)
    tls_context(Connection("https://a", insecure=True), cert + key)
    assert seen == [([], key), ([], cert + key)]
    assert list(temporary.iterdir()) == []


def test_a_process_that_is_killed_leaves_no_key(temporary):
    """F23: SIGKILL at the worst instant."""
    child = os.fork()
    if child == 0:
        with tls._nameless(b"canary") as path:
            os.kill(os.getpid(), signal.SIGKILL if Path(path).read_bytes() == b"canary" else signal.SIGTERM)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert list(temporary.iterdir()) == []
