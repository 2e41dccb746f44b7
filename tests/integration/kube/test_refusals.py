# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Every way in which a request can fail, on a real API server: each has its own code and tells what to do."""

from __future__ import annotations

import socket
import threading
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object, delete_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient, Timeouts
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"


def refused(client, path=PODS):
    with client, pytest.raises(ApiError) as caught:
        client.get(path)
    assert caught.value.where == client.server_name
    return caught.value


def test_another_authority_is_a_certificate_error(server, authority):
    other = type(authority)("another")
    error = refused(server.client(ca=other.pem))
    assert error.code == "certificate"
    assert "was not issued by the authority in the kubeconfig" in error.message


def test_without_an_authority_the_systems_are_trusted(server):
    assert refused(server.client(ca=None)).code == "certificate"


def test_another_host_name_is_a_certificate_error(server):
    error = refused(server.client(tls_server_name="elsewhere.example"))
    assert error.code == "certificate"
    assert "is for another name" in error.message


def test_tls_server_name_is_what_the_certificate_is_held_against(server):
    with server.client(tls_server_name="kubernetes.default.svc") as client:
        assert client.get("/version")["major"] == "1"


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_insecure_is_possible_when_asked_for(server, authority):
    with server.client(ca=type(authority)("another").pem, insecure=True) as client:
        assert client.get("/version")["major"] == "1"


def test_a_client_certificate_identifies_us(server):
    cert, key = server.authority.issue("admin", "system:masters")
    with server.client(client_cert=cert, client_key=key, token="") as client:
        assert client.get(PODS)["kind"] == "PodList"


def test_an_expired_client_certificate_is_told_from_an_unknown_one(server, authority):
    """F27."""
    cert, key = authority.issue("admin", "system:masters", ends=timedelta(hours=-1))
    error = refused(server.client(client_cert=cert, client_key=key, token=""))
    assert (error.code, error.status) == ("credentials-expired", 401)
    assert "client certificate" in error.message and "expired at" in error.message
    cert, key = type(authority)("another").issue("admin", "system:masters")
    assert refused(server.client(client_cert=cert, client_key=key, token="")).code == "unauthorized"


def test_an_unknown_token_is_unauthorized(server):
    error = refused(server.client(token="canary-nobody-knows-me"))
    assert (error.code, error.status) == ("unauthorized", 401)


def test_an_account_without_permission_is_told_the_verb_and_the_resource(server):
    error = refused(server.client(token="token-nobody"))
    assert (error.code, error.status) == ("forbidden", 403)
    assert 'User "nobody" cannot list resource "pods"' in error.message


def test_a_dead_port_is_unreachable(server, free_address):
    error = refused(server.client(server=f"https://{free_address}"))
    assert error.code == "unreachable" and "refused" in error.message


def test_an_unknown_host_is_unreachable(server):
    error = refused(server.client(server="https://no-such-host.invalid:6443"))
    assert error.code == "unreachable"


def test_a_server_that_accepts_and_says_nothing_is_a_timeout(server):
    """F1: one timeout, not three."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        connection = server.connection(server=f"https://127.0.0.1:{silent.getsockname()[1]}")
        error = refused(KubeClient(connection, Timeouts(connect=0.2, read=0.2)))
    assert error.code == "timeout"


def test_a_port_without_tls_is_told(server):
    with socket.create_server(("127.0.0.1", 0)) as plain:
        threading.Thread(target=_answer_in_the_clear, args=(plain,), daemon=True).start()
        error = refused(server.client(server=f"https://127.0.0.1:{plain.getsockname()[1]}"))
    assert error.code == "bad-answer" and "does not speak TLS" in error.message


def _answer_in_the_clear(plain):
    while True:
        try:
            connection, _address = plain.accept()
        except OSError:
            return
        connection.recv(1024)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.close()


def test_http_on_the_secure_port_is_told(server):
    error = refused(server.client(server=server.url.replace("https", "http")))
    assert error.code == "bad-answer"


def test_what_is_not_there_is_not_found(admin):
    error = refused(admin, f"{PODS}/none")
    assert (error.code, error.status, error.reason) == ("not-found", 404, "NotFound")


@pytest.mark.parametrize("path", ["/apis/x.example/v1/things", "/apis/apps/v1/things/a", "/api/v1/things", "/things"])
def test_a_path_that_is_not_there_is_not_found(admin, path):
    """Not told by a Status everywhere; the same from a proxy would say nothing."""
    error = refused(admin, path)
    assert (error.code, error.status) == ("not-found", 404)


def test_what_is_there_already_exists(admin):
    body = {"metadata": {"name": "twice"}}
    admin.post(MAPS, body)
    with pytest.raises(ApiError) as caught:
        admin.post(MAPS, body)
    assert (caught.value.code, caught.value.status) == ("already-exists", 409)


def test_a_write_on_an_old_state_is_a_conflict(admin):
    first = admin.post(MAPS, {"metadata": {"name": "raced"}})
    admin.put(f"{MAPS}/raced", {**first, "data": {"a": "1"}})
    with pytest.raises(ApiError) as caught:
        admin.put(f"{MAPS}/raced", {**first, "data": {"a": "2"}})
    assert caught.value.code == "conflict"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"data": "text"}, "data"),
        ({"datum": {"a": "1"}}, "datum"),
        ({"metadata": {"name": "Bad_Name"}}, "metadata.name"),
    ],
)
def test_a_bad_object_is_invalid_and_names_the_field(admin, change, field):
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bad"}, **change}
    manifest["metadata"] = {"namespace": "default", **manifest["metadata"]}
    with pytest.raises(ApiError) as caught:
        apply_object(admin, manifest)
    assert caught.value.code == "invalid" and caught.value.status in (400, 422, 500)
    assert field in caught.value.message


def test_deletion_may_be_bound_to_the_very_object(admin):
    made = admin.post(MAPS, {"metadata": {"name": "bound"}})
    path = f"{MAPS}/bound"
    with pytest.raises(ApiError) as caught:
        delete_object(admin, path, uid="another")
    assert caught.value.code == "conflict"
    assert delete_object(admin, path, uid=made["metadata"]["uid"], dry_run=True)
    assert delete_object(admin, path, uid=made["metadata"]["uid"], resource_version=made["metadata"]["resourceVersion"])
    assert not delete_object(admin, path)


def test_no_secret_appears_in_any_error_or_repr(server, authority):
    """F23."""
    cert, key = authority.issue("canary", ends=timedelta(hours=-1))
    shown = []
    for changes in (
        {"token": "canary-token"},
        {"client_cert": cert, "client_key": key, "token": ""},
        {"token": "canary-token", "proxy": "http://me:canary-password@127.0.0.1:9"},
    ):
        client = server.client(**changes)
        error = refused(client)
        shown += [str(error), repr(error), repr(error.__dict__), repr(client.connection), repr(client.__dict__)]
    with server.client() as client, pytest.raises(ApiError) as caught:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
        apply_object(client, {**secret, "type": "canary-type!", "stringData": {"a": "canary-value"}, "unknown": 1})
    shown.append(str(caught.value))
    text = "\n".join(shown)
    for canary in ("canary-token", "canary-password", "canary-value", key.decode().splitlines()[1]):
        assert canary not in text
