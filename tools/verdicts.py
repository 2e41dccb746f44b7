# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records what a real API server with the published definitions says of the documents of tests/data/lint/corpus.

    PYTHONPATH=.cache/collections tools/in_venv dev python tools/verdicts.py FOLDER

FOLDER holds the CRD files of the publishers, which are not part of this repository; the README beside the documents
says which they are. A local cluster is made for it and ended again.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import typing as t
from pathlib import Path

import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from ansible_collections.gitops.fleet.plugins.module_utils._local.ports import PortRange
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec

CORPUS = Path(__file__).resolve().parent.parent / "tests" / "data" / "lint" / "corpus"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACE = "default"


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        made = cluster.present(ClusterSpec("verdicts"), root, ports=PortRange(32100, 32190))
        try:
            with KubeClient(connection_from_kubeconfig(made.kubeconfig)) as client:
                paths = install(client, folder)
                verdicts = {name: accepts(client, paths, document) for name, document in documents()}
        finally:
            cluster.absent("verdicts", root)
    text = json.dumps(verdicts, indent=1, sort_keys=True)
    (CORPUS / "verdicts.json").write_text(f"{text}\n", encoding="utf-8")
    print(f"{len(verdicts)} verdicts, {sum(not each for each in verdicts.values())} of them refusals")


def documents() -> t.Iterator[tuple[str, t.Any]]:
    """Each document with its file and place."""
    for file in sorted(CORPUS.glob("*.documents")):
        for index, document in enumerate(yaml.safe_load_all(file.read_text(encoding="utf-8"))):
            if document is not None:
                yield f"{file.stem}[{index}]", document


def install(client: KubeClient, folder: Path) -> dict[tuple[str, str], str]:
    """The definitions, without conversion; gives the path of each API version and kind."""
    paths = {("policy/v1", "PodDisruptionBudget"): f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"}
    for file in sorted(folder.glob("*.yaml")):
        crd = next(each for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each)
        spec = crd["spec"]
        spec.pop("conversion", None)
        crd["metadata"] = {"name": crd["metadata"]["name"]}
        send(client, "PATCH", f"{CRDS}/{crd['metadata']['name']}", crd)
        for version in spec["versions"]:
            place = f"/namespaces/{NAMESPACE}" if spec["scope"] == "Namespaced" else ""
            path = f"/apis/{spec['group']}/{version['name']}"
            paths[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = (
                f"{path}{place}/{spec['names']['plural']}"
            )
    end = time.monotonic() + 60
    while any(client.send("GET", path, expect=(404,)).status != 200 for path in paths.values()):
        if time.monotonic() > end:
            raise SystemExit("the kinds are not served in time")
        time.sleep(0.2)
    return paths


def send(client: KubeClient, method: str, path: str, body: t.Any, **more: str) -> None:
    query = {"fieldManager": "verdicts", **more}
    kind = "application/json"
    if method == "PATCH":
        query, kind = {**query, "force": "true"}, "application/apply-patch+yaml"
    client.request(method, path, body, query, kind)


def accepts(client: KubeClient, paths: dict[tuple[str, str], str], document: t.Any) -> bool:
    path = paths.get((str(document.get("apiVersion")), str(document.get("kind"))))
    if path is None:
        return False
    try:
        send(client, "POST", path, document, dryRun="All", fieldValidation="Strict")
    except ApiError as error:
        if error.status not in (400, 422):
            raise
        print(error)
        return False
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]))
