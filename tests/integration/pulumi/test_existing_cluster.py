# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The provider of clusters that are there, called as the engine calls it, on a real API server of others."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from small_fleet import Server

from fleet_pulumi.existing_cluster import ExistingClusterProvider

NODES = "/api/v1/nodes"
REGION, ZONE, PROVIDER = "topology.kubernetes.io/region", "topology.kubernetes.io/zone", "gitops.fleet/provider"
Properties = dict[str, t.Any]


@pytest.fixture
def server(servers: dict[str, Server]) -> Iterator[Server]:
    """One with a node of a cloud."""
    server = servers["m2"]
    spec = {"providerID": "aws:///eu-central-1a/i-0123456789abcdefa"}
    server.client.post(NODES, {"metadata": {"name": "of-aws-of-pulumi"}, "spec": spec})
    yield server
    server.client.delete(f"{NODES}/of-aws-of-pulumi")


def asked(kubeconfig: str | Path, skip: bool = False) -> Properties:
    return {"kubeconfig": str(kubeconfig), "context": "", "skip_unreachable": skip}


def test_a_cluster_that_is_there_is_looked_at_and_nothing_else(server: Server):
    """D4-38. It is read, not written; in the state there are a path, a version, and labels of its cloud."""
    provider, wanted = ExistingClusterProvider(), asked(server.made.kubeconfig)
    with server.writing() as seen:
        made = provider.create(wanted)
        outs = made.outs
        assert outs is not None
        assert provider.diff(made.id, outs, wanted).changes is False
        assert provider.read(made.id, outs).outs == outs
        provider.delete(made.id, outs)
    assert seen == []
    cloud = {PROVIDER: "aws", REGION: "eu-central-1", ZONE: "eu-central-1a"}
    assert outs == {**wanted, "version": "1.36.3", "labels": cloud, "uid": outs["uid"]} and outs["uid"]
    users = json.loads(Path(server.made.kubeconfig).read_text())["users"]
    secrets = [value for row in users for value in row["user"].values()]
    assert secrets and not [each for each in secrets if str(each) in json.dumps(outs)]


def test_an_upgrade_is_seen_and_labels_stay_those_of_the_day_it_joined(server: Server):
    """Or a member moved itself into placements that are not meant for it."""
    provider, wanted = ExistingClusterProvider(), asked(server.made.kubeconfig)
    before = {**wanted, "version": "1.35.4", "labels": {"team": "ours"}}
    assert provider.diff("id", before, wanted).changes is True
    outs = provider.update("id", before, wanted).outs
    assert outs == {**wanted, "version": "1.36.3", "labels": {"team": "ours"}, "uid": (outs or {})["uid"]}
    elsewhere = {**before, "kubeconfig": "/before"}
    moved = provider.update("id", elsewhere, wanted).outs
    assert moved is not None and moved["labels"][PROVIDER] == "aws"


def test_one_that_does_not_answer_fails_or_keeps_what_it_told(server: Server, tmp_path: Path):
    document = json.loads(Path(server.made.kubeconfig).read_text())
    document["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    dead = tmp_path / "kubeconfig"
    dead.write_text(json.dumps(document))
    provider = ExistingClusterProvider()
    before = {**asked(dead, skip=True), "version": "1.35.4", "labels": {}}
    assert provider.diff("id", before, asked(dead, skip=True)).changes is False
    assert provider.read("id", before).outs == before
    with pytest.raises(FleetError):
        provider.create(asked(dead, skip=True))
    with pytest.raises(FleetError):
        provider.diff("id", {**before, "skip_unreachable": False}, asked(dead))
