# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Keys and certificates of a cluster."""

from __future__ import annotations

import json
import ssl
from base64 import b64decode
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._local.certificates import (
    CertificateIdentity,
    make_pki,
    sign,
)
from ansible_collections.gitops.fleet.plugins.module_utils._local.kubeconfigs import write_kubeconfig, write_merged
from cryptography import x509

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster") / "pki"
    make_pki(folder, "one", NOW)
    return folder


def certificate(pki, name):
    return x509.load_pem_x509_certificate((pki / f"{name}.crt").read_bytes())


def test_private_keys_are_for_their_owner_only(pki):
    keys = list(pki.glob("*.key"))
    assert {path.stem for path in keys} == {
        "ca",
        "sa",
        "apiserver",
        "apiserver-etcd",
        "etcd",
        "admin",
        "controller-manager",
        "scheduler",
        "kwok",
    }
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in keys)


def test_no_key_serves_two_purposes(pki):
    assert len({path.read_bytes() for path in pki.glob("*.key")}) == 9


def test_the_api_server_may_be_called_by_each_of_its_names(pki):
    names = certificate(pki, "apiserver").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"localhost", "kubernetes.default.svc"} <= set(names.get_values_for_type(x509.DNSName))
    assert "127.0.0.1" in {str(one) for one in names.get_values_for_type(x509.IPAddress)}


@pytest.mark.parametrize(
    ("name", "user", "groups"),
    [
        ("admin", "kubernetes-admin", ["system:masters"]),
        ("controller-manager", "system:kube-controller-manager", []),
        ("scheduler", "system:kube-scheduler", []),
    ],
)
def test_each_client_is_who_it_shall_be(pki, name, user, groups):
    subject = certificate(pki, name).subject
    assert [one.value for one in subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)] == [user]
    assert [one.value for one in subject.get_attributes_for_oid(x509.NameOID.ORGANIZATION_NAME)] == groups


def test_every_certificate_is_signed_by_the_clusters_own_authority(pki):
    authority = certificate(pki, "ca")
    for path in pki.glob("*.crt"):
        certificate(pki, path.stem).verify_directly_issued_by(authority)


def test_keys_are_made_once(pki):
    before = (pki / "ca.key").read_bytes()
    make_pki(pki, "one", NOW)
    assert (pki / "ca.key").read_bytes() == before


def test_a_certificate_can_be_made_expired(pki):
    path, _key = sign(pki, CertificateIdentity("late", "late"), NOW, NOW - timedelta(days=1))
    made = x509.load_pem_x509_certificate(path.read_bytes())
    assert made.not_valid_after_utc == NOW - timedelta(days=1) > made.not_valid_before_utc


def test_a_kubeconfig_holds_everything_and_is_written_once(pki, tmp_path):
    path = tmp_path / "kubeconfig"
    assert write_kubeconfig(path, "one", "https://127.0.0.1:1", pki)
    assert not write_kubeconfig(path, "one", "https://127.0.0.1:1", pki)
    document = json.loads(path.read_text())
    ssl.create_default_context(
        cadata=b64decode(document["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
    )
    assert document["current-context"] == "one" and path.stat().st_mode & 0o777 == 0o600


def test_one_file_for_all_clusters_has_a_context_each(pki, tmp_path):
    write_merged(tmp_path / "all", [("one", "https://127.0.0.1:1", pki), ("two", "https://127.0.0.1:2", pki)])
    document = json.loads((tmp_path / "all").read_text())
    assert [one["name"] for one in document["contexts"]] == ["one", "two"]
    assert len({one["name"] for one in document["users"]}) == 2
