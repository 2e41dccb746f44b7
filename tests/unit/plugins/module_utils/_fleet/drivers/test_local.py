# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which local cluster a member is, and what is seen of one that is down; all else needs one, and is shown in
tests/integration/updates."""

from __future__ import annotations

import json
import typing as t
from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import (
    ClusterConnection,
    FleetMember,
    FleetMemberSpec,
    FleetMemberStatus,
    NodePoolStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Observation
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.local import (
    LocalDriver,
    local_driver_problems,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._local import state as states
from ansible_collections.gitops.fleet.plugins.module_utils._local import upgrades

BLUE = NodePoolStatus(name="blue", count=3, version="v1.35.4", image="Linux-1")


@dataclass
class Nobody:
    """Clients of members none of which answers."""

    members: dict[str, FleetMember] = field(default_factory=dict)

    def get(self, member: str) -> t.NoReturn:
        raise FleetError("unreachable", "no answer", member)

    def connection(self, member: str) -> t.NoReturn:
        raise FleetError("kubeconfig-missing", "no kubeconfig", member)


def test_a_cluster_that_went_down_in_its_upgrade_is_seen_as_it_was(tmp_path: Path) -> None:
    """F5. With its pools, for a whole upgrade asks for these: it could not be finished otherwise."""
    member = FleetMember(
        metadata=ObjectMeta(name="a"),
        spec=FleetMemberSpec(connection=ClusterConnection(kubeconfig="x")),
        status=FleetMemberStatus(node_pools=(BLUE,)),
    )
    clients: t.Any = Nobody({"a": member})
    driver = LocalDriver(clients=clients, root=tmp_path, operations=tmp_path / "operations", environ={})
    folder = states.cluster_dir(tmp_path, "a")
    folder.mkdir(0o700, parents=True)
    states.save(folder, states.State("a", {"kube-apiserver": 1}, version="1.35.4"))
    with pytest.raises(FleetError) as away:
        driver.observe("a")
    assert away.value.code == "unreachable"
    upgrades.intend(folder, "v1.35.4", "v1.36.3")
    assert driver.observe("a") == Observation(version="v1.35.4", pools=(BLUE,))


def test_one_that_answers_in_the_middle_of_its_upgrade_is_not_there_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its scheduler and controllers may be down, and a run that took it for done would drain its nodes."""
    answers = ["v1.36.3", "v1.36.3", "v1.37.0", "v1.36.3"]
    monkeypatch.setattr(f"{LocalDriver.__module__}.version", lambda _client: answers.pop(0))
    clients: t.Any = mock.Mock(members={}, **{"connection.side_effect": FleetError("kubeconfig-missing", "none", "a")})
    driver = LocalDriver(clients=clients, root=tmp_path, operations=tmp_path / "operations", environ={})
    folder = states.cluster_dir(tmp_path, "a")
    folder.mkdir(0o700, parents=True)
    states.save(folder, states.State("a", {"kube-apiserver": 1}, version="1.35.4"))
    assert driver.observe("a") == Observation(version="v1.36.3")
    upgrades.intend(folder, "v1.35.4", "v1.36.3")
    assert driver.observe("a") == Observation(version="v1.35.4")
    assert driver.observe("a") == Observation(version="v1.37.0"), "somebody has taken it further"
    upgrades.finish(folder)
    assert driver.observe("a") == Observation(version="v1.36.3")


class Clusters:
    """Folders of local clusters as far as the driver looks into them, and members that lead to ports."""

    def __init__(self, folder: Path) -> None:
        self.root, self.folder = folder / "root", folder
        self.members: dict[str, FleetMember] = {}

    def cluster(self, name: str, port: int, authority: str) -> None:
        pki = self.root / name / "pki"
        pki.parent.mkdir(0o700, parents=True)
        pki.mkdir()
        (pki / "ca.crt").write_text(f"{authority}\n")
        states.save(self.root / name, states.State(name, {"kube-apiserver": port}, version="1.35.4"))

    def member(self, name: str, server: str, authority: str = "", proxy: str = "") -> None:
        data = {"certificate-authority-data": b64encode(authority.encode()).decode()} if authority else {}
        document = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
                    "clusters": [{"name": "k", "cluster": {"server": server, "proxy-url": proxy, **data}}],
                    "users": [{"name": "u", "user": {}}],
                    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}  # fmt: skip
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps(document))
        spec = FleetMemberSpec(connection=ClusterConnection(kubeconfig=str(path)))
        self.members[name] = FleetMember(metadata=ObjectMeta(name=name), spec=spec)

    def driver(self) -> LocalDriver:
        clients = Clients(members=self.members, environ={})
        return LocalDriver(clients=clients, root=self.root, operations=self.folder / "operations", environ={})


@pytest.fixture
def clusters(tmp_path: Path) -> Clusters:
    made = Clusters(tmp_path)
    made.cluster("member-1", 20001, PEM_OF_1)
    made.cluster("member-2", 20002, PEM_OF_2)
    return made


def pem(text: str) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----"


PEM_OF_1, PEM_OF_2 = pem("AAAA"), pem("BBBB")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_member_is_the_cluster_that_its_connection_leads_to(clusters: Clusters, host: str) -> None:
    """Whatever it is called, and also where another cluster has its name."""
    clusters.member("dev-eu-1", f"https://{host}:20001", PEM_OF_1)
    clusters.member("member-1", f"https://{host}:20002", PEM_OF_2)
    driver = clusters.driver()
    assert {name: driver.cluster_of(name) for name in clusters.members} == {
        "dev-eu-1": "member-1",
        "member-1": "member-2",
    }


@pytest.mark.parametrize(
    ("server", "authority", "proxy"),
    [
        ("https://127.0.0.1:20001", PEM_OF_2, ""),
        ("https://127.0.0.1:20003", PEM_OF_1, ""),
        ("https://10.0.0.7:20001", PEM_OF_1, ""),
        ("https://127.0.0.1:20001", PEM_OF_1, "http://10.0.0.7:3128"),
    ],
    ids=["another authority", "another port", "another machine", "through a proxy"],
)
def test_one_that_leads_elsewhere_is_the_cluster_of_its_name_or_none(
    clusters: Clusters, server: str, authority: str, proxy: str
) -> None:
    clusters.member("dev-eu-1", server, authority, proxy)
    clusters.member("member-2", server, PEM_OF_2, proxy)
    driver = clusters.driver()
    assert driver.cluster_of("member-2") == "member-2"
    with pytest.raises(FleetError) as refused:
        driver.cluster_of("dev-eu-1")
    assert refused.value.code == "no-such-cluster" and refused.value.where == "dev-eu-1"
    assert f"in {clusters.root} there are: member-1, member-2" in refused.value.hint
    assert [each.where for each in local_driver_problems(dict.fromkeys(clusters.members, driver), "")] == ["dev-eu-1"]


@pytest.mark.parametrize(("authority", "found"), [(pem("CCCC"), ""), (PEM_OF_1, "member-1"), ("", "member-1")])
def test_a_member_of_another_fleet_on_this_machine_is_not_the_cluster_of_its_name(
    clusters: Clusters, authority: str, found: str
) -> None:
    """Else an upgrade of it would put new binaries on the other fleet's data."""
    clusters.member("member-1", "https://127.0.0.1:30001", authority)
    driver = clusters.driver()
    assert driver._cluster("member-1") == found
    assert [each.code for each in local_driver_problems({"member-1": driver}, "")] == (
        [] if found else ["no-such-cluster"]
    )


@pytest.mark.parametrize(
    ("target", "code"),
    [("", ""), ("1.36", ""), ("1.36.77", "unknown-version"), ("1.99.0", "unknown-version")],
)
def test_a_target_without_an_api_server_is_refused_for_each_member_before_anything_begins(
    clusters: Clusters, target: str, code: str
) -> None:
    """At its turn the first member would fail, and the run with it."""
    for name, port, authority in (("member-1", 20001, PEM_OF_1), ("member-2", 20002, PEM_OF_2)):
        clusters.member(name, f"https://127.0.0.1:{port}", authority)
    found = local_driver_problems(dict.fromkeys(clusters.members, clusters.driver()), target)
    assert [(each.where, each.code) for each in found] == ([(name, code) for name in clusters.members] if code else [])


def test_a_cluster_of_another_name_that_went_down_in_its_upgrade_is_seen_as_it_was(clusters: Clusters) -> None:
    """F5. Its port is nobody's here."""
    clusters.member("dev-eu-1", "https://127.0.0.1:1", PEM_OF_1)
    clusters.cluster("member-3", 1, PEM_OF_1)
    upgrades.intend(clusters.root / "member-3", "v1.35.4", "v1.36.3")
    assert clusters.driver().observe("dev-eu-1").version == "v1.35.4"
