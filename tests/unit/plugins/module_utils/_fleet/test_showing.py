# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The door that everything goes through on its way out."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet import showing
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.showing import plain_json, said
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.known_secrets import KnownSecrets


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = KnownSecrets()
    secrets.add('canary-"token', "null", "7")
    monkeypatch.setattr(showing, "SHOWN", secrets)


def test_neither_secrets_nor_what_steers_gets_out() -> None:
    value = {'k canary-"token': ["a\x1b[2J", 'Bearer canary-"token', None, True, 7, "7", "null"], "script": "a\n\tb"}
    assert plain_json(value) == {
        "k (hidden)": ["a\\x1b[2J", "Bearer (hidden)", None, True, 7, "(hidden)", "(hidden)"],
        "script": "a\n\tb",
    }
    assert said('::error::x\nall green canary-"token') == ": :error::x\n  | all green (hidden)"


def test_what_is_no_json_becomes_text() -> None:
    assert plain_json({"at": datetime(2026, 1, 1, tzinfo=UTC), "rows": (1, 2)}) == {
        "at": "2026-01-01 00:00:00+00:00",
        "rows": [1, 2],
    }


def test_depth_without_end_ends() -> None:
    deep: t.Any = []
    for _level in range(100_000):
        deep = [deep]
    assert plain_json({"a": deep})["a"]
