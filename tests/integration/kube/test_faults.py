# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Faults that no real API server can be brought to: a scripted HTTP server gives them (``script`` in conftest.py)."""

from __future__ import annotations

import gzip
import socket

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.access import server_readiness
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient, Timeouts
from ansible_collections.gitops.fleet.plugins.module_utils._kube.discovery import resource_for
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.lists import list_objects, read_list
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection, Credential
from ansible_collections.gitops.fleet.plugins.module_utils._kube.transport import pool
from misbehaving import PATIENT, answer, dripping, listing, serving, status

PATH = "/api/v1/pods"


def cut(request):
    """A part of the promised body, then the end of the connection."""
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b'{"kind":"PodList","items":[')
    request.close_connection = True


def cut_chunks(request):
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    request.wfile.write(b'5\r\n{"a":\r\n')
    request.close_connection = True


def hang_up(request):
    request.close_connection = True
    request.connection.shutdown(2)


def page(names, token="", remaining=None, version="7"):
    more = {} if remaining is None else {"remainingItemCount": remaining}
    items = [{"metadata": {"name": name}} for name in names]
    return answer(listing("Pod", items, token, resourceVersion=version, **more))


def fails(script, timeout=PATIENT, **changes):
    with script.client(timeout, **changes) as client, pytest.raises(ApiError) as caught:
        client.get(PATH)
    return caught.value


def test_retry_after_is_obeyed(script):
    """F26."""
    script.steps = [status(429, "TooManyRequests", Retry_After="3"), answer({}, 503, Retry_After="2"), answer({"a": 1})]
    with script.client() as client:
        assert client.post(PATH, {}) == {"a": 1}
    assert script.waits == [3.0, 2.0]


def test_waits_are_capped_in_all(script):
    """F26: the fleet is not stalled by one member."""
    script.steps = [status(429, "TooManyRequests", "slow down", Retry_After="4")]
    error = fails(script, Timeouts(wait=10))
    assert script.waits == [4.0, 4.0]
    assert error.code == "too-many-requests"
    assert "slow down (it asks us to wait 4 s; we wait 10 s in all)" in error.message


def test_429_without_retry_after_is_an_answer(script):
    """So the eviction API tells that a PodDisruptionBudget is spent."""
    script.steps = [status(429, "TooManyRequests", "the budget is spent")]
    assert fails(script).message == "the budget is spent"
    assert len(script.asked) == 1


@pytest.mark.parametrize("fault", [cut, cut_chunks, answer(b'{"kind":"Pod')])
def test_half_an_answer_is_no_answer(script, fault):
    """F3: tried again, then an error."""
    script.steps = [fault]
    assert fails(script).code == "bad-answer"
    assert len(script.asked) == 3
    script.steps = [fault, answer({"a": 1})]
    with script.client() as client:
        assert client.get(PATH) == {"a": 1}


def test_a_write_is_never_sent_twice(script):
    script.steps = [cut]
    with script.client() as client, pytest.raises(ApiError) as caught:
        client.post(PATH, {})
    assert caught.value.code == "bad-answer" and len(script.asked) == 1


def test_a_connection_closed_without_an_answer_is_told(script):
    script.steps = [hang_up]
    assert fails(script).code == "unreachable"
    assert len(script.asked) == 3


def test_a_read_goes_on_where_an_idle_connection_was_dropped(script):
    """A load balancer resets what was silent for minutes only when we write next: a wait made a member unreachable."""
    script.steps = [answer({"a": 1}), hang_up, answer({"a": 2})]
    with script.client() as client:
        assert [client.get(PATH), client.get(PATH)] == [{"a": 1}, {"a": 2}]
    script.steps = [answer({"a": 1}), hang_up]
    with script.client() as client, pytest.raises(ApiError) as caught:
        client.get(PATH)
        client.put(PATH, {})
    assert caught.value.code == "unreachable" and len(script.asked) == 5


def test_connections_are_kept_alive_while_nothing_is_asked(script):
    """As by kubectl: a write is not sent again, so that its connection has to be there after a wait."""
    script.steps = [answer({})]
    made = pool(Connection(script.url), None, 1)
    made.request("GET", PATH)
    kept = made.pool.get(block=False).sock
    assert kept.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert kept.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 60
    kept.close()


def test_server_errors_are_tried_again_for_reads_only(script):
    script.steps = [status(500, "InternalError", "etcd is away")]
    assert fails(script).code == "server-error"
    assert len(script.asked) == 3
    with script.client() as client, pytest.raises(ApiError):
        client.put(PATH, {})
    assert len(script.asked) == 4


def test_a_dripping_answer_is_a_timeout(script):
    script.steps = [dripping()]
    assert fails(script, Timeouts(read=0.1)).code == "timeout"
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (answer(b"<html>canary</html>", content_type="text/html"), "bad-answer"),
        (answer([1, 2]), "bad-answer"),
        (answer(b"", 302, Location="/login"), "bad-answer"),
        (answer(b"canary", 418, content_type="text/plain"), "bad-answer"),
        (answer(b"canary", 404, content_type="text/html"), "bad-answer"),
        (answer({"code": "NotFound", "message": "canary"}, 404), "bad-answer"),
        (answer(b"404 page not found\n", 404, content_type="text/plain"), "not-found"),
        (answer(b"canary", 409, content_type="text/html"), "bad-answer"),
        (answer(b"canary", 502, content_type="text/html"), "server-error"),
        (answer(b"canary", 403, content_type="text/html"), "forbidden"),
        (status(504, "Timeout"), "timeout"),
        (status(410, "Expired"), "gone"),
    ],
)
def test_what_is_not_an_api_server_is_told_without_its_text(script, step, code):
    script.steps = [step]
    error = fails(script)
    assert error.code == code
    assert "canary" not in str(error)


def test_a_large_answer_may_be_compressed(script):
    script.steps = [answer(gzip.compress(b'{"a": 1}'), Content_Encoding="gzip")]
    with script.client() as client:
        assert client.get(PATH) == {"a": 1}
    assert script.asked[0][2]["Accept-Encoding"] == "gzip"


def test_nothing_that_identifies_us_goes_out_unencrypted(script):
    script.steps = [answer({})]
    with script.client(token="canary") as client:
        client.get(PATH)
    assert "Authorization" not in script.asked[0][2]


def test_the_scheme_may_be_written_in_capitals(authority, tmp_path):
    """It was taken for no HTTPS: the cluster's authority was not trusted, and nobody was logged in."""
    files = (tmp_path / "served.crt", tmp_path / "served.key")
    for file, pem in zip(files, authority.issue("served", hosts=("127.0.0.1",)), strict=True):
        file.write_bytes(pem)
    shown = []

    def step(request):
        shown.append(request.headers["Authorization"])
        answer({"a": 1})(request)

    with serving(step, files) as port:
        connection = Connection(f"HTTPS://127.0.0.1:{port}", ca=authority.pem, token="canary")
        with KubeClient(connection) as client:
            assert client.get(PATH) == {"a": 1}
    assert shown == ["Bearer canary"]


def test_the_path_of_the_server_url_is_kept(script):
    script.steps = [answer({})]
    script.url += "/k8s/clusters/c-1/"
    with script.client() as client:
        client.get(PATH, {"force": True})
    assert script.asked[0][1] == "/k8s/clusters/c-1/api/v1/pods?force=true"


def test_a_refused_credential_is_renewed_once(script):
    class Renewable:
        renewed = 0

        def get(self):
            return Credential("Bearer canary-old")

        def renew(self, refused):
            self.renewed += 1
            return Credential("Bearer canary-new")

    source = Renewable()
    script.steps = [status(401, "Unauthorized"), answer({"a": 1})]
    with script.client(credentials=source) as client:
        assert client.get(PATH) == {"a": 1}
    script.steps = [status(401, "Unauthorized")]
    assert fails(script, credentials=source).code == "unauthorized"
    assert source.renewed == 2 and len(script.asked) == 4


def test_pages_are_joined(script):
    script.steps = [page("ab", "t1", 3), page("", "t2"), page("cde")]
    with script.client() as client:
        found = list(list_objects(client, PATH, label_selector="a=b"))
    assert [(item["kind"], item["apiVersion"]) for item in found] == [("Pod", "v1")] * 5
    assert [path.split("?")[1] for _method, path, _headers in script.asked] == [
        "limit=500&labelSelector=a%3Db",
        "limit=500&labelSelector=a%3Db&continue=t1",
        "limit=500&labelSelector=a%3Db&continue=t2",
    ]


def test_a_list_that_expires_half_way_is_an_error_or_read_again(script):
    script.steps = [page("ab", "t1"), status(410, "Expired", "too old")]
    with script.client() as client:
        with pytest.raises(ApiError) as caught:
            list(list_objects(client, PATH))
        assert caught.value.code == "gone"
        script.steps = [page("ab", "t1"), status(410, "Expired"), page("abc", version="9")]
        listing = read_list(client, PATH)
    assert [item["metadata"]["name"] for item in listing.items] == ["a", "b", "c"]
    assert listing.resource_version == "9"
    assert script.asked[-1][1] == PATH


@pytest.mark.parametrize(
    "last",
    [
        status(500, "InternalError"),
        cut,
        page("c", remaining=4),
        page("c", token="t1"),
        answer({"kind": "Pod"}),
        answer({"kind": "PodList", "items": "abc"}),
    ],
)
def test_a_broken_page_never_means_fewer_objects(script, last):
    """F3."""
    script.steps = [page("ab", "t1"), last]
    with script.client() as client, pytest.raises(ApiError) as caught:
        read_list(client, PATH)
    assert caught.value.code in ("bad-answer", "server-error")


def test_an_empty_list_may_be_null(script):
    script.steps = [answer({"kind": "PodList", "apiVersion": "v1", "items": None})]
    with script.client() as client:
        assert read_list(client, PATH).items == ()


def test_not_ready_names_the_checks(script):
    script.steps = [answer(b"[+]ping ok\n[-]etcd failed: reason withheld\n", 500, content_type="text/plain")]
    with script.client() as client:
        state = server_readiness(client)
    assert not state and state.failing == ("etcd",)


def test_a_group_whose_server_is_away_is_unknown_not_absent(script):
    group = {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1", "freshness": "Stale"}]}
    script.steps = [answer({"kind": "APIGroupDiscoveryList", "items": [group]})]
    with script.client() as client:
        with pytest.raises(ApiError) as caught:
            resource_for(client, "metrics.k8s.io/v1", "NodeMetrics")
        assert caught.value.code == "server-error"
        with pytest.raises(ApiError) as caught:
            resource_for(client, "example.org/v1", "Web")
        assert caught.value.code == "unknown-kind"
