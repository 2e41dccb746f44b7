# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A server that sends without end, or more than anybody can hold, gets an error: bytes, pages, waits and time end."""

from __future__ import annotations

import gzip
import json
import logging
import zlib

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube import answers, lists
from ansible_collections.gitops.fleet.plugins.module_utils._kube.access import server_readiness, version
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import Timeouts
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.lists import list_objects, read_each, read_list
from misbehaving import PATIENT, Script, answer, dripping, listing, raw, respond, status

PATH = "/api/v1/pods"
HASTY = Timeouts(read=0.3)


def refused(work, *arguments, **named):
    with pytest.raises(ApiError) as caught:
        work(*arguments, **named)
    return caught.value


def fails(script, timeout=PATIENT):
    with script.client(timeout) as client:
        return refused(client.get, PATH)


def pages(make):
    """Pages by number: what ``make`` gives for each."""
    numbers = iter(range(10**9))

    def page(request):
        return answer(make(next(numbers)))(request)

    return page


@pytest.mark.parametrize(
    "tokens",
    [lambda number: "ab"[number % 2], lambda number: "abc"[number % 3], lambda number: "a"],
    ids=["two", "three", "one"],
)
def test_pages_whose_tokens_come_again_end(script, tokens):
    script.steps = [pages(lambda number: listing("Pod", [], tokens(number)))]
    with script.client() as client:
        for work in (read_list, lambda *given: list(list_objects(*given))):
            error = refused(work, client, PATH)
            assert error.code == "bad-answer" and "does not get on" in error.message
    assert len(script.asked) <= 10


def test_pages_without_end_end(script, monkeypatch):
    monkeypatch.setattr(lists, "_MOST_PAGES", 20)
    script.steps = [pages(lambda number: listing("Pod", [], f"token-{number}"))]
    with script.client() as client:
        assert refused(read_list, client, PATH).code == "bad-answer"
    assert len(script.asked) < 30


def test_a_list_ends_in_time_even_if_each_page_comes_at_once(script, monkeypatch):
    monkeypatch.setattr(lists, "LIST_SECONDS", 0.0)
    script.steps = [pages(lambda number: listing("Pod", [], f"token-{number}"))]
    with script.client() as client:
        assert "did not end within" in refused(read_list, client, PATH).message


def test_a_token_that_no_server_makes_is_refused(script):
    script.steps = [answer(listing("Pod", [], "x" * 10**6))]
    with script.client() as client:
        assert refused(read_list, client, PATH).code == "bad-answer"
    assert len(script.asked) == 1


def test_a_list_of_another_kind_is_not_the_list(script):
    script.steps = [answer(listing("Secret", []))]
    with script.client() as client:
        assert "one of Secret" in refused(read_list, client, "/api/v1/nodes", kind="Node").message


def test_too_many_objects_or_bytes_are_too_large(script, monkeypatch):
    monkeypatch.setattr(lists, "LIST_BYTES", 1000)
    many = [{"metadata": {"name": f"p{number}"}} for number in range(100)]
    script.steps = [answer(listing("Pod", many))]
    with script.client() as client:
        assert refused(read_list, client, PATH).code == "too-large"
        assert refused(read_each, client, PATH, str, "Pod", 99).code == "too-large"
        assert len(read_each(client, PATH, str, "Pod", 100).items) == 100


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_an_answer_beyond_its_bounds_is_an_error(script, monkeypatch, packed):
    monkeypatch.setattr(answers, "ANSWER_BYTES", 1 << 20)
    data = json.dumps({"a": "x" * (2 << 20)}).encode()
    headers = {"Content_Encoding": "gzip"} if packed else {}
    script.steps = [answer(gzip.compress(data) if packed else data, **headers)]
    error = fails(script)
    assert error.code == "too-large" and "larger than 1 MiB" in error.message
    assert len(script.asked) == 1


def test_an_answer_with_too_many_values_is_too_large(script, monkeypatch):
    monkeypatch.setattr(answers, "_MOST_VALUES", 1000)
    script.steps = [answer({"a": [[]] * 2000})]
    assert fails(script).code == "too-large"


def test_a_large_error_is_no_way_around_the_bounds(script):
    script.steps = [status(403, "Forbidden", "x" * (2 << 20))]
    assert fails(script).code == "too-large"


def test_pages_become_smaller_where_objects_are_large(script, monkeypatch):
    monkeypatch.setattr(answers, "ANSWER_BYTES", 4 << 10)
    names = [f"p{number}" for number in range(12)]

    def page(request):
        query = dict(part.split("=") for part in request.path.partition("?")[2].split("&"))
        first, limit = int(query.get("continue", 0)), int(query["limit"])
        items = [{"metadata": {"name": name}, "spec": "x" * 1000} for name in names[first : first + limit]]
        token = str(first + limit) if first + limit < len(names) else ""
        respond(request, json.dumps(listing("Pod", items, token)).encode())

    script.steps = [page]
    with script.client() as client:
        found = read_list(client, PATH)
    assert [each["metadata"]["name"] for each in found.items] == names


def test_a_list_that_grew_too_old_is_read_in_pages_where_one_is_too_large(script, monkeypatch):
    monkeypatch.setattr(answers, "ANSWER_BYTES", 4 << 10)
    monkeypatch.setattr(lists, "_PAGE", 3)
    names = [f"p{number}" for number in range(12)]

    def page(request):
        query = dict(part.split("=") for part in request.path.partition("?")[2].split("&") if part)
        first, limit = int(query.get("continue", 0)), int(query.get("limit", len(names)))
        if first and expired:
            status(410, "Expired")(request)
            expired.pop()
            return
        items = [{"metadata": {"name": name}, "spec": "x" * 1000} for name in names[first : first + limit]]
        token = str(first + limit) if first + limit < len(names) else ""
        respond(request, json.dumps(listing("Pod", items, token)).encode())

    expired, script.steps = [True], [page]
    with script.client() as client:
        found = read_list(client, PATH, limit=3)
    assert [each["metadata"]["name"] for each in found.items] == names
    assert [path.partition("?")[2] for _method, path, _headers in script.asked[:4]] == [
        "limit=3",
        "limit=3&continue=3",
        "",
        "limit=3",
    ]


@pytest.mark.parametrize(
    "encoding", ["br", "deflate", "gzip, gzip", "compress", "x-canary"], ids=lambda text: text.replace(", ", "-")
)
def test_an_encoding_that_was_not_asked_for_is_refused(script, encoding):
    script.steps = [answer(gzip.compress(gzip.compress(b"{}")), Content_Encoding=encoding)]
    assert fails(script).code == "bad-answer"


@pytest.mark.parametrize(
    "data",
    [gzip.compress(b'{"a": 1}')[:-4], b"canary", zlib.compress(b"{}"), gzip.compress(b"{}") + b"canary"],
    ids=["cut", "none", "zlib", "more"],
)
def test_damaged_gzip_is_no_answer(script, data):
    script.steps = [answer(data, Content_Encoding="gzip")]
    error = fails(script)
    assert error.code == "bad-answer" and "canary" not in str(error)


def chunks(request):
    """A body in pieces that never ends."""
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    for _piece in range(10**6):
        request.wfile.write(b"1\r\n \r\n")


@pytest.mark.parametrize(
    "step",
    [
        dripping(),
        chunks,
        raw(b"H", 0.02, 1000),
        raw(b"HTTP/1.1 100 Continue\r\n\r\n", 0.001, 10**6),
        raw(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 5, 0.05, 1000),
    ],
    ids=["body", "chunks", "status-line", "continue", "headers"],
)
def test_what_drips_without_end_is_a_timeout(script, step):
    """F1: the status line and the headers too."""
    script.steps = [step]
    with script.client(HASTY) as client:
        assert refused(client.get, PATH).code in ("timeout", "bad-answer")
    assert len(script.asked) <= 3


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: canary\r\n" % number for number in range(5000)) + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"c" * 10**6 + b"\r\n\r\n",
        b"SSH-2.0-canary\r\n",
        b"HTTP/1.1 200 OK\r\ncanary without a colon\r\n\r\n{}",
        b"HTTP/1.1 999999 \x1b[31mcanary\r\n\r\n",
        b"\x16\x03\x01canary",
    ],
    ids=["many", "long", "ssh", "damaged", "status", "tls"],
)
def test_headers_that_are_none_are_a_bad_answer(script, caplog, head):
    """And nobody logs them, as urllib3 would."""
    script.steps = [raw(head)]
    with caplog.at_level(logging.INFO):
        error = fails(script)
    assert error.code == "bad-answer" and "does not speak HTTP" in error.message
    assert "canary" not in str(error) + caplog.text


@pytest.mark.parametrize(
    ("told", "waits"),
    [
        ("1000000000", 0),
        ("9" * 400, 0),
        ("1e9", 0),
        ("-5", 0),
        ("nan", 0),
        ("inf", 0),
        ("1_0", 0),
        ("٣", 0),
        ("soon", 0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 0),
        ("0", 99),
        (" 7 ", 4),
    ],
)
def test_a_wait_that_makes_no_sense_is_not_waited_for(script, told, waits):
    """F26."""
    script.steps = [lambda request: respond(request, b"{}", 429, Retry_After=told.encode().decode("latin-1"))]
    assert fails(script).code == "too-many-requests"
    assert len(script.waits) == waits and sum(script.waits) <= PATIENT.wait


def test_a_redirect_is_not_followed(script):
    with Script().serving() as other:
        other.steps = [answer({})]
        script.steps = [answer(b"", code, Location=f"{other.url}/canary") for code in (301, 302, 307, 308, 302)]
        for _code in range(4):
            error = fails(script)
            assert error.code == "bad-answer" and "canary" not in str(error)
        assert other.asked == []


def test_a_member_has_an_end_in_one_go(script):
    script.steps = [answer({"a": 1})]
    with script.client(Timeouts(whole=0.0)) as client:
        assert client.get(PATH) == {"a": 1}
        client.start_time_budget()
        error = refused(client.get, PATH)
    assert error.code == "timeout" and "took more than 0 s in all" in error.message
    assert len(script.asked) == 1


def test_a_lease_is_kept_however_long_the_work_takes(script):
    script.steps = [answer({"a": 1})]
    with script.client(Timeouts(whole=0.0)) as client:
        client.start_time_budget()
        with client.without_time_budget():
            assert client.get(PATH) == {"a": 1}
        assert refused(client.get, PATH).code == "timeout"


def test_the_last_answer_in_one_go_has_what_is_left(script):
    script.steps = [dripping()]
    with script.client(Timeouts(whole=0.3)) as client:
        client.start_time_budget()
        assert refused(client.get, PATH).code == "timeout"


@pytest.mark.parametrize(
    "body", [b"<html>please log in: ok</html>", b"", b"not ok", b"\xff\xfe"], ids=["login", "empty", "not", "bytes"]
)
def test_readiness_is_said_and_not_guessed(script, body):
    script.steps = [answer(body, content_type="text/html")]
    with script.client() as client:
        assert refused(server_readiness, client).code == "bad-answer"


@pytest.mark.parametrize(
    "told",
    ["latest", "\x1b[2Jv1.36.0", "v1.36.0\n::error::x", "v1.36.0-" + "x" * 200, "1" * 5000 + ".1", "v1.36.0 all green"],
)
def test_a_version_that_is_none_is_refused(script, told):
    script.steps = [answer({"gitVersion": told})]
    with script.client() as client:
        error = refused(version, client)
    assert error.code == "no-version" and "\n:" not in str(error) and "\x1b" not in str(error)


def test_warnings_of_a_server_are_not_read(script, caplog, capfd):
    script.steps = [answer({"a": 1}, Warning='299 - "canary"')]
    with caplog.at_level(logging.DEBUG), script.client() as client:
        assert client.get(PATH) == {"a": 1}
    assert "canary" not in caplog.text + str(capfd.readouterr())
