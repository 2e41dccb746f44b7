# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Watches one Deployment on several clusters, in a process of its own and with nothing of ours: a line of JSON for
every state that an API server tells, with the instant at which it came. Arguments: path of the Deployment, then
``name=kubeconfig`` for each cluster, of which the client certificate is used."""

from __future__ import annotations

import base64
import json
import ssl
import sys
import tempfile
import threading
import time
import urllib.request

import yaml

LOCK = threading.Lock()


def context_of(kubeconfig: str) -> tuple[str, ssl.SSLContext]:
    with open(kubeconfig, encoding="utf-8") as file:
        document = yaml.safe_load(file)
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile() as cert:
        for key in ("client-certificate-data", "client-key-data"):
            cert.write(base64.b64decode(user[key]) + b"\n")
        cert.flush()
        context.load_cert_chain(cert.name)
    return cluster["server"], context


def watch(name: str, kubeconfig: str, path: str) -> None:
    server, context = context_of(kubeconfig)
    folder, _slash, deployment = path.rpartition("/")
    url = f"{server}{folder}?watch=true&fieldSelector=metadata.name%3D{deployment}"
    while True:
        try:
            with urllib.request.urlopen(url, context=context, timeout=600) as answer:
                for line in answer:
                    told(name, json.loads(line)["object"])
        except OSError:
            time.sleep(0.2)


def told(name: str, found: dict) -> None:
    status = found.get("status") or {}
    wanted = found["spec"]["replicas"]
    whole = (
        status.get("observedGeneration") == found["metadata"]["generation"]
        and status.get("updatedReplicas", 0) == status.get("availableReplicas", 0) == wanted
        and not status.get("unavailableReplicas")
    )
    image = found["spec"]["template"]["spec"]["containers"][0]["image"]
    with LOCK:
        print(json.dumps({"at": time.time(), "cluster": name, "image": image, "whole": whole}), flush=True)


def main() -> None:
    path, *clusters = sys.argv[1:]
    for each in clusters:
        name, _equals, kubeconfig = each.partition("=")
        threading.Thread(target=watch, args=(name, kubeconfig, path), daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
