# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of an object that is being deleted, whatever the member shows of it."""

from __future__ import annotations

import itertools
import time
import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.gone import wait_until_gone
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.known_secrets import SHOWN
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.answering import (
    CUSTOM,
    GROUP,
    Answering,
    live,
)

PATH = "/apis/example.org/v1/namespaces/shop/webs/a"


def told(document: t.Any) -> list[str]:
    member = Answering({PATH: document, "/apis": {"kind": "APIGroupDiscoveryList", "items": [GROUP]}})
    return [each.message for each in wait_until_gone(member, {CUSTOM: "u-2"}, 0.0, lambda: None, lambda _line: None)]


@pytest.mark.parametrize(
    "spec", [None, "text", 1, ["finalizers"], {"finalizers": "text"}, {"finalizers": {"a": 1}}], ids=str
)
def test_a_spec_may_be_anything(spec: t.Any) -> None:
    found = live(CUSTOM, spec=spec)
    found["metadata"] |= {"deletionTimestamp": "2026-01-16T00:00:00Z", "finalizers": ["example.org/keep"]}
    assert told(found) == ["is being deleted and not gone yet: finalizers example.org/keep"]


def test_finalizers_of_a_spec_are_told_too() -> None:
    found = live(CUSTOM, spec={"finalizers": ["kubernetes"]})
    found["metadata"]["deletionTimestamp"] = "2026-01-16T00:00:00Z"
    assert told(found) == ["is being deleted and not gone yet: finalizers kubernetes"]


@pytest.mark.parametrize("document", [{}, {"metadata": None}, {"metadata": []}], ids=str)
def test_an_answer_that_is_no_object_is_damaged(document: t.Any) -> None:
    with pytest.raises(FleetError) as caught:
        told(document)
    assert caught.value.code == "bad-answer"


def test_finalizers_put_neither_our_token_nor_anything_unseen_or_endless_into_the_records() -> None:
    token = "a-token-that-was-shown-to-this-member"
    SHOWN.add(token)
    found = live(CUSTOM, spec={})
    named = [f"\x1b[2J{token}", "a" * 1_000_000, *(f"example.org/{number}" for number in range(100))]
    found["metadata"] |= {"deletionTimestamp": "2026-01-16T00:00:00Z", "finalizers": named}
    message = told(found)[0]
    assert message.startswith("is being deleted and not gone yet: finalizers \\x1b[2J(hidden), aaaa")
    assert message.endswith("example.org/0, example.org/1, example.org/2 and 97 more") and len(message) < 400


def test_of_many_objects_that_are_waited_for_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of each cluster every 15 s, in a fleet of a thousand."""
    said: list[str] = []

    class Enough(Exception):
        pass

    def keep() -> None:
        if said:
            raise Enough

    hours = itertools.count(step=20)
    monkeypatch.setattr(time, "monotonic", lambda: next(hours))
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    many = [replace(CUSTOM, name=f"a{number}") for number in range(100)]
    paths = {f"{PATH}{number}": live(each) for number, each in enumerate(many)}
    member = Answering({**paths, "/apis": {"kind": "APIGroupDiscoveryList", "items": [GROUP]}})
    with pytest.raises(Enough):
        wait_until_gone(member, dict.fromkeys(many, "u-2"), 1_000_000.0, keep, said.append)
    assert said[0].startswith("waits for Web shop/a0 (its deletion") and said[0].endswith("; and 97 more")
