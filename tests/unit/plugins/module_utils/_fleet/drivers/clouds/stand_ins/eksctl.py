# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Stands in for ``eksctl``: ``get cluster``, ``get nodegroup``, ``upgrade cluster``, ``upgrade nodegroup``, as its
public reference and its source have them. It writes its log to the error output where JSON is asked for."""

from __future__ import annotations

import json
import os
import sys

from made_up import Cloud, parsed, refuse

NOT_FOUND = """Error: unable to describe control plane "{0}": operation error EKS: DescribeCluster, https response \
error StatusCode: 404, RequestID: 1, ResourceNotFoundException: No cluster found for name: {0}."""


def main(words: list[str]) -> None:
    cloud = Cloud(os.environ["AWS_CONFIG_FILE"])
    if words[:2] == ["get", "cluster"]:
        given = parsed("eksctl get cluster", words[2:], "name region output", "profile")
    elif words[:2] == ["get", "nodegroup"]:
        given = parsed("eksctl get nodegroup", words[2:], "cluster region output", "profile")
    elif words[:2] == ["upgrade", "cluster"]:
        given = parsed("eksctl upgrade cluster", words[2:], "name region version timeout", "profile", "approve")
    elif words[:2] == ["upgrade", "nodegroup"]:
        options = "profile kubernetes-version release-version"
        given = parsed("eksctl upgrade nodegroup", words[2:], "cluster name region timeout", options)
    else:
        refuse(1, f'Error: unknown command "{words[0]}" for "eksctl"')
    name = given.name if words[1] == "cluster" else given.cluster
    cluster = cloud.clusters.get(name)
    if cluster is None or given.region != "eu-west-1":
        refuse(1, NOT_FOUND.format(name))
    if words[0] == "get":
        print("[i]  eksctl version 0.220.0", file=sys.stderr)
        told = {key: value for key, value in cluster.items() if key != "groups"}
        print(json.dumps([told] if words[1] == "cluster" else [_summary(each) for each in cluster["groups"]]))
    elif words[1] == "cluster":
        minor, now = int(given.version.partition(".")[2]), int(cluster["Version"].partition(".")[2])
        if minor - now > 1:
            refuse(1, f"Error: upgrading more than one version at a time is not supported: {now} to {minor}")
        cluster["Version"] = given.version
    else:
        group = next((each for each in cluster["groups"] if each["Name"] == given.name), {"Type": "unmanaged"})
        if group["Type"] != "managed":
            words_ = "upgrade is only supported for managed nodegroups; could not find one with name"
            refuse(1, f'Error: {words_} "{given.name}"')
        if given.kubernetes_version and given.release_version:
            refuse(1, "Error: only one of kubernetes-version or release-version can be specified")
        if given.release_version:
            group["release"] = given.release_version
        else:
            group |= {"Version": given.kubernetes_version, "release": f"{given.kubernetes_version}.1-20260210"}
    cloud.keep()


def _summary(group: dict[str, object]) -> dict[str, object]:
    """The release is not among what is told."""
    return {key: value for key, value in group.items() if key != "release"}


if __name__ == "__main__":
    main(sys.argv[1:])
