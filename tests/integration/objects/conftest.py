# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A hub with our CRDs and nothing else: no admission policy, which would refuse what the CRDs take."""

from __future__ import annotations

import json
import time
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.kinds import KINDS
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._local.outcome import LocalOutcome

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FILES = Path(__file__).resolve().parents[3] / "roles" / "hub" / "files" / "crds"


@pytest.fixture(scope="session")
def client(local_cluster_factory: t.Callable[..., LocalOutcome]) -> Iterator[KubeClient]:
    with KubeClient(connection_from_kubeconfig(local_cluster_factory("objects").kubeconfig)) as client:
        for path in sorted(FILES.glob("*.json")):
            client.request(
                "PATCH",
                f"{CRDS}/{path.stem.partition('_')[2]}.{path.stem.partition('_')[0]}",
                json.loads(path.read_text(encoding="utf-8")),
                {"fieldManager": "tests", "fieldValidation": "Strict", "force": "true"},
                "application/apply-patch+yaml",
            )
        _wait(client)
        client.request(
            "PATCH",
            "/api/v1/namespaces/shop",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
            {"fieldManager": "tests", "force": "true"},
            "application/apply-patch+yaml",
        )
        yield client


def _wait(client: KubeClient) -> None:
    """Established, and listed by each version: the paths are served a moment later."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if all(_established(client, kind.plural, kind.group) for kind in KINDS) and _served(client):
            return
        time.sleep(0.1)
    raise AssertionError("the kinds are not served in time")


def _established(client: KubeClient, plural: str, group: str) -> bool:
    conditions = (client.get(f"{CRDS}/{plural}.{group}").get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _served(client: KubeClient) -> bool:
    def there(kind: t.Any, version: str) -> bool:
        return client.send("GET", f"/apis/{version}/{kind.plural}", expect=(404,)).status == 200

    return all(there(kind, version) for kind in KINDS for version in kind.api_versions)
