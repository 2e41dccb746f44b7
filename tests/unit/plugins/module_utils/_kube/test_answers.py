# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Bytes that are an answer, and bytes that are none."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.answers import Answer, TooLarge, retry_after_seconds
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from hypothesis import given
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def document(data: bytes):
    return Answer(200, "application/json", data).document


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{",
        b'{"a": 1} {}',
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": ' * 100_000 + b"1" + b"}" * 100_000,
        b'{"a": ' * 201 + b"1" + b"}" * 201,
        b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}",
        b'{"a": "\\ud800"}',
        b'{"a": "\\uDFFF"}',
        b'{"a": "\xff"}',
        b'{"a": "\xed\xa0\x80"}',
        '{"a": 1}'.encode("utf-16"),
        b"\xef\xbb\xbf{}",
        b"<html></html>",
    ],
    ids=range(20),
)
def test_what_is_no_json_object(data):
    assert document(data) is None


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'{"a": "\\ud83d\\ude80"}', {"a": "\N{ROCKET}"}),
        (b'{"a": "\\\\ud800"}', {"a": "\\ud800"}),
        (b'{"a": 9223372036854775808, "b": 1e3}', {"a": 2**63, "b": 1000.0}),
        (b'{"a": "' + b"[" * 500 + b'"}', {"a": "[" * 500}),
    ],
)
def test_what_is_one(data, found):
    assert document(data) == found


@pytest.fixture
def far_from_utc(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "Etc/GMT+11")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("Fri, 02 Jan 2026 03:04:05 GMT", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("Fri, 02 Jan 2026 03:04:05 +0200", datetime(2026, 1, 2, 1, 4, 5, tzinfo=UTC)),
        ("Fri, 02 Jan 2026 03:04:05 -0000", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("Fri, 02 Jan 2026 03:04:05", None),
        ("Fri Jan  2 03:04:05 2026", None),
        ("Fri, 02 Jan 2026 03:04:05 here", None),
        ("now", None),
        ("", None),
    ],
)
def test_the_clock_of_a_server_is_none_of_this_machines_zone(header: str, found: datetime | None, far_from_utc):
    """A live lease would have ended by it, and be taken over."""
    assert Answer(200, "", b"", header).date == found


def test_the_objects_of_a_list_are_looked_at_by_who_uses_them():
    deep = b'{"kind": "PodList", "items": ' + b"[" * 300 + b"]" * 300 + b"}"
    assert document(deep) == json.loads(deep)


def test_values_are_bounded():
    with pytest.raises(TooLarge):
        document(b'{"a": [' + b"[]," * 3_000_000 + b"0]}")


@given(JSON)
def test_every_object_reads_back(value):
    try:
        data = json.dumps({"a": value}, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    assert document(data) == {"a": value}


@given(st.binary() | st.text(alphabet='{}[]",:0 \\ud8', max_size=40).map(str.encode))
def test_any_bytes_are_an_object_or_none(data):
    assert isinstance(document(data), dict | None)


@pytest.mark.parametrize(
    ("text", "wait"),
    [(None, None), ("3", 3.0), (" 4 ", 4.0), ("-1", None), ("nan", None), ("1e9", None), ("9" * 99, 1e9)],
)
def test_retry_after(text, wait):
    assert retry_after_seconds(text) == wait


@pytest.mark.parametrize("date", ["", "canary", "Mon, 99 Foo 2026 07:28:00 GMT", "\x00"])
def test_a_clock_that_cannot_be_read_is_none(date):
    assert Answer(200, "", b"", date).date is None


def test_a_token_that_a_server_sends_back_as_the_type_of_its_answer_is_hidden() -> None:
    """Hidden before it is cut: the first hundred characters of a token are found by nobody afterwards."""
    token = "eyJ" + "abcdefghij" * 30
    client = KubeClient(Connection("https://a.example:6443", token=token))
    client._credential()
    for kind in (f"{token}; charset=utf-8", f"x/{token}"):
        with pytest.raises(ApiError) as told:
            client.decode(Answer(200, kind, b"{}"), "GET /x")
        assert token[:20] not in str(told.value)
    assert client.decode(Answer(200, "Application/JSON", b"{}"), "GET /x") == {}
