# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Stands in for ``aws eks describe-nodegroup``."""

from __future__ import annotations

import json
import os
import sys

from made_up import Cloud, parsed, refuse


def main(words: list[str]) -> None:
    cloud = Cloud(os.environ["AWS_CONFIG_FILE"])
    if words[:2] != ["eks", "describe-nodegroup"]:
        refuse(252, "aws: error: argument operation: Invalid choice")
    given = parsed("aws", words[2:], "cluster-name nodegroup-name region output", "profile")
    groups = cloud.clusters[given.cluster_name]["groups"]
    group = next(each for each in groups if each["Name"] == given.nodegroup_name)
    told = {"nodegroupName": group["Name"], "version": group["Version"], "amiType": group["ImageID"]}
    print(json.dumps({"nodegroup": {**told, "releaseVersion": group["release"], "status": group["Status"]}}))


if __name__ == "__main__":
    main(sys.argv[1:])
