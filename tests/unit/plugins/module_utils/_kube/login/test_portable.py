# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A kubeconfig for another machine: one context, and no file that is only here."""

from __future__ import annotations

import base64
import json
import typing as t
from datetime import datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.kubeconfig import kubeconfig_from_document
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.portable import portable_kubeconfig


def document(cluster: dict[str, t.Any], user: dict[str, t.Any]) -> dict[str, t.Any]:
    other = {"token": "0ther"}
    return {
        "current-context": "east",
        "clusters": [{"name": "c", "cluster": cluster}, {"name": "d", "cluster": {"server": "https://d"}}],
        "users": [{"name": "u", "user": user}, {"name": "v", "user": other}],
        "contexts": [
            {"name": "east", "context": {"cluster": "c", "user": "u"}},
            {"name": "west", "context": {"cluster": "d", "user": "v"}},
            {"name": "open", "context": {"cluster": "d"}},
        ],
    }


def test_files_become_content(tmp_path: Path):
    for name in ("ca.crt", "client.crt", "client.key", "token"):
        (tmp_path / name).write_text(f"{name}\n")
    cluster = {"server": "https://c", "certificate-authority": "ca.crt"}
    user = {"client-certificate": "client.crt", "client-key": str(tmp_path / "client.key"), "tokenFile": "token"}
    made = portable_kubeconfig(kubeconfig_from_document(document(cluster, user), "k", tmp_path))
    encoded = {name: base64.b64encode(f"{name}\n".encode()).decode() for name in ("ca.crt", "client.crt", "client.key")}
    assert made["clusters"] == [
        {"name": "c", "cluster": {"server": "https://c", "certificate-authority-data": encoded["ca.crt"]}}
    ]
    assert made["users"][0]["user"] == {
        "client-certificate-data": encoded["client.crt"],
        "client-key-data": encoded["client.key"],
        "token": "token",
    }
    assert (made["current-context"], len(made["contexts"])) == ("east", 1) and "0ther" not in str(made)


def test_what_is_content_already_stands_above_a_file():
    cluster = {"server": "https://c", "certificate-authority": "/none", "certificate-authority-data": "eA=="}
    made = portable_kubeconfig(kubeconfig_from_document(document(cluster, {"token": "t"}), "k"))
    assert made["clusters"][0]["cluster"] == {"server": "https://c", "certificate-authority-data": "eA=="}


def test_another_context_and_one_without_a_user():
    config = kubeconfig_from_document(document({"server": "https://c"}, {}), "k")
    assert portable_kubeconfig(config, "west")["users"] == [{"name": "v", "user": {"token": "0ther"}}]
    assert portable_kubeconfig(config, "open")["users"] == []


def test_it_is_json_whatever_yaml_stood_in_it():
    odd = {"day": datetime(2026, 1, 1).date(), 5: {True: "a"}}
    given = document({"server": "https://c", **odd}, {"token": "t", **odd})
    given["contexts"][0]["context"] |= {"extensions": [odd]}
    made = portable_kubeconfig(kubeconfig_from_document(given, "k"))
    assert json.loads(json.dumps(made)) == made and made["clusters"][0]["cluster"]["day"] == "2026-01-01"


@pytest.mark.parametrize("context, code", [("none", "context-missing"), ("", "kubeconfig-missing")])
def test_what_is_not_there_is_told(context: str, code: str, tmp_path: Path):
    config = kubeconfig_from_document(document({"server": "s", "certificate-authority": "x"}, {}), "k", tmp_path)
    with pytest.raises(FleetError) as refused:
        portable_kubeconfig(config, context)
    assert refused.value.code == code
