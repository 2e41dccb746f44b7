# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What cannot be loaded is told, and nothing is left on the disk."""

from __future__ import annotations

import tempfile

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.connection import Connection
from ansible_collections.gitops.fleet.plugins.module_utils._kube.tls import tls_context

PEM = b"-----BEGIN CERTIFICATE-----\ncanary\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("ca", "cert", "message"),
    [
        (PEM, b"", "the certificate authority is not a PEM certificate"),
        (b"\xff", b"", "the certificate authority is not a PEM certificate"),
        (b"", b"", "the certificate authority is not a PEM certificate"),
        (None, PEM, "cannot be loaded, or do not belong together"),
        (None, "/no/such/file", "cannot be read: No such file"),
    ],
)
def test_bad_certificates(tmp_path, monkeypatch, ca, cert, message):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(FleetError) as caught:
        tls_context(Connection("https://a", ca=ca, insecure=ca is None, name="m1"), cert)
    assert caught.value.code == "kubeconfig-invalid" and message in caught.value.message
    assert caught.value.where == "m1" and "canary" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
