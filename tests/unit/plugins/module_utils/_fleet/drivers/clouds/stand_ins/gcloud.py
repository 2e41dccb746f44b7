# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Stands in for ``gcloud``: ``container clusters describe`` and ``upgrade``, ``container operations list`` and
``describe``, as their public reference has them. With ``--async`` an upgrade prints nothing, and goes on for so
many looks (``looks``)."""

from __future__ import annotations

import argparse
import json
import os
import sys
import typing as t

from made_up import Cloud, Document, refuse

LINK = "https://container.googleapis.com/v1/projects/p/locations/europe-west1/clusters/"
NOT_FOUND = """ERROR: (gcloud.container.clusters.describe) ResponseError: code=404, message=Not found: \
projects/p/locations/europe-west1/clusters/{0}."""


def main(words: list[str]) -> None:
    cloud = Cloud(os.environ["CLOUDSDK_CONFIG"])
    if words[0] != "container" or "--quiet" not in words:
        refuse(2, "ERROR: (gcloud) Invalid choice, or a question that nobody answers")
    if words[1:3] == ["operations", "list"]:
        given = _parsed(words[3:], "location project filter sort-by format")
        kind = given.filter.removeprefix("operationType=")
        assert given.sort_by == "~startTime"
        found = [each for each in cloud.state["operations"] if each["operationType"] == kind]
        print(json.dumps(sorted(found, key=lambda each: str(each["startTime"]), reverse=True)))
    elif words[1:3] == ["operations", "describe"]:
        given = _parsed(words[3:], "location project format", "name")
        operation = next(each for each in cloud.state["operations"] if each["name"] == given.name)
        _went_on(cloud, operation)
        print(json.dumps(operation))
    elif words[1:3] == ["clusters", "describe"]:
        given = _parsed(words[3:], "location project format", "name")
        print(json.dumps(_cluster(cloud, given.name)))
    elif words[1:3] == ["clusters", "upgrade"]:
        given = _parsed(words[3:], "location project cluster-version node-pool", "name", "master async")
        _upgraded(cloud, given)
    cloud.keep()


def _parsed(arguments: list[str], options: str, name: str = "", flags: str = "") -> t.Any:
    parser = argparse.ArgumentParser(prog="gcloud", allow_abbrev=False)
    for each in options.split():
        parser.add_argument(f"--{each}")
    for each in (*flags.split(), "quiet"):
        parser.add_argument(f"--{each}", action="store_true")
    if name:
        parser.add_argument(name)
    given = parser.parse_args(arguments)
    assert given.location == "europe-west1", "a flag that is needed"
    return given


def _cluster(cloud: Cloud, name: str) -> Document:
    if name not in cloud.clusters:
        refuse(1, NOT_FOUND.format(name))
    return cloud.clusters[name]


def _upgraded(cloud: Cloud, given: t.Any) -> None:
    """Begins it. A version of three parts is the newest GKE build of it."""
    cluster, operations = _cluster(cloud, given.name), cloud.state["operations"]
    if cluster.get("silent"):
        return
    version = given.cluster_version + ("" if "-gke." in given.cluster_version else "-gke.1200")
    link = f"{LINK}{given.name}" + ("" if given.master else f"/nodePools/{given.node_pool}")
    operations.append(
        {
            "name": f"operation-{len(operations) + 1}",
            "operationType": "UPGRADE_MASTER" if given.master else "UPGRADE_NODES",
            "startTime": f"2026-02-10T08:00:{len(operations):02}Z",
            "status": "RUNNING",
            "targetLink": link,
            "looks": 2,
            "to": version,
            "fails": cluster.get("fails", ""),
            "error": cluster.get("error", {}),
        }
    )
    print(f"Upgrading {given.name}...", file=sys.stderr)


def _went_on(cloud: Cloud, operation: Document) -> None:
    operation["looks"] -= 1
    if operation["status"] != "RUNNING" or operation["looks"] > 0:
        return
    operation["status"] = "DONE"
    if operation["fails"]:
        operation["statusMessage"] = operation["fails"]
        return
    if operation["error"]:
        return
    name, _pools, pool = operation["targetLink"].removeprefix(LINK).partition("/nodePools/")
    cluster = cloud.clusters[name]
    if not pool:
        cluster["currentMasterVersion"] = operation["to"]
    for each in cluster["nodePools"]:
        if each["name"] == pool:
            each["version"] = operation["to"]


if __name__ == "__main__":
    main(sys.argv[1:])
