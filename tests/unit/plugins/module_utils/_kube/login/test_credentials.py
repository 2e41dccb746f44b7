# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Kubeconfigs as kubectl reads them; bad ones refused with all that is wrong, and without a word of what is secret."""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import write_time
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import (
    Connection,
    Credential,
    TokenFile,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import (
    Basic,
    connection_from_document,
    connection_from_kubeconfig,
    connection_in_cluster,
    contexts,
    proxy_for,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.external_credentials import _with_authorities
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import in_parallel

EXTERNAL = "ansible_collections.gitops.fleet.plugins.module_utils._kube.login.external_credentials"
CA = b"-----BEGIN CERTIFICATE-----\nca\n-----END CERTIFICATE-----\n"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def document(user=None, cluster=None, **more):
    shown = {"server": "https://a:6443", "certificate-authority-data": encoded(CA), **(cluster or {})}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "clusters": [{"name": "c", "cluster": shown}],
        "users": [{"name": "u", "user": {"token": "canary"} if user is None else user}],
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
        **more,
    }


def written(folder, content, name="config"):
    path = folder / name
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def refused(call, *arguments) -> FleetError:
    with pytest.raises(FleetError) as caught:
        call(*arguments)
    assert "canary" not in str(caught.value)
    return caught.value


def test_a_token_user(tmp_path):
    connection = connection_from_kubeconfig(written(tmp_path, document()))
    assert (connection.server, connection.ca, connection.token) == ("https://a:6443", CA, "canary")
    assert connection.name == "one"
    assert "canary" not in repr(connection)


def test_certificates_from_data_and_from_files_beside_the_kubeconfig(tmp_path):
    (tmp_path / "me.crt").write_bytes(b"certificate")
    user = {"client-certificate": "me.crt", "client-key-data": encoded(b"key")}
    connection = connection_from_kubeconfig(written(tmp_path, document(user)))
    assert (connection.client_cert, connection.client_key) == (b"certificate", b"key")


def test_a_password_user(tmp_path):
    connection = connection_from_kubeconfig(written(tmp_path, document({"username": "me", "password": "canary"})))
    assert connection.credentials.get() == Credential("Basic " + encoded(b"me:canary"))
    assert "canary" not in repr(connection.credentials)


def test_a_token_file_is_read_at_each_use(tmp_path):
    (tmp_path / "token").write_text("first\n")
    source = connection_from_kubeconfig(written(tmp_path, document({"tokenFile": "token"}))).credentials
    assert source.get().authorization == "Bearer first"
    assert source.renew(Credential("Bearer first")) is None
    (tmp_path / "token").write_text("second\n")
    assert source.renew(Credential("Bearer first")) == source.get() == Credential("Bearer second")
    (tmp_path / "token").unlink()
    assert refused(source.get).code == "credentials-missing"


def test_all_that_a_cluster_says_is_taken(tmp_path):
    cluster = {"tls-server-name": "n", "proxy-url": "http://p:1", "insecure-skip-tls-verify": True}
    extra = {"scope": ["s"], "example.com/team": ["a", "b"], "a:b%": ["c"]}
    user = {"token": "t", "as": "jo", "as-groups": ["x", "y"], "as-user-extra": extra}
    connection = connection_from_kubeconfig(written(tmp_path, document(user, cluster)))
    assert (connection.tls_server_name, connection.proxy, connection.insecure) == ("n", "http://p:1", True)
    assert connection.impersonate == (
        ("Impersonate-User", "jo"),
        ("Impersonate-Group", "x"),
        ("Impersonate-Group", "y"),
        ("Impersonate-Extra-a%3Ab%25", "c"),
        ("Impersonate-Extra-example.com%2Fteam", "a"),
        ("Impersonate-Extra-example.com%2Fteam", "b"),
        ("Impersonate-Extra-scope", "s"),
    )


@pytest.mark.parametrize(
    "user",
    [
        *({"as-user-extra": extra} for extra in ({"x": 5}, {"x": None}, {"x": [5]}, {5: ["x"]}, {"x": "canary"}, [5])),
        *({"as-groups": groups} for groups in ("canary", [5], {"canary": 1})),
    ],
)
def test_whoever_is_posed_as_is_named_in_texts(tmp_path, user):
    error = refused(connection_from_kubeconfig, written(tmp_path, document(user)))
    assert error.code == "kubeconfig-invalid" and error.where.endswith("as-groups")


@pytest.mark.parametrize("name", [5, ["canary"], {"canary": "canary"}])
@pytest.mark.parametrize("kind", ["cluster", "user"])
def test_a_context_names_its_parts_in_texts(kind, name):
    """F22: anything else is not written out, for it may be an alias of a million of them."""
    context = {"cluster": "c", "user": "u", kind: name}
    error = refused(connection_from_document, document(contexts=[{"name": "one", "context": context}]))
    assert error.message == f"the context names no {kind}"


@pytest.mark.parametrize(
    ("proxy", "shown"),
    [
        ("ftp://user:c@nary@host", "ftp://host"),
        ("ftp://user:c/n@ry@host", "ftp://host"),
        ("ftp://user:c/nary@host", "ftp://host"),
        ("ftp://user:c#nary@host", "ftp://host"),
        ("user:canary@host:3128", "host:3128"),
    ],
)
def test_no_part_of_a_password_of_a_proxy_is_shown(tmp_path, proxy, shown):
    error = refused(connection_from_kubeconfig, written(tmp_path, document(cluster={"proxy-url": proxy})))
    assert f"proxy-url {shown!r} " in error.message


def test_the_names_of_files_may_be_ones_that_no_file_has(tmp_path):
    for name in ("~a\0b", "x" * 300):
        error = refused(connection_from_kubeconfig, written(tmp_path, document({"client-certificate": name})))
        assert error.code == "kubeconfig-invalid" and "cannot be read" in error.message


def test_contexts_are_listed_sorted_and_several_files_are_merged(tmp_path):
    first = written(tmp_path, document(contexts=[{"name": "b", "context": {"cluster": "c", "user": "u"}}]), "1")
    other = document(cluster={"server": "https://b:6443"})
    other["contexts"].append({"name": "a", "context": {"cluster": "c"}})
    second = written(tmp_path, other, "2")
    both = f"{first}:{tmp_path}/missing:{second}"
    assert contexts(both) == ("a", "b", "one")
    assert connection_from_kubeconfig(both, "a").server == "https://a:6443"


def test_a_changed_file_is_read_anew(tmp_path):
    path = written(tmp_path, document())
    assert contexts(path) == ("one",)
    changed = document(contexts=[{"name": "another", "context": {"cluster": "c"}}])
    written(tmp_path, changed)
    assert contexts(path) == ("another",)


def test_a_missing_context_lists_those_there_are(tmp_path):
    path = written(tmp_path, document())
    error = refused(connection_from_kubeconfig, path, "two")
    assert error.code == "context-missing" and "'two'" in error.message and "one" in error.hint
    path = written(tmp_path, document(**{"current-context": ""}), "none")
    assert "current-context is not set" in refused(connection_from_kubeconfig, path).message


def test_a_missing_file(tmp_path):
    assert refused(connection_from_kubeconfig, tmp_path / "none").code == "kubeconfig-missing"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("token: canary: [", "is not YAML"),
        ("canary: \x01", "is not YAML"),
        ("- canary", "is a mapping"),
        ("", "is a mapping"),
        (document(clusters={"a": "canary"}), "clusters is not a list"),
        (document(users=[{"user": {"token": "canary"}}]), "needs a name"),
        (document(users=[{"name": "u", "user": "canary"}]), "is not a mapping"),
        (document(users=[{"name": "u"}, {"name": "u"}]), "is there twice"),
        (document(contexts=[{"name": "one", "context": {"cluster": "x"}}]), "there is no cluster 'x'"),
        (document(contexts=[{"name": "one", "context": {"cluster": "c", "user": "x"}}]), "there is no user 'x'"),
        (document(contexts=[{"name": "one", "context": {}}]), "names no cluster"),
        (document(cluster={"server": ""}), "has no server"),
        (document(cluster={"server": "a:6443"}), "is not an http or https URL"),
        (document(cluster={"server": "https://me:canary@a"}), "has a user"),
        (document(cluster={"server": "https://a:x"}), "is not a URL"),
        (document(cluster={"certificate-authority-data": "canary!"}), "is not base64"),
        (document(cluster={"insecure-skip-tls-verify": "canary"}), "neither true nor false"),
        (document({"token": ["canary"]}), "is not a text"),
        (document({"token": "canary\nline"}), "line breaks"),
        (document({"tokenFile": "none"}), "cannot be read"),
        (document({"tokenFile": "/dev/zero"}), "cannot be read: it is a device"),
        (document({"client-certificate": "none"}), "cannot be read: No such file"),
        (document({"client-certificate": "/dev/zero"}), "cannot be read: it is a device"),
        (
            document(cluster={"certificate-authority-data": "", "certificate-authority": "/dev/full"}),
            "cannot be read: it is a device",
        ),
        (document({"as": "jörg"}), "cannot be sent"),
        (document({"exec": {"command": 1, "apiVersion": "v1"}}), "is not set"),
    ],
)
def test_bad_kubeconfigs_are_refused_without_their_secrets(tmp_path, content, message):
    error = refused(connection_from_kubeconfig, written(tmp_path, content))
    assert error.code in ("kubeconfig-invalid", "credentials-invalid")
    assert message in str(error)


def test_all_problems_are_told_at_once(tmp_path):
    user = {"client-certificate": "none", "client-key-data": "?"}
    path = written(tmp_path, document(user, {"server": None, "tls-server-name": 5}))
    assert [
        problem.where.removeprefix(f"{path} ") for problem in refused(connection_from_kubeconfig, path).problems
    ] == [
        "cluster 'c' server",
        "cluster 'c' tls-server-name",
        "user 'u' client-certificate",
        "user 'u' client-key-data",
    ]


def test_all_that_cannot_be_sent_is_told_at_once(tmp_path):
    user = {"token": "canary\n", "as": "j\u00e4ne"}
    cluster = {"server": "ftp://a", "proxy-url": "zz"}
    error = refused(connection_from_kubeconfig, written(tmp_path, document(user, cluster)))
    assert [each.code for each in error.problems] == [
        "kubeconfig-invalid",
        "kubeconfig-invalid",
        "credentials-invalid",
        "kubeconfig-invalid",
    ]
    assert [each.where for each in error.problems] == ["one"] * 4


def test_a_document_may_not_reach_into_this_machine():
    """Whoever may write the Secret must not be able to run a command or to read a file here."""
    assert connection_from_document(document(), where="Secret fleet/a").token == "canary"
    for user in (
        {"exec": {"command": "sh", "apiVersion": "client.authentication.k8s.io/v1"}},
        {"tokenFile": "/etc/passwd"},
        {"token": "t", "exec": {"command": "sh", "apiVersion": "client.authentication.k8s.io/v1"}},
        {"token": "t", "auth-provider": {"name": "gcp", "config": {"cmd-path": "/bin/sh"}}},
    ):
        error = refused(connection_from_document, document(user), "", "Secret fleet/a")
        assert error.code == "kubeconfig-invalid" and error.where.startswith("Secret fleet/a user 'u'")
    assert refused(connection_from_document, "canary").code == "kubeconfig-invalid"


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"server": "http://10.0.0.1"}, "does not begin with https://"),
        ({"server": "http://127.0.0.1:8080"}, "does not begin with https://"),
        ({"server": "unix:///run/docker.sock"}, "does not begin with https://"),
        ({"server": "file:///etc/passwd"}, "does not begin with https://"),
        ({"server": "https://169.254.169.254"}, "has an address that no server"),
        ({"server": "https://169.254.169.254./latest"}, "has an address that no server"),
        ({"server": "https://2852039166"}, "has an address that no server"),
        ({"server": "https://0xa9.0xfe.43518"}, "has an address that no server"),
        ({"server": "https://[fe80::1%25eth0]:6443"}, "has an address that no server"),
        ({"server": "https://[::ffff:169.254.169.254]"}, "has an address that no server"),
        ({"server": "https://[::]"}, "has an address that no server"),
        ({"server": "https://0.0.0.0"}, "has an address that no server"),
        ({"server": "https://224.0.0.1"}, "has an address that no server"),
        ({"proxy-url": "http://169.254.169.254"}, "has an address that no server"),
        ({"proxy-url": "unix:///run/docker.sock"}, "does not begin with http:// or"),
        ({"server": "https://a b"}, "holds characters that no URL has"),
        ({"server": "https://a/\r\nX: y"}, "holds characters that no URL has"),
        ({"server": "https://["}, "is not a URL"),
        ({"server": "http://[::1"}, "is not a URL"),
        ({"server": "http://a\u2100b"}, "is not a URL"),
        ({"proxy-url": "http://["}, "is not a URL"),
        ({"proxy-url": "http://a:x"}, "is not a URL"),
        ({"proxy-url": "http://a\n"}, "is not the URL of a proxy"),
        ({"proxy-url": "http://"}, "is not the URL of a proxy"),
    ],
)
def test_a_document_may_not_send_us_anywhere(cluster, message):
    error = refused(connection_from_document, document(cluster=cluster), "", "Secret fleet/a")
    assert error.code == "kubeconfig-invalid" and message in error.message


def test_what_a_document_says_of_its_connection_is_told():
    cluster = {"insecure-skip-tls-verify": True, "tls-server-name": "other", "proxy-url": "socks5://p:1080"}
    found = connection_from_document(document(cluster=cluster)).notes
    assert [note.rpartition("(")[2] for note in found] == ["insecure-skip-tls-verify)", "tls-server-name)"]
    assert connection_from_document(document(cluster={"server": "https://[::1]:6443"})).notes == ()


@pytest.mark.parametrize("server", ["http://[::1", "https://[::1", "http://a\u2100b", "http://[1.2.3.4]", "http://a:x"])
def test_a_server_that_is_no_url_is_told(tmp_path, server):
    error = refused(connection_from_kubeconfig, written(tmp_path, document(cluster={"server": server})))
    assert error.code == "kubeconfig-invalid" and "is not a URL" in error.message


@pytest.mark.parametrize(
    ("cluster", "notes"),
    [
        ({}, []),
        ({"tls-server-name": "a"}, []),
        ({"insecure-skip-tls-verify": True}, ["insecure-skip-tls-verify"]),
        ({"server": "http://10.0.0.1"}, ["http://"]),
        ({"server": "http://127.0.0.1:8001"}, []),
        ({"server": "http://localhost:8001"}, []),
        ({"server": "https://127.0.0.1:6443", "insecure-skip-tls-verify": True}, ["insecure-skip-tls-verify"]),
    ],
)
def test_what_users_are_told_of_connections_that_are_not_safe(tmp_path, cluster, notes):
    found = connection_from_kubeconfig(written(tmp_path, document(cluster=cluster))).notes
    assert len(found) == len(notes) and all(word in note for word, note in zip(notes, found, strict=True))


def test_in_cluster(tmp_path):
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert refused(connection_in_cluster, {}, tmp_path).code == "kubeconfig-missing"
    assert refused(connection_in_cluster, environ, tmp_path).code == "kubeconfig-missing"
    (tmp_path / "ca.crt").write_bytes(CA)
    (tmp_path / "token").write_text("canary")
    connection = connection_in_cluster(environ, tmp_path)
    assert connection.server == "https://[fd00::1]:443"
    assert connection.credentials == TokenFile(tmp_path / "token")


@pytest.mark.parametrize(
    ("server", "environ", "proxy"),
    [
        ("https://a:6443", {}, ""),
        ("https://a:6443", {"HTTPS_PROXY": "p:3128"}, "http://p:3128"),
        ("https://a:6443", {"https_proxy": "http://p", "no_proxy": "b,a"}, ""),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": "http://p"}, ""),
        ("http://a", {"HTTPS_PROXY": "http://p"}, ""),
        ("https://10.1.2.3:6443", {"HTTPS_PROXY": "http://p", "NO_PROXY": ".svc, 10.0.0.0/8"}, ""),
        ("https://11.1.2.3:6443", {"HTTPS_PROXY": "http://p", "NO_PROXY": "10.0.0.0/8,fd00::/8"}, "http://p"),
        ("https://[fd00::1]:6443", {"HTTPS_PROXY": "http://p", "NO_PROXY": "10.0.0.0/8,fd00::/8"}, ""),
        ("https://a.example.com", {"HTTPS_PROXY": "http://p", "NO_PROXY": "b, *.example.com"}, ""),
        ("https://a.example.org", {"HTTPS_PROXY": "http://p", "NO_PROXY": "b, *.example.com"}, "http://p"),
        ("https://a", {"HTTPS_PROXY": "http://p", "NO_PROXY": "*"}, ""),
        ("https://a/8", {"HTTPS_PROXY": "http://p", "NO_PROXY": "a/8,10.0.0.0/99"}, "http://p"),
    ],
)
def test_the_proxy_of_the_environment(server, environ, proxy):
    assert proxy_for(server, environ) == proxy


@pytest.mark.parametrize("name", [".a", "a..b", "x" * 64, "a\0b"])
def test_a_name_that_no_host_has_is_refused_before_it_is_used(tmp_path, name):
    """TLS and DNS raised errors of their own for it, which were told as a fault of ours."""
    for cluster in ({"tls-server-name": name}, {"server": f"https://{name}:6443"}):
        error = refused(connection_from_kubeconfig, written(tmp_path, document(cluster=cluster)))
        assert error.code == "kubeconfig-invalid" and next(iter(cluster)) in error.message
    for name in ("a.example.", "10.0.0.1", "[fd00::1%eth0]", "a_b"):
        assert connection_from_kubeconfig(written(tmp_path, document(cluster={"server": f"https://{name}:6443"})))


def test_capitals_in_the_scheme_do_not_hide_that_nothing_is_encrypted(tmp_path):
    (note,) = connection_from_kubeconfig(written(tmp_path, document(cluster={"server": "HTTP://a:6443"}))).notes
    assert "not encrypted" in note


def plugin(tmp_path, script, **more):
    path = tmp_path / "plugin"
    path.write_text(f"#!/bin/sh\necho run >> {tmp_path}/runs\n{script}\n")
    path.chmod(0o755)
    section = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./plugin",
        "interactiveMode": "Never",
        **more,
    }
    return connection_from_kubeconfig(written(tmp_path, document({"exec": section}))).credentials


def answer(status):
    reply = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return f"cat <<'END'\n{json.dumps(reply)}\nEND"


def runs(tmp_path):
    return len((tmp_path / "runs").read_text().splitlines())


def test_a_plugin_is_run_once_for_all_until_a_minute_before_its_end(tmp_path):
    source = plugin(tmp_path, answer({"token": "canary", "expirationTimestamp": "2999-01-01T00:00:00Z"}))
    assert source.get() is source.get()
    assert source.get().authorization == "Bearer canary" and runs(tmp_path) == 1
    assert "canary" not in repr(source.get())
    assert source.renew(source.get()) is None and runs(tmp_path) == 2
    source = plugin(tmp_path, answer({"token": "canary", "expirationTimestamp": "2001-01-01T00:00:00Z"}), args=["x"])
    assert source.get() is not source.get() and runs(tmp_path) == 4


def test_a_plugin_whose_token_ends_within_a_minute_is_not_run_for_each_request(tmp_path):
    """Plugins with a cache give the same token until its end: in its last minute each request waited for a run."""
    ends = write_time(datetime.now(UTC) + timedelta(seconds=50))
    source = plugin(tmp_path, answer({"token": "canary", "expirationTimestamp": ends}))
    assert source.get() is source.get() and runs(tmp_path) == 1


def test_threads_that_need_the_same_plugin_wait_for_one_run(tmp_path):
    source = plugin(tmp_path, "sleep 0.05\n" + answer({"token": "canary"}))
    found = in_parallel({str(i): source.get for i in range(16)})
    assert {credential.authorization for credential in found.values()} == {"Bearer canary"}
    assert runs(tmp_path) == 1


def test_what_all_clusters_refuse_is_asked_for_again_once(tmp_path):
    """A thousand clusters that refuse one token waited for a thousand runs of the plugin, one after the other."""
    source = plugin(tmp_path, answer({"token": "canary"}))
    refused_one = source.get()
    found = in_parallel({str(i): lambda: source.renew(refused_one) for i in range(16)})
    assert set(found.values()) == {None} and runs(tmp_path) == 2
    assert source.get() == refused_one and runs(tmp_path) == 2


def test_threads_that_need_a_plugin_that_fails_have_its_failure_from_one_run(tmp_path):
    """Each at its own time, a thousand clusters would wait for a thousand failures."""
    source = plugin(tmp_path, "sleep 0.05\nexit 7")
    found = in_parallel({str(i): source.get for i in range(16)})
    assert {each.code for each in found.values()} == {"credentials-plugin"} and runs(tmp_path) == 1


def test_at_most_eight_plugins_run_at_once(tmp_path):
    script = (
        f"touch {tmp_path}/now.$1; ls {tmp_path} | grep -c now >> {tmp_path}/seen; sleep 0.05; rm {tmp_path}/now.$1\n"
    )
    sources = [plugin(tmp_path, script + answer({"token": "canary"}), args=[str(i)]) for i in range(20)]
    found = in_parallel({str(i): source.get for i, source in enumerate(sources)}, threads=20)
    assert not [one for one in found.values() if isinstance(one, FleetError)]
    assert max(int(line) for line in (tmp_path / "seen").read_text().split()) <= 8


def test_a_plugin_may_give_a_certificate_and_is_told_its_environment(tmp_path):
    script = 'echo "$KUBERNETES_EXEC_INFO" > info; echo "$WORD" >> info\n'
    script += answer({"clientCertificateData": "cert", "clientKeyData": "key"})
    source = plugin(tmp_path, script, env=[{"name": "WORD", "value": "w"}], provideClusterInfo=True)
    assert (source.get().client_cert, source.get().client_key) == (b"cert", b"key")
    told, word = (tmp_path / "info").read_text().splitlines()
    assert json.loads(told)["spec"]["cluster"]["server"] == "https://a:6443" and word == "w"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo canary >&2; exit 7", "exit code 7"),
        ("echo canary", "did not print an ExecCredential"),
        (answer({}), "neither a token"),
        (answer({"clientCertificateData": "canary"}), "without its key"),
        (answer({"token": "canary"}).replace("k8s.io/v1", "k8s.io/v1beta1"), "another version"),
        (answer({"token": "canary"}).replace("ExecCredential", "Secret"), "did not print an ExecCredential"),
        (answer("canary"), "without a status"),
        (answer({"token": ["canary"]}), "neither a token"),
        (answer({"token": "canary\n"}), "line breaks"),
        (answer({"token": "canary\ud800"}), "line breaks"),
        ("echo '[\"canary\"]'", "did not print an ExecCredential"),
        ("head -c 200000 /dev/zero | tr '\\0' '['", "did not print an ExecCredential"),
        ("printf '\\377canary'", "did not print an ExecCredential"),
        ("yes canary", "printed more than 1 MB"),
    ],
)
def test_a_plugin_that_fails_shows_nothing_it_printed(tmp_path, capfd, caplog, script, message):
    """F23."""
    error = refused(plugin(tmp_path, script).get)
    assert error.code.startswith("credentials-") and message in error.message
    captured = capfd.readouterr()
    assert "canary" not in captured.out + captured.err + caplog.text


@pytest.mark.parametrize(
    "env",
    [[{"name": "A", "value": datetime(2026, 1, 1).date()}], [{"name": 5, "value": "a"}], [{"name": "A"}], ["A"], "A"],
)
def test_the_environment_of_a_plugin_is_of_texts(tmp_path, env):
    error = refused(lambda: plugin(tmp_path, "", env=env))
    assert error.code == "kubeconfig-invalid" and error.where.endswith("exec.env")


def test_days_and_mixed_keys_beside_what_a_plugin_is_told_do_no_harm(tmp_path):
    odd = {"day": datetime(2026, 1, 1).date(), 5: {True: "a", "b": None}}
    section = {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "provideClusterInfo": True, **odd}
    section |= {"args": ["-c", answer({"token": "canary"})], "interactiveMode": datetime(2026, 1, 1).date()}
    for more in ({"extensions": 5}, {"extensions": [{"name": "client.authentication.k8s.io/exec", "extension": odd}]}):
        path = written(tmp_path, document({"exec": section}, more))
        assert connection_from_kubeconfig(path).credentials.get().authorization == "Bearer canary"
    provider = {"auth-provider": {"name": "oidc", "config": odd, **odd}}
    assert refused(connection_from_kubeconfig(written(tmp_path, document(provider))).credentials.get)


def test_a_plugin_that_is_not_there(tmp_path):
    assert "is not installed" in refused(plugin(tmp_path, "", command="./none").get).message


def test_a_plugin_that_needs_a_terminal_is_not_run(tmp_path):
    source = plugin(tmp_path, answer({"token": "canary"}), interactiveMode="Always")
    assert "wants a terminal" in refused(source.get).message and not (tmp_path / "runs").exists()


def test_a_token_that_ended_in_the_year_1_is_asked_for_again(tmp_path):
    source = plugin(tmp_path, answer({"token": "canary", "expirationTimestamp": "0001-01-01T00:00:00Z"}))
    assert source.get().authorization == source.get().authorization and runs(tmp_path) == 2


def test_a_plugin_is_told_the_extension_of_its_cluster(tmp_path):
    rows = ["text", {"name": "other"}, {"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}]
    section = {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "provideClusterInfo": True}
    section["args"] = ["-c", 'echo "$KUBERNETES_EXEC_INFO" > info; ' + answer({"token": "canary"})]
    path = written(tmp_path, document({"exec": section}, {"extensions": rows}))
    connection_from_kubeconfig(path).credentials.get()
    told = json.loads((tmp_path / "info").read_text())["spec"]
    assert told["cluster"]["config"] == {"a": 1} and told["interactive"] is False


def test_a_plugin_that_hangs_is_ended(tmp_path, monkeypatch):
    """On a busy machine it may be ended before its shell has begun: then it is given longer."""
    source = plugin(tmp_path, f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; exec sleep 600")
    monkeypatch.setattr(f"{EXTERNAL}.FAILED_SECONDS", 0)
    for seconds in (0.2, 5, 60):
        monkeypatch.setattr(f"{EXTERNAL}.PLUGIN_SECONDS", seconds)
        assert "gave no answer" in refused(source.get).message
        if (tmp_path / "pid").exists():
            break
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def jwt(**claims):
    part = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{part}.c2ln"


def test_the_command_of_an_auth_provider_is_not_run(tmp_path):
    config = {"cmd-path": f"/bin/touch {tmp_path}/ran", "cmd-args": "", "expiry-key": "a"}
    path = written(tmp_path, document({"auth-provider": {"name": "gcp", "config": config}}))
    error = refused(connection_from_kubeconfig(path).credentials.get)
    assert error.code == "credentials-plugin" and "exec plugin" in error.hint
    assert not (tmp_path / "ran").exists()


def test_the_library_that_an_auth_provider_needs_is_asked_for_before_anything_is_begun(tmp_path, monkeypatch):
    """It was missed with the first request, in the middle of a run."""
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    path = written(tmp_path, document({"auth-provider": {"name": "oidc", "config": {"id-token": "canary"}}}))
    error = refused(lambda: connection_from_kubeconfig(path))
    assert error.code == "missing-library" and "kubernetes" in error.message and "pip install" in error.hint
    assert "canary" not in str(error)


def test_an_auth_provider(tmp_path):
    token = jwt(exp=32503680000, canary="canary", pad="aa")
    user = {"auth-provider": {"name": "oidc", "config": {"id-token": token, "idp-issuer-url": "https://i"}}}
    source = connection_from_kubeconfig(written(tmp_path, document(user))).credentials
    assert source.get().authorization == f"Bearer {token}"
    assert source.get().expires.year == 3000
    assert token not in repr(source)
    user["auth-provider"]["config"] = {"id-token": "canary"}
    source = connection_from_kubeconfig(written(tmp_path, document(user), "bad")).credentials
    assert refused(source.get).code == "credentials-plugin"


def test_an_issuer_that_never_answers_is_not_waited_for_without_end(tmp_path, monkeypatch):
    """The package has no time limit: every member with that login waited for ever."""
    ended = threading.Event()
    package = SimpleNamespace(load_kube_config_from_dict=lambda *_given, **_named: ended.wait())
    monkeypatch.setattr(f"{EXTERNAL}._kubernetes", lambda _place: (package, SimpleNamespace(api_key={})))
    monkeypatch.setattr(f"{EXTERNAL}.PLUGIN_SECONDS", 0.1)
    user = {"auth-provider": {"name": "oidc", "config": {"id-token": "never", "refresh-token": "canary"}}}
    source = connection_from_kubeconfig(written(tmp_path, document(user))).credentials
    try:
        assert refused(source.get).message == "the auth provider gave no token (no answer within 0.1 s)"
    finally:
        ended.set()


@pytest.mark.parametrize("given", [{}, {"idp-certificate-authority": ""}, {"idp-certificate-authority-data": None}])
@pytest.mark.parametrize("of_system", [True, False])
def test_an_issuer_is_never_spoken_to_unverified(tmp_path, monkeypatch, given, of_system):
    """An empty text as its authority would turn verification off, and it gets the refresh token. Some systems have no
    file of authorities."""
    authorities = tmp_path / "ca.pem"
    authorities.write_text("x")
    paths = SimpleNamespace(cafile=str(authorities) if of_system else None)
    monkeypatch.setattr("ssl.get_default_verify_paths", lambda: paths)
    config = _with_authorities({"config": dict(given)})["config"]
    assert list(config) == ["idp-certificate-authority"] and Path(config["idp-certificate-authority"]).is_file()
    assert (config["idp-certificate-authority"] == str(authorities)) is of_system
    own = {"idp-certificate-authority": "/own.pem"}
    assert _with_authorities({"config": dict(own)})["config"] == own


def test_half_a_character_in_a_password_is_sent_as_it_is():
    """Readers of YAML give such; the server refuses it, and nothing breaks."""
    assert Basic("me", "\ud800").get().authorization == "Basic " + encoded(b"me:\xed\xa0\x80")


@pytest.mark.parametrize(
    "proxy", ["http://a..b:1", "http://.p:1", "http://a%zz:1", "http://u:s3cret@a%zz:1", "http://[::1]x:1"]
)
def test_a_proxy_that_no_host_can_be_is_told_as_the_kubeconfigs(proxy):
    """Not as a fault of ours, nor of the server behind it, which was asked for nothing."""
    with pytest.raises(FleetError) as told:
        KubeClient(Connection("https://127.0.0.1:1", name="m", proxy=proxy)).get("/version")
    assert told.value.code == "kubeconfig-invalid" and "s3cret" not in str(told.value)


@pytest.mark.parametrize("server", ["https://a%zz:1", "https://a%:1"])
def test_a_server_with_a_percent_sign_is_none(server):
    assert refused(lambda: Connection(server)).code == "kubeconfig-invalid"
